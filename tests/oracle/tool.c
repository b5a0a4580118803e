/* SPDX-License-Identifier: Apache-2.0 */
#include "tool.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

int tool_run(const char *tool, const char *args)
{
	char command[1024];
	snprintf(command, sizeof(command), "%s %s", tool, args);
	int status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static struct answer *answer_of(struct answer *answers, int n, const char *kernel)
{
	for (int i = 0; kernel && i < n; i++)
		if (strcmp(answers[i].name, kernel) == 0)
			return &answers[i];
	return NULL;
}

static void take_finding(struct answer *answers, int n, const json_t *finding)
{
	const char *rule = json_string_value(json_object_get(finding, "rule"));
	const char *state = json_string_value(json_object_get(finding, "state"));
	struct answer *a =
		answer_of(answers, n, json_string_value(json_object_get(finding, "kernel")));
	if (!a || !rule)
		return;
	if (strcmp(rule, "fence-redundant") == 0) {
		a->spare = realloc(a->spare, (size_t)(a->nspare + 1) * sizeof(*a->spare));
		a->spare[a->nspare++] =
			(int)json_integer_value(json_object_get(finding, "fence_line"));
	}
	if (strncmp(rule, "missing-", 8) != 0)
		return;
	const json_t *pairs = json_object_get(finding, "pairs");
	for (size_t i = 0; i < json_array_size(pairs); i++) {
		const json_t *p = json_array_get(pairs, i);
		a->v = realloc(a->v, (size_t)(a->n + 1) * sizeof(*a->v));
		a->v[a->n++] = (struct pair){(int)json_integer_value(json_array_get(p, 0)),
			(int)json_integer_value(json_array_get(p, 1)),
			state && strcmp(state, "suppressed") == 0,
			json_is_string(json_object_get(finding, "unfixable"))};
	}
}

static bool report_read(const char *path, struct answer *answers, int n)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);
	if (!root) {
		fprintf(stderr, "oracle: report: %s\n", error.text);
		return false;
	}
	json_t *file = json_array_get(json_object_get(root, "files"), 0), *v;
	size_t i;
	json_array_foreach(json_object_get(file, "kernels"), i, v)
	{
		struct answer *a =
			answer_of(answers, n, json_string_value(json_object_get(v, "name")));
		const char *verdict = json_string_value(json_object_get(v, "verdict"));
		if (a && verdict) {
			a->known = true;
			a->clean = strcmp(verdict, "clean") == 0;
		}
	}
	json_array_foreach(json_object_get(file, "findings"), i, v) take_finding(answers, n, v);
	json_decref(root);
	return true;
}

bool tool_check(const char *tool, const char *path, const char *flags, const char *report,
	struct answer *answers, int n)
{
	char args[512];
	answers_clear(answers, n);
	snprintf(args, sizeof(args), "--check %s --fail-on=none --format=json %s >%s", flags, path,
		report);
	int status = tool_run(tool, args);
	if (status > 1) {
		fprintf(stderr, "oracle: status %d from: %s %s\n", status, tool, args);
		return false;
	}
	return report_read(report, answers, n);
}

const struct pair *answer_find(const struct answer *a, int generic, int async)
{
	for (int i = 0; i < a->n; i++)
		if (a->v[i].generic == generic && a->v[i].async == async)
			return &a->v[i];
	return NULL;
}

void answers_clear(struct answer *answers, int n)
{
	for (int i = 0; i < n; i++) {
		free(answers[i].v);
		free(answers[i].spare);
		answers[i] = (struct answer){.name = answers[i].name};
	}
}
