/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SARIF 2.1.0 for code scanning services. The primary location is the CUDA source where .loc names
 * one (that is what a reader can edit), with the PTX line beside it. Invariant: paths are relative
 * URIs, and no run holds more results than such services take; what is left out is said.
 */
#include "cli/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_RESULTS 25000 /* per run; the limit of GitHub code scanning */

struct sarif {
	uint32_t results, dropped;
};

/* The changes that are for each finding of a file, as lists; 0 ends one. Owned. */
struct fixes {
	uint32_t *head; /* by finding: its first entry */
	struct fix {
		uint32_t fence, next;
	} * v;
};

static void fixes_free(struct fixes *fixes)
{
	free(fixes->head);
	free(fixes->v);
}

/* False: no memory. fixes_free() in any case. */
static bool fixes_list(struct fixes *fixes, const struct fencepost_result *result)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < result->nfences; i++)
		n += result->fences[i]->nfixes;
	fixes->head = calloc(result->nfindings + 1, sizeof(*fixes->head));
	fixes->v = calloc(n + 1, sizeof(*fixes->v));
	if (!fixes->head || !fixes->v)
		return false;
	n = 0;
	for (uint32_t i = result->nfences; i-- > 0;) /* so that lists go forward */
		for (uint32_t f = 0; f < result->fences[i]->nfixes; f++) {
			uint32_t *head = &fixes->head[result->fences[i]->fixes[f]];

			if (*head && fixes->v[*head].fence == i)
				continue;
			fixes->v[++n] = (struct fix){i, *head};
			*head = n;
		}
	return true;
}

/* nvcc writes absolute paths into .loc; code scanning wants those of the repository: below the
 * current folder they become relative. */
static const char *relative(const char *path)
{
	char *here = getcwd(NULL, 0);
	size_t n = here ? strlen(here) : 0;

	if (n && strncmp(path, here, n) == 0 && path[n] == '/')
		path += n + 1;
	free(here);
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	return path;
}

/* RFC 3986: all but unreserved bytes and `/' are escaped. */
static json_t *uri(const char *path)
{
	path = relative(path);
	size_t n = strlen(path);
	char *out = malloc(3 * n + 8), *at = out;
	json_t *value;

	if (!out)
		return json_null();
	if (*path == '/')
		at += sprintf(at, "file://");
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if ((c < 128 && isalnum(c)) || strchr("-._~/", c))
			*at++ = (char)c;
		else
			at += sprintf(at, "%%%02X", c);
	}
	*at = 0;
	value = json_string(out);
	free(out);
	return value;
}

static json_t *message(const char *text)
{
	return json_pack("{s:s}", "text", text ? text : "");
}

static json_t *region(uint32_t line, uint32_t column, uint32_t length)
{
	json_t *out = json_pack("{s:I, s:I}", "startLine", (json_int_t)line, "startColumn",
		(json_int_t)(column ? column : 1));

	if (length)
		json_object_set_new(out, "endColumn", json_integer(column + length));
	return out;
}

static json_t *physical(const char *file, json_t *where)
{
	return json_pack("{s:{s:o}, s:o}", "artifactLocation", "uri", uri(file), "region", where);
}

static json_t *ptx_physical(const struct file_result *file, const struct fencepost_place *place)
{
	return physical(file->name, region(place->line, place->column,
					    (uint32_t)(place->opcode_end - place->opcode_begin)));
}

static json_t *location(json_t *where, const char *text, const char *kernel)
{
	json_t *out = json_pack("{s:o}", "physicalLocation", where);

	if (text)
		json_object_set_new(out, "message", message(text));
	if (kernel)
		json_object_set_new(out, "logicalLocations",
			json_pack("[{s:s, s:s}]", "name", kernel, "kind", "function"));
	return out;
}

static json_t *primary(const struct file_result *file, const struct fencepost_finding *finding)
{
	const struct fencepost_place *place = finding->primary;
	json_t *where = place->nsource
				? physical(place->source[0].file,
					  region(place->source[0].line, place->source[0].column, 0))
				: ptx_physical(file, place);

	return location(where, NULL, finding->kernel);
}

static void add_related(json_t *list, json_t *where)
{
	json_object_set_new(where, "id", json_integer((json_int_t)json_array_size(list)));
	json_array_append_new(list, where);
}

static json_t *related(const struct file_result *file, const struct fencepost_finding *finding)
{
	const struct fencepost_place *place = finding->primary;
	json_t *out = json_array();

	if (place->nsource)
		add_related(out, location(ptx_physical(file, place), "in the PTX", NULL));
	if (finding->generic && finding->generic != place)
		add_related(
			out, location(ptx_physical(file, finding->generic), "the access", NULL));
	for (uint32_t i = 0; i < finding->nhandoffs && i < 8; i++) {
		add_related(out, location(ptx_physical(file, &finding->handoffs[i].release),
					 "release", NULL));
		add_related(out, location(ptx_physical(file, &finding->handoffs[i].acquire),
					 "acquire", NULL));
	}
	if (finding->async && finding->async != place)
		add_related(out,
			location(ptx_physical(file, finding->async), "the async access", NULL));
	return out;
}

static json_t *code_flow(const struct file_result *file, const struct fencepost_finding *finding)
{
	json_t *steps = json_array();

	for (uint32_t i = 0; i < finding->npath; i++) {
		const char *text = i == 0		     ? "generic access"
				   : i + 1 == finding->npath ? "async access"
							     : "hand-off";

		json_array_append_new(steps,
			json_pack("{s:o}", "location",
				location(ptx_physical(file, &finding->path[i]), text, NULL)));
	}
	return json_pack("[{s:[{s:o}]}]", "threadFlows", "locations", steps);
}

/* What the tool would write, as an edit of the PTX. */
static json_t *edits_of(const struct file_result *file, const struct fixes *fixes, uint32_t number)
{
	json_t *edits = json_array();

	for (uint32_t i = fixes->head[number]; i; i = fixes->v[i].next) {
		const struct fencepost_fence *fence = file->result->fences[fixes->v[i].fence];

		if (!fence->bytes)
			continue;
		json_array_append_new(edits,
			json_pack("{s:{s:I, s:I}, s:{s:s%}}", "deletedRegion", "byteOffset",
				(json_int_t)fence->offset, "byteLength", (json_int_t)fence->length,
				"insertedContent", "text", fence->bytes, fence->nbytes));
	}
	if (!json_array_size(edits))
		return json_decref(edits), NULL;
	return json_pack("[{s:o, s:[{s:{s:o}, s:o}]}]", "description",
		message("put the fence into the PTX"), "artifactChanges", "artifactLocation", "uri",
		uri(file->name), "replacements", edits);
}

static const char *sarif_level(enum fencepost_level level)
{
	return level == FENCEPOST_ERROR ? "error" : level == FENCEPOST_WARNING ? "warning" : "note";
}

static json_t *result_object(
	const struct file_result *file, const struct fixes *fixes, uint32_t number)
{
	const struct fencepost_finding *finding = file->result->findings[number];
	char print[17], text[4096];

	snprintf(print, sizeof(print), "%016" PRIx64, finding->fingerprint);
	snprintf(text, sizeof(text), "%s. To do: %s.", finding->message,
		finding->help ? finding->help : "");
	json_t *out = json_pack("{s:s, s:I, s:s, s:o, s:[o], s:o, s:{s:s}, s:s}", "ruleId",
		fencepost_rule_name(finding->rule), "ruleIndex", (json_int_t)finding->rule, "level",
		sarif_level(finding->level), "message", message(text), "locations",
		primary(file, finding), "relatedLocations", related(file, finding),
		"partialFingerprints", "fencepost/v1", print, "baselineState",
		finding->state == FENCEPOST_BASELINE ? "unchanged" : "new");

	if (finding->npath > 1)
		json_object_set_new(out, "codeFlows", code_flow(file, finding));
	json_t *fix = edits_of(file, fixes, number);

	if (fix)
		json_object_set_new(out, "fixes", fix);
	if (finding->state == FENCEPOST_SUPPRESSED)
		json_object_set_new(out, "suppressions",
			json_pack("[{s:s, s:s}]", "kind", "inSource", "justification",
				finding->suppressed ? finding->suppressed : ""));
	json_object_set_new(out, "properties",
		json_pack("{s:s, s:s, s:I}", "confidence",
			fencepost_confidence_name(finding->confidence), "kernel", finding->kernel,
			"count", (json_int_t)finding->npairs));
	return out;
}

static json_t *rules(void)
{
	json_t *out = json_array();

	for (uint32_t i = 0; fencepost_rule_name(i); i++)
		json_array_append_new(out,
			json_pack("{s:s, s:o, s:o, s:o, s:{s:s}}", "id", fencepost_rule_name(i),
				"shortDescription", message(fencepost_rule_title(i)),
				"fullDescription", message(fencepost_rule_title(i)), "help",
				rule_help(i), "defaultConfiguration", "level",
				sarif_level(fencepost_rule_level(i))));
	return out;
}

static void sarif_begin(struct report *report)
{
	json_t *driver = json_pack("{s:s, s:s, s:s, s:o}", "name", "fencepost", "version",
		fencepost_version(), "semanticVersion", fencepost_version(), "rules", rules());

	report->own = calloc(1, sizeof(struct sarif));
	fputs("{\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", \"version\": "
	      "\"2.1.0\", "
	      "\"runs\": [{\"tool\": {\"driver\": ",
		report->out);
	json_dumpf(driver, report->out, JSON_COMPACT);
	fputs("}, \"columnKind\": \"utf16CodeUnits\",\n \"results\": [", report->out);
	json_decref(driver);
}

static void sarif_file(struct report *report, const struct file_result *file)
{
	struct sarif *sarif = report->own;

	if (!file->result || file->result->status != FENCEPOST_OK || !sarif)
		return;
	struct fixes fixes;

	if (!fixes_list(&fixes, file->result)) {
		sarif->dropped += file->result->nfindings;
		fixes_free(&fixes);
		return;
	}
	for (uint32_t i = 0; i < file->result->nfindings; i++) {
		if (sarif->results == MAX_RESULTS) {
			sarif->dropped++;
			continue;
		}
		json_t *result = result_object(file, &fixes, i);

		fputs(sarif->results++ ? ",\n  " : "\n  ", report->out);
		json_dumpf(result, report->out, JSON_COMPACT);
		json_decref(result);
	}
	fixes_free(&fixes);
}

static void sarif_end(struct report *report, const struct totals *totals,
	const struct fixed_finding *fixed, uint32_t nfixed)
{
	struct sarif *sarif = report->own;
	json_t *notes = json_array();

	(void)fixed, (void)nfixed;
	if (sarif && sarif->dropped) {
		char text[120];

		snprintf(text, sizeof(text), "%u results are left out of this run, which holds %d at most",
			sarif->dropped, MAX_RESULTS);
		json_array_append_new(notes,
			json_pack("{s:s, s:o}", "level", "warning", "message", message(text)));
	}
	if (totals->broken) {
		char text[120];

		snprintf(text, sizeof(text), "%u files could not be read or are not PTX",
			totals->broken);
		json_array_append_new(
			notes, json_pack("{s:s, s:o}", "level", "error", "message", message(text)));
	}
	fputs("],\n \"invocations\": [{\"executionSuccessful\": ", report->out);
	fputs(totals->broken ? "false" : "true", report->out);
	fputs(", \"toolExecutionNotifications\": ", report->out);
	json_dumpf(notes, report->out, JSON_COMPACT);
	fputs("}]}]}\n", report->out);
	json_decref(notes);
	free(report->own);
}

const struct report_form report_sarif = {sarif_begin, sarif_file, sarif_end};
