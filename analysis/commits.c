/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a unit with its accesses. Out: for each wait_group the copies that are not certainly
 * committed. A may-analysis over blocks: a cp.async opens, an unguarded commit_group closes all,
 * join is union.
 */
#include "analysis/commits.h"

struct commits {
	struct unit *unit;
	const struct facts *facts;
	uint32_t *first_of; /* by block: its first access */
	struct bits *in;    /* by block: copies not committed, by their first fact */
	struct bits now, *missing;
	bool any;
};

static void find_first(struct commits *c)
{
	const struct unit *unit = c->unit;

	c->first_of = ARENA_NEW(unit->arena, uint32_t, unit->cfg.n);
	for (uint32_t k = unit->accesses.n; k-- > 0;) {
		uint32_t b = unit->cfg.block_of[unit->accesses.v[k].insn];

		if (b != NONE)
			c->first_of[b] = k;
	}
}

static void note_wait(struct commits *c, uint32_t insn)
{
	struct bits *at = &c->missing[insn];

	if (bits_next(c->now, 0) == NONE)
		return;
	if (!at->words)
		*at = bits_new(c->unit->arena, c->facts->n);
	bits_or(*at, c->now);
	c->any = true;
}

static void note_copy(struct commits *c, uint32_t access)
{
	uint32_t own = facts_access(c->facts, access);

	if (c->facts->first_of[own] < c->facts->first_of[own + 1])
		bits_set(c->now, c->facts->first_of[own]);
}

static void run_block(struct commits *c, uint32_t b)
{
	const struct unit *unit = c->unit;
	const struct block *block = &unit->cfg.blocks[b];
	uint32_t k = c->first_of[b];

	bits_copy(c->now, c->in[b]);
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const struct effect *e = unit->effects[i];

		if (e->sync == SYNC_CPASYNC_COMMIT && unit->fn->insns[i].guard == NONE)
			bits_zero(c->now);
		else if (e->sync == SYNC_CPASYNC_WAIT && !e->all)
			note_wait(c, i);
		for (; k < unit->accesses.n && unit->accesses.v[k].insn == i; k++)
			if (unit->accesses.v[k].cp_async)
				note_copy(c, k);
	}
}

static bool has_copies(const struct unit *unit)
{
	for (uint32_t k = 0; k < unit->accesses.n; k++)
		if (unit->accesses.v[k].cp_async)
			return true;
	return false;
}

struct bits *commits_missing(struct unit *unit, const struct facts *facts)
{
	struct commits c = {.unit = unit, .facts = facts};

	if (!has_copies(unit))
		return NULL;
	find_first(&c);
	c.missing = ARENA_NEW(unit->arena, struct bits, unit->fn->ninsns);
	c.in = ARENA_NEW(unit->arena, struct bits, unit->cfg.n);
	for (uint32_t b = 0; b < unit->cfg.n; b++)
		c.in[b] = bits_new(unit->arena, facts->n);
	c.now = bits_new(unit->arena, facts->n);
	for (bool changed = true; changed && !budget_spent(unit->budget);) {
		changed = false;
		for (uint32_t b = 0; b < unit->cfg.n; b++) {
			const struct ids *succ = &unit->cfg.blocks[b].succ;

			run_block(&c, b);
			for (uint32_t i = 0; i < succ->n; i++)
				changed |= bits_or(c.in[succ->v[i]], c.now);
		}
	}
	return c.any ? c.missing : NULL;
}
