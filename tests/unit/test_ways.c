/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unrolled loops with a rest behind them, with random faults in them: what is known of an address behind a
 * phi, from what comes along each way into it, must cover every address that real numbers give.
 */
#include "concrete.h"
#include "cover.h"
#include "unit_text.h"
#include "writer.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

struct run {
	struct unit_text *t;
	uint64_t seed;
	bool seen;
};

static bool see(struct concrete *c, uint32_t insn)
{
	struct run *r = c->context;
	const struct values *vs = r->t->unit.values;
	const struct insn *i = &c->fn->insns[insn];
	const struct operand *o = insn_operand(c->fn, i, 0);
	char text[200];

	if (i->op != OP_st)
		return true;
	struct value v = value_of(vs, insn, o);
	uint64_t x = concrete_operand(c, o);

	r->seen = true;
	if (cover_has(vs, c, &v, x, 32))
		return true;
	value_print(vs, &v, text, sizeof(text));
	fprintf(stderr, "%s\n", r->t->source.text);
	fail_msg("program %" PRIu64 ", n = %" PRIu64 ": tile + %" PRId64 " is not in %s", r->seed,
		c->param, (int64_t)(x - c->shared_base), text);
	return false;
}

/* One of the two, mostly the first. */
static const char *mostly(struct writer *w, const char *a, const char *b)
{
	return pick(w, 6) ? a : b;
}

static void write_program(struct writer *w, uint64_t seed)
{
	*w = (struct writer){.seed = seed};
	uint32_t size = 2u << pick(w, 2);

	put(w, "ld.param.u32 %%r0, [out];\nmov.u32 %%r8, tile;\n");
	put(w, "%s.s32 %%r1, %%r0, %u;\n", mostly(w, "min", "add"), pick(w, 20));
	put(w, "max.s32 %%r1, %%r1, %u;\n", pick(w, 4));
	put(w, "and.b32 %%r2, %%r1, %u;\n", size - (pick(w, 10) ? 1 : 2)); /* the rest */
	put(w, "add.s32 %%r3, %%r1, -1;\nmov.u32 %%r4, 0;\n");
	if (pick(w, 5)) /* else a round is made for none */
		put(w, "setp.lt.u32 %%p1, %%r3, %u;\n@%%p1 bra R;\n", size - 1);
	put(w, "mov.u32 %%r4, %u;\n", pick(w, 6) ? 0 : pick(w, 4));
	/* it goes to n - rest: by the counter itself, or by one that runs to nothing beside it */
	bool beside = pick(w, 2);

	if (beside)
		put(w, "sub.s32 %%r5, %s;\n", mostly(w, "%r1, %r2", "%r2, %r1"));
	else
		put(w, "sub.s32 %%r6, %s;\n", mostly(w, "%r2, %r1", "%r1, %r2"));
	put(w, "mov.u32 %%r20, 0;\nL:\nadd.s32 %%r4, %%r4, %u;\n", size + (pick(w, 8) ? 0 : 1));
	put(w, "add.s32 %%r20, %%r20, 1;\nsetp.gt.s32 %%p2, %%r20, 40;\n@%%p2 bra E;\n");
	if (beside)
		put(w, "add.s32 %%r5, %%r5, %d;\nsetp.%s.s32 %%p1, %%r5, %u;\n",
			-(int)size + (pick(w, 8) ? 0 : 1), mostly(w, "ne", "gt"), pick(w, 8) ? 0 : 1);
	else
		put(w, "add.s32 %%r7, %%r6, %%r4;\nsetp.%s.s32 %%p1, %%r7, %u;\n",
			mostly(w, "ne", "lt"), pick(w, 8) ? 0 : 1);
	put(w, "@%%p1 bra L;\nR:\nsetp.%s.s32 %%p3, %%r2, %u;\n@%%p3 bra E;\n", mostly(w, "eq", "ne"),
		pick(w, 4) ? 0 : pick(w, 3));
	put(w, "shl.b32 %%r9, %%r4, 4;\nadd.s32 %%r9, %%r8, %%r9;\nst.shared.u32 [%%r9+%u], 0;\n",
		16 * pick(w, 3));
	put(w, "setp.eq.s32 %%p3, %%r2, 1;\n@%%p3 bra E;\nst.shared.u32 [%%r9], 1;\nE: ret;");
}

/* Gives the width of what is known of the last store's address. */
static bool check_program(uint64_t seed)
{
	struct writer *w = malloc(sizeof(*w));
	struct unit_text t;
	struct run r = {.t = &t, .seed = seed};

	write_program(w, seed);
	unit_text_parse(&t, w->text);
	t.options.assume = 0;
	unit_text_analyse(&t);
	for (uint64_t n = 0; n < 28; n++) {
		struct concrete c = {.fn = t.unit.fn,
			.param = n < 24 ? n : 0 - n,
			.shared_base = 1024 * (uint64_t)20,
			.other_base = 199936,
			.see = see,
			.context = &r};

		assert_true(concrete_run_fresh(&c, t.unit.fn->nregs, 2000));
	}
	free(w);
	unit_text_free(&t);
	return r.seen;
}

static void test_addresses_behind_unrolled_loops_are_covered(void **state)
{
	uint32_t n = writer_rounds(4000), seen = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= n; seed++)
		seen += check_program(seed);
	assert_true(seen > n / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_behind_unrolled_loops_are_covered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
