/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that look at one thread's way: bulk-store-unwaited, mbarrier-init-unfenced and
 * tensormap-unfenced. Each row gives a body and the findings as "rule: place > second place", the
 * places as opcodes' first words with the number of the instruction.
 */
#include "analysis/link.h"
#include "analysis/unit.h"
#include "analysis/audit.h"
#include "base/rules.h"
#include "ptx_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                                                       \
	".version 8.6\n.target sm_90a\n.address_size 64\n.entry k(.param .u64 out, .param .align " \
	"128 .b8 map[128]) {\n"                                                                    \
	".reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>;\n"                                 \
	".shared .align 128 .b8 buf[1024]; .shared .align 128 .b8 two[1024]; .shared .b64 bar;\n"
#define BUF "mov.u32 %r1, buf; mov.u32 %r2, two; mov.u32 %r3, %tid.x; ld.param.u64 %rd1, [out];\n"
#define PART "shl.b32 %r5, %r3, 4; add.u32 %r1, %r1, %r5; add.u32 %r2, %r2, %r5;\n" /* a thread's own */
#define LEADER "setp.ne.u32 %p1, %r3, 0;\n"
#define STORE "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 1024;\n"
#define COMMIT "cp.async.bulk.commit_group;\n"
#define WAIT(n) "cp.async.bulk.wait_group.read " #n ";\n"
#define WRITE "st.shared.b32 [%r1+16], %r9;\n"

struct check {
	const char *name, *body, *expected;
};

static const struct check checks[] = {
#include "checks.inc"
};

static void prepare(struct ptx_text *t, struct linked *l, struct analysis_options *options,
	struct budget *budget, struct unit *unit)
{
	struct arena *arena = &t->arena;

	if (!link_calls(&t->modules.v[0], ptx_text_find(t, "k"), arena, l, &t->diags))
		fail_msg("not linked");
	*options = (struct analysis_options){.hazards = 7,
		.shared = true,
		.global = true,
		.cross_threads = true,
		.assume = ASSUME_ALL,
		.rules = UINT32_MAX};
	budget_start(budget, 60);
	*unit = (struct unit){.module = &t->modules.v[0],
		.fn = &l->fn,
		.options = options,
		.lasting = arena,
		.arena = arena,
		.budget = budget};
	unit->effects = effects_of(unit->fn, arena);
	cfg_build(l, unit->effects, arena, &unit->cfg);
	unit->values =
		values_solve(unit->fn, &unit->cfg, options, arena, budget, &unit->assumptions);
	access_collect(unit->fn, &unit->cfg, unit->values, options, true, arena, &unit->accesses);
}

static void print_place(const struct unit *unit, uint32_t insn, FILE *out)
{
	if (insn == NONE)
		fprintf(out, "end");
	else
		fprintf(out, "%s@%u", opcode_text((enum opcode)unit->fn->insns[insn].op), insn);
}

static char *run_checks(const char *body)
{
	struct ptx_text t;
	struct linked l;
	struct analysis_options options;
	struct budget budget;
	struct unit unit;
	struct check_finding *found;
	uint32_t n;
	char *text, ptx[8192];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	snprintf(ptx, sizeof(ptx), "%s%s\n}\n", HEAD, body);
	ptx_text_parse(&t, ptx);
	prepare(&t, &l, &options, &budget, &unit);
	checks_run(&unit, &found, &n);
	for (uint32_t i = 0; i < n; i++) {
		fprintf(out, "%s: ", rule_text((enum rule)found[i].rule));
		print_place(&unit, found[i].insn, out);
		fprintf(out, " > ");
		print_place(&unit, found[i].other, out);
		fputc('\n', out);
	}
	fclose(out);
	ptx_text_free(&t);
	return text;
}

static void test_checks_find_what_is_wrong_and_no_more(void **state)
{
	uint32_t failed = 0;

	(void)state;
	for (uint32_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		char *text = run_checks(checks[i].body);

		if (strcmp(text, checks[i].expected) && ++failed)
			print_error("%s\n--- expected\n%s--- saw\n%s", checks[i].name,
				checks[i].expected, text);
		free(text);
	}
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checks_find_what_is_wrong_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
