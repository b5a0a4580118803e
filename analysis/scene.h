/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function with its fences as they might be: taken away, narrowed, added. The planner and the
 * audit change the scene and solve the flow anew; a change of a text in a linked callee changes all
 * its copies.
 */
#pragma once

#include "analysis/points.h"

/* What a solve, or a preparation, of a scene was made for. */
struct scene_fences {
	const struct flow_setup *setup; /* NULL: nothing yet */
	uint8_t *existing, *width;
};

/* The latest solve and the latest preparation, of the scene or a copy of it: what is asked for once
 * more is not done again. */
struct scene_latest {
	struct scene_fences solved, prepared;
	bool brief, own_only;
	bool went_on; /* the state is of fewer fences than the edges: for scene_solve_taken alone */
	struct flow flow;
};

struct scene {
	struct unit *unit;
	struct flow_setup *setup;
	struct arena *arena;
	struct points points;
	uint8_t *existing; /* by instruction: enum fence_kind in force */
	uint8_t *width;	   /* by point: enum space bits of what is added there */
	struct placed_fence *placed;
	uint32_t placed_cap;
	struct fence_view view; /* of the latest scene_solve */
	struct scene_latest *latest;
};

void scene_build(struct unit *, struct flow_setup *, struct scene *);
/* `flow` is that of the scene as it is: if it is the setup's latest, scene_solve need not solve again. */
void scene_know(struct scene *, const struct flow *);
/* An independent copy for trying. */
void scene_copy(const struct scene *, struct scene *);
/* Sets what is added at a point, in all copies of the text. */
void scene_place(struct scene *, uint32_t point, uint8_t width);
/* Sets what a fence of the text is, in all copies. */
void scene_change(struct scene *, uint32_t insn, enum fence_kind);
/* Edges for comparing only (fence_view.brief), gone with the next solve. */
void scene_solve(struct scene *, struct flow *);
/* Edges with all that is known of them. */
void scene_solve_full(struct scene *, struct flow *);
/* The same with fences of the writer's side only (fence_view.own_only). */
void scene_solve_own(struct scene *, struct flow *);
/* The edges that come back where what is added at a point is of less `width`, among others that were there
 * before; false: not to be told but by a solve. Right after scene_solve or scene_solve_own; the scene is as
 * it was. */
bool scene_solve_less(struct scene *, uint32_t point, uint8_t width, bool own_only, struct flow *);
/* Takes a fence of the text away in all copies. Edges, for comparing only, of one of the two flows
 * where it may differ from the one before: all that are new are among them. */
void scene_solve_taken(struct scene *, uint32_t insn, bool own_only, struct flow *);
/* The same of n fences together, but tells only whether some edge is new then, or nobody knows. */
struct edge_index;
bool scene_taken_adds(
	struct scene *, const uint32_t *insns, uint32_t n, bool own_only, const struct edge_index *before);
/* Behind it, if no edge was new: the fence, which was of that kind, stays away, and the next one is taken
 * away from there. */
void scene_leave_taken(struct scene *, uint32_t insn, enum fence_kind, bool own_only);
/* Prepares the flow as if the scene's fences were in the text; tells whether that makes a
 * difference. */
bool scene_prepare(struct scene *);
/* Of the flow that scene_solve solved last. */
void scene_demands(struct scene *, const struct flow *, struct demand **, uint32_t *n);
/* The first point at or after `from` at which something is added, or NONE. */
uint32_t scene_next_added(const struct scene *, uint32_t from);
/* The lowest copy of a point. */
uint32_t scene_representative(const struct scene *, uint32_t point);
/* Summed over the proxy fences in force, inserted ones included. */
uint64_t scene_weight(const struct scene *);

/* Edges by what they are (accesses, space, hazard), for comparing two flows. */
struct edge_index {
	const struct edge *edges;
	uint32_t *order, n; /* sorted */
};

/* Looks at the edges where they are ... */
void edge_index_build(const struct edge *, uint32_t n, struct arena *, struct edge_index *);
/* ... or at a copy, for those of a brief run. */
void edge_index_copy(const struct edge *, uint32_t n, struct arena *, struct edge_index *);
/* The number of the same edge, or NONE. */
uint32_t edge_index_find(const struct edge_index *, const struct edge *);
/* The edge is not there, or was only `weak` and is more than that now. */
bool edge_index_is_new(const struct edge_index *, const struct edge *);
