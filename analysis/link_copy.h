/* SPDX-License-Identifier: Apache-2.0 */
/* What link.c knows of the copies of bodies in a flat function, and of the
 * callees of a call; for the files of link.h. */
#pragma once

#include "analysis/link.h"

struct link_copy {
	const struct function *body;
	uint32_t function;	     /* index in the module */
	uint32_t parent, depth;	     /* copy that first called it; calls between it and the root */
	uint32_t first_insn, ninsns; /* in the flat function */
	uint32_t first_reg;
	uint32_t first_return, nreturns; /* into linked.returns */
	const uint32_t *symbols;	 /* by local symbol of the body: id in the flat function */
};

struct link_edge {		       /* a call in one copy that enters another */
	uint32_t call, caller, callee; /* flat instruction, copies */
	bool recursive;		       /* closes a cycle of calls */
};

struct link_graph {
	struct linked *linked;
	struct link_copy *copies;
	uint32_t ncopies;
	struct link_edge *edges;
	uint32_t nedges;
	const bool *unknown; /* by flat instruction: a call with a callee that is not here */
};

/* The callee operand, the arguments and the returns of a call; NULL when it has none. */
struct link_call_parts {
	const struct operand *returns, *callee, *arguments, *table;
};
void link_call_parts(const struct function *, const struct insn *, struct link_call_parts *);

struct link_callees {
	uint32_t *v, n, cap; /* functions with a body */
	bool unknown;	     /* and perhaps something else */
};
/* Refills the list for a call of `fn`. */
void link_callees(const struct module *, const struct function *fn, const struct insn *,
	struct arena *, struct link_callees *);

/* Replaces .param passing by OP_LINK_MOV where that says the same. */
void link_params(const struct link_graph *, struct arena *);
