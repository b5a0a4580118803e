/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --merge. Comes in: JSON reports. Goes out: one report with all their files, on standard output or
 * -o. One report is in memory at a time. Invariant: nothing is written unless every report can be
 * read and is of the schema that this version writes.
 */
#include "cli/output.h"
#include "cli/run.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct sums {
	json_int_t files, kernels, inserted, removed, narrowed;
	json_t *findings;
};

static json_t *read_report(const char *path)
{
	json_error_t problem;
	json_t *root = strcmp(path, "-") == 0 ? json_loadf(stdin, 0, &problem)
					      : json_load_file(path, 0, &problem);
	const char *schema = json_string_value(json_object_get(root, "schema"));

	if (!root && problem.line > 0)
		fprintf(stderr, "%s:%d:%d: error: no report: %s\n", path, problem.line,
			problem.column, problem.text);
	else if (!root)
		fprintf(stderr, "%s: error: cannot read: %s\n", path, problem.text);
	else if (!schema || strcmp(schema, "fencepost-report/1") != 0 ||
		 !json_is_array(json_object_get(root, "files")) ||
		 !json_is_object(json_object_get(root, "summary")))
		fprintf(stderr,
			"%s: error: no report: expected \"schema\": \"fencepost-report/1\" with "
			"files "
			"and summary\n",
			path);
	else
		return root;
	json_decref(root);
	return NULL;
}

static void add_sums(struct sums *sums, json_t *summary)
{
	const char *rule;
	json_t *count;

	sums->files += json_integer_value(json_object_get(summary, "files"));
	sums->kernels += json_integer_value(json_object_get(summary, "kernels"));
	sums->inserted += json_integer_value(json_object_get(summary, "inserted"));
	sums->removed += json_integer_value(json_object_get(summary, "removed"));
	sums->narrowed += json_integer_value(json_object_get(summary, "narrowed"));
	json_object_foreach(json_object_get(summary, "findings"), rule, count)
	{
		json_int_t before = json_integer_value(json_object_get(sums->findings, rule));

		json_object_set_new(
			sums->findings, rule, json_integer(before + json_integer_value(count)));
	}
}

static void copy_files(json_t *root, FILE *out, bool *any)
{
	json_t *file;
	size_t i;

	json_array_foreach(json_object_get(root, "files"), i, file)
	{
		fputs(*any ? ",\n  " : "\n  ", out);
		json_dumpf(file, out, JSON_COMPACT);
		*any = true;
	}
}

static void begin(FILE *out, json_t *first)
{
	fprintf(out,
		"{\"schema\": \"fencepost-report/1\", \"tool\": \"fencepost\", \"version\": "
		"\"%s\", "
		"\"options\": ",
		fencepost_version());
	json_dumpf(json_object_get(first, "options"), out, JSON_COMPACT);
	fputs(",\n \"files\": [", out);
}

static void end(FILE *out, const struct sums *sums)
{
	json_t *summary = json_pack("{s:I, s:I, s:O, s:I, s:I, s:I}", "files", sums->files,
		"kernels", sums->kernels, "findings", sums->findings, "inserted", sums->inserted,
		"removed", sums->removed, "narrowed", sums->narrowed);

	fputs("],\n \"summary\": ", out);
	json_dumpf(summary, out, JSON_COMPACT);
	fputs("}\n", out);
	json_decref(summary);
}

static bool merge_all(const struct settings *settings, FILE *out)
{
	struct sums sums = {.findings = json_object()};
	bool any = false, good = true;

	for (uint32_t i = 0; i < settings->npaths && good; i++) {
		json_t *root = read_report(settings->paths[i]);

		good = root;
		if (good && i == 0)
			begin(out, root);
		if (good)
			copy_files(root, out, &any);
		if (good)
			add_sums(&sums, json_object_get(root, "summary"));
		json_decref(root);
	}
	if (good)
		end(out, &sums);
	json_decref(sums.findings);
	return good;
}

/* Standard output must not get half a report: it is written to memory first. */
int run_merge(const struct settings *settings)
{
	struct output output = {0};
	char error[4400], *text = NULL;
	size_t size = 0;
	bool good;

	if (settings->output) {
		good = output_open(&output, settings->output, error, sizeof(error));
		if (!good)
			fprintf(stderr, "fencepost: error: %s\n", error);
	} else {
		output.file = open_memstream(&text, &size);
		good = output.file;
	}
	if (!good)
		return 2;
	good = merge_all(settings, output.file);
	if (!good) {
		output_abort(&output);
		free(text);
		return 2;
	}
	if (settings->output) {
		good = output_commit(&output, settings->output, error, sizeof(error));
	} else {
		fclose(output.file);
		good = output_write("-", text, size, error, sizeof(error));
		free(text);
	}
	if (!good)
		fprintf(stderr, "fencepost: error: %s\n", error);
	return good ? 0 : 2;
}
