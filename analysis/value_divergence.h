/* SPDX-License-Identifier: Apache-2.0 */
/* What value_uniform.c and value_split.c share. */
#pragma once

#include "analysis/value_private.h"

#include "base/bits.h"

struct divergence {
	struct values *vs;
	struct arena *arena; /* of what goes when the result is there */
	bool *varies; /* by node: the result */
	bool race_free;
	const struct thread_set *sets; /* of threads that are asked about, each for itself; none: all of the CTA */
	uint32_t nsets;
	const bool *sources; /* by node: is one; race_free: without that, which makes none of another */
	struct ids later;    /* nodes to look at again when more differs */
	struct bits skewed; /* by block: threads here may have met unequally often; race_free only */
	bool *meets;	    /* by block: holds a barrier of all threads */
	const uint32_t *user_at, *users; /* by node: nodes that read it */
	uint32_t *stack, depth;
	uint32_t *branch_of;   /* by node: first test of it that ends a block, or NONE: twice the block, */
	uint32_t *next_branch; /* by test;                     and one more for the index of brx.idx */
	uint32_t *first_phi;   /* by block: first phi node, or NONE */
	uint32_t *next_phi;    /* by node */
	uint64_t steps;	       /* blocks that splits have looked at */
	/* value_split.c: */
	uint32_t *walk;	 /* stack of divergence_skew() */
	bool *mute;	 /* by block: from here on nothing can come to differ */
	bool *silent;	 /* by block: nor asks a guard from here on what does */
	bool gone;	 /* a way of the branch is over, in blocks that are mute but not silent */
	bool reducible;	 /* each cycle is entered at one block, which dominates it */
	uint32_t *label; /* by block, valid where stamp is current: an arm of the branch, or a join below it */
	uint32_t *stamp, now;
	uint32_t *walked;    /* by block: a way goes on through it, where this is `now' */
	uint32_t *way, nway; /* these blocks */
	struct bits pending; /* by block */
	uint32_t npending;
	uint32_t furthest, outside; /* of what is reached: its last block; how many the branch does not dominate */
};

/* The node holds one number in all threads of each set. */
bool divergence_is_fixed(const struct divergence *, uint32_t node);

static inline void divergence_add(struct divergence *d, uint32_t node)
{
	if (d->varies[node] || (d->nsets && divergence_is_fixed(d, node)))
		return;
	d->varies[node] = true;
	d->stack[d->depth++] = node;
}

/* Room for splits. `loud': by block, something in it may come to differ by how threads came there; becomes `mute'. */
void divergence_prepare(struct divergence *, bool *loud);
/* Threads part at the end of the block: what differs where their ways meet, and between the rounds of loops. */
void divergence_split(struct divergence *, uint32_t block);
/* From here on threads may have met unequally often. */
void divergence_skew(struct divergence *, uint32_t block);
