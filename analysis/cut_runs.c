/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a graph of points and the demands on it. Goes out: the runs, which are few where points
 * are many. Invariant: a run is entered at its first point only and left at its last point only,
 * and no source, sink or fence of the text stands inside it.
 */
#include "analysis/cut_runs.h"

#include <stdlib.h>

static void number_preds(struct runs *runs, struct arena *arena)
{
	const struct cut_graph *g = runs->graph;
	uint32_t *at = ARENA_NEW(arena, uint32_t, g->n + 2);

	runs->pred_first = ARENA_NEW(arena, uint32_t, g->n + 1);
	runs->pred = ARENA_NEW(arena, uint32_t, g->first[g->n] + 1);
	for (uint32_t i = 0; i < g->first[g->n]; i++)
		runs->pred_first[g->succ[i] + 1]++;
	for (uint32_t p = 0; p < g->n; p++)
		runs->pred_first[p + 1] += runs->pred_first[p];
	memcpy(at, runs->pred_first, sizeof(*at) * g->n);
	for (uint32_t p = 0; p < g->n; p++)
		for (uint32_t i = g->first[p]; i < g->first[p + 1]; i++)
			runs->pred[at[g->succ[i]]++] = p;
}

/* A number that is equal where the same demands are pending, and 0 where none is. */
static uint64_t *signatures(const struct runs *runs, struct arena *arena)
{
	uint32_t nwords = (runs->graph->n + 63) / 64;
	uint64_t *signature = ARENA_NEW(arena, uint64_t, (size_t)nwords * 64 + 1);
	uint64_t mix = UINT64_C(0x9e3779b97f4a7c15);

	for (uint32_t d = 0; d < runs->ndemands; d++) {
		struct bits pending = runs->demands[d].pending;

		mix ^= mix << 13, mix ^= mix >> 7, mix ^= mix << 17;
		for (uint32_t w = 0; w < nwords && w < pending.nwords; w++) {
			uint64_t *of = signature + (size_t)w * 64;
			uint64_t word = pending.words[w];

			if (word == UINT64_MAX) { /* pending over long stretches, mostly */
				for (uint32_t i = 0; i < 64; i++)
					of[i] += mix;
				continue;
			}
			for (; word; word &= word - 1)
				of[__builtin_ctzll(word)] += mix;
		}
	}
	return signature;
}

/* Points at whose instruction something begins or ends: a run stops there. */
static struct bits stops(const struct runs *runs, struct arena *arena)
{
	struct bits stop = bits_new(arena, runs->graph->n + 1);

	for (uint32_t d = 0; d < runs->ndemands; d++) {
		for (uint32_t i = 0; i < runs->demands[d].nsources; i++)
			bits_set(stop, runs->demands[d].sources[i]);
		for (uint32_t i = 0; i < runs->demands[d].nsinks; i++)
			bits_set(stop, runs->demands[d].sinks[i]);
	}
	for (uint32_t p = 0; p < runs->graph->n; p++)
		if (runs->graph->kills[p])
			bits_set(stop, p);
	return stop;
}

/* The point with which p's run goes on, or NONE. */
static uint32_t next_in_run(
	const struct runs *runs, const uint64_t *signature, struct bits stop, uint32_t p)
{
	const struct cut_graph *g = runs->graph;

	if (bits_has(stop, p) || g->first[p + 1] - g->first[p] != 1)
		return NONE;
	uint32_t q = g->succ[g->first[p]];

	if (q == g->entry || runs->pred_first[q + 1] - runs->pred_first[q] != 1 ||
		signature[p] != signature[q])
		return NONE;
	return q;
}

static bool starts_run(
	const struct runs *runs, const uint64_t *signature, struct bits stop, uint32_t p)
{
	uint32_t preds = runs->pred_first[p + 1] - runs->pred_first[p];

	if (!signature[p])
		return false;
	return preds != 1 ||
	       next_in_run(runs, signature, stop, runs->pred[runs->pred_first[p]]) != p;
}

static void collect_runs(struct runs *runs, struct arena *arena)
{
	const struct cut_graph *g = runs->graph;
	uint64_t *signature = signatures(runs, arena);
	struct bits stop = stops(runs, arena);

	runs->of = ARENA_NEW(arena, uint32_t, g->n + 1);
	memset(runs->of, 0xff, sizeof(*runs->of) * ((size_t)g->n + 1));
	for (uint32_t p = 0; p < g->n; p++)
		runs->n += starts_run(runs, signature, stop, p);
	runs->v = ARENA_NEW(arena, struct run, runs->n + 1);
	runs->n = 0;
	for (uint32_t p = 0; p < g->n; p++) {
		if (!starts_run(runs, signature, stop, p))
			continue;
		struct run *run = &runs->v[runs->n];

		*run = (struct run){.first = p, .point = p, .cost = g->cost[p]};
		for (uint32_t q = p; q != NONE; q = next_in_run(runs, signature, stop, q)) {
			runs->of[q] = runs->n;
			run->last = q;
			run->given |= g->given ? g->given[q] : 0;
			if (g->cost[q] > run->cost)
				continue;
			run->cost = g->cost[q];
			run->point = q;
		}
		runs->n++;
	}
}

static void join_runs(struct runs *runs, struct arena *arena)
{
	const struct cut_graph *g = runs->graph;
	uint32_t n = 0;

	for (uint32_t r = 0; r < runs->n; r++)
		n += g->first[runs->v[r].last + 1] - g->first[runs->v[r].last];
	runs->succ = ARENA_NEW(arena, uint32_t, n + 1);
	n = 0;
	for (uint32_t r = 0; r < runs->n; r++) {
		struct run *run = &runs->v[r];

		run->succ = n;
		for (uint32_t i = g->first[run->last]; i < g->first[run->last + 1]; i++)
			if (runs->of[g->succ[i]] != NONE)
				runs->succ[n++] = runs->of[g->succ[i]];
		run->nsucc = n - run->succ;
	}
}

bool runs_passes(const struct runs *runs, uint32_t d, uint32_t r, uint32_t s)
{
	return bits_has(runs->pending[d], r) && bits_has(runs->pending[d], s) &&
	       !cut_covers(runs->graph->kills[runs->v[r].last], runs->demands[d].width);
}

static void find_pending(struct runs *runs, struct arena *arena, uint32_t d)
{
	runs->pending[d] = bits_new(arena, runs->n + 1);
	for (uint32_t r = 0; r < runs->n; r++)
		if (bits_has(runs->demands[d].pending, runs->v[r].first))
			bits_set(runs->pending[d], r);
}

static void starts_and_ends(struct runs *runs, struct arena *arena, uint32_t d)
{
	const struct cut_graph *g = runs->graph;
	const struct demand *demand = &runs->demands[d];
	uint32_t *v, n = 0;

	for (uint32_t i = 0; i < demand->nsources; i++)
		n += g->first[demand->sources[i] + 1] - g->first[demand->sources[i]];
	v = ARENA_NEW(arena, uint32_t, n + 1);
	n = 0;
	for (uint32_t i = 0; i < demand->nsources; i++) {
		uint32_t p = demand->sources[i];

		for (uint32_t k = g->first[p]; k < g->first[p + 1]; k++)
			if (bits_has(demand->pending, g->succ[k]))
				v[n++] = runs->of[g->succ[k]];
	}
	runs->starts[d] = (struct ids){v, n};
	v = ARENA_NEW(arena, uint32_t, demand->nsinks + 1);
	n = 0;
	for (uint32_t i = 0; i < demand->nsinks; i++)
		if (bits_has(demand->pending, demand->sinks[i]))
			v[n++] = runs->of[demand->sinks[i]];
	runs->ends[d] = (struct ids){v, n};
	runs->is_end[d] = bits_new(arena, runs->n + 1);
	for (uint32_t i = 0; i < n; i++)
		bits_set(runs->is_end[d], v[i]);
}

/* Runs that the starts reach, less those from which no end is reached: found backwards from the
 * ends. */
static void find_relevant(struct runs *runs, struct arena *arena, uint32_t d)
{
	struct bits forward = bits_new(arena, runs->n + 1);
	struct bits both = bits_new(arena, runs->n + 1);
	uint32_t first = 0, last = 0;

	for (uint32_t i = 0; i < runs->starts[d].n; i++)
		if (!bits_has(forward, runs->starts[d].v[i])) {
			bits_set(forward, runs->starts[d].v[i]);
			runs->queue[last++] = runs->starts[d].v[i];
		}
	while (first < last) {
		uint32_t r = runs->queue[first++];

		for (uint32_t i = 0; i < runs->v[r].nsucc; i++) {
			uint32_t s = runs->succ[runs->v[r].succ + i];

			if (bits_has(forward, s) || !runs_passes(runs, d, r, s))
				continue;
			bits_set(forward, s);
			runs->queue[last++] = s;
		}
	}
	first = last = 0;
	for (uint32_t i = 0; i < runs->ends[d].n; i++)
		if (bits_has(forward, runs->ends[d].v[i]) && !bits_has(both, runs->ends[d].v[i])) {
			bits_set(both, runs->ends[d].v[i]);
			runs->queue[last++] = runs->ends[d].v[i];
		}
	while (first < last) {
		uint32_t s = runs->queue[first++], p = runs->v[s].first;

		for (uint32_t i = runs->pred_first[p]; i < runs->pred_first[p + 1]; i++) {
			uint32_t r = runs->of[runs->pred[i]];

			if (r == NONE || !bits_has(forward, r) || bits_has(both, r) ||
				!runs_passes(runs, d, r, s))
				continue;
			bits_set(both, r);
			runs->queue[last++] = r;
		}
	}
	runs->relevant[d] = both;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static struct ids sorted_sources(const struct demand *demand, struct arena *arena)
{
	uint32_t *v = ARENA_NEW(arena, uint32_t, demand->nsources);

	if (demand->nsources)
		memcpy(v, demand->sources, sizeof(*v) * demand->nsources);
	qsort(v, demand->nsources, sizeof(*v), by_number);
	return (struct ids){v, demand->nsources};
}

void runs_build(const struct cut_graph *graph, const struct demand *demands, uint32_t ndemands,
	struct arena *arena, struct runs *runs)
{
	*runs = (struct runs){.graph = graph, .demands = demands, .ndemands = ndemands};
	number_preds(runs, arena);
	collect_runs(runs, arena);
	join_runs(runs, arena);
	runs->queue = ARENA_NEW(arena, uint32_t, runs->n + 1);
	runs->from = ARENA_NEW(arena, uint32_t, runs->n + 1);
	runs->seen = bits_new(arena, runs->n + 1);
	runs->starts = ARENA_NEW(arena, struct ids, ndemands + 1);
	runs->ends = ARENA_NEW(arena, struct ids, ndemands + 1);
	runs->is_end = ARENA_NEW(arena, struct bits, ndemands + 1);
	runs->relevant = ARENA_NEW(arena, struct bits, ndemands + 1);
	runs->pending = ARENA_NEW(arena, struct bits, ndemands + 1);
	runs->sources = ARENA_NEW(arena, struct ids, ndemands + 1);
	for (uint32_t d = 0; d < ndemands; d++) {
		runs->sources[d] = sorted_sources(&demands[d], arena);
		find_pending(runs, arena, d);
		starts_and_ends(runs, arena, d);
		find_relevant(runs, arena, d);
	}
}

static void visit(struct runs *runs, uint32_t d, const uint8_t *have, uint32_t r, uint32_t from,
	uint32_t *last)
{
	if (bits_has(runs->seen, r) || !bits_has(runs->relevant[d], r) ||
		cut_covers(have[r] | runs->v[r].given, runs->demands[d].width))
		return;
	bits_set(runs->seen, r);
	runs->from[r] = from;
	runs->queue[(*last)++] = r;
}

static uint32_t unroll(const struct runs *runs, uint32_t end, uint32_t *path)
{
	uint32_t n = 0;

	for (uint32_t r = end; r != NONE; r = runs->from[r])
		n++;
	if (!path)
		return n;
	uint32_t i = n;

	for (uint32_t r = end; r != NONE; r = runs->from[r])
		path[--i] = r;
	return n;
}

uint32_t runs_open_path(struct runs *runs, uint32_t d, const uint8_t *have, uint32_t *path)
{
	uint32_t first = 0, last = 0;

	bits_zero(runs->seen);
	for (uint32_t i = 0; i < runs->starts[d].n; i++)
		visit(runs, d, have, runs->starts[d].v[i], NONE, &last);
	while (first < last) {
		uint32_t r = runs->queue[first++];

		runs->visits++;
		if (bits_has(runs->is_end[d], r))
			return unroll(runs, r, path);
		for (uint32_t i = 0; i < runs->v[r].nsucc; i++) {
			uint32_t s = runs->succ[runs->v[r].succ + i];

			if (runs_passes(runs, d, r, s))
				visit(runs, d, have, s, r, &last);
		}
	}
	return 0;
}

static bool is_among(struct ids sorted, uint32_t item)
{
	uint32_t lo = 0, hi = sorted.n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (sorted.v[mid] < item)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < sorted.n && sorted.v[lo] == item;
}

/* Something of the demands comes along the way from point q to the first point of a run. */
static bool comes_along(const struct runs *runs, const uint32_t *demands, uint32_t n,
	struct bits always, uint32_t q, uint32_t p)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct demand *demand = &runs->demands[demands[i]];

		if (!bits_has(demand->pending, p))
			continue;
		if (is_among(runs->sources[demands[i]], q))
			return true;
		if (runs->of[q] != NONE && bits_has(always, runs->of[q]) &&
			bits_has(demand->pending, q) &&
			!cut_covers(runs->graph->kills[q], demand->width))
			return true;
	}
	return false;
}

void runs_always_pending(
	const struct runs *runs, const uint32_t *demands, uint32_t n, struct bits always)
{
	bool changed = true;

	bits_zero(always);
	for (uint32_t i = 0; i < n; i++)
		bits_or(always, runs->pending[demands[i]]);
	while (changed) {
		changed = false;
		for (uint32_t r = bits_next(always, 0); r != NONE; r = bits_next(always, r + 1)) {
			uint32_t p = runs->v[r].first;
			bool stays = p != runs->graph->entry;

			for (uint32_t i = runs->pred_first[p]; stays && i < runs->pred_first[p + 1];
				i++)
				stays = comes_along(runs, demands, n, always, runs->pred[i], p);
			if (stays)
				continue;
			bits_clear(always, r);
			changed = true;
		}
	}
}
