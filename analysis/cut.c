/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: points, what a fence costs at each, and the demands. Goes out: fences that meet every
 * demand that can be met. One demand is a cheapest cut by maximum flow; demands that share sources
 * or sinks are cut together; several groups on the same points are a multicut, which is hard in
 * general (Garg, Vazirani, Yannakakis 1996), so they are cut one after the other, each taking for
 * free what stands already, then improved, and small cases are finished by search (cut_search.c).
 * Invariant: `have` never loses a fence that some demand met so far needs.
 */
#include "analysis/cut_implied.h"
#include "analysis/cut_prune.h"
#include "analysis/cut_search.h"
#include "analysis/maxflow.h"

#include <stdlib.h>

#define FINE 1024 /* a cost is scaled by this; below it the ties are broken */

bool cut_covers(uint8_t have, uint8_t need)
{
	if (have & SPACE_CLUSTER)
		have |= SPACE_SHARED;
	return (have & need) == need;
}

uint32_t cut_instructions(uint8_t width)
{
	if (width & SPACE_CLUSTER)
		return 1; /* with global as well one unqualified fence, which is the same
			     instruction */
	return (uint32_t)__builtin_popcount(width);
}

struct solver {
	struct runs *runs;
	struct arena *arena;
	struct budget *budget;
	bool *infeasible; /* by demand */
	struct maxflow *network;
	struct pruner *pruner;
	struct bits any, always, taken, starts, ends; /* scratch, by run */
	struct bits group;		      /* scratch, by demand */
	struct bits side;		      /* scratch, by node of the network */
};

uint64_t cut_cost_at(const struct runs *runs, uint32_t r, uint8_t width)
{
	uint64_t cost = runs->v[r].cost < CUT_FORBIDDEN ? runs->v[r].cost : 0;

	return cost * cut_instructions(width);
}

uint64_t cut_cost(const struct runs *runs, const uint8_t *have)
{
	uint64_t sum = 0;

	for (uint32_t r = bytes_next(have, runs->n, 0); r < runs->n;
		r = bytes_next(have, runs->n, r + 1))
		sum += cut_cost_at(runs, r, have[r]);
	return sum;
}

static uint64_t capacity(const struct runs *runs, uint32_t r, bool always)
{
	if (runs->v[r].cost >= CUT_FORBIDDEN)
		return MAXFLOW_INFINITE;
	return runs->v[r].cost * FINE + !always;
}

static bool meet(struct bits a, struct bits b, struct bits c)
{
	for (uint32_t w = 0; w < a.nwords; w++)
		if (a.words[w] & b.words[w] & c.words[w])
			return true;
	return false;
}

/* Nodes of the network: 2r before run r's point, 2r+1 behind it, then source and sink. The demands
 * of the group have one width. */
static void add_run(const struct solver *s, uint32_t r, uint8_t width, const uint8_t *have)
{
	const struct runs *runs = s->runs;
	struct maxflow *m = s->network;
	struct bits at = runs_demands(runs->relevant_at, r);

	if (!cut_covers(have[r] | runs->v[r].given, width))
		maxflow_edge(m, 2 * r, 2 * r + 1, capacity(runs, r, bits_has(s->always, r)));
	if (runs_fenced(runs, r, width))
		return;
	for (uint32_t i = 0; i < runs->v[r].nsucc; i++) {
		uint32_t to = runs->succ[runs->v[r].succ + i];

		if (meet(at, runs_demands(runs->relevant_at, to), s->group))
			maxflow_edge(m, 2 * r + 1, 2 * to, MAXFLOW_INFINITE);
	}
}

/* Run r is relevant and not among those seen yet; now it is. Demands of a group share most of their sources or
 * sinks: one edge will do. */
static bool is_new(struct bits seen, struct bits relevant, uint32_t r)
{
	if (!bits_has(relevant, r) || bits_has(seen, r))
		return false;
	bits_set(seen, r);
	return true;
}

/* Cuts all of these demands (of one width) in one network; false: some need cannot be cut. */
static bool cut_together(const struct solver *s, const uint32_t *demands, uint32_t n, uint8_t *have)
{
	struct runs *runs = s->runs;
	uint32_t source = 2 * runs->n, sink = source + 1;
	struct maxflow *m = s->network;
	struct bits any = s->any, side = s->side;
	uint8_t width = runs->demands[demands[0]].width;

	maxflow_clear(m);
	bits_zero(any);
	bits_zero(s->group);
	bits_zero(s->starts);
	bits_zero(s->ends);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t d = demands[k];

		bits_set(s->group, d);
		bits_or(any, runs->relevant[d]);
		for (uint32_t i = 0; i < runs->starts[d].n; i++)
			if (is_new(s->starts, runs->relevant[d], runs->starts[d].v[i]))
				maxflow_edge(m, source, 2 * runs->starts[d].v[i], MAXFLOW_INFINITE);
		for (uint32_t i = 0; i < runs->ends[d].n; i++)
			if (is_new(s->ends, runs->relevant[d], runs->ends[d].v[i]))
				maxflow_edge(m, 2 * runs->ends[d].v[i] + 1, sink, MAXFLOW_INFINITE);
	}
	runs_always_pending(runs, s->group, width, s->always);
	for (uint32_t r = bits_next(any, 0); r < runs->n; r = bits_next(any, r + 1))
		add_run(s, r, width, have);
	if (maxflow_run(m, source, sink) >= MAXFLOW_INFINITE)
		return false;
	maxflow_sink_side(m, side);
	for (uint32_t r = bits_next(any, 0); r < runs->n; r = bits_next(any, r + 1))
		if (bits_has(side, 2 * r + 1) && !bits_has(side, 2 * r))
			have[r] |= width;
	return true;
}

/* Demands in sets: first the groups, then what must be looked at as a whole. */
struct sets {
	uint32_t *parent;
};

static uint32_t set_of(struct sets *sets, uint32_t i)
{
	while (sets->parent[i] != i)
		i = sets->parent[i] = sets->parent[sets->parent[i]];
	return i;
}

static void set_join(struct sets *sets, uint32_t a, uint32_t b)
{
	a = set_of(sets, a);
	b = set_of(sets, b);
	if (a < b)
		sets->parent[b] = a;
	else
		sets->parent[a] = b;
}

static struct sets sets_new(struct arena *arena, uint32_t n)
{
	struct sets sets = {ARENA_NEW(arena, uint32_t, n + 1)};

	for (uint32_t i = 0; i < n; i++)
		sets.parent[i] = i;
	return sets;
}

static uint32_t variant(const struct demand *demand)
{
	return demand->width * 2u + demand->waiting_side;
}

static void join_at(
	struct sets *sets, uint32_t *owner, const uint32_t *points, uint32_t n, uint32_t d)
{
	for (uint32_t i = 0; i < n; i++) {
		if (owner[points[i]] == NONE)
			owner[points[i]] = d;
		else
			set_join(sets, owner[points[i]], d);
	}
}

/* Groups: demands of one width and side with a common source or a common sink. */
static struct sets find_groups(const struct solver *s)
{
	const struct runs *runs = s->runs;
	struct sets sets = sets_new(s->arena, runs->ndemands);
	uint32_t n = runs->graph->n;
	uint32_t *source = ARENA_UNSET(s->arena, uint32_t, n), *sink = ARENA_UNSET(s->arena, uint32_t, n);

	for (uint32_t kind = 0; kind < 16; kind++) {
		bool used = false;

		for (uint32_t d = 0; d < runs->ndemands; d++) {
			const struct demand *demand = &runs->demands[d];

			if (variant(demand) != kind)
				continue;
			if (!used) {
				memset(source, 0xff, sizeof(*source) * n);
				memset(sink, 0xff, sizeof(*sink) * n);
				used = true;
			}
			join_at(&sets, source, demand->sources, demand->nsources, d);
			join_at(&sets, sink, demand->sinks, demand->nsinks, d);
		}
	}
	ARENA_GIVE_BACK(s->arena, sink, n);
	ARENA_GIVE_BACK(s->arena, source, n);
	return sets;
}

/* Components: groups that could share a fence somewhere. */
static struct sets find_components(const struct solver *s, struct sets *groups)
{
	const struct runs *runs = s->runs;
	struct sets sets = sets_new(s->arena, runs->ndemands);
	struct bits last = {0};

	for (uint32_t d = 0; d < runs->ndemands; d++)
		set_join(&sets, d, set_of(groups, d));
	for (uint32_t r = 0; r < runs->n; r++) {
		struct bits at = runs_demands(runs->relevant_at, r);
		uint32_t owner = bits_next(at, 0);

		if (owner == NONE || (last.nwords && bits_equal(last, at)))
			continue;
		for (uint32_t d = bits_next(at, owner + 1); d != NONE; d = bits_next(at, d + 1))
			set_join(&sets, owner, d);
		last = at;
	}
	return sets;
}

/* The members of a set, ascending. */
static struct ids members(const struct solver *s, struct sets *sets, uint32_t root)
{
	uint32_t *v = ARENA_NEW(s->arena, uint32_t, s->runs->ndemands), n = 0;

	for (uint32_t d = root; d < s->runs->ndemands; d++)
		if (set_of(sets, d) == root)
			v[n++] = d;
	return (struct ids){v, n};
}

/* Cuts one group; demand by demand where the group as a whole cannot be cut. */
static void cut_group(const struct solver *s, struct ids group, uint8_t *have)
{
	if (cut_together(s, group.v, group.n, have))
		return;
	for (uint32_t i = 0; i < group.n; i++)
		if (!cut_together(s, &group.v[i], 1, have))
			s->infeasible[group.v[i]] = true;
}

struct trial {
	const struct solver *s;
	struct ids demands;
	uint8_t *best, *have;
	uint64_t cost;
};

static void trial_begin(struct trial *t)
{
	memset(t->have, 0, t->s->runs->n);
}

/* Keeps what was tried if it is cheaper. */
static void trial_end(struct trial *t)
{
	prune(t->s->pruner, t->demands, t->have);
	uint64_t cost = cut_cost(t->s->runs, t->have);

	if (cost >= t->cost)
		return;
	t->cost = cost;
	memcpy(t->best, t->have, t->s->runs->n);
}

/* Widest first: a cluster fence is then there for those that need only the own CTA. */
static const uint8_t width_order[] = {SPACE_CLUSTER | SPACE_GLOBAL,
	SPACE_SHARED | SPACE_CLUSTER | SPACE_GLOBAL, SPACE_CLUSTER, SPACE_SHARED | SPACE_CLUSTER,
	SPACE_SHARED | SPACE_GLOBAL, SPACE_GLOBAL, SPACE_SHARED};

static void cut_one_after_the_other(
	struct trial *t, const struct ids *groups, uint32_t ngroups, uint32_t turn)
{
	trial_begin(t);
	for (uint32_t w = 0; w < sizeof(width_order); w++)
		for (uint32_t i = 0; i < ngroups; i++) {
			struct ids group = groups[(i + turn) % ngroups];

			if (t->s->runs->demands[group.v[0]].width == width_order[w])
				cut_group(t->s, group, t->have);
		}
	trial_end(t);
}

/* All of one width in one network: right when many groups cross the same few points. */
static void cut_all_at_once(struct trial *t)
{
	trial_begin(t);
	for (uint32_t w = 0; w < sizeof(width_order); w++) {
		uint32_t *v = ARENA_NEW(t->s->arena, uint32_t, t->demands.n), n = 0;

		for (uint32_t i = 0; i < t->demands.n; i++)
			if (t->s->runs->demands[t->demands.v[i]].width == width_order[w] &&
				!t->s->infeasible[t->demands.v[i]])
				v[n++] = t->demands.v[i];
		if (n && !cut_together(t->s, v, n, t->have))
			return;
	}
	trial_end(t);
}

/* Every demand by itself. */
static void cut_singly(struct trial *t, uint32_t turn)
{
	trial_begin(t);
	for (uint32_t w = 0; w < sizeof(width_order); w++)
		for (uint32_t i = 0; i < t->demands.n; i++) {
			uint32_t d = t->demands.v[(i + turn) % t->demands.n];

			if (t->s->runs->demands[d].width == width_order[w] && !t->s->infeasible[d])
				cut_together(t->s, &d, 1, t->have);
		}
	trial_end(t);
}

/* For each group in turn: what the others need stays, what it alone needed is found anew. */
static void improve(struct trial *t, const struct ids *groups, uint32_t ngroups)
{
	uint32_t *rest = ARENA_NEW(t->s->arena, uint32_t, t->demands.n);
	uint64_t before;

	do {
		before = t->cost;
		for (uint32_t g = 0; g < ngroups && !budget_spent(t->s->budget); g++) {
			uint32_t n = 0;

			for (uint32_t i = 0; i < ngroups; i++)
				for (uint32_t k = 0; i != g && k < groups[i].n; k++)
					rest[n++] = groups[i].v[k];
			memcpy(t->have, t->best, t->s->runs->n);
			prune(t->s->pruner, (struct ids){rest, n}, t->have);
			cut_group(t->s, groups[g], t->have);
			trial_end(t);
		}
	} while (t->cost < before);
}

/* What any placement costs at least: demands that share no point must each be met on its own. */
static uint64_t least_cost(struct trial *t)
{
	const struct runs *runs = t->s->runs;
	struct bits taken = t->s->taken;
	uint64_t sum = 0;

	bits_zero(taken);
	for (uint32_t i = 0; i < t->demands.n; i++) {
		uint32_t d = t->demands.v[i];

		if (t->s->infeasible[d] || bits_meet(taken, runs->relevant[d]))
			continue;
		bits_or(taken, runs->relevant[d]);
		trial_begin(t);
		if (cut_together(t->s, &d, 1, t->have))
			sum += cut_cost(runs, t->have);
	}
	return sum;
}

/* The first demand that lacks run r, and a way of it through r: its length, or 0. */
static uint32_t way_through(struct trial *t, uint32_t r, uint32_t *path)
{
	const struct solver *s = t->s;

	for (uint32_t i = 0; i < t->demands.n; i++) {
		uint32_t d = t->demands.v[i], n;

		if (s->infeasible[d] || !bits_has(s->runs->relevant[d], r))
			continue;
		n = runs_open_path(s->runs, d, t->have, path);
		if (n)
			return n;
	}
	return 0;
}

/* Some way of a demand leads through each fence, no two of them have a run in common, and none has
 * a cheaper one: any placement has a fence on each. */
static bool is_least(struct trial *t)
{
	const struct runs *runs = t->s->runs;
	uint32_t *path = ARENA_NEW(t->s->arena, uint32_t, runs->n + 1);
	struct bits taken = t->s->taken;

	bits_zero(taken);
	memcpy(t->have, t->best, runs->n);
	for (uint32_t r = 0; r < runs->n; r++) {
		if (!t->best[r])
			continue;
		if (cut_instructions(t->best[r]) > 1)
			return false;
		t->have[r] = 0;
		uint32_t n = way_through(t, r, path);

		t->have[r] = t->best[r];
		if (!n)
			return false;
		for (uint32_t i = 0; i < n; i++) {
			if (bits_has(taken, path[i]) || runs->v[path[i]].cost < runs->v[r].cost)
				return false;
			bits_set(taken, path[i]);
		}
	}
	return true;
}

static uint32_t groups_of(
	const struct solver *s, struct sets *groups, struct ids demands, struct ids **result)
{
	uint32_t n = 0;

	*result = ARENA_NEW(s->arena, struct ids, demands.n);
	for (uint32_t i = 0; i < demands.n; i++)
		if (set_of(groups, demands.v[i]) == demands.v[i])
			(*result)[n++] = members(s, groups, demands.v[i]);
	return n;
}

static void cut_component(
	const struct solver *s, struct sets *groups, struct ids demands, uint8_t *have)
{
	const uint32_t many =
		32; /* beyond, the trials that cost a flow for each demand are left out */
	struct ids *v;
	uint32_t n = groups_of(s, groups, demands, &v);
	struct trial t = {s, demands, ARENA_NEW(s->arena, uint8_t, s->runs->n + 1),
		ARENA_NEW(s->arena, uint8_t, s->runs->n + 1), UINT64_MAX};

	cut_one_after_the_other(&t, v, n, 0);
	if (demands.n > 1 && !is_least(&t) && t.cost > least_cost(&t)) {
		if (n > 1)
			cut_all_at_once(&t);
		for (uint32_t turn = 1; turn < n && turn < 4 && n <= many; turn++)
			cut_one_after_the_other(&t, v, n, turn);
		for (uint32_t turn = 0; turn < demands.n && turn < 4 && demands.n <= many; turn++)
			cut_singly(&t, turn);
		if (n > 1 && n <= many)
			improve(&t, v, n);
		cut_search(s->runs, demands, s->infeasible, t.best, s->arena, s->budget);
	}
	for (uint32_t r = bytes_next(t.best, s->runs->n, 0); r < s->runs->n;
		r = bytes_next(t.best, s->runs->n, r + 1))
		have[r] |= t.best[r];
}

static int by_point(const void *a, const void *b)
{
	const struct cut_fence *x = a, *y = b;

	return (x->point > y->point) - (x->point < y->point);
}

static void take(const struct solver *s, const uint8_t *have, struct cut *cut)
{
	const struct runs *runs = s->runs;
	uint32_t cap = 0;

	cut->cost = cut_cost(runs, have);
	for (uint32_t r = bytes_next(have, runs->n, 0); r < runs->n;
		r = bytes_next(have, runs->n, r + 1)) {
		struct cut_fence one = {runs->v[r].point, have[r]};

		ARENA_PUSH(s->arena, cut->fences, cut->nfences, cap, one);
	}
	if (cut->nfences)
		qsort(cut->fences, cut->nfences, sizeof(*cut->fences), by_point);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Of any network: through and between the runs, from the source, to the sink. */
static size_t most_edges(const struct runs *runs)
{
	size_t starts = 0, ends = 0;

	for (uint32_t d = 0; d < runs->ndemands; d++) {
		starts += runs->starts[d].n;
		ends += runs->ends[d].n;
	}
	return (size_t)runs->n + runs->nsucc + smaller(starts, runs->n) + smaller(ends, runs->n);
}

static void solve(struct solver *s, const struct cut_graph *graph, const struct demand *demands,
	uint32_t ndemands, struct cut *cut)
{
	struct arena *arena = s->arena;
	struct runs *runs = ARENA_NEW(arena, struct runs, 1);

	s->runs = runs;
	runs_build(graph, demands, ndemands, arena, runs);
	s->any = bits_new(arena, runs->n + 1);
	s->always = bits_new(arena, runs->n + 1);
	s->taken = bits_new(arena, runs->n + 1);
	s->starts = bits_new(arena, runs->n + 1);
	s->ends = bits_new(arena, runs->n + 1);
	s->side = bits_new(arena, 2 * runs->n + 2);
	s->group = bits_new(arena, ndemands);
	s->pruner = pruner_new(runs, s->infeasible, arena, s->budget);
	uint8_t *have = ARENA_NEW(arena, uint8_t, runs->n + 1);
	struct sets groups = find_groups(s);
	struct sets components = find_components(s, &groups);

	s->network = maxflow_new(arena, 2 * runs->n + 2, most_edges(runs));
	for (uint32_t d = 0; d < ndemands && !budget_spent(s->budget); d++)
		if (set_of(&components, d) == d)
			cut_component(s, &groups, members(s, &components, d), have);
	take(s, have, cut);
}

/* Without those that others imply, if all of them can be met. */
static bool solve_fewer(struct solver *s, const struct cut_graph *graph,
	const struct demand *demands, uint32_t ndemands, struct cut *cut)
{
	struct demand *kept = ARENA_UNSET(s->arena, struct demand, ndemands);
	uint32_t n = cut_drop_implied(graph, demands, ndemands, kept);

	if (n == ndemands)
		return false;
	solve(s, graph, kept, n, cut);
	return !memchr(s->infeasible, true, n);
}

void cut_solve(const struct cut_graph *graph, const struct demand *demands, uint32_t ndemands,
	struct arena *arena, struct budget *budget, struct cut *cut)
{
	struct solver s = {.arena = arena,
		.budget = budget,
		.infeasible = ARENA_NEW(arena, bool, ndemands + 1)};

	*cut = (struct cut){.infeasible = s.infeasible};
	if (!ndemands || solve_fewer(&s, graph, demands, ndemands, cut))
		return;
	memset(s.infeasible, false, ndemands);
	*cut = (struct cut){.infeasible = s.infeasible};
	solve(&s, graph, demands, ndemands, cut);
}
