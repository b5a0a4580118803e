/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the sites of a unit. Out: for each the fewest and the most barriers of all threads that a thread
 * has passed before it, and the pairs of early exits with the barriers that others still meet.
 * Invariant: a bound is never tighter than what some way through the function shows.
 */
#include "analysis/barrier.h"
#include "analysis/pairing.h"

/* ---- exits ---- */

struct region { /* blocks reachable from one without passing a full barrier */
	struct unit *unit;
	const bool *has_full;
	uint32_t *stamp, round;
	uint32_t *stack;
};

/* Walks from block `from`, not beyond `end`; tells whether a full barrier stopped it somewhere. */
static bool walk_region(struct region *g, uint32_t from, uint32_t end)
{
	const struct cfg *cfg = &g->unit->cfg;
	uint32_t top = 0;
	bool met = false;

	g->round++;
	g->stack[top++] = from;
	g->stamp[from] = g->round;
	while (top) {
		uint32_t b = g->stack[--top];

		if (b == end)
			continue;
		if (g->has_full[b]) {
			met = true;
			continue;
		}
		for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
			uint32_t s = cfg->blocks[b].succ.v[i];

			if (g->stamp[s] != g->round) {
				g->stamp[s] = g->round;
				g->stack[top++] = s;
			}
		}
	}
	return met;
}

/* Marks in `leaves` the blocks to which a divergent branch sends some threads past no full barrier
 * while others meet one on their arm. */
static void mark_leavers(struct region *g, uint32_t b, bool *leaves)
{
	const struct block *block = &g->unit->cfg.blocks[b];
	bool any = false;

	for (uint32_t i = 0; i < block->succ.n; i++)
		any |= walk_region(g, block->succ.v[i], block->ipdom);
	if (!any)
		return;
	for (uint32_t i = 0; i < block->succ.n; i++) {
		walk_region(g, block->succ.v[i], NONE);
		for (uint32_t k = 0; k < g->unit->cfg.n; k++)
			leaves[k] |= g->stamp[k] == g->round && !g->has_full[k];
	}
}

/* A thread that has left counts as arrived at the barriers that the others still meet: what it left
 * unfenced is pending there. Only threads that a divergent branch sends to an exit without meeting
 * the barrier matter; the others had it in their own set when they passed. */
void pair_exits(struct pairing *p)
{
	struct unit *unit = p->unit;
	const struct cfg *cfg = &unit->cfg;
	uint32_t nfull = 0;
	bool *has_full = ARENA_NEW(unit->arena, bool, cfg->n);
	bool *leaves = ARENA_NEW(unit->arena, bool, cfg->n);
	struct region g = {
		.unit = unit,
		.has_full = has_full,
		.stamp = ARENA_NEW(unit->arena, uint32_t, cfg->n),
		.stack = ARENA_NEW(unit->arena, uint32_t, cfg->n),
	};

	for (uint32_t i = 0; i < p->h->n; i++) {
		if (p->h->sites[i].full) {
			has_full[p->h->sites[i].block] = true;
			nfull++;
		}
	}
	if (!nfull)
		return;
	for (uint32_t b = 0; b < cfg->n && !budget_spent(unit->budget); b++)
		if (barrier_divergent(unit, b))
			mark_leavers(&g, b, leaves);
	for (uint32_t r = 0; r < p->h->n; r++) {
		if (!p->h->sites[r].is_exit || !leaves[p->h->sites[r].block])
			continue;
		for (uint32_t a = 0; a < p->h->n; a++)
			if (p->h->sites[a].full && p->h->sites[a].acquires)
				pair_add(p, r, a);
	}
}

/* Full barriers passed on the shortest way to each block's start; then whether a longest way exists. */
void pair_phases(struct pairing *p)
{
	struct unit *unit = p->unit;
	const struct cfg *cfg = &unit->cfg;
	uint32_t *min = ARENA_NEW(unit->arena, uint32_t, cfg->n);
	uint32_t *max = ARENA_NEW(unit->arena, uint32_t, cfg->n);
	uint32_t *fulls = ARENA_NEW(unit->arena, uint32_t, cfg->n);

	for (uint32_t i = 0; i < p->h->n; i++)
		if (p->h->sites[i].full && unit->fn->insns[p->h->sites[i].insn].guard == NONE)
			fulls[p->h->sites[i].block]++;
	for (uint32_t b = 0; b < cfg->n; b++)
		min[b] = b ? NONE : 0;
	/* few rounds: each round settles one more nesting of back edges; numbers only fall */
	for (bool changed = true; changed && !budget_spent(unit->budget);) {
		changed = false;
		for (uint32_t b = 0; b < cfg->n; b++) {
			if (min[b] == NONE)
				continue;
			for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
				uint32_t s = cfg->blocks[b].succ.v[i];

				if (min[b] + fulls[b] < min[s]) {
					min[s] = min[b] + fulls[b];
					changed |= s <= b;
				}
			}
		}
	}
	/* longest ways: along forward edges; a block that a cycle with a barrier can reach has no bound */
	for (uint32_t b = 0; b < cfg->n; b++) {
		for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
			uint32_t s = cfg->blocks[b].succ.v[i];
			uint32_t way = max[b] == NONE ? NONE : max[b] + fulls[b];

			if (s > b) {
				if (way > max[s])
					max[s] = way;
			}
		}
	}
	for (bool changed = true; changed && !budget_spent(unit->budget);) {
		changed = false;
		for (uint32_t b = 0; b < cfg->n; b++) {
			for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
				uint32_t s = cfg->blocks[b].succ.v[i];
				uint32_t way = max[b] == NONE ? NONE : max[b] + fulls[b];

				if (way <= max[s])
					continue;
				/* a back edge that still lengthens the way closes a cycle with a barrier */
				max[s] = s <= b ? NONE : way;
				changed |= s <= b || max[s] == NONE;
			}
		}
	}
	uint32_t before = 0; /* full barriers of the site's block that stand before it */

	for (uint32_t i = 0; i < p->h->n; i++) {
		struct sync_site *s = &p->h->sites[i];

		if (i && p->h->sites[i - 1].block != s->block)
			before = 0;
		s->min_phase = min[s->block] == NONE ? 0 : min[s->block] + before;
		s->max_phase = max[s->block] == NONE ? NONE : max[s->block] + before;
		before += s->full && unit->fn->insns[s->insn].guard == NONE;
	}
}
