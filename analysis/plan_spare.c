/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: fences that settle all that can be settled. Goes out: those that are needed, and by
 * which edges. Each is taken away, dearest first, and the flow solved again; it stays away if no
 * edge comes back, and none that a fence of the writer's side settled is left to one behind the
 * hand-off. Invariant: the flow under the plan holds as before.
 */
#include "analysis/plan_private.h"

#include <stdlib.h>

static int by_weight(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->point < y->point ? -1 : x->point > y->point;
}

uint32_t plan_candidates(const struct planner *p, struct candidate **v)
{
	const struct scene *scene = &p->scene;
	uint32_t n = 0, cap = 0;

	*v = NULL;
	for (uint32_t k = scene_next_added(scene, 0); k != NONE; k = scene_next_added(scene, k + 1))
		if (scene_representative(scene, k) == k)
			ARENA_PUSH(scene->arena, *v, n, cap,
				((struct candidate){k, scene->points.cost[k]}));
	if (n)
		qsort(*v, n, sizeof(**v), by_weight);
	return n;
}

/* Edges of a flow that are to be settled and were (of the first flow), into `back`; tells whether
 * there are none. */
static bool none_open(struct planner *p, const struct flow *flow, struct ids *back)
{
	uint32_t *v = ARENA_NEW(p->scene.arena, uint32_t, flow->nedges + 1), n = 0;
	bool none = !flow->incomplete;

	for (uint32_t i = 0; i < flow->nedges; i++) {
		uint32_t first;

		if (!plan_is_target(p, &flow->edges[i], &first) ||
			(first != NONE && p->left[first]))
			continue;
		none = false;
		if (first != NONE)
			v[n++] = first;
	}
	*back = (struct ids){v, n};
	return none;
}

/* With `width` at the point no edge is open; else those that come back by it in `lost`. */
static bool nothing_comes_back(struct planner *p, uint32_t point, uint8_t width, struct ids *lost)
{
	struct flow flow;

	if (!width && flow_can_lose(p->scene.setup)) {
		scene_solve(&p->scene, &flow);
		if (none_open(p, &flow, lost) && scene_solve_without(&p->scene, point, &flow)) {
			scene_place(&p->scene, point, 0);
			return none_open(p, &flow, lost);
		}
	}
	scene_place(&p->scene, point, width);
	scene_solve(&p->scene, &flow);
	return none_open(p, &flow, lost);
}

/* The two accesses may be in different CTAs, by one space or another; the edges are sorted. */
static bool may_cross(const struct flow *flow, uint32_t i)
{
	const struct edge *v = flow->edges;
	uint32_t k = i;

	while (k && v[k - 1].generic == v[i].generic && v[k - 1].async == v[i].async)
		k--;
	for (; k < flow->nedges && v[k].generic == v[i].generic && v[k].async == v[i].async; k++)
		if (v[k].crosses)
			return true;
	return false;
}

/* An edge of the flow with fences of the writer's side only that such a fence is to settle: not one
 * for which the CTA of the async access fences, or that has no point there. Its number in the first
 * flow, or NONE. */
static uint32_t writers_edge(const struct planner *p, const struct flow *flow, uint32_t i)
{
	uint32_t first = edge_index_find(&p->index, &flow->edges[i]);

	if (first == NONE || !p->target[first] || p->left[first] || flow->edges[i].waiting_side ||
		may_cross(flow, i))
		return NONE;
	return first;
}

static void find_own_open(struct planner *p)
{
	struct flow flow;

	if (p->own_setup == p->scene.setup)
		return;
	if (!p->own_open)
		p->own_open = ARENA_NEW(p->scene.arena, bool, p->first->nedges + 1);
	memset(p->own_open, 0, sizeof(*p->own_open) * p->first->nedges);
	scene_solve_own(&p->scene, &flow);
	for (uint32_t i = 0; i < flow.nedges; i++) {
		uint32_t first = writers_edge(p, &flow, i);

		if (first != NONE)
			p->own_open[first] = true;
	}
	p->own_setup = p->scene.setup;
}

/* Every edge that a fence of the writer's side settles now is settled by one with `width` at the
 * point, too (spec 3.3): a fence behind the hand-off, which another edge needs, would do for the
 * flow. */
static bool writers_do_without(
	struct planner *p, uint32_t point, uint8_t whole, uint8_t width, struct ids *lost)
{
	uint32_t *v, n = 0;
	struct flow flow;

	scene_place(&p->scene, point, whole);
	find_own_open(p);
	scene_place(&p->scene, point, width);
	scene_solve_own(&p->scene, &flow);
	v = ARENA_NEW(p->scene.arena, uint32_t, flow.nedges + 1);
	for (uint32_t i = 0; i < flow.nedges; i++) {
		uint32_t first = writers_edge(p, &flow, i);

		if (first != NONE && !p->own_open[first])
			v[n++] = first;
	}
	*lost = (struct ids){v, n};
	return !n && !flow.incomplete;
}

static void set_settled(struct planner *p, uint32_t point, struct ids edges)
{
	struct settled one = {point, edges};

	for (uint32_t i = 0; i < p->nsettles; i++)
		if (p->settles[i].point == point) {
			p->settles[i].edges = edges;
			return;
		}
	ARENA_PUSH(p->scene.arena, p->settles, p->nsettles, p->settles_cap, one);
}

struct ids plan_settled(const struct planner *p, uint32_t point)
{
	for (uint32_t i = 0; i < p->nsettles; i++)
		if (p->settles[i].point == point)
			return p->settles[i].edges;
	return (struct ids){0};
}

static bool does_without(struct planner *p, uint32_t point, uint8_t width, struct ids *lost)
{
	uint8_t whole = p->scene.width[point];

	return nothing_comes_back(p, point, width, lost) &&
	       (!p->scene.unit->options->writer_side ||
		       writers_do_without(p, point, whole, width, lost));
}

static bool is_narrow(uint8_t width)
{
	return width == SPACE_SHARED || width == SPACE_GLOBAL;
}

/* The fence as a whole, else one of the spaces that it covers. */
static void try_less(struct planner *p, uint32_t point)
{
	static const uint8_t less[] = {SPACE_SHARED | SPACE_GLOBAL, SPACE_SHARED | SPACE_CLUSTER,
		SPACE_SHARED, SPACE_GLOBAL};
	uint8_t whole = p->scene.width[point];
	struct ids part;
	bool spare = does_without(p, point, 0, &part);

	set_settled(p, point, part);
	if (spare)
		return;
	scene_place(&p->scene, point, whole);
	if (is_narrow(whole))
		return;
	for (uint32_t i = 0; i < sizeof(less); i++) {
		if (less[i] == whole || !cut_covers(whole, less[i]) || cut_covers(less[i], whole))
			continue;
		if (does_without(p, point, less[i], &part))
			whole = less[i];
		scene_place(&p->scene, point, whole);
	}
}

static bool settled_any(const struct planner *p)
{
	for (uint32_t i = 0; i < p->first->nedges; i++)
		if (p->target[i] && !p->left[i])
			return true;
	return false;
}

static void try_all(struct planner *p)
{
	struct candidate *v;
	uint32_t n = plan_candidates(p, &v);

	p->nsettles = 0;
	p->own_setup = NULL;
	if (n == 1 && is_narrow(p->scene.width[v[0].point]) && settled_any(p))
		return; /* nothing else did it */
	for (uint32_t i = 0; i < n && !budget_spent(p->scene.unit->budget); i++)
		try_less(p, v[i].point);
}

bool plan_holds(struct planner *p)
{
	struct flow flow;

	scene_solve(&p->scene, &flow);
	for (uint32_t i = 0; i < flow.nedges; i++) {
		uint32_t first;

		if (plan_is_target(p, &flow.edges[i], &first) && (first == NONE || !p->left[first]))
			return false;
	}
	return !flow.incomplete;
}

/* Each fence takes a solve of its own: too many in too large a function stay as they were planned.
 */
#define SPARE_WORK_MOST (UINT64_C(1) << 21)

static bool too_many_to_try(const struct planner *p)
{
	const struct scene *scene = &p->scene;
	uint64_t n = 0;

	for (uint32_t k = scene_next_added(scene, 0); k != NONE; k = scene_next_added(scene, k + 1))
		n++;
	return n * flow_size(scene->setup) > SPARE_WORK_MOST;
}

/* With its fences in the text the flow tells more predicates apart, so more fences are spare; with
 * some of these gone it may tell less again. Then what it sees without them counts. */
void plan_drop_spare(struct planner *p)
{
	struct flow_setup *setup = p->scene.setup;
	uint8_t *width = ARENA_NEW(p->scene.arena, uint8_t, p->scene.points.graph.n);

	if (too_many_to_try(p))
		return;
	memcpy(width, p->scene.width, p->scene.points.graph.n);
	bool more = scene_prepare(&p->scene);

	try_all(p);
	if (!more)
		return;
	if (memcmp(width, p->scene.width, p->scene.points.graph.n) != 0) {
		p->scene.setup = setup;
		scene_prepare(&p->scene);
	}
	if (plan_holds(p))
		return;
	p->scene.setup = setup;
	memcpy(p->scene.width, width, p->scene.points.graph.n);
	try_all(p);
}

void plan_note_settled(struct planner *p, uint32_t point)
{
	uint8_t width = p->scene.width[point];
	struct ids edges;

	p->own_setup = NULL;
	does_without(p, point, 0, &edges);
	set_settled(p, point, edges);
	scene_place(&p->scene, point, width);
}
