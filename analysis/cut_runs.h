/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points drawn together into runs: a run is a chain of points that every path takes as a whole and
 * at which the same demands are pending, so one point stands for all. The planner's own; see cut.c.
 */
#pragma once

#include "analysis/cut.h"

struct run {
	uint32_t first, last; /* points; sinks and sources sit at the last */
	uint32_t point;	      /* the cheapest, of equal ones the latest */
	uint64_t cost;	      /* of `point` */
	uint8_t given;	      /* widths that stand in it already */
	uint32_t succ, nsucc; /* into runs.succ */
};

struct runs {
	const struct cut_graph *graph;
	const struct demand *demands;
	uint32_t ndemands;
	struct run *v;
	uint32_t n;
	uint32_t *succ;		     /* run numbers */
	uint32_t *of;		     /* by point: its run, or NONE where nothing is pending */
	uint32_t *pred_first, *pred; /* predecessor points by point */
	struct ids *sources;	     /* by demand, ascending */
	struct ids *starts, *ends; /* by demand: runs right after its sources; runs of its sinks */
	struct bits *is_end;	   /* by demand: ends as a set */
	struct bits *pending;	   /* by demand: runs at which it is pending */
	struct bits *relevant;	   /* by demand: runs on some way from a start to an end */
	uint32_t *queue;	   /* scratch, n runs */
	struct bits seen;	   /* scratch */
	uint32_t *from;		   /* scratch */
	uint64_t visits;	   /* runs looked at by runs_open_path so far */
};

void runs_build(const struct cut_graph *, const struct demand *, uint32_t ndemands, struct arena *,
	struct runs *);
/* The demand is pending on both sides of the way from run r to its successor s. */
bool runs_passes(const struct runs *, uint32_t demand, uint32_t r, uint32_t s);
/* Looks for a way from a start to an end of the demand that meets no fence (`have`: width by run).
 * Tells its length and, if `path` is not NULL, its runs; 0: there is none, the demand is met. */
uint32_t runs_open_path(struct runs *, uint32_t demand, const uint8_t *have, uint32_t *path);
/* By run: every path into it comes with something of these demands pending (they have one width).
 */
void runs_always_pending(
	const struct runs *, const uint32_t *demands, uint32_t n, struct bits always);
