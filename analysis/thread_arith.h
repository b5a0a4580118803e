/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions make of the numbers that single threads hold: see threads.c. */
#pragma once

#include "analysis/value_private.h"

/* The numbers of the lanes of one warp. */
enum lanes {
	LANES_ALIKE,
	LANES_COUNT, /* a multiple of 32 that all have, and below 32 what each has, as in %tid.x */
	LANES_DIFFER = 3
};

static inline uint64_t thread_cut(uint64_t v, uint32_t bits)
{
	return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static inline int64_t thread_signed(uint64_t v, uint32_t bits)
{
	if (bits >= 64)
		return (int64_t)v;
	v = thread_cut(v, bits);
	return v >> (bits - 1) & 1 ? (int64_t)(v | ~UINT64_C(0) << bits) : (int64_t)v;
}

/* The outcome of a comparison. */
bool thread_compared(enum compare, bool less, bool equal);
/* div, rem, of numbers that are not negative; shl, shr; mul, mad without its sum
 * (ISA 9.7.1, 9.7.8). False: not known. */
bool thread_divided(const struct insn *, struct type, uint64_t a, uint64_t b, uint64_t *);
bool thread_shifted(const struct insn *, struct type, uint64_t a, uint64_t b, uint64_t *);
bool thread_product(const struct insn *, struct type, uint64_t a, uint64_t b, uint64_t *);
/* What comes of a number that counts lanes and one, the second source, that they share. */
enum lanes thread_lanes(const struct insn *, enum compare, uint64_t shared);
