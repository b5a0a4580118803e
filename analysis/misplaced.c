/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: the missing edges of a flow and a fence whose loss would change nothing. Goes out: why
 * it does not help, if it stands where it looks as if it should. Invariant: only a fence on or
 * right beside the way of a missing edge is blamed, and never one that some edge needs.
 */
#include "analysis/misplaced.h"

#include "analysis/barrier.h"
#include "analysis/findings.h"
#include "analysis/flow_state.h"

void misplaced_prepare(
	struct scene *scene, const struct flow *flow, struct misplaced_search *search)
{
	*search = (struct misplaced_search){.scene = scene, .flow = flow};
	if (!flow->nedges)
		return;
	scene_demands(scene, flow, &search->demands, &search->n);
	ways_build(scene, &search->ways);
	search->scratch = bits_new(scene->arena, scene->points.graph.n + 1);
	search->before = bits_new(scene->arena, scene->points.graph.n + 1);
	search->behind = bits_new(scene->arena, scene->points.graph.n + 1);
	search->near = NONE;
	edge_index_build(flow->edges, flow->nedges, scene->arena, &search->missing);
	search->on_way = ARENA_NEW(scene->arena, struct bits, search->n + 1);
	search->from = ARENA_NEW(scene->arena, struct bits, search->n + 1);
}

static bool counts(const struct misplaced_search *search, const struct edge *edge)
{
	const struct unit *unit = search->scene->unit;

	return edge_wanted(unit->options, edge) && !edge_suppressed(unit, edge);
}

/* The most certain of the demand's edges; -1: none counts. */
static int certainty(const struct misplaced_search *search, const struct demand *demand)
{
	int most = -1;

	for (uint32_t i = 0; i < demand->nedges; i++) {
		const struct edge *edge = &search->flow->edges[demand->edges[i]];

		if (counts(search, edge) && edge->confidence > most)
			most = edge->confidence;
	}
	return most;
}

static struct bits way(struct misplaced_search *search, uint32_t d)
{
	if (!search->on_way[d].nwords) {
		search->on_way[d] =
			bits_new(search->scene->arena, search->scene->points.graph.n + 1);
		search->from[d] = bits_new(search->scene->arena, search->scene->points.graph.n + 1);
		ways_of(&search->ways, &search->demands[d], WAY_ANY, search->on_way[d]);
		bits_copy(search->from[d], search->ways.forward);
	}
	return search->on_way[d];
}

/* Some thread goes past the fence's block because of a branch on which threads differ. */
static bool some_threads_only(const struct unit *unit, uint32_t insn)
{
	uint32_t b = unit->cfg.block_of[insn];

	if (unit->fn->insns[insn].guard != NONE)
		return true;
	for (uint32_t p = unit->cfg.blocks[b].idom; p != NONE; p = unit->cfg.blocks[p].idom)
		if (unit->cfg.blocks[p].succ.n > 1 && !cfg_postdominates(&unit->cfg, b, p) &&
			barrier_divergent(unit, p))
			return true;
	return false;
}

/* As wide as can be, it would settle the edge. */
static bool widening_helps(
	struct misplaced_search *search, uint32_t insn, const struct demand *demand)
{
	struct edge_index index;
	struct scene wide;
	struct flow flow;

	scene_copy(search->scene, &wide);
	scene_change(&wide, insn, FENCE_ASYNC_ALL);
	scene_solve(&wide, &flow);
	edge_index_build(flow.edges, flow.nedges, search->scene->arena, &index);
	for (uint32_t i = 0; i < demand->nedges; i++)
		if (edge_index_find(&index, &search->flow->edges[demand->edges[i]]) == NONE)
			return true;
	return false;
}

static const char *on_the_way(
	struct misplaced_search *search, uint32_t insn, const struct demand *demand)
{
	enum fence_kind kind = (enum fence_kind)search->scene->existing[insn];
	uint8_t width = fence_width(kind);

	if (!cut_covers(width, demand->width)) {
		if (!widening_helps(search, insn, demand))
			return NULL;
		return width & demand->width ||
				       (width & SPACE_SHARED && demand->width & SPACE_CLUSTER)
			       ? "too narrow for the bytes that are handed over"
			       : "for another state space than the bytes that are handed over";
	}
	if (some_threads_only(search->scene->unit, insn))
		return "run by some of the threads that made the access, and a fence covers only "
		       "those "
		       "that run it";
	return "not on every path from the generic access";
}

/* Of the waits behind a copy those that complete it for certain, else all. */
static uint32_t completing(const struct misplaced_search *search, const struct demand *demand,
	uint32_t copy, uint32_t *to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < demand->nsources; i++)
		if (flow_wait_completes(search->scene->setup, demand->sources[i], copy))
			to[n++] = demand->sources[i];
	if (n)
		return n;
	memcpy(to, demand->sources, sizeof(*to) * demand->nsources);
	return demand->nsources;
}

/* Between the issue of a cp.async and the wait that completes it nothing is fenced. */
static bool before_wait(struct misplaced_search *search, uint32_t insn, const struct demand *demand)
{
	const struct unit *unit = search->scene->unit;
	struct arena *arena = search->scene->arena;

	for (uint32_t i = 0; i < demand->nedges; i++) {
		const struct edge *edge = &search->flow->edges[demand->edges[i]];

		if (!edge->cp_async)
			continue;
		uint32_t *waits = ARENA_NEW(arena, uint32_t, demand->nsources + 1);
		struct demand flight = {.sources = &unit->accesses.v[edge->generic].insn,
			.nsources = 1,
			.sinks = waits,
			.nsinks = completing(search, demand, edge->generic, waits),
			.pending = bits_new(arena, search->scene->points.graph.n + 1)};

		memset(flight.pending.words, 0xff, sizeof(uint64_t) * flight.pending.nwords);
		ways_of(&search->ways, &flight, WAY_ANY, search->scratch);
		if (bits_has(search->scratch, insn))
			return true;
	}
	return false;
}

/* From near a release the fence is come to just where the release is from the fence, backwards: so
 * two searches do for all releases and acquires. */
static void find_near(struct misplaced_search *search, uint32_t insn)
{
	if (search->near == insn)
		return;
	search->near = insn;
	ways_nearby(&search->ways, insn, true, search->before);
	ways_nearby(&search->ways, insn, false, search->behind);
}

/* From the access some ways go through the fence, and meet others that have none. */
static bool leads_to_way(struct misplaced_search *search, uint32_t insn, uint32_t d)
{
	const struct bits on_way = way(search, d);

	if (!bits_has(search->from[d], insn))
		return false;
	find_near(search, insn); /* once for all demands */
	return bits_meet(on_way, search->behind) &&
	       ways_lead_to(&search->ways, insn, &search->demands[d], on_way);
}

static bool behind_release(
	struct misplaced_search *search, uint32_t insn, const struct demand *demand)
{
	find_near(search, insn);
	for (uint32_t i = 0; i < demand->nsinks; i++)
		if (ways_is_release(search->scene->unit, demand->sinks[i]) &&
			bits_has(search->before, demand->sinks[i]))
			return true;
	return false;
}

static bool before_acquire(
	struct misplaced_search *search, uint32_t insn, const struct demand *demand)
{
	find_near(search, insn);
	for (uint32_t i = 0; i < demand->nedges; i++) {
		const struct edge *edge = &search->flow->edges[demand->edges[i]];

		if (edge->foreign && edge->acquire != NONE &&
			bits_has(search->behind, edge->acquire))
			return true;
	}
	return false;
}

static const char *blame(struct misplaced_search *search, uint32_t insn, uint32_t d)
{
	const struct demand *demand = &search->demands[d];

	if (bits_has(way(search, d), insn))
		return on_the_way(search, insn, demand);
	if (before_wait(search, insn, demand))
		return "before the wait that completes the cp.async";
	if (cut_covers(
		    fence_width((enum fence_kind)search->scene->existing[insn]), demand->width)) {
		if (behind_release(search, insn, demand))
			return "behind the release: what was handed over there is not covered";
		if (before_acquire(search, insn, demand))
			return "before the acquire: what arrives with it is not covered";
	}
	return leads_to_way(search, insn, d) ? on_the_way(search, insn, demand) : NULL;
}

static void fill(struct misplaced_search *search, struct fence_report *report,
	const struct demand *demand, const char *reason, struct audit *audit, uint32_t *cap)
{
	uint32_t *edges = ARENA_NEW(search->scene->arena, uint32_t, demand->nedges), n = 0;

	for (uint32_t i = 0; i < demand->nedges; i++) {
		const struct edge *edge = &search->flow->edges[demand->edges[i]];

		if (!counts(search, edge))
			continue;
		edges[n++] = audit->nlost;
		ARENA_PUSH(search->scene->arena, audit->lost, audit->nlost, *cap, *edge);
	}
	report->misplaced = true;
	report->reason = reason;
	report->edges = edges;
	report->nedges = n;
}

/* From demand *d on the first one that the fence is blamed for; `sure`: has an edge that is more
 * than possible. */
static const char *find_blame(
	struct misplaced_search *search, uint32_t insn, bool sure, uint32_t *d)
{
	const char *reason = NULL;

	for (; *d < search->n && !budget_spent(search->scene->unit->budget); ++*d) {
		int most = certainty(search, &search->demands[*d]);

		if (most >= 0 && (!sure || most > CONFIDENCE_POSSIBLE))
			reason = blame(search, insn, *d);
		if (reason)
			break;
	}
	return reason;
}

/* All that it is needed for is missing all the same, for those of the bytes that are a peer's: an
 * address of the cluster may be one of the own CTA. */
static bool covers_half(const struct misplaced_search *search, const struct fence_report *report,
	const struct audit *audit)
{
	if (fence_width((enum fence_kind)report->kind) & SPACE_CLUSTER || !search->n)
		return false;
	for (uint32_t i = 0; i < report->nedges; i++) {
		struct edge peer = audit->lost[report->edges[i]];

		if (peer.space != SPACE_SHARED)
			return false;
		peer.space = SPACE_CLUSTER;
		if (edge_index_find(&search->missing, &peer) == NONE)
			return false;
	}
	return report->nedges;
}

void misplaced_judge(struct misplaced_search *search, struct fence_report *report,
	struct audit *audit, uint32_t *cap)
{
	uint32_t d = 0;

	if ((report->verdict != FENCE_SPARE && !covers_half(search, report, audit)) ||
		search->scene->unit->cfg.block_of[report->insn] == NONE)
		return;
	const char *reason = find_blame(search, report->insn, false, &d);

	if (!reason)
		return;
	fill(search, report, &search->demands[d], reason, audit, cap);
	report->possible = !find_blame(search, report->insn, true, &d);
}
