/* SPDX-License-Identifier: Apache-2.0 */
/* An address as a multiple of the register of its stage, and the rest. */
#pragma once

#include "analysis/value_private.h"

/* factor * the stage + rest, in the low 32 bits; a matrix descriptor in units of its register. */
struct part {
	uint32_t factor;
	struct value rest;
};

/* What threads that come to a block can make of a node, kept. */
struct numbers {
	struct numbers *next;
	uint32_t node, block;
	bool known;
	int64_t lo, hi;
};

#define NUMBERS_LISTS 64

struct split {
	struct values *vs;
	uint32_t stage, looks;
	struct numbers **kept; /* of threads that come to `block`; NULL: threads are not asked */
	uint32_t block;
	uint32_t assumptions;
};

/* An operand in brackets or a register; `stage` is the register. False: it is no multiple of that. Adds the assumptions. */
bool split_operand(struct split *, const struct operand *, struct part *);
