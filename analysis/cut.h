/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where fences must stand at the least cost so that every demand is met (analysis-notes section
 * 10). Knows points and demands only, nothing of instructions: point k is the place before
 * instruction k.
 */
#pragma once

#include "analysis/flow.h"
#include "base/budget.h"

#define CUT_FORBIDDEN UINT64_MAX /* cost of a point that takes no fence */
#define CUT_AVOID                                                                                  \
	UINT64_C(1000000000000) /* cost of a point that takes one only if no other will do */

struct cut_graph {
	uint32_t n;
	const uint32_t *first, *succ; /* succ[first[k] .. first[k+1]): points after instruction k */
	const uint64_t *cost;	      /* by point */
	const uint8_t *kills; /* by point: enum space bits that instruction k itself fences */
	const uint8_t *given; /* by point: widths that stand before it already; NULL: none */
	uint32_t entry;	      /* the point at which control comes in */
};

struct cut_fence {
	uint32_t point;
	uint8_t width; /* enum space bits to cover */
};

struct cut {
	struct cut_fence *fences;
	uint32_t nfences; /* by point */
	bool *infeasible; /* by demand: no placement meets it */
	uint64_t cost;	  /* summed, each instruction of cut_instructions counted */
};

void cut_solve(const struct cut_graph *, const struct demand *, uint32_t ndemands, struct arena *,
	struct budget *, struct cut *);

/* A fence of width `have` does the work of one of width `need`: the cluster window contains the own
 * CTA's. */
bool cut_covers(uint8_t have, uint8_t need);
/* How many fence instructions a width takes. */
uint32_t cut_instructions(uint8_t width);
