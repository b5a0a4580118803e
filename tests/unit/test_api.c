/* SPDX-License-Identifier: Apache-2.0 */
/* The public interface: options by name, sizes of other versions, errors, and calls side by side.
 */
#include "lib/fencepost.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char missing[] =
	".version 8.3\n.target sm_90a\n.address_size 64\n"
	".visible .entry k(.param .u64 p)\n.maxntid 128, 1, 1\n{\n"
	"\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<2>;\n\t.reg .pred %p<2>;\n"
	"\t.shared .align 128 .b8 tile[512];\n"
	"\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, tile;\n"
	"\tshl.b32 %r3, %r1, 2;\n\tadd.s32 %r3, %r3, %r2;\n"
	"\tst.shared.u32 [%r3], %r1;\n\tbar.sync 0;\n"
	"\tsetp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra DONE;\n"
	"\tcp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 512;\n"
	"\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\nDONE:\n\tret;\n}\n";

struct set_row {
	const char *name, *value;
	bool good;
	const char *error; /* a part of the message */
};

static void test_options_set(void **state)
{
	static const struct set_row rows[] = {{"rules", "missing-raw,fence-too-wide", true, NULL},
		{"--rules", "-missing-war", true, NULL},
		{"rules", "missing-ram", false, "missing-ram"},
		{"rules", "", false, "needs a value"}, {"rules", NULL, false, "needs a value"},
		{"hazards", "raw,waw", true, NULL}, {"hazards", "none", false, "none"},
		{"spaces", "global", true, NULL}, {"spaces", "tensor", false, "tensor"},
		{"threads", "same", true, NULL}, {"threads", "all", false, "all"},
		{"placement", "async", true, NULL}, {"fix", "none", true, NULL},
		{"fix", "missing,wide", true, NULL}, {"assume", "none", true, NULL},
		{"assume", "-no-wrap", true, NULL}, {"assume", "luck", false, "luck"},
		{"cp-async", "trust", true, NULL}, {"strict", NULL, true, NULL},
		{"strict", "1", false, "takes no value"}, {"calls", "worst", true, NULL},
		{"budget", "0.5", true, NULL}, {"budget", "-1", false, "-1"},
		{"budget", "x", false, "x"}, {"mutate", NULL, true, NULL},
		{"speed", "fast", false, "speed"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct fencepost_options options, before;
		char error[600] = "";

		fencepost_options_init(&options, sizeof(options));
		before = options;
		bool good = fencepost_options_set(
			&options, rows[i].name, rows[i].value, error, sizeof(error));

		if (good != rows[i].good)
			fail_msg("%s=%s: %s", rows[i].name, rows[i].value, error);
		if (!good && !strstr(error, rows[i].error))
			fail_msg("%s=%s: says `%s'", rows[i].name, rows[i].value, error);
		if (!good)
			assert_memory_equal(&before, &options, sizeof(options));
	}
}

static void test_lists_add_and_take_away(void **state)
{
	struct fencepost_options options;
	char error[200];

	(void)state;
	fencepost_options_init(&options, sizeof(options));
	uint32_t all = options.rules;

	assert_true(fencepost_options_set(&options, "rules", "-missing-raw", error, sizeof(error)));
	assert_int_equal(options.rules, all & ~1u);
	assert_true(fencepost_options_set(&options, "rules", "missing-raw", error, sizeof(error)));
	assert_int_equal(options.rules, 1);
	assert_true(fencepost_options_set(&options, "hazards", "waw,war", error, sizeof(error)));
	assert_int_equal(options.hazards, FENCEPOST_HAZARD_WAW | FENCEPOST_HAZARD_WAR);
}

static void test_rewrite(void **state)
{
	struct fencepost_options options;
	struct fencepost_result *result, *again;

	(void)state;
	fencepost_options_init(&options, sizeof(options));
	assert_int_equal(
		fencepost_run(&options, "k", missing, strlen(missing), &result), FENCEPOST_OK);
	assert_true(result->changed);
	assert_int_equal(result->inserted, 1);
	assert_int_equal(result->edges_left, 0);
	assert_int_equal(result->nfindings, 1);
	assert_string_equal(fencepost_rule_name(result->findings[0]->rule), "missing-raw");
	assert_int_equal(result->findings[0]->generic->line, 16);
	assert_string_equal(result->findings[0]->generic->opcode, "st.shared.u32");
	assert_string_equal(result->kernels[0]->name, "k");
	assert_int_equal(result->kernels[0]->verdict, FENCEPOST_FINDINGS);
	assert_string_equal(result->fences[0]->bytes, "fence.proxy.async.shared::cta;\n\t");
	assert_int_equal(
		fencepost_run(&options, "k", result->ptx, result->ptx_size, &again), FENCEPOST_OK);
	assert_false(again->changed);
	assert_int_equal(again->kernels[0]->verdict, FENCEPOST_CLEAN);
	fencepost_free(again);
	fencepost_free(result);
}

/* A store whose source is written over is a finding, and a fence that nothing needs; neither changes the text. */
static void test_text_only(void **state)
{
	static const char text[] =
		".version 8.3\n.target sm_90a\n.address_size 64\n"
		".visible .entry k(.param .u64 p)\n.maxntid 1, 1, 1\n{\n"
		"\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<2>;\n\t.shared .align 16 .b8 tile[16];\n"
		"\tld.param.u64 %rd1, [p];\n\tst.shared.u32 [tile], 1;\n"
		"\tfence.proxy.async.shared::cta;\n\tfence.proxy.async.shared::cta;\n"
		"\tcp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 16;\n"
		"\tcp.async.bulk.commit_group;\n\tret;\n}\n";
	struct fencepost_options options;
	struct fencepost_result *result;

	(void)state;
	fencepost_options_init(&options, sizeof(options));
	assert_int_equal(options.text_only, 0);
	for (int k = 0; k < 3; k++) {
		options.text_only = k > 0;
		options.mutate = k == 2; /* asks for more than the text */
		assert_int_equal(fencepost_run(&options, "k", text, strlen(text), &result), FENCEPOST_OK);
		assert_false(result->changed);
		assert_int_equal(result->edges_left, 0);
		assert_int_equal(result->nfindings, k == 1 ? 0 : 2);
		assert_int_equal(result->mutated, k == 2);
		fencepost_free(result);
	}
}

static void test_other_sizes_of_options(void **state)
{
	struct {
		struct fencepost_options options;
		char more[64];
	} newer;
	struct fencepost_result *result;
	struct fencepost_options older;

	(void)state;
	memset(&newer, 0x5a, sizeof(newer));
	fencepost_options_init(&newer.options, sizeof(newer));
	assert_int_equal(newer.options.size, sizeof(newer));
	assert_int_equal(newer.more[0], 0);
	assert_int_equal(fencepost_run(&newer.options, "k", missing, strlen(missing), &result),
		FENCEPOST_OK);
	fencepost_free(result);

	/* a caller from before `select': the bytes behind its struct are not ours to read */
	memset(&older, 0x5a, sizeof(older));
	fencepost_options_init(&older, offsetof(struct fencepost_options, select));
	assert_int_equal(
		fencepost_run(&older, "k", missing, strlen(missing), &result), FENCEPOST_OK);
	assert_int_equal(result->nkernels, 1);
	fencepost_free(result);
	older.size = 0;
	result = (struct fencepost_result *)&older;
	assert_int_equal(fencepost_run(&older, "k", missing, strlen(missing), &result),
		FENCEPOST_BAD_OPTIONS);
	assert_null(result);
}

static void test_bad_options(void **state)
{
	struct fencepost_options options;
	struct fencepost_result *result;

	(void)state;
	fencepost_options_init(&options, sizeof(options));
	options.calls = 17;
	assert_int_equal(fencepost_run(&options, "k", missing, strlen(missing), &result),
		FENCEPOST_BAD_OPTIONS);
	fencepost_options_init(&options, sizeof(options));
	options.assume = ~0u;
	assert_int_equal(fencepost_run(&options, "k", missing, strlen(missing), &result),
		FENCEPOST_BAD_OPTIONS);
}

static void test_bad_input(void **state)
{
	static const char *const texts[] = {
		"", "hello", ".version 8.3\n.target sm_90a\n.entry k() { ret }\n"};
	struct fencepost_options options;

	(void)state;
	fencepost_options_init(&options, sizeof(options));
	for (size_t i = 0; i < 3; i++) {
		struct fencepost_result *result = NULL;

		assert_int_equal(
			fencepost_run(&options, "bad", texts[i], strlen(texts[i]), &result),
			FENCEPOST_BAD_INPUT);
		assert_non_null(result);
		assert_null(result->ptx);
		assert_true(result->ndiagnostics > 0);
		assert_int_equal(result->diagnostics[0]->level, FENCEPOST_ERROR);
		assert_int_equal(result->nkernels, 0);
		fencepost_free(result);
	}
	fencepost_free(NULL);
}

/* A result does not look into the caller's bytes once the call is over. */
static void test_result_is_its_own(void **state)
{
	struct fencepost_options options;
	struct fencepost_result *result;
	char *copy = strdup(missing);

	(void)state;
	fencepost_options_init(&options, sizeof(options));
	assert_int_equal(fencepost_run(&options, "k", copy, strlen(copy), &result), FENCEPOST_OK);
	memset(copy, 'x', strlen(copy));
	free(copy);
	assert_non_null(strstr(result->ptx, "fence.proxy.async.shared::cta;"));
	assert_non_null(strstr(result->findings[0]->message, "st.shared.u32"));
	fencepost_free(result);
}

static bool select_none(const char *kernel, void *context)
{
	++*(int *)context;
	return strcmp(kernel, "k") != 0;
}

static void test_select(void **state)
{
	struct fencepost_options options;
	struct fencepost_result *result;
	int asked = 0;

	(void)state;
	fencepost_options_init(&options, sizeof(options));
	options.select = select_none;
	options.select_context = &asked;
	assert_int_equal(
		fencepost_run(&options, "k", missing, strlen(missing), &result), FENCEPOST_OK);
	assert_int_equal(asked, 1);
	assert_false(result->changed);
	assert_int_equal(result->nkernels, 0);
	fencepost_free(result);
}

#define HEAD ".version 8.3\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 s[256];\n"
#define CALL(F) "\t{\n\tcall.uni " F ", ();\n\t}\n"
#define STORE "\tst.shared.u32 [s], 1;\n"
#define COPY                                                                                       \
	"\tld.param.u64 %rd1, [p];\n\tcp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], "   \
	"16;\n"                                                                                    \
	"\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\n"
#define KERNEL(NAME, BODY)                                                                         \
	".visible .entry " NAME "(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n" BODY "\tret;\n}\n"
#define FUNCTION(NAME, BODY) ".func " NAME "()\n{\n" BODY "\tret;\n}\n"

static struct fencepost_result *run_text(const char *text, const char *fix)
{
	struct fencepost_options options;
	struct fencepost_result *result;
	char error[200];

	fencepost_options_init(&options, sizeof(options));
	assert_true(fencepost_options_set(&options, "fix", fix, error, sizeof(error)));
	assert_int_equal(
		fencepost_run(&options, "k", text, strlen(text), &result), FENCEPOST_OK);
	return result;
}

/* The callee stands behind its caller and is met first. */
static void test_functions_that_others_run_are_no_kernels(void **state)
{
	struct fencepost_result *result = run_text(
		HEAD ".func g();\n" FUNCTION("f", CALL("g")) FUNCTION("g", STORE "\tfence.proxy.async;\n"),
		"missing");

	(void)state;
	assert_int_equal(result->nkernels, 1);
	assert_string_equal(result->kernels[0]->name, "f");
	fencepost_free(result);
}

static void test_hints_of_several_kernels_are_spoken_of_once(void **state)
{
	struct fencepost_result *result = run_text(
		HEAD FUNCTION("f", "\t// fencepost: ignore no reason\n" STORE "\tfence.proxy.async;\n")
			KERNEL("k", CALL("f") COPY) KERNEL("l", CALL("f") COPY),
		"missing");
	uint32_t unused = 0;

	(void)state;
	for (uint32_t i = 0; i < result->nfindings; i++)
		unused += !strcmp(fencepost_rule_name(result->findings[i]->rule), "hint-unused");
	assert_int_equal(unused, 1);
	fencepost_free(result);
}

/* Of two calls one needs the fence. */
static void test_fences_that_one_call_needs_stay(void **state)
{
	struct fencepost_result *result = run_text(
		HEAD FUNCTION("f", "\tfence.proxy.async.shared::cta;\n")
			KERNEL("k", CALL("f") STORE CALL("f") COPY),
		"missing,misplaced,wide,redundant");

	(void)state;
	assert_int_equal(result->nfences, 0);
	fencepost_free(result);
	result = run_text(HEAD FUNCTION("f", "\tfence.proxy.async.shared::cta;\n") KERNEL("k", CALL("f") STORE CALL("f")),
		"missing,misplaced,wide,redundant");
	assert_int_equal(result->removed, 1);
	fencepost_free(result);
}

/* What is put into one kernel makes the fence of a callee spare there, not in the other one. */
static void test_fences_that_another_kernel_needs_stay(void **state)
{
	struct fencepost_result *result = run_text(
		HEAD FUNCTION("f", "\tfence.proxy.async.shared::cta;\n")
			KERNEL("k", STORE COPY CALL("f") COPY) KERNEL("l", STORE CALL("f") COPY),
		"missing,misplaced,wide,redundant");

	(void)state;
	assert_int_equal(result->inserted, 1);
	assert_int_equal(result->removed, 0);
	fencepost_free(result);
	result = run_text(HEAD FUNCTION("f", "\tfence.proxy.async.shared::cta;\n")
				  KERNEL("k", STORE COPY CALL("f") COPY),
		"missing,misplaced,wide,redundant");
	assert_int_equal(result->inserted, 1);
	assert_int_equal(result->removed, 1);
	fencepost_free(result);
}

static void test_any_declaration_may_say_noreturn(void **state)
{
	struct fencepost_result *result =
		run_text(HEAD ".extern .func f() .noreturn;\n.extern .func f();\n" KERNEL(
				 "k", STORE CALL("f") COPY),
			"missing");

	(void)state;
	assert_int_equal(result->inserted, 0);
	fencepost_free(result);
	result = run_text(HEAD ".extern .func f();\n" KERNEL("k", STORE CALL("f") COPY), "missing");
	assert_int_equal(result->inserted, 1);
	fencepost_free(result);
}

static void *run_many(void *argument)
{
	struct fencepost_options options;
	const char *expected = argument;

	fencepost_options_init(&options, sizeof(options));
	for (int i = 0; i < 50; i++) {
		struct fencepost_result *result;

		if (fencepost_run(&options, "k", missing, strlen(missing), &result) !=
				FENCEPOST_OK ||
			strcmp(result->ptx, expected) != 0)
			return argument;
		fencepost_free(result);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct fencepost_options options;
	struct fencepost_result *result;
	pthread_t threads[4];
	char *expected;

	(void)state;
	fencepost_options_init(&options, sizeof(options));
	assert_int_equal(
		fencepost_run(&options, "k", missing, strlen(missing), &result), FENCEPOST_OK);
	expected = strdup(result->ptx);
	fencepost_free(result);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_many, expected), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	free(expected);
}

/* Past the budget a function is incomplete and its text stays. The clock is read now and then only,
 * so it takes a function of some size. */
static void test_budget(void **state)
{
	const char line[] = "\tst.shared.u32 [%r3], %r1;\n", *at = strstr(missing, line);
	size_t many = 3000, head = (size_t)(at - missing), n = strlen(line),
	       size = strlen(missing) + many * n;
	char *text = malloc(size + 1);
	struct fencepost_options options;
	struct fencepost_result *result;

	(void)state;
	memcpy(text, missing, head);
	for (size_t i = 0; i < many; i++)
		memcpy(text + head + i * n, line, n);
	strcpy(text + head + many * n, at);
	fencepost_options_init(&options, sizeof(options));
	options.budget_seconds = 1e-9;
	assert_int_equal(fencepost_run(&options, "k", text, size, &result), FENCEPOST_OK);
	assert_true(result->kernels[0]->incomplete);
	assert_int_equal(result->kernels[0]->verdict, FENCEPOST_INCOMPLETE);
	assert_false(result->changed);
	fencepost_free(result);
	options.budget_seconds = 60;
	assert_int_equal(fencepost_run(&options, "k", text, size, &result), FENCEPOST_OK);
	assert_false(result->kernels[0]->incomplete);
	assert_true(result->changed);
	fencepost_free(result);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_options_set),
		cmocka_unit_test(test_lists_add_and_take_away), cmocka_unit_test(test_rewrite),
		cmocka_unit_test(test_text_only),
		cmocka_unit_test(test_other_sizes_of_options), cmocka_unit_test(test_bad_options),
		cmocka_unit_test(test_bad_input), cmocka_unit_test(test_result_is_its_own),
		cmocka_unit_test(test_select),
		cmocka_unit_test(test_functions_that_others_run_are_no_kernels),
		cmocka_unit_test(test_hints_of_several_kernels_are_spoken_of_once),
		cmocka_unit_test(test_fences_that_one_call_needs_stay),
		cmocka_unit_test(test_fences_that_another_kernel_needs_stay),
		cmocka_unit_test(test_any_declaration_may_say_noreturn),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_budget)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
