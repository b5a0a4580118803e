/* SPDX-License-Identifier: Apache-2.0 */
/* Phis that are said to be a multiple of another one, held against random programs that run with
 * real numbers. */
#include "analysis/stages.h"
#include "concrete.h"
#include "unit_text.h"
#include "writer.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

struct claim {
	uint32_t phi, of, factor;
	uint32_t last[2];
	bool has[2];
};

struct run {
	struct unit_text *t;
	struct claim *claims;
	uint32_t n;
	uint64_t seed;
};

static void see_node(struct run *r, uint32_t node, uint32_t x)
{
	for (uint32_t i = 0; i < r->n; i++) {
		struct claim *c = &r->claims[i];

		for (uint32_t side = 0; side < 2; side++)
			if ((side ? c->of : c->phi) == node) {
				c->last[side] = x;
				c->has[side] = true;
			}
		if (c->has[0] && c->has[1] && c->last[0] != c->factor * c->last[1]) {
			fprintf(stderr, "%s\n", r->t->source.text);
			fail_msg("program %" PRIu64 ": %u is not %u times %u", r->seed, c->last[0],
				c->factor, c->last[1]);
		}
	}
}

static bool see(struct concrete *c, uint32_t insn)
{
	struct run *r = c->context;
	const struct values *vs = r->t->unit.values;
	const struct insn *i = &c->fn->insns[insn];

	for (uint32_t k = 0; k < r->n; k++)
		if (vs->cfg->blocks[vs->ssa.nodes[r->claims[k].phi].block].first == insn)
			r->claims[k].has[0] = r->claims[k].has[1] = false;
	for (uint32_t k = i->op == OP_st ? 0 : 1; k < i->count; k++) {
		const struct operand *o = insn_operand(c->fn, i, k);

		if (o->kind == OPERAND_REG && !o->offset && c->fn->regs[o->id].bits == 32)
			see_node(r, o->node, (uint32_t)concrete_operand(c, o));
	}
	return true;
}

/* %r10: what the first use of a stage in %r2 begins at, or nearly. */
static void put_kept(struct writer *w, uint32_t shift)
{
	switch (pick(w, 8)) {
	case 0:
		put(w, "mul.lo.s32 %%r10, %%r2, %u;\n", 1u << shift);
		break;
	case 1:
		put(w, "mov.u32 %%r3, %%r2;\nshl.b32 %%r4, %%r3, %u;\nmov.u32 %%r10, %%r4;\n",
			shift);
		break;
	case 2:
		put(w, "mov.u32 %%r2, %u;\nmov.u32 %%r10, %u;\n", pick(w, 3), pick(w, 3) << shift);
		break;
	case 3:
		put(w, "setp.gt.s32 %%p3, %%r2, 1;\n@%%p3 shl.b32 %%r10, %%r2, %u;\n", shift);
		break;
	case 4:
		put(w, "shl.b32 %%r10, %%r1, %u;\n", shift);
		break;
	default:
		put(w, "shl.b32 %%r10, %%r2, %u;\n", pick(w, 8) ? shift : 31);
		break;
	}
}

static void put_use(struct writer *w, uint32_t reg)
{
	put(w, "add.s32 %%r9, %%r8, %%r%u;\nst.shared.u32 [%%r9], %%r%u;\n", reg, reg);
}

static void write_program(struct writer *w, uint64_t seed)
{
	*w = (struct writer){.seed = seed};
	uint32_t shift = 2 + pick(w, 3);

	put(w, "ld.param.u32 %%r5, [out];\nmov.u32 %%r8, tile;\nmov.u32 %%r20, 0;\nmov.u32 %%r10, "
	       "0;\n");
	put(w, "mov.u32 %%r1, 0;\nadd.s32 %%r2, %%r1, 1;\n");
	put_kept(w, shift);
	put(w, "setp.lt.s32 %%p1, %%r5, 1;\n@%%p1 bra M;\nL:\n");
	if (pick(w, 2))
		put_use(w, 10);
	put(w, "mov.u32 %%r1, %%r2;\nadd.s32 %%r2, %%r2, 1;\nand.b32 %%r2, %%r2, 3;\n");
	put_kept(w, shift);
	put(w, "add.s32 %%r20, %%r20, 1;\nsetp.lt.s32 %%p2, %%r20, %%r5;\n@%%p2 bra L;\nM:\n");
	put_use(w, 2);
	put_use(w, 10);
	put_use(w, 1);
	put(w, "ret;");
}

static uint32_t check_program(uint64_t seed)
{
	struct writer *w = malloc(sizeof(*w));
	struct unit_text t;
	struct run r = {.t = &t, .seed = seed};
	uint32_t cap = 0;

	write_program(w, seed);
	unit_text_parse(&t, w->text);
	unit_text_analyse(&t);
	const struct values *vs = t.unit.values;

	for (uint32_t node = 0; node < vs->nsolved; node++) {
		struct claim c = {.phi = node};

		c.of = vs->ssa.nodes[node].kind == NODE_PHI
			       ? stage_phi_multiple(vs, node, &c.factor)
			       : NONE;
		if (c.of != NONE)
			ARENA_PUSH(&t.arena, r.claims, r.n, cap, c);
	}
	for (uint32_t k = 0; k < 4; k++) {
		struct concrete c = {.fn = t.unit.fn,
			.param = k,
			.shared_base = 1024 * (uint64_t)20,
			.other_base = 199936,
			.see = see,
			.context = &r};

		for (uint32_t i = 0; i < r.n; i++)
			r.claims[i].has[0] = r.claims[i].has[1] = false;
		assert_true(concrete_run_fresh(&c, t.unit.fn->nregs, 2000));
	}
	free(w);
	unit_text_free(&t);
	return r.n;
}

static void test_stage_phi_multiple_holds(void **state)
{
	uint32_t n = writer_rounds(2000);
	uint32_t claimed = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= n; seed++)
		claimed += check_program(seed);
	assert_true(claimed > n / 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_stage_phi_multiple_holds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
