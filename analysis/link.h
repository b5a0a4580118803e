/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls put in line: a root and every function of the module that it can reach become one flat
 * function, each call site with a copy of its callee (up to a limit of instructions; beyond it, and
 * for recursion, call sites share one copy, which is sound and less precise). Registers, labels and
 * local symbols are renumbered; .param passing becomes OP_LINK_MOV between registers where it is
 * scalar. A function without calls of module functions passes through unchanged.
 *
 * In the flat function a linked call is followed by control flow into its copy: see linked_call.
 */
#pragma once

#include "parser/parse.h"

struct linked_call { /* call instruction -> entries of the callee copies; their rets -> the instruction after */
	uint32_t call;    /* instruction index of the call */
	uint32_t entry;   /* first instruction of the copy */
	uint32_t after;   /* where control goes on when the copy returns */
	uint32_t first_return, nreturns; /* into linked.returns: `ret` instructions (guarded ones fall through) */
	bool recursive;   /* enters a copy that is under way: its registers are other ones each time */
};

struct linked {
	struct function fn;
	struct linked_call *calls; uint32_t ncalls; /* an indirect call has one entry per possible callee */
	uint32_t *returns; uint32_t nreturns;
	uint32_t *unknown_calls; uint32_t nunknown_calls; /* call instructions with a callee not in the module, or unknown */
	const struct function **bodies; /* parsed functions it is made of */
	uint32_t nbodies;
	bool shared_copies;       /* some copy is shared by several call sites */
};

/* False with a diagnostic when a body cannot be parsed. */
bool link_calls(const struct module *, uint32_t root, struct arena *, struct linked *, struct diags *);
