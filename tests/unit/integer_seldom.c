/* SPDX-License-Identifier: Apache-2.0 */
#include "integer_seldom.h"

#include <inttypes.h>

#define PREDICATES 6

static const char *any_sign(struct writer *w)
{
	return pick(w, 2) ? "u" : "s";
}

/* With a second result, with another predicate, or both (ISA 9.7.6.1). */
static void comparison(struct writer *w, const struct seldom *s, uint32_t p)
{
	static const char *const tests[] = {"eq", "ne", "lt", "le", "gt", "ge"};
	static const char *const with[] = {"", ".and", ".or", ".xor"};
	uint32_t q = pick(w, PREDICATES), way = pick(w, 4);

	bool long_one = !pick(w, 5);

	q = q == p ? (p + 1) % PREDICATES : q;
	put(w, "setp.%s%s.%s%u %%p%u|%%p%u, ", tests[pick(w, 6)], with[way], any_sign(w), long_one ? 64u : 32u, p, q);
	if (long_one)
		put(w, "%%rd%u, %%rd%u", s->wide, s->wide2);
	else if (pick(w, 2))
		put(w, "%%r%u, %%r%u", s->x, s->y);
	else
		put(w, "%%r%u, %" PRId64, s->x, s->constant);
	if (way)
		put(w, ", %s%%p%u", pick(w, 2) ? "!" : "", pick(w, PREDICATES));
	put(w, ";\n");
}

static void predicate(struct writer *w, uint32_t p)
{
	static const char *const ops[] = {"and", "or", "xor"};
	uint32_t a = pick(w, PREDICATES);

	switch (pick(w, 4)) {
	case 0:
		put(w, "mov.pred %%p%u, %d;\n", p, (int)pick(w, 3) - 1);
		break;
	case 1:
		put(w, "not.pred %%p%u, %%p%u;\n", p, a);
		break;
	case 2:
		put(w, "mov.pred %%p%u, %%p%u;\n", p, a);
		break;
	default:
		put(w, "%s.pred %%p%u, %%p%u, %%p%u;\n", ops[pick(w, 3)], p, a, pick(w, PREDICATES));
	}
}

/* Halves and numbers of 16 bits, and what they become in a wider register. */
static void halves(struct writer *w, const struct seldom *s)
{
	static const char *const two[] = {"add.s16", "sub.s16", "mul.lo.u16", "and.b16", "or.b16", "xor.b16",
		"min.s16", "max.u16", "shl.b16", "shr.u16", "shr.s16"};
	uint32_t op = pick(w, 11);

	put(w, "mov.b32 {%%h0, %%h1}, %%r%u;\n", s->x);
	if (op >= 8)
		put(w, "%s %%h2, %%h0, %u;\n", two[op], pick(w, 18));
	else if (pick(w, 2))
		put(w, "%s %%h2, %%h%u, %d;\n", two[op], pick(w, 2), (int)(s->constant & 1023) - 100);
	else
		put(w, "%s %%h2, %%h0, %%h1;\n", two[op]);
	if (pick(w, 3))
		put(w, "cvt.%s32.%s16 %%r%u, %%h2;\n", any_sign(w), any_sign(w), s->d);
	else
		put(w, "mov.b32 %%r%u, {%%h%u, %%h2};\n", s->d, pick(w, 2));
}

static void wide(struct writer *w, const struct seldom *s)
{
	static const char *const two[] = {"mul.lo.s64", "min.s64", "max.s64", "min.u64", "max.u64", "xor.b64",
		"sub.s64", "add.u64"};
	static const char *const cut[] = {"u8", "s8", "u16", "s16", "u32", "s32"};

	switch (pick(w, 8)) {
	case 0:
		put(w, "shl.b64 %%rd%u, %%rd%u, %u;\n", s->wide, s->wide2, pick(w, 66));
		break;
	case 1:
		put(w, "shr.%s64 %%rd%u, %%rd%u, %u;\n", any_sign(w), s->wide, s->wide2, pick(w, 66));
		break;
	case 2:
		put(w, "selp.b64 %%rd%u, %%rd%u, %" PRId64 ", %%p%u;\n", s->wide, s->wide2, s->constant,
			pick(w, PREDICATES));
		break;
	case 3:
		put(w, "mad.wide.%s32 %%rd%u, %%r%u, %u, %%rd%u;\n", any_sign(w), s->wide, s->x, pick(w, 200),
			s->wide2);
		break;
	case 4:
		put(w, "%s.%s64 %%rd%u, %%rd%u;\n", pick(w, 2) ? "neg" : "abs", "s", s->wide, s->wide2);
		break;
	case 5:
		put(w, "cvt.%s64.%s %%rd%u, %%rd%u;\n", any_sign(w), cut[pick(w, 6)], s->wide, s->wide2);
		break;
	default:
		put(w, "%s %%rd%u, %%rd%u, %%rd%u;\n", two[pick(w, 8)], s->wide, s->wide2, pick(w, 6));
	}
}

static void narrow(struct writer *w, const struct seldom *s)
{
	static const char *const to[] = {"u8", "s8", "u16", "s16", "u32", "s32"};

	switch (pick(w, 4)) {
	case 0:
		put(w, "%s.sat.s32 %%r%u, %%r%u, %%r%u;\n", pick(w, 2) ? "add" : "sub", s->d, s->x, s->y);
		break;
	case 1: /* saturates to what fits */
		put(w, "cvt.sat.%s.%s32 %%r%u, %%r%u;\n", to[pick(w, 4)], any_sign(w), s->d, s->x);
		break;
	case 2:
		put(w, "cvt.%s.%s32 %%r%u, %%r%u;\n", to[pick(w, 6)], any_sign(w), s->d, s->x);
		break;
	default:
		put(w, "cvt.%s.%s64 %%r%u, %%rd%u;\n", to[pick(w, 6)], any_sign(w), s->d, s->wide);
	}
}

/* Whether any bit is set, put together with a predicate, beside the number. */
static void logic(struct writer *w, const struct seldom *s, uint32_t p)
{
	put(w, "lop3.%s.b32 %%r%u|%%p%u, %%r%u, %%r%u, %" PRId64 ", %u, %%p%u;\n", pick(w, 2) ? "or" : "and", s->d, p, s->x,
		s->y, s->constant, pick(w, 256), pick(w, PREDICATES));
}

static void bits(struct writer *w, const struct seldom *s)
{
	static const char *const one[] = {"popc.b32", "clz.b32", "brev.b32", "not.b32", "cnot.b32", "bfind.u32", "bfind.s32"};

	if (pick(w, 2))
		put(w, "%s %%r%u, %%r%u;\n", one[pick(w, 7)], s->d, s->x);
	else if (pick(w, 2))
		put(w, "shf.%s.%s.b32 %%r%u, %%r%u, %%r%u, %u;\n", pick(w, 2) ? "l" : "r", pick(w, 2) ? "wrap" : "clamp",
			s->d, s->x, s->y, pick(w, 40));
	else
		logic(w, s, pick(w, PREDICATES));
}

static void three(struct writer *w, const struct seldom *s)
{
	switch (pick(w, 6)) {
	case 0:
		put(w, "sad.%s32 %%r%u, %%r%u, %%r%u, %u;\n", any_sign(w), s->d, s->x, s->y, pick(w, 40));
		break;
	case 1:
		put(w, "slct.b32.s32 %%r%u, %%r%u, %" PRId64 ", %%r%u;\n", s->d, s->x, s->constant, s->y);
		break;
	case 2:
		put(w, "set.%s.%s32.%s32 %%r%u, %%r%u, %%r%u;\n", pick(w, 2) ? "lt" : "ne", any_sign(w), any_sign(w), s->d,
			s->x, s->y);
		break;
	case 3:
		put(w, "mul24.lo.%s32 %%r%u, %%r%u, %u;\n", any_sign(w), s->d, s->x, pick(w, 300));
		break;
	case 4:
		put(w, "mad24.lo.%s32 %%r%u, %%r%u, %u, %%r%u;\n", any_sign(w), s->d, s->x, pick(w, 300), s->y);
		break;
	default:
		put(w, "mad.hi.%s32 %%r%u, %%r%u, %" PRId64 ", %%r%u;\n", any_sign(w), s->d, s->x, s->constant, s->y);
	}
}

void seldom_write(struct writer *w, const struct seldom *s)
{
	switch (pick(w, 8)) {
	case 0:
	case 1:
		comparison(w, s, pick(w, PREDICATES));
		break;
	case 2:
		predicate(w, pick(w, PREDICATES));
		break;
	case 3:
		halves(w, s);
		break;
	case 4:
		wide(w, s);
		break;
	case 5:
		narrow(w, s);
		break;
	case 6:
		bits(w, s);
		break;
	default:
		three(w, s);
	}
}

void seldom_write_predicate(struct writer *w, const struct seldom *s, uint32_t p)
{
	switch (pick(w, 4)) {
	case 0:
		logic(w, s, p);
		break;
	case 1:
		predicate(w, p);
		break;
	default:
		comparison(w, s, p);
	}
}
