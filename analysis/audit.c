/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a scene and its flow. Goes out: a verdict on each proxy fence of the text, found by
 * taking it away (or narrowing it) and solving again, twice: with all fences, and with those that
 * cover what their own thread did (the writer's side). A fence is spare only if neither flow gets
 * an edge more, so that none is left to a fence behind the hand-off. Those that matter on no
 * writer's side are judged first, later ones before earlier ones, each loss assumed before the next
 * (spec 5, fence-redundant). Invariant: taking away all fences called spare and narrowing all
 * called too wide adds no edge to the flow.
 */
#include "analysis/misplaced.h"
#include "analysis/repair.h"
#include "base/rules.h"

#include <stdlib.h>

struct judge {
	struct scene now;	/* as given, less the fences found spare so far */
	struct edge_index base; /* the flow as given */
	struct edge_index own;	/* the flow with fences of the writer's side only */
	bool has_issuer;	/* they differ: some fence works behind a hand-off */
	bool gone;		/* some fence was found spare */
	bool hides;		/* some edge of theirs stands for more than its own pair */
	bool peers;		/* some edge of theirs is missing for bytes of a peer */
	struct fence_report *v; /* one per text, at its lowest copy; later ones first */
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
		k = points_next_copy(&scene->points, k);
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

enum mode { ALL_FENCES, WRITER_SIDE };

static uint32_t count_new(const struct judge *j, enum mode mode, const struct flow *flow)
{
	const struct edge_index *base = mode == ALL_FENCES ? &j->base : &j->own;
	uint32_t n = 0;

	if (flow->incomplete)
		return 1; /* nobody knows */
	for (uint32_t i = 0; i < flow->nedges; i++)
		n += edge_index_is_new(base, &flow->edges[i]);
	return n;
}

static bool is_wide(const struct fence_report *report)
{
	return report->kind == FENCE_ASYNC_ALL || report->kind == FENCE_ASYNC_CLUSTER;
}

/* Which edges come back without a fence that is needed is asked for its width (too wide, too
 * narrow) and its side, and by observers. */
static bool wants_edges(const struct judge *j, const struct fence_report *report)
{
	return j->has_issuer || j->peers || (is_wide(report) && !j->hides) || j->now.unit->observed;
}

/* Takes the fence away; the edges that are new by it are counted and appended to those of the
 * report, if they are asked for. */
static uint32_t take_away(struct judge *j, enum mode mode, struct fence_report *report)
{
	const struct edge_index *base = mode == ALL_FENCES ? &j->base : &j->own;
	uint32_t n, *edges, first = j->audit->nlost;
	struct flow flow;

	if (!wants_edges(j, report))
		return scene_taken_adds(&j->now, &report->insn, 1, mode == WRITER_SIDE, base);
	scene_solve_taken(&j->now, report->insn, mode == WRITER_SIDE, &flow);
	if (flow.incomplete)
		return 1; /* nobody knows */
	for (uint32_t i = 0; i < flow.nedges; i++)
		if (edge_index_is_new(base, &flow.edges[i]))
			ARENA_PUSH(j->now.arena, j->audit->lost, j->audit->nlost, j->cap, flow.edges[i]);
	n = j->audit->nlost - first;
	if (!n)
		return 0;
	edges = ARENA_NEW(j->now.arena, uint32_t, report->nedges + n);
	if (report->nedges)
		memcpy(edges, report->edges, sizeof(*edges) * report->nedges);
	for (uint32_t i = 0; i < n; i++)
		edges[report->nedges++] = first + i;
	report->edges = edges;
	return n;
}

static void put_back(struct judge *j, const struct fence_report *report)
{
	scene_change(&j->now, report->insn, (enum fence_kind)report->kind);
}

static bool out_of_time(const struct judge *j)
{
	return budget_spent(j->now.unit->budget);
}

/* Without the fence some edge is left to none, or to a fence behind the hand-off alone. */
static void judge_writer_side(struct judge *j, struct fence_report *report)
{
	if (out_of_time(j))
		return;
	if (is_reached(&j->now, report->insn) && take_away(j, WRITER_SIDE, report))
		report->verdict = FENCE_NEEDED;
	put_back(j, report);
}

static bool covers_writer(
	const struct judge *j, const struct fence_report *report, uint32_t n, uint32_t generic)
{
	for (uint32_t i = 0; i < n; i++)
		if (j->audit->lost[report->edges[i]].generic == generic)
			return true;
	return false;
}

/* Some edge that comes back was covered by this fence alone, in a thread that the hand-off led to.
 * The first `own` edges of the report are those of the writer's side: their accesses it covers
 * there. */
static bool covers_behind_handoff(
	const struct judge *j, const struct fence_report *report, uint32_t own)
{
	for (uint32_t i = own; i < report->nedges; i++) {
		const struct edge *edge = &j->audit->lost[report->edges[i]];

		if (!edge->waiting_side && !edge->cross_cta &&
			edge_index_find(&j->own, edge) != NONE &&
			!covers_writer(j, report, own, edge->generic))
			return true;
	}
	return false;
}

/* Takes a fence away for good if nothing shows in either flow, else puts it back. */
static void judge_both_sides(struct judge *j, struct fence_report *report)
{
	bool needed = report->verdict == FENCE_NEEDED;
	uint32_t before = report->nedges;

	if (out_of_time(j))
		return;
	if (!is_reached(&j->now, report->insn)) {
		report->verdict = FENCE_SPARE;
		return;
	}
	if (j->has_issuer && take_away(j, ALL_FENCES, report)) {
		report->issuer_side = covers_behind_handoff(j, report, before);
		needed = true;
	}
	put_back(j, report);
	/* others may have gone since it was judged first */
	if (!needed && j->gone && take_away(j, WRITER_SIDE, report))
		needed = true;
	report->verdict = needed ? FENCE_NEEDED : FENCE_SPARE;
	if (needed) {
		put_back(j, report);
		return;
	}
	scene_change(&j->now, report->insn, FENCE_NONE);
	j->gone = true;
}

/* An edge between groups of accesses is there already: that another pair of them is open is not
 * seen. */
static bool hides_pairs(const struct flow *flow)
{
	for (uint32_t i = 0; i < flow->nedges; i++)
		if (flow->edges[i].more)
			return true;
	return false;
}

static void find_bases(struct judge *j, const struct flow *flow)
{
	struct flow own;

	edge_index_build(flow->edges, flow->nedges, j->now.arena, &j->base);
	scene_know(&j->now, flow);
	scene_solve_own(&j->now, &own);
	edge_index_copy(own.edges, own.nedges, j->now.arena, &j->own);
	j->hides = hides_pairs(flow) || hides_pairs(&own);
	for (uint32_t i = 0; i < own.nedges; i++)
		j->has_issuer |= edge_index_is_new(&j->base, &own.edges[i]);
	for (uint32_t i = 0; i < flow->nedges; i++)
		j->peers |= flow->edges[i].space == SPACE_CLUSTER;
}

/* What all that went, or are to go, do on the writer's side together. */
static bool adds_together(struct judge *j, const uint32_t *going, uint32_t n)
{
	struct flow flow;

	if (!j->has_issuer) /* nothing was solved since, and nothing is gone */
		return scene_taken_adds(&j->now, going, n, true, &j->own);
	scene_solve_own(&j->now, &flow);
	return count_new(j, WRITER_SIDE, &flow);
}

/* Those that do nothing on the writer's side, one after the other with all fences, then once what
 * all that went do there together: mostly nothing, either, and then none of them does. Else all is
 * as before. */
static bool judge_together(struct judge *j)
{
	uint32_t nlost = j->audit->nlost, *going = ARENA_NEW(j->now.arena, uint32_t, j->n), n = 0;
	bool *asked = ARENA_NEW(j->now.arena, bool, j->n);

	for (uint32_t i = 0; i < j->n; i++) {
		struct fence_report *report = &j->v[i];

		asked[i] = report->verdict == FENCE_UNKNOWN && is_reached(&j->now, report->insn);
		if (!asked[i] || out_of_time(j))
			continue;
		if (j->has_issuer && take_away(j, ALL_FENCES, report)) {
			report->issuer_side = covers_behind_handoff(j, report, 0);
			report->verdict = FENCE_NEEDED;
			put_back(j, report);
		} else {
			if (j->has_issuer) {
				scene_leave_taken(&j->now, report->insn,
					(enum fence_kind)report->kind, false);
				scene_change(&j->now, report->insn, FENCE_NONE);
			}
			going[n++] = report->insn;
			report->verdict = FENCE_SPARE;
			j->gone = true;
		}
	}
	if (!j->gone || !adds_together(j, going, n))
		return true;
	for (uint32_t i = 0; i < j->n; i++) {
		if (!asked[i])
			continue;
		put_back(j, &j->v[i]);
		j->v[i].verdict = FENCE_UNKNOWN;
		j->v[i].issuer_side = false;
		j->v[i].nedges = 0;
	}
	j->audit->nlost = nlost;
	j->gone = false;
	return false;
}

/* First those that do nothing on the writer's side, then the others: each loss assumed before the
 * next. */
static void judge_all(struct judge *j)
{
	for (uint32_t i = 0; i < j->n; i++)
		judge_writer_side(j, &j->v[i]);
	bool judged = judge_together(j);

	for (uint32_t i = 0; i < j->n; i++)
		if (j->v[i].verdict == FENCE_UNKNOWN &&
			(!judged || !is_reached(&j->now, j->v[i].insn)))
			judge_both_sides(j, &j->v[i]);
	for (uint32_t i = 0; i < j->n && j->has_issuer; i++)
		if (j->v[i].verdict == FENCE_NEEDED && !j->v[i].issuer_side)
			judge_both_sides(j, &j->v[i]);
	for (uint32_t i = 0; i < j->n && j->now.unit->budget->spent; i++)
		j->v[i].verdict = FENCE_UNKNOWN;
}

/* ---- too wide ---- */

/* Leaves it so if nothing shows. */
static bool narrow_to(struct judge *j, uint32_t insn, const enum fence_kind kinds[2])
{
	uint8_t before = j->now.width[insn];
	uint8_t extra = kinds[1] == FENCE_NONE ? 0 : fence_width(kinds[1]);
	enum fence_kind whole = (enum fence_kind)j->now.existing[insn];
	struct flow flow;

	scene_change(&j->now, insn, kinds[0]);
	scene_place(&j->now, insn, before | extra);
	scene_solve_own(&j->now, &flow);
	bool adds = count_new(j, WRITER_SIDE, &flow);

	if (!adds && j->has_issuer) {
		scene_solve(&j->now, &flow);
		adds = count_new(j, ALL_FENCES, &flow);
	}
	if (!adds)
		return true;
	scene_place(&j->now, insn, before);
	scene_change(&j->now, insn, whole);
	return false;
}

static void judge_width(struct judge *j, struct fence_report *report)
{
	enum fence_kind kinds[2];
	uint8_t need = 0;

	if (report->verdict != FENCE_NEEDED || j->hides || !is_wide(report))
		return;
	for (uint32_t i = 0; i < report->nedges; i++)
		need |= j->audit->lost[report->edges[i]].space;
	if (need & SPACE_CLUSTER)
		return;
	fence_kinds(need, kinds);
	if (out_of_time(j) || !need)
		return;
	if (!narrow_to(j, report->insn, kinds)) { /* it took over from others that were spare */
		fence_kinds(
			SPACE_SHARED | (report->kind == FENCE_ASYNC_ALL ? SPACE_GLOBAL : 0), kinds);
		if (!narrow_to(j, report->insn, kinds))
			return;
	}
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

/* What is not modelled may be what the fence is for, or one more pair of an edge that stands for
 * many. */
static void doubt(struct judge *j)
{
	for (uint32_t i = 0; i < j->n; i++)
		if (j->v[i].verdict == FENCE_SPARE && (j->now.unit->nunmodelled || j->hides))
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
			report.insn = points_next_copy(&scene->points, report.insn);
		} while (report.insn != first);
	}
	if (j->audit->nfences)
		qsort(j->audit->fences, j->audit->nfences, sizeof(*j->audit->fences), by_insn);
}

/* Two solves for each fence and more. What is not judged is unknown, and so is the verdict. */
#define AUDIT_WORK_MOST (UINT64_C(1) << 25)

static bool too_many_to_judge(struct judge *j)
{
	struct unit *unit = j->now.unit;

	if (2 * j->n * flow_size(j->now.setup) <= AUDIT_WORK_MOST)
		return false;
	unit_note(unit, NONE, "too many fences to take away each");
	return true;
}

void audit_scene(struct scene *scene, const struct flow *flow, struct audit *audit)
{
	struct judge *j = ARENA_NEW(scene->arena, struct judge, 1);
	struct misplaced_search search;

	*audit = (struct audit){0};
	j->audit = audit;
	scene_copy(scene, &j->now);
	list_fences(j);
	if (!j->n || flow->incomplete || too_many_to_judge(j))
		return;
	misplaced_prepare(scene, flow, &search);
	find_bases(j, flow);
	judge_all(j);
	for (uint32_t i = 0; i < j->n; i++) {
		judge_width(j, &j->v[i]);
		misplaced_judge(&search, &j->v[i], audit, &j->cap);
	}
	doubt(j);
	emit(j);
}

void audit_fences(struct scene *scene, const struct flow *flow, struct audit *audit)
{
	const uint32_t all = (UINT32_C(1) << RULE_COUNT) - 1;
	struct flow again;

	if ((scene->unit->options->rules & all) ==
		all) { /* else it may lack edges that a fence is there for */
		audit_scene(scene, flow, audit);
		return;
	}
	scene_solve_full(scene, &again);
	audit_scene(scene, &again, audit);
}
