/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases with answers in JSON: NAME.ptx beside NAME.expect (tests/cases/shared/README.md says what
 * the keys mean). Checks which pairs are reported, how many fences go where and how wide they are,
 * what is said of the fences that are there, and that the output is stable.
 *
 * Usage: shared_cases [-a] FOLDER [NAME]
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
#include <jansson.h>

static bool assemble;

static bool is_rule(const struct fencepost_finding *finding, const char *rule)
{
	return strcmp(fencepost_rule_name(finding->rule), rule) == 0;
}

static bool is_missing(const struct fencepost_finding *finding)
{
	return strncmp(fencepost_rule_name(finding->rule), "missing-", 8) == 0;
}

static bool reports(const struct fencepost_result *result, json_int_t generic, json_int_t async)
{
	for (uint32_t i = 0; i < result->nfindings; i++)
		for (uint32_t p = 0;
			is_missing(result->findings[i]) && p < result->findings[i]->npairs; p++)
			if (result->findings[i]->pairs[p].generic_line == generic &&
				result->findings[i]->pairs[p].async_line == async)
				return true;
	return false;
}

static bool lists(json_t *edges, json_int_t generic, json_int_t async)
{
	json_t *edge;
	size_t i;

	json_array_foreach(edges, i, edge)
	{
		if (json_integer_value(json_object_get(edge, "write_line")) == generic &&
			json_integer_value(json_object_get(edge, "async_line")) == async)
			return true;
	}
	return false;
}

static void check_edges(const char *path, json_t *expect, const struct fencepost_result *result)
{
	json_t *missing = json_object_get(expect, "missing_edges"), *edge;
	json_t *optional = json_object_get(expect, "optional_edges");
	size_t i;

	json_array_foreach(missing, i, edge)
	{
		json_int_t g = json_integer_value(json_object_get(edge, "write_line"));
		json_int_t a = json_integer_value(json_object_get(edge, "async_line"));

		if (!reports(result, g, a))
			fail_msg("%s: the edge %d-%d is not reported", path, (int)g, (int)a);
	}
	for (uint32_t f = 0; f < result->nfindings; f++)
		for (uint32_t p = 0;
			is_missing(result->findings[f]) && p < result->findings[f]->npairs; p++) {
			const struct fencepost_pair *pair = &result->findings[f]->pairs[p];

			if (!lists(missing, pair->generic_line, pair->async_line) &&
				!lists(optional, pair->generic_line, pair->async_line))
				fail_msg("%s: %u-%u is reported and is no edge", path,
					pair->generic_line, pair->async_line);
		}
}

/* The fence stands strictly between the two lines of one of the ranges. */
static bool stands_in(json_t *ranges, uint32_t before_line)
{
	json_t *range;
	size_t i;

	json_array_foreach(ranges, i, range)
	{
		if (before_line > json_integer_value(json_array_get(range, 0)) &&
			before_line <= json_integer_value(json_array_get(range, 1)))
			return true;
	}
	return false;
}

static void check_fences(const char *path, json_t *expect, const struct fencepost_result *result)
{
	json_t *groups = json_object_get(expect, "position_groups"), *group;
	const char *scope = json_string_value(json_object_get(expect, "fence_scope"));
	uint32_t inserted = 0;
	char text[100] = "";
	size_t i;

	if (scope)
		snprintf(text, sizeof(text), "fence.proxy.async.%s;", scope);
	for (uint32_t f = 0; f < result->nfences; f++) {
		const struct fencepost_fence *fence = result->fences[f];

		if (fence->change != FENCEPOST_INSERT)
			continue;
		inserted++;
		if (strcmp(fence->text, text) != 0)
			fail_msg("%s: `%s' before line %u, expected `%s'", path, fence->text,
				fence->line, text);
		if (!stands_in(json_object_get(expect, "acceptable_positions"), fence->line))
			fail_msg("%s: a fence before line %u", path, fence->line);
	}
	if (inserted != json_integer_value(json_object_get(expect, "fences_to_insert")))
		fail_msg("%s: %u fences, expected %d", path, inserted,
			(int)json_integer_value(json_object_get(expect, "fences_to_insert")));
	json_array_foreach(groups, i, group)
	{
		uint32_t here = 0;

		for (uint32_t f = 0; f < result->nfences; f++)
			here += result->fences[f]->change == FENCEPOST_INSERT &&
				stands_in(group, result->fences[f]->line);
		if (here != 1)
			fail_msg("%s: %u fences in place group %d", path, here, (int)i);
	}
}

static bool has_number(json_t *list, json_int_t number)
{
	json_t *value;
	size_t i;

	json_array_foreach(list, i, value)
	{
		if (json_integer_value(value) == number)
			return true;
	}
	return false;
}

/* The rule is reported for exactly the lines of the list. */
static void check_lines(
	const char *path, json_t *lines, const struct fencepost_result *result, const char *rule)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < result->nfindings; i++) {
		if (!is_rule(result->findings[i], rule))
			continue;
		n++;
		if (!has_number(lines, result->findings[i]->fence->line))
			fail_msg("%s: %s in line %u", path, rule, result->findings[i]->fence->line);
	}
	if (n != json_array_size(lines))
		fail_msg("%s: %u findings %s, expected %d", path, n, rule,
			(int)json_array_size(lines));
}

static void check_audit(const char *path, json_t *expect, const struct fencepost_result *result)
{
	json_t *misplaced = json_array(), *keep = json_object_get(expect, "must_keep_fence_lines");

	json_array_extend(misplaced, json_object_get(expect, "misplaced_fence_lines"));
	json_array_extend(misplaced, json_object_get(expect, "too_narrow_fence_lines"));
	check_lines(
		path, json_object_get(expect, "redundant_fence_lines"), result, "fence-redundant");
	check_lines(
		path, json_object_get(expect, "too_wide_fence_lines"), result, "fence-too-wide");
	check_lines(path, misplaced, result, "fence-misplaced");
	for (uint32_t i = 0; i < result->nfindings; i++)
		if (is_rule(result->findings[i], "fence-redundant") &&
			has_number(keep, result->findings[i]->fence->line))
			fail_msg("%s: the fence in line %u must be kept", path,
				result->findings[i]->fence->line);
	json_decref(misplaced);
}

static void check_stable(const char *path, const struct fencepost_options *options,
	const struct fencepost_result *result)
{
	struct fencepost_result *again = NULL;

	assert_int_equal(
		fencepost_run(options, path, result->ptx, result->ptx_size, &again), FENCEPOST_OK);
	if (again->changed)
		fail_msg("%s: the output fed back is changed again", path);
	for (uint32_t i = 0; i < again->nfindings; i++)
		if (is_missing(again->findings[i]))
			fail_msg("%s: the output still has an edge at line %u", path,
				again->findings[i]->generic->line);
	fencepost_free(again);
}

static void run_case(void **state)
{
	const char *path = *state;
	char *name = strdup(path);

	strcpy(strrchr(name, '.'), ".ptx");
	struct text ptx = load(name);
	json_error_t error;
	json_t *expect = json_load_file(path, 0, &error);
	struct fencepost_options options;
	struct fencepost_result *result = NULL;

	assert_non_null(expect);
	fencepost_options_init(&options, sizeof(options));
	assert_int_equal(fencepost_run(&options, name, ptx.v, ptx.n, &result), FENCEPOST_OK);
	check_edges(name, expect, result);
	check_fences(name, expect, result);
	check_audit(name, expect, result);
	check_stable(name, &options, result);
	if (assemble)
		assert_assembles(name,
			(struct text){(char *)(uintptr_t)result->ptx, result->ptx_size},
			json_string_value(json_object_get(expect, "arch")));
	fencepost_free(result);
	json_decref(expect);
	free(ptx.v);
	free(name);
}

int main(int argc, char **argv)
{
	static char filter[300];
	int at = 1;
	size_t n = 0;

	if (at < argc && strcmp(argv[at], "-a") == 0) {
		assemble = true;
		at++;
		if (!find_ptxas())
			return 77;
	}
	if (at >= argc)
		return 2;
	struct CMUnitTest *tests = calloc(1024, sizeof(*tests));

	char **paths = find_files(argv[at], ".expect");

	for (char **path = paths; *path && n < 1024; path++)
		tests[n++] = (struct CMUnitTest){*path, run_case, NULL, NULL, *path};
	if (at + 1 < argc) {
		snprintf(filter, sizeof(filter), "*%s*", argv[at + 1]);
		cmocka_set_test_filter(filter);
	}
	if (!n)
		return 77;
	int failed = _cmocka_run_group_tests("shared cases", tests, n, NULL, NULL);

	free_files(paths);
	free(tests);
	return failed != 0;
}
