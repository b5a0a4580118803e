/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: fences by run that meet demands. Goes out: those of them that these need. Each is taken away, dearest
 * first, as a whole or by space, and stays away if no demand that it stopped has an open way then.
 */
#include "analysis/cut_prune.h"

#include <stdlib.h>

struct pruner {
	struct runs *runs;
	struct arena *arena;
	struct budget *budget;
	const bool *infeasible; /* by demand */
	uint32_t *reach;	/* by demand: how many runs it may pass */
	struct bits done;	/* scratch, by run */
};

struct pruner *pruner_new(
	struct runs *runs, const bool *infeasible, struct arena *arena, struct budget *budget)
{
	struct pruner *p = ARENA_NEW(arena, struct pruner, 1);

	*p = (struct pruner){.runs = runs,
		.arena = arena,
		.budget = budget,
		.infeasible = infeasible,
		.reach = ARENA_UNSET(arena, uint32_t, runs->ndemands),
		.done = bits_new(arena, runs->n + 1)};
	for (uint32_t d = 0; d < runs->ndemands; d++)
		p->reach[d] = bits_count(runs->relevant[d]);
	return p;
}

/* Less stands in run r than did; it matters to demands that what stood there stopped and what is left does not:
 * the others are as they were. */
static bool all_met(
	const struct pruner *p, struct ids demands, const uint8_t *have, uint32_t r, uint8_t before)
{
	const struct runs *runs = p->runs;

	for (uint32_t i = 0; i < demands.n; i++) {
		uint32_t d = demands.v[i];
		uint8_t width = runs->demands[d].width, given = runs->v[r].given;

		if (!p->infeasible[d] && bits_has(runs->relevant[d], r) &&
			cut_covers(before | given, width) && !cut_covers(have[r] | given, width) &&
			runs_open_path(p->runs, d, have, NULL))
			return false;
	}
	return true;
}

static int by_reach(const void *a, const void *b, void *reach)
{
	const uint32_t *x = a, *y = b, *of = reach;

	if (of[*x] != of[*y])
		return of[*x] < of[*y] ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

/* Those of the fewest runs first: they are soon looked through, and need the fence most often. */
static uint32_t *nearest_first(const struct pruner *p, struct ids demands)
{
	uint32_t *v = ARENA_UNSET(p->arena, uint32_t, demands.n);

	memcpy(v, demands.v, sizeof(*v) * demands.n);
	qsort_r(v, demands.n, sizeof(*v), by_reach, p->reach);
	return v;
}

#define PRUNE_WORK_MOST (UINT64_C(1) << 21)

/* Each fence is tried against the demands that pass its run, by a search through the runs. */
static bool too_many_to_prune(const struct runs *runs, const uint8_t *have)
{
	uint64_t n = 0;

	for (uint32_t r = bytes_next(have, runs->n, 0); r < runs->n;
		r = bytes_next(have, runs->n, r + 1))
		n++;
	return n * runs->n > PRUNE_WORK_MOST;
}

static void take_away(const struct pruner *p, struct ids demands, uint8_t *have)
{
	static const uint8_t parts[] = {SPACE_GLOBAL, SPACE_CLUSTER, SPACE_SHARED};
	const struct runs *runs = p->runs;
	struct bits done = p->done;

	bits_zero(done);
	for (;;) {
		uint32_t dearest = NONE;

		for (uint32_t r = bytes_next(have, runs->n, 0); r < runs->n;
			r = bytes_next(have, runs->n, r + 1))
			if (!bits_has(done, r) &&
				(dearest == NONE || runs->v[r].cost > runs->v[dearest].cost))
				dearest = r;
		if (dearest == NONE || budget_spent(p->budget))
			return;
		bits_set(done, dearest);
		uint8_t whole = have[dearest];

		have[dearest] = 0;
		if (all_met(p, demands, have, dearest, whole))
			continue;
		have[dearest] = whole;
		for (uint32_t i = 0; i < sizeof(parts); i++) {
			if (!(have[dearest] & parts[i]))
				continue;
			whole = have[dearest];
			have[dearest] &= (uint8_t)~parts[i];
			if (!all_met(p, demands, have, dearest, whole))
				have[dearest] = whole;
		}
	}
}

void prune(const struct pruner *p, struct ids demands, uint8_t *have)
{
	if (!demands.n || too_many_to_prune(p->runs, have))
		return;
	uint32_t *nearest = nearest_first(p, demands);

	take_away(p, (struct ids){nearest, demands.n}, have);
	ARENA_GIVE_BACK(p->arena, nearest, demands.n);
}
