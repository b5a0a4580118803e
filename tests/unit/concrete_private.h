/* SPDX-License-Identifier: Apache-2.0 */
/* What concrete.c and concrete_result.c share. */
#pragma once

#include "concrete.h"

static inline uint64_t cut(uint64_t v, uint32_t bits)
{
	return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static inline int64_t sign(uint64_t v, uint32_t bits)
{
	if (bits >= 64)
		return (int64_t)v;
	v = cut(v, bits);
	return v >> (bits - 1) & 1 ? (int64_t)(v | ~UINT64_C(0) << bits) : (int64_t)v;
}

struct machine {
	struct concrete *c;
	const struct insn *insn;
	uint32_t bits;
	bool is_signed;
	uint64_t a, b, d; /* sources, cut to the width */
};

/* Bits of the type that comes as number `which`, and whether it is signed; 0: there is none. */
uint32_t concrete_width(const struct insn *, uint32_t which, bool *is_signed);
/* What the instruction computes; false: it is not known here. */
bool concrete_result(struct machine *, uint64_t *);
/* The predicate beside the result `v`: of setp the comparison turned round, of lop3 whether any bit is set (ISA 9.7.6.1, 9.7.8.6). */
bool concrete_second(const struct machine *, uint64_t v);
