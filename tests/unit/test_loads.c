/* SPDX-License-Identifier: Apache-2.0 */
/* Where a load is complete: the load stands in the line after "LD:"; expected are body lines. */
#include "analysis/loads.h"
#include "unit_text.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct row {
	const char *name, *body, *expected;
};

static const struct row rows[] = {
	{"a store of the value completes it",
		"LD: ld.shared.u32 %r1, [tile];\nst.shared.u32 [other], %r1;\nbar.sync 0;\n"
		"st.shared.u32 [other], %r1;\nret;",
		"2"},
	{"a store of a sum of it too",
		"LD: ld.shared.u32 %r1, [tile];\nadd.s32 %r2, %r1, 1;\nst.shared.u32 [other], "
		"%r2;\n"
		"bar.sync 0;\nret;",
		"3"},
	{"arithmetic does not",
		"LD: ld.shared.u32 %r1, [tile];\nadd.s32 %r2, %r1, 1;\nbar.sync 0;\n"
		"st.shared.u32 [other], %r2;\nret;",
		"4"},
	{"a branch that needs it",
		"LD: ld.shared.u32 %r1, [tile];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra "
		"X;\nst.shared.u32 [other], "
		"%r2;\nX:\nbar.sync 0;\nst.shared.u32 [other], %r1;\nret;",
		"3"},
	{"a branch over nothing",
		"LD: ld.shared.u32 %r1, [tile];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra X;\nX:\n"
		"bar.sync 0;\nst.shared.u32 [other], %r1;\nret;",
		"6"},
	{"a branch over a sum that is used",
		"LD: ld.shared.u32 %r1, [tile];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra X;\nadd.u32 "
		"%r2, %r2, 1;\n"
		"X:\nbar.sync 0;\nst.shared.u32 [other], %r2;\nret;",
		""},
	{"a branch that does not need it",
		"LD: ld.shared.u32 %r1, [tile];\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 bra X;\nX:\n"
		"bar.sync 0;\nst.shared.u32 [other], %r1;\nret;",
		"6"},
	{"an atomic that needs it",
		"LD: ld.shared.u32 %r1, [tile];\natom.shared.add.u32 %r2, [other], %r1;\nbar.sync "
		"0;\nret;",
		"2"},
	{"no value at all", "LD: red.shared.add.u32 [tile], %r1;\nbar.sync 0;\nret;", "2"},
	{"a value that nobody uses", "LD: ld.shared.u32 %r1, [tile];\nbar.sync 0;\nret;", "2"},
	{"a value that is overwritten unused",
		"LD: ld.shared.u32 %r1, [tile];\nmov.u32 %r1, 0;\nbar.sync 0;\n"
		"st.shared.u32 [other], %r1;\nret;",
		"3"},
	{"a register that has been given another value says nothing",
		"LD: ld.shared.u32 %r1, [tile];\nadd.s32 %r2, %r1, 1;\nmov.u32 %r1, 0;\n"
		"st.shared.u32 [other], %r1;\nbar.sync 0;\nst.shared.u32 [other], %r2;\nret;",
		"6"},
	{"a store under a guard may not run",
		"LD: ld.shared.u32 %r1, [tile];\n@%p1 st.shared.u32 [other], %r1;\nbar.sync 0;\n"
		"st.shared.u32 [other], %r1;\nret;",
		"4"},
	{"one arm stores, the other does not",
		"LD: ld.shared.u32 %r1, [tile];\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 bra X;\n"
		"st.shared.u32 [other], %r1;\nX:\nbar.sync 0;\nst.shared.u32 [other], %r1;\nret;",
		"4 7"},
	{"the value of the iteration before does not complete this one",
		"mov.u32 %r1, 0;\nmov.u32 %r3, 0;\nL:\nst.shared.u32 [other], %r1;\n"
		"LD: ld.shared.u32 %r1, [tile];\nbar.sync 0;\nadd.s32 %r3, %r3, 1;\n"
		"setp.lt.s32 %p1, %r3, 9;\n@%p1 bra L;\nret;",
		"4 10"},
	{"an accumulator carries it along",
		"mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nL:\nLD: ld.shared.u32 %r1, [tile];\n"
		"add.s32 %r2, %r2, %r1;\nadd.s32 %r3, %r3, 1;\nsetp.lt.s32 %p1, %r3, 9;\n"
		"@%p1 bra L;\nst.shared.u32 [other], %r2;\nret;",
		"9"},
	{"what an accumulator took from earlier iterations is open until it is stored",
		"mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nL:\nadd.s32 %r2, %r2, %r1;\n"
		"LD: ld.shared.u32 %r1, [tile];\nadd.s32 %r3, %r3, 1;\nsetp.lt.s32 %p1, %r3, 9;\n"
		"@%p1 bra L;\nbar.sync 0;\nst.shared.u32 [other], %r2;\nret;",
		"10"},
	{"also on a way that loads the register anew without a look at it",
		"mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nL:\nLD: ld.shared.u32 %r1, [tile];\n"
		"setp.eq.s32 %p1, %r3, 0;\n@!%p1 bra M;\nadd.s32 %r2, %r2, %r1;\nM:\n"
		"add.s32 %r3, %r3, 1;\nsetp.lt.s32 %p1, %r3, 9;\n@%p1 bra L;\nbar.sync 0;\n"
		"st.shared.u32 [other], %r2;\nret;",
		"14"},
	{"a value that goes up the text, a step a round, is open until it is stored",
		"mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r4, 0;\nmov.u32 %r3, 0;\nL:\n"
		"mov.u32 %r4, %r2;\nmov.u32 %r2, %r1;\nLD: ld.shared.u32 %r1, [tile];\n"
		"add.s32 %r3, %r3, 1;\nsetp.lt.s32 %p1, %r3, 9;\n@%p1 bra L;\nbar.sync 0;\n"
		"st.shared.u32 [other], %r4;\nbar.sync 0;\nret;",
		"14"},
	{"a value picked by a guard may be the old one",
		"LD: ld.shared.u32 %r1, [tile];\nmov.u32 %r2, 0;\n@%p1 mov.u32 %r2, %r1;\n"
		"st.shared.u32 [other], %r2;\nbar.sync 0;\nst.shared.u32 [other], %r1;\nret;",
		"6"},
};

static uint32_t find_load(struct unit_text *t)
{
	const struct function *fn = &t->linked.fn;

	for (uint32_t i = 0; i < fn->nlabels; i++)
		if (names_text(t->names, fn->labels[i].name).size == 2 &&
			memcmp(names_text(t->names, fn->labels[i].name).text, "LD", 2) == 0)
			return fn->labels[i].insn;
	fail_msg("no label LD");
	return 0;
}

static int by_number(const void *a, const void *b)
{
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

static void print_lines(struct unit_text *t, struct ids ends, char *out, size_t size)
{
	uint32_t lines[16], n = 0;
	size_t used = 0;

	for (uint32_t i = 0; i < ends.n && n < 16; i++)
		lines[n++] = unit_text_line(t, ends.v[i]);
	qsort(lines, n, sizeof(*lines), by_number);
	out[0] = 0;
	for (uint32_t i = 0; i < n; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%u", i ? " " : "", lines[i]);
}

static void test_loads_completed_at(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct unit_text t;
		char got[128];

		unit_text_parse(&t, rows[i].body);
		unit_text_analyse(&t);
		uint32_t load = find_load(&t);
		struct loads *loads = loads_prepare(&t.unit, (struct ids){&load, 1});

		print_lines(&t, load_completed_at(loads, load), got, sizeof(got));
		if (strcmp(got, rows[i].expected) != 0)
			fail_msg(
				"%s: expected '%s', got '%s'", rows[i].name, rows[i].expected, got);
		unit_text_free(&t);
	}
}

static uint32_t all_loads(struct unit_text *t, uint32_t *insns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->unit.fn->ninsns; i++)
		if (t->unit.fn->insns[i].op == OP_ld)
			insns[n++] = i;
	return n;
}

/* More registers than a word has bits stand between a value and what is made of it. */
static void test_loads_keep_what_belongs_together(void **state)
{
	struct unit_text t;
	uint32_t insns[100], n;
	char body[8000], got[128];
	size_t used = (size_t)snprintf(body, sizeof(body),
		"LD: ld.shared.u32 %%r1, [tile];\nadd.s32 %%r2, %%r1, 1;\n");

	(void)state;
	for (int i = 10; i < 50; i++)
		used += (size_t)snprintf(body + used, sizeof(body) - used,
			"ld.shared.u32 %%r%d, [tile];\nst.shared.u32 [other+%d], %%r%d;\n", i, 4 * i, i);
	for (int i = 0; i < 20; i++)
		used += (size_t)snprintf(body + used, sizeof(body) - used,
			"ld.shared.u64 %%rd%d, [tile];\nld.shared.f32 %%f%d, [tile];\n", i, i);
	snprintf(body + used, sizeof(body) - used,
		"bar.sync 0;\nst.shared.u32 [other], %%r2;\nbar.sync 0;\nret;");
	unit_text_parse(&t, body);
	unit_text_analyse(&t);
	n = all_loads(&t, insns);
	assert_int_equal(n, 81);
	struct loads *loads = loads_prepare(&t.unit, (struct ids){insns, n});

	print_lines(&t, load_completed_at(loads, insns[0]), got, sizeof(got));
	assert_string_equal(got, "124");
	print_lines(&t, load_completed_at(loads, insns[1]), got, sizeof(got));
	assert_string_equal(got, "4");
	print_lines(&t, load_completed_at(loads, insns[80]), got, sizeof(got));
	assert_string_equal(got, "123");
	unit_text_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_loads_completed_at),
		cmocka_unit_test(test_loads_keep_what_belongs_together)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
