/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy flow: which generic accesses may still lack a proxy fence, at every point, on this
 * thread's path (own) and handed over by other threads (foreign); and from it the edges (spec 1, 2).
 * It can be run again with other fences (planned, narrowed, taken away) over the same unit.
 */
#pragma once

#include "analysis/unit.h"
#include "base/bits.h"

/* A fence that stands before instruction `before` without being in the text. */
struct placed_fence {
	uint32_t before;
	uint8_t kind; /* enum fence_kind, FENCE_ASYNC_* */
	bool behind;  /* it stands behind `before`, the last instruction of its block, instead */
};

/* Which fences are in force for a run. */
struct fence_view {
	const uint8_t *existing; /* by instruction: enum fence_kind; NULL: as written. FENCE_NONE: taken away */
	const struct placed_fence *placed;
	uint32_t nplaced;
	bool brief;    /* edges without path, release, acquire and confidence, gone with the next brief run */
	bool own_only; /* fences clear what their thread did, nothing that it acquired: the writer's side alone */
};

struct edge {
	uint32_t generic, async; /* access numbers */
	uint8_t hazard;          /* enum hazard: one bit */
	uint8_t space;           /* enum space: one bit; CLUSTER: a peer's bytes */
	uint8_t confidence;      /* enum confidence */
	bool own;                /* on one thread's path */
	bool foreign;            /* through hand-offs */
	bool cross_cta;          /* G and A in different CTAs */
	bool crosses;            /* the same, or in one CTA and also in different ones */
	bool weak;               /* only a writer-side fence where the other CTA wants one: `possible` */
	bool waiting_side;       /* no writer-side point exists (cp.async.mbarrier.arrive, cross-CTA) */
	bool cp_async;           /* data of a completed cp.async */
	uint32_t release, acquire; /* instructions of one hand-off on the way (the last one), or NONE */
	uint64_t more;           /* pairs of its groups that it stands for beside its own (groups.h) */
	bool hinted;             /* more > 0: hints cover all of them, not its own alone */
	const uint32_t *path;    /* instructions of one way: generic, (release, acquire)*, async */
	uint32_t npath;
};

/* Where a fence must stand so that an edge is none: on every path from (after) a source to (before) a
 * sink along which the access is pending. One demand may carry several edges. */
struct demand {
	const uint32_t *sources; uint32_t nsources; /* instructions; the fence stands after them */
	const uint32_t *sinks; uint32_t nsinks;     /* instructions; the fence stands before them */
	struct bits pending;     /* by instruction: the access is pending just before it */
	uint8_t width;           /* enum space bits: SHARED, CLUSTER, GLOBAL that the fence must cover */
	bool waiting_side;
	const uint32_t *edges; uint32_t nedges; /* indices into flow.edges */
};

struct flow {
	struct edge *edges; uint32_t nedges;
	uint64_t pairs_ruled_out;    /* pairs that would be edges but for addresses or assumptions */
	uint32_t assumptions;        /* enum assumption bits that ruled an edge out */
	bool incomplete;             /* budget spent */
	uint32_t run;                /* of the setup, from 1 */
};

/* Prepares what does not depend on fences (facts, hand-offs, load completion); once per unit. */
struct flow_setup *flow_prepare(struct unit *);
/* The same once more, as it would be were the fences of the view in the text: predicates under which a fence
 * runs are told apart, others are not. Gives the old one back where that makes no difference. */
struct flow_setup *flow_prepare_with(struct flow_setup *, const struct fence_view *);
/* Solves to the fixed point with these fences in force. */
void flow_solve(struct flow_setup *, const struct fence_view *, struct flow *);
/* The writer's side (own_only), brief, of the fences of the latest run, which was of all that they do, and to whose
 * edges `flow` is set: each fence does less then. */
void flow_solve_own(struct flow_setup *, const uint8_t *existing, struct flow *);
/* Gives back the state of the latest run, which is the latest no more; what it told stays. */
void flow_forget_rows(struct flow_setup *);
/* Nothing was solved since: flow_demands may be asked. */
bool flow_is_latest(const struct flow_setup *, const struct flow *);
/* The latest run, which was brief, can be solved again with planned fences gone. */
bool flow_can_lose(const struct flow_setup *);
/* Edges of the blocks to which more comes where the planned fences at one place, those of the latest run, are
 * `left` instead (FENCE_NONE: gone), which cover less: all that come back are among them. The latest run is
 * still the latest behind it; the edges are gone with the next call. */
void flow_solve_less(struct flow_setup *, const struct placed_fence *fences, const uint8_t *left, uint32_t n,
	struct flow *);
/* The same where n fences of the text are gone: by `existing` (see fence_view), which differs from that of
 * the latest run in these instructions only. */
void flow_solve_taken(struct flow_setup *, const uint8_t *existing, const uint32_t *insns, uint32_t n,
	struct flow *);
/* Tells whether there is such an edge then, without looking for all of them; so it is said out of budget. */
typedef bool flow_question(const void *, const struct edge *);
bool flow_taken_shows(struct flow_setup *, const uint8_t *existing, const uint32_t *insns, uint32_t n,
	flow_question *, const void *);
/* Tells whether there is such an edge where no load is complete by what uses its value; so it is said where that
 * cannot be looked at. The latest run is the first one, with the fences of the text. */
bool flow_open_loads_show(struct flow_setup *, flow_question *, const void *);
/* Makes that the latest run, FENCED forms that only these fences put there included: they meet nothing
 * that was not met before. `existing` is looked at by later calls. False: out of budget. */
bool flow_leave_taken(struct flow_setup *, const uint8_t *existing, const uint32_t *insns, uint32_t n);
/* About how much one flow_solve looks at: blocks and events. */
uint64_t flow_size(const struct flow_setup *);
/* The demands of the edges of a solved flow, ready for the planner. */
void flow_demands(struct flow_setup *, const struct flow *, struct demand **, uint32_t *n);
