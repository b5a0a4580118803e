/* SPDX-License-Identifier: Apache-2.0 */
#include "integers.h"

#include "integer_forms.h"
#include "integer_seldom.h"

#include <inttypes.h>
#include <stdio.h>

#define REGS 12
#define WIDE 6

int64_t integers_constant(struct writer *w)
{
	static const int64_t special[] = {0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 31, 32, 63, 64, 96,
		100, 127, 128, 255, 256, 1000, 1024, 4095, 4096, 24576, 65535, 65536, 2147483647,
		-1, -2, -16, -128, -4096, -2147483647};

	if (pick(w, 4))
		return special[pick(w, sizeof(special) / sizeof(*special))];
	return (int64_t)pick(w, 2000) - 300;
}

/* A source: a register mostly, or a constant. */
static const char *source(struct writer *w, char *text)
{
	if (pick(w, 3))
		sprintf(text, "%%r%u", pick(w, REGS));
	else
		sprintf(text, "%" PRId64, integers_constant(w));
	return text;
}

static void compare(struct writer *w, uint32_t p)
{
	static const char *const ops[] = {"eq", "ne", "lt", "le", "gt", "ge"};
	char b[32];

	put(w, "setp.%s.%s32 %%p%u, %%r%u, %s;\n", ops[pick(w, 6)], pick(w, 2) ? "s" : "u", p,
		pick(w, REGS), source(w, b));
	if (!pick(w, 5))
		put(w, "%s.pred %%p%u, %%p%u, %%p%u;\n", pick(w, 2) ? "and" : "or", p, p,
			pick(w, 6));
	if (!pick(w, 8))
		put(w, "not.pred %%p%u, %%p%u;\n", p, p);
}

static void guard(struct writer *w)
{
	if (!pick(w, 6))
		put(w, "@%s%%p%u ", pick(w, 2) ? "!" : "", pick(w, 6));
}

static void seldom(struct writer *w)
{
	struct seldom s = {pick(w, REGS), pick(w, REGS), pick(w, REGS), pick(w, WIDE), pick(w, WIDE), integers_constant(w)};

	seldom_write(w, &s);
}

static void seldom_predicate(struct writer *w, uint32_t p)
{
	struct seldom s = {pick(w, REGS), pick(w, REGS), pick(w, REGS), pick(w, WIDE), pick(w, WIDE), integers_constant(w)};

	seldom_write_predicate(w, &s, p);
}

static void arithmetic(struct writer *w)
{
	static const char *const two[] = {"add.s32", "add.u32", "sub.s32", "mul.lo.s32", "and.b32",
		"or.b32", "xor.b32", "min.s32", "max.s32", "min.u32", "max.u32", "mul.hi.u32",
		"mul.hi.s32", "add.s32", "and.b32", "add.s32"};
	char b[32], c[32];
	uint32_t d = pick(w, REGS), a = pick(w, REGS);
	static const char *const narrow[] = {"u16", "s16", "u8", "s8"};
	static const char *const tables[] = {
		"192", "252", "60", "128", "254", "150", "248", "234", "106", "120"};
	static const char *const orders[] = {"12816", "30292", "16912", "17472", "17425", "21520"};

	guard(w);
	switch (pick(w, 22)) {
	case 0:
		put(w, "shl.b32 %%r%u, %%r%u, %u;\n", d, a, pick(w, 34));
		break;
	case 1:
		put(w, "shr.%s32 %%r%u, %%r%u, %u;\n", pick(w, 2) ? "u" : "s", d, a, pick(w, 34));
		break;
	case 2:
		put(w, "mad.lo.s32 %%r%u, %%r%u, %s, %s;\n", d, a, source(w, b), source(w, c));
		break;
	case 3:
		put(w, "%s.%s32 %%r%u, %%r%u, %u;\n", pick(w, 2) ? "rem" : "div",
			pick(w, 2) ? "u" : "s", d, a, 1 + pick(w, 100));
		break;
	case 4:
		put(w, "bfe.%s32 %%r%u, %%r%u, %u, %u;\n", pick(w, 2) ? "u" : "s", d, a,
			pick(w, 20), 1 + pick(w, 12));
		break;
	case 5:
		put(w, "bfi.b32 %%r%u, %%r%u, %%r%u, %u, %u;\n", d, a, pick(w, REGS), pick(w, 20),
			1 + pick(w, 12));
		break;
	case 6:
		put(w, "selp.b32 %%r%u, %s, %s, %%p%u;\n", d, source(w, b), source(w, c),
			pick(w, 6));
		break;
	case 7:
		put(w, "mov.u32 %%r%u, %s;\n", d, source(w, b));
		break;
	case 8:
		put(w, "cvt.%s64.%s32 %%rd%u, %%r%u;\n", pick(w, 2) ? "u" : "s",
			pick(w, 2) ? "u" : "s", pick(w, WIDE), a);
		break;
	case 9:
		put(w, "cvt.u32.u64 %%r%u, %%rd%u;\n", d, pick(w, WIDE));
		break;
	case 10:
		put(w, "%s.s64 %%rd%u, %%rd%u, %%rd%u;\n", pick(w, 2) ? "add" : "sub",
			pick(w, WIDE), pick(w, WIDE), pick(w, WIDE));
		break;
	case 11:
		put(w, "mul.wide.%s32 %%rd%u, %%r%u, %s;\n", pick(w, 2) ? "u" : "s", pick(w, WIDE),
			a, source(w, b));
		break;
	case 12:
		put(w, "%s.b64 %%rd%u, %%rd%u, %" PRId64 ";\n", pick(w, 2) ? "and" : "or",
			pick(w, WIDE), pick(w, WIDE), integers_constant(w));
		break;
	case 13:
		put(w, "%s.s64 %%rd%u, %%rd%u, %u;\n", pick(w, 2) ? "shr" : "shr", pick(w, WIDE),
			pick(w, WIDE), pick(w, 40));
		break;
	case 14:
		put(w, "%s.%s32 %%r%u, %%r%u;\n", pick(w, 2) ? "neg" : "abs", "s", d, a);
		break;
	case 15: { /* a wrapping stage index */
		uint32_t k = 1 + pick(w, 6), t = pick(w, REGS);

		put(w, "add.s32 %%r%u, %%r%u, 1;\nsetp.eq.s32 %%p5, %%r%u, %u;\n", t, t, t, k);
		put(w, "selp.b32 %%r%u, 0, %%r%u, %%p5;\n", t, t);
		break;
	}
	case 16:
		put(w, "cvt.%s32.%s %%r%u, %%r%u;\n", pick(w, 2) ? "u" : "s", narrow[pick(w, 4)], d,
			a);
		break;
	case 17:
		put(w, "lop3.b32 %%r%u, %%r%u, %s, %s, %s;\n", d, a, source(w, b), source(w, c),
			tables[pick(w, 10)]);
		break;
	case 18:
		put(w, "prmt.b32 %%r%u, %%r%u, %s, %s;\n", d, a, source(w, b), orders[pick(w, 6)]);
		break;
	default:
		put(w, "%s %%r%u, %%r%u, %s;\n", two[pick(w, 16)], d, a, source(w, b));
	}
}

/* x mod d as compilers write it, now and then with a constant that is off by one. */
static void remainder_of(struct writer *w)
{
	static const struct {
		uint32_t divisor, shift;
		int64_t factor;
		bool is_signed;
	} forms[] = {{13, 2, 1321528399, false}, {3, 1, 2863311531, false},
		{7, 2, 1227133513, false}, {3, 0, 1431655766, true}, {5, 1, 1717986919, true},
		{6, 0, 715827883, true}};
	uint32_t which = pick(w, 8), d = pick(w, REGS), x = pick(w, REGS), k = 1 + pick(w, 8);

	if (which == 7) { /* by 7 and by 35, with factors of 33 bits */
		bool seven = pick(w, 2);

		put(w, "mul.hi.u32 %%r40, %%r%u, %" PRId64 ";\n", x,
			(seven ? 613566757 : -736280107) +
				(pick(w, 8) ? 0 : 1 - (int64_t)pick(w, 3)));
		put(w, "sub.s32 %%r41, %%r%u, %%r40;\nshr.u32 %%r41, %%r41, 1;\n", x);
		put(w, "add.s32 %%r41, %%r41, %%r40;\nshr.u32 %%r42, %%r41, %u;\n", seven ? 2 : 5);
		put(w, "mul.lo.s32 %%r43, %%r42, %u;\nsub.s32 %%r%u, %%r%u, %%r43;\n",
			seven ? 7 : 35, d, x);
		return;
	}
	if (which == 6) {
		put(w,
			"shr.s32 %%r40, %%r%u, 31;\nshr.u32 %%r41, %%r40, %u;\nadd.s32 %%r42, "
			"%%r%u, %%r41;\n",
			x, 32 - k, x);
		put(w, "and.b32 %%r43, %%r42, %d;\nsub.s32 %%r%u, %%r%u, %%r43;\n", -(1 << k), d,
			x);
		return;
	}
	int64_t factor = forms[which].factor + (pick(w, 8) ? 0 : 1 - (int64_t)pick(w, 3));
	uint32_t divisor = forms[which].divisor + (pick(w, 10) ? 0 : 1), shift = forms[which].shift;

	if (!forms[which].is_signed && pick(w, 2)) {
		put(w, "mul.wide.u32 %%rd9, %%r%u, %" PRId64 ";\nshr.u64 %%rd9, %%rd9, %u;\n", x,
			factor, shift + 32);
		put(w, "cvt.u32.u64 %%r42, %%rd9;\n");
	} else if (!forms[which].is_signed) {
		put(w, "mul.hi.u32 %%r41, %%r%u, %" PRId64 ";\nshr.u32 %%r42, %%r41, %u;\n", x,
			factor, shift);
	} else {
		put(w, "mul.hi.s32 %%r40, %%r%u, %" PRId64 ";\nshr.u32 %%r41, %%r40, 31;\n", x,
			factor);
		put(w, "shr.s32 %%r40, %%r40, %u;\nadd.s32 %%r42, %%r40, %%r41;\n", shift);
	}
	if (pick(w, 2))
		put(w, "mul.lo.s32 %%r43, %%r42, %u;\nsub.s32 %%r%u, %%r%u, %%r43;\n", divisor, d,
			x);
	else
		put(w, "mad.lo.s32 %%r%u, %%r42, -%u, %%r%u;\n", d, divisor, x);
}

/* An address rounded up to more than its variable promises. */
static void aligned(struct writer *w)
{
	uint32_t d = pick(w, REGS), k = 6 + pick(w, 6), size = 1u << k;

	put(w, "mov.u32 %%r44, other;\nadd.s32 %%r44, %%r44, %u;\n",
		pick(w, 3) * 16 * pick(w, 100));
	if (pick(w, 2)) {
		put(w, "add.s32 %%r44, %%r44, %u;\nand.b32 %%r%u, %%r44, -%u;\n", size - 1, d,
			size);
		return;
	}
	put(w, "and.b32 %%r45, %%r44, %u;\nsub.s32 %%r46, %u, %%r45;\n", size - 1,
		size + (pick(w, 10) ? 0 : 16));
	put(w, "add.s32 %%r46, %%r46, %%r44;\nsetp.eq.s32 %%p7, %%r45, 0;\n");
	put(w, "selp.b32 %%r%u, %%r44, %%r46, %%p7;\n", d);
}

static void store(struct writer *w)
{
	uint32_t a = pick(w, REGS);

	/* an address mostly inside the variable, from anything */
	put(w, "and.b32 %%r20, %%r%u, %u;\n", a, 16 * pick(w, 100) + 15);
	if (pick(w, 2))
		put(w, "shl.b32 %%r20, %%r20, %u;\n", pick(w, 4));
	if (!pick(w, 3))
		put(w, "add.s32 %%r20, %%r20, %u;\n", pick(w, 600));
	if (!pick(w, 4))
		put(w, "xor.b32 %%r20, %%r20, %u;\n", 16 * pick(w, 8));
	put(w, "mov.u32 %%r21, tile;\nadd.s32 %%r21, %%r21, %%r20;\n");
	guard(w);
	put(w, "st.shared.u%u [%%r21+%u], %%r0;\n", pick(w, 2) ? 32u : 8u, 4 * pick(w, 8));
}

/* A matrix descriptor and what is done to it: steps, high parts, halves. */
static void descriptor(struct writer *w)
{
	uint32_t d = pick(w, WIDE);

	put(w, "and.b32 %%r20, %%r%u, %u;\nmov.u32 %%r21, tile;\nadd.s32 %%r21, %%r21, %%r20;\n",
		pick(w, REGS), 16 * pick(w, 128));
	switch (pick(w, 4)) {
	case 0:
		put(w, "bfe.u32 %%r22, %%r21, 4, 14;\n");
		break;
	case 1:
		put(w, "shr.u32 %%r22, %%r21, 4;\n");
		break;
	default:
		put(w, "shr.u32 %%r22, %%r21, 4;\nand.b32 %%r22, %%r22, %u;\n",
			pick(w, 3) ? 0x3fff : 0x3ffe << pick(w, 4) & 0x3fff);
	}
	if (pick(w, 2))
		put(w, "mov.b64 %%rd%u, {%%r22, %u};\n", d, pick(w, 2) << 30 | pick(w, 1000));
	else
		put(w, "cvt.u64.u32 %%rd%u, %%r22;\n", d);
	for (uint32_t n = pick(w, 4); n; n--)
		switch (pick(w, 6)) {
		case 0:
			put(w, "or.b64 %%rd%u, %%rd%u, %" PRIu64 ";\n", d, d,
				(uint64_t)pick(w, 4) << 61 | (uint64_t)pick(w, 900) << 32 |
					(uint64_t)pick(w, 900) << 16);
			break;
		case 1:
			put(w, "add.s64 %%rd%u, %%rd%u, %d;\n", d, d, (int)pick(w, 900) - 60);
			break;
		case 2:
			put(w, "add.s64 %%rd%u, %%rd%u, %" PRIu64 ";\n", d, d,
				UINT64_C(4611686293305294848) + pick(w, 64));
			break;
		case 3:
			put(w, "or.b64 %%rd%u, %%rd%u, %u;\n", d, d, 2 * pick(w, 8));
			break;
		case 4: /* by its halves */
			put(w, "mov.b64 {%%r22, %%r23}, %%rd%u;\nadd.s32 %%r22, %%r22, %u;\n", d,
				pick(w, 64));
			put(w, "mov.b64 %%rd%u, {%%r22, %%r23};\n", d);
			break;
		default:
			put(w, "and.b32 %%r23, %%r%u, 3;\ncvt.u64.u32 %%rd12, %%r23;\n",
				pick(w, REGS));
			put(w, "shl.b64 %%rd12, %%rd12, %u;\nadd.s64 %%rd%u, %%rd%u, %%rd12;\n",
				pick(w, 7), d, d);
		}
	put(w, "mov.b64 %%rd13, %%rd%u;\n", d);
	if (pick(w, 3)) /* no number for the rest of the program */
		put(w, "mov.b64 %%rd%u, %" PRId64 ";\n", d, integers_constant(w));
}

/* Stores and loads of local memory, at constant and computed places, and of pointers to it. */
static void local_memory(struct writer *w)
{
	uint32_t at = 4 * pick(w, 15), wide = 8 * pick(w, 8);

	guard(w);
	switch (pick(w, 12)) {
	case 0:
	case 1:
		put(w, "st.u32 [%%rd10+%u], %%r%u;\n", at, pick(w, REGS));
		break;
	case 2:
	case 3:
		put(w, "st.local.u64 [depot+%u], %%rd%u;\n", wide, pick(w, WIDE));
		break;
	case 4:
		put(w, "ld.u32 %%r%u, [%%rd10+%u];\n", pick(w, REGS), at);
		break;
	case 5:
	case 6:
		put(w, "ld.u64 %%rd%u, [%%rd10+%u];\n", pick(w, WIDE), wide);
		break;
	case 7:
		put(w, "and.b32 %%r20, %%r%u, %u;\ncvt.u64.u32 %%rd14, %%r20;\n", pick(w, REGS),
			4u << pick(w, 4));
		put(w, "add.s64 %%rd14, %%rd10, %%rd14;\nst.u32 [%%rd14+%u], %%r%u;\n",
			4 * pick(w, 6), pick(w, REGS));
		break;
	case 8:
		put(w, "st.u64 [%%rd10+%u], %%rd10;\n", wide);
		break;
	case 9: /* through a pointer that was kept */
		put(w, "st.u64 [%%rd10+%u], %%rd10;\nld.u64 %%rd11, [%%rd10+%u];\n", wide, wide);
		put(w, "st.u64 [%%rd11+%u], %%rd%u;\n", 8 * pick(w, 6), pick(w, WIDE));
		break;
	case 10:
		if (!pick(w, 3))
			put(w, "ld.u64 %%rd11, [%%rd10+%u];\nst.u32 [%%rd11+%u], %%r%u;\n", wide,
				at, pick(w, REGS));
		else if (!pick(w, 3))
			put(w, "st.v2.u32 [%%rd10+%u], {%%r%u, %%r%u};\n", wide, pick(w, REGS),
				pick(w, REGS));
		else
			put(w, "ld.s8 %%r%u, [%%rd10+%u];\n", pick(w, REGS), at);
		break;
	default:
		put(w, "st.%s [%%rd10+%u], %" PRId64 ";\n", pick(w, 4) ? "u64" : "u16", wide,
			integers_constant(w));
	}
}

static void block(struct writer *w, uint32_t depth);

static void loop(struct writer *w, uint32_t depth)
{
	uint32_t label = w->labels++, counter = 24 + w->counters++ % 10;
	uint32_t r = pick(w, REGS);
	static const char *const ends[] = {"lt.s32", "ne.s32", "lt.u32", "le.s32"};
	uint32_t step = pick(w, 3) ? 1 : 2, rounds = 2 + pick(w, 5), from = pick(w, 3) * 2;
	const char *end = ends[pick(w, 4)];

	put(w, "mov.u32 %%r%u, %u;\nL%u:\n", counter, from, label);
	if (pick(w, 2))
		put(w, "mov.u32 %%r%u, %%r%u;\n", r, counter);
	block(w, depth + 1);
	put(w, "add.s32 %%r%u, %%r%u, %u;\nsetp.%s %%p6, %%r%u, %u;\n@%%p6 bra L%u;\n", counter,
		counter, step, end, counter, from + rounds * step, label);
}

struct rounds_loop {
	uint32_t label, counter, beside, form;
};

/* Counts one round, and goes around again or leaves. */
static void close_round(struct writer *w, const struct rounds_loop *l)
{
	static const char *const test[] = {"ne.s32", "ne.s32", "lt.s32", "ne.u32", "ge.s32"};
	static const char *const end[] = {"0", "0", "%r47", "2", "1"};

	put(w, "add.s32 %%r%u, %%r%u, %d;\n", l->counter, l->counter,
		l->form == 1 || l->form == 4 ? -1 : 1);
	put(w, "setp.%s %%p9, %%r%u, %s;\n", test[l->form], l->counter, end[l->form]);
	if (!pick(w, 5))
		put(w, "setp.%s.s32 %%p8, %%r%u, %" PRId64 ";\nand.pred %%p9, %%p9, %%p8;\n",
			pick(w, 2) ? "lt" : "ne", l->beside, integers_constant(w));
	put(w, "@%%p9 bra N%u;\nbra X%u;\n", l->label, l->label);
}

static void step_beside(struct writer *w, uint32_t s, int64_t step)
{
	switch (pick(w, 4)) {
	case 0:
		put(w, "sub.s32 %%r%u, %%r%u, %" PRId64 ";\n", s, s, -step);
		break;
	case 1:
		put(w, "mov.b32 %%r48, %" PRId64 ";\nadd.s32 %%r%u, %%r48, %%r%u;\n", step, s, s);
		break;
	case 2:
		put(w, "add.s32 %%r48, %%r%u, %" PRId64 ";\nadd.s32 %%r%u, %%r48, 4;\n", s,
			step - 4, s);
		break;
	default:
		put(w, "add.s32 %%r%u, %%r%u, %" PRId64 ";\n", s, s, step);
	}
}

/* Rounds that one register counts, with another that steps beside it; now and then the other
 * decides too, or does not step alike on every way around. */
static void remainder_loop(struct writer *w, uint32_t depth)
{
	struct rounds_loop l = {
		w->labels++, 24 + w->counters++ % 10, 34 + w->counters % 6, pick(w, 5)};
	static const int from[] = {0, 0, 0, -2, 5};
	uint32_t other = pick(w, 6);
	int64_t step = integers_constant(w);
	char start[32];

	put(w, "and.b32 %%r47, %%r%u, %u;\n", pick(w, REGS), 1 + pick(w, 7));
	put(w, "setp.eq.s32 %%p8, %%r47, 0;\n@%%p8 bra X%u;\n", l.label);
	put(w, "mov.b32 %%r%u, %s;\n", l.beside, pick(w, 3) ? "tile" : source(w, start));
	if (l.form < 2)
		put(w, "%s.s32 %%r%u, %%r47;\n", l.form ? "mov" : "neg", l.counter);
	else
		put(w, "mov.b32 %%r%u, %d;\n", l.counter, from[l.form]);
	put(w, "N%u:\n", l.label);
	if (depth < 3)
		block(w, depth + 1);
	put(w, "mov.b32 %%r%u, %%r%u;\n", pick(w, REGS), l.beside);
	if (other < 2) { /* around by a way of its own, or to the common end without a step */
		put(w, "setp.lt.s32 %%p8, %%r%u, 9;\n@%%p8 bra S%u;\n", pick(w, REGS), l.label);
		step_beside(w, l.beside, step);
		if (other)
			close_round(w, &l);
		put(w, "S%u:\n", l.label);
		step = other ? step + pick(w, 2) * 16 : step;
	}
	if (other)
		step_beside(w, l.beside, step);
	close_round(w, &l);
	put(w, "X%u:\n", l.label);
}

/* a - (i / 3) * product, in the forms that compilers give it. */
static void put_lockstep(
	struct writer *w, uint32_t a, uint32_t i, uint32_t counter, int64_t product)
{
	uint32_t d = pick(w, REGS);

	if (counter && pick(w, 2))
		put(w,
			"mul.wide.u32 %%rd19, %%r%u, -14316557%u;\nshr.u64 %%rd19, %%rd19, "
			"33;\ncvt.u32.u64 %%r49, %%rd19;\n",
			counter, pick(w, 10) ? 65 : 64);
	else if (pick(w, 4))
		put(w,
			"mul.hi.u64 %%rd19, %%rd%u, -6148914691236517%u;\nshr.u64 %%rd19, %%rd19, "
			"1;\ncvt.u32.u64 %%r49, %%rd19;\n",
			i, pick(w, 10) ? 205 : 215);
	else
		put(w,
			"cvt.u32.u64 %%r48, %%rd%u;\nmul.hi.u32 %%r49, %%r48, 2863311531;\nshr.u32 "
			"%%r49, %%r49, 1;\n",
			i);
	switch (pick(w, 4)) {
	case 0:
		put(w, "mad.lo.s32 %%r%u, %%r49, %" PRId64 ", %%r%u;\n", d, -product, a);
		break;
	case 2:
		put(w, "mul.lo.s32 %%r48, %%r49, %" PRId64 ";\nadd.s32 %%r%u, %%r%u, %%r48;\n",
			-product, d, a);
		break;
	case 1:
		put(w, "mul.lo.s32 %%r48, %%r49, %" PRId64 ";\nsub.s32 %%r%u, %%r%u, %%r48;\n",
			product, d, a);
		break;
	default:
		put(w, "mul.lo.s32 %%r48, %%r49, %" PRId64 ";\nsub.s32 %%r48, %%r2, %%r48;\n",
			product);
		put(w, "add.s32 %%r%u, %%r48, %%r%u;\n", d, a);
	}
}

/* A stage's address beside its index, perhaps in a loop in a loop; now and then not in step. */
static void lockstep_loop(struct writer *w, uint32_t depth)
{
	uint32_t label = w->labels++, counter = 24 + w->counters++ % 10, i = 15 + label % 4,
		 a = 34 + label % 6, nested = pick(w, 3) == 0;
	int64_t k = 8 << pick(w, 4), from = pick(w, 4) ? 0 : (int64_t)pick(w, 7);
	char start[32];

	put(w, "mov.b64 %%rd%u, %" PRId64 ";\n", i, from);
	put(w, "mov.b32 %%r%u, %s;\n", a, pick(w, 3) ? "tile" : source(w, start));
	put(w, "mov.b32 %%r%u, 0;\n", counter);
	if (nested) {
		put(w, "O%u:\n", label);
		if (pick(w, 2)) /* made anew from the index */
			put(w,
				"cvt.u32.u64 %%r49, %%rd%u;\nshl.b32 %%r48, %%r49, %u;\nadd.s32 "
				"%%r%u, %%r48, %%r2;\n",
				i, (uint32_t)__builtin_ctzll((uint64_t)k), a);
	}
	put(w, "N%u:\n", label);
	put_lockstep(w, a, i, nested || from ? 0 : counter, 3 * k + (pick(w, 10) ? 0 : 4));
	if (depth < 3 && pick(w, 2))
		block(w, depth + 1);
	put(w, "add.s32 %%r%u, %%r%u, 1;\n", counter, counter);
	if (!pick(w, 10)) /* one of them stands still now and then */
		put(w, "setp.lt.s32 %%p8, %%r%u, 3;\n@%%p8 ", pick(w, REGS));
	put(w, "add.s64 %%rd%u, %%rd%u, 1;\n", i, i);
	put(w, "add.s32 %%r%u, %%r%u, %" PRId64 ";\n", a, a, k + (pick(w, 10) ? 0 : 4));
	put(w, "setp.lt.s32 %%p9, %%r%u, %u;\n", counter, 2 + pick(w, 6));
	put(w, "and.b32 %%r49, %%r%u, 1;\nsetp.eq.s32 %%p8, %%r49, 0;\n", counter);
	if (nested)
		put(w, "and.pred %%p8, %%p8, %%p9;\n@%%p8 bra O%u;\n", label);
	put(w, "@%%p9 bra N%u;\n", label);
}

/* A pointer beside a counter whose loop ends at a number. The registers of the form are kept apart from
 * those of its body, which may use it again. */
static void ended_loop(struct writer *w)
{
	struct ended_loop l;
	uint32_t beside = 34 + w->labels % 6;

	put(w, "mov.b32 %%r%u, tile;\n", beside);
	form_open_ended_loop(w, &l, 24 + w->counters++ % 10, 3 + pick(w, REGS - 3));
	put(w, "shl.b32 %%r48, %%r%u, %u;\nmov.u32 %%r49, tile;\nadd.s32 %%r48, %%r48, %%r49;\n", l.counter, pick(w, 4));
	put(w, "st.shared.u32 [%%r48], %%r0;\nadd.s32 %%r%u, %%r%u, %u;\n", beside, beside, 4u << pick(w, 4));
	put(w, "add.s32 %%r49, %%r%u, 8;\nst.shared.u32 [%%r49], %%r0;\n", beside);
	form_close_ended_loop(w, &l);
}

static void branch(struct writer *w, uint32_t depth)
{
	uint32_t label = w->labels++, p = pick(w, 5);

	if (pick(w, 3))
		compare(w, p);
	else
		seldom_predicate(w, p);
	put(w, "@%s%%p%u bra E%u;\n", pick(w, 2) ? "!" : "", p, label);
	block(w, depth + 1);
	if (pick(w, 2)) {
		put(w, "bra.uni J%u;\nE%u:\n", label, label);
		block(w, depth + 1);
		put(w, "J%u:\n", label);
	} else {
		put(w, "E%u:\n", label);
	}
}

static void block(struct writer *w, uint32_t depth)
{
	for (uint32_t n = 1 + pick(w, 6); n && w->left; n--) {
		uint32_t kind = pick(w, 12);

		w->left--;
		if (kind == 0 && depth < 3 && pick(w, 3))
			loop(w, depth);
		else if (kind == 0 && depth < 3 && !pick(w, 3))
			ended_loop(w);
		else if (kind == 0 && depth < 3 && pick(w, 2))
			lockstep_loop(w, depth);
		else if (kind == 0 && depth < 3)
			remainder_loop(w, depth);
		else if (kind <= 2 && depth < 4)
			branch(w, depth);
		else if (kind <= 4)
			store(w);
		else if (kind == 5)
			compare(w, pick(w, 5));
		else if (kind == 6 && !pick(w, 4))
			form_short_remainder(w, pick(w, REGS), pick(w, REGS));
		else if (kind == 6)
			remainder_of(w);
		else if (kind == 10 && !pick(w, 3))
			form_fields(w, pick(w, REGS), pick(w, REGS), pick(w, REGS));
		else if (kind == 10 && !pick(w, 5))
			form_rounded(w, pick(w, REGS), pick(w, REGS));
		else if (kind == 7 && !pick(w, 3))
			aligned(w);
		else if (kind == 8 && w->local)
			local_memory(w);
		else if (kind == 9 && !pick(w, 3))
			descriptor(w);
		else if (kind == 11)
			seldom(w);
		else
			arithmetic(w);
	}
}

void integers_write(struct writer *w, uint64_t seed)
{
	*w = (struct writer){.seed = seed * 977 + 5, .left = 70, .local = seed % 2};
	put(w, "mov.u32 %%r0, %%tid.x;\nld.param.u32 %%r1, [out];\nmov.u32 %%r2, tile;\n");
	for (uint32_t i = 3; i < REGS; i++)
		put(w, "mov.u32 %%r%u, %" PRId64 ";\n", i, integers_constant(w));
	for (uint32_t i = 0; i < WIDE; i++)
		put(w, "mov.u64 %%rd%u, %" PRId64 ";\n", i, integers_constant(w));
	for (uint32_t i = 0; i < 7; i++)
		put(w, "setp.lt.u32 %%p%u, %%r%u, 5;\n", i, i);
	put(w, "mov.u64 %%rd10, depot;\ncvta.local.u64 %%rd10, %%rd10;\n");
	put(w, "mov.u32 %%r20, 8;\nmov.u64 %%rd11, %%rd10;\nmov.u64 %%rd14, %%rd10;\n");
	for (uint32_t i = 0; w->local && i < 8; i++)
		if (pick(w, 3))
			put(w, "st.u64 [%%rd10+%u], %%rd%u;\n", 8 * i,
				pick(w, 4) ? pick(w, WIDE) : 10);
		else
			put(w, "st.u32 [%%rd10+%u], %%r%u;\nst.u32 [%%rd10+%u], %%r2;\n", 8 * i,
				pick(w, REGS), 8 * i + 4);
	if (w->local && !pick(w, 10)) /* gives the address away */
		put(w, "st.global.u64 [source], %%rd10;\n");
	while (w->left)
		block(w, 0);
	put(w, "ret;");
}
