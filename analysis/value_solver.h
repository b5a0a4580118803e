/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one solution, and its parts. */
#pragma once

#include "analysis/value_private.h"

#include "base/bits.h"

struct solver {
	struct values *vs;
	uint32_t *order, *rank; /* nodes in order of evaluation and back */
	uint32_t *circle;	/* by rank: that of the first node of the circle that it is in */
	uint32_t *circles;	/* ranks at which those begin that are not one definition, then nsolved */
	uint32_t ncircles;
	uint32_t unsettled;	/* rank before which nothing has changed since the last sweep */
	struct bits anew;	/* by rank: to be solved */
	struct bits dirty;	/* by rank */
	struct bits loose;	/* by rank: may have more than it gave the last time */
	uint8_t *changes;	/* by node */
	bool *capped;		/* by node: a counter that is assumed not to wrap */
	bool has_thresholds; /* they are collected, in order */
	int64_t *thresholds;
	uint32_t nthresholds, thresholds_cap;
	/* An evaluation is kept until something that it may have looked at has changed. */
	uint32_t ninputs;   /* of all phis */
	bool *shallow;	    /* by node: its evaluation looks at what it reads, no further */
	uint32_t *looked;   /* by node: 1 + clock of its latest evaluation, or 0 */
	struct value *last; /* by node: what that gave */
};

/* value_slice.c: the registers that matter, their nodes, and who reads them. */
void solver_slice(struct solver *);
/* value_order.c: the order in which to evaluate them. */
void solver_order(struct solver *);

/* value_steady.c: fills `steady`, and makes room for `same`. */
void solver_find_steady(struct solver *);

/* value_widen.c */
/* `grown` is a proper superset of `old`: jump ahead. */
struct value solver_widen(
	struct solver *, uint32_t node, const struct value *old, const struct value *grown);
struct value solver_lose_bounds(const struct value *, uint32_t bits);
/* Clipped to where a counter that only grows is assumed to stop. */
struct value solver_cap(const struct value *, uint32_t bits);

/* value_launch.c: what the text says of the launch, and of dynamic shared memory. */
void launch_find(struct values *);
/* Operands that have to be aligned say how dynamic shared memory is (--assume=aligned-tma); true
 * when that is news. */
bool launch_find_alignment(struct values *);
/* All that is made of addresses in dynamic shared memory, into `anew`. */
void launch_find_dependent(struct solver *);
/* Likewise what stands where something else holds since that clock, and what is made of it; false: there is none. */
bool launch_find_outdated(struct solver *, uint32_t clock);
