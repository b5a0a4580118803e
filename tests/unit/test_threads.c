/* SPDX-License-Identifier: Apache-2.0 */
/* What a predicate is in one thread, and in how many it is the same: that of the guarded store in the body. */
#include "analysis/thread_truths.h"
#include "analysis/value_private.h"
#include "unit_text.h"

#include <stdarg.h>
#include <setjmp.h>

#include <cmocka.h>

struct row {
	const char *name, *body;
	uint16_t tid;
	enum truth truth;
	uint32_t alike;
};

#define STORE "@%p1 st.shared.u32 [tile], %r9;\nret;"

static const struct row rows[] = {
	{"a thread's number", "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n" STORE, 6, TRUTH_YES, 1},
	{"one that is too large", "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n" STORE, 7, TRUTH_NO, 1},
	{"that of a warp",
		"mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nsetp.eq.s32 %p1, %r2, 1;\n" STORE, 40,
		TRUTH_YES, 32},
	{"a constant", "mov.u32 %r1, 3;\nsetp.eq.s32 %p1, %r1, 3;\n" STORE, 5, TRUTH_YES, THREADS_MAX},
	{"that of the CTA is open for all",
		"mov.u32 %r1, %ctaid.x;\nsetp.eq.s32 %p1, %r1, 3;\n" STORE, 5, TRUTH_OPEN, THREADS_MAX},
	{"a thread's number against one that is not known",
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p1, %r1, %r2;\n" STORE, 5,
		TRUTH_OPEN, THREADS_MAX},
	{"the other way round",
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p1, %r2, %r1;\n" STORE, 5,
		TRUTH_OPEN, THREADS_MAX},
	{"a sum with one that is not known",
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nadd.s32 %r3, %r1, %r2;\n"
		"setp.lt.u32 %p1, %r3, 100;\n" STORE, 5, TRUTH_OPEN, THREADS_MAX},
	{"one side is enough, in some threads",
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p2, %r1, 7;\n"
		"setp.eq.s32 %p3, %r2, 0;\nand.pred %p1, %p2, %p3;\n" STORE, 5, TRUTH_OPEN, 1},
	{"and in others",
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p2, %r1, 7;\n"
		"setp.eq.s32 %p3, %r2, 0;\nand.pred %p1, %p2, %p3;\n" STORE, 8, TRUTH_NO, 1},
	{"what a thread selects may be unknown in it alone",
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p2, %r1, 7;\n"
		"selp.u32 %r3, %r2, 1, %p2;\nsetp.eq.s32 %p1, %r3, 1;\n" STORE, 5, TRUTH_OPEN, 1},
	{"and known in another",
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p2, %r1, 7;\n"
		"selp.u32 %r3, %r2, 1, %p2;\nsetp.eq.s32 %p1, %r3, 1;\n" STORE, 8, TRUTH_YES, 1},
	{"tid % 256 / 128",
		"mov.u32 %r1, %tid.x;\nshr.s32 %r2, %r1, 31;\nshr.u32 %r3, %r2, 24;\nadd.s32 %r4, %r1, %r3;\n"
		"and.b32 %r5, %r4, -256;\nsub.s32 %r6, %r1, %r5;\nshr.s32 %r7, %r6, 7;\nsetp.eq.s32 %p1, %r7, 1;\n" STORE,
		200, TRUTH_YES, 32},
	{"a warp further, and less than one",
		"mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 64;\nshr.u32 %r3, %r2, 5;\nsetp.eq.s32 %p1, %r3, 3;\n" STORE, 40,
		TRUTH_YES, 32},
	{"less than a warp further",
		"mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 16;\nshr.u32 %r3, %r2, 5;\nsetp.eq.s32 %p1, %r3, 0;\n" STORE, 5,
		TRUTH_YES, 1},
	{"added to a product",
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, 3;\nmad.lo.s32 %r3, %r2, %r2, %r1;\nshr.u32 %r4, %r3, 5;\n"
		"setp.eq.s32 %p1, %r4, 0;\n" STORE, 5, TRUTH_YES, 1},
	{"taken from a number",
		"mov.u32 %r1, %tid.x;\nsub.s32 %r2, 0, %r1;\nshr.s32 %r3, %r2, 5;\nsetp.eq.s32 %p1, %r3, -1;\n" STORE, 5,
		TRUTH_YES, 1},
	{"the length of a field",
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, 255;\nmov.u32 %r3, 0;\nbfe.u32 %r4, %r2, %r3, %r1;\n"
		"shr.u32 %r5, %r4, 5;\nsetp.eq.s32 %p1, %r5, 0;\n" STORE, 5, TRUTH_YES, 1},
	{"in bits turned over",
		"mov.u32 %r1, %tid.x;\nnot.b32 %r2, %r1;\nshr.s32 %r3, %r2, 5;\nsetp.eq.s32 %p1, %r3, -1;\n" STORE, 5,
		TRUTH_YES, 32},
	{"a remainder, divided",
		"mov.u32 %r1, %tid.x;\nrem.u32 %r2, %r1, 96;\ndiv.u32 %r3, %r2, 32;\nsetp.eq.s32 %p1, %r3, 1;\n" STORE, 130,
		TRUTH_YES, 32},
	{"a remainder by less than a warp",
		"mov.u32 %r1, %tid.x;\nrem.u32 %r2, %r1, 48;\ndiv.u32 %r3, %r2, 32;\nsetp.eq.s32 %p1, %r3, 0;\n" STORE, 50,
		TRUTH_YES, 1},
	{"a quotient by no whole warps", "mov.u32 %r1, %tid.x;\ndiv.u32 %r2, %r1, 48;\nsetp.eq.s32 %p1, %r2, 1;\n" STORE, 50,
		TRUTH_YES, 1},
	{"below a whole warp", "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 64;\n" STORE, 40, TRUTH_YES, 32},
	{"at most the first of a warp", "mov.u32 %r1, %tid.x;\nsetp.le.u32 %p1, %r1, 64;\n" STORE, 64, TRUTH_YES, 1},
	{"the first of a warp", "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 64;\n" STORE, 64, TRUTH_YES, 1},
	{"above the last of a warp", "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 63;\n" STORE, 70, TRUTH_YES, 32},
	{"a lane's number", "mov.u32 %r1, %laneid;\nand.b32 %r2, %r1, 127;\nshr.u32 %r3, %r2, 5;\nsetp.eq.s32 %p1, %r3, 0;\n" STORE,
		70, TRUTH_YES, 32},
	{"some of a lane's bits", "mov.u32 %r1, %laneid;\nand.b32 %r2, %r1, 15;\nsetp.lt.u32 %p1, %r2, 7;\n" STORE, 70,
		TRUTH_YES, 1},
};

static uint32_t guard_of_store(const struct unit *unit)
{
	uint32_t insn = 0;

	while (unit->fn->insns[insn].guard == NONE)
		insn++;
	return unit->values->ssa.guard_of[insn];
}

static void test_threads_compute(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct unit_text t;
		uint32_t alike;

		unit_text_parse(&t, rows[i].body);
		unit_text_analyse(&t);
		enum truth truth = thread_compute(t.unit.values, (struct thread){rows[i].tid, false},
			guard_of_store(&t.unit), &alike);

		if (truth != rows[i].truth || alike != rows[i].alike)
			fail_msg("%s: truth %d for %u threads", rows[i].name, (int)truth, alike);
		unit_text_free(&t);
	}
}

/* Where the lanes of a warp are said to have one outcome, each has it. */
static void test_alike(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct unit_text t;
		uint32_t alike, other;

		unit_text_parse(&t, rows[i].body);
		unit_text_analyse(&t);
		uint32_t node = guard_of_store(&t.unit);

		for (uint32_t tid = 0; tid < 512; tid++) {
			struct thread first = {(uint16_t)(tid & ~31u), false}, thread = {(uint16_t)tid, false};
			enum truth here = thread_compute(t.unit.values, thread, node, &alike);
			enum truth there = thread_compute(t.unit.values, first, node, &other);

			if ((alike > 1 || other > 1) && here != there)
				fail_msg("%s: thread %u is not like its warp", rows[i].name, tid);
		}
		unit_text_free(&t);
	}
}

/* In all threads up to there the outcome is that of the first one, and the last bound is all threads. */
static void check_ends(const char *how, int constant)
{
	struct unit_text t;
	char body[200];
	uint32_t end = 0, alike;

	snprintf(body, sizeof(body), "mov.u32 %%r1, %%tid.x;\nsetp.%s %%p1, %%r1, %d;\n%s", how,
		constant, STORE);
	unit_text_parse(&t, body);
	unit_text_analyse(&t);
	const struct values *vs = t.unit.values;
	uint32_t node = guard_of_store(&t.unit);
	enum truth first = TRUTH_OPEN;

	for (uint32_t tid = 0, rounds = 0; tid < THREADS_MAX; tid++) {
		enum truth truth = thread_compute(vs, (struct thread){(uint16_t)tid, false}, node, &alike);

		if (tid == end) {
			first = truth;
			end = thread_compare_end(vs, tid, node);
			if (end <= tid || end > THREADS_MAX || ++rounds > 3)
				fail_msg("%s %d: %u to %u", how, constant, tid, end);
		}
		if (truth == TRUTH_OPEN || truth != first)
			fail_msg("%s %d: another one in %u", how, constant, tid);
	}
	unit_text_free(&t);
}

static void test_threads_compare_end(void **state)
{
	static const char *const how[] = {"eq.s32", "ne.s32", "lt.s32", "le.s32", "gt.s32", "ge.s32",
		"eq.u32", "ne.u32", "lt.u32", "le.u32", "gt.u32", "ge.u32", "lo.u32", "ls.u32", "hi.u32",
		"hs.u32"};
	static const int constants[] = {0, 1, 31, 32, 63, 64, 127, 1022, 1023};

	(void)state;
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++)
		for (size_t k = 0; k < sizeof(constants) / sizeof(constants[0]); k++)
			check_ends(how[i], constants[k]);
}

struct given_row {
	const char *name, *body; /* from the phi in %r1; the predicate of the store */
	uint64_t phi;
	bool known, holds;
};

#define ROUND(body) "mov.u32 %r1, 0;\nL:\n" body "@%p1 st.shared.u32 [tile], %r9;\n" \
	"add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p2, %r1, 9;\n@%p2 bra L;\nret;"

static const struct given_row given_rows[] = {
	{"a number that is given", ROUND("setp.eq.s32 %p1, %r1, 5;\n"), 5, true, true},
	{"another one", ROUND("setp.eq.s32 %p1, %r1, 5;\n"), 4, true, false},
	{"under a guard that holds",
		ROUND("mov.u32 %r2, 1;\nsetp.eq.s32 %p3, %r1, 5;\n@%p3 mov.u32 %r2, 7;\nsetp.eq.s32 %p1, %r2, 7;\n"),
		5, true, true},
	{"under one that fails",
		ROUND("mov.u32 %r2, 1;\nsetp.eq.s32 %p3, %r1, 5;\n@%p3 mov.u32 %r2, 7;\nsetp.eq.s32 %p1, %r2, 1;\n"),
		4, true, true},
	{"what depends on the thread", ROUND("mov.u32 %r2, %tid.x;\nsetp.eq.s32 %p1, %r2, %r1;\n"), 5, false, false},
};

static bool phi_is(void *data, uint32_t node, uint64_t *out)
{
	(void)node;
	*out = *(const uint64_t *)data;
	return true;
}

static void test_what_follows_from_a_phi(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(given_rows) / sizeof(*given_rows); i++) {
		struct given_row row = given_rows[i];
		struct thread_given given = {phi_is, &row.phi};
		struct unit_text t;
		uint64_t v = 0;
		uint32_t k = 0;

		unit_text_parse(&t, row.body);
		unit_text_analyse(&t);
		while (t.unit.fn->insns[k].op != OP_st)
			k++;
		if (thread_node_given(t.unit.values, &given, t.unit.values->ssa.guard_of[k], &v) != row.known ||
			(row.known && (v != 0) != row.holds))
			fail_msg("%s", row.name);
		unit_text_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_follows_from_a_phi), cmocka_unit_test(test_threads_compute),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_threads_compare_end)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
