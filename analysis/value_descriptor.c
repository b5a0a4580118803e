/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix descriptors of wgmma and tcgen05 (ISA 9.7.15.5.1, 9.7.16.4.1): bits 0-13 hold a shared
 * address divided by 16. A DESCRIPTOR value keeps the start address as base + [lo, hi] in bytes
 * and, where they are known, the other 50 bits. Shared addresses have 18 bits, so the field never
 * overflows for a start inside its variable.
 */
#include "analysis/value_private.h"

#define START_MASK UINT64_C(0x3fff)

/* The id of a kind; equal kinds have one id. */
static uint32_t kind_id(struct values *vs, struct descriptor_kind kind)
{
	for (uint32_t i = vs->ndescriptors; i-- > 0;) {
		const struct descriptor_kind *k = &vs->descriptors[i];

		if (k->base == kind.base && k->id == kind.id && k->aux == kind.aux &&
			k->space == kind.space && k->high_known == kind.high_known &&
			k->high == kind.high)
			return i;
	}
	ARENA_PUSH(vs->arena, vs->descriptors, vs->ndescriptors, vs->descriptors_cap, kind);
	return vs->ndescriptors - 1;
}

static struct value with_kind(struct values *vs, const struct value *v, struct descriptor_kind kind)
{
	struct value out = *v;

	/* a text with very many different descriptors: the rest keep their start only */
	if (vs->ndescriptors > 2000)
		kind.high_known = false;
	if (!kind.high_known)
		kind.high = 0;
	out.base = BASE_DESCRIPTOR;
	out.space = 0;
	out.id = kind_id(vs, kind);
	out.aux = 0;
	return out;
}

struct value descriptor_from_address(struct values *vs, const struct value *v)
{
	struct descriptor_kind kind = {v->base, v->space, true, v->id, v->aux, 0};
	struct value start = *v;

	/* the field has no bits for an address inside 16 bytes */
	if ((v->lo % 16 || v->stride % 16) && v->lo > -VALUE_FAR && v->hi < VALUE_FAR) {
		start.lo &= -16;
		start.hi &= -16;
		start.stride = start.lo == start.hi ? 0 : 16;
	}
	return with_kind(vs, &start, kind);
}

static struct descriptor_kind kind_of(const struct values *vs, const struct value *v)
{
	return vs->descriptors[v->id];
}

static bool small(const struct value *n)
{
	return n->base == BASE_NUMBER && n->lo > -(INT64_C(1) << 14) && n->hi < (INT64_C(1) << 14);
}

static struct value move_start(const struct value *v, const struct value *n)
{
	struct value bytes = *n, out = *v;

	bytes.lo *= 16;
	bytes.hi *= 16;
	bytes.stride *= 16;
	out.base = BASE_SYMBOL; /* any base: adds a plain number */
	out.aux = 0;
	out = range_add(&out, &bytes, 64);
	out.base = BASE_DESCRIPTOR;
	out.aux = v->aux;
	out.id = v->id;
	return out;
}

static struct value forget_high(struct values *vs, const struct value *v)
{
	struct descriptor_kind kind = kind_of(vs, v);

	kind.high_known = false;
	return with_kind(vs, v, kind);
}

/* Ors a constant: its low 14 bits move the start, the others change the rest. */
static struct value or_constant(struct values *vs, const struct value *v, uint64_t c)
{
	struct descriptor_kind kind = kind_of(vs, v);
	struct value low = range_constant((int64_t)(c & START_MASK));
	struct value out = low.lo ? move_start(v, &low) : *v;

	kind.high |= c & ~START_MASK;
	return with_kind(vs, &out, kind);
}

/* Shared addresses have 18 bits: a start below its base or further up may have borrowed from the
 * bits above its field, or carried into them. */
static bool start_inside(const struct value *v)
{
	return v->lo >= 0 && v->hi < INT64_C(1) << 18;
}

/* Adds a constant. Its low bits may carry out of the field into the others: 65535 is one step of
 * the others forward and one of the start back. Of the two readings at most one leaves the start
 * within the 18 bits of shared addresses; false if that is not known of either. */
static bool add_constant(struct values *vs, const struct value *v, uint64_t c, struct value *out)
{
	uint64_t start = c & START_MASK;
	struct descriptor_kind kind = kind_of(vs, v);

	for (int64_t low = (int64_t)start; low >= (int64_t)start - 0x4000; low -= 0x4000) {
		struct value number = range_constant(low);

		*out = start ? move_start(v, &number) : *v;
		if (start && !start_inside(out))
			continue;
		kind.high += c - (uint64_t)low;
		*out = with_kind(vs, out, kind);
		return true;
	}
	return false;
}

struct value descriptor_add(struct values *vs, const struct value *v, const struct value *n)
{
	int64_t c;
	struct value moved;

	if (range_is_constant(n, &c) && (c <= -(INT64_C(1) << 14) || c >= (INT64_C(1) << 14)) &&
		add_constant(vs, v, (uint64_t)c, &moved))
		return moved;
	if (small(n)) {
		moved = move_start(v, n);
		return start_inside(&moved) ? moved : forget_high(vs, &moved);
	}
	struct value number = range_signed(n, 64), out;

	/* the sum of unknown amount: anywhere in the variable */
	out = *v;
	out.lo = -VALUE_FAR * 2;
	out.hi = VALUE_FAR * 2;
	out.stride = number.stride % 2 == 0 && v->stride % 2 == 0 && v->lo % 2 == 0 ? 2 : 1;
	out.lo += ((v->lo % (int64_t)out.stride) + (int64_t)out.stride) % (int64_t)out.stride;
	out.assumptions |= n->assumptions;
	return forget_high(vs, &out);
}

struct value descriptor_or(struct values *vs, const struct value *v, const struct value *n)
{
	int64_t c;

	if (range_is_constant(n, &c)) {
		uint64_t moved = (uint64_t)c & START_MASK;
		struct value low = range_constant(0), out = *v;

		out.base = kind_of(vs, v).base;
		out.aux = kind_of(vs, v).aux;
		out.id = kind_of(vs, v).id;
		uint32_t bits = moved ? 4 + 64 - (uint32_t)__builtin_clzll(moved) : 0;

		if (bits <= range_trailing_zeros(&out)) { /* zeros in every start: or adds */
			bool assumed = value_alignment_assumed(vs, &out, bits);

			out = or_constant(vs, v, (uint64_t)c);
			out.assumptions |= assumed ? ASSUME_ALIGNED_TMA : 0;
			return out;
		}

		/* or changes the start by at most the constant's own bits */
		low.hi = (int64_t)moved;
		low.stride = 1;
		out = move_start(v, &low);
		return or_constant(vs, &out, (uint64_t)c & ~START_MASK);
	}
	uint32_t zeros = range_trailing_zeros(n);

	if (n->base == BASE_NUMBER && zeros >= 14)
		return forget_high(vs, v);
	return range_top(64);
}

/* An address of which bits 4 to 17 are cut to `kept` (bits 0 to 13), which has all from bit m on. */
static struct value start_cut(struct values *vs, const struct value *start, uint64_t kept, uint32_t m)
{
	const int64_t unit = INT64_C(16) << m;
	int64_t rest = (start->lo % unit + unit) % unit;
	struct value v = *start;

	v.lo -= rest;
	v.hi -= rest;
	if (range_trailing_zeros(&v) < 4 + m) { /* who knows which bits go */
		v = *start;
		v.lo -= unit - 1;
		v.stride = 1;
		return v;
	}
	if (value_alignment_assumed(vs, &v, 4 + m))
		v.assumptions |= ASSUME_ALIGNED_TMA;
	/* all starts have the same rest: compilers leave out of a mask what is 0 in it */
	rest = (rest >> 4 & (int64_t)kept) << 4;
	v.lo += rest;
	v.hi += rest;
	return v;
}

struct value descriptor_and(struct values *vs, const struct value *v, uint64_t mask)
{
	struct descriptor_kind kind = kind_of(vs, v);
	uint64_t low = mask & START_MASK;
	struct value moved = *v;
	uint32_t m = 14;

	while (m && low >> (m - 1) & 1)
		m--;
	if (m > 10)
		return range_top(64);
	if (m) {
		moved.base = kind.base;
		moved.aux = kind.aux;
		moved.id = kind.id;
		moved = start_cut(vs, &moved, low, m);
		v = &moved;
	}
	kind.high &= mask;
	if ((mask & ~START_MASK) == 0)
		kind.high_known = true;
	return with_kind(vs, v, kind);
}

/* The upper 32 bits of a descriptor whose base offset (ISA 9.7.15.5.1) is all that is not known: with that put to
 * some offset, which nothing reads but whether it is 0. */
static bool all_but_base_offset(const struct value *high, int64_t *c)
{
	const uint32_t lowest = 49 - 32, above = lowest + 3;

	if (high->base != BASE_NUMBER || high->lo < 0 || high->hi > UINT32_MAX ||
		high->stride % (UINT64_C(1) << lowest) || high->lo >> above != high->hi >> above)
		return false;
	*c = high->lo | INT64_C(7) << lowest;
	return true;
}

/* {low, high} of `half` bits each; the start is in the low half. */
struct value descriptor_pack(
	struct values *vs, const struct value *low, const struct value *high, uint32_t half)
{
	uint64_t mask = (UINT64_C(1) << half) - 1;
	struct descriptor_kind kind = kind_of(vs, low);
	int64_t c;

	if (range_is_constant(high, &c) || (half == 32 && all_but_base_offset(high, &c)))
		kind.high = (kind.high & mask) | ((uint64_t)c & mask) << half;
	else
		kind.high_known = false;
	struct value out = with_kind(vs, low, kind);

	out.assumptions |= high->assumptions;
	return out;
}

struct value descriptor_half(struct values *vs, const struct value *v, bool high)
{
	struct descriptor_kind kind = kind_of(vs, v);

	if (!high) {
		kind.high &= UINT32_MAX;
		return with_kind(vs, v, kind);
	}
	return kind.high_known ? range_constant((int64_t)(kind.high >> 32)) : range_top(32);
}

struct value descriptor_join(struct values *vs, const struct value *a, const struct value *b)
{
	struct descriptor_kind x = kind_of(vs, a), y = kind_of(vs, b);

	if (x.base != y.base || x.id != y.id || x.aux != y.aux || x.space != y.space)
		return range_top(64);
	struct value p = forget_high(vs, a), q = forget_high(vs, b);

	return range_join(&p, &q, 64);
}

bool value_descriptor(const struct values *vs, const struct value *v, struct descriptor *out)
{
	if (v->base != BASE_DESCRIPTOR)
		return false;
	struct descriptor_kind kind = kind_of(vs, v);

	*out = (struct descriptor){.start = *v, .high_known = kind.high_known};
	out->start.base = kind.base;
	out->start.id = kind.id;
	out->start.aux = kind.aux;
	out->start.space = kind.space;
	if (kind.high_known) {
		out->lbo = (uint32_t)(kind.high >> 16 & 0x3fff) * 16;
		out->sbo = (uint32_t)(kind.high >> 32 & 0x3fff) * 16;
		out->base_offset = kind.high >> 49 & 7;
		out->swizzle = (uint32_t)(kind.high >> 61 & 7);
		out->absolute = kind.high >> 52 & 1;
	}
	return true;
}
