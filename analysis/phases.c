/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the sites of a unit. Out: for each the fewest and the most barriers of all threads that a thread
 * has passed before it, and the pairs of early exits with the barriers that others still meet.
 * Invariant: a bound is never tighter than what some way through the function shows.
 */
#include "analysis/barrier.h"
#include "analysis/pairing.h"

#include <string.h>

/* ---- exits ---- */

struct region { /* blocks reachable from one */
	struct unit *unit;
	uint32_t *stamp, round;
	uint32_t *stack;
	bool *has_site; /* by block: an exit, or a barrier that counts who has left */
};

/* Stamps what block `from` reaches, not beyond `end`. */
static void walk_region(struct region *g, uint32_t from, uint32_t end)
{
	const struct cfg *cfg = &g->unit->cfg;
	uint32_t top = 0;

	g->round++;
	if (from == end)
		return;
	g->stack[top++] = from;
	g->stamp[from] = g->round;
	while (top) {
		const struct block *block = &cfg->blocks[g->stack[--top]];

		for (uint32_t i = 0; i < block->succ.n; i++) {
			uint32_t s = block->succ.v[i];

			if (s != end && g->stamp[s] != g->round) {
				g->stamp[s] = g->round;
				g->stack[top++] = s;
			}
		}
	}
}

/* Whether some way from one of the arms of a branch comes to an exit or a barrier before the arms
 * meet: else no exit of one arm is parted from a barrier of another. */
static bool parts_sites(struct region *g, const struct block *branch)
{
	const struct cfg *cfg = &g->unit->cfg;
	uint32_t top = 0;

	g->round++;
	if (branch->ipdom != NONE)
		g->stamp[branch->ipdom] = g->round;
	for (const struct block *block = branch;;) {
		for (uint32_t i = 0; i < block->succ.n; i++) {
			uint32_t s = block->succ.v[i];

			if (g->stamp[s] == g->round)
				continue;
			if (g->has_site[s])
				return true;
			g->stamp[s] = g->round;
			g->stack[top++] = s;
		}
		if (!top)
			return false;
		block = &cfg->blocks[g->stack[--top]];
	}
}

static bool is_stamped(const struct region *g, const struct sync_site *s)
{
	return g->stamp[s->block] == g->round;
}

/* A thread that left here was missing at every barrier from its own count on. */
static bool may_miss(const struct sync_site *exit, const struct sync_site *barrier)
{
	return barrier->max_phase == NONE || barrier->max_phase >= exit->min_phase;
}

static bool is_paired(const struct pairing *p, uint32_t release, uint32_t acquire)
{
	for (uint32_t i = 0; i < p->to[release].n; i++)
		if (p->to[release].v[i] == acquire)
			return true;
	return false;
}

/* Whether a thread can have handed something over before it leaves at `exit`. */
static bool has_released(const struct pairing *p, struct region *g, uint32_t exit)
{
	const struct cfg *cfg = &p->unit->cfg;
	uint32_t top = 0;

	g->round++;
	g->stack[top++] = p->h->sites[exit].block;
	g->stamp[p->h->sites[exit].block] = g->round;
	while (top) {
		const struct block *block = &cfg->blocks[g->stack[--top]];

		for (uint32_t i = 0; i < block->pred.n; i++) {
			if (g->stamp[block->pred.v[i]] == g->round)
				continue;
			g->stamp[block->pred.v[i]] = g->round;
			g->stack[top++] = block->pred.v[i];
		}
	}
	for (uint32_t r = 0; r < p->h->n; r++)
		if (p->h->sites[r].releases && !p->h->sites[r].is_exit && is_stamped(g, &p->h->sites[r]))
			return true;
	return false;
}

/* Who has left counts as arrived: at a barrier of all threads, of the CTA or of the cluster (ISA 9.7.13.1, 9.7.13.3). */
static bool counts_who_left(const struct sync_site *s)
{
	return s->full || s->kind == SYNC_CLUSTER_WAIT;
}

/* Exits marked with at least `mark`, with the barriers in the stamped blocks. */
static void pair_with_stamped(struct pairing *p, struct region *g, const uint8_t *marks, uint8_t mark)
{
	for (uint32_t e = 0; e < p->h->n; e++) {
		if (marks[e] < mark)
			continue;
		for (uint32_t a = 0; a < p->h->n; a++) {
			const struct sync_site *s = &p->h->sites[a];

			if (counts_who_left(s) && s->acquires && is_stamped(g, s) && may_miss(&p->h->sites[e], s) &&
				!is_paired(p, e, a))
				pair_add(p, e, a);
		}
	}
}

static bool mark_exits(const struct pairing *p, const struct region *g, uint8_t *marks, uint8_t mark)
{
	bool any = false;

	for (uint32_t e = 0; e < p->h->n; e++) {
		if (!p->h->sites[e].is_exit || !is_stamped(g, &p->h->sites[e]))
			continue;
		marks[e] = mark;
		any = true;
	}
	return any;
}

/* The exits that one arm of a divergent branch leads to, with barriers of the other arms: those on
 * the way to where the arms meet; and all others too if the exit comes before that. */
static void pair_arm(struct pairing *p, struct region *g, const struct block *block, uint32_t arm,
	uint8_t *marks)
{
	memset(marks, 0, p->h->n);
	walk_region(g, block->succ.v[arm], NONE);
	if (!mark_exits(p, g, marks, 1))
		return;
	walk_region(g, block->succ.v[arm], block->ipdom);
	bool before = mark_exits(p, g, marks, 2);

	for (uint32_t i = 0; i < block->succ.n; i++) {
		if (i == arm)
			continue;
		walk_region(g, block->succ.v[i], block->ipdom);
		pair_with_stamped(p, g, marks, 1);
		if (!before)
			continue;
		walk_region(g, block->succ.v[i], NONE);
		pair_with_stamped(p, g, marks, 2);
	}
}

/* Some leave at the end of the block, the others go on. */
static void pair_leaving(struct pairing *p, struct region *g, uint32_t b, uint8_t *marks)
{
	memset(marks, 0, p->h->n);
	marks[p->h->exit_of[b]] = 1;
	walk_region(g, p->unit->cfg.blocks[b].succ.v[0], NONE);
	pair_with_stamped(p, g, marks, 1);
}

/* A thread that has left counts as arrived at the barriers that the others still meet: what it left
 * unfenced is pending there. Only exits that a divergent branch parts from such a barrier matter;
 * the other threads had it in their own set when they passed. */
void pair_exits(struct pairing *p)
{
	struct unit *unit = p->unit;
	const struct cfg *cfg = &unit->cfg;
	uint8_t *marks = ARENA_NEW(unit->arena, uint8_t, p->h->n);
	uint32_t nbarriers = 0;
	struct region g = {
		.unit = unit,
		.stamp = ARENA_NEW(unit->arena, uint32_t, cfg->n),
		.stack = ARENA_NEW(unit->arena, uint32_t, cfg->n),
		.has_site = ARENA_NEW(unit->arena, bool, cfg->n),
	};

	for (uint32_t i = 0; i < p->h->n; i++) {
		nbarriers += counts_who_left(&p->h->sites[i]);
		g.has_site[p->h->sites[i].block] |=
			counts_who_left(&p->h->sites[i]) || p->h->sites[i].is_exit;
	}
	if (!nbarriers)
		return;
	for (uint32_t b = 0; b < cfg->n && !budget_spent(unit->budget); b++) {
		const struct block *block = &cfg->blocks[b];

		if (block->exits && barrier_some_leave(unit, b))
			pair_leaving(p, &g, b, marks);
		if (block->succ.n < 2 || !parts_sites(&g, block))
			continue;
		if (barrier_assumed_together(unit, b))
			unit->assumptions |= ASSUME_RACE_FREE;
		if (!barrier_divergent(unit, b))
			continue;
		for (uint32_t i = 0; i < block->succ.n; i++)
			pair_arm(p, &g, block, i, marks);
	}
	/* what a thread handed over before it left is in nobody's own set any more */
	for (uint32_t e = 0; e < p->h->n; e++) {
		if (!p->h->sites[e].is_exit || !p->to[e].n || !has_released(p, &g, e))
			continue;
		for (uint32_t i = 0; i < p->to[e].n; i++)
			p->h->sites[p->to[e].v[i]].resets = false;
	}
}

/* Full barriers passed on the shortest way to each block's start; then whether a longest way exists. One
 * under a guard may or may not be passed: it counts for the longest way only. */
void pair_phases(struct pairing *p)
{
	struct unit *unit = p->unit;
	const struct cfg *cfg = &unit->cfg;
	uint32_t *min = ARENA_NEW(unit->arena, uint32_t, cfg->n);
	uint32_t *max = ARENA_NEW(unit->arena, uint32_t, cfg->n);
	uint32_t *fewest = ARENA_NEW(unit->arena, uint32_t, cfg->n); /* in the block */
	uint32_t *most = ARENA_NEW(unit->arena, uint32_t, cfg->n);

	for (uint32_t i = 0; i < p->h->n; i++) {
		const struct sync_site *s = &p->h->sites[i];

		most[s->block] += s->full;
		fewest[s->block] += s->full && unit->fn->insns[s->insn].guard == NONE;
	}
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

				if (min[b] + fewest[b] < min[s]) {
					min[s] = min[b] + fewest[b];
					changed |= s <= b;
				}
			}
		}
	}
	/* longest ways: along forward edges; a block that a cycle with a barrier can reach has no bound */
	for (uint32_t b = 0; b < cfg->n; b++) {
		for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
			uint32_t s = cfg->blocks[b].succ.v[i];
			uint32_t way = max[b] == NONE ? NONE : max[b] + most[b];

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
				uint32_t way = max[b] == NONE ? NONE : max[b] + most[b];

				if (way <= max[s])
					continue;
				/* a back edge that still lengthens the way closes a cycle with a barrier */
				max[s] = s <= b ? NONE : way;
				changed |= s <= b || max[s] == NONE;
			}
		}
	}
	uint32_t surely = 0, perhaps = 0; /* full barriers of the site's block that stand before it */

	for (uint32_t i = 0; i < p->h->n; i++) {
		struct sync_site *s = &p->h->sites[i];

		if (i && p->h->sites[i - 1].block != s->block)
			surely = perhaps = 0;
		s->min_phase = min[s->block] == NONE ? 0 : min[s->block] + surely;
		s->max_phase = max[s->block] == NONE ? NONE : max[s->block] + perhaps;
		perhaps += s->full;
		surely += s->full && unit->fn->insns[s->insn].guard == NONE;
	}
}
