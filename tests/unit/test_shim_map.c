/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of ptxas about the fenced text, said of the input: each row is a line and what becomes
 * of it. */
#include "cli/shim_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* a.ptx: a fence before line 4, two lines of them before line 9. b.ptx: line 3 taken out, one
 * before 6. */
static const struct shim_edit a_edits[] = {{4, 1}, {9, 2}};
static const struct shim_edit b_edits[] = {{3, -1}, {6, 1}};
static const struct shim_place places[] = {
	{"/t/0/a.ptx", "dir/a.ptx", a_edits, 2, false},
	{"/t/1/b.ptx", "b.ptx", b_edits, 2, false},
	{"/t/1/b.ptxx", "-", NULL, 0, false},
};

static const struct {
	const char *name, *line, *expected;
} rows[] = {
	{"before the first", "ptxas /t/0/a.ptx, line 3; error   : x",
		"ptxas dir/a.ptx, line 3; error   : x"},
	{"the fence itself", "/t/0/a.ptx, line 4", "dir/a.ptx, line 4"},
	{"what it stands before", "/t/0/a.ptx, line 5", "dir/a.ptx, line 4"},
	{"behind it", "/t/0/a.ptx, line 6", "dir/a.ptx, line 5"},
	{"the first of two lines", "/t/0/a.ptx, line 10", "dir/a.ptx, line 9"},
	{"the second of two lines", "/t/0/a.ptx, line 11", "dir/a.ptx, line 9"},
	{"the line behind them", "/t/0/a.ptx, line 12", "dir/a.ptx, line 9"},
	{"far behind", "/t/0/a.ptx, line 1000", "dir/a.ptx, line 997"},
	{"before one taken out", "/t/1/b.ptx, line 2", "b.ptx, line 2"},
	{"behind one taken out", "/t/1/b.ptx, line 3", "b.ptx, line 4"},
	{"the next fence", "/t/1/b.ptx, line 5", "b.ptx, line 6"},
	{"behind both", "/t/1/b.ptx, line 7", "b.ptx, line 7"},
	{"the longest path", "/t/1/b.ptxx, line 7", "-, line 7"},
	{"two in one line", "/t/0/a.ptx, line 6 and /t/1/b.ptx.", "dir/a.ptx, line 5 and b.ptx."},
	{"no number", "file '/t/0/a.ptx', line", "file 'dir/a.ptx', line"},
	{"cut number", "/t/0/a.ptx, line ", "dir/a.ptx, line "},
	{"another file", "ptxas /t/9/a.ptx, line 6", "ptxas /t/9/a.ptx, line 6"},
	{"no file", "ptxas info    : 0 bytes gmem\n", "ptxas info    : 0 bytes gmem\n"},
};

static void test_shim_map_lines(void **state)
{
	(void)state;
	int failed = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *seen;
		size_t size;
		FILE *out = open_memstream(&seen, &size);
		shim_map_message(places, 3, rows[i].line, strlen(rows[i].line), out);
		fclose(out);
		if (strcmp(seen, rows[i].expected)) {
			print_error(
				"%s: expected %s, saw %s\n", rows[i].name, rows[i].expected, seen);
			failed++;
		}
		free(seen);
	}
	assert_int_equal(failed, 0);
}

/* What ptxas says of wgmma has a line number and no path. */
static void test_shim_map_only_input(void **state)
{
	(void)state;
	static const char line[] = "arrive is injected in around line 6 by compiler, around line x";
	static const char *const expected[] = {
		line, "arrive is injected in around line 5 by compiler, around line x"};
	for (int only = 0; only < 2; only++) {
		struct shim_place place = places[0];
		place.only = only;
		char *seen;
		size_t size;
		FILE *out = open_memstream(&seen, &size);
		shim_map_message(&place, 1, line, strlen(line), out);
		fclose(out);
		assert_string_equal(seen, expected[only]);
		free(seen);
	}
}

static void test_shim_map_keeps_nul(void **state)
{
	(void)state;
	char *seen;
	size_t size;
	FILE *out = open_memstream(&seen, &size);
	shim_map_message(places, 3, "a\0/t/0/a.ptx\0", 13, out);
	fclose(out);
	assert_int_equal(size, 12);
	assert_memory_equal(seen, "a\0dir/a.ptx\0", 12);
	free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shim_map_lines),
		cmocka_unit_test(test_shim_map_only_input),
		cmocka_unit_test(test_shim_map_keeps_nul),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
