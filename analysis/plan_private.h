/* SPDX-License-Identifier: Apache-2.0 */
/* Work in progress of plan_fences(), shared by plan.c, plan_spare.c and plan_existing.c. */
#pragma once

#include "analysis/repair.h"

struct settled {
	uint32_t point;
	struct ids edges;
};

struct planner {
	struct scene scene;
	const struct flow *first;
	struct edge_index index; /* of the first flow */
	bool *target;		 /* by edge of the first flow: to be settled */
	bool *left;		 /* by edge of the first flow: open after the latest solve */
	struct plan *plan;
	/* of each fence: edges of the first flow that come back without it */
	struct settled *settles;
	uint32_t nsettles, settles_cap;
	/* by edge of the first flow: open on the writer's side, under the setup that it was solved for */
	bool *own_open;
	const struct flow_setup *own_setup;
	uint32_t cap, cap_unfixable;
};

struct candidate { /* a place at which a fence is planned */
	uint32_t point;
	uint64_t weight;
};

/* An edge of a later flow that is to be settled; `first`: its number in the first flow, or NONE. One that
 * the first flow lacks is taken as such: to be safe. */
bool plan_is_target(const struct planner *, const struct edge *, uint32_t *first);
/* No edge is missing in the text as planned. */
bool plan_holds(struct planner *);
/* Dearest first, one for all copies of a text. */
uint32_t plan_candidates(const struct planner *, struct candidate **);
/* Tells whether it was less before. */
bool plan_add_width(struct planner *, uint32_t point, uint8_t width);
void plan_emit(struct planner *, uint8_t change, uint32_t at, enum fence_kind kind, struct ids edges,
	const char *reason);
/* plan_spare.c: takes away what is spare, and notes which edges come back without each that stays. */
void plan_drop_spare(struct planner *);
/* What was noted of the fence at a point. */
struct ids plan_settled(const struct planner *, uint32_t point);
/* The edges that come back without a fence that was placed late; it stays. */
void plan_note_settled(struct planner *, uint32_t point);
/* plan_existing.c: --fix=wide,redundant. */
void plan_improve_existing(struct planner *);
