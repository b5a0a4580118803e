/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file-driven cases: tests/cases/<topic>/<name>.ptx. A case says in place what must come out:
 *
 *     //+ fence.proxy.async.shared::cta;   this fence is inserted before the next line
 *     //! error missing-raw                this finding is reported for the next line
 *     //= incomplete                       this verdict of the kernel that begins in the next line
 *                                          (verdicts but `clean' and `findings')
 *     //: --fix=wide                       options of the run (a first line); no-ptxas: not
 * assembled
 *     //? reason                           known failure: the case must not pass
 *
 * No mark means "nothing here". Where the bytes of the output matter, a sibling NAME.out holds them
 * and stands for the `//+' marks. UPDATE=1 writes marks and siblings as they are.
 *
 * Each case runs four ways: marks and output as said; the output fed back changes nothing;
 * --fix=none gives the input; and with -a the output assembles.
 *
 * Usage: cases [-a] FOLDER [NAME]
 */
#include "lib/fencepost.h"
#include "tests/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct run { /* of one text */
	struct fencepost_options options;
	bool assembled;
};

static bool assemble; /* -a */

static size_t next_line(struct text text, size_t from)
{
	const char *end = memchr(text.v + from, '\n', text.n - from);

	return end ? (size_t)(end - text.v) + 1 : text.n;
}

/* The kind of mark that the line at `from` is ('+', '!', '=', ':', '?'), or 0. */
static char mark_at(struct text text, size_t from)
{
	while (from < text.n && (text.v[from] == ' ' || text.v[from] == '\t'))
		from++;
	if (from + 3 < text.n && text.v[from] == '/' && text.v[from + 1] == '/' &&
		text.v[from + 2] && strchr("+!=:?", text.v[from + 2]) && text.v[from + 3] == ' ')
		return text.v[from + 2];
	return 0;
}

/* The text without lines of the marks named in `which`. */
static struct text without(struct text text, const char *which)
{
	struct text out = {0};

	append(&out, "", 0);
	for (size_t at = 0; at < text.n; at = next_line(text, at)) {
		char mark = mark_at(text, at);

		if (!mark || !strchr(which, mark))
			append(&out, text.v + at, next_line(text, at) - at);
	}
	return out;
}

static void set_option(struct run *run, char *word, const char *path)
{
	char error[600], *value = strchr(word, '=');

	if (strcmp(word, "no-ptxas") == 0) {
		run->assembled = false;
		return;
	}
	if (value)
		*value++ = 0;
	if (!fencepost_options_set(&run->options, word, value, error, sizeof(error)))
		fail_msg("%s: %s", path, error);
}

static struct run read_options(struct text text, const char *path)
{
	struct run run = {.assembled = true};

	fencepost_options_init(&run.options, sizeof(run.options));
	for (size_t at = 0; at < text.n; at = next_line(text, at)) {
		if (mark_at(text, at) != ':')
			continue;
		char *line = strndup(text.v + at, next_line(text, at) - at),
		     *rest = strchr(line, ':') + 1;

		for (char *word; (word = strsep(&rest, " \t\r\n"));)
			if (*word)
				set_option(&run, word, path);
		free(line);
	}
	return run;
}

static struct fencepost_result *run_tool(
	const struct fencepost_options *options, const char *path, struct text text)
{
	struct fencepost_result *result = NULL;
	enum fencepost_status status = fencepost_run(options, path, text.v, text.n, &result);

	if (status != FENCEPOST_OK && result && result->ndiagnostics)
		fail_msg("%s:%u:%u: %s", path, result->diagnostics[0]->line,
			result->diagnostics[0]->column, result->diagnostics[0]->message);
	assert_int_equal(status, FENCEPOST_OK);
	return result;
}

static void add_mark(struct text *out, struct text line, char mark, const char *a, const char *b)
{
	size_t indent = 0;
	char head[] = {'/', '/', mark, ' ', 0};

	while (indent < line.n && (line.v[indent] == ' ' || line.v[indent] == '\t'))
		indent++;
	append(out, line.v, indent);
	append_text(out, head);
	append_text(out, a);
	if (b) {
		append_text(out, " ");
		append_text(out, b);
	}
	append_text(out, "\n");
}

static void mark_findings(
	const struct fencepost_result *result, uint32_t number, struct text line, struct text *out)
{
	for (uint32_t i = 0; i < result->nfindings; i++) {
		const struct fencepost_finding *finding = result->findings[i];
		bool again = false;

		if (finding->primary->line != number || finding->state != FENCEPOST_NEW)
			continue;
		for (uint32_t j = 0; j < i && !again; j++)
			again = result->findings[j]->primary->line == number &&
				result->findings[j]->rule == finding->rule &&
				result->findings[j]->level == finding->level;
		if (!again)
			add_mark(out, line, '!', fencepost_level_name(finding->level),
				fencepost_rule_name(finding->rule));
	}
}

/* The bare text with the marks that the result asks for. */
static struct text with_marks(struct text bare, const struct fencepost_result *result, bool fences)
{
	struct text out = {0};
	uint32_t number = 1;

	append(&out, "", 0);
	for (size_t at = 0; at < bare.n; at = next_line(bare, at), number++) {
		struct text line = {bare.v + at, next_line(bare, at) - at};

		for (uint32_t i = 0; i < result->nkernels; i++)
			if (result->kernels[i]->line == number &&
				(result->kernels[i]->verdict == FENCEPOST_INCOMPLETE ||
					result->kernels[i]->verdict == FENCEPOST_REVIEW))
				add_mark(&out, line, '=',
					fencepost_verdict_name(result->kernels[i]->verdict), NULL);
		for (uint32_t i = 0; i < result->nfences && fences; i++)
			if (result->fences[i]->line == number &&
				result->fences[i]->change == FENCEPOST_INSERT)
				add_mark(&out, line, '+', result->fences[i]->text, NULL);
		mark_findings(result, number, line, &out);
		append(&out, line.v, line.n);
	}
	return out;
}

/* What the marks say must come out: the text of each `//+' on a line behind it, indented as the
 * next line that is no mark. */
static struct text expected_output(struct text text)
{
	struct text out = {0};

	append(&out, "", 0);
	for (size_t at = 0; at < text.n; at = next_line(text, at)) {
		append(&out, text.v + at, next_line(text, at) - at);
		size_t next = next_line(text, at), indent = 0;

		if (mark_at(text, next) || mark_at(text, at) == 0)
			continue;
		/* the last mark before an instruction: fences of the whole run of marks come here
		 */
		size_t first = at;

		while (first > 0) {
			size_t before = first - 1;

			while (before > 0 && text.v[before - 1] != '\n')
				before--;
			if (!mark_at(text, before))
				break;
			first = before;
		}
		while (next + indent < text.n && strchr(" \t", text.v[next + indent]))
			indent++;
		for (size_t m = first; m <= at; m = next_line(text, m)) {
			if (mark_at(text, m) != '+')
				continue;
			const char *from = (const char *)memchr(text.v + m, '+', text.n - m) + 2;

			append(&out, text.v + next, indent);
			append(&out, from, (size_t)(text.v + next_line(text, m) - from));
		}
	}
	return out;
}

static char *sibling(const char *path)
{
	char *out = strdup(path);

	strcpy(strrchr(out, '.'), ".out");
	return out;
}

/* Places and findings: the marks that the tool asks for are those in the file. */
static void check_marks(const char *path, struct text text, const struct run *run, bool fences)
{
	struct text bare = without(text, "+!=?"), said = without(text, "?");
	struct fencepost_result *result = run_tool(&run->options, path, bare);
	struct text marked = with_marks(bare, result, fences);

	if (getenv("UPDATE"))
		store(path, marked);
	else
		assert_same_text(path, said, marked);
	fencepost_free(result);
	free(bare.v);
	free(said.v);
	free(marked.v);
}

static void check_output(const char *path, struct text text, const struct run *run)
{
	struct fencepost_result *result = run_tool(&run->options, path, text), *again;
	struct text output = {strndup(result->ptx, result->ptx_size), result->ptx_size}, expected;
	char *out = sibling(path);

	if (is_file(out) && getenv("UPDATE"))
		store(out, output);
	expected = is_file(out) ? load(out) : expected_output(text);
	assert_same_text(path, expected, output);
	again = run_tool(&run->options, path, output);
	assert_same_text(
		"fed back", output, (struct text){(char *)(uintptr_t)again->ptx, again->ptx_size});
	if (assemble && run->assembled)
		assert_assembles(path, output, result->target);
	fencepost_free(again);
	fencepost_free(result);
	free(output.v);
	free(expected.v);
	free(out);
}

/* Where only the text is asked for it is the same, and so is what is left. */
static void check_text_only(const char *path, struct text text, const struct run *run, uint32_t fix)
{
	struct fencepost_options options = run->options;

	options.fix = fix;
	struct fencepost_result *told = run_tool(&options, path, text), *result;

	options.text_only = 1;
	result = run_tool(&options, path, text);
	assert_int_equal(result->ptx_size, told->ptx_size);
	assert_memory_equal(result->ptx, told->ptx, told->ptx_size);
	assert_int_equal(result->edges_left, told->edges_left);
	fencepost_free(result);
	fencepost_free(told);
}

static void check_identity(const char *path, struct text text, const struct run *run)
{
	struct fencepost_options options = run->options;

	options.fix = 0;
	struct fencepost_result *result = run_tool(&options, path, text);

	assert_int_equal(result->ptx_size, text.n);
	assert_memory_equal(result->ptx, text.v, text.n);
	fencepost_free(result);
}

static void run_case(void **state)
{
	const char *path = *state;
	struct text text = load(path);
	struct run run = read_options(text, path);
	char *out = sibling(path);

	check_marks(path, text, &run, !is_file(out));
	free(text.v);
	text = load(path); /* UPDATE may have written it */
	check_output(path, text, &run);
	check_text_only(path, text, &run, run.options.fix);
	check_text_only(path, text, &run, FENCEPOST_FIX_MISSING | FENCEPOST_FIX_WIDE | FENCEPOST_FIX_REDUNDANT);
	check_identity(path, text, &run);
	free(text.v);
	free(out);
}

/* A known failure must fail: else its mark goes. */
static void run_known_failure(void **state)
{
	const char *path = *state;
	struct text text = load(path), bare = without(text, "+!=?"), said = without(text, "?");
	struct run run = read_options(text, path);
	struct fencepost_result *result = run_tool(&run.options, path, bare);
	struct text marked = with_marks(bare, result, true);

	if (marked.n == said.n && memcmp(marked.v, said.v, said.n) == 0)
		fail_msg("%s passes now: take its `//?' mark away", path);
	fencepost_free(result);
	free(text.v);
	free(bare.v);
	free(said.v);
	free(marked.v);
}

static bool is_known_failure(const char *path)
{
	struct text text = load(path);
	bool known = false;

	for (size_t at = 0; at < text.n && !known; at = next_line(text, at))
		known = mark_at(text, at) == '?';
	free(text.v);
	return known;
}

int main(int argc, char **argv)
{
	int at = 1;

	if (at < argc && strcmp(argv[at], "-a") == 0) {
		assemble = true;
		at++;
		if (!find_ptxas())
			return 77;
	}
	if (at >= argc)
		return 2;
	char **paths = find_files(argv[at], ".ptx");
	size_t n = 0;
	struct CMUnitTest *tests = calloc(4096, sizeof(*tests));

	for (char **path = paths; *path && n < 4096; path++) {
		if (strstr(*path, "/shared/"))
			continue; /* those have a runner of their own: shared_cases.c */
		tests[n++] = (struct CMUnitTest){*path,
			is_known_failure(*path) ? run_known_failure : run_case, NULL, NULL, *path};
	}
	if (at + 1 < argc) {
		static char filter[300];

		snprintf(filter, sizeof(filter), "*%s*", argv[at + 1]);
		cmocka_set_test_filter(filter);
	}
	if (!n)
		return 77;
	int failed = _cmocka_run_group_tests("cases", tests, n, NULL, NULL);

	free_files(paths);
	free(tests);
	return failed != 0;
}
