/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a function when its arena is emptied: findings, fence changes, verdict. All places
 * are byte offsets of the source; lib/ turns them into lines. Allocated on the result's own arena.
 */
#pragma once

#include "analysis/audit.h"
#include "base/rules.h"

enum verdict { VERDICT_FINDINGS, VERDICT_INCOMPLETE, VERDICT_REVIEW, VERDICT_CLEAN };
enum finding_state { STATE_NEW, STATE_BASELINE, STATE_SUPPRESSED };

struct place {
	struct span at, opcode;    /* at.begin == NONE: no such place */
	struct loc source;         /* file number 0: no .loc */
	uint32_t kernel_function;  /* function index it stands in (callee, perhaps) */
};

struct result_pair { uint32_t generic_at, async_at; };     /* offsets */
struct result_handoff { uint32_t release_at, acquire_at; }; /* offsets */

struct finding {
	uint8_t rule, level, confidence, state;
	struct place generic, async, fence;
	struct result_pair *pairs; uint32_t npairs;
	struct result_handoff *handoffs; uint32_t nhandoffs;
	uint32_t *path; uint32_t npath;    /* offsets */
	const char *detail;     /* one phrase on top of the rule's title, or NULL */
	const char *unfixable;  /* or NULL */
	const char *suppressed; /* reason of the hint, or NULL */
	uint64_t fingerprint;
};

struct result_fence {
	uint8_t change, kind;
	uint32_t at;       /* offset: insertion point, or begin of the fence changed */
	struct span fence; /* REMOVE, NARROW: the whole statement */
	uint64_t weight;
	uint32_t *fixes; uint32_t nfixes; /* finding indices of this kernel */
	const char *reason;
};

struct kernel_result {
	uint32_t function;  /* index in the module */
	uint32_t instructions, generic, async, fences;
	uint8_t verdict;
	uint64_t pairs_ruled_out;
	uint32_t assumptions;      /* enum assumption bits */
	const char **unmodelled; uint32_t nunmodelled;
	struct finding *findings; uint32_t nfindings;
	struct result_fence *changes; uint32_t nchanges;
	struct { uint32_t at; uint8_t verdict, kind; } *mutation; uint32_t nmutation; /* per proxy fence, with options->mutate or when audited */
	bool budget_spent;
};

/* Analyses one root function from its IR on: link, effects, cfg, values, accesses, flow, plan, audit,
 * findings. `scratch` is emptied by the caller afterwards; the result lives on `keep`. */
void analyse_root(const struct module *, uint32_t function, const struct analysis_options *,
	struct arena *scratch, struct arena *keep, struct diags *, struct kernel_result *);
