/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a graph of points and the demands on it. Goes out: the runs, which are few where points
 * are many. Invariant: a run is entered at its first point only and left at its last point only,
 * and no source, sink or fence of the text stands inside it.
 */
#include "analysis/cut_runs.h"
#include "base/agenda.h"

#include <stdlib.h>

/* What the points and ways of the graph are, while its runs are looked for. */
struct lines {
	struct bits any;     /* something is pending there */
	struct bits changed; /* not what is pending at the point before it */
	struct bits stop;    /* a run ends there */
	struct bits on;	     /* the only way on is to the next point */
	struct bits inside;  /* the run of the only point that leads there goes on */
	uint32_t *jumps;     /* the points that are not in `on`, ascending */
	uint32_t njumps;
	struct bits once, again; /* such a point leads there; another one, too */
};

static void find_jumps(const struct cut_graph *g, struct arena *arena, struct lines *lines)
{
	uint32_t cap = 0;

	lines->on = bits_new(arena, g->n);
	lines->once = bits_new(arena, g->n);
	lines->again = bits_new(arena, g->n);
	for (uint32_t p = 0; p < g->n; p++) {
		if (g->first[p + 1] - g->first[p] == 1 && g->succ[g->first[p]] == p + 1) {
			bits_set(lines->on, p);
			continue;
		}
		ARENA_PUSH(arena, lines->jumps, lines->njumps, cap, p);
		for (uint32_t i = g->first[p]; i < g->first[p + 1]; i++)
			bits_set(bits_has(lines->once, g->succ[i]) ? lines->again : lines->once,
				g->succ[i]);
	}
}

static void find_changes(const struct runs *runs, struct arena *arena, struct lines *lines)
{
	lines->any = bits_new(arena, runs->graph->n);
	lines->changed = bits_new(arena, runs->graph->n);
	for (uint32_t d = 0; d < runs->ndemands; d++) {
		struct bits pending = runs->demands[d].pending;
		uint64_t before = 0;

		for (uint32_t w = 0; w < lines->any.nwords; w++) {
			uint64_t word = w < pending.nwords ? pending.words[w] : 0;

			lines->any.words[w] |= word;
			lines->changed.words[w] |= word ^ (word << 1 | before >> 63);
			before = word;
		}
	}
}

/* Points at whose instruction something begins or ends: a run stops there. */
static void find_stops(
	struct runs *runs, struct arena *arena, struct arena *own, struct lines *lines)
{
	const struct cut_graph *g = runs->graph;

	runs->is_source = bits_new(arena, g->n);
	lines->stop = bits_new(own, g->n);
	for (uint32_t d = 0; d < runs->ndemands; d++) {
		for (uint32_t i = 0; i < runs->demands[d].nsources; i++)
			bits_set(runs->is_source, runs->demands[d].sources[i]);
		for (uint32_t i = 0; i < runs->demands[d].nsinks; i++)
			bits_set(lines->stop, runs->demands[d].sinks[i]);
	}
	bits_or(lines->stop, runs->is_source);
	for (uint32_t p = bytes_next(g->kills, g->n, 0); p < g->n;
		p = bytes_next(g->kills, g->n, p + 1))
		bits_set(lines->stop, p);
}

static bool same_pending(const struct runs *runs, uint32_t p, uint32_t q)
{
	for (uint32_t d = 0; d < runs->ndemands; d++)
		if (bits_has(runs->demands[d].pending, p) != bits_has(runs->demands[d].pending, q))
			return false;
	return true;
}

static void find_inside(const struct runs *runs, struct arena *arena, struct lines *lines)
{
	const struct cut_graph *g = runs->graph;
	uint64_t before = 0;

	lines->inside = bits_new(arena, g->n);
	for (uint32_t w = 0; w < lines->any.nwords; w++) {
		uint64_t goes_on = lines->on.words[w] & ~lines->stop.words[w];

		lines->inside.words[w] = lines->any.words[w] & ~lines->changed.words[w] &
					 ~lines->once.words[w] & (goes_on << 1 | before >> 63);
		before = goes_on;
	}
	for (uint32_t i = 0; i < lines->njumps; i++) {
		uint32_t p = lines->jumps[i], q;

		if (g->first[p + 1] - g->first[p] != 1 || bits_has(lines->stop, p))
			continue;
		q = g->succ[g->first[p]];
		if (!bits_has(lines->again, q) && !(q && bits_has(lines->on, q - 1)) &&
			bits_has(lines->any, q) && same_pending(runs, p, q))
			bits_set(lines->inside, q);
	}
	bits_clear(lines->inside, g->entry);
}

/* The point with which p's run goes on, or NONE. */
static uint32_t next_in_run(const struct cut_graph *g, const struct lines *lines, uint32_t p)
{
	if (bits_has(lines->on, p))
		return bits_has(lines->inside, p + 1) ? p + 1 : NONE;
	if (g->first[p + 1] - g->first[p] != 1 || !bits_has(lines->inside, g->succ[g->first[p]]))
		return NONE;
	return g->succ[g->first[p]];
}

static void collect_runs(struct runs *runs, struct arena *arena, const struct lines *lines)
{
	const struct cut_graph *g = runs->graph;
	struct bits starts = bits_new(arena, g->n);

	bits_copy(starts, lines->any);
	bits_and_not(starts, lines->inside);
	runs->of = ARENA_UNSET(arena, uint32_t, g->n + 1);
	memset(runs->of, 0xff, sizeof(*runs->of) * ((size_t)g->n + 1));
	runs->v = ARENA_UNSET(arena, struct run, bits_count(starts) + 1);
	runs->n = 0;
	for (uint32_t p = bits_next(starts, 0); p != NONE; p = bits_next(starts, p + 1)) {
		struct run *run = &runs->v[runs->n];

		*run = (struct run){.first = p, .point = p, .cost = g->cost[p]};
		for (uint32_t q = p; q != NONE; q = next_in_run(g, lines, q)) {
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

/* The run that begins at a point, or NONE. */
static uint32_t run_from(const struct runs *runs, uint32_t point)
{
	uint32_t r = runs->of[point];

	return r != NONE && runs->v[r].first == point ? r : NONE;
}

/* What leads into the runs: a point that goes on to its first one, and jumps. */
static void number_preds(struct runs *runs, struct arena *arena, const struct lines *lines)
{
	const struct cut_graph *g = runs->graph;
	uint32_t *at = ARENA_NEW(arena, uint32_t, runs->n + 2), r;

	for (uint32_t i = 0; i < lines->njumps; i++)
		for (uint32_t k = g->first[lines->jumps[i]]; k < g->first[lines->jumps[i] + 1]; k++)
			if ((r = run_from(runs, g->succ[k])) != NONE)
				at[r + 1]++;
	for (r = 0; r < runs->n; r++) {
		uint32_t p = runs->v[r].first;

		at[r + 1] += at[r] + (p && bits_has(lines->on, p - 1));
	}
	runs->pred_first = ARENA_UNSET(arena, uint32_t, runs->n + 1);
	memcpy(runs->pred_first, at, sizeof(*at) * ((size_t)runs->n + 1));
	runs->pred = ARENA_UNSET(arena, uint32_t, at[runs->n] + 1);
	for (r = 0; r < runs->n; r++) {
		uint32_t p = runs->v[r].first;

		if (p && bits_has(lines->on, p - 1))
			runs->pred[at[r]++] = p - 1;
	}
	for (uint32_t i = 0; i < lines->njumps; i++)
		for (uint32_t k = g->first[lines->jumps[i]]; k < g->first[lines->jumps[i] + 1]; k++)
			if ((r = run_from(runs, g->succ[k])) != NONE)
				runs->pred[at[r]++] = lines->jumps[i];
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
	runs->nsucc = n;
}

static struct demand_sets sets_new(const struct runs *runs, struct arena *arena)
{
	uint32_t nwords = (runs->ndemands + 63) / 64;

	return (struct demand_sets){
		ARENA_NEW(arena, uint64_t, (size_t)nwords * (runs->n + 1)), nwords};
}

static void find_pending(struct runs *runs, struct arena *arena)
{
	struct bits firsts = bits_new(arena, runs->graph->n);

	runs->pending_at = sets_new(runs, arena);
	for (uint32_t r = 0; r < runs->n; r++)
		bits_set(firsts, runs->v[r].first);
	for (uint32_t d = 0; d < runs->ndemands; d++) {
		struct bits pending = runs->demands[d].pending;

		for (uint32_t w = 0; w < firsts.nwords && w < pending.nwords; w++)
			for (uint64_t word = firsts.words[w] & pending.words[w]; word;
				word &= word - 1) {
				uint32_t r = runs->of[64 * w + (uint32_t)__builtin_ctzll(word)];

				bits_set(runs_demands(runs->pending_at, r), d);
			}
	}
}

static void starts_and_ends(struct runs *runs, struct arena *arena, uint32_t d)
{
	const struct cut_graph *g = runs->graph;
	const struct demand *demand = &runs->demands[d];
	uint32_t *v, n = 0;

	for (uint32_t i = 0; i < demand->nsources; i++)
		n += g->first[demand->sources[i] + 1] - g->first[demand->sources[i]];
	v = ARENA_UNSET(arena, uint32_t, n + 1);
	n = 0;
	for (uint32_t i = 0; i < demand->nsources; i++) {
		uint32_t p = demand->sources[i];

		for (uint32_t k = g->first[p]; k < g->first[p + 1]; k++)
			if (bits_has(demand->pending, g->succ[k]))
				v[n++] = runs->of[g->succ[k]];
	}
	runs->starts[d] = (struct ids){v, n};
	v = ARENA_UNSET(arena, uint32_t, demand->nsinks + 1);
	n = 0;
	for (uint32_t i = 0; i < demand->nsinks; i++)
		if (bits_has(demand->pending, demand->sinks[i]))
			v[n++] = runs->of[demand->sinks[i]];
	runs->ends[d] = (struct ids){v, n};
	for (uint32_t i = 0; i < n; i++)
		bits_set(runs_demands(runs->ends_at, v[i]), d);
}

/* ---- the runs that matter: all demands of a run at once ---- */

/* Of these demands, those that come out of run r. */
static void drop_fenced(const struct runs *runs, uint32_t r, struct bits out)
{
	if (!runs->graph->kills[runs->v[r].last])
		return;
	for (uint32_t d = bits_next(out, 0); d != NONE; d = bits_next(out, d + 1))
		if (runs_fenced(runs, r, runs->demands[d].width))
			bits_clear(out, d);
}

/* Which demands the starts carry into each run. */
static struct demand_sets find_reached(const struct runs *runs, struct arena *arena)
{
	struct demand_sets reached = sets_new(runs, arena);
	struct agenda todo = agenda_new(arena, runs->n);
	struct bits out = bits_new(arena, runs->ndemands);

	for (uint32_t d = 0; d < runs->ndemands; d++)
		for (uint32_t i = 0; i < runs->starts[d].n; i++) {
			bits_set(runs_demands(reached, runs->starts[d].v[i]), d);
			agenda_add(&todo, runs->starts[d].v[i]);
		}
	for (uint32_t r; (r = agenda_next(&todo)) != NONE;) {
		bits_copy(out, runs_demands(reached, r));
		drop_fenced(runs, r, out);
		for (uint32_t i = 0; i < runs->v[r].nsucc; i++) {
			uint32_t s = runs->succ[runs->v[r].succ + i];

			if (bits_or_and(runs_demands(reached, s), out,
				    runs_demands(runs->pending_at, s)))
				agenda_add(&todo, s);
		}
	}
	return reached;
}

/* Of these, those that go on from there to an end: found backwards from the ends. */
static void find_relevant(struct runs *runs, struct arena *arena, struct arena *own)
{
	struct demand_sets reached = find_reached(runs, own);
	struct agenda todo = agenda_new(own, runs->n);

	runs->relevant_at = sets_new(runs, arena);
	for (uint32_t r = 0; r < runs->n; r++) {
		struct bits out = runs_demands(reached, r);

		if (bits_or_and(runs_demands(runs->relevant_at, r), runs_demands(runs->ends_at, r),
			    out))
			agenda_add(&todo, runs->n - 1 - r); /* the last first */
		drop_fenced(runs, r, out);
	}
	for (uint32_t i; (i = agenda_next(&todo)) != NONE;) {
		uint32_t s = runs->n - 1 - i;

		for (uint32_t k = runs->pred_first[s]; k < runs->pred_first[s + 1]; k++) {
			uint32_t r = runs->of[runs->pred[k]];

			if (r != NONE && bits_or_and(runs_demands(runs->relevant_at, r),
						 runs_demands(runs->relevant_at, s),
						 runs_demands(reached, r)))
				agenda_add(&todo, runs->n - 1 - r);
		}
	}
}

/* The same by demand. */
static void list_relevant(struct runs *runs, struct arena *arena)
{
	runs->relevant = ARENA_UNSET(arena, struct bits, runs->ndemands + 1);
	for (uint32_t d = 0; d < runs->ndemands; d++)
		runs->relevant[d] = bits_new(arena, runs->n + 1);
	for (uint32_t r = 0; r < runs->n; r++) {
		struct bits at = runs_demands(runs->relevant_at, r);

		for (uint32_t d = bits_next(at, 0); d != NONE; d = bits_next(at, d + 1))
			bits_set(runs->relevant[d], r);
	}
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static struct ids sorted_sources(const struct demand *demand, struct arena *arena)
{
	if (demand->nsources < 2)
		return (struct ids){demand->sources, demand->nsources};
	uint32_t *v = ARENA_UNSET(arena, uint32_t, demand->nsources);

	memcpy(v, demand->sources, sizeof(*v) * demand->nsources);
	qsort(v, demand->nsources, sizeof(*v), by_number);
	return (struct ids){v, demand->nsources};
}

void runs_build(const struct cut_graph *graph, const struct demand *demands, uint32_t ndemands,
	struct arena *arena, struct runs *runs)
{
	struct lines lines = {0};
	struct arena own;

	arena_begin(&own, arena);
	*runs = (struct runs){.graph = graph, .demands = demands, .ndemands = ndemands};
	find_jumps(graph, &own, &lines);
	find_changes(runs, &own, &lines);
	find_stops(runs, arena, &own, &lines);
	find_inside(runs, &own, &lines);
	collect_runs(runs, arena, &lines);
	join_runs(runs, arena);
	number_preds(runs, arena, &lines);
	runs->queue = ARENA_UNSET(arena, uint32_t, runs->n + 1);
	runs->from = ARENA_UNSET(arena, uint32_t, runs->n + 1);
	runs->seen = bits_new(arena, runs->n + 1);
	runs->starts = ARENA_UNSET(arena, struct ids, ndemands + 1);
	runs->ends = ARENA_UNSET(arena, struct ids, ndemands + 1);
	runs->ends_at = sets_new(runs, arena);
	runs->sources = ARENA_UNSET(arena, struct ids, ndemands + 1);
	find_pending(runs, arena);
	for (uint32_t d = 0; d < ndemands; d++) {
		runs->sources[d] = sorted_sources(&demands[d], arena);
		starts_and_ends(runs, arena, d);
	}
	find_relevant(runs, arena, &own);
	list_relevant(runs, arena);
	arena_end(&own);
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
		if (bits_has(runs_demands(runs->ends_at, r), d))
			return unroll(runs, r, path);
		if (runs_fenced(runs, r, runs->demands[d].width))
			continue;
		for (uint32_t i = 0; i < runs->v[r].nsucc; i++)
			visit(runs, d, have, runs->succ[runs->v[r].succ + i], r, &last);
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

/* Something of the demands comes along the way from point q to the first point of run s. */
static bool comes_along(const struct runs *runs, struct bits demands, uint8_t width,
	struct bits always, uint32_t q, uint32_t s)
{
	struct bits pending = runs_demands(runs->pending_at, s);
	uint32_t r = runs->of[q];
	bool comes = r != NONE && bits_has(always, r) && !runs_fenced(runs, r, width);

	if (comes) {
		struct bits before = runs_demands(runs->pending_at, r);

		for (uint32_t w = 0; w < pending.nwords; w++)
			if (pending.words[w] & before.words[w] & demands.words[w])
				return true;
	}
	if (!bits_has(runs->is_source, q))
		return false;
	for (uint32_t d = bits_next(demands, 0); d != NONE; d = bits_next(demands, d + 1))
		if (bits_has(pending, d) && is_among(runs->sources[d], q))
			return true;
	return false;
}

void runs_always_pending(
	const struct runs *runs, struct bits demands, uint8_t width, struct bits always)
{
	bool changed = true;

	bits_zero(always);
	for (uint32_t r = 0; r < runs->n; r++)
		if (bits_meet(runs_demands(runs->pending_at, r), demands))
			bits_set(always, r);
	while (changed) {
		changed = false;
		for (uint32_t r = bits_next(always, 0); r != NONE; r = bits_next(always, r + 1)) {
			bool stays = runs->v[r].first != runs->graph->entry;

			for (uint32_t i = runs->pred_first[r]; stays && i < runs->pred_first[r + 1];
				i++)
				stays = comes_along(runs, demands, width, always, runs->pred[i], r);
			if (stays)
				continue;
			bits_clear(always, r);
			changed = true;
		}
	}
}
