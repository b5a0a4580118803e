/* SPDX-License-Identifier: Apache-2.0 */
#include "cover.h"

/* The start, in 18 bits, and all other bits where they are known (ISA 9.7.15.5.1). */
static bool has_descriptor(
	const struct values *vs, const struct concrete *c, const struct value *v, uint64_t x)
{
	struct descriptor d;

	value_descriptor(vs, v, &d);
	if (!cover_has(vs, c, &d.start, (x & 0x3fff) << 4, 18))
		return false;
	/* a start that is not in its variable may be too large for its bits: no program that means something */
	if (d.start.base == BASE_SYMBOL && (((x & 0x3fff) << 4) - concrete_base(c, d.start.id)) % (1 << 18) >= 1 << 16)
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
	if (v->base == BASE_SYMBOL) {
		x -= concrete_base(c, v->id);
	} else if (v->base == BASE_DERIVED) {
		const struct derived_base *d = &vs->derived[v->id];
		uint64_t size = UINT64_C(1) << d->log2;

		x -= (concrete_base(c, d->parent.id) + d->key + size - 1) & -size;
	} else if (v->base != BASE_NUMBER) {
		return true;
	}
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
