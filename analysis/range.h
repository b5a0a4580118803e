/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic on sets of numbers: base + { lo, lo + stride, ..., hi }, as struct value. A set stands
 * for register contents modulo 2^bits: adding, subtracting and multiplying need no care for
 * wrap-around, everything else first brings its input into the type's own range. Results cover all
 * concrete ones.
 */
#pragma once

#include "analysis/value.h"

static inline struct value range_empty(void)
{
	return (struct value){.base = BASE_EMPTY};
}

static inline struct value range_constant(int64_t c)
{
	return (struct value){.base = BASE_NUMBER, .lo = c, .hi = c};
}

struct value range_span(int64_t lo, int64_t hi, uint64_t stride);
struct value range_top(uint32_t bits);

/* In a variable, or counted from an aligned place in one. */
static inline bool range_is_address(const struct value *v)
{
	return v->base == BASE_SYMBOL || v->base == BASE_DERIVED;
}

static inline bool range_is_empty(const struct value *v)
{
	return v->base == BASE_EMPTY;
}

bool range_is_constant(const struct value *, int64_t *);
/* Covers all contents of a register of that width. */
bool range_is_top(const struct value *, uint32_t bits);
bool range_subset(const struct value *, const struct value *of, uint32_t bits);
/* Every member is a multiple of 2^k; the base's alignment is respected. */
uint32_t range_trailing_zeros(const struct value *);
uint64_t range_gcd(uint64_t, uint64_t);

/* As a plain number in [0, 2^bits) or [-2^(bits-1), 2^(bits-1)). */
struct value range_unsigned(const struct value *, uint32_t bits);
struct value range_signed(const struct value *, uint32_t bits);
struct value range_spread(const struct value *, uint32_t bits);
/* Brings an over-long set back to the width. */
static inline struct value range_fit(struct value v, uint32_t bits)
{
	if (v.base != BASE_NUMBER || bits >= 63 ||
		(uint64_t)v.hi - (uint64_t)v.lo < UINT64_C(1) << bits ||
		(v.assumptions & ASSUME_NO_WRAP))
		return v;
	return range_spread(&v, bits);
}

struct value range_join(const struct value *, const struct value *, uint32_t bits);
/* What is left of a set that also lies in [lo, hi], or without one number. */
struct value range_clip(const struct value *, int64_t lo, int64_t hi);
struct value range_without(const struct value *, int64_t);
/* Both cover the truth: the better of both. */
struct value range_meet(const struct value *, const struct value *, uint32_t bits);

struct value range_add(const struct value *, const struct value *, uint32_t bits);
struct value range_sub(const struct value *, const struct value *, uint32_t bits);
struct value range_mul(const struct value *, const struct value *, uint32_t bits);
struct value range_shl(const struct value *, const struct value *amount, uint32_t bits);
/* These take numbers already brought into the type's range. */
struct value range_shr(const struct value *, const struct value *amount);
struct value range_div(const struct value *, const struct value *);
struct value range_rem(const struct value *, const struct value *);
struct value range_min(const struct value *, const struct value *);
struct value range_max(const struct value *, const struct value *);
struct value range_mulhi(const struct value *, const struct value *, uint32_t bits);
struct value range_and(const struct value *, const struct value *, uint32_t bits);
struct value range_or(const struct value *, const struct value *, uint32_t bits);
struct value range_xor(const struct value *, const struct value *, uint32_t bits);
