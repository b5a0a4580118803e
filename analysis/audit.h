/* SPDX-License-Identifier: Apache-2.0 */
/* What the audit says of fences that are there (spec section 5), by taking them away or narrowing them
 * and solving the flow again; and the self-check --mutate, which uses the same test. */
#pragma once

#include "analysis/plan.h"

enum fence_verdict { FENCE_NEEDED, FENCE_SPARE, FENCE_UNKNOWN /* budget spent, or something unmodelled */ };

struct fence_report { /* one per proxy fence of the text */
	uint32_t insn;
	uint8_t verdict;      /* enum fence_verdict */
	uint8_t kind, narrow; /* as written; narrowest kind that covers all its edges (two: see narrow2) */
	uint8_t narrow2;      /* FENCE_NONE or FENCE_ASYNC_GLOBAL beside `narrow` */
	bool misplaced, issuer_side, too_wide;
	bool possible;        /* misplaced: where only `possible` edges are missing */
	const char *reason;   /* of misplaced */
	const uint32_t *edges; uint32_t nedges; /* pairs (generic access, async access) lost without it: indices into `lost` */
};

struct audit {
	struct fence_report *fences; uint32_t nfences;
	struct edge *lost; uint32_t nlost;
};

/* The scene as written, and its flow, the latest that was solved. The scene is as before. */
void audit_fences(struct scene *, const struct flow *, struct audit *);

/* Rules that need no proxy flow: bulk-store-unwaited, mbarrier-init-unfenced, tensormap-unfenced (analysis/checks.c). */
struct check_finding {
	uint8_t rule;       /* enum rule */
	uint8_t confidence;
	uint32_t insn, other; /* the place, and the second place or NONE */
	const char *detail;
};
void checks_run(struct unit *, struct check_finding **, uint32_t *n);
