/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for programs: `fencepost-report/1' (docs/report.schema.json). Each kernel, finding and
 * fence is made, written and freed before the next, so that memory does not grow with their number.
 */
#include "cli/report.h"
#include "lib/internal.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* Opcodes and names are ASCII by PTX's rules; file names may be anything: jansson refuses those
 * that are no UTF-8, so bytes beyond ASCII are then replaced. */
static json_t *text(const char *s)
{
	if (!s)
		return json_null();
	json_t *out = json_string(s);

	if (out)
		return out;
	size_t n = strlen(s);
	char *copy = malloc(n + 1);

	for (size_t i = 0; copy && i <= n; i++)
		copy[i] = (char)((unsigned char)s[i] < 128 ? s[i] : '?');
	out = copy ? json_string(copy) : NULL;
	free(copy);
	return out;
}

static json_t *texts(const char *const *list, uint32_t n)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(out, text(list[i]));
	return out;
}

static json_t *mask(const char *(*name)(uint32_t), uint32_t bits)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < 32 && name(i); i++)
		if (bits >> i & 1)
			json_array_append_new(out, json_string(name(i)));
	return out;
}

static const char *hazard_name(uint32_t n)
{
	return option_name(OPTION_HAZARDS, n);
}

static const char *fix_name(uint32_t n)
{
	return option_name(OPTION_FIX, n);
}

static const char *space_name(uint32_t n)
{
	return n == 0 ? "shared" : n == 1 ? "global" : NULL;
}

static const char *mode_name(enum mode mode)
{
	return mode == MODE_CHECK ? "check" : "rewrite";
}

struct json_t *json_options(const struct settings *settings)
{
	const struct fencepost_options *o = &settings->options;

	return json_pack("{s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:s, s:b, s:s, s:f, s:b, s:o}",
		"mode", mode_name(settings->mode), "rules", mask(fencepost_rule_name, o->rules),
		"hazards", mask(hazard_name, o->hazards), "spaces",
		mask(space_name, (uint32_t)o->shared | (uint32_t)o->global << 1), "threads",
		o->cross_threads ? "cross" : "same", "placement",
		o->writer_side ? "writer" : "async", "fix", mask(fix_name, o->fix), "assume",
		mask(fencepost_assumption_name, o->strict ? 0 : o->assume), "cp_async",
		o->cp_async_trust && !o->strict ? "trust" : "fence", "strict", (int)o->strict,
		"calls", option_name(OPTION_CALLS, o->calls), "budget", o->budget_seconds, "mutate",
		(int)o->mutate, "kernels", texts(settings->kernels, settings->nkernels));
}

static json_t *source(const struct fencepost_place *place)
{
	json_t *chain = json_array();

	if (!place->nsource)
		return json_decref(chain), json_null();
	for (uint32_t i = 1; i < place->nsource; i++)
		json_array_append_new(
			chain, json_pack("{s:o, s:I, s:I}", "file", text(place->source[i].file),
				       "line", (json_int_t)place->source[i].line, "column",
				       (json_int_t)place->source[i].column));
	json_t *out = json_pack("{s:o, s:I, s:I}", "file", text(place->source[0].file), "line",
		(json_int_t)place->source[0].line, "column", (json_int_t)place->source[0].column);

	if (place->source[0].function)
		json_object_set_new(out, "function", text(place->source[0].function));
	if (json_array_size(chain))
		json_object_set(out, "inlined_at", chain);
	json_decref(chain);
	return out;
}

static json_t *place(const struct fencepost_place *at)
{
	if (!at)
		return json_null();
	return json_pack("{s:I, s:I, s:o, s:o}", "line", (json_int_t)at->line, "column",
		(json_int_t)at->column, "opcode", text(at->opcode), "source", source(at));
}

static json_t *pairs(const struct fencepost_finding *finding)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < finding->npairs; i++)
		json_array_append_new(
			out, json_pack("[I, I]", (json_int_t)finding->pairs[i].generic_line,
				     (json_int_t)finding->pairs[i].async_line));
	return out;
}

static json_t *handoffs(const struct fencepost_finding *finding)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < finding->nhandoffs; i++)
		json_array_append_new(
			out, json_pack("{s:I, s:I}", "release_line",
				     (json_int_t)finding->handoffs[i].release_line, "acquire_line",
				     (json_int_t)finding->handoffs[i].acquire_line));
	return out;
}

static json_t *path(const struct fencepost_finding *finding)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < finding->npath; i++)
		json_array_append_new(out, json_integer(finding->path[i].line));
	return out;
}

static json_t *finding_object(const struct fencepost_finding *finding)
{
	char print[17];

	snprintf(print, sizeof(print), "%016" PRIx64, finding->fingerprint);
	json_t *out = json_pack("{s:s, s:s, s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "rule",
		fencepost_rule_name(finding->rule), "level", fencepost_level_name(finding->level),
		"confidence", fencepost_confidence_name(finding->confidence), "kernel",
		text(finding->kernel), "count", (json_int_t)finding->npairs, "generic",
		place(finding->generic), "async", place(finding->async), "pairs", pairs(finding),
		"handoff", handoffs(finding), "path", path(finding));

	json_object_set_new(out, "fence_line",
		finding->fence ? json_integer(finding->fence->line) : json_null());
	json_object_set_new(out, "unfixable", text(finding->unfixable));
	json_object_set_new(out, "message", text(finding->message));
	json_object_set_new(out, "help", text(finding->help));
	json_object_set_new(out, "state", json_string(fencepost_state_name(finding->state)));
	if (finding->state == FENCEPOST_SUPPRESSED)
		json_object_set_new(
			out, "reason", text(finding->suppressed ? finding->suppressed : ""));
	json_object_set_new(out, "fingerprint", json_string(print));
	if (finding->unlisted)
		json_object_set_new(out, "unlisted", json_integer((json_int_t)finding->unlisted));
	return out;
}

static json_t *kernel_object(const struct fencepost_kernel *kernel)
{
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:s, s:I, s:o, s:o}", "name",
		text(kernel->name), "line", (json_int_t)kernel->line, "instructions",
		(json_int_t)kernel->instructions, "generic", (json_int_t)kernel->generic, "async",
		(json_int_t)kernel->async, "fences", (json_int_t)kernel->fences, "verdict",
		fencepost_verdict_name(kernel->verdict), "pairs_ruled_out",
		(json_int_t)kernel->pairs_ruled_out, "unmodelled",
		texts(kernel->unmodelled, kernel->nunmodelled), "assumptions",
		texts(kernel->assumptions, kernel->nassumptions));
}

static json_t *fence_object(const struct fencepost_fence *fence)
{
	json_t *fixes = json_array();

	for (uint32_t i = 0; i < fence->nfixes; i++)
		json_array_append_new(fixes, json_integer(fence->fixes[i]));
	return json_pack("{s:s, s:I, s:I, s:o, s:I, s:o}", "change",
		fencepost_change_name(fence->change), "before_line", (json_int_t)fence->line,
		"before_column", (json_int_t)fence->column, "text", text(fence->text), "weight",
		(json_int_t)fence->weight, "fixes", fixes);
}

static json_t *mutation(const struct fencepost_result *result)
{
	static const char *const verdicts[] = {"needed", "spare", "unknown"};
	uint32_t counts[3] = {0};
	json_t *fences = json_array();

	if (!result->mutated)
		return json_decref(fences), json_null();
	for (uint32_t i = 0; i < result->nmutations; i++) {
		const struct fencepost_mutation *m = result->mutations[i];

		counts[m->verdict]++;
		json_array_append_new(
			fences, json_pack("{s:I, s:I, s:o, s:s}", "line", (json_int_t)m->line,
					"column", (json_int_t)m->column, "text", text(m->text),
					"verdict", verdicts[m->verdict]));
	}
	return json_pack("{s:I, s:I, s:I, s:o}", "needed", (json_int_t)counts[0], "spare",
		(json_int_t)counts[1], "unknown", (json_int_t)counts[2], "fences", fences);
}

static json_t *error_object(const struct file_result *file)
{
	if (!file->result)
		return json_pack("{s:n, s:n, s:o}", "line", "column", "message", text(file->error));
	for (uint32_t i = 0; i < file->result->ndiagnostics; i++) {
		const struct fencepost_diagnostic *d = file->result->diagnostics[i];

		if (d->level != FENCEPOST_ERROR)
			continue;
		return json_pack("{s:o, s:o, s:o}", "line",
			d->line ? json_integer(d->line) : json_null(), "column",
			d->line ? json_integer(d->column) : json_null(), "message",
			text(d->message));
	}
	return json_null();
}

struct json_t *json_summary(const struct totals *totals)
{
	json_t *findings = json_object();

	for (uint32_t i = 0; fencepost_rule_name(i); i++)
		if (totals->findings[i])
			json_object_set_new(findings, fencepost_rule_name(i),
				json_integer(totals->findings[i]));
	return json_pack("{s:I, s:I, s:o, s:I, s:I, s:I}", "files", (json_int_t)totals->files,
		"kernels", (json_int_t)totals->kernels, "findings", findings, "inserted",
		(json_int_t)totals->inserted, "removed", (json_int_t)totals->removed, "narrowed",
		(json_int_t)totals->narrowed);
}

static void put(FILE *out, json_t *value)
{
	if (!value) /* out of memory: the reader must see that something is missing */
		fputs("null", out);
	else
		json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(value);
}

static void json_begin(struct report *report)
{
	fprintf(report->out,
		"{\"schema\": \"fencepost-report/1\", \"tool\": \"fencepost\", \"version\": "
		"\"%s\", "
		"\"options\": ",
		fencepost_version());
	put(report->out, json_options(report->settings));
	fputs(",\n \"files\": [", report->out);
}

static void put_field(FILE *out, const char *before, const char *name, json_t *value)
{
	fprintf(out, "%s\"%s\":", before, name);
	put(out, value);
}

static void put_element(FILE *out, uint32_t i, json_t *value)
{
	fputs(i ? "," : "", out);
	put(out, value);
}

static void json_one(struct report *report, const struct file_result *file)
{
	static const struct fencepost_result nothing;
	const struct fencepost_result *result = file->result ? file->result : &nothing;
	FILE *out = report->out;

	fputs(report->nfiles ? ",\n  " : "\n  ", out);
	put_field(out, "{", "file", text(file->name));
	put_field(out, ",", "ptx_version", text(result->ptx_version));
	put_field(out, ",", "target", text(result->target));
	put_field(out, ",", "error", error_object(file));
	fputs(",\"kernels\":[", out);
	for (uint32_t i = 0; i < result->nkernels; i++)
		put_element(out, i, kernel_object(result->kernels[i]));
	fputs("],\"findings\":[", out);
	for (uint32_t i = 0; i < result->nfindings; i++)
		put_element(out, i, finding_object(result->findings[i]));
	fputs("],\"fences\":[", out);
	for (uint32_t i = 0; i < result->nfences; i++)
		put_element(out, i, fence_object(result->fences[i]));
	put_field(out, "],", "mutation", mutation(result));
	fputc('}', out);
}

static void json_end(struct report *report, const struct totals *totals,
	const struct fixed_finding *fixed, uint32_t nfixed)
{
	fputs("],\n \"summary\": ", report->out);
	put(report->out, json_summary(totals));
	if (report->settings->baseline) {
		json_t *list = json_array();

		for (uint32_t i = 0; i < nfixed; i++)
			json_array_append_new(
				list, json_pack("{s:o, s:o, s:s, s:s}", "file", text(fixed[i].file),
					      "kernel", text(fixed[i].kernel), "rule",
					      fixed[i].rule, "fingerprint", fixed[i].fingerprint));
		fputs(",\n \"fixed\": ", report->out);
		put(report->out, list);
	}
	fputs("}\n", report->out);
}

const struct report_form report_json = {json_begin, json_one, json_end};
