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
	uint32_t succ, nsucc; /* into runs.succ */
	uint8_t given;	      /* widths that stand in it already */
	uint64_t cost;	      /* of `point` */
};

/* By run: a set of demands. */
struct demand_sets {
	uint64_t *words;
	uint32_t nwords; /* of each */
};

struct runs {
	const struct cut_graph *graph;
	const struct demand *demands;
	uint32_t ndemands;
	struct run *v;
	uint32_t n;
	uint32_t *succ, nsucc;	     /* run numbers */
	uint32_t *of;		     /* by point: its run, or NONE where nothing is pending */
	uint32_t *pred_first, *pred; /* by run: the points before its first one */
	struct bits is_source;	     /* by point: of some demand */
	struct ids *sources;	     /* by demand, ascending */
	struct ids *starts, *ends;  /* by demand: runs right after its sources; runs of its sinks */
	struct demand_sets ends_at; /* those that end in it */
	struct demand_sets pending_at; /* those that are pending at it */
	struct demand_sets
		relevant_at;   /* those of which it is on some way from a start to an end */
	struct bits *relevant; /* by demand: the same, as runs */
	uint32_t *queue;       /* scratch, n runs */
	struct bits seen;      /* scratch */
	uint32_t *from;	       /* scratch */
	uint64_t visits;       /* runs looked at by runs_open_path so far */
};

void runs_build(const struct cut_graph *, const struct demand *, uint32_t ndemands, struct arena *,
	struct runs *);
static inline struct bits runs_demands(struct demand_sets sets, uint32_t r)
{
	return (struct bits){sets.words + (size_t)r * sets.nwords, sets.nwords};
}

/* Nothing of this width comes out of the run: its last instruction fences. */
static inline bool runs_fenced(const struct runs *runs, uint32_t r, uint8_t width)
{
	uint8_t kills = runs->graph->kills[runs->v[r].last];

	return kills && cut_covers(kills, width);
}

/* Looks for a way from a start to an end of the demand that meets no fence (`have`: width by run).
 * Tells its length and, if `path` is not NULL, its runs; 0: there is none, the demand is met. */
uint32_t runs_open_path(struct runs *, uint32_t demand, const uint8_t *have, uint32_t *path);
/* By run: every path into it comes with something of these demands pending (they have this width).
 */
void runs_always_pending(
	const struct runs *, struct bits demands, uint8_t width, struct bits always);
