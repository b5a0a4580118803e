/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: the edges of a function as written. Goes out: the changes of its fences, and the edges
 * that no fence can settle. Plan a cut, solve the flow with it, plan for what is left until nothing
 * is; then take away each new fence, dearest first, whose loss the flow does not see. Invariant:
 * when planning ends, the flow under the plan holds no edge that is to be fixed but those listed as
 * unfixable.
 */
#include "analysis/findings.h"
#include "analysis/plan_async.h"
#include "analysis/plan_demands.h"
#include "analysis/plan_private.h"

#include <stdlib.h>

#define ROUNDS_MOST 12

/* Edges that a fence of the text was meant for: --fix=misplaced is about them, --fix=missing about
 * the others. */
static void find_blamed(struct planner *p, struct edge_index *blamed)
{
	struct unit *unit = p->scene.unit;
	struct edge *v = NULL;
	struct audit audit;
	struct flow flow;
	uint32_t n = 0, cap = 0;

	scene_solve_full(&p->scene, &flow);
	audit_scene(&p->scene, &flow, &audit);
	for (uint32_t i = 0; i < audit.nfences; i++)
		for (uint32_t k = 0; audit.fences[i].misplaced && k < audit.fences[i].nedges; k++)
			ARENA_PUSH(unit->arena, v, n, cap, audit.lost[audit.fences[i].edges[k]]);
	edge_index_build(v, n, unit->arena, blamed);
}

static void choose_targets(struct planner *p)
{
	const struct unit *unit = p->scene.unit;
	uint32_t both = FIX_MISSING | FIX_MISPLACED, fix = unit->options->fix & both;
	struct edge_index blamed = {0};

	if (fix != both)
		find_blamed(p, &blamed);
	p->target = ARENA_NEW(unit->arena, bool, p->first->nedges + 1);
	p->left = ARENA_NEW(unit->arena, bool, p->first->nedges + 1);
	for (uint32_t i = 0; i < p->first->nedges; i++) {
		const struct edge *edge = &p->first->edges[i];

		bool misplaced = fix != both && edge_index_find(&blamed, edge) != NONE;

		p->target[i] = edge_wanted(unit->options, edge) && !edge_suppressed(unit, edge) &&
			       (fix == both || fix == (misplaced ? FIX_MISPLACED : FIX_MISSING));
	}
}

bool plan_is_target(const struct planner *p, const struct edge *edge, uint32_t *first)
{
	*first = edge_index_find(&p->index, edge);
	if (*first != NONE)
		return p->target[*first];
	return edge_wanted(p->scene.unit->options, edge) && !edge_suppressed(p->scene.unit, edge);
}

static uint32_t mark_left(struct planner *p, const struct flow *flow)
{
	uint32_t n = 0;

	memset(p->left, 0, sizeof(*p->left) * p->first->nedges);
	for (uint32_t i = 0; i < flow->nedges; i++) {
		uint32_t first;

		if (!plan_is_target(p, &flow->edges[i], &first))
			continue;
		n++;
		if (first != NONE)
			p->left[first] = true;
	}
	return n;
}

static bool demand_is_target(
	const struct planner *p, const struct flow *flow, const struct demand *demand)
{
	uint32_t first;

	for (uint32_t i = 0; i < demand->nedges; i++)
		if (plan_is_target(p, &flow->edges[demand->edges[i]], &first))
			return true;
	return false;
}

static uint32_t target_demands(struct planner *p, const struct flow *flow, struct demand **demands)
{
	uint32_t n, kept = 0;

	scene_demands(&p->scene, flow, demands, &n);
	for (uint32_t i = 0; i < n; i++)
		if (demand_is_target(p, flow, &(*demands)[i]))
			(*demands)[kept++] = (*demands)[i];
	return demands_join(*demands, kept, p->scene.unit->arena);
}

bool plan_add_width(struct planner *p, uint32_t point, uint8_t width)
{
	if (cut_covers(p->scene.width[point], width))
		return false;
	scene_place(&p->scene, point, p->scene.width[point] | width);
	return true;
}

static bool place_by_cut(struct planner *p, const struct demand *demands, uint32_t n)
{
	struct cut cut;
	bool placed = false;

	cut_solve(&p->scene.points.graph, demands, n, p->scene.unit->arena, p->scene.unit->budget,
		&cut);
	for (uint32_t i = 0; i < cut.nfences; i++)
		placed |= plan_add_width(p, cut.fences[i].point, cut.fences[i].width);
	return placed;
}

/* What a fence before the async access must cover: as demanded, else by the edge's own space. */
static uint8_t edge_width(
	const struct flow *flow, uint32_t edge, const struct demand *demands, uint32_t n)
{
	uint8_t width = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < demands[i].nedges; k++)
			if (demands[i].edges[k] == edge)
				width |= demands[i].width;
	return width ? width : flow->edges[edge].space;
}

static bool place_before_async(struct planner *p, const struct flow *flow,
	const struct demand *demands, uint32_t n, bool hoist)
{
	bool placed = false;

	for (uint32_t i = 0; i < flow->nedges; i++) {
		uint32_t first;

		if (!plan_is_target(p, &flow->edges[i], &first))
			continue;
		uint32_t insn = p->scene.unit->accesses.v[flow->edges[i].async].insn;
		uint32_t point = async_point(&p->scene, insn, hoist);

		if (point != NONE)
			placed |= plan_add_width(p, point, edge_width(flow, i, demands, n));
	}
	return placed;
}

/* Places for what is left of the flow; tells whether anything new was placed. */
static bool place_round(struct planner *p, const struct flow *flow, uint32_t round)
{
	struct arena stage;
	struct demand *demands;
	bool placed;

	unit_begin(p->scene.unit, &stage);
	uint32_t n = target_demands(p, flow, &demands);

	if (!p->scene.unit->options->writer_side)
		placed = place_before_async(p, flow, demands, n, round == 0);
	else
		placed = place_by_cut(p, demands, n);
	placed = placed || place_before_async(p, flow, demands, n, false);
	unit_end(p->scene.unit);
	return placed;
}

static void place_all(struct planner *p)
{
	struct flow flow;

	scene_solve(&p->scene, &flow);
	for (uint32_t round = 0; round < ROUNDS_MOST; round++) {
		if (!mark_left(p, &flow) || flow.incomplete)
			return;
		if (!place_round(p, &flow, round))
			return;
		scene_solve(&p->scene, &flow);
	}
	mark_left(p, &flow);
}

/* ---- the text as it will be read again ---- */

/* The predicates told apart are those of the fences in the text, and there is room for few: once
 * the new fences stand there, others may be left out than the plan counted on. So what is judged in
 * the end is the text as it will be read again; what it shows is fenced too, and nothing taken
 * away. */
static void settle(struct planner *p)
{
	uint8_t *width = ARENA_NEW(p->scene.arena, uint8_t, p->scene.points.graph.n);

	memcpy(width, p->scene.width, p->scene.points.graph.n);
	for (uint32_t round = 0; round < ROUNDS_MOST; round++) {
		scene_prepare(&p->scene);
		if (plan_holds(p))
			break;
		place_all(p);
	}
	for (uint32_t k = 0; k < p->scene.points.graph.n; k++)
		if (p->scene.width[k] != width[k] && scene_representative(&p->scene, k) == k)
			plan_note_settled(p, k);
}

/* ---- what comes out ---- */

static const char *reason_unfixable(const struct planner *p, const struct edge *edge)
{
	const struct unit *unit = p->scene.unit;
	const struct access *g = &unit->accesses.v[edge->generic],
			    *a = &unit->accesses.v[edge->async];

	if (unit->leave && (unit->leave[g->insn] | unit->leave[a->insn]) & LEAVE_TEXT)
		return "inside a range that a hint switches off";
	if (g->insn == a->insn)
		return "one unknown callee does both";
	if (g->call)
		return "an unknown callee both writes and hands over";
	if (a->call)
		return "an unknown callee acquires before its async access";
	return "no place between the two takes a fence";
}

static void list_unfixable(struct planner *p)
{
	const struct unit *unit = p->scene.unit;

	for (uint32_t i = 0; i < p->first->nedges; i++) {
		struct unfixable one = {i, NULL};

		if (!p->left[i])
			continue;
		one.reason = reason_unfixable(p, &p->first->edges[i]);
		ARENA_PUSH(unit->lasting, p->plan->unfixable, p->plan->nunfixable, p->cap_unfixable,
			one);
	}
}

/* By candidate. Edges settled by more than one fence come back with none of them: the first that is
 * wide enough gets them. */
static struct ids *share_out(struct planner *p, const struct candidate *v, uint32_t n)
{
	struct ids *shares = ARENA_NEW(p->scene.arena, struct ids, n);
	bool *given = ARENA_NEW(p->scene.arena, bool, p->first->nedges + 1);
	uint32_t *all = ARENA_NEW(p->scene.arena, uint32_t, 2 * (size_t)p->first->nedges + 1);

	for (uint32_t i = 0; i < n; i++) {
		shares[i] = plan_settled(p, v[i].point);
		for (uint32_t k = 0; k < shares[i].n; k++)
			given[shares[i].v[k]] = true;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t count = shares[i].n;

		if (count)
			memcpy(all, shares[i].v, sizeof(*all) * count);
		for (uint32_t e = 0; e < p->first->nedges; e++) {
			uint8_t need = p->first->edges[e].space;

			if (!p->target[e] || p->left[e] || given[e] ||
				(i + 1 < n && !cut_covers(p->scene.width[v[i].point], need)))
				continue;
			given[e] = true;
			all[count++] = e;
		}
		uint32_t *kept = ARENA_NEW(p->scene.unit->lasting, uint32_t, count);

		if (count)
			memcpy(kept, all, sizeof(*kept) * count);
		shares[i] = (struct ids){kept, count};
	}
	return shares;
}

void plan_emit(struct planner *p, uint8_t change, uint32_t at, enum fence_kind kind,
	struct ids edges, const char *reason)
{
	struct fence_change one = {.change = change,
		.kind = (uint8_t)kind,
		.before = points_insn(&p->scene.points, at),
		.behind = points_is_behind(&p->scene.points, at),
		.weight = points_weight(&p->scene.points, at),
		.edges = edges.v,
		.nedges = edges.n,
		.reason = reason};

	ARENA_PUSH(p->scene.unit->lasting, p->plan->changes, p->plan->nchanges, p->cap, one);
}

static const char *reason_to_insert(const struct planner *p, uint32_t point, struct ids edges)
{
	bool foreign = false, waiting = false;

	for (uint32_t i = 0; i < edges.n; i++) {
		foreign |= p->first->edges[edges.v[i]].foreign;
		waiting |= p->first->edges[edges.v[i]].waiting_side;
	}
	if (p->scene.points.cost[point] >= CUT_AVOID)
		return "inside a wgmma batch: no other place covers the edge";
	if (!p->scene.unit->options->writer_side)
		return "before the async access";
	if (waiting)
		return "after the acquire: only the waiting thread can fence";
	return foreign ? "before the release that hands the data over"
		       : "between the generic and the async access";
}

static void emit_insertions(struct planner *p)
{
	struct candidate *v;
	uint32_t n = plan_candidates(p, &v);
	const struct ids *shares = share_out(p, v, n);

	for (uint32_t i = 0; i < n; i++) {
		struct ids edges = shares[i];
		enum fence_kind kinds[2];

		fence_kinds(p->scene.width[v[i].point], kinds);
		for (uint32_t k = 0; k < 2 && kinds[k] != FENCE_NONE; k++)
			plan_emit(p, CHANGE_INSERT, v[i].point, kinds[k], edges,
				reason_to_insert(p, v[i].point, edges));
	}
}

static void list_weights(struct planner *p)
{
	const struct scene *scene = &p->scene;
	uint32_t cap = 0;

	uint32_t n = scene->unit->fn->ninsns;

	for (uint32_t k = bytes_next(scene->existing, n, 0); k < n;
		k = bytes_next(scene->existing, n, k + 1)) {
		struct fence_weight one = {k, points_weight(&scene->points, k)};

		if (fence_is_proxy((enum fence_kind)scene->existing[k]) &&
			scene_representative(scene, k) == k)
			ARENA_PUSH(
				scene->unit->lasting, p->plan->fences, p->plan->nfences, cap, one);
	}
}

static int by_place(const void *a, const void *b)
{
	const struct fence_change *x = a, *y = b;

	if (x->before != y->before)
		return x->before < y->before ? -1 : 1;
	if (x->behind != y->behind)
		return x->behind ? 1 : -1;
	if (x->change != y->change)
		return x->change < y->change ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

void plan_fences(struct scene *scene, const struct flow *first, struct plan *plan)
{
	struct unit *unit = scene->unit;
	struct arena stage;

	unit_begin(unit, &stage);
	struct planner *p = ARENA_NEW(unit->arena, struct planner, 1);

	*plan = (struct plan){0};
	*p = (struct planner){.scene = *scene, .first = first, .plan = plan};
	p->scene.arena = unit->arena; /* what is planned is gone with the stage */
	scene_know(&p->scene, first);
	edge_index_build(first->edges, first->nedges, unit->arena, &p->index);
	list_weights(p);
	plan->weight_before = scene_weight(&p->scene);
	if (first->nedges && unit->options->fix & (FIX_MISSING | FIX_MISPLACED)) {
		choose_targets(p);
		place_all(p);
		plan_drop_spare(p);
		settle(p);
		list_unfixable(p);
		emit_insertions(p);
	}
	if (unit->options->fix & (FIX_WIDE | FIX_REDUNDANT))
		plan_improve_existing(p);
	plan->weight_after = scene_weight(&p->scene);
	if (plan->nchanges)
		qsort(plan->changes, plan->nchanges, sizeof(*plan->changes), by_place);
	unit_end(unit);
}
