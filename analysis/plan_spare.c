/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: fences that settle all that can be settled. Goes out: those that are needed, and by
 * which edges. Each is taken away, dearest first; it stays away if no edge comes back, and none that a
 * fence of the writer's side settled is left to one behind the hand-off. What comes back without one is
 * found from the flow with all of them, and those that each could be away are tried together: with fewer
 * fences edges only come. Invariant: the flow under the plan holds as before.
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

/* Edges that come back where a fence is less. */
struct loss {
	struct ids edges; /* those of the first flow */
	uint8_t spaces;	  /* of all, enum space bits */
};

/* What a CTA does to its own shared memory takes a fence of the cluster where another CTA copies it. */
static uint8_t spaces_of(const struct edge *edge)
{
	return edge->crosses ? edge->space | SPACE_CLUSTER : edge->space;
}

/* Edges of a flow that are to be settled and were; tells whether there are none. */
static bool none_open(struct planner *p, const struct flow *flow, struct loss *back)
{
	uint32_t *v = ARENA_NEW(p->scene.arena, uint32_t, flow->nedges + 1), n = 0;
	bool none = !flow->incomplete;

	back->spaces = 0;
	for (uint32_t i = 0; i < flow->nedges; i++) {
		uint32_t first;

		if (!plan_is_target(p, &flow->edges[i], &first) ||
			(first != NONE && p->left[first]))
			continue;
		none = false;
		back->spaces |= spaces_of(&flow->edges[i]);
		if (first != NONE)
			v[n++] = first;
	}
	back->edges = (struct ids){v, n};
	return none;
}

/* With `width` at the point no edge is open; else those that come back by it in `lost`. */
static bool nothing_comes_back(struct planner *p, uint32_t point, uint8_t width, struct loss *lost)
{
	struct flow flow;

	if (flow_can_lose(p->scene.setup)) {
		scene_solve(&p->scene, &flow);
		if (none_open(p, &flow, lost) && scene_solve_less(&p->scene, point, width, false, &flow)) {
			scene_place(&p->scene, point, width);
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

/* Edges of that flow that fences of the writer's side settled, into `lost`; tells whether there are none. */
static bool none_of_writers(struct planner *p, const struct flow *flow, struct loss *lost)
{
	uint32_t *v = ARENA_NEW(p->scene.arena, uint32_t, flow->nedges + 1), n = 0;

	lost->spaces = 0;
	for (uint32_t i = 0; i < flow->nedges; i++) {
		uint32_t first = writers_edge(p, flow, i);

		if (first == NONE || p->own_open[first])
			continue;
		lost->spaces |= spaces_of(&flow->edges[i]);
		v[n++] = first;
	}
	lost->edges = (struct ids){v, n};
	return !n && !flow->incomplete;
}

/* Every edge that a fence of the writer's side settles now is settled by one with `width` at the
 * point, too (spec 3.3): a fence behind the hand-off, which another edge needs, would do for the
 * flow. */
static bool writers_do_without(
	struct planner *p, uint32_t point, uint8_t whole, uint8_t width, struct loss *lost)
{
	struct flow flow;

	scene_place(&p->scene, point, whole);
	find_own_open(p);
	scene_place(&p->scene, point, width);
	scene_solve_own(&p->scene, &flow);
	return none_of_writers(p, &flow, lost);
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

static bool does_without(struct planner *p, uint32_t point, uint8_t width, struct loss *lost)
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

static const uint8_t widths[] = {
	0, SPACE_SHARED | SPACE_GLOBAL, SPACE_SHARED | SPACE_CLUSTER, SPACE_SHARED, SPACE_GLOBAL};

#define NWIDTHS ((uint32_t)sizeof(widths))

enum answer { ANSWER_NONE, ANSWER_FAILS, ANSWER_PASSES };

/* May a fence of the plan be gone, or be of less width? What fails once, fails with fewer fences, too. */
struct trial {
	uint32_t point;
	uint8_t answer[NWIDTHS]; /* enum answer, by width, for the fences as they were when it was asked */
	struct loss lost;	 /* without the fence */
};

static bool is_less(uint8_t whole, uint8_t width)
{
	return whole && (!width || (!is_narrow(whole) && cut_covers(whole, width) &&
					   !cut_covers(width, whole)));
}

/* The first width, from number `from` on, that is less than what is there and has not failed; NWIDTHS. */
static uint32_t next_width(const struct planner *p, const struct trial *t, uint32_t from)
{
	while (from < NWIDTHS && (t->answer[from] == ANSWER_FAILS ||
					 !is_less(p->scene.width[t->point], widths[from])))
		from++;
	return from;
}

/* Whether a fence of that width is enough for edges of these spaces: facts of one space are pending or not
 * whatever is done to those of others. What comes from another CTA is not settled by its space alone. */
static enum answer answer_by(uint8_t spaces, uint8_t width)
{
	if (spaces & SPACE_CLUSTER)
		return ANSWER_NONE;
	return spaces & ~width ? ANSWER_FAILS : ANSWER_PASSES;
}

/* Asks one of the two flows of each fence by itself what has not failed, all from one solve. */
static void ask(struct planner *p, struct trial *trials, uint32_t n, bool writers)
{
	bool (*none)(struct planner *, const struct flow *, struct loss *) =
		writers ? none_of_writers : none_open;

	for (struct trial *t = trials; t < trials + n; t++) {
		struct loss whole = {.spaces = SPACE_CLUSTER}, part; /* until it was asked */

		for (uint32_t w = next_width(p, t, 0); w < NWIDTHS; w = next_width(p, t, w + 1)) {
			enum answer answer = answer_by(whole.spaces, widths[w]);
			struct loss *lost = w ? &part : &whole;
			struct flow flow;

			if (answer == ANSWER_NONE &&
				scene_solve_less(
					&p->scene, t->point, widths[w], writers, &flow))
				answer = none(p, &flow, lost) ? ANSWER_PASSES : ANSWER_FAILS;
			if (!w && answer != ANSWER_NONE)
				t->lost = whole;
			t->answer[w] = (uint8_t)answer;
		}
	}
}

static bool any_passes(const struct planner *p, const struct trial *trials, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (next_width(p, &trials[i], 0) < NWIDTHS)
			return true;
	return false;
}

/* false: nothing can be told but by solves of their own. */
static bool ask_all(struct planner *p, struct trial *trials, uint32_t n)
{
	struct flow flow;
	struct loss open;

	if (!flow_can_lose(p->scene.setup))
		return false;
	scene_solve(&p->scene, &flow);
	if (!none_open(p, &flow, &open))
		return false;
	ask(p, trials, n, false);
	if (p->scene.unit->options->writer_side && any_passes(p, trials, n)) {
		find_own_open(p);
		scene_solve_own(&p->scene, &flow);
		ask(p, trials, n, true);
	}
	return true;
}

/* One fence, from that width on. `known`: answers are of the fences as they are. Tells whether it is less now. */
static bool try_less(struct planner *p, struct trial *t, uint32_t from, bool known)
{
	bool less = false;

	for (uint32_t w = next_width(p, t, from); w < NWIDTHS; w = next_width(p, t, w + 1)) {
		uint8_t whole = p->scene.width[t->point];
		struct loss part;

		if (known && !less && t->answer[w] == ANSWER_PASSES)
			scene_place(&p->scene, t->point, widths[w]);
		else if (!does_without(p, t->point, widths[w], w ? &part : &t->lost))
			scene_place(&p->scene, t->point, whole);
		less |= p->scene.width[t->point] != whole;
	}
	return less;
}

/* Fences of which each by itself may be less: all at once. What holds without all of them held without each
 * of them, one after the other. */
static bool try_together(struct planner *p, struct trial *const *trials, uint32_t n)
{
	uint8_t *whole = ARENA_NEW(p->scene.arena, uint8_t, n);
	struct flow flow;
	struct loss lost;
	bool holds;

	for (uint32_t i = 0; i < n; i++) {
		whole[i] = p->scene.width[trials[i]->point];
		scene_place(&p->scene, trials[i]->point, widths[next_width(p, trials[i], 0)]);
	}
	scene_solve(&p->scene, &flow);
	holds = none_open(p, &flow, &lost);
	if (holds && p->scene.unit->options->writer_side) {
		scene_solve_own(&p->scene, &flow);
		holds = none_of_writers(p, &flow, &lost);
	}
	for (uint32_t i = 0; i < n && !holds; i++)
		scene_place(&p->scene, trials[i]->point, whole[i]);
	return holds;
}

/* Of fences all of which were asked; tells whether one is less now. */
static bool take_less(struct planner *p, struct trial *trials, uint32_t n)
{
	struct trial **v = ARENA_NEW(p->scene.arena, struct trial *, n);
	uint32_t count = 0, most = n;
	bool less = false;

	for (uint32_t i = 0; i < n; i++)
		if (next_width(p, &trials[i], 0) < NWIDTHS)
			v[count++] = &trials[i];
	for (uint32_t i = 0, m; i < count && !budget_spent(p->scene.unit->budget); i += m) {
		m = count - i < most ? count - i : most;
		most = 2 * m;
		if (m > 1 && !try_together(p, v + i, m)) {
			most = (m + 1) / 2;
			m = 0;
			continue;
		}
		less |= m > 1;
		for (uint32_t k = i; k < i + m; k++)
			less |= try_less(p, v[k], 0, !less);
	}
	return less;
}

static bool settled_any(const struct planner *p)
{
	for (uint32_t i = 0; i < p->first->nedges; i++)
		if (p->target[i] && !p->left[i])
			return true;
	return false;
}

/* What is asked of fences of less width is asked of what is left of them. */
static void ask_for_lost(struct planner *p, struct trial *trials, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		memset(trials[i].answer, ANSWER_FAILS, sizeof(trials[i].answer));
		trials[i].answer[0] = ANSWER_NONE;
	}
	ask_all(p, trials, n);
}

/* As if one after the other, dearest first, each with what is less by then. */
static void try_all(struct planner *p)
{
	struct candidate *v;
	uint32_t n = plan_candidates(p, &v);
	struct trial *trials = ARENA_NEW(p->scene.arena, struct trial, n + 1);

	p->nsettles = 0;
	p->own_setup = NULL;
	if (n == 1 && is_narrow(p->scene.width[v[0].point]) && settled_any(p))
		return; /* nothing else did it */
	for (uint32_t i = 0; i < n; i++)
		trials[i].point = v[i].point;
	if (!ask_all(p, trials, n)) {
		for (uint32_t i = 0; i < n && !budget_spent(p->scene.unit->budget); i++)
			try_less(p, &trials[i], 0, false);
	} else if (take_less(p, trials, n)) {
		ask_for_lost(p, trials, n);
	}
	for (uint32_t i = 0; i < n; i++)
		set_settled(p, trials[i].point, trials[i].lost.edges);
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
	struct loss lost;

	p->own_setup = NULL;
	does_without(p, point, 0, &lost);
	set_settled(p, point, lost.edges);
	scene_place(&p->scene, point, width);
}
