/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a branch. Out: whether all ways from it meet again with nothing between but a little arithmetic. Such ways
 * the assembler runs one after the other under predicates, and then the arithmetic, with what it waits for, may move
 * below a hand-off that stands behind the meeting (row F3 of evidence.md; ptxas 13.0 does so with up to some ten
 * instructions). A function of the module may stand in the place of its call. Invariant: what keeps its place
 * among hand-offs (memory that is not local, barriers, other calls, exits), loops and tables are never called short.
 */
#include "analysis/short_branch.h"

#define INSNS_MOST 64 /* more are not taken for short: several times what has been seen */
#define BLOCKS_MOST 64

struct region {
	const struct unit *unit;
	uint32_t end; /* the block where all ways meet */
	uint32_t blocks[BLOCKS_MOST], n, ninsns;
};

bool branch_returns(const struct unit *unit, uint32_t insn)
{
	return unit->fn->insns[insn].op == OP_ret && !unit->cfg.blocks[unit->cfg.block_of[insn]].exits;
}

/* A call that goes on in one function of the module. */
static bool is_entered(const struct unit *unit, const struct block *block, uint32_t insn)
{
	return insn == block->first + block->count - 1 && !block->recurses && block->succ.n == 1 &&
	       unit->cfg.blocks[block->succ.v[0]].first != insn + 1;
}

static bool keeps_its_place(const struct unit *unit, const struct block *block, uint32_t insn)
{
	const struct effect *e = unit->effects[insn];

	if (e->is_call)
		return !is_entered(unit, block, insn);
	if (!e->known || e->sync != SYNC_NONE || e->fence != FENCE_NONE ||
		(e->is_exit && !branch_returns(unit, insn)))
		return true;
	for (uint8_t t = 0; t < e->ntouches; t++)
		if (e->touches[t].spaces & ~(SPACE_CONST | SPACE_PARAM | SPACE_LOCAL))
			return true;
	return false;
}

/* Takes the ways on from a block into the region; false: one goes back. */
static bool go_on(struct region *r, uint32_t b)
{
	const struct block *block = &r->unit->cfg.blocks[b];

	for (uint32_t i = 0; i < block->succ.n; i++) {
		uint32_t to = block->succ.v[i];
		bool seen = to == r->end;

		for (uint32_t k = 0; k < r->n && !seen; k++)
			seen = r->blocks[k] == to;
		if (to != r->end && to <= b)
			return false;
		if (seen)
			continue;
		if (r->n == BLOCKS_MOST)
			return false;
		r->blocks[r->n++] = to;
	}
	return true;
}

/* One of a single target is a branch (plain.h). */
static bool is_table(const struct unit *unit, uint32_t insn)
{
	return unit->fn->insns[insn].op == OP_brx;
}

enum branch_length branch_length(const struct unit *unit, uint32_t insn)
{
	uint32_t from = unit->cfg.block_of[insn];
	struct region r = {.unit = unit, .end = unit->cfg.blocks[from].ipdom};
	bool empty = true;

	if (r.end == NONE || is_table(unit, insn) || !go_on(&r, from))
		return BRANCH_LONG;
	for (uint32_t k = 0; k < r.n; k++) {
		const struct block *block = &unit->cfg.blocks[r.blocks[k]];

		r.ninsns += block->count;
		if (r.ninsns > INSNS_MOST || block->exits || !go_on(&r, r.blocks[k]))
			return BRANCH_LONG;
		for (uint32_t i = block->first; i < block->first + block->count; i++) {
			if (keeps_its_place(unit, block, i) || is_table(unit, i))
				return BRANCH_LONG;
			empty &= unit->effects[i]->is_branch;
		}
	}
	return empty ? BRANCH_EMPTY : BRANCH_SHORT;
}
