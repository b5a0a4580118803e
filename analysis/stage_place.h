/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and mbarriers in a ring of stages, as a base and a sum, and the numbers of stages. */
#pragma once

#include "analysis/stages.h"
#include "analysis/unit.h"

#define STAGE_OFFSET_MOST (INT64_C(1) << 28) /* no shared memory is larger: sums below it have not wrapped */
#define STAGE_NUMBER_MOST 4096
#define STAGE_OBJECT_BYTES 8
#define STAGE_NO_NODE (NONE - 1)

/* An address: base + sum, each term a number. */
struct stage_place {
	uint8_t base; /* BASE_SYMBOL or BASE_DERIVED with `id` as in struct value; BASE_NUMBER: there is none */
	uint32_t id;
	struct stage_sum sum;
	uint32_t assumptions; /* enum assumption bits on which base and constant rest */
	struct value set;     /* of an mbarrier: all that the whole address can be */
};

struct stage_stretch { /* bytes [lo, end) behind a base */
	int64_t lo, end;
};

struct stage_number { /* of a stage: contents of `node`, which are in a set, plus a constant */
	uint32_t node; /* NONE: 0 */
	int64_t lo, hi, plus;
	uint64_t stride;
};

/* The operand that is the address of an access; NULL. */
const struct operand *stage_address_of(const struct unit *, const struct access *);
/* `node`: the register whose term is wanted; NONE: all of them are. */
bool stage_place_of(const struct values *, const struct operand *, uint32_t node, struct stage_place *);
/* The mbarrier that an instruction names, in this CTA or at the same place in another. */
bool stage_object_at(const struct unit *, uint32_t insn, struct stage_place *);
/* The contents of a node as the number of a stage. */
bool stage_number_of(const struct values *, uint32_t node, int64_t plus, struct stage_number *,
	uint32_t *assumptions);
/* The number of an mbarrier, counted from that of another one where the register of that is 0. */
bool stage_object_number(const struct values *, const struct stage_place *, const struct stage_place *from,
	struct stage_number *, uint32_t *assumptions);
/* The bytes of an access whose first one is the sum without its term `but`. */
bool stage_stretch_of(const struct values *, const struct stage_place *, uint32_t but, uint64_t bytes,
	struct stage_stretch *, uint32_t *assumptions);
/* The register that is in the sum so many times; NONE. */
uint32_t stage_term_with(const struct stage_place *, uint32_t factor);
/* Whatever the two are, and whenever. */
bool stage_numbers_differ(const struct stage_number *, const struct stage_number *);
/* Where both are current, while *root is what it is. */
bool stage_numbers_differ_now(const struct values *, const struct stage_number *, const struct stage_number *,
	uint32_t *root, uint32_t *assumptions);

static inline bool stage_same_base(const struct stage_place *a, const struct stage_place *b)
{
	return a->base == b->base && a->id == b->id;
}

/* Whatever the registers hold. */
static inline bool stage_same_sum(const struct stage_sum *a, const struct stage_sum *b)
{
	if (a->n != b->n || a->constant != b->constant)
		return false;
	for (uint32_t k = 0; k < a->n; k++)
		if (a->terms[k].node != b->terms[k].node || a->terms[k].factor != b->terms[k].factor)
			return false;
	return true;
}
