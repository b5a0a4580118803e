/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a scene and its flow. Goes out: a verdict on each proxy fence of the text, found by taking it
 * away (or narrowing it) and solving again. Fences of the issuing side are judged first, later ones before
 * earlier ones, each loss assumed before the next; a fence of the writer's side is spare only if it
 * is also with all issuer-side fences gone, so that no edge is left to those (spec 5, fence-redundant).
 * Invariant: taking away all fences called spare adds no edge to the flow.
 */
#include "analysis/misplaced.h"
#include "analysis/repair.h"
#include "analysis/ways.h"

#include <stdlib.h>

struct judge {
	struct scene now;    /* as given, less the fences found spare so far */
	struct scene bare;   /* the same without the issuer-side fences that are needed */
	struct edge_index base, bare_base;
	bool has_bare;
	struct ways ways;
	struct bits writer_side; /* points on a way from an access to a release, were there no fence */
	struct bits scratch;
	struct fence_report *v;  /* one per text, at its lowest copy */
	uint32_t n;
	struct audit *audit;
	uint32_t cap;
};

static bool is_reached(const struct scene *scene, uint32_t insn)
{
	uint32_t k = insn;

	do {
		if (scene->unit->cfg.block_of[k] != NONE)
			return true;
		k = scene->points.sibling[k];
	} while (k != insn);
	return false;
}

static void list_fences(struct judge *j)
{
	const struct scene *scene = &j->now;
	uint32_t n = scene->unit->fn->ninsns, count = 0;

	for (uint32_t k = 0; k < n; k++)
		count += fence_is_proxy((enum fence_kind)scene->existing[k]);
	j->v = ARENA_NEW(scene->arena, struct fence_report, count + 1);
	for (uint32_t k = n; k-- > 0;) /* later ones first */
		if (fence_is_proxy((enum fence_kind)scene->existing[k]) &&
			scene_representative(scene, k) == k)
			j->v[j->n++] = (struct fence_report){.insn = k,
				.kind = scene->existing[k],
				.narrow = scene->existing[k],
				.verdict = FENCE_UNKNOWN};
}

static bool in_any_copy(const struct scene *scene, uint32_t insn, struct bits set)
{
	uint32_t k = insn;

	do {
		if (bits_has(set, k))
			return true;
		k = scene->points.sibling[k];
	} while (k != insn);
	return false;
}

/* Where a fence is before a hand-off, as the flow without any fence shows it. */
static void find_writer_side(struct judge *j)
{
	struct scene bare;
	struct demand *demands;
	struct flow flow;
	uint32_t n;

	j->writer_side = bits_new(j->now.arena, j->now.points.graph.n + 1);
	if (j->n < 2)
		return;
	scene_copy(&j->now, &bare);
	memset(bare.width, 0, j->now.unit->fn->ninsns + 1);
	for (uint32_t i = 0; i < j->n; i++)
		scene_change(&bare, j->v[i].insn, FENCE_NONE);
	scene_solve(&bare, &flow);
	scene_demands(&bare, &flow, &demands, &n);
	for (uint32_t d = 0; d < n && !budget_spent(j->now.unit->budget); d++) {
		if (demands[d].waiting_side)
			continue;
		ways_of(&j->ways, &demands[d], WAY_RELEASE, j->scratch);
		bits_or(j->writer_side, j->scratch);
	}
}

/* Solves the scene; edges that the base lacks are counted and, if asked, appended to the audit's lost. */
static uint32_t count_new(struct judge *j, struct scene *scene, const struct edge_index *base,
	struct flow *flow, struct fence_report *report)
{
	uint32_t n = 0, *edges = NULL;

	scene_solve(scene, flow);
	for (uint32_t i = 0; i < flow->nedges; i++)
		n += edge_index_is_new(base, &flow->edges[i]);
	if (!n || !report)
		return n;
	edges = ARENA_NEW(scene->arena, uint32_t, n);
	n = 0;
	for (uint32_t i = 0; i < flow->nedges; i++) {
		if (!edge_index_is_new(base, &flow->edges[i]))
			continue;
		edges[n++] = j->audit->nlost;
		ARENA_PUSH(scene->arena, j->audit->lost, j->audit->nlost, j->cap, flow->edges[i]);
	}
	report->edges = edges;
	report->nedges = n;
	return n;
}

static bool holds_new(const struct flow *flow, const struct demand *demand, const struct edge_index *base)
{
	for (uint32_t i = 0; i < demand->nedges; i++) {
		const struct edge *edge = &flow->edges[demand->edges[i]];

		if (edge->foreign && edge_index_is_new(base, edge))
			return true;
	}
	return false;
}

static bool has_release(const struct judge *j, const struct demand *demand)
{
	for (uint32_t i = 0; i < demand->nsinks; i++)
		if (ways_is_release(j->now.unit, demand->sinks[i]))
			return true;
	return false;
}

/* Of the flow just solved without the fence: some edge came by a hand-off, and the fence stands behind it. */
static bool stands_behind_handoff(struct judge *j, const struct flow *flow, uint32_t insn)
{
	struct demand *demands;
	uint32_t n;

	scene_demands(&j->now, flow, &demands, &n);
	for (uint32_t d = 0; d < n; d++) {
		if (demands[d].waiting_side || !has_release(j, &demands[d]) ||
			!holds_new(flow, &demands[d], &j->base))
			continue;
		ways_of(&j->ways, &demands[d], WAY_RELEASE, j->scratch);
		if (!in_any_copy(&j->now, insn, j->scratch))
			return true;
	}
	return false;
}

static void set_fence(struct judge *j, uint32_t insn, enum fence_kind kind)
{
	scene_change(&j->now, insn, kind);
	if (j->has_bare)
		scene_change(&j->bare, insn, kind);
}

/* Takes one fence away for good if nothing shows, else puts it back. */
static void judge_one(struct judge *j, struct fence_report *report)
{
	struct flow flow = {0};
	bool needed = false;

	if (budget_spent(j->now.unit->budget))
		return;
	set_fence(j, report->insn, FENCE_NONE);
	if (is_reached(&j->now, report->insn)) {
		needed = count_new(j, &j->now, &j->base, &flow, report);
		if (needed)
			report->issuer_side = stands_behind_handoff(j, &flow, report->insn);
		else if (j->has_bare)
			needed = count_new(j, &j->bare, &j->bare_base, &flow, report);
	}
	report->verdict = needed ? FENCE_NEEDED : FENCE_SPARE;
	if (flow.incomplete)
		report->verdict = FENCE_UNKNOWN;
	if (report->verdict != FENCE_SPARE)
		set_fence(j, report->insn, (enum fence_kind)report->kind);
}

static bool on_writer_side(const struct judge *j, uint32_t insn)
{
	return in_any_copy(&j->now, insn, j->writer_side);
}

/* The scene without the issuer-side fences that are needed, for judging those on the writer's side. */
static void make_bare(struct judge *j)
{
	struct flow flow;

	for (uint32_t i = 0; i < j->n; i++)
		j->has_bare |= !on_writer_side(j, j->v[i].insn) && j->v[i].verdict == FENCE_NEEDED;
	if (!j->has_bare)
		return;
	scene_copy(&j->now, &j->bare);
	for (uint32_t i = 0; i < j->n; i++)
		if (!on_writer_side(j, j->v[i].insn))
			scene_change(&j->bare, j->v[i].insn, FENCE_NONE);
	scene_solve(&j->bare, &flow);
	edge_index_build(flow.edges, flow.nedges, j->now.arena, &j->bare_base);
}

static void judge_all(struct judge *j)
{
	find_writer_side(j);
	for (uint32_t i = 0; i < j->n; i++)
		if (!on_writer_side(j, j->v[i].insn))
			judge_one(j, &j->v[i]);
	make_bare(j);
	for (uint32_t i = 0; i < j->n; i++)
		if (on_writer_side(j, j->v[i].insn))
			judge_one(j, &j->v[i]);
}

/* ---- too wide ---- */

static bool still_covered(struct judge *j, uint32_t insn, const enum fence_kind kinds[2])
{
	uint8_t before = j->now.width[insn];
	uint8_t extra = kinds[1] == FENCE_NONE ? 0 : fence_width(kinds[1]);
	enum fence_kind whole = (enum fence_kind)j->now.existing[insn];
	struct flow flow;

	set_fence(j, insn, kinds[0]);
	scene_place(&j->now, insn, before | extra);
	bool good = !count_new(j, &j->now, &j->base, &flow, NULL) && !flow.incomplete;

	scene_place(&j->now, insn, before);
	if (good && j->has_bare && on_writer_side(j, insn)) {
		scene_place(&j->bare, insn, before | extra);
		good = !count_new(j, &j->bare, &j->bare_base, &flow, NULL) && !flow.incomplete;
		scene_place(&j->bare, insn, before);
	}
	set_fence(j, insn, whole);
	return good;
}

static void judge_width(struct judge *j, struct fence_report *report)
{
	enum fence_kind kinds[2];
	uint8_t need = 0;

	if (report->verdict != FENCE_NEEDED ||
		(report->kind != FENCE_ASYNC_ALL && report->kind != FENCE_ASYNC_CLUSTER))
		return;
	for (uint32_t i = 0; i < report->nedges; i++) {
		const struct edge *edge = &j->audit->lost[report->edges[i]];

		/* the bytes of another CTA, by whichever side it fences, take the wide form */
		need |= edge->cross_cta ? SPACE_CLUSTER : edge->space;
	}
	if (need & SPACE_CLUSTER)
		return;
	fence_kinds(need, kinds);
	if (budget_spent(j->now.unit->budget) || !still_covered(j, report->insn, kinds))
		return;
	report->too_wide = true;
	report->narrow = (uint8_t)kinds[0];
	report->narrow2 = (uint8_t)kinds[1];
}

/* ---- what comes out ---- */

static int by_insn(const void *a, const void *b)
{
	const struct fence_report *x = a, *y = b;

	return x->insn < y->insn ? -1 : x->insn > y->insn;
}

/* What is not modelled may be what the fence is for. */
static void doubt(struct judge *j)
{
	for (uint32_t i = 0; i < j->n; i++)
		if (j->v[i].verdict == FENCE_SPARE && j->now.unit->nunmodelled)
			j->v[i].verdict = FENCE_UNKNOWN;
}

static void emit(struct judge *j)
{
	const struct scene *scene = &j->now;
	uint32_t cap = 0;

	for (uint32_t i = 0; i < j->n; i++) {
		struct fence_report report = j->v[i];
		uint32_t first = report.insn;

		do {
			ARENA_PUSH(scene->arena, j->audit->fences, j->audit->nfences, cap, report);
			report.insn = scene->points.sibling[report.insn];
		} while (report.insn != first);
	}
	if (j->audit->nfences)
		qsort(j->audit->fences, j->audit->nfences, sizeof(*j->audit->fences), by_insn);
}

void audit_scene(struct scene *scene, const struct flow *flow, struct audit *audit)
{
	struct judge *j = ARENA_NEW(scene->arena, struct judge, 1);
	struct misplaced_search search;

	*audit = (struct audit){0};
	j->audit = audit;
	scene_copy(scene, &j->now);
	j->scratch = bits_new(scene->arena, scene->points.graph.n + 1);
	list_fences(j);
	if (!j->n || flow->incomplete)
		return;
	ways_build(&j->now, &j->ways);
	edge_index_build(flow->edges, flow->nedges, scene->arena, &j->base);
	misplaced_prepare(scene, flow, &search);
	judge_all(j);
	for (uint32_t i = 0; i < j->n; i++) {
		judge_width(j, &j->v[i]);
		misplaced_judge(&search, &j->v[i], audit, &j->cap);
	}
	doubt(j);
	emit(j);
}

void audit_fences(
	struct unit *unit, struct flow_setup *setup, const struct flow *flow, struct audit *audit)
{
	struct scene scene;
	struct flow again;

	(void)flow; /* lacks what --rules leaves out; a fence may be there for that */
	scene_build(unit, setup, &scene);
	scene_solve(&scene, &again);
	audit_scene(&scene, &again, audit);
}
