/* SPDX-License-Identifier: Apache-2.0 */
/* Edges, fence reports and checks of one root become findings and fence changes. */
#pragma once

#include "analysis/analyse.h"

/* The rule that an edge breaks. */
enum rule edge_rule(const struct edge *);
/* False for edges of rules that --rules leaves out: neither reported nor fixed. */
bool edge_wanted(const struct analysis_options *, const struct edge *);
/* A hint asks to leave the edge alone. */
bool edge_suppressed(const struct unit *, const struct edge *);

/* Instructions that a finding will name, for hints_ignore. */
void findings_named(const struct analysis_view *, struct bits named);
/* Fills findings, changes and mutation of the result; everything on `keep`. */
void findings_build(const struct analysis_view *, struct hint_map *, struct arena *keep,
	struct kernel_result *);

uint64_t fingerprint_text(uint64_t seed, const char *text, size_t size);
/* The same of a symbol's name, but for the parts that change with each change of its file. */
uint64_t fingerprint_name(uint64_t seed, const char *name, size_t size);
struct print { /* of one instruction */
	bool asked;
	uint64_t seed, hash; /* the latest question and its answer */
};
struct prints {
	const struct function *fn;
	const uint32_t *number; /* by instruction that is asked about */
	struct print *of;       /* by number */
};
/* Hashes what the text of an instruction says, register numbers and constants left out. */
uint64_t fingerprint_insn(struct prints *, uint64_t seed, uint32_t insn);
#define FINGERPRINT_SEED UINT64_C(0xcbf29ce484222325)

/* Where an instruction begins; NONE: of none. */
static inline uint32_t offset_of(const struct function *fn, uint32_t insn)
{
	return insn == NONE ? NONE : fn->insns[insn].at.begin;
}

/* A place of the text on the result's arena; insn NONE: no place. */
struct place place_of(const struct function *, uint32_t insn, struct arena *keep);
