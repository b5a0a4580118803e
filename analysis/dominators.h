/* SPDX-License-Identifier: Apache-2.0 */
/* Dominator trees and loop nesting of any flow graph; cfg.c uses both directions. */
#pragma once

#include "base/arena.h"
#include "base/span.h"

/* Successors of i: succ[succ_at[i] .. succ_at[i + 1]), predecessors likewise. */
struct graph {
	uint32_t n;
	const uint32_t *succ_at, *succ, *pred_at, *pred;
};

struct dominators {
	uint32_t *idom;		 /* NONE: the root, or not reachable from it */
	uint32_t *enter, *leave; /* a dominates b iff enter[a] <= enter[b] < leave[a] */
};

struct preorder;

/* From the root of the preorder. */
void dominators_find(
	const struct graph *, const struct preorder *, struct arena *, struct dominators *);

/* head[i]: head of the innermost cycle that i stands in without being its head, or NONE.
 * is_head[i]: i heads a cycle (also an irreducible one, whose first visited entry is its head). */
void loops_find(const struct graph *, const struct preorder *, struct arena *, uint32_t *head,
	bool *is_head);
