/* SPDX-License-Identifier: Apache-2.0 */
#include "integer_forms.h"

#include <inttypes.h>

static int off(struct writer *w, uint32_t seldom, int by)
{
	return pick(w, seldom) ? 0 : by;
}

void form_short_remainder(struct writer *w, uint32_t d, uint32_t x)
{
	static const struct {
		uint32_t divisor, shift;
		int factor;
	} forms[] = {{3, 17, -21845}, {5, 18, -13107}, {7, 19, -28087}, {6, 18, -21845}};
	uint32_t which = pick(w, 4);

	if (pick(w, 3))
		put(w, "and.b32 %%r40, %%r%u, %u;\n", x, (8u << pick(w, 6)) - 1);
	else
		put(w, "mov.u32 %%r40, %%r%u;\n", x);
	put(w, "cvt.u16.u32 %%h0, %%r40;\nand.b16 %%h1, %%h0, %u;\n", pick(w, 4) ? 255 : 15);
	put(w, "mul.wide.u16 %%r41, %%h%u, %d;\nshr.u32 %%r41, %%r41, %u;\n", pick(w, 4) ? 1u : 0u,
		forms[which].factor + off(w, 8, 1), forms[which].shift - (pick(w, 8) ? 0 : 1));
	put(w, "cvt.u16.u32 %%h2, %%r41;\nmul.lo.s16 %%h2, %%h2, %u;\n",
		forms[which].divisor + (pick(w, 8) ? 0 : 1));
	put(w, "sub.s16 %%h3, %%h0, %%h2;\ncvt.u32.u16 %%r%u, %%h3;\n", d);
}

void form_fields(struct writer *w, uint32_t d, uint32_t x, uint32_t y)
{
	static const char *const mixed[] = {"or", "xor", "or"};
	uint32_t bits = 1 + pick(w, 4), at = pick(w, 6), beside = at + bits - (pick(w, 4) ? 0 : 1);

	put(w, "and.b32 %%r40, %%r%u, %u;\n", x, ((1u << bits) - 1) << at);
	if (pick(w, 2))
		put(w, "shl.b32 %%r41, %%r%u, %u;\nand.b32 %%r41, %%r41, %u;\n", y, beside,
			7u << beside | (pick(w, 3) ? 0 : (1u << at) - 1));
	else
		put(w, "shr.u32 %%r41, %%r%u, %u;\nand.b32 %%r41, %%r41, 5;\nshl.b32 %%r41, %%r41, %u;\n",
			y, 1 + pick(w, 8), beside);
	put(w, "%s.b32 %%r42, %%r40, %%r41;\n", mixed[pick(w, 3)]);
	put(w, "and.b32 %%r43, %%r%u, %u;\n", x, pick(w, 2) ? (1u << at) - 1 : 1u << (beside + 3));
	put(w, "%s.b32 %%r%u, %%r43, %%r42;\n", mixed[pick(w, 3)], d);
}

void form_rounded(struct writer *w, uint32_t d, uint32_t x)
{
	uint32_t mask = (2u << pick(w, 4)) - 1;

	put(w, "and.b32 %%r40, %%r%u, %u;\n", x, mask - (pick(w, 8) ? 0 : 1));
	if (pick(w, 2))
		put(w, "sub.s32 %%r%u, %%r%u, %%r40;\n", d, x);
	else
		put(w, "sub.s32 %%r%u, %%r40, %%r%u;\n", d, x);
}

/* The counter starts at x plus a number, and goes as far as x plus another. */
static void open_relative(struct writer *w, struct ended_loop *l)
{
	static const char *const tests[] = {"ne.s32", "ne.u32", "lt.s32", "lt.u32", "gt.s32", "le.s32"};
	int first = (int)pick(w, 3) * 4, rounds = 1 + (int)pick(w, 4);
	const char *test = tests[pick(w, 6)];

	put(w, "add.s32 %%r%u, %%r%u, %d;\nadd.s32 %%r45, %%r%u, %d;\n", l->counter, l->x, first,
		l->x, first + rounds * l->step + off(w, 6, 1));
	put(w, "mov.u32 %%r44, %%r%u;\nN%u:\n", l->x, l->label);
	l->test = test;
}

/* The counter goes from or to what is left of x without its low bits. */
static void open_rounded(struct writer *w, struct ended_loop *l)
{
	uint32_t size = 1u << pick(w, 3);
	bool up = pick(w, 2);

	l->step = up ? (int)size : -(int)size;
	put(w, "and.b32 %%r44, %%r%u, 15;\n", l->x);
	if (pick(w, 3))
		put(w, "max.s32 %%r44, %%r44, 1;\n");
	put(w, "and.b32 %%r46, %%r44, %u;\n", size - 1 + (pick(w, 8) ? 0 : 1));
	if (pick(w, 5)) /* without it there may be no round to make */
		put(w, "setp.lt.u32 %%p8, %%r44, %u;\n@%%p8 bra X%u;\n", size, l->label);
	if (up)
		put(w, "sub.s32 %%r45, %%r46, %%r44;\nmov.u32 %%r%u, 0;\n", l->counter);
	else
		put(w, "sub.s32 %%r%u, %%r44, %%r46;\nmov.u32 %%r45, 0;\n", l->counter);
	put(w, "N%u:\n", l->label);
	l->test = "ne.s32";
}

void form_open_ended_loop(struct writer *w, struct ended_loop *l, uint32_t counter, uint32_t x)
{
	static const int steps[] = {1, 2, 4, -1, -4, 1};

	*l = (struct ended_loop){w->labels++, counter, x, steps[pick(w, 6)], pick(w, 2),
		!pick(w, 4), NULL};
	put(w, "mov.u32 %%r%u, %u;\n", counter, pick(w, 9)); /* where no round is made */
	if (l->relative)
		open_relative(w, l);
	else
		open_rounded(w, l);
	if (l->leaves)
		put(w, "setp.gt.s32 %%p8, %%r%u, 100;\n@%%p8 bra X%u;\n", x, l->label);
}

void form_close_ended_loop(struct writer *w, const struct ended_loop *l)
{
	bool skips = !pick(w, 8); /* goes around without the comparison */

	if (l->relative)
		put(w, "sub.s32 %%r46, %%r%u, %%r44;\n", l->counter);
	put(w, "add.s32 %%r%u, %%r%u, %d;\n", l->counter, l->counter, l->step + off(w, 12, 1));
	if (skips)
		put(w, "setp.lt.s32 %%p8, %%r%u, 9;\n@%%p8 bra N%u;\n", pick(w, 12), l->label);
	if (l->relative)
		put(w, "setp.%s %%p9, %%r%u, %%r45;\n", l->test, l->counter);
	else
		put(w, "add.s32 %%r47, %%r%u, %%r45;\nsetp.%s %%p9, %%r47, 0;\n", l->counter, l->test);
	put(w, "@%%p9 bra N%u;\nX%u:\n", l->label, l->label);
	put(w, "mov.u32 %%r%u, %%r%u;\n", 3 + pick(w, 9), l->counter);
}
