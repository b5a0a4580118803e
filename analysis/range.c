/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set operations and the ring operations. Invariant of every result: lo <= hi, stride divides
 * hi - lo, and stride is 0 exactly when lo == hi. Bounds beyond VALUE_FAR mean "no bound".
 */
#include "analysis/range.h"

#define FAR_END (VALUE_FAR * 2)

__extension__ typedef __int128 wide;

uint64_t range_gcd(uint64_t a, uint64_t b)
{
	if (a == 1 || b == 1) /* most of the time */
		return 1;
	if (!a)
		return b;
	while (b) {
		uint64_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* The least number >= 0 congruent to v. */
static uint64_t residue(wide v, uint64_t modulus)
{
	if (!(modulus & (modulus - 1))) /* a power of two, most of the time */
		return (uint64_t)v & (modulus - 1);
	wide r = v % (wide)modulus;

	return (uint64_t)(r < 0 ? r + (wide)modulus : r);
}

static uint64_t power_part(uint64_t v)
{
	return v & -v;
}

struct value range_span(int64_t lo, int64_t hi, uint64_t stride)
{
	struct value v = {.base = BASE_NUMBER, .lo = lo, .hi = hi, .stride = stride};

	if (lo >= hi || !stride) {
		v.hi = lo;
		v.stride = 0;
	} else if (stride > 1) {
		v.hi = hi - (int64_t)residue((wide)hi - lo, stride);
		if (v.hi == lo)
			v.stride = 0;
	}
	return v;
}

struct value range_top(uint32_t bits)
{
	return bits >= 64 ? range_span(-FAR_END, FAR_END, 1)
			  : range_span(0, (int64_t)((UINT64_C(1) << bits) - 1), 1);
}

bool range_is_constant(const struct value *v, int64_t *c)
{
	*c = v->lo;
	return v->base == BASE_NUMBER && v->lo == v->hi;
}

bool range_is_top(const struct value *v, uint32_t bits)
{
	if (v->base != BASE_NUMBER || v->stride != 1)
		return false;
	if (bits >= 64)
		return v->lo <= -VALUE_FAR && v->hi >= VALUE_FAR;
	return (uint64_t)v->hi - (uint64_t)v->lo >= (UINT64_C(1) << bits) - 1;
}

bool range_subset(const struct value *a, const struct value *of, uint32_t bits)
{
	if (range_is_empty(a))
		return true;
	if (range_is_empty(of) || (a->assumptions & ~of->assumptions) ||
		(of->space && (a->space & ~of->space)) || (of->space && !a->space) ||
		(a->is_peer && !of->is_peer) || (of->own_cta && !a->own_cta))
		return false;
	if (range_is_top(of, bits))
		return true;
	if (a->base != of->base || a->id != of->id || a->aux != of->aux)
		return false;
	if (a->lo < of->lo || a->hi > of->hi)
		return false;
	return !of->stride ||
	       (a->stride % of->stride == 0 && residue((wide)a->lo - of->lo, of->stride) == 0);
}

uint32_t range_trailing_zeros(const struct value *v)
{
	uint64_t all = (uint64_t)v->lo | v->stride;
	uint32_t n = all ? (uint32_t)__builtin_ctzll(all) : 63;

	switch ((enum base_kind)v->base) {
	case BASE_NUMBER:
		return n;
	case BASE_SYMBOL:
	case BASE_DERIVED:
		return n < v->aux ? n : v->aux;
	case BASE_PARAM:
	case BASE_DESCRIPTOR:
	case BASE_LOADED:
	case BASE_OPAQUE:
	case BASE_UNKNOWN:
	case BASE_EMPTY:
		break;
	}
	return 0;
}

/* All register contents that agree with the set's low bits: what is left when the bounds are lost.
 */
static struct value spread(const struct value *v, int64_t lo, int64_t hi, uint32_t bits)
{
	bool number = v->base == BASE_NUMBER;
	uint64_t step = !number	    ? UINT64_C(1) << range_trailing_zeros(v)
			: v->stride ? power_part(v->stride)
				    : 0;
	int64_t first = number ? v->lo : 0;
	struct value out;

	if (bits < 63 && (!step || step >= UINT64_C(1) << bits)) { /* one number modulo 2^bits */
		out = range_constant(lo + (int64_t)residue((wide)first - lo, UINT64_C(1) << bits));
	} else {
		if (!step)
			step = first ? power_part((uint64_t)first) : 1;
		if (step > VALUE_FAR)
			step = VALUE_FAR;
		out = range_span(lo + (int64_t)residue((wide)first - lo, step), hi, step);
	}
	out.assumptions = v->assumptions;
	return out;
}

/* A number set moved by a multiple of 2^bits into [lo, lo + 2^bits), or spread over it. */
static struct value move_into_window(const struct value *v, int64_t lo, uint32_t bits)
{
	wide size = (wide)1 << bits;

	if (v->base != BASE_NUMBER)
		return spread(v, lo, (int64_t)(lo + size - 1), bits);
	wide first = lo + (wide)residue((wide)v->lo - lo, (uint64_t)size);
	wide shift = first - v->lo;

	if (v->hi + shift >= lo + size)
		return spread(v, lo, (int64_t)(lo + size - 1), bits);
	struct value out = *v;

	out.lo = (int64_t)first;
	out.hi = (int64_t)(v->hi + shift);
	out.space = 0;
	return out;
}

/* bits < 63 */
static inline struct value into_window(const struct value *v, int64_t lo, uint32_t bits)
{
	if (v->base != BASE_NUMBER || v->lo < lo || v->hi > lo + ((INT64_C(1) << bits) - 1))
		return move_into_window(v, lo, bits);
	struct value same = *v;

	same.space = 0;
	return same;
}

struct value range_unsigned(const struct value *v, uint32_t bits)
{
	if (range_is_empty(v))
		return *v;
	if (bits < 63)
		return into_window(v, 0, bits);
	if (v->base == BASE_NUMBER && v->lo >= 0)
		return *v;
	return spread(v, 0, FAR_END, bits);
}

struct value range_signed(const struct value *v, uint32_t bits)
{
	if (range_is_empty(v))
		return *v;
	if (bits < 63)
		return into_window(v, -(INT64_C(1) << (bits - 1)), bits);
	/* without an upper bound it may be read as negative */
	bool one_sided =
		v->hi > VALUE_FAR && v->lo >= -VALUE_FAR && !(v->assumptions & ASSUME_NO_WRAP);

	return v->base == BASE_NUMBER && !one_sided ? *v : spread(v, -FAR_END, FAR_END, bits);
}

/* Bounds as wide as they came; keeps base and flags of `like`. */
static struct value finish(struct value like, wide lo, wide hi, uint64_t stride, uint32_t bits)
{
	bool far = lo < -VALUE_FAR || hi > VALUE_FAR;
	bool trusted = like.assumptions & ASSUME_NO_WRAP;

	if (far && !trusted) {
		/* the register wrapped, perhaps: only the low bits are sure */
		if (like.base != BASE_NUMBER && bits < 64)
			bits = 64;
		stride = stride ? power_part(stride) : 0;
		uint64_t r = stride ? residue(lo, stride) : 0;

		if (!stride) { /* a single far number */
			stride = 1;
			r = 0;
		}
		like.lo = -FAR_END + (int64_t)residue((wide)r + FAR_END, stride);
		like.hi = FAR_END - (int64_t)residue((wide)FAR_END - like.lo, stride);
		like.stride = stride;
		return like;
	}
	if (far) {
		uint64_t step = stride ? stride : 1;

		if (lo < -VALUE_FAR)
			lo = -FAR_END + (wide)residue(lo + FAR_END, step);
		if (lo > VALUE_FAR)
			lo = FAR_END - (wide)residue(FAR_END - lo, step);
		if (hi > VALUE_FAR)
			hi = FAR_END - (wide)residue(FAR_END - lo, step);
		if (hi < lo)
			hi = lo;
		stride = step;
	}
	like.lo = (int64_t)lo;
	like.hi = (int64_t)hi;
	like.stride = lo == hi ? 0 : stride;
	return like;
}

struct value range_spread(const struct value *v, uint32_t bits)
{
	return spread(v, 0, (int64_t)((UINT64_C(1) << bits) - 1), bits);
}

/* Flags that two joined or combined sets have together. */
static void merge_flags(struct value *out, const struct value *a, const struct value *b)
{
	out->assumptions = a->assumptions | b->assumptions;
	out->is_peer = a->is_peer || b->is_peer;
	out->own_cta = a->own_cta && b->own_cta;
}

struct value range_join(const struct value *a, const struct value *b, uint32_t bits)
{
	if (range_is_empty(a))
		return *b;
	if (range_is_empty(b))
		return *a;
	struct value out = *a;
	uint8_t space = a->space && b->space ? a->space | b->space : 0;

	if (a->base != b->base || a->id != b->id || a->aux != b->aux) {
		uint32_t za = range_trailing_zeros(a), zb = range_trailing_zeros(b);
		struct value low = range_constant(0);

		low.stride = UINT64_C(1) << (za < zb ? za : zb);
		out = bits < 63 ? spread(&low, 0, (int64_t)((UINT64_C(1) << bits) - 1), bits)
				: spread(&low, -FAR_END, FAR_END, bits);
	} else {
		wide lo = a->lo < b->lo ? a->lo : b->lo, hi = a->hi > b->hi ? a->hi : b->hi;
		uint64_t apart =
			(uint64_t)(a->lo > b->lo ? (wide)a->lo - b->lo : (wide)b->lo - a->lo);
		uint64_t stride = range_gcd(range_gcd(a->stride, b->stride), apart);

		out.lo = (int64_t)lo;
		out.hi = (int64_t)hi;
		out.stride = stride;
		if (stride)
			out.hi = (int64_t)(hi - (wide)residue(hi - lo, stride));
	}
	merge_flags(&out, a, b);
	out.space = space;
	return range_fit(out, bits);
}

struct value range_clip(const struct value *v, int64_t lo, int64_t hi)
{
	struct value out = *v;
	uint64_t step = v->stride ? v->stride : 1;

	if (range_is_empty(v))
		return out;
	if (lo > v->lo) {
		wide first = (wide)lo + (wide)residue((wide)v->lo - lo, step);

		if (first > v->hi)
			return range_empty();
		out.lo = (int64_t)first;
	}
	if (hi < v->hi) {
		wide last = (wide)hi - (wide)residue((wide)hi - out.lo, step);

		if (hi < out.lo || last < out.lo)
			return range_empty();
		out.hi = (int64_t)last;
	}
	if (out.lo == out.hi)
		out.stride = 0;
	return out;
}

struct value range_without(const struct value *v, int64_t c)
{
	if (v->base != BASE_NUMBER || (v->lo != c && v->hi != c))
		return *v;
	if (v->lo == v->hi)
		return range_empty();
	struct value out = *v;

	if (v->lo == c)
		out.lo += (int64_t)v->stride;
	else
		out.hi -= (int64_t)v->stride;
	if (out.lo == out.hi)
		out.stride = 0;
	return out;
}

struct value range_meet(const struct value *a, const struct value *b, uint32_t bits)
{
	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	if (range_is_top(b, bits))
		return *a;
	if (range_is_top(a, bits) || a->base != b->base || a->id != b->id || a->aux != b->aux)
		return *b;
	int64_t lo = a->lo < b->lo ? a->lo : b->lo, hi = a->hi > b->hi ? a->hi : b->hi;
	bool a_far = a->lo < -VALUE_FAR || a->hi > VALUE_FAR;
	bool b_far = b->lo < -VALUE_FAR || b->hi > VALUE_FAR;

	/* one register content may stand in both as different numbers: then no bounds can be mixed
	 */
	if (a_far || b_far)
		return a_far ? *b : *a;
	if (bits < 63 && (uint64_t)hi - (uint64_t)lo >= UINT64_C(1) << bits) {
		wide na = ((wide)a->hi - a->lo) / (wide)(a->stride ? a->stride : 1);
		wide nb = ((wide)b->hi - b->lo) / (wide)(b->stride ? b->stride : 1);

		return na < nb ? *a : *b;
	}
	/* the coarser stride's residue class holds for both; clip it */
	const struct value *keep = !a->stride || (a->stride > b->stride && b->stride) ? a : b;
	const struct value *other = keep == a ? b : a;
	struct value out = range_clip(keep, other->lo, other->hi);

	if (range_is_empty(&out))
		return *b;
	out.assumptions = a->assumptions | b->assumptions;
	return out;
}

static int weight(const struct value *v)
{
	switch ((enum base_kind)v->base) {
	case BASE_DERIVED:
		return 5;
	case BASE_SYMBOL:
		return 4;
	case BASE_DESCRIPTOR:
		return 3;
	case BASE_OPAQUE:
		return 1;
	case BASE_PARAM:
		return v->space ? 3 : 2;
	case BASE_NUMBER:
	case BASE_LOADED:
	case BASE_UNKNOWN:
	case BASE_EMPTY:
		break;
	}
	return 0;
}

static struct value as_number(const struct value *v, uint32_t bits)
{
	if (v->base == BASE_NUMBER)
		return *v;
	return bits < 63 ? range_unsigned(v, bits) : range_signed(v, bits);
}

/* The space of a sum: that of the one operand which has one. */
static uint8_t sum_space(const struct value *a, const struct value *b)
{
	if (a->space && b->space)
		return a->space == b->space ? a->space : 0;
	return a->space | b->space;
}

struct value range_add(const struct value *a, const struct value *b, uint32_t bits)
{
	struct value number;

	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	if (weight(a) < weight(b)) {
		const struct value *swap = a;

		a = b;
		b = swap;
	}
	if (b->base != BASE_NUMBER) {
		if (weight(a) == weight(b)) {
			struct value none = range_constant(0);
			uint32_t za = range_trailing_zeros(a), zb = range_trailing_zeros(b);

			none.stride = UINT64_C(1) << (za < zb ? za : zb);
			none = spread(&none, bits < 63 ? 0 : -FAR_END,
				bits < 63 ? (int64_t)((UINT64_C(1) << bits) - 1) : FAR_END, bits);
			none.assumptions = a->assumptions | b->assumptions;
			none.space = sum_space(a, b);
			return none;
		}
		number = as_number(b, bits);
		b = &number;
	}
	struct value like = *a;

	like.assumptions |= b->assumptions;
	like.space = sum_space(a, b);
	like.is_peer = a->is_peer || b->is_peer;
	uint64_t stride = range_gcd(a->stride, b->stride);

	if (__builtin_add_overflow(a->lo, b->lo, &like.lo) || like.lo < -VALUE_FAR ||
		__builtin_add_overflow(a->hi, b->hi, &like.hi) || like.hi > VALUE_FAR)
		like = finish(like, (wide)a->lo + b->lo, (wide)a->hi + b->hi, stride, bits);
	else
		like.stride = like.lo == like.hi ? 0 : stride;
	return range_fit(like, bits);
}

static struct value negate(const struct value *v, uint32_t bits)
{
	struct value out = as_number(v, bits);
	int64_t lo = out.lo;

	out.lo = -out.hi;
	out.hi = -lo;
	out.space = 0;
	return out;
}

struct value range_sub(const struct value *a, const struct value *b, uint32_t bits)
{
	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	if (a->base != BASE_NUMBER && a->base == b->base && a->id == b->id && a->aux == b->aux &&
		a->base != BASE_DESCRIPTOR) {
		struct value like = range_constant(0);

		like.assumptions = a->assumptions | b->assumptions;
		like.is_peer = a->is_peer != b->is_peer; /* it leads from one CTA to the other */
		return range_fit(finish(like, (wide)a->lo - b->hi, (wide)a->hi - b->lo,
					 range_gcd(a->stride, b->stride), bits),
			bits);
	}
	struct value minus = negate(b, bits);
	/* how far one variable is from another says nothing of where either is */
	struct value from = range_is_address(a) && range_is_address(b) ? as_number(a, bits) : *a;
	struct value out = range_add(&from, &minus, bits);

	out.is_peer |= range_is_address(b) && a->is_peer != b->is_peer;
	return out;
}

/* That the other one is what it is may rest on an assumption. */
static struct value also_assuming(struct value v, const struct value *other)
{
	v.assumptions |= other->assumptions;
	return v;
}

struct value range_mul(const struct value *a, const struct value *b, uint32_t bits)
{
	int64_t c;

	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	if (range_is_constant(b, &c) && c == 1)
		return also_assuming(*a, b);
	if (range_is_constant(a, &c) && c == 1)
		return also_assuming(*b, a);
	struct value x = as_number(a, bits), y = as_number(b, bits);
	wide corner[4] = {
		(wide)x.lo * y.lo, (wide)x.lo * y.hi, (wide)x.hi * y.lo, (wide)x.hi * y.hi};
	wide lo = corner[0], hi = corner[0];

	for (int i = 1; i < 4; i++) {
		lo = corner[i] < lo ? corner[i] : lo;
		hi = corner[i] > hi ? corner[i] : hi;
	}
	/* (x + i*s) * (y + j*t) = x*y + multiples of s*y, t*x, s*t; steps that do not fit are
	 * dropped to their common power of two */
	uint64_t stride;
	wide sy = (wide)x.stride * (y.lo < 0 ? -(wide)y.lo : y.lo);
	wide tx = (wide)y.stride * (x.lo < 0 ? -(wide)x.lo : x.lo);
	wide st = (wide)x.stride * y.stride;
	const wide limit = (wide)1 << 62;

	if (sy < limit && tx < limit && st < limit) {
		stride = range_gcd(range_gcd((uint64_t)sy, (uint64_t)tx), (uint64_t)st);
	} else {
		uint32_t zeros = range_trailing_zeros(&x) + range_trailing_zeros(&y);

		stride = UINT64_C(1) << (zeros < 60 ? zeros : 60);
		lo -= (wide)residue(lo, stride);
	}
	if (stride && hi > lo)
		hi = lo + (hi - lo) / (wide)stride * (wide)stride;
	if (hi > lo && !stride)
		stride = 1;
	struct value like = range_constant(0);

	like.assumptions = a->assumptions | b->assumptions;
	return range_fit(finish(like, lo, hi, stride, bits), bits);
}

struct value range_shl(const struct value *v, const struct value *amount, uint32_t bits)
{
	int64_t k;

	if (range_is_empty(v) || range_is_empty(amount))
		return range_empty();
	if (range_is_constant(amount, &k)) {
		if (k == 0)
			return also_assuming(*v, amount);
		if (k < 0 || k >= (int64_t)bits)
			return k < 0 ? range_top(bits) : also_assuming(range_constant(0), amount);
		if (k == 63)
			return range_top(bits);
		struct value factor = also_assuming(range_constant(INT64_C(1) << k), amount);

		return range_mul(v, &factor, bits);
	}
	if (amount->base == BASE_NUMBER && amount->lo >= 0 && amount->hi < 32 &&
		amount->hi < (int64_t)bits) {
		/* 2^k for each k of the range: multiples of the least one */
		struct value factor = range_span(INT64_C(1) << amount->lo, INT64_C(1) << amount->hi,
			UINT64_C(1) << amount->lo);

		factor.assumptions = amount->assumptions;
		return range_mul(v, &factor, bits);
	}
	return range_top(bits);
}
