/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: instructions and the numbers of their sources in one thread. Out: the number that comes of
 * them, and whether the lanes of a warp still share it, or count themselves with it.
 */
#include "analysis/thread_arith.h"

/* What comes of a number that counts lanes and one that they share. */
enum lanes thread_lanes(const struct insn *insn, enum compare c, uint64_t shared)
{
	bool whole = !(shared & 31), full = (shared & 31) == 31;

	switch ((uint32_t)insn->op) {
	case OP_add:
	case OP_sub:
	case OP_or:
	case OP_xor:
	case OP_rem:
		return whole ? LANES_COUNT : LANES_DIFFER;
	case OP_and:
		return whole ? LANES_ALIKE : full ? LANES_COUNT : LANES_DIFFER;
	case OP_div:
		return whole ? LANES_ALIKE : LANES_DIFFER;
	case OP_shr:
		return thread_cut(shared, 32) >= 5 ? LANES_ALIKE : LANES_DIFFER;
	case OP_setp:
		return (whole && (c == COMPARE_LT || c == COMPARE_GE)) ||
				       (full && (c == COMPARE_LE || c == COMPARE_GT))
			       ? LANES_ALIKE
			       : LANES_DIFFER;
	default:
		return LANES_DIFFER;
	}
}

bool thread_compared(enum compare c, bool less, bool equal)
{
	switch (c) {
	case COMPARE_EQ:
		return equal;
	case COMPARE_NE:
		return !equal;
	case COMPARE_LT:
		return less;
	case COMPARE_LE:
		return less || equal;
	case COMPARE_GT:
		return !less && !equal;
	case COMPARE_GE:
		return !less;
	case COMPARE_NONE:
		break;
	}
	return false;
}

bool thread_divided(
	const struct insn *insn, struct type type, uint64_t a, uint64_t b, uint64_t *out)
{
	a = thread_cut(a, type.bits);
	b = thread_cut(b, type.bits);
	if (!b || (type.is_signed &&
			  (thread_signed(a, type.bits) < 0 || thread_signed(b, type.bits) < 0)))
		return false;
	*out = insn->op == OP_div ? a / b : a % b;
	return true;
}

bool thread_shifted(
	const struct insn *insn, struct type type, uint64_t a, uint64_t b, uint64_t *out)
{
	bool left = insn->op == OP_shl;

	b = thread_cut(b, 32);
	if (b >= type.bits) {
		*out = !left && type.is_signed && thread_signed(a, type.bits) < 0 ? ~UINT64_C(0)
										  : 0;
		return true;
	}
	*out = left		? a << b
	       : type.is_signed ? (uint64_t)(thread_signed(a, type.bits) >> b)
				: thread_cut(a, type.bits) >> b;
	return true;
}

bool thread_product(
	const struct insn *insn, struct type type, uint64_t a, uint64_t b, uint64_t *out)
{
	if (insn_has(insn, MOD_hi) || insn->nmods > 2)
		return false;
	if (insn_has(insn, MOD_wide))
		*out = type.is_signed ? (uint64_t)(thread_signed(a, type.bits) *
						   thread_signed(b, type.bits))
				      : thread_cut(a, type.bits) * thread_cut(b, type.bits);
	else
		*out = a * b;
	return true;
}
