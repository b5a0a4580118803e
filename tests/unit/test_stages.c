/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers that are said to be other stages of a ring, held against random loops that run with real
 * numbers: within the life of the root that the answer names, no contents of the one may be contents of the
 * other. And the forms that must be known, as a table.
 */
#include "analysis/stages.h"
#include "concrete.h"
#include "unit_text.h"
#include "writer.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES_MOST 200

struct claim {
	uint32_t a, b, root;
	uint64_t last[2];
	bool has[2];
};

struct run {
	struct unit_text *t;
	struct claim *claims;
	uint32_t nclaims, claimed;
	uint64_t seed;
};

static void forget(struct run *r, uint32_t insn, bool phis)
{
	const struct values *vs = r->t->unit.values;

	for (uint32_t i = 0; i < r->nclaims; i++) {
		const struct node *root = &vs->ssa.nodes[r->claims[i].root];
		bool ends = phis ? root->kind == NODE_PHI && vs->cfg->blocks[root->block].first == insn
				 : root->kind == NODE_DEF && root->insn == insn;

		if (ends)
			r->claims[i].has[0] = r->claims[i].has[1] = false;
	}
}

static void see_node(struct run *r, uint32_t node, uint64_t x)
{
	for (uint32_t i = 0; i < r->nclaims; i++) {
		struct claim *c = &r->claims[i];

		for (uint32_t side = 0; side < 2; side++) {
			if ((side ? c->b : c->a) != node)
				continue;
			c->last[side] = x;
			c->has[side] = true;
			if (c->has[!side] && c->last[!side] == x) {
				fprintf(stderr, "%s\n", r->t->source.text);
				fail_msg("program %" PRIu64 ": two registers hold %" PRIu64, r->seed, x);
			}
		}
	}
}

static bool see(struct concrete *c, uint32_t insn)
{
	struct run *r = c->context;
	const struct insn *i = &c->fn->insns[insn];

	forget(r, insn, true);
	for (uint32_t k = i->op == OP_st ? 0 : 1; k < i->count; k++) {
		const struct operand *o = insn_operand(c->fn, i, k);

		if (o->kind == OPERAND_MEM)
			o = operand_child(c->fn, o, 0);
		if (o->kind == OPERAND_REG && !o->offset && c->fn->regs[o->id].bits == 32)
			see_node(r, o->node, concrete_operand(c, o));
	}
	forget(r, insn, false);
	return true;
}

static void make_claims(struct run *r)
{
	const struct values *vs = r->t->unit.values;
	uint32_t cap = 0, rests_on = 0;

	for (uint32_t a = 0; a < vs->nsolved && a < NODES_MOST; a++)
		for (uint32_t b = a + 1; b < vs->nsolved && b < NODES_MOST; b++) {
			struct claim c = {.a = a, .b = b};

			if (stages_differ(vs, a, b, &c.root, &rests_on))
				ARENA_PUSH(&r->t->arena, r->claims, r->nclaims, cap, c);
		}
	r->claimed += r->nclaims;
}

/* A stage behind that in %r1 into %r2. */
static void put_next(struct writer *w)
{
	uint32_t n = 1 + pick(w, 5), step = pick(w, 4), label = w->labels++;

	switch (pick(w, 9)) {
	case 0:
	case 1:
		put(w, "add.s32 %%r3, %%r1, %u;\nsetp.%s.s32 %%p1, %%r3, %u;\nselp.b32 %%r2, %s, %%p1;\n",
			step, pick(w, 3) ? "eq" : pick(w, 2) ? "ge" : "ne", n,
			pick(w, 3) ? "0, %r3" : pick(w, 2) ? "%r3, 0" : "1, %r3");
		break;
	case 2:
		put(w, "add.s32 %%r3, %%r1, %u;\nand.b32 %%r2, %%r3, %u;\n", step,
			(1u << pick(w, 4)) - 1);
		break;
	case 3:
		put(w, "add.s32 %%r3, %%r1, %d;\nrem.%s32 %%r2, %%r3, %u;\n", (int)step - 1,
			pick(w, 2) ? "u" : "s", n);
		break;
	case 4:
		put(w, "xor.b32 %%r2, %%r1, %u;\n", pick(w, 4));
		break;
	case 5:
		put(w, "add.s32 %%r3, %%r1, %u;\nmov.u32 %%r2, %%r3;\nsetp.ne.s32 %%p1, %%r3, %u;\n"
		       "@%%p1 bra N%u;\nmov.u32 %%r2, %u;\nN%u:\n",
			step, n, label, pick(w, 4) ? 0 : 1, label);
		break;
	case 6:
		put(w, "add.s32 %%r3, %%r1, %u;\nmul.hi.u32 %%r4, %%r3, -1431655765;\nshr.u32 %%r4, %%r4, "
		       "1;\nmul.lo.s32 %%r4, %%r4, 3;\nsub.s32 %%r2, %%r3, %%r4;\n",
			step);
		break;
	case 7:
		put(w, "add.s32 %%r3, %%r1, %u;\nand.b32 %%r4, %%r5, %u;\nmad.lo.s32 %%r2, %%r4, %d, %%r3;\n",
			step, 3u << pick(w, 30), -(int)n);
		break;
	default:
		put(w, "add.s32 %%r2, %%r1, %u;\n", step);
		break;
	}
}

/* An address that is made from the register. */
static void put_use(struct writer *w, uint32_t reg)
{
	put(w, "shl.b32 %%r7, %%r%u, 2;\nadd.s32 %%r9, %%r8, %%r7;\nst.shared.u32 [%%r9], %%r%u;\n", reg,
		reg);
}

static void write_program(struct writer *w, uint64_t seed)
{
	static const char *const starts[] = {"0", "1", "2", "-1", "2147483647", "%r5"};

	*w = (struct writer){.seed = seed};
	put(w, "ld.param.u32 %%r5, [out];\nmov.u32 %%r8, tile;\nmov.u32 %%r20, 0;\n");
	put(w, "mov.u32 %%r1, %s;\nmov.u32 %%r6, %s;\nL:\n", starts[pick(w, 6)], starts[pick(w, 6)]);
	if (pick(w, 2))
		put_use(w, 1);
	put_next(w);
	put_use(w, 1);
	put_use(w, 2);
	put_use(w, 6);
	switch (pick(w, 5)) {
	case 0:
		put(w, "mov.u32 %%r6, %%r1;\nmov.u32 %%r1, %%r2;\n");
		break;
	case 1:
		put(w, "add.s32 %%r1, %%r1, 1;\n");
		break;
	case 2: /* both taken modulo something from one counter */
		put(w, "and.b32 %%r11, %%r1, 3;\nand.b32 %%r12, %%r2, %u;\n", pick(w, 2) ? 3 : 7);
		put(w, "rem.u32 %%r13, %%r1, 3;\nrem.u32 %%r14, %%r2, 3;\n");
		for (uint32_t reg = 11; reg <= 14; reg++)
			put_use(w, reg);
		put(w, "add.s32 %%r1, %%r1, %u;\n", pick(w, 3));
		break;
	case 3:
		put(w, "mov.u32 %%r6, %%r2;\nmov.u32 %%r1, %%r2;\n");
		put_next(w);
		put_use(w, 2);
		break;
	default:
		put(w, "mov.u32 %%r1, %%r2;\n");
		break;
	}
	put(w, "add.s32 %%r20, %%r20, 1;\nsetp.lt.s32 %%p2, %%r20, 14;\n@%%p2 bra L;\n");
	put_use(w, 1);
	put_use(w, 6);
	put(w, "ret;");
}

static uint32_t check_program(uint64_t seed)
{
	struct writer *w = malloc(sizeof(*w));
	struct unit_text t;
	struct run r = {.t = &t, .seed = seed};

	write_program(w, seed);
	unit_text_parse(&t, w->text);
	t.options.assume = 0;
	unit_text_analyse(&t);
	make_claims(&r);
	for (uint32_t k = 0; k < 6; k++) {
		static const uint64_t params[] = {0, 1, 5, 0x7fffffff, 0xfffffffe, 0xffffffff};
		struct concrete c = {.fn = t.unit.fn,
			.param = params[k],
			.shared_base = 1024 * (uint64_t)20,
			.other_base = 199936,
			.see = see,
			.context = &r};

		for (uint32_t i = 0; i < r.nclaims; i++)
			r.claims[i].has[0] = r.claims[i].has[1] = false;
		assert_true(concrete_run_fresh(&c, t.unit.fn->nregs, 2000));
	}
	free(w);
	unit_text_free(&t);
	return r.claimed;
}

static void test_stages_that_differ_never_hold_the_same(void **state)
{
	uint32_t n = writer_rounds(3000);
	uint64_t claimed = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= n; seed++)
		claimed += check_program(seed);
	assert_true(claimed > (uint64_t)4 * n);
}

struct row {
	const char *name, *next; /* from %r1 to %r2 */
	bool differ;
};

#define USE(reg) "shl.b32 %r7, " reg ", 2;\nadd.s32 %r9, %r8, %r7;\nst.shared.u32 [%r9], " reg ";\n"
#define BEHIND "add.s32 %r3, %r1, 1;\n"

static const struct row rows[] = {
	{"a select at the end of the ring",
		BEHIND "setp.eq.s32 %p1, %r3, 6;\nselp.b32 %r2, 0, %r3, %p1;\n", true},
	{"a ring of one stage", BEHIND "setp.eq.s32 %p1, %r3, 1;\nselp.b32 %r2, 0, %r3, %p1;\n", false},
	{"a select the other way around",
		BEHIND "setp.ne.s32 %p1, %r3, 2;\nselp.b32 %r2, %r3, 0, %p1;\n", true},
	{"the select of another counter",
		BEHIND "setp.eq.s32 %p1, %r20, 6;\nselp.b32 %r2, 0, %r3, %p1;\n", false},
	{"a branch", BEHIND "mov.u32 %r2, %r3;\nsetp.ne.s32 %p1, %r3, 3;\n@%p1 bra N;\nmov.u32 %r2, "
			    "0;\nN:\n",
		true},
	{"a mask", BEHIND "and.b32 %r2, %r3, 3;\n", true},
	{"four stages further in a ring of four", "add.s32 %r3, %r1, 4;\nand.b32 %r2, %r3, 3;\n", false},
	{"two further in a ring of three", "add.s32 %r3, %r1, 2;\nrem.u32 %r2, %r3, 3;\n", true},
	{"three further in a ring of three", "add.s32 %r3, %r1, 3;\nrem.u32 %r2, %r3, 3;\n", false},
	{"the other one of two", "xor.b32 %r2, %r1, 1;\n", true},
	{"a remainder as a difference",
		BEHIND "mul.hi.u32 %r4, %r3, -1431655765;\nshr.u32 %r4, %r4, 1;\nmul.lo.s32 %r4, %r4, "
		       "3;\nsub.s32 %r2, %r3, %r4;\n",
		false}, /* 3 * quotient may be all but 2^32 */
	{"the same of few", "and.b32 %r1, %r1, 1023;\n" BEHIND
			    "mul.hi.u32 %r4, %r3, -1431655765;\nshr.u32 %r4, %r4, 1;\nmul.lo.s32 %r4, "
			    "%r4, 3;\nsub.s32 %r2, %r3, %r4;\n",
		true},
};

static void test_forms_of_the_next_stage(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct unit_text t;
		char text[2000];
		uint32_t root, rests_on = 0, last[2], n = 0;

		snprintf(text, sizeof(text),
			"ld.param.u32 %%r1, [out];\nmov.u32 %%r8, tile;\nmov.u32 %%r20, 0;\nL:\n%s%s%s"
			"mov.u32 %%r1, %%r2;\nadd.s32 %%r20, %%r20, 1;\nsetp.lt.s32 %%p2, %%r20, 14;\n"
			"@%%p2 bra L;\nret;",
			rows[i].next, USE("%r1"), USE("%r2"));
		unit_text_parse(&t, text);
		t.options.assume = 0;
		unit_text_analyse(&t);
		for (uint32_t k = 0; k < t.unit.fn->ninsns; k++) {
			const struct insn *insn = &t.unit.fn->insns[k];

			if (insn->op == OP_st)
				last[n++] = insn_operand(t.unit.fn, &insn[-2], 1)->node;
		}
		assert_int_equal(n, 2);
		if (stages_differ(t.unit.values, last[0], last[1], &root, &rests_on) != rows[i].differ)
			fail_msg("%s", rows[i].name);
		unit_text_free(&t);
	}
}

struct few {
	const char *name;
	int first, second; /* in which the two start */
	int n, m;	   /* stages of each ring */
	const char *behind; /* from the second, %r2, to %r5 */
	bool ahead;
};

#define STEP "add.s32 %r6, %r2, 1;\nsetp.eq.s32 %p3, %r6, 4;\nselp.b32 %r5, 0, %r6, %p3;\n"

static const struct few fews[] = {
	{"one ahead", 0, 1, 4, 4, "mov.u32 %r5, %r2;\n", true},
	{"two ahead", 0, 1, 4, 4, STEP, true},
	{"both in one place", 1, 1, 4, 4, "mov.u32 %r5, %r2;\n", false},
	{"in rings of unlike length", 0, 1, 3, 4, "mov.u32 %r5, %r2;\n", false},
	{"all the way around a ring of two", 0, 1, 2, 2,
		"add.s32 %r6, %r2, 1;\nsetp.eq.s32 %p3, %r6, 2;\nselp.b32 %r5, 0, %r6, %p3;\n", false},
	{"a step of another ring", 0, 1, 3, 3, STEP, false},
};

static void test_stages_a_few_ahead(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(fews) / sizeof(*fews); i++) {
		struct unit_text t;
		char text[2000];
		uint32_t last[2], n = 0;

		snprintf(text, sizeof(text),
			"mov.u32 %%r1, %d;\nmov.u32 %%r2, %d;\nmov.u32 %%r8, tile;\nmov.u32 %%r20, 0;\nL:\n%s%s%s"
			"add.s32 %%r3, %%r1, 1;\nsetp.eq.s32 %%p1, %%r3, %d;\nselp.b32 %%r1, 0, %%r3, %%p1;\n"
			"add.s32 %%r4, %%r2, 1;\nsetp.eq.s32 %%p1, %%r4, %d;\nselp.b32 %%r2, 0, %%r4, %%p1;\n"
			"add.s32 %%r20, %%r20, 1;\nsetp.lt.s32 %%p2, %%r20, 14;\n@%%p2 bra L;\nret;",
			fews[i].first, fews[i].second, fews[i].behind, USE("%r1"), USE("%r5"), fews[i].n, fews[i].m);
		unit_text_parse(&t, text);
		unit_text_analyse(&t);
		for (uint32_t k = 0; k < t.unit.fn->ninsns; k++) {
			const struct insn *insn = &t.unit.fn->insns[k];

			if (insn->op == OP_st)
				last[n++] = insn_operand(t.unit.fn, &insn[-2], 1)->node;
		}
		assert_int_equal(n, 2);
		if (stages_few_ahead(t.unit.values, last[1], last[0]) != fews[i].ahead)
			fail_msg("%s", fews[i].name);
		unit_text_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stages_a_few_ahead),
		cmocka_unit_test(test_stages_that_differ_never_hold_the_same),
		cmocka_unit_test(test_forms_of_the_next_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
