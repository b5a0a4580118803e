/* SPDX-License-Identifier: Apache-2.0 */
/* Depth-first preorder of a graph: the numbering that dominators and loops are found by. */
#pragma once

#include "analysis/dominators.h"

struct preorder {
	uint32_t n;	  /* reached vertices */
	uint32_t *number; /* by vertex; NONE: not reached */
	uint32_t *at;	  /* vertex by number */
	uint32_t *parent; /* number of the parent in the spanning tree; NONE for 0 */
	uint32_t *last;	  /* greatest number in the subtree */
};

void preorder_find(const struct graph *, uint32_t root, struct arena *, struct preorder *);
