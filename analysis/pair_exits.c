/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the sites of a unit, with how many barriers come before each. Out: the pairs of exits with the
 * barriers that others still meet. Invariant: a thread that has left counts as arrived at each barrier
 * that some thread on another way through the function, with as many barriers behind it, may stand at.
 */
#include "analysis/barrier.h"
#include "analysis/pairing.h"
#include "base/bits.h"

#include <string.h>

struct region { /* blocks reachable from one */
	struct unit *unit;
	uint32_t *stamp, round;
	uint32_t *stack;
	bool *has_site; /* by block: an exit, or a barrier that counts who has left */
	uint64_t *in_block, *passed; /* by block: such barriers in it; since the branch, before it */
	const struct handoffs *h;
	uint64_t *reach;    /* by block: the sites that it leads to, so many words; NULL: not asked, or too many */
	uint32_t words;
	bool reach_asked;
	const uint64_t *of; /* the region is all that this one's block leads to; NULL: it is what is stamped */
};

/* Barriers on a way, those of the CTA in the low half, of the cluster in the high one. */
#define COUNT_NONE (UINT64_MAX - 1) /* no way is known yet */
#define COUNT_VARIES UINT64_MAX

/* Stamps what block `from` reaches, not beyond `end`. */
static void walk_region(struct region *g, uint32_t from, uint32_t end)
{
	const struct cfg *cfg = &g->unit->cfg;
	uint32_t top = 0;

	g->of = NULL;
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

#define REACH_MOST (UINT64_C(1) << 20) /* words for all blocks */

/* What each block leads to, for all of them at once: most branches ask. */
static void find_reach(struct region *g)
{
	const struct cfg *cfg = &g->unit->cfg;

	g->reach_asked = true;
	g->words = g->h->n / 64 + 1;
	if ((uint64_t)g->words * cfg->n > REACH_MOST)
		return;
	g->reach = ARENA_NEW(g->unit->arena, uint64_t, (size_t)g->words * cfg->n);
	for (uint32_t i = 0; i < g->h->n; i++)
		g->reach[(size_t)g->h->sites[i].block * g->words + i / 64] |= UINT64_C(1) << i % 64;
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t b = cfg->n; b-- > 0;) {
			struct bits here = {g->reach + (size_t)b * g->words, g->words};

			for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
				size_t s = cfg->blocks[b].succ.v[i];

				grew |= bits_or(here,
					(struct bits){g->reach + s * g->words, g->words});
			}
		}
	}
}

/* The region is all that a block leads to. */
static void take_all(struct region *g, uint32_t from)
{
	if (!g->reach_asked)
		find_reach(g);
	if (g->reach)
		g->of = g->reach + (size_t)from * g->words;
	else
		walk_region(g, from, NONE);
}

/* The region is what a block leads to, not beyond `end`. */
static void take_until(struct region *g, uint32_t from, uint32_t end)
{
	if (end == NONE)
		take_all(g, from);
	else
		walk_region(g, from, end);
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

static bool is_in(const struct region *g, uint32_t site)
{
	if (g->of)
		return g->of[site / 64] >> site % 64 & 1;
	return g->stamp[g->h->sites[site].block] == g->round;
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

	g->of = NULL;
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
		if (p->h->sites[r].releases && !p->h->sites[r].is_exit && is_in(g, r))
			return true;
	return false;
}

/* Who has left counts as arrived: at a barrier of all threads, of the CTA or of the cluster (ISA 9.7.13.1, 9.7.13.3). */
static bool counts_who_left(const struct sync_site *s)
{
	return s->full || s->kind == SYNC_CLUSTER_WAIT;
}

/* Exits marked with at least `mark`, with the barriers in the region. */
static void pair_with_region(struct pairing *p, struct region *g, const uint8_t *marks, uint8_t mark)
{
	for (uint32_t e = 0; e < p->h->n; e++) {
		if (marks[e] < mark)
			continue;
		for (uint32_t a = 0; a < p->h->n; a++) {
			const struct sync_site *s = &p->h->sites[a];

			if (counts_who_left(s) && s->acquires && is_in(g, a) && may_miss(&p->h->sites[e], s) &&
				!is_paired(p, e, a))
				pair_add(p, e, a);
		}
	}
}

/* Joins what is known of the ways to a block with one more; true if that changed it. */
static bool join_count(uint64_t *count, uint64_t more)
{
	uint64_t before = *count;

	*count = before == COUNT_NONE || before == more ? more : COUNT_VARIES;
	return *count != before;
}

/* How many barriers a thread passes between the branch and where the arms meet, on each way the same or not. */
static uint64_t arm_count(struct region *g, const struct block *branch, uint32_t arm)
{
	const struct cfg *cfg = &g->unit->cfg;
	uint64_t there = COUNT_NONE;
	uint32_t top = 0, first = branch->succ.v[arm];

	if (first == branch->ipdom)
		return 0;
	g->round++;
	g->stamp[first] = g->round;
	g->passed[first] = 0;
	g->stack[top++] = first;
	while (top) {
		uint32_t b = g->stack[--top];
		const struct block *block = &cfg->blocks[b];
		uint64_t out = g->passed[b] == COUNT_VARIES || g->in_block[b] == COUNT_VARIES
				       ? COUNT_VARIES
				       : g->passed[b] + g->in_block[b];

		for (uint32_t i = 0; i < block->succ.n; i++) {
			uint32_t s = block->succ.v[i];

			if (s != branch->ipdom && g->stamp[s] != g->round) {
				g->stamp[s] = g->round;
				g->passed[s] = COUNT_NONE;
			}
			if (s == branch->ipdom)
				join_count(&there, out);
			else if (join_count(&g->passed[s], out))
				g->stack[top++] = s;
		}
	}
	return there;
}

/* Threads that took one arm may be barriers ahead of those of another for good; not where the arms never meet. */
static bool arms_part_for_good(struct region *g, const struct block *branch)
{
	if (branch->ipdom == NONE)
		return false;
	uint64_t first = arm_count(g, branch, 0);
	bool alike = first != COUNT_VARIES;

	for (uint32_t i = 1; i < branch->succ.n && alike; i++)
		alike = arm_count(g, branch, i) == first;
	return !alike;
}

static bool mark_exits(const struct pairing *p, const struct region *g, uint8_t *marks, uint8_t mark)
{
	bool any = false;

	for (uint32_t e = 0; e < p->h->n; e++) {
		if (!p->h->sites[e].is_exit || !is_in(g, e))
			continue;
		marks[e] = mark;
		any = true;
	}
	return any;
}

/* The exits that one arm of a divergent branch leads to, with barriers of the other arms: those on
 * the way to where the arms meet; and all others too if the exit comes before that, or if from there
 * on some threads have more barriers behind them than others. */
static void pair_arm(struct pairing *p, struct region *g, const struct block *block, uint32_t arm,
	bool for_good, uint8_t *marks)
{
	memset(marks, 0, p->h->n);
	take_all(g, block->succ.v[arm]);
	if (!mark_exits(p, g, marks, 1))
		return;
	take_until(g, block->succ.v[arm], block->ipdom);
	bool before = mark_exits(p, g, marks, 2);

	for (uint32_t i = 0; i < block->succ.n; i++) {
		if (i == arm)
			continue;
		take_until(g, block->succ.v[i], block->ipdom);
		pair_with_region(p, g, marks, 1);
		if (!before && !for_good)
			continue;
		take_all(g, block->succ.v[i]);
		pair_with_region(p, g, marks, for_good ? 1 : 2);
	}
}

/* Some leave at the end of the block, the others go on. */
static void pair_leaving(struct pairing *p, struct region *g, uint32_t b, uint8_t *marks)
{
	memset(marks, 0, p->h->n);
	marks[p->h->exit_of[b]] = 1;
	take_all(g, p->unit->cfg.blocks[b].succ.v[0]);
	pair_with_region(p, g, marks, 1);
}

/* Some pass the barrier, the others go round it for its guard: they leave one ahead. */
static void pair_guarded(struct pairing *p, struct region *g, uint32_t b, uint8_t *marks)
{
	memset(marks, 0, p->h->n);
	take_all(g, b);
	if (mark_exits(p, g, marks, 1))
		pair_with_region(p, g, marks, 1);
}

/* Under a guard a barrier may or may not be passed. */
static void count_barrier(const struct unit *unit, struct region *g, const struct sync_site *s)
{
	uint64_t *n = &g->in_block[s->block];

	if (barrier_skipped(unit, s->insn))
		*n = COUNT_VARIES;
	else if (*n != COUNT_VARIES)
		*n += s->full ? 1 : UINT64_C(1) << 32;
}

static bool any_counts(const struct handoffs *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (counts_who_left(&h->sites[i]))
			return true;
	return false;
}

/* A thread that has left counts as arrived at the barriers that the others still meet: what it left
 * unfenced is pending there. Only exits that a divergent branch parts from such a barrier matter;
 * the other threads had it in their own set when they passed. */
void pair_exits(struct pairing *p)
{
	struct unit *unit = p->unit;
	const struct cfg *cfg = &unit->cfg;

	if (!any_counts(p->h))
		return;
	uint8_t *marks = ARENA_NEW(unit->arena, uint8_t, p->h->n);
	struct region g = {
		.unit = unit,
		.h = p->h,
		.stamp = ARENA_NEW(unit->arena, uint32_t, cfg->n),
		.stack = ARENA_NEW(unit->arena, uint32_t, (size_t)cfg->n * 2), /* what is joined changes twice */
		.has_site = ARENA_NEW(unit->arena, bool, cfg->n),
		.in_block = ARENA_NEW(unit->arena, uint64_t, cfg->n),
		.passed = ARENA_NEW(unit->arena, uint64_t, cfg->n),
	};

	for (uint32_t i = 0; i < p->h->n; i++) {
		const struct sync_site *s = &p->h->sites[i];
		bool counts = counts_who_left(s);

		g.has_site[s->block] |= counts || s->is_exit;
		if (counts)
			count_barrier(unit, &g, s);
	}
	for (uint32_t i = 0; i < p->h->n && !budget_spent(unit->budget); i++)
		if (counts_who_left(&p->h->sites[i]) && barrier_divides(unit, p->h->sites[i].insn))
			pair_guarded(p, &g, p->h->sites[i].block, marks);
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
		bool for_good = arms_part_for_good(&g, block);

		for (uint32_t i = 0; i < block->succ.n; i++)
			pair_arm(p, &g, block, i, for_good, marks);
	}
	/* what a thread handed over before it left is in nobody's own set any more */
	for (uint32_t e = 0; e < p->h->n; e++) {
		if (!p->h->sites[e].is_exit || !p->to[e].n || !has_released(p, &g, e))
			continue;
		for (uint32_t i = 0; i < p->to[e].n; i++)
			p->h->sites[p->to[e].v[i]].resets = false;
	}
}
