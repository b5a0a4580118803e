/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Basic blocks of a (linked) function in reverse postorder: the number is the array index, block 0 is
 * the entry. Unreachable code is in no block. Guarded branches and returns fall through when false
 * (ISA 9.7.12); `trap` ends a block; a body may fall off its end; brx.idx goes to its table's labels only.
 */
#pragma once

#include "analysis/effect.h"
#include "analysis/link.h"

struct ids {
	const uint32_t *v;
	uint32_t n;
};

struct block {
	uint32_t first, count; /* instructions [first, first+count) of the function; empty only for a virtual exit */
	struct ids succ, pred; /* block numbers; for a guarded branch succ.v[0] is the branch taken, succ.v[1] the fall-through */
	uint32_t idom, ipdom;  /* immediate dominator / post-dominator; NONE at the root / virtual exit.
	                        * An arm that only traps is no path for post-dominators (it ends the grid) */
	uint32_t loop_depth;   /* natural loops around it; irreducible cycles count as loops; saturates at 8 */
	uint32_t loop_head;    /* head of the innermost loop, or NONE */
	uint32_t outer_head;   /* of a loop's head: head of the loop around that loop, or NONE */
	bool exits;            /* control can leave the function here */
	bool aborts;           /* exits by `trap', or a call that is known to end so: the grid ends, nobody goes on */
	bool recurses;         /* ends in a call of a function that is under way (linked_call.recursive) */
	uint32_t active, nactive; /* of cfg.active: where its instructions begin, and how many they are */
	/* places in the two trees, for cfg_dominates and cfg_postdominates: subtree [enter, leave) */
	uint32_t dom_enter, dom_leave, pdom_enter, pdom_leave;
};

struct cfg {
	const struct function *fn;
	const struct effect *const *effects; /* by instruction */
	struct block *blocks;
	uint32_t n;
	uint32_t *block_of; /* by instruction; NONE: unreachable */
	bool calls_unknown; /* some callee is not in the module */
	struct ids active;  /* instructions that may do more than work on registers, ascending; in no block too */
};

/* `effects` has one entry per instruction. */
void cfg_build(const struct linked *, const struct effect *const *effects, struct arena *,
	struct cfg *);
/* The first active instruction of its block from `insn` on, or NONE. */
uint32_t cfg_active_from(const struct cfg *, uint32_t insn);
bool cfg_dominates(const struct cfg *, uint32_t a, uint32_t b);
bool cfg_postdominates(const struct cfg *, uint32_t a, uint32_t b);
