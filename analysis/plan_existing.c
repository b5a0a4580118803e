/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: the text with the planned fences. Goes out: changes to fences that the text has: spare
 * ones away, wide ones narrower (--fix=wide,redundant). Invariant: the text as planned shows no
 * edge that it did not show before.
 */
#include "analysis/plan_private.h"

static void emit_in_copies(
	struct planner *p, uint8_t change, uint32_t insn, enum fence_kind kind, const char *reason)
{
	uint32_t k = insn;

	do {
		plan_emit(p, change, k, kind, (struct ids){0}, reason);
		k = points_next_copy(&p->scene.points, k);
	} while (k != insn);
}

static void narrow(struct planner *p, const struct fence_report *report)
{
	uint32_t k = report->insn;

	/* the other half would stand under no guard and do more than the fence did */
	if (report->narrow2 != FENCE_NONE && p->scene.unit->fn->insns[k].guard != NONE)
		return;
	scene_change(&p->scene, k, (enum fence_kind)report->narrow);
	emit_in_copies(p, CHANGE_NARROW, k, (enum fence_kind)report->narrow,
		"narrower, all that it is needed for");
	if (report->narrow2 == FENCE_NONE ||
		cut_covers(p->scene.width[k], fence_width((enum fence_kind)report->narrow2)))
		return;
	plan_emit(p, CHANGE_INSERT, k, (enum fence_kind)report->narrow2, (struct ids){0},
		"the other half of a narrowed fence");
	p->plan->changes[p->plan->nchanges - 1].half = true;
	plan_add_width(p, k, fence_width((enum fence_kind)report->narrow2));
}

/* The text as planned shows no edge that `before` lacks. Predicates are told apart only where a
 * fence runs under them, so one that went may have taken more than its own work along. */
static bool adds_nothing(struct planner *p, const struct flow *before)
{
	struct edge_index index;
	struct flow flow;

	edge_index_build(before->edges, before->nedges, p->scene.arena, &index);
	scene_prepare(&p->scene);
	scene_solve(&p->scene, &flow);
	for (uint32_t i = 0; i < flow.nedges; i++)
		if (edge_index_is_new(&index, &flow.edges[i]))
			return false;
	return !flow.incomplete;
}

static bool is_changed(const struct planner *p, uint32_t insn)
{
	return p->scene.existing[insn] != p->scene.unit->effects[insn]->fence;
}

/* Tells whether anything was changed; each fence is changed once. */
static bool improve_once(struct planner *p)
{
	uint32_t fix = p->scene.unit->options->fix, nchanges = p->plan->nchanges;
	struct audit audit = {0};
	struct scene before;
	struct flow flow;

	scene_solve_full(&p->scene, &flow);
	audit_scene(&p->scene, &flow, &audit);
	scene_copy(&p->scene, &before);
	for (uint32_t i = 0; i < audit.nfences; i++) {
		const struct fence_report *report = &audit.fences[i];

		if (scene_representative(&p->scene, report->insn) != report->insn ||
			is_changed(p, report->insn))
			continue;
		if (report->verdict == FENCE_SPARE && fix & FIX_REDUNDANT) {
			scene_change(&p->scene, report->insn, FENCE_NONE);
			emit_in_copies(p, CHANGE_REMOVE, report->insn,
				(enum fence_kind)report->kind, "no edge appears without it");
		} else if (report->too_wide && fix & FIX_WIDE) {
			narrow(p, report);
		}
	}
	if (p->plan->nchanges == nchanges)
		return false;
	if (adds_nothing(p, &flow))
		return true;
	p->scene = before;
	p->plan->nchanges = nchanges;
	return false;
}

/* Again, because with fewer fences other predicates are told apart. */
void plan_improve_existing(struct planner *p)
{
	for (uint32_t round = 0; round < 4 && improve_once(p); round++)
		;
}
