/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an instruction of a whole warp. Out: whether one lane stores what it brings, before any hand-off. The assembler
 * moves arithmetic below a hand-off, but no store. It cannot put an instruction of the whole warp under a branch at
 * which threads of one warp part, as the others would not run it. So it stands above such a branch for all warps,
 * and each of their threads had what it reads. Invariant: a branch counts only where the numbers of two threads say
 * so; followed is the one way to the store.
 */
#include "analysis/lane_store.h"

#include "analysis/threads.h"
#include "base/bits.h"

#define BLOCKS_MOST 8 /* on the way to the store */
#define WARP 32

enum answer { NOT_ASKED, NO, YES };

struct lane_stores {
	struct unit *unit;
	const struct tracked *tracked;
	const uint32_t *asked;
	struct dead_stores *dead_stores;
	struct needed *needed;
	uint8_t *answer;  /* by instruction */
	struct bits made; /* by number of a register: it is made from the result */
	struct bits at_branch; /* the same at the branch under way */
};

/* A way from the instruction on. */
struct way {
	uint32_t from, block, insn; /* insn: the next in the block, NONE: its first */
	bool on_arm; /* of a branch that parts a warp */
};

bool effect_moves_value(const struct effect *e)
{
	return e->ntouches == 1 && e->touches[0].writes &&
	       !(e->touches[0].spaces & ~(SPACE_PARAM | SPACE_LOCAL));
}

bool effect_stores_values(const struct effect *e)
{
	if (effect_moves_value(e))
		return false;
	for (uint32_t t = 0; t < e->ntouches; t++)
		if (e->touches[t].proxy == PROXY_GENERIC && e->touches[t].writes &&
			!e->touches[t].mbarrier && !e->touches[t].asynchronous)
			return true;
	return false;
}

struct lane_stores *lane_stores_prepare(struct unit *unit, const struct tracked *tracked, const uint32_t *asked,
	struct dead_stores *dead_stores, struct needed *needed)
{
	struct lane_stores *w = ARENA_NEW(unit->arena, struct lane_stores, 1);

	*w = (struct lane_stores){unit, tracked, asked, dead_stores, needed,
		ARENA_NEW(unit->arena, uint8_t, unit->fn->ninsns),
		bits_new(unit->arena, tracked->n), bits_new(unit->arena, tracked->n)};
	return w;
}

/* Written there, or put into the register by the one instruction that sets it. */
static bool is_all_lanes(const struct unit *unit, uint32_t insn, const struct operand *mask)
{
	const struct function *fn = unit->fn;

	if (mask && mask->kind == OPERAND_REG) {
		struct ids defs = value_definitions(unit->values, insn, mask->id);
		const struct insn *mov = defs.n == 1 ? &fn->insns[defs.v[0]] : NULL;

		mask = mov && mov->op == OP_mov && mov->guard == NONE ? insn_operand(fn, mov, 1) : NULL;
	}
	return mask && mask->kind == OPERAND_IMM && (uint32_t)mask->imm == UINT32_MAX;
}

/* All 32 threads run it together: a mask names them, where one is asked for, as the last operand. And something stands
 * behind it in its block, from which on the loads before can count as complete. */
static bool is_of_whole_warp(const struct unit *unit, uint32_t insn)
{
	const struct insn *i = &unit->fn->insns[insn];

	if (!insn_has(i, MOD_sync) || cfg_active_from(&unit->cfg, insn) == NONE)
		return false;
	switch (i->op) {
	case OP_mma:
	case OP_movmatrix:
		return true;
	case OP_shfl:
	case OP_redux:
	case OP_vote:
	case OP_match:
		break;
	default:
		return false;
	}
	return is_all_lanes(unit, insn, i->count ? insn_operand(unit->fn, i, i->count - 1) : NULL);
}

/* Does the thread take the edge of the block `at`, or run the instruction `at` (edge: NONE), whenever it comes there. */
static enum truth takes(const struct unit *unit, uint32_t tid, uint32_t at, uint32_t edge)
{
	struct thread t = {.tid = (uint16_t)tid};

	return edge == NONE ? thread_runs(unit->values, t, at) : thread_takes(unit->values, t, at, edge);
}

/* In some warp that runs the instruction one thread certainly does, and another does not. */
static bool parts_a_warp(struct unit *unit, uint32_t insn, uint32_t at, uint32_t edge)
{
	bool assumed, taken[2] = {false, false};

	if (!threads_numbered(unit->values, &assumed))
		return false;
	const struct thread_set *who = threads_reach(unit->values, unit->cfg.block_of[insn]);

	for (uint32_t t = thread_set_next(who, 0), warp = 0; t < THREADS_MAX; t = thread_set_next(who, t + 1)) {
		enum truth truth = takes(unit, t, at, edge);

		if (t / WARP != warp)
			taken[false] = taken[true] = false;
		warp = t / WARP;
		if (truth != TRUTH_OPEN)
			taken[truth == TRUTH_YES] = true;
		if (!taken[false] || !taken[true])
			continue;
		unit->assumptions |= assumed ? ASSUME_FLAT_BLOCK : 0;
		return true;
	}
	return false;
}

static bool needs_result(const struct lane_stores *w, const struct tracked_insn *r)
{
	for (uint32_t k = 0; k < r->nuses; k++)
		if (bits_has(w->made, r->uses[k]))
			return true;
	return false;
}

static void follow(struct lane_stores *w, uint32_t i)
{
	const struct insn *insn = &w->unit->fn->insns[i];
	const struct tracked_insn *r = &w->tracked->insns[w->tracked->at[i]];
	bool made = needs_result(w, r) && !needed_none(w->needed, i);

	for (uint32_t k = 0; k < r->ndefs; k++) {
		if (!made)
			bits_clear(w->made, r->defs[k]);
		else if (insn->guard == NONE)
			bits_set(w->made, r->defs[k]);
	}
}

/* What stands at the place stores it. */
static bool stores_result(struct lane_stores *w, const struct way *way, uint32_t i)
{
	const struct unit *unit = w->unit;

	return needs_result(w, &w->tracked->insns[w->tracked->at[i]]) && effect_stores_values(unit->effects[i]) &&
	       !store_is_dead(w->dead_stores, i) &&
	       (unit->fn->insns[i].guard == NONE || (!way->on_arm && parts_a_warp(w->unit, way->from, i, NONE)));
}

static bool stored_on(struct lane_stores *, struct way);

/* On an arm of the branch by which the block ends. */
static bool stored_on_arm(struct lane_stores *w, struct way way)
{
	const struct block *block = &w->unit->cfg.blocks[way.block];
	bool found = false;

	if (way.on_arm || block->succ.n != 2)
		return false;
	way.on_arm = true;
	bits_copy(w->at_branch, w->made);
	for (uint32_t i = 0; i < 2 && !found; i++) {
		if (!parts_a_warp(w->unit, way.from, way.block, i))
			continue;
		bits_copy(w->made, w->at_branch);
		found = stored_on(w, (struct way){way.from, block->succ.v[i], NONE, true});
	}
	return found;
}

static bool stored_on(struct lane_stores *w, struct way way)
{
	const struct cfg *cfg = &w->unit->cfg;

	for (uint32_t n = 0; n < BLOCKS_MOST; n++) {
		const struct block *block = &cfg->blocks[way.block];

		for (uint32_t i = way.insn == NONE ? block->first : way.insn; i < block->first + block->count; i++) {
			if (stores_result(w, &way, i))
				return true;
			if (w->asked[i])
				return false;
			follow(w, i);
		}
		if (block->succ.n != 1)
			return stored_on_arm(w, way);
		way.block = block->succ.v[0];
		way.insn = NONE;
	}
	return false;
}

static bool find(struct lane_stores *w, uint32_t insn)
{
	const struct tracked_insn *r = &w->tracked->insns[w->tracked->at[insn]];

	bits_zero(w->made);
	for (uint32_t k = 0; k < r->ndefs; k++)
		bits_set(w->made, r->defs[k]);
	return stored_on(w, (struct way){insn, w->unit->cfg.block_of[insn], insn + 1, false});
}

bool lane_stores_result(struct lane_stores *w, uint32_t insn)
{
	if (w->answer[insn] == NOT_ASKED)
		w->answer[insn] = is_of_whole_warp(w->unit, insn) && find(w, insn) ? YES : NO;
	return w->answer[insn] == YES;
}
