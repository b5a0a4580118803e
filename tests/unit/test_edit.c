/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/fence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka needs the above */
#include <cmocka.h>

static struct arena arena;
static jmp_buf failure;

static int begin(void **state)
{
	(void)state;
	arena_init(&arena, &failure);
	return setjmp(failure);
}

static int end(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static struct source text_source(char *text)
{
	return (struct source){
		.name = "t", .text = text, .size = (uint32_t)strlen(text), .borrowed = true};
}

static char *changeable(const char *text)
{
	return strcpy(arena_alloc(&arena, strlen(text) + 1), text);
}

static void test_edit_keeps_all_other_bytes(void **state)
{
	struct source source = text_source(changeable("abcdef"));
	struct edits edits = {.arena = &arena};

	(void)state;
	edit_add(&edits, (struct edit){{3, 5}, {"X", 1}});
	edit_add(&edits, (struct edit){{6, 6}, {"!", 1}});
	edit_add(&edits, (struct edit){{3, 3}, {"1", 1}});
	edit_add(&edits, (struct edit){{0, 0}, {"0", 1}});
	edit_add(&edits, (struct edit){{3, 3}, {"2", 1}});
	struct slice out = edit_apply(&source, &edits);

	assert_string_equal(out.text, "0abc12Xf!");
	assert_int_equal(out.size, 9);
}

static void test_edit_empty_plan_is_the_input(void **state)
{
	struct source source = text_source(changeable("abc"));
	struct edits edits = {.arena = &arena};

	(void)state;
	struct slice out = edit_apply(&source, &edits);

	assert_ptr_equal(out.text, source.text);
	assert_int_equal(out.size, 3);
}

/* `^` is where a fence is inserted, `~` where one is put behind the line before; `[` and `]`
 * enclose one that is removed, `<` and `>` one narrowed. */
static void apply_marks(const char *marked, char *expected_free, struct slice *out)
{
	char *text = expected_free;
	struct result_fence v[8] = {0};
	const struct result_fence *list[8];
	uint32_t n = 0, size = 0;

	for (const char *c = marked; *c; c++) {
		if (*c == '^' || *c == '~')
			v[n++] = (struct result_fence){.change = CHANGE_INSERT,
				.kind = FENCE_ASYNC_CTA,
				.behind = *c == '~',
				.at = size};
		else if (*c == '[' || *c == '<')
			v[n++] = (struct result_fence){
				.change = *c == '[' ? CHANGE_REMOVE : CHANGE_NARROW,
				.kind = FENCE_ASYNC_GLOBAL,
				.at = size,
				.fence = {size, 0}};
		else if (*c == ']' || *c == '>')
			v[n - 1].fence.end = size;
		else
			text[size++] = *c;
	}
	text[size] = 0;
	struct source source = text_source(text);
	struct edits edits = {.arena = &arena};

	for (uint32_t i = 0; i < n; i++)
		list[i] = &v[i];
	fence_edits(&source, list, n, &edits);
	*out = edit_apply(&source, &edits);
}

static void test_fence_edits_follow_the_neighbour(void **state)
{
	static const struct {
		const char *name, *marked, *expected;
	} rows[] = {
		{"line of its own", "a;\n\t^bar.sync 0;\n",
			"a;\n\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n"},
		{"CRLF", "a;\r\n  ^bar.sync 0;\r\n",
			"a;\r\n  fence.proxy.async.shared::cta;\r\n  bar.sync 0;\r\n"},
		{"first line, CRLF", "^bar.sync 0;\r\n",
			"fence.proxy.async.shared::cta;\r\nbar.sync 0;\r\n"},
		{"no newline at all", "^ret;", "fence.proxy.async.shared::cta;\nret;"},
		{"behind a label", "L: ^bar.sync 0;\n",
			"L: fence.proxy.async.shared::cta; bar.sync 0;\n"},
		{"two on a line", "\ta; ^b;\n", "\ta; fence.proxy.async.shared::cta; b;\n"},
		{"behind a comment", "/* x */ ^b;\n",
			"/* x */ fence.proxy.async.shared::cta; b;\n"},
		{"guard", "\t^@!%p1 bra L;\n",
			"\tfence.proxy.async.shared::cta;\n\t@!%p1 bra L;\n"},
		{"two at one place", "\t^^b;\n",
			"\tfence.proxy.async.shared::cta;\n\tfence.proxy.async.shared::cta;\n\tb;"
			"\n"},
		{"before the brace", "{\n\ta;\n^}\n",
			"{\n\ta;\nfence.proxy.async.shared::cta;\n}\n"},
		{"behind a line", "\ta; // x\n~L:\n\tb;\n",
			"\ta; // x\n\tfence.proxy.async.shared::cta;\nL:\n\tb;\n"},
		{"behind a CRLF line", "  a;\r\n~L:\r\n",
			"  a;\r\n  fence.proxy.async.shared::cta;\r\nL:\r\n"},
		{"behind one that goes", "\t[fence.x;]\n~L:\n",
			"\tfence.proxy.async.shared::cta;\nL:\n"},
		{"behind, before one that goes", "\ta;\n~\t[fence.x;]\n\tb;\n",
			"\ta;\n\tfence.proxy.async.shared::cta;\n\tb;\n"},
		{"remove a line", "\ta;\n\t[fence.x;]\n\tb;\n", "\ta;\n\tb;\n"},
		{"remove a CRLF line", "\ta;\r\n\t[fence.x;] \r\n\tb;\r\n", "\ta;\r\n\tb;\r\n"},
		{"remove the last line", "\ta;\n\t[fence.x;]", "\ta;\n"},
		{"remove beside others", "\ta; [fence.x;] b;\n", "\ta; b;\n"},
		{"remove before a comment", "\t[fence.x;] // why\n\tb;\n", "\t// why\n\tb;\n"},
		{"remove behind a label", "L: [fence.x;]\n\tb;\n", "L: \n\tb;\n"},
		{"one for another", "\ta;\n\t^[fence.x;]\n\tb;\n",
			"\ta;\n\tfence.proxy.async.shared::cta;\n\tb;\n"},
		{"narrow", "\t<fence.proxy.async;> // x\n", "\tfence.proxy.async.global; // x\n"},
		{"narrow under a guard", "\t<@! %fence /* c */ fence .proxy.async ;>\n",
			"\t@! %fence /* c */ fence.proxy.async.global;\n"},
		{"narrow to both", "\t^<fence.proxy.async;>\n",
			"\tfence.proxy.async.shared::cta;\n\tfence.proxy.async.global;\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct slice out;

		apply_marks(rows[i].marked, changeable(rows[i].marked), &out);
		if (strlen(rows[i].expected) != out.size ||
			memcmp(rows[i].expected, out.text, out.size) != 0)
			fail_msg("%s: got \"%.*s\"", rows[i].name, (int)out.size, out.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_edit_keeps_all_other_bytes, begin, end),
		cmocka_unit_test_setup_teardown(test_edit_empty_plan_is_the_input, begin, end),
		cmocka_unit_test_setup_teardown(test_fence_edits_follow_the_neighbour, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
