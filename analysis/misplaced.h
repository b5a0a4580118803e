/* SPDX-License-Identifier: Apache-2.0 */
/* Fences that are there and do not do their job, while the edge that they are for is missing one.
 */
#pragma once

#include "analysis/audit.h"
#include "analysis/scene.h"
#include "analysis/ways.h"

struct misplaced_search {
	struct scene *scene;
	const struct flow *flow;
	struct demand *demands;
	uint32_t n;
	struct ways ways;
	struct edge_index missing; /* the flow's edges */
	struct bits scratch;
	struct bits *on_way; /* by demand; no words: not asked yet */
	struct bits *from;   /* by demand, filled with them: pending there, behind no sink */
	struct bits before, behind; /* points near the fence that is judged, if they were asked for */
	uint32_t near;		    /* that fence; NONE */
};

/* Of the flow that the scene solved last. */
void misplaced_prepare(struct scene *, const struct flow *, struct misplaced_search *);
/* Fills misplaced, reason and the edges (appended to the audit's lost) of a fence that is not
 * needed. */
void misplaced_judge(
	struct misplaced_search *, struct fence_report *, struct audit *, uint32_t *cap);
