/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a file of fingerprints. Goes out: findings marked as known, and what is gone. An entry
 * stands for one finding of one file; files are told apart by their last name, so that a project
 * can be checked out, or built, anywhere.
 */
#include "cli/baseline.h"
#include "cli/output.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	const char *file, *kernel, *rule, *fingerprint; /* views into the JSON */
	bool matched, looked;
};

struct baseline {
	json_t *root; /* owns the texts */
	json_t *list; /* of a new one */
	struct entry *v;
	uint32_t n;
};

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool add_entry(struct baseline *baseline, const char *file, json_t *from)
{
	struct entry entry = {.file = file,
		.kernel = json_string_value(json_object_get(from, "kernel")),
		.rule = json_string_value(json_object_get(from, "rule")),
		.fingerprint = json_string_value(json_object_get(from, "fingerprint"))};

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

static bool read_entries(struct baseline *baseline)
{
	const char *schema = json_string_value(json_object_get(baseline->root, "schema"));
	json_t *files = json_object_get(baseline->root, "files"), *file;
	size_t i;

	if (schema && strcmp(schema, "fencepost-baseline/1") == 0)
		return add_list(baseline, NULL, json_object_get(baseline->root, "findings"));
	if (!schema || strcmp(schema, "fencepost-report/1") != 0 || !json_is_array(files))
		return false;
	json_array_foreach(files, i, file)
	{
		const char *name = json_string_value(json_object_get(file, "file"));

		if (!name || !add_list(baseline, name, json_object_get(file, "findings")))
			return false;
	}
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

static bool match(struct baseline *baseline, const char *file, const char *print)
{
	for (uint32_t i = 0; i < baseline->n; i++) {
		struct entry *entry = &baseline->v[i];

		if (entry->matched || strcmp(entry->fingerprint, print) != 0 ||
			strcmp(last_name(entry->file), file) != 0)
			continue;
		return entry->matched = true;
	}
	return false;
}

void baseline_apply(struct baseline *baseline, const struct file_result *file)
{
	const char *name = last_name(file->name);

	if (!file->result || file->result->status != FENCEPOST_OK)
		return;
	for (uint32_t i = 0; i < baseline->n; i++)
		if (strcmp(last_name(baseline->v[i].file), name) == 0)
			baseline->v[i].looked = true;
	for (uint32_t i = 0; i < file->result->nfindings; i++) {
		struct fencepost_finding *finding = file->result->findings[i];
		char print[17];

		snprintf(print, sizeof(print), "%016" PRIx64, finding->fingerprint);
		if (finding->state == FENCEPOST_NEW && match(baseline, name, print))
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
			    json_pack("{s:s, s:s, s:s, s:s}", "file", last_name(file->name),
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
