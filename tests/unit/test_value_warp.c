/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs whose threads step together: shuffles, elected threads and tests for roles. In
 * each thread every operand has to lie in its set; what is called the same in all threads has to
 * be; and a guard that is called decided has to be. Programs without shuffles also run thread by
 * thread: each place runs once, or in the same round of the only loop around it, so what threads
 * hold there can be compared.
 */
#include "cover.h"
#include "unit_text.h"
#include "writer.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 128
#define REGS 12

static void shuffle(struct writer *w)
{
	static const char *const modes[] = {"idx", "idx", "up", "down", "bfly"};
	static const uint32_t clamps[] = {31, 31, 0, 31, 31};
	uint32_t mode = pick(w, 5), d = pick(w, REGS), a = pick(w, REGS);

	put(w, "shfl.sync.%s.b32 %%r%u|%%p%u, %%r%u, ", modes[mode], d, pick(w, 6), a);
	if (pick(w, 4))
		put(w, "%u, ", pick(w, 3) ? 0 : pick(w, 32));
	else
		put(w, "%%r%u, ", pick(w, REGS));
	put(w, "%u, -1;\n", pick(w, 5) ? clamps[mode] : 0x1818 + clamps[mode] % 8);
}

static void role(struct writer *w)
{
	static const char *const ops[] = {"eq", "ne", "lt", "ge", "gt", "le"};
	uint32_t r = pick(w, REGS), p = pick(w, 6);

	switch (w->apart ? 4 * pick(w, 2) + pick(w, 2) : pick(w, 8)) {
	case 0:
		put(w, "mov.u32 %%r%u, %%laneid;\n", r);
		break;
	case 1:
		put(w, "mov.u32 %%r%u, %%warpid;\n", r);
		break;
	case 2:
		put(w, "mov.u32 %%r%u, %%ctaid.x;\n", r);
		break;
	case 3:
		put(w, "shr.u32 %%r%u, %%r0, %u;\n", r, 4 + pick(w, 4));
		break;
	case 7: /* the warp's number by its first lane */
		put(w, "shr.u32 %%r%u, %%r0, 5;\nshfl.sync.idx.b32 %%r%u, %%r%u, 0, 31, -1;\n", r,
			r, r);
		break;
	case 6:
		put(w, "elect.sync %%r%u|%%p%u, -1;\n", r, p);
		return;
	case 4:
		put(w, "and.b32 %%r%u, %%r0, %u;\n", r, pick(w, 2) ? 31 : 96);
		break;
	default:
		put(w, "mov.u32 %%r%u, %%tid.x;\n", r);
	}
	put(w, "setp.%s.%s32 %%p%u, %%r%u, %u;\n", ops[pick(w, 6)], pick(w, 2) ? "s" : "u", p, r,
		pick(w, 3) ? pick(w, 5) : pick(w, 128));
	if (!pick(w, 4))
		put(w, "%s.pred %%p%u, %%p%u, %%p%u;\n", pick(w, 2) ? "and" : "or", p, p,
			pick(w, 6));
	if (!pick(w, 6))
		put(w, "not.pred %%p%u, %%p%u;\n", p, p);
}

static void arithmetic(struct writer *w)
{
	static const char *const ops[] = {"add.s32", "sub.s32", "and.b32", "or.b32", "xor.b32",
		"min.u32", "max.s32", "mul.lo.s32", "shl.b32", "shr.u32"};
	uint32_t op = pick(w, 10), d = pick(w, REGS), a = pick(w, REGS);

	if (!pick(w, 5))
		put(w, "@%s%%p%u ", pick(w, 2) ? "!" : "", pick(w, 6));
	if (!pick(w, 6)) {
		put(w, "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;\n", d, a, pick(w, REGS), pick(w, 6));
		return;
	}
	if (op >= 8 || pick(w, 2))
		put(w, "%s %%r%u, %%r%u, %u;\n", ops[op], d, a, pick(w, op >= 8 ? 8 : 200));
	else
		put(w, "%s %%r%u, %%r%u, %%r%u;\n", ops[op], d, a, pick(w, REGS));
}

static void block(struct writer *w, uint32_t depth)
{
	for (uint32_t n = 2 + pick(w, 6); n; n--)
		switch (pick(w, depth < 3 ? (w->apart && depth ? 9 : 10) : 8)) {
		case 0:
		case 1:
			if (w->apart)
				arithmetic(w);
			else
				shuffle(w);
			break;
		case 2:
		case 3:
			role(w);
			break;
		case 8: {
			uint32_t label = w->labels++;

			role(w);
			put(w, "@%s%%p%u bra L%u;\n", pick(w, 2) ? "!" : "", pick(w, 6), label);
			block(w, depth + 1);
			put(w, "L%u:\n", label);
			break;
		}
		case 9: { /* rounds: a number of them, or as many as a register says */
			uint32_t label = w->labels++, c = 24 + depth;

			put(w, "mov.u32 %%r%u, 0;\n", c);
			put(w, "and.b32 %%r%u, %%r%u, 3;\nL%u:\n", c + 8, pick(w, REGS), label);
			block(w, w->apart ? 3 : depth + 1);
			put(w, "mov.u32 %%r%u, %%r%u;\n", pick(w, REGS), c);
			put(w, "add.s32 %%r%u, %%r%u, 1;\nsetp.lt.s32 %%p6, %%r%u, ", c, c, c);
			if (pick(w, 2))
				put(w, "%%r%u;\n@%%p6 bra L%u;\n", c + 8, label);
			else
				put(w, "3;\n@%%p6 bra L%u;\n", label);
			break;
		}
		default:
			arithmetic(w);
		}
}

static void write_program(struct writer *w, uint64_t seed)
{
	*w = (struct writer){.seed = seed * 7919 + 3, .apart = seed % 2};
	put(w, "mov.u32 %%r0, %%tid.x;\nld.param.u32 %%r1, [out];\n");
	for (uint32_t i = 2; i < REGS; i++)
		put(w, "mov.u32 %%r%u, %u;\n", i, pick(w, 300));
	for (uint32_t i = 0; i < 6; i++)
		put(w, "setp.lt.u32 %%p%u, %%r%u, 5;\n", i, i);
	for (uint32_t k = 0; k < 4; k++)
		block(w, 0);
	put(w, "ret;");
}

struct run {
	struct unit_text t;
	uint64_t seed;
	struct concrete lanes[THREADS];
	uint32_t n; /* lanes */
	uint64_t *regs;
	bool *written;
	uint32_t checked, same, apart;
	struct seen *seen; /* by instruction */
	uint32_t *rounds;  /* by instruction: how often this thread was there */
};

#define ROUNDS 4
#define OPERANDS 4

struct seen { /* what the first thread held that came by, by round and operand */
	bool any[ROUNDS];
	uint64_t v[ROUNDS][OPERANDS];
};

static void wrong(struct run *r, uint32_t insn, const char *what)
{
	fprintf(stderr, "%s\n", r->t.source.text);
	fail_msg("program %" PRIu64 ", line %u: %s", r->seed, unit_text_line(&r->t, insn), what);
}

static void check_operand(struct run *r, struct concrete *c, uint32_t insn, const struct operand *o)
{
	const struct values *vs = r->t.unit.values;
	uint32_t bits = c->fn->regs[o->id].bits;
	struct value v = value_of(vs, insn, o);
	char text[200], what[400];

	if (!c->written[o->id] || v.assumptions)
		return;
	r->checked++;
	if (!cover_has(vs, c, &v, concrete_operand(c, o), bits == 1 ? 8 : bits)) {
		value_print(vs, &v, text, sizeof(text));
		snprintf(what, sizeof(what), "thread %u: %" PRId64 " is not in %s", c->tid,
			(int64_t)concrete_operand(c, o), text);
		wrong(r, insn, what);
	}
	if (!value_uniform(vs, insn, o))
		return;
	r->same++;
	if (concrete_operand(c, o) != concrete_operand(&r->lanes[0], o))
		wrong(r, insn, "threads differ in what is called the same in all");
}

/* Called for each lane in turn, before any of them steps. */
static bool see(struct concrete *c, uint32_t insn)
{
	struct run *r = c->context;
	const struct insn *i = &c->fn->insns[insn];
	int decided = value_decided(r->t.unit.values, insn);

	if (i->guard != NONE && decided >= 0 && concrete_guard(c, i) != (decided == 1))
		wrong(r, insn, "a guard that is called decided is not");
	for (uint32_t k = 1; k < i->count && concrete_guard(c, i); k++)
		if (insn_operand(c->fn, i, k)->kind == OPERAND_REG)
			check_operand(r, c, insn, insn_operand(c->fn, i, k));
	return true;
}

/* Called for threads one after the other. */
static bool see_apart(struct concrete *c, uint32_t insn)
{
	struct run *r = c->context;
	const struct insn *i = &c->fn->insns[insn];
	uint32_t round = r->rounds[insn]++;
	struct seen *seen = &r->seen[insn];

	if (i->guard != NONE) /* seen in rounds only where it holds: not the same ones for all */
		return true;
	for (uint32_t k = 1; round < ROUNDS && k < i->count && k < OPERANDS; k++) {
		const struct operand *o = insn_operand(c->fn, i, k);

		if (o->kind != OPERAND_REG || !c->written[o->id] ||
			!value_uniform(r->t.unit.values, insn, o))
			continue;
		if (!seen->any[round])
			seen->v[round][k] = concrete_operand(c, o);
		r->apart++;
		if (seen->v[round][k] != concrete_operand(c, o))
			wrong(r, insn,
				"threads that part differ in what is called the same in all");
	}
	if (round < ROUNDS)
		seen->any[round] = true;
	return true;
}

static void run_apart(struct run *r)
{
	uint32_t ninsns = r->t.unit.fn->ninsns, nregs = r->t.unit.fn->nregs;

	r->seen = calloc(ninsns + 1, sizeof(*r->seen));
	r->rounds = calloc(ninsns + 1, sizeof(*r->rounds));
	for (uint32_t tid = 0; tid < THREADS; tid += 5) {
		struct concrete c = {.fn = r->t.unit.fn,
			.tid = tid,
			.ctaid = 7,
			.param = r->seed % 9,
			.shared_base = 1024,
			.other_base = 199936,
			.regs = r->regs,
			.written = r->written,
			.see = see_apart,
			.context = r};

		memset(r->regs, 0, sizeof(*r->regs) * nregs);
		memset(r->written, 0, sizeof(*r->written) * nregs);
		memset(r->rounds, 0, sizeof(*r->rounds) * ninsns);
		assert_true(concrete_run(&c, 600));
	}
	free(r->seen);
	free(r->rounds);
}

static void run_lanes(struct run *r, uint32_t first, uint32_t n)
{
	uint32_t nregs = r->t.unit.fn->nregs;

	r->n = n;
	memset(r->regs, 0, sizeof(*r->regs) * THREADS * nregs);
	memset(r->written, 0, sizeof(*r->written) * THREADS * nregs);
	for (uint32_t k = 0; k < n; k++)
		r->lanes[k] = (struct concrete){.fn = r->t.unit.fn,
			.tid = first + k,
			.ctaid = 7,
			.param = r->seed % 9,
			.shared_base = 1024,
			.other_base = 199936,
			.regs = r->regs + k * nregs,
			.written = r->written + k * nregs,
			.see = see,
			.context = r};
	assert_true(concrete_run_together(r->lanes, n, 600));
}

static void check_program(struct run *r, uint64_t seed, uint32_t assume)
{
	struct writer *w = malloc(sizeof(*w));

	write_program(w, seed);
	r->seed = seed;
	unit_text_parse(&r->t, w->text);
	r->t.options.assume = assume;
	unit_text_analyse(&r->t);
	r->regs = calloc(THREADS * r->t.unit.fn->nregs, sizeof(*r->regs));
	r->written = calloc(THREADS * r->t.unit.fn->nregs, sizeof(*r->written));
	run_lanes(r, 0, THREADS);
	for (uint32_t warp = 0; warp < THREADS / 32; warp++)
		run_lanes(r, 32 * warp, 32);
	if (w->apart)
		run_apart(r);
	free(r->regs);
	free(r->written);
	free(w);
	unit_text_free(&r->t);
}

static void test_value_of_threads_that_step_together(void **state)
{
	uint32_t rounds = writer_rounds(300);
	struct run *r = calloc(1, sizeof(*r));

	(void)state;
	for (uint32_t seed = 1; seed <= rounds; seed++)
		check_program(r, seed, seed % 3 ? 0 : ASSUME_ALL);
	assert_true(r->checked > 50000 && r->same > 5000 && r->apart > 5000);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_value_of_threads_that_step_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
