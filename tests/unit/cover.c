/* SPDX-License-Identifier: Apache-2.0 */
#include "cover.h"

/* Where the numbers of a value begin; 0: they are no addresses. */
static uint64_t base_of(const struct values *vs, const struct concrete *c, const struct value *v)
{
	if (v->base == BASE_SYMBOL)
		return concrete_base(c, v->id);
	if (v->base != BASE_DERIVED)
		return 0;
	const struct derived_base *d = &vs->derived[v->id];
	uint64_t size = UINT64_C(1) << d->log2;

	return (concrete_base(c, d->parent.id) + d->key + size - 1) & -size;
}

/* The start, in 18 bits, and all other bits where they are known (ISA 9.7.15.5.1). */
static bool has_descriptor(
	const struct values *vs, const struct concrete *c, const struct value *v, uint64_t x)
{
	struct descriptor d;

	value_descriptor(vs, v, &d);
	if (!cover_has(vs, c, &d.start, (x & 0x3fff) << 4, 18))
		return false;
	/* bits that no descriptor has, or a start in no variable: the address was too large, or another one's: no program that
	 * means something */
	uint64_t base = base_of(vs, c, &d.start);

	if (x >> 14 & 3 || (base && (((x & 0x3fff) << 4) - base) % (1 << 18) >= 1 << 14))
		return true;
	return !d.high_known ||
	       (d.lbo == (x >> 16 & 0x3fff) * 16 && d.sbo == (x >> 32 & 0x3fff) * 16 &&
		       d.base_offset == (x >> 49 & 7) && d.swizzle == x >> 61 &&
		       d.absolute == (x >> 52 & 1));
}

bool cover_has(const struct values *vs, const struct concrete *c, const struct value *v, uint64_t x,
	uint32_t bits)
{
	uint64_t mask = bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;

	if (v->base == BASE_UNKNOWN)
		return true;
	if (v->base == BASE_DESCRIPTOR)
		return has_descriptor(vs, c, v, x);
	x -= base_of(vs, c, v);
	if (v->base != BASE_SYMBOL && v->base != BASE_DERIVED && v->base != BASE_NUMBER)
		return true;
	x &= mask;
	if (v->lo <= -VALUE_FAR || v->hi >= VALUE_FAR) {
		/* no bound: modulo 2^64 the other end says nothing either; the residue has to be
		 * right */
		uint64_t step = v->stride & -v->stride;

		return !step || ((x - (uint64_t)v->lo) & (step - 1) & mask) == 0;
	}
	if (bits >= 64)
		return (int64_t)x >= v->lo && (int64_t)x <= v->hi &&
		       (!v->stride || (x - (uint64_t)v->lo) % v->stride == 0);
	/* all numbers congruent to x that lie between the bounds */
	int64_t size = (int64_t)mask + 1;
	int64_t first = v->lo + (int64_t)((x - (uint64_t)v->lo) & mask);

	for (int64_t y = first; y <= v->hi; y += size)
		if (!v->stride ? y == v->lo : (uint64_t)(y - v->lo) % v->stride == 0)
			return true;
	return false;
}
