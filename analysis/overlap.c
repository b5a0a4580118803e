/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: two accesses. Out: whether they may touch the same bytes, by any threads in any iterations,
 * and why. Invariant: `may` is false only if no pair of concrete addresses of the two sets meets,
 * or if the named assumptions say so; whatever is unknown may touch.
 */
#include "analysis/linear.h"
#include "analysis/swizzled.h"
#include "analysis/value_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WINDOW (SPACE_SHARED | SPACE_CLUSTER)

static uint8_t common_spaces(uint8_t g, uint8_t a)
{
	uint8_t spaces = g & a & SPACE_GLOBAL;

	if ((g & WINDOW) && (a & WINDOW))
		spaces |= g & WINDOW;
	return spaces;
}

static const char *phrase(struct arena *arena, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static const char *phrase(struct arena *arena, const char *fmt, ...)
{
	char text[300];
	va_list args;

	if (!arena)
		return fmt;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return strcpy(arena_alloc(arena, strlen(text) + 1), text);
}

struct bytes { /* starts lo, lo + stride, ..., hi; `size` bytes each */
	int64_t lo, hi;
	uint64_t stride, size;
	bool bounded;
	uint32_t assumptions;
};

/* Offsets inside the variable: an access never leaves it (spec 2.6), whatever its address's range.
 */
static struct bytes inside(const struct value *v, uint64_t size, uint64_t variable)
{
	struct bytes b = {v->lo, v->hi, v->stride, size, true, v->assumptions};
	int64_t end = variable && variable < INT32_MAX ? (int64_t)variable : INT32_MAX;
	const int64_t wrap = INT64_C(1) << 31;
	bool trusted = v->assumptions & ASSUME_NO_WRAP;

	/* offsets are register contents modulo 2^32: beyond half of that they may mean others */
	if (!trusted && (b.lo < -wrap || b.hi > 2 * wrap - 1)) {
		uint64_t step = b.stride ? b.stride & -b.stride : 1;

		b.lo = step ? (int64_t)((uint64_t)b.lo % step) : 0;
		b.hi = end;
		b.stride = step;
		b.bounded = false;
	}
	if (b.lo < 0) {
		int64_t step = b.stride ? (int64_t)b.stride : 1;

		b.lo = b.stride ? (b.lo % step + step) % step : 0;
	}
	if (b.hi > end - 1)
		b.hi = end - 1;
	if (b.hi < b.lo)
		b.hi = b.lo;
	if (b.size > (uint64_t)end)
		b.size = (uint64_t)end;
	return b;
}

static uint64_t modulo(int64_t v, uint64_t m)
{
	int64_t r = (int64_t)((v < 0 ? -(uint64_t)v : (uint64_t)v) % m);

	return v < 0 && r ? m - (uint64_t)r : (uint64_t)r;
}

/* Never the same byte? Gives the reason. */
static bool apart(
	const struct bytes *x, const struct bytes *y, struct arena *arena, const char **why)
{
	int64_t xend = x->hi + (int64_t)x->size, yend = y->hi + (int64_t)y->size;
	uint64_t g = range_gcd(x->stride, y->stride);

	if (xend <= y->lo || yend <= x->lo) {
		*why = phrase(arena,
			"offsets [%" PRId64 ",%" PRId64 ") and [%" PRId64 ",%" PRId64 ")", x->lo,
			xend, y->lo, yend);
		return true;
	}
	if (g > 1) {
		uint64_t d = modulo(y->lo - x->lo, g);

		if (d >= x->size && g - d >= y->size) {
			*why = phrase(arena,
				"never the same offset modulo %" PRIu64 ": %" PRIu64
				" bytes at %" PRIu64 ", %" PRIu64 " bytes at %" PRIu64,
				g, x->size, modulo(x->lo, g), y->size, modulo(y->lo, g));
			return true;
		}
	}
	*why = phrase(arena, "offsets [%" PRId64 ",%" PRId64 ") and [%" PRId64 ",%" PRId64 ") meet",
		x->lo, xend, y->lo, yend);
	return false;
}

/* A derived base as an offset range of the variable that it lies in. */
static struct value in_variable(const struct values *vs, const struct value *v)
{
	struct value out = *v;

	if (v->base != BASE_DERIVED)
		return out;
	const struct value *parent = &vs->derived[v->id].parent;
	struct value number = *v;

	number.base = BASE_NUMBER;
	number.space = 0;
	out = range_add(parent, &number, 64);
	out.is_peer = v->is_peer;
	return out;
}

static bool in_shared_variable(const struct value *v)
{
	return v->base == BASE_SYMBOL || v->base == BASE_DERIVED;
}

static uint64_t variable_size(const struct values *vs, uint32_t symbol)
{
	const struct symbol *s = function_symbol(vs->fn, symbol);

	return s->unsized || s->is_extern ? 0 : s->size;
}

/* Offsets from `lo` on as they are, where they may be other ones only by going round: what is added to an
 * address is not known, and would have to be a negative number. */
static struct bytes forward(const struct value *v, struct bytes b)
{
	if (!b.bounded && v->lo <= b.hi)
		b.lo = v->lo;
	return b;
}

static bool apart_going_forward(const struct value *p, const struct bytes *x, const struct value *q,
	const struct bytes *y)
{
	struct bytes xf = forward(p, *x), yf = forward(q, *y);
	const char *why;

	return (!x->bounded || !y->bounded) && apart(&xf, &yf, NULL, &why);
}

static enum confidence how_sure(const struct access *g, const struct access *a,
	const struct bytes *x, const struct bytes *y)
{
	if (!x->bounded || !y->bounded)
		return CONFIDENCE_LIKELY;
	bool y_fixed = y->lo == y->hi && a->exact, x_fixed = x->lo == x->hi && g->exact;
	int64_t xend = x->hi + (int64_t)x->size, yend = y->hi + (int64_t)y->size;

	if (y_fixed && g->bytes != UINT64_MAX && x->lo >= y->lo && xend <= yend)
		return CONFIDENCE_PROVEN;
	if (x_fixed && a->bytes != UINT64_MAX && a->exact && y->lo >= x->lo && yend <= xend)
		return CONFIDENCE_PROVEN;
	return x_fixed && y_fixed ? CONFIDENCE_PROVEN : CONFIDENCE_LIKELY;
}

/* A tensor copy stops below the mbarrier object that lies above it; is the other access there? */
static bool ends_below(const struct access *copy, const struct value *address,
	const struct bytes *x, const struct bytes *other, struct arena *arena, const char **why)
{
	if (!copy->has_ceiling || address->base != copy->address.base ||
		address->id != copy->address.id || other->lo < copy->ceiling || x->lo < 0)
		return false;
	*why = phrase(arena,
		"a tensor copy from [%" PRId64 ",%" PRId64 "] stops below the mbarrier at %" PRId64,
		x->lo, x->hi, copy->ceiling);
	return true;
}

/* Offsets from an aligned address as `inside` has them: below it there may be more of its variable. */
static struct bytes around_aligned(const struct value *v, struct bytes b)
{
	const int64_t wrap = INT64_C(1) << 31;

	if (v->assumptions & ASSUME_NO_WRAP || (v->lo >= -wrap && v->hi < wrap)) {
		if (v->lo < 0)
			b = (struct bytes){v->lo, v->hi, v->stride, b.size, true, v->assumptions};
	} else if (v->lo >= wrap && v->hi < 2 * wrap) { /* below zero, as unsigned numbers have it */
		b = (struct bytes){v->lo - 2 * wrap, v->hi - 2 * wrap, v->stride, b.size, true, v->assumptions};
	} else {
		uint64_t step = v->stride ? v->stride & -v->stride : 1;

		b.stride = step < (uint64_t)wrap ? step : (uint64_t)wrap;
		b.lo = -wrap + (int64_t)((uint64_t)v->lo & (b.stride - 1));
		b.bounded = false;
	}
	return b;
}

/* Where an access lies in its variable, counted from its base if both accesses have it (`same`),
 * else from the variable's start; `v` is its address, counted likewise. */
static struct bytes bytes_in_variable(const struct values *vs, const struct access *x, bool same,
	uint64_t variable, struct value *v)
{
	*v = same ? x->address : in_variable(vs, &x->address);
	if (same && v->base == BASE_DERIVED)
		variable = 0; /* offsets count from the aligned address */
	struct bytes b = inside(v, x->bytes, variable);

	return v->base == BASE_DERIVED ? around_aligned(v, b) : b;
}

static struct overlap in_one_variable(const struct values *vs, const struct access *g,
	const struct access *a, uint64_t variable, struct arena *arena)
{
	bool same = g->address.base == a->address.base && g->address.id == a->address.id;
	struct value p, q;
	struct bytes x = bytes_in_variable(vs, g, same, variable, &p);
	struct bytes y = bytes_in_variable(vs, a, same, variable, &q);
	struct overlap o = {.may = true, .confidence = CONFIDENCE_POSSIBLE};

	o.may = !apart(&x, &y, arena, &o.reason);
	if (o.may && ends_below(g, &p, &x, &y, arena, &o.reason)) {
		o.may = false;
		o.assumptions |= ASSUME_MAP_GAP;
	} else if (o.may && ends_below(a, &q, &y, &x, arena, &o.reason)) {
		o.may = false;
		o.assumptions |= ASSUME_MAP_GAP;
	}
	if (o.may && swizzled_apart(vs, g, a, &o.assumptions)) {
		o.may = false;
		o.reason = "other chunks of swizzled rows";
	}
	if (o.may && linear_apart(vs, g, &q, y.size, &o.assumptions)) {
		o.may = false;
		o.reason = "other places of the stages";
	}
	if (!o.may)
		o.assumptions |= x.assumptions | y.assumptions | g->extent_assumptions |
				 a->extent_assumptions;
	else if (!apart_going_forward(&p, &x, &q, &y) && !linear_behind(vs, g, &q, y.size))
		o.confidence = how_sure(g, a, &x, &y);
	return o;
}

static struct overlap in_shared(const struct values *vs, const struct access *g,
	const struct access *a, struct arena *arena)
{
	const struct value *p = &g->address, *q = &a->address;

	if (in_shared_variable(p) && in_shared_variable(q)) {
		if (g->object != a->object)
			return (struct overlap){.reason = "distinct variables"};
		return in_one_variable(vs, g, a, variable_size(vs, g->object), arena);
	}
	if (p->base == BASE_NUMBER && q->base == BASE_NUMBER && p->lo >= 0 && q->lo >= 0 &&
		p->hi < INT32_MAX && q->hi < INT32_MAX)
		return in_one_variable(vs, g, a, 0, arena);
	return (struct overlap){.may = true,
		.confidence = CONFIDENCE_POSSIBLE,
		.reason = "an address is not known"};
}

/* Two pointers whose every possible origin differs. */
static bool different_origins(const struct access *g, const struct access *a)
{
	uint64_t x = g->roots & ~ROOT_LOADED, y = a->roots & ~ROOT_LOADED;

	return x && y && !((x | y) & (ROOT_UNKNOWN | ROOT_SHARED | ROOT_LOCAL)) && !(x & y);
}

/* Some parameter is in both: what was added to the one that is a base need not be a mere number. */
static bool common_origin(const struct access *g, const struct access *a)
{
	return (g->roots & a->roots & ROOT_PARAMS) != 0;
}

static struct overlap in_global(const struct values *vs, const struct access *g,
	const struct access *a, const struct analysis_options *options, struct arena *arena)
{
	const struct value *p = &g->address, *q = &a->address;
	bool distinct = options->assume & ASSUME_DISTINCT_PARAMS;
	bool named = (p->base == BASE_PARAM || p->base == BASE_SYMBOL) &&
		     (q->base == BASE_PARAM || q->base == BASE_SYMBOL) && !g->hidden && !a->hidden;
	struct overlap maybe = {.may = true,
		.confidence = CONFIDENCE_POSSIBLE,
		.reason = "a global address is not known"};

	if (g->constant && (options->assume & ASSUME_RACE_FREE))
		return (struct overlap){.assumptions = ASSUME_RACE_FREE,
			.reason = "ld.global.nc reads what is not written while the kernel runs"};
	if (g->hidden != a->hidden) {
		maybe.reason = "one address is inside a tensor map";
		if (!distinct || g->call || a->call)
			return maybe;
		return (struct overlap){.assumptions = ASSUME_DISTINCT_PARAMS,
			.reason = "one goes through a pointer, the other through a tensor map"};
	}
	if (named && p->base == q->base && p->id == q->id && p->aux == q->aux) {
		struct bytes x = {p->lo, p->hi, p->stride, g->bytes, true, p->assumptions};
		struct bytes y = {q->lo, q->hi, q->stride, a->bytes, true, q->assumptions};
		const int64_t far = VALUE_FAR;

		maybe.confidence = CONFIDENCE_LIKELY;
		maybe.reason = "both go through the same pointer";
		if (x.lo < -far || x.hi > far || y.lo < -far || y.hi > far ||
			x.size > INT64_MAX / 4 || y.size > INT64_MAX / 4)
			return maybe;
		struct overlap o = {.may = true};

		o.may = !apart(&x, &y, arena, &o.reason);
		if (o.may)
			o.confidence = how_sure(g, a, &x, &y);
		else
			o.assumptions = x.assumptions | y.assumptions | g->extent_assumptions |
					a->extent_assumptions;
		return o;
	}
	if (named && p->base == BASE_SYMBOL && q->base == BASE_SYMBOL)
		return (struct overlap){.reason = "distinct variables"};
	if (!distinct || g->call || a->call)
		return maybe;
	if ((named && !common_origin(g, a)) || different_origins(g, a))
		return (struct overlap){.assumptions = ASSUME_DISTINCT_PARAMS,
			.reason = "reached through different parameters"};
	if (!((g->roots | a->roots) & ROOT_UNKNOWN)) {
		maybe.confidence = CONFIDENCE_LIKELY;
		maybe.reason = "both may go through the same pointer";
	}
	(void)vs;
	return maybe;
}

struct access_span access_span(const struct values *vs, const struct access *a, bool same)
{
	struct value v = a->address;
	struct bytes b = {v.lo, v.hi, v.stride, a->bytes, true, v.assumptions};

	if (in_shared_variable(&v) && !(a->spaces & SPACE_GLOBAL))
		b = bytes_in_variable(vs, a, same, variable_size(vs, a->object), &v);
	return (struct access_span){
		b.lo, b.hi + (int64_t)b.size, b.assumptions | a->extent_assumptions};
}

struct overlap access_overlap(const struct values *vs, const struct accesses *accesses, uint32_t gi,
	uint32_t ai, const struct analysis_options *options, struct arena *arena)
{
	const struct access *g = &accesses->v[gi], *a = &accesses->v[ai];
	uint8_t spaces = common_spaces(g->spaces, a->spaces);
	uint8_t left = common_spaces(g->assumed_spaces ? g->assumed_spaces : g->spaces,
		a->assumed_spaces ? a->assumed_spaces : a->spaces);
	struct overlap o = {.reason = "different state spaces"};

	if (!spaces)
		return o;
	if (!left) {
		o.assumptions = g->assumed_by | a->assumed_by;
		o.reason = o.assumptions & ASSUME_LOADED_GLOBAL
				   ? "a pointer that comes from memory is global"
				   : "a pointer that comes from a kernel parameter is global";
		return o;
	}
	if (left & WINDOW) {
		o = in_shared(vs, g, a, arena);
		o.spaces = o.may ? left & WINDOW : 0;
	}
	if (left & SPACE_GLOBAL) {
		struct overlap global = in_global(vs, g, a, options, arena);

		global.spaces = global.may ? SPACE_GLOBAL : 0;
		global.assumptions |= o.assumptions;
		if (!o.may && (global.may || !(left & WINDOW))) {
			o = global;
		} else if (global.may) {
			o.spaces |= SPACE_GLOBAL;
			o.confidence =
				o.confidence > global.confidence ? o.confidence : global.confidence;
		}
		o.assumptions = global.assumptions;
	}
	if (left != spaces)
		o.assumptions |= g->assumed_by | a->assumed_by;
	return o;
}

struct access access_mbarrier(
	const struct values *vs, uint32_t insn, const struct operand *o)
{
	struct access a = {
		.insn = insn, .bytes = 8, .exact = true, .object = NONE, .spaces = WINDOW};

	a.address = value_of(vs, insn, o);
	if (a.address.base == BASE_SYMBOL)
		a.object = a.address.id;
	if (a.address.base == BASE_DERIVED)
		a.object = vs->derived[a.address.id].parent.id;
	return a;
}

bool access_same_object(const struct values *vs, const struct access *a, const struct access *b,
	uint32_t *assumptions)
{
	/* the 64-bit objects are aligned to their size (ISA 9.7.13.15), so two that overlap are one
	 */
	struct overlap o = in_shared(vs, a, b, NULL);

	if (!o.may)
		*assumptions |= o.assumptions;
	return o.may;
}

bool access_same_mbarrier(const struct values *vs, uint32_t insn_a, const struct operand *operand_a,
	uint32_t insn_b, const struct operand *operand_b, const struct analysis_options *options,
	uint32_t *assumptions)
{
	struct access a = access_mbarrier(vs, insn_a, operand_a);
	struct access b = access_mbarrier(vs, insn_b, operand_b);

	(void)options;
	return access_same_object(vs, &a, &b, assumptions);
}
