/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for a person: what a finding is, then every station of the way - the access, the
 * release, the acquire, the async operation - each with its line, its source and a caret, and what
 * to do. Invariant: each finding's first line can be read by tools that know compiler messages.
 */
#include "cli/repeats.h"
#include "cli/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_colors[] = {"\033[1;36m", "\033[1;35m", "\033[1;31m"};

static const char *paint(const struct report *report, const char *code)
{
	return report->color ? code : "";
}

static const char *plain(const struct report *report)
{
	return paint(report, "\033[0m");
}

static void print_source(const struct report *report, const struct fencepost_place *place)
{
	for (uint32_t i = 0; i < place->nsource; i++) {
		const struct fencepost_source *source = &place->source[i];
		char *function = source->function ? demangle(source->function) : NULL;

		fprintf(report->out, "       = %s %s:%u:%u",
			i ? "inlined at" : "source:", source->file, source->line, source->column);
		if (function)
			fprintf(report->out, ", in `%s'", function);
		fputc('\n', report->out);
		free(function);
	}
}

/* "FILE:LINE:COL: note: TEXT", the line, the caret, the source. */
static void print_station(const struct report *report, const struct file_result *file,
	const struct fencepost_place *place, const char *text)
{
	fprintf(report->out, "%s:%u:%u: %snote:%s %s\n", file->name, place->line, place->column,
		paint(report, level_colors[FENCEPOST_NOTE]), plain(report), text);
	print_excerpt(report->out, file->text, file->size, place->opcode_begin, place->opcode_end,
		place->line, report->color);
	print_source(report, place);
}

static bool is_edge(const struct fencepost_finding *finding)
{
	return strncmp(fencepost_rule_name(finding->rule), "missing-", 8) == 0;
}

static bool same_place(const struct fencepost_place *a, const struct fencepost_place *b)
{
	return a && b && a->begin == b->begin;
}

/* The stations behind the first one: on the path where there is one, else the two ends. */
static void print_way(const struct report *report, const struct file_result *file,
	const struct fencepost_finding *finding)
{
	const struct fencepost_place *shown = finding->primary;

	if (finding->fence && finding->generic)
		print_station(report, file, finding->generic, "the access that it is for is here");
	for (uint32_t i = 0; i < finding->nhandoffs && (i < 1 || report->settings->verbosity > 1);
		i++) {
		const struct fencepost_handoff *handoff = &finding->handoffs[i];

		if (handoff->release_line == handoff->acquire_line) {
			print_station(report, file, &handoff->release,
				"handed over to other threads here");
			continue;
		}
		print_station(report, file, &handoff->release,
			"handed over to other threads here (release)");
		print_station(report, file, &handoff->acquire, "and taken over here (acquire)");
	}
	if (finding->async && !same_place(finding->async, shown))
		print_station(report, file, finding->async,
			is_edge(finding) || finding->fence ? "the async access is here"
							   : "the other instruction is here");
	else if (finding->generic && !same_place(finding->generic, shown) && !finding->fence)
		print_station(report, file, finding->generic, "the other instruction is here");
}

static void print_pairs(const struct report *report, const struct fencepost_finding *finding)
{
	uint32_t most = report->settings->verbosity > 1 ? finding->npairs : 8;

	if (finding->unlisted)
		fprintf(report->out,
			"       = too many accesses to follow each: stands for up to %" PRIu64
			" pairs more\n",
			finding->unlisted);
	if (finding->npairs < 2)
		return;
	fprintf(report->out, "       = pairs of lines:");
	for (uint32_t i = 0; i < finding->npairs && i < most; i++)
		fprintf(report->out, " %u-%u", finding->pairs[i].generic_line,
			finding->pairs[i].async_line);
	if (finding->npairs > most)
		fprintf(report->out, " and %u more", finding->npairs - most);
	fputc('\n', report->out);
}

/* The other findings of the same lines of the source, by their lines of the PTX. */
static void print_repeats(const struct report *report, const struct file_result *file,
	const struct repeats *repeats, uint32_t number)
{
	uint32_t n = 0, most = 8;

	for (uint32_t i = repeats->next[number]; i != REPEATS_END; i = repeats->next[i])
		n++;
	if (!n)
		return;
	fprintf(report->out, "       = %u more of the same source lines:", n);
	for (uint32_t i = repeats->next[number], k = 0; i != REPEATS_END && k < most;
		i = repeats->next[i], k++) {
		const struct fencepost_finding *f = file->result->findings[i];

		fprintf(report->out, " %u", f->primary->line);
		if (f->async && f->async->line != f->primary->line)
			fprintf(report->out, "-%u", f->async->line);
	}
	if (n > most)
		fprintf(report->out, " and %u more", n - most);
	fputs("; -vv shows each\n", report->out);
}

static void print_finding(const struct report *report, const struct file_result *file,
	const struct repeats *repeats, uint32_t number)
{
	const struct fencepost_finding *finding = file->result->findings[number];
	const struct fencepost_place *place = finding->primary;
	char *kernel = demangle(finding->kernel);

	fprintf(report->out, "%s:%u:%u: %s%s:%s %s%s%s [%s]\n", file->name, place->line,
		place->column, paint(report, level_colors[finding->level]),
		fencepost_level_name(finding->level), plain(report), paint(report, "\033[1m"),
		finding->message, plain(report), fencepost_rule_name(finding->rule));
	print_excerpt(report->out, file->text, file->size, place->opcode_begin, place->opcode_end,
		place->line, report->color);
	print_source(report, place);
	print_way(report, file, finding);
	print_pairs(report, finding);
	if (repeats->next)
		print_repeats(report, file, repeats, number);
	fprintf(report->out, "       = kernel: %s; confidence: %s%s%s\n",
		kernel ? kernel : finding->kernel, fencepost_confidence_name(finding->confidence),
		finding->state == FENCEPOST_NEW ? "" : "; ",
		finding->state == FENCEPOST_NEW ? "" : fencepost_state_name(finding->state));
	if (finding->suppressed)
		fprintf(report->out, "       = hint: %s\n", finding->suppressed);
	else if (finding->help)
		fprintf(report->out, "       = %sdo:%s %s\n", paint(report, "\033[1;32m"),
			plain(report), finding->help);
	fputc('\n', report->out);
	free(kernel);
}

/* Known and suppressed findings are counted in the summary and listed on request. */
static bool is_shown(const struct report *report, const struct fencepost_finding *finding)
{
	return finding->state == FENCEPOST_NEW || report->settings->verbosity > 0;
}

static void print_list(FILE *out, const char *before, const char *const *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ", " : before, list[i]);
}

static void print_kernel(const struct report *report, const struct file_result *file,
	const struct fencepost_kernel *kernel)
{
	static const char *const colors[] = {
		"\033[1;31m", "\033[1;35m", "\033[1;36m", "\033[1;32m"};
	bool quiet = kernel->verdict == FENCEPOST_CLEAN && !kernel->async && !kernel->fences;
	char *name = demangle(kernel->name);

	if (!quiet || report->settings->verbosity) {
		fprintf(report->out, "%s:%u: %s%s%s: %s", file->name, kernel->line,
			paint(report, colors[kernel->verdict]),
			fencepost_verdict_name(kernel->verdict), plain(report),
			name ? name : kernel->name);
		fprintf(report->out, " (%u instructions, %u generic, %u async, %u fences)\n",
			kernel->instructions, kernel->generic, kernel->async, kernel->fences);
		print_list(report->out, "       = not modelled: ", kernel->unmodelled,
			kernel->nunmodelled);
		fputs(kernel->nunmodelled ? "\n" : "", report->out);
		print_list(report->out, "       = rests on: ", kernel->assumptions,
			kernel->nassumptions);
		fputs(kernel->nassumptions ? "\n" : "", report->out);
		if (report->settings->verbosity && kernel->pairs_ruled_out)
			fprintf(report->out, "       = %llu pairs ruled out by their addresses\n",
				(unsigned long long)kernel->pairs_ruled_out);
	}
	free(name);
}

static void print_fence(const struct report *report, const struct file_result *file,
	const struct fencepost_fence *fence)
{
	bool done = report->settings->mode == MODE_REWRITE;
	const char *verb = fence->change == FENCEPOST_INSERT ? (done ? "inserted" : "would insert")
			   : fence->change == FENCEPOST_REMOVE
				   ? (done ? "removed" : "would remove")
				   : (done ? "narrowed to" : "would narrow to");

	fprintf(report->out, "%s:%u:%u: %s%s%s `%s'%s%s%s\n", file->name, fence->line,
		fence->column, paint(report, "\033[1;32m"), verb, plain(report), fence->text,
		fence->change == FENCEPOST_INSERT ? " before this line" : "",
		fence->reason ? ": " : "", fence->reason ? fence->reason : "");
}

static void print_mutations(const struct report *report, const struct file_result *file)
{
	static const char *const verdicts[] = {"needed", "spare", "not known"};

	for (uint32_t i = 0; i < file->result->nmutations; i++) {
		const struct fencepost_mutation *m = file->result->mutations[i];

		fprintf(report->out, "%s:%u:%u: `%s' is %s%s\n", file->name, m->line, m->column,
			m->text, verdicts[m->verdict],
			m->verdict == 0 ? ": the audit sees its loss" : "");
	}
}

static void text_begin(struct report *report)
{
	(void)report;
}

static void text_file(struct report *report, const struct file_result *file)
{
	const struct fencepost_result *result = file->result;
	struct repeats repeats = {0};

	if (!result || result->status != FENCEPOST_OK)
		return; /* the errors are on standard error already */
	if (report->settings->verbosity < 2)
		repeats_find(result, &repeats); /* no memory: each is shown */
	for (uint32_t i = 0; i < result->nfindings; i++)
		if (is_shown(report, result->findings[i]) && !(repeats.again && repeats.again[i]))
			print_finding(report, file, &repeats, i);
	repeats_free(&repeats);
	if (report->settings->mode == MODE_REWRITE || report->settings->verbosity)
		for (uint32_t i = 0; i < result->nfences; i++)
			print_fence(report, file, result->fences[i]);
	print_mutations(report, file);
	for (uint32_t i = 0; i < result->nkernels; i++)
		print_kernel(report, file, result->kernels[i]);
}

static void text_end(struct report *report, const struct totals *totals,
	const struct fixed_finding *fixed, uint32_t nfixed)
{
	for (uint32_t i = 0; i < nfixed; i++)
		fprintf(report->out, "%s: fixed since the baseline: %s in %s (%s)\n", fixed[i].file,
			fixed[i].rule, fixed[i].kernel, fixed[i].fingerprint);
	print_summary(report->out, report->settings, totals, report->color);
}

const struct report_form report_text = {text_begin, text_file, text_end};
