/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random integer programs. Each runs with real numbers in several threads, and every operand that
 * the analysis has an answer for must lie in it; stores that are called disjoint must never meet.
 */
#include "cover.h"
#include "integers.h"
#include "unit_text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct run {
	struct unit_text *t;
	struct function text; /* as it was before local memory became registers */
	struct concrete machine;
	uint64_t seed;
	uint64_t (*touched)[64]; /* by access: bytes of the variable, as bits */
	uint32_t checked, assumed, slots;
};

static void check_operand(struct run *r, uint32_t insn, const struct operand *o)
{
	const struct values *vs = r->t->unit.values;
	struct concrete *c = &r->machine;
	uint32_t bits = o->kind == OPERAND_REG ? c->fn->regs[o->id].bits : 32;

	if (o->kind == OPERAND_REG && !c->written[o->id])
		return;
	const struct operand *now = vs->fn->operands + (o - c->fn->operands);

	if (now->kind != o->kind) /* a slot of local memory that is a register now */
		return;
	struct value v = value_of(vs, insn, now);
	uint64_t x = concrete_operand(c, o);

	if (v.assumptions) {
		r->assumed++;
		return;
	}
	r->checked++;
	if (cover_has(vs, c, &v, x, bits == 1 ? 8 : bits))
		return;
	char text[200];

	value_print(vs, &v, text, sizeof(text));
	fprintf(stderr, "%s\n", r->t->source.text);
	fail_msg("program %" PRIu64 ", line %u, thread %u: %" PRId64 " (shared at %" PRIu64
		 ") is not in %s",
		r->seed, unit_text_line(r->t, insn), c->tid, (int64_t)x, c->shared_base, text);
}

static bool see(struct concrete *c, uint32_t insn)
{
	struct run *r = c->context;
	const struct insn *i = &c->fn->insns[insn];
	int decided = value_decided(r->t->unit.values, insn);

	if (i->guard != NONE && decided == 0)
		fail_msg("program %" PRIu64 ", line %u: a guard called false holds", r->seed,
			unit_text_line(r->t, insn));
	for (uint32_t k = i->op == OP_st ? 0 : 1; k < i->count; k++) {
		const struct operand *o = insn_operand(c->fn, i, k);

		if (o->kind == OPERAND_REG || (o->kind == OPERAND_MEM && i->op == OP_st))
			check_operand(r, insn, o);
	}
	if (i->op != OP_st)
		return true;
	uint64_t at = concrete_operand(c, insn_operand(c->fn, i, 0)) - c->shared_base, bytes = insn_has(i, MOD_u32) ? 4 : 1;

	if (at % bytes) /* traps (ISA 6.4.1.1) */
		return true;

	for (uint32_t k = 0; k < r->t->unit.accesses.n; k++)
		if (r->t->unit.accesses.v[k].insn == insn)
			for (uint64_t b = 0; b < bytes; b++)
				if (((at + b) & UINT32_MAX) < 2048)
					r->touched[k][((at + b) & 2047) / 64 % 64] |=
						UINT64_C(1) << ((at + b) % 64);
	return true;
}

static void pass(struct concrete *c, uint32_t insn)
{
	struct run *r = c->context;

	if (value_decided(r->t->unit.values, insn) != 1)
		return;
	fprintf(stderr, "%s\n", r->t->source.text);
	fail_msg("program %" PRIu64 ", line %u: a guard called true does not hold", r->seed, unit_text_line(r->t, insn));
}

static void check_pairs(struct run *r)
{
	struct unit *u = &r->t->unit;

	for (uint32_t i = 0; i < u->accesses.n; i++)
		for (uint32_t k = 0; k < u->accesses.n; k++) {
			struct overlap o = access_overlap(
				u->values, &u->accesses, i, k, u->options, &r->t->arena);

			for (uint32_t b = 0; b < 32 && !o.may && !o.assumptions; b++)
				if (r->touched[i][b] & r->touched[k][b]) {
					fprintf(stderr, "%s\n", r->t->source.text);
					fail_msg("program %" PRIu64 ": lines %u and %u meet: %s",
						r->seed,
						unit_text_line(r->t, u->accesses.v[i].insn),
						unit_text_line(r->t, u->accesses.v[k].insn),
						o.reason);
				}
		}
}

static uint32_t check_program(uint64_t seed, uint32_t assume, uint32_t *slots)
{
	static const uint32_t threads[] = {0, 1, 31, 32, 77, 127};
	struct writer *w = malloc(sizeof(*w));
	struct unit_text t;
	struct run r = {.t = &t, .seed = seed};

	integers_write(w, seed);
	unit_text_parse(&t, w->text);
	t.options.assume = assume;
	r.text = t.linked.fn;
	unit_text_analyse(&t);
	r.slots = t.linked.fn.nregs - r.text.nregs;
	r.touched = calloc(t.unit.accesses.n + 1, sizeof(*r.touched));
	for (uint32_t k = 0; k < sizeof(threads) / sizeof(*threads); k++) {
		struct concrete *c = &r.machine;

		*c = (struct concrete){.fn = &r.text,
			.tid = threads[k],
			.param = pick(w, 3) ? pick(w, 50)
					    : (uint64_t)integers_constant(w) & UINT32_MAX,
			.shared_base = 1024 * (uint64_t)(20 + pick(w, 100)),
			.other_base = 199936 + 128 * (uint64_t)pick(w, 300),
			.see = see,
			.pass = pass,
			.context = &r};
		assert_true(concrete_run_fresh(c, t.unit.fn->nregs, 4000));
	}
	check_pairs(&r);
	free(r.touched);
	free(w);
	unit_text_free(&t);
	*slots += r.slots;
	return r.checked;
}

static void test_value_sets_cover_what_programs_compute(void **state)
{
	uint64_t checked = 0;
	uint32_t slots = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= writer_rounds(600); seed++)
		checked += check_program(seed, 0, &slots);
	assert_true(checked > 100000);
	assert_true(slots > 100); /* local memory that became registers */
}

static void test_value_sets_cover_it_with_assumptions_set_apart(void **state)
{
	uint32_t slots = 0;

	(void)state;
	for (uint32_t seed = 5000; seed < 5000 + writer_rounds(200); seed++)
		check_program(seed, ASSUME_ALL, &slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_value_sets_cover_what_programs_compute),
		cmocka_unit_test(test_value_sets_cover_it_with_assumptions_set_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
