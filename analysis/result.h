/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a function when its arena is emptied: findings, fence changes. All places
 * are byte offsets of the source; lib/ turns them into lines. Allocated on the result's own arena.
 */
#pragma once

#include "analysis/audit.h"
#include "base/rules.h"

enum finding_state { STATE_NEW, STATE_BASELINE, STATE_SUPPRESSED };

struct place {
	struct span at, opcode;    /* at.begin == NONE: no such place */
	const struct loc *sources; /* its .loc, then where that was inlined, innermost call first; */
	uint32_t nsources;         /* 0, or file number 0 in the first: none */
	uint32_t kernel_function;  /* function index it stands in (callee, perhaps) */
};

struct result_pair { uint32_t generic_at, async_at; };     /* offsets */
struct result_handoff { struct place release, acquire; };

struct finding {
	uint8_t rule, level, confidence, state;
	struct place generic, async, fence;
	struct result_pair *pairs; uint32_t npairs;
	uint64_t unlisted;      /* pairs at most that those listed stand for: edge.more */
	struct result_handoff *handoffs; uint32_t nhandoffs;
	struct place *path; uint32_t npath;
	uint8_t hazards, spaces; /* enum hazard, enum space bits of its edges */
	bool cross_cta, waiting_side; /* some edge leads to another CTA; wants its fence in the waiting thread */
	const char *detail;     /* one phrase on top of the rule's title, or NULL */
	const char *unfixable;  /* or NULL */
	const char *suppressed; /* reason of the hint, or NULL */
	uint64_t fingerprint;
};

struct result_fence {
	uint8_t change, kind;
	bool half;         /* INSERT: what `fence', which is narrowed, does no longer */
	bool behind;       /* INSERT: on a line of its own at `at`, indented as the line before */
	uint32_t at;       /* offset: insertion point, or begin of the fence changed */
	struct span fence; /* REMOVE, NARROW: the whole statement */
	uint64_t weight;
	uint32_t *fixes; uint32_t nfixes; /* finding indices of this kernel */
	const char *reason;
};

struct result_mutation { struct place fence; uint8_t verdict, kind; }; /* enum fence_verdict, enum fence_kind */

struct result_hint { /* lib/ puts those of all roots together: a hint in a callee may serve another root */
	struct place at;
	bool used;
	const char *invalid; /* what is wrong with it, or NULL */
};

struct kernel_result {
	uint32_t function;  /* index in the module */
	uint32_t instructions, generic, async, fences;
	uint64_t pairs_ruled_out;
	uint32_t assumptions;      /* enum assumption bits */
	const char **unmodelled; uint32_t nunmodelled;
	struct finding *findings; uint32_t nfindings;
	struct result_fence *changes; uint32_t nchanges;
	struct result_mutation *mutation; uint32_t nmutation; /* per proxy fence, with options->mutate or when audited */
	bool budget_spent;
	uint32_t *functions; uint32_t nfunctions;     /* module functions it is made of, itself first */
	uint32_t *fence_sites; uint32_t nfence_sites; /* offsets of its proxy fences, also in callees */
	struct result_hint *hints; uint32_t nhints;
	uint32_t edges_left;       /* missing, not suppressed, and settled by no change */
};

/* Analyses one root function from its IR on: link, effects, cfg, values, accesses, flow, plan, audit,
 * findings. `scratch` is emptied by the caller afterwards; the result lives on `keep`. */
void analyse_root(const struct module *, uint32_t function, const struct analysis_options *,
	struct arena *scratch, struct arena *keep, struct diags *, struct kernel_result *);
