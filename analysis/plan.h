/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fences to put where: a minimum cut per group of demands over program points weighted by
 * 10^loop depth (analysis-notes section 10), then merging, narrowing, and deleting what a second
 * look at the flow shows to be spare. Also what to narrow or remove when asked (--fix).
 */
#pragma once

#include "analysis/flow.h"

enum change { CHANGE_INSERT, CHANGE_REMOVE, CHANGE_NARROW };

struct fence_change {
	uint8_t change;       /* enum change */
	uint8_t kind;         /* enum fence_kind to write (INSERT, NARROW) */
	bool half;            /* INSERT: what a fence that is narrowed, `before', does no longer */
	bool behind;          /* INSERT: it stands behind `before`, on the next line, instead */
	uint32_t before;      /* INSERT: the instruction it stands before (function->ninsns: before the closing brace); else the fence itself */
	uint64_t weight;      /* 10^loop depth: estimated executions */
	const uint32_t *edges; /* edges of the first flow that it settles */
	uint32_t nedges;
	const char *reason;   /* static or arena text, for --dump=plan */
};

struct unfixable {
	uint32_t edge;
	const char *reason; /* "inside a hinted range", "an unknown callee writes and releases" ... */
};

struct fence_weight { /* a proxy fence of the text as written */
	uint32_t insn;
	uint64_t weight;
};

struct plan {
	struct fence_change *changes; uint32_t nchanges;   /* sorted by place */
	struct unfixable *unfixable; uint32_t nunfixable;
	struct fence_weight *fences; uint32_t nfences;     /* of the text, by place; of copies the first */
	uint64_t weight_before, weight_after; /* summed over proxy fences */
};

struct scene;
/* Plans for the edges of `first`, solved with the fences as written; so is the scene, which the plan uses up. */
void plan_fences(struct scene *, const struct flow *first, struct plan *);
