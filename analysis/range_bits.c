/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that look at bits or at the order of numbers. Shifts right, divisions and
 * comparisons take numbers in their type's range; and, or, xor take any set and use the base's
 * alignment, so that an address stays an address when only its free low bits change.
 */
#include "analysis/range.h"

__extension__ typedef __int128 wide;

/* The bounds that an unbounded set has as register contents: signed when it can be negative. */
static wide real_lo(const struct value *v)
{
	return v->lo < -VALUE_FAR ? -((wide)1 << 63) : v->lo;
}

static wide real_hi(const struct value *v)
{
	if (v->hi <= VALUE_FAR)
		return v->hi;
	return v->lo >= 0 ? ((wide)1 << 64) - 1 : ((wide)1 << 63) - 1;
}

static struct value between(wide lo, wide hi, uint64_t stride, uint32_t assumptions)
{
	struct value v;
	const wide end = (wide)VALUE_FAR * 2;

	if (lo < -end || hi > end)
		stride = 1;
	v = range_span((int64_t)(lo < -end ? -end : lo), (int64_t)(hi > end ? end : hi), stride);
	v.assumptions = assumptions;
	return v;
}

static wide floor_div(wide a, wide b)
{
	wide q = a / b;

	return q * b > a ? q - 1 : q;
}

struct value range_shr(const struct value *v, const struct value *amount)
{
	int64_t k;

	if (range_is_empty(v) || range_is_empty(amount))
		return range_empty();
	uint32_t flags = v->assumptions | amount->assumptions;

	if (range_is_constant(amount, &k) && k >= 0 && k < 64) {
		uint64_t step = UINT64_C(1) << k;
		bool even = v->stride % step == 0 && v->hi <= VALUE_FAR && v->lo >= -VALUE_FAR;

		return between(floor_div(real_lo(v), step), floor_div(real_hi(v), step),
			even ? v->stride >> k : 1, flags);
	}
	if (real_lo(v) >= 0)
		return between(0, real_hi(v), 1, flags);
	return between(real_lo(v), real_hi(v) > 0 ? real_hi(v) : 0, 1, flags);
}

struct value range_div(const struct value *a, const struct value *b)
{
	int64_t d;

	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	uint32_t flags = a->assumptions | b->assumptions;

	if (range_is_constant(b, &d) && d > 0) {
		bool even = a->stride % (uint64_t)d == 0 && a->lo % d == 0 && a->hi <= VALUE_FAR &&
			    a->lo >= -VALUE_FAR;

		return between(
			real_lo(a) / d, real_hi(a) / d, even ? a->stride / (uint64_t)d : 1, flags);
	}
	wide most = real_hi(a) > -real_lo(a) ? real_hi(a) : -real_lo(a);
	bool positive = a->lo >= 0 && b->lo >= 0;

	/* division by zero gives an unspecified value (ISA 9.7.1.8) */
	if (b->lo <= 0 && b->hi >= 0)
		return positive ? between(0, (wide)VALUE_FAR * 2, 1, flags)
				: between(-(wide)VALUE_FAR * 2, (wide)VALUE_FAR * 2, 1, flags);
	if (positive)
		return between(real_lo(a) / real_hi(b), real_hi(a) / b->lo, 1, flags);
	return between(-most, most, 1, flags);
}

struct value range_rem(const struct value *a, const struct value *b)
{
	int64_t d;

	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	uint32_t flags = a->assumptions | b->assumptions;

	if (!range_is_constant(b, &d) || d <= 0) {
		if (b->lo <= 0)
			return between(-(wide)VALUE_FAR * 2, (wide)VALUE_FAR * 2, 1, flags);
		wide most = real_hi(b) - 1;

		if (a->lo >= 0 && real_hi(a) < most)
			most = real_hi(a);
		return between(a->lo < 0 ? -most : 0, most, 1, flags);
	}
	if (a->lo >= 0 && a->hi <= VALUE_FAR && a->lo / d == a->hi / d) {
		struct value out = *a;

		out.lo %= d;
		out.hi %= d;
		out.assumptions = flags;
		return out;
	}
	uint64_t step = range_gcd(a->stride, (uint64_t)d);
	int64_t least = a->lo < 0 ? -(d - 1) : 0;
	int64_t first =
		least +
		(int64_t)(((a->lo % (int64_t)step) - (least % (int64_t)step) + 2 * (int64_t)step) %
			  (int64_t)step);

	return between(first, d - 1, step, flags);
}

struct value range_min(const struct value *a, const struct value *b)
{
	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	struct value all = range_join(a, b, 64);
	int64_t hi = a->hi < b->hi ? a->hi : b->hi;

	return range_clip(&all, all.lo, hi);
}

struct value range_max(const struct value *a, const struct value *b)
{
	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	struct value all = range_join(a, b, 64);
	int64_t lo = a->lo > b->lo ? a->lo : b->lo;

	return range_clip(&all, lo, all.hi);
}

struct value range_mulhi(const struct value *a, const struct value *b, uint32_t bits)
{
	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	uint32_t flags = a->assumptions | b->assumptions;

	if (bits > 32)
		return between(-(wide)VALUE_FAR * 2, (wide)VALUE_FAR * 2, 1, flags);
	wide corner[4] = {
		(wide)a->lo * b->lo, (wide)a->lo * b->hi, (wide)a->hi * b->lo, (wide)a->hi * b->hi};
	wide lo = corner[0], hi = corner[0];

	for (int i = 1; i < 4; i++) {
		lo = corner[i] < lo ? corner[i] : lo;
		hi = corner[i] > hi ? corner[i] : hi;
	}
	return between(floor_div(lo, (wide)1 << bits), floor_div(hi, (wide)1 << bits), 1, flags);
}

/* All bits up to the highest one of v. */
static uint64_t fill_bits(uint64_t v)
{
	return v ? ~UINT64_C(0) >> __builtin_clzll(v) : 0;
}

static bool all_within(const struct value *v, uint64_t bound)
{
	return v->base == BASE_NUMBER && v->lo >= 0 && (uint64_t)v->hi <= bound;
}

/* x with its k low bits cleared: what aligning down does. */
static struct value align_down(const struct value *v, uint32_t k)
{
	struct value out = *v;
	int64_t size = INT64_C(1) << k;

	if (range_trailing_zeros(v) >= k)
		return out;
	bool aligned = v->base == BASE_NUMBER ||
		       ((v->base == BASE_SYMBOL || v->base == BASE_DERIVED) && v->aux >= k);

	if (!aligned) { /* the base's own low bits are unknown */
		out.lo -= size - 1;
		if (out.stride)
			out.stride = 1;
		else
			out.stride = 1;
		return out;
	}
	if (v->hi > VALUE_FAR || v->lo < -VALUE_FAR) {
		out.stride = (uint64_t)size;
		out.lo &= ~(size - 1);
		out.hi &= ~(size - 1);
		return out;
	}
	out.lo = v->lo & ~(size - 1);
	out.hi = v->hi & ~(size - 1);
	out.stride = out.lo == out.hi		       ? 0
		     : v->stride % (uint64_t)size == 0 ? v->stride
						       : (uint64_t)size;
	return out;
}

/* x modulo 2^k. */
static struct value low_bits(const struct value *v, uint32_t k)
{
	return range_unsigned(v, k);
}

/* and with a constant mask, given as its register contents. */
static struct value mask_with(const struct value *v, uint64_t mask, uint32_t bits)
{
	uint64_t all = bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;

	mask &= all;
	if (!mask)
		return range_constant(0);
	uint32_t k = (uint32_t)__builtin_ctzll(mask);
	uint32_t top = 64 - (uint32_t)__builtin_clzll(mask);

	if (mask == (all & ~((UINT64_C(1) << k) - 1))) /* only low bits are cleared */
		return k >= 62 ? range_top(bits) : align_down(v, k);
	/* shared memory addresses have 18 bits: a mask that keeps those leaves an address as it is
	 */
	bool contiguous = mask == (fill_bits(mask) & ~((UINT64_C(1) << k) - 1));

	if (contiguous && top >= 18 && (v->base == BASE_SYMBOL || v->base == BASE_DERIVED) &&
		v->space && !(v->space & ~(SPACE_SHARED | SPACE_CLUSTER)))
		return k ? align_down(v, k) : *v;
	struct value low = low_bits(v, top < 62 ? top : bits);

	if (contiguous && low.lo >= 0 && low.hi <= VALUE_FAR)
		return k ? align_down(&low, k) : low;
	if (low.lo < 0)
		return top < 62 ? range_span(0, (int64_t)mask, UINT64_C(1) << k) : range_top(bits);
	int64_t most = top < 62 && (int64_t)mask < low.hi ? (int64_t)mask : low.hi;
	uint32_t zeros = range_trailing_zeros(&low);
	struct value out = range_span(0, most, UINT64_C(1) << (zeros > k ? zeros : k));

	out.assumptions = v->assumptions;
	return out;
}

struct value range_and(const struct value *a, const struct value *b, uint32_t bits)
{
	int64_t c;
	struct value out;

	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	uint32_t flags = a->assumptions | b->assumptions;

	if (range_is_constant(b, &c)) {
		out = mask_with(a, (uint64_t)c, bits);
	} else if (range_is_constant(a, &c)) {
		out = mask_with(b, (uint64_t)c, bits);
	} else {
		struct value x = range_unsigned(a, bits), y = range_unsigned(b, bits);
		uint32_t za = range_trailing_zeros(&x), zb = range_trailing_zeros(&y);
		uint32_t zeros = za > zb ? za : zb;

		out = range_span(
			0, x.hi < y.hi ? x.hi : y.hi, UINT64_C(1) << (zeros < 62 ? zeros : 62));
	}
	out.assumptions = flags;
	return range_fit(out, bits);
}

/* The two have no set bit in common: all members of `low` are below what `high` is a multiple of.
 */
static bool apart(const struct value *high, const struct value *low)
{
	uint32_t zeros = range_trailing_zeros(high);

	return zeros && zeros < 63 && all_within(low, (UINT64_C(1) << zeros) - 1);
}

/* The bits that some member of a plain number's set may have: those in which all agree, and what is
 * open between. */
static bool bits_of(const struct value *v, uint32_t bits, uint64_t *out)
{
	if (v->base != BASE_NUMBER || v->lo < 0 || v->hi > VALUE_FAR ||
		(bits < 63 && v->hi >> bits))
		return false;
	uint64_t open = fill_bits((uint64_t)v->lo ^ (uint64_t)v->hi), step = v->stride & -v->stride;

	*out = (uint64_t)v->lo | (step ? open & -step : open);
	return true;
}

static bool have_no_bit_in_common(const struct value *a, const struct value *b, uint32_t bits)
{
	uint64_t of_a, of_b;

	return bits_of(a, bits, &of_a) && bits_of(b, bits, &of_b) && !(of_a & of_b);
}

/* Bounds of or / xor of two plain numbers. */
static struct value mix(const struct value *a, const struct value *b, int64_t lo, uint32_t bits)
{
	struct value x = range_unsigned(a, bits), y = range_unsigned(b, bits);
	uint32_t za = range_trailing_zeros(&x), zb = range_trailing_zeros(&y);
	uint32_t zeros = za < zb ? za : zb;
	uint64_t hi = fill_bits((uint64_t)x.hi | (uint64_t)y.hi);
	uint64_t step = UINT64_C(1) << (zeros < 61 ? zeros : 61);

	if (x.hi > VALUE_FAR || y.hi > VALUE_FAR) {
		struct value wide_set = range_span(-VALUE_FAR * 2, VALUE_FAR * 2, step);

		wide_set.assumptions = x.assumptions | y.assumptions;
		return wide_set;
	}
	struct value out = range_span(lo & -(int64_t)step, (int64_t)hi, step);

	out.assumptions = x.assumptions | y.assumptions;
	return out;
}

/* Changing bits below 2^k of base + [lo, hi] stays inside its blocks of 2^k if the base is aligned,
 * and moves it by less than 2^k in any case. */
static struct value stir(const struct value *v, const struct value *low)
{
	struct value out = *v;
	uint32_t k = 64 - (uint32_t)__builtin_clzll((uint64_t)low->hi | 1);
	int64_t size = INT64_C(1) << (low->hi ? k : 0);
	uint32_t za = range_trailing_zeros(v), zb = range_trailing_zeros(low);
	uint32_t zeros = za < zb ? za : zb;

	if (zeros > 61)
		zeros = 61;
	out.assumptions |= low->assumptions;
	if (v->lo < -VALUE_FAR || v->hi > VALUE_FAR) {
		out.stride = UINT64_C(1) << zeros;
		out.lo &= -(int64_t)out.stride;
		out.hi &= -(int64_t)out.stride;
		return out;
	}
	bool aligned = v->base == BASE_NUMBER ||
		       ((v->base == BASE_SYMBOL || v->base == BASE_DERIVED) && v->aux >= k);

	if (aligned) {
		out.lo = v->lo & -size;
		out.hi = (v->hi | (size - 1)) & -(INT64_C(1) << zeros);
	} else {
		out.lo = (v->lo - (size - 1)) & -(INT64_C(1) << zeros);
		out.hi = (v->hi + (size - 1)) & -(INT64_C(1) << zeros);
		out.stride = 1;
	}
	if (v->base == BASE_NUMBER || aligned || zeros)
		out.stride = UINT64_C(1) << zeros;
	if (out.lo == out.hi)
		out.stride = 0;
	return out;
}

static bool is_narrow(const struct value *v)
{
	return v->base == BASE_NUMBER && v->lo >= 0 && v->hi < (INT64_C(1) << 30);
}

struct value range_or(const struct value *a, const struct value *b, uint32_t bits)
{
	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	if (apart(a, b) || apart(b, a) || have_no_bit_in_common(a, b, bits))
		return range_add(a, b, bits);
	if (a->base != BASE_NUMBER && is_narrow(b)) {
		struct value out = stir(a, b);

		if (out.lo < a->lo && a->stride <= 1)
			out.lo = a->lo; /* or never lowers */
		return out;
	}
	if (b->base != BASE_NUMBER && is_narrow(a))
		return range_or(b, a, bits);
	struct value x = range_unsigned(a, bits), y = range_unsigned(b, bits);

	return range_fit(mix(a, b, x.lo > y.lo ? x.lo : y.lo, bits), bits);
}

struct value range_xor(const struct value *a, const struct value *b, uint32_t bits)
{
	int64_t c;

	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	if (range_is_constant(b, &c) && (c == -1 || (bits == 32 && c == INT64_C(0xffffffff)))) {
		struct value minus_one = range_constant(-1); /* not x = -1 - x */

		return range_sub(&minus_one, a, bits);
	}
	if (apart(a, b) || apart(b, a) || have_no_bit_in_common(a, b, bits))
		return range_add(a, b, bits);
	if (is_narrow(b) && (a->base != BASE_NUMBER || a->lo >= 0))
		return range_fit(stir(a, b), bits);
	if (is_narrow(a) && (b->base != BASE_NUMBER || b->lo >= 0))
		return range_fit(stir(b, a), bits);
	return range_fit(mix(a, b, 0, bits), bits);
}
