/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registers whose values may depend on some loads, and the instructions that name one. Registers of which one
 * is made from another are one web; numbers of a web follow one another.
 */
#pragma once

#include "analysis/unit.h"

/* The tracked registers of an instruction, by their numbers. */
struct tracked_insn {
	uint32_t *defs, *uses;
	uint32_t ndefs, nuses;
	uint64_t fold; /* a bit for each of both, as in the words of a set */
};

struct tracked {
	uint32_t n;
	uint32_t *number;  /* by register; NONE: it is not tracked */
	uint32_t *web_from, *web_end; /* by number: the numbers of its web */
	uint32_t web_words; /* the most words of a set of all in which a web lies */
	uint32_t *at; /* by instruction: its place in `insns` */
	struct tracked_insn *insns; /* the first one names none */
	uint32_t ninsns; /* beside that */
};

/* For the loads at these instructions. */
void tracked_find(struct unit *, struct ids loads, struct tracked *);
