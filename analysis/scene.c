/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a unit and its prepared flow. Goes out: flows under other fences. Invariant: all copies
 * of one text have the same fences.
 */
#include "analysis/scene.h"

#include <stdlib.h>

static struct scene_fences fences_new(const struct scene *scene)
{
	uint32_t n = scene->points.graph.n;

	return (struct scene_fences){
		NULL, ARENA_NEW(scene->arena, uint8_t, n), ARENA_NEW(scene->arena, uint8_t, n)};
}

/* Of the scene as it is. */
static void fences_note(struct scene_fences *fences, const struct scene *scene)
{
	fences->setup = scene->setup;
	memcpy(fences->existing, scene->existing, scene->points.graph.n);
	memcpy(fences->width, scene->width, scene->points.graph.n);
}

static bool fences_same(const struct scene_fences *fences, const struct scene *scene)
{
	return fences->setup == scene->setup &&
	       !memcmp(fences->existing, scene->existing, scene->points.graph.n) &&
	       !memcmp(fences->width, scene->width, scene->points.graph.n);
}

void scene_build(struct unit *unit, struct flow_setup *setup, struct scene *scene)
{
	uint32_t n;

	*scene = (struct scene){.unit = unit, .setup = setup, .arena = unit->arena};
	points_build(unit, scene->arena, &scene->points);
	n = scene->points.graph.n;
	scene->existing = ARENA_NEW(scene->arena, uint8_t, n);
	scene->width = ARENA_NEW(scene->arena, uint8_t, n);
	scene->points.graph.given = scene->width;
	for (uint32_t k = 0; k < unit->fn->ninsns; k++)
		scene->existing[k] = unit->effects[k]->fence;
	scene->latest = ARENA_NEW(scene->arena, struct scene_latest, 1);
	scene->latest->solved = fences_new(scene);
	scene->latest->prepared = fences_new(scene);
}

void scene_copy(const struct scene *from, struct scene *scene)
{
	uint32_t n = from->points.graph.n;

	*scene = *from;
	scene->existing = ARENA_NEW(scene->arena, uint8_t, n);
	scene->width = ARENA_NEW(scene->arena, uint8_t, n);
	memcpy(scene->existing, from->existing, n);
	memcpy(scene->width, from->width, n);
	scene->points.kills = ARENA_NEW(scene->arena, uint8_t, n);
	memcpy(scene->points.kills, from->points.kills, n);
	scene->points.graph.kills = scene->points.kills;
	scene->points.graph.given = scene->width;
	scene->placed = NULL;
	scene->placed_cap = 0;
}

void scene_place(struct scene *scene, uint32_t point, uint8_t width)
{
	uint32_t k = point;

	do {
		scene->width[k] = width;
		k = points_next_copy(&scene->points, k);
	} while (k != point);
}

void scene_change(struct scene *scene, uint32_t insn, enum fence_kind kind)
{
	uint32_t k = insn;

	do {
		scene->existing[k] = (uint8_t)kind;
		if (scene->unit->fn->insns[k].guard == NONE)
			scene->points.kills[k] = fence_width(kind);
		k = points_next_copy(&scene->points, k);
	} while (k != insn);
}

uint32_t scene_next_added(const struct scene *scene, uint32_t from)
{
	uint32_t n = scene->points.graph.n, k = bytes_next(scene->width, n, from);

	return k < n ? k : NONE;
}

struct placed_list {
	struct placed_fence *v;
	uint32_t n, cap;
};

static void add_placed(const struct scene *scene, struct placed_list *list, uint32_t k)
{
	enum fence_kind kinds[2];

	fence_kinds(scene->width[k], kinds);
	for (uint32_t i = 0; i < 2 && kinds[i] != FENCE_NONE; i++) {
		struct placed_fence one = {points_insn(&scene->points, k), (uint8_t)kinds[i],
			points_is_behind(&scene->points, k)};

		ARENA_PUSH(scene->arena, list->v, list->n, list->cap, one);
	}
}

static void list_placed(struct scene *scene)
{
	struct placed_list list = {scene->placed, 0, scene->placed_cap};

	for (uint32_t k = scene_next_added(scene, 0); k != NONE; k = scene_next_added(scene, k + 1))
		add_placed(scene, &list, k);
	scene->placed = list.v;
	scene->placed_cap = list.cap;
	scene->view = (struct fence_view){
		.existing = scene->existing, .placed = list.v, .nplaced = list.n};
}

static bool is_latest(const struct scene *scene, bool brief, bool own_only)
{
	const struct scene_latest *latest = scene->latest;

	return latest->brief == brief && latest->own_only == own_only && !latest->flow.incomplete &&
	       fences_same(&latest->solved, scene);
}

/* The latest run was of these fences, with all that they do. */
static bool goes_on(const struct scene *scene)
{
	const struct scene_latest *latest = scene->latest;

	return is_latest(scene, latest->brief, false) && !latest->went_on &&
	       flow_is_latest(scene->setup, &latest->flow);
}

static void solve(struct scene *scene, struct flow *flow, bool brief, bool own_only)
{
	struct scene_latest *latest = scene->latest;

	*flow = latest->flow;
	if (is_latest(scene, brief, own_only) && !latest->went_on)
		return;
	list_placed(scene);
	scene->view.brief = brief;
	scene->view.own_only = own_only;
	if (latest->solved.setup && latest->solved.setup != scene->setup)
		flow_forget_rows((struct flow_setup *)(uintptr_t)latest->solved.setup);
	if (brief && own_only && goes_on(scene))
		flow_solve_own(scene->setup, scene->existing, flow);
	else
		flow_solve(scene->setup, &scene->view, flow);
	fences_note(&latest->solved, scene);
	latest->brief = brief;
	latest->own_only = own_only;
	latest->went_on = false;
	latest->flow = *flow;
}

void scene_know(struct scene *scene, const struct flow *flow)
{
	if (!flow_is_latest(scene->setup, flow))
		return;
	fences_note(&scene->latest->solved, scene);
	scene->latest->brief = true; /* rules that are not asked for may have left it */
	scene->latest->own_only = false;
	scene->latest->went_on = false;
	scene->latest->flow = *flow;
}

void scene_solve(struct scene *scene, struct flow *flow)
{
	solve(scene, flow, true, false);
}

void scene_solve_full(struct scene *scene, struct flow *flow)
{
	solve(scene, flow, false, false);
}

void scene_solve_own(struct scene *scene, struct flow *flow)
{
	solve(scene, flow, true, true);
}

bool scene_solve_less(
	struct scene *scene, uint32_t point, uint8_t width, bool own_only, struct flow *flow)
{
	enum fence_kind whole[2], kinds[2];
	struct placed_list list = {0};
	uint32_t k = point;

	fence_kinds(scene->width[point], whole);
	fence_kinds(width, kinds);
	bool two = whole[1] != FENCE_NONE;

	if ((kinds[1] != FENCE_NONE && !two) || !is_latest(scene, true, own_only) ||
		!flow_can_lose(scene->setup))
		return false;
	do {
		add_placed(scene, &list, k);
		k = points_next_copy(&scene->points, k);
	} while (k != point);
	uint8_t *left = ARENA_NEW(scene->arena, uint8_t, list.n);

	for (uint32_t i = 0; i < list.n; i++)
		left[i] = (uint8_t)kinds[two && i % 2];
	flow_solve_less(scene->setup, list.v, left, list.n, flow);
	return true;
}

/* All copies of instructions. */
static struct ids copies(const struct scene *scene, const uint32_t *insns, uint32_t ninsns)
{
	uint32_t *v = NULL, n = 0, cap = 0;

	for (uint32_t i = 0; i < ninsns; i++) {
		uint32_t k = insns[i];

		do {
			ARENA_PUSH(scene->arena, v, n, cap, k);
			k = points_next_copy(&scene->points, k);
		} while (k != insns[i]);
	}
	return (struct ids){v, n};
}

/* Takes fences away; false: a solve of its own tells what comes of it. */
static bool take(struct scene *scene, const uint32_t *insns, uint32_t n, bool own_only)
{
	bool less = flow_can_lose(scene->setup);
	struct flow flow;

	if (less && !is_latest(scene, true, own_only)) {
		solve(scene, &flow, true, own_only);
		less = !flow.incomplete;
	}
	for (uint32_t i = 0; i < n; i++)
		scene_change(scene, insns[i], FENCE_NONE);
	return less;
}

void scene_solve_taken(struct scene *scene, uint32_t insn, bool own_only, struct flow *flow)
{
	if (!take(scene, &insn, 1, own_only)) {
		solve(scene, flow, true, own_only);
		return;
	}
	struct ids gone = copies(scene, &insn, 1);

	flow_solve_taken(scene->setup, scene->existing, gone.v, gone.n, flow);
}

static bool is_new(const void *index, const struct edge *edge)
{
	return edge_index_is_new(index, edge);
}

bool scene_taken_adds(
	struct scene *scene, const uint32_t *insns, uint32_t n, bool own_only, const struct edge_index *before)
{
	struct flow flow;

	if (take(scene, insns, n, own_only)) {
		struct ids gone = copies(scene, insns, n);

		return flow_taken_shows(
			scene->setup, scene->existing, gone.v, gone.n, is_new, before);
	}
	solve(scene, &flow, true, own_only);
	for (uint32_t i = 0; i < flow.nedges; i++)
		if (edge_index_is_new(before, &flow.edges[i]))
			return true;
	return flow.incomplete;
}

void scene_leave_taken(struct scene *scene, uint32_t insn, enum fence_kind kind, bool own_only)
{
	struct scene_latest *latest = scene->latest;

	scene_change(scene, insn, kind);
	bool goes_on = flow_can_lose(scene->setup) && is_latest(scene, true, own_only);

	scene_change(scene, insn, FENCE_NONE);
	if (!goes_on)
		return;
	struct ids gone = copies(scene, &insn, 1);

	if (!flow_leave_taken(scene->setup, scene->existing, gone.v, gone.n))
		latest->flow.incomplete = true;
	fences_note(&latest->solved, scene);
	latest->went_on = true;
}

bool scene_prepare(struct scene *scene)
{
	struct flow_setup *before = scene->setup;

	if (fences_same(&scene->latest->prepared, scene))
		return false;
	list_placed(scene);
	scene->setup = flow_prepare_with(scene->setup, &scene->view);
	fences_note(&scene->latest->prepared, scene);
	return scene->setup != before;
}

/* Instruction k has a point behind it: there is pending what is so before the next one, if it came this
 * way. */
static void add_end(
	const struct scene *scene, const struct demand *demand, struct bits pending, uint32_t k)
{
	if (bits_has(demand->pending, k + 1))
		bits_set(pending, scene->points.end_of[scene->unit->cfg.block_of[k]]);
}

static void add_ends(struct scene *scene, struct demand *demand, struct arena *arena)
{
	const struct points *points = &scene->points;
	struct bits pending = bits_new(arena, points->graph.n);

	memcpy(pending.words, demand->pending.words, sizeof(uint64_t) * demand->pending.nwords);
	for (uint32_t w = 0; w < points->ends.nwords; w++)
		for (uint64_t at = points->ends.words[w] & demand->pending.words[w]; at;
			at &= at - 1) {
			uint32_t k = 64 * w + (uint32_t)__builtin_ctzll(at);

			if (!cut_covers(points->kills[k], demand->width))
				add_end(scene, demand, pending, k);
		}
	for (uint32_t i = 0; i < demand->nsources; i++)
		if (bits_has(points->ends, demand->sources[i]))
			add_end(scene, demand, pending, demand->sources[i]);
	demand->pending = pending;
}

static const uint32_t *copied(struct arena *arena, const uint32_t *v, uint32_t n)
{
	return n ? memcpy(ARENA_UNSET(arena, uint32_t, n), v, sizeof(*v) * n) : NULL;
}

/* What finding the demands needs is far more than they are: they are copied out of a stage. */
void scene_demands(
	struct scene *scene, const struct flow *flow, struct demand **demands, uint32_t *n)
{
	struct arena *arena = scene->unit->arena, stage;
	struct demand *v;

	unit_begin(scene->unit, &stage);
	flow_demands(scene->setup, flow, &v, n);
	*demands = ARENA_UNSET(arena, struct demand, *n + 1);
	for (uint32_t i = 0; i < *n; i++) {
		struct demand *demand = &(*demands)[i];

		*demand = v[i];
		demand->sources = copied(arena, v[i].sources, v[i].nsources);
		demand->sinks = copied(arena, v[i].sinks, v[i].nsinks);
		demand->edges = copied(arena, v[i].edges, v[i].nedges);
		add_ends(scene, demand, arena);
	}
	unit_end(scene->unit);
}

uint32_t scene_representative(const struct scene *scene, uint32_t point)
{
	uint32_t least = point;

	for (uint32_t k = points_next_copy(&scene->points, point); k != point; k = points_next_copy(&scene->points, k))
		least = k < least ? k : least;
	return least;
}

uint64_t scene_weight(const struct scene *scene)
{
	uint32_t n = scene->unit->fn->ninsns;
	uint64_t sum = 0;

	for (uint32_t k = scene_next_added(scene, 0); k != NONE; k = scene_next_added(scene, k + 1))
		if (scene_representative(scene, k) == k)
			sum += points_weight(&scene->points, k) * cut_instructions(scene->width[k]);
	for (uint32_t k = bytes_next(scene->existing, n, 0); k < n;
		k = bytes_next(scene->existing, n, k + 1))
		if (fence_is_proxy((enum fence_kind)scene->existing[k]) &&
			scene_representative(scene, k) == k)
			sum += points_weight(&scene->points, k);
	return sum;
}

static int compare(const struct edge *a, const struct edge *b)
{
	if (a->generic != b->generic)
		return a->generic < b->generic ? -1 : 1;
	if (a->async != b->async)
		return a->async < b->async ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return a->hazard < b->hazard ? -1 : a->hazard > b->hazard;
}

static int by_edge(const void *a, const void *b, void *index)
{
	const struct edge *v = ((const struct edge_index *)index)->edges;

	return compare(&v[*(const uint32_t *)a], &v[*(const uint32_t *)b]);
}

void edge_index_build(
	const struct edge *edges, uint32_t n, struct arena *arena, struct edge_index *index)
{
	bool sorted = true;

	*index = (struct edge_index){edges, ARENA_UNSET(arena, uint32_t, n + 1), n};
	for (uint32_t i = 0; i < n; i++) {
		index->order[i] = i;
		sorted = sorted && (!i || compare(&edges[i - 1], &edges[i]) <= 0);
	}
	if (!sorted) /* those of a flow mostly are */
		qsort_r(index->order, n, sizeof(*index->order), by_edge, index);
}

void edge_index_copy(
	const struct edge *edges, uint32_t n, struct arena *arena, struct edge_index *index)
{
	struct edge *v = ARENA_NEW(arena, struct edge, n + 1);

	if (n)
		memcpy(v, edges, sizeof(*v) * n);
	edge_index_build(v, n, arena, index);
}

uint32_t edge_index_find(const struct edge_index *index, const struct edge *edge)
{
	size_t from_first = (uintptr_t)edge - (uintptr_t)index->edges;
	uint32_t low = 0, high = index->n;

	if (from_first < index->n * sizeof(*edge)) /* one of them */
		return (uint32_t)(from_first / sizeof(*edge));
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare(&index->edges[index->order[middle]], edge) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->n || compare(&index->edges[index->order[low]], edge) != 0)
		return NONE;
	return index->order[low];
}

bool edge_index_is_new(const struct edge_index *index, const struct edge *edge)
{
	uint32_t i = edge_index_find(index, edge);

	return i == NONE || (index->edges[i].weak && !edge->weak);
}
