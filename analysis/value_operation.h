/* SPDX-License-Identifier: Apache-2.0 */
/* One definition being evaluated: what the files that compute results share. */
#pragma once

#include "analysis/value_private.h"

struct operation { /* one definition being evaluated */
	struct evaluation e;
	const struct insn *insn;
	uint32_t index, slot, bits; /* instruction, destination slot, width of the register */
	struct type type;
};

static inline struct value any(uint32_t bits)
{
	return range_top(bits ? bits : 64);
}

/* value_operand.c */
struct value value_type_range(struct type);
struct value value_in_type(const struct value *, struct type);
/* The address of a variable in shared memory, of the own CTA or a peer. */
bool value_is_shared_address(const struct value *);
/* An address of 32 bits, extended by zeros. */
struct value value_extended(struct value);
struct value evaluate_register(struct evaluation, uint32_t node);
/* The same, not taken from what is kept. */
struct value evaluate_under(struct evaluation, uint32_t node);
struct value operation_source(const struct operation *, uint32_t k);
/* Source k as a number of the instruction's type. */
struct value operation_number(const struct operation *, uint32_t k);

/* value_bits.c */
struct value operation_and(const struct operation *, const struct value *, const struct value *);
struct value operation_or(const struct operation *, const struct value *, const struct value *);
struct value operation_xor(const struct operation *, const struct value *, const struct value *);
struct value operation_extract(const struct operation *);
struct value operation_insert(const struct operation *);
struct value operation_logic3(const struct operation *);
struct value operation_permute(const struct operation *);
/* and, or, xor, not of predicates */
struct value operation_predicate(const struct operation *);

/* value_arith.c */
struct value operation_arithmetic(const struct operation *);
