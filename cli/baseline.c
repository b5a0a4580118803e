/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a file of fingerprints. Goes out: findings marked as known, and what is gone. An entry
 * stands for one finding of one file. Files are known by their path below the folder that all files
 * of the run are in, and found again where the folder has moved, so that a project can be checked
 * out, or built, anywhere.
 */
#include "cli/baseline.h"
#include "cli/output.h"
#include "cli/pair.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	const char *file, *kernel, *rule, *fingerprint; /* views into the JSON */
	uint32_t pair;	 /* the input that the file is, or PAIR_NONE, PAIR_UNCLEAR */
	uint32_t number; /* its place in the baseline */
	bool matched, looked;
};

struct baseline {
	json_t *root; /* owns the texts */
	json_t *list; /* of a new one */
	struct entry *v;
	uint32_t n;
	uint32_t common; /* bytes of the inputs' paths that a new one leaves out */
};

static bool add_entry(struct baseline *baseline, const char *file, json_t *from)
{
	struct entry entry = {.file = file,
		.kernel = json_string_value(json_object_get(from, "kernel")),
		.rule = json_string_value(json_object_get(from, "rule")),
		.fingerprint = json_string_value(json_object_get(from, "fingerprint")),
		.number = baseline->n};

	if (!entry.kernel || !entry.rule || !entry.fingerprint || !file ||
		strlen(entry.fingerprint) != 16)
		return false;
	if ((baseline->n & (baseline->n - 1)) == 0) {
		uint32_t cap = baseline->n ? 2 * baseline->n : 1;
		struct entry *grown = realloc(baseline->v, sizeof(*grown) * cap);

		if (!grown)
			return false;
		baseline->v = grown;
	}
	baseline->v[baseline->n++] = entry;
	return true;
}

static bool is_suppressed(json_t *finding)
{
	const char *state = json_string_value(json_object_get(finding, "state"));

	return state && strcmp(state, "suppressed") == 0;
}

static bool add_list(struct baseline *baseline, const char *file, json_t *findings)
{
	json_t *finding;
	size_t i;

	if (!json_is_array(findings))
		return false;
	json_array_foreach(findings, i, finding)
	{
		const char *own = json_string_value(json_object_get(finding, "file"));

		if (!is_suppressed(finding) && !add_entry(baseline, file ? file : own, finding))
			return false;
	}
	return true;
}

/* What the names of all files of a report begin with. False: one has none. */
static bool common_of(json_t *files, uint32_t *common)
{
	uint32_t n = (uint32_t)json_array_size(files);
	const char **names = calloc(n + 1, sizeof(*names));
	bool good = names;

	for (uint32_t i = 0; i < n && good; i++) {
		names[i] = json_string_value(json_object_get(json_array_get(files, i), "file"));
		good = names[i];
	}
	if (good)
		*common = pair_common(names, n);
	free(names);
	return good;
}

static bool read_entries(struct baseline *baseline)
{
	const char *schema = json_string_value(json_object_get(baseline->root, "schema"));
	json_t *files = json_object_get(baseline->root, "files"), *file;
	uint32_t common;
	size_t i;

	if (schema && strcmp(schema, "fencepost-baseline/1") == 0)
		return add_list(baseline, NULL, json_object_get(baseline->root, "findings"));
	if (!schema || strcmp(schema, "fencepost-report/1") != 0 || !json_is_array(files))
		return false;
	if (!common_of(files, &common))
		return false;
	json_array_foreach(files, i,
		file) if (!add_list(baseline,
				  json_string_value(json_object_get(file, "file")) + common,
				  json_object_get(file, "findings"))) return false;
	return true;
}

struct baseline *baseline_new(void)
{
	struct baseline *baseline = calloc(1, sizeof(*baseline));

	if (baseline)
		baseline->list = json_array();
	return baseline;
}

struct baseline *baseline_read(const char *path, char *error, size_t size)
{
	struct baseline *baseline = calloc(1, sizeof(*baseline));
	json_error_t problem;

	if (!baseline) {
		snprintf(error, size, "%s: out of memory", path);
		return NULL;
	}
	baseline->root = json_load_file(path, 0, &problem);
	if (!baseline->root && problem.line > 0)
		snprintf(error, size, "%s:%d:%d: error: no baseline: %s", path, problem.line,
			problem.column, problem.text);
	else if (!baseline->root)
		snprintf(
			error, size, "%s: error: cannot read the baseline: %s", path, problem.text);
	else if (!read_entries(baseline))
		snprintf(error, size,
			"%s: error: no baseline: expected \"schema\": \"fencepost-baseline/1\" or "
			"a report, "
			"with file, kernel, rule and fingerprint of each finding",
			path);
	else
		return baseline;
	baseline_free(baseline);
	return NULL;
}

static int by_file(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

/* The entries have been sorted by file. */
static bool pair_entries(struct baseline *baseline, const char *const *paths, uint32_t n)
{
	const char **files = calloc(baseline->n + 1, sizeof(*files));
	uint32_t *pair = calloc(baseline->n + 1, sizeof(*pair)), nfiles = 0;
	bool good = files && pair;

	for (uint32_t i = 0; i < baseline->n && good; i++)
		if (!nfiles || strcmp(files[nfiles - 1], baseline->v[i].file) != 0)
			files[nfiles++] = baseline->v[i].file;
	good = good && pair_files(files, nfiles, paths, n, pair);
	for (uint32_t i = 0, k = 0; i < baseline->n && good; i++) {
		k += strcmp(files[k], baseline->v[i].file) != 0;
		baseline->v[i].pair = pair[k];
	}
	free(files);
	free(pair);
	return good;
}

bool baseline_inputs(struct baseline *baseline, const char *const *paths, uint32_t n)
{
	baseline->common = pair_common(paths, n);
	if (!baseline->n)
		return true;
	qsort(baseline->v, baseline->n, sizeof(*baseline->v), by_file);
	return pair_entries(baseline, paths, n);
}

const char *baseline_unclear(const struct baseline *baseline)
{
	for (uint32_t i = 0; i < baseline->n; i++)
		if (baseline->v[i].pair == PAIR_UNCLEAR)
			return baseline->v[i].file;
	return NULL;
}

static bool match(struct baseline *baseline, uint32_t input, const char *print)
{
	for (uint32_t i = 0; i < baseline->n; i++) {
		struct entry *entry = &baseline->v[i];

		if (entry->matched || entry->pair != input ||
			strcmp(entry->fingerprint, print) != 0)
			continue;
		return entry->matched = true;
	}
	return false;
}

void baseline_apply(struct baseline *baseline, const struct file_result *file, uint32_t input)
{
	if (!file->result || file->result->status != FENCEPOST_OK)
		return;
	for (uint32_t i = 0; i < baseline->n; i++)
		if (baseline->v[i].pair == input)
			baseline->v[i].looked = true;
	for (uint32_t i = 0; i < file->result->nfindings; i++) {
		struct fencepost_finding *finding = file->result->findings[i];
		char print[17];

		snprintf(print, sizeof(print), "%016" PRIx64, finding->fingerprint);
		if (finding->state == FENCEPOST_NEW && match(baseline, input, print))
			finding->state = FENCEPOST_BASELINE;
	}
}

struct fixed_finding *baseline_fixed(struct baseline *baseline, uint32_t *n)
{
	struct fixed_finding *out = calloc(baseline->n + 1, sizeof(*out));

	*n = 0;
	for (uint32_t i = 0; out && i < baseline->n; i++) {
		const struct entry *entry = &baseline->v[i];

		if (entry->looked && !entry->matched)
			out[(*n)++] = (struct fixed_finding){
				entry->file, entry->kernel, entry->rule, entry->fingerprint};
	}
	return out;
}

bool baseline_add(struct baseline *baseline, const struct file_result *file)
{
	if (!file->result || file->result->status != FENCEPOST_OK)
		return true;
	for (uint32_t i = 0; i < file->result->nfindings; i++) {
		const struct fencepost_finding *finding = file->result->findings[i];
		char print[17];

		if (finding->state == FENCEPOST_SUPPRESSED)
			continue;
		snprintf(print, sizeof(print), "%016" PRIx64, finding->fingerprint);
		if (json_array_append_new(baseline->list,
			    json_pack("{s:s, s:s, s:s, s:s}", "file", file->name + baseline->common,
				    "kernel", finding->kernel, "rule",
				    fencepost_rule_name(finding->rule), "fingerprint", print)))
			return false;
	}
	return true;
}

bool baseline_write(struct baseline *baseline, const char *path, char *error, size_t size)
{
	struct output out;
	json_t *entry;
	size_t i;

	if (!output_open(&out, path, error, size))
		return false;
	fputs("{\"schema\": \"fencepost-baseline/1\", \"findings\": [", out.file);
	json_array_foreach(baseline->list, i, entry)
	{
		fputs(i ? ",\n  " : "\n  ", out.file);
		json_dumpf(entry, out.file, 0);
	}
	fputs("]}\n", out.file);
	return output_commit(&out, path, error, size);
}

void baseline_free(struct baseline *baseline)
{
	if (!baseline)
		return;
	json_decref(baseline->root);
	json_decref(baseline->list);
	free(baseline->v);
	free(baseline);
}
