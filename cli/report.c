/* SPDX-License-Identifier: Apache-2.0 */
/* What all reports share: choosing the form, totals, excerpts of the input with carets. */
#include "cli/report.h"

#include <ctype.h>
#include <string.h>

#define RED "\033[1;31m"
#define PURPLE "\033[1;35m"
#define CYAN "\033[1;36m"
#define GREEN "\033[1;32m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

void report_begin(
	struct report *report, const struct settings *settings, enum format format, FILE *out)
{
	static const struct report_form *const forms[] = {
		&report_text, &report_json, &report_sarif, &report_html};

	*report = (struct report){.settings = settings,
		.out = out,
		.color = format == FORMAT_TEXT && settings_color(settings, out),
		.form = forms[format]};
	report->form->begin(report);
}

void report_file(struct report *report, const struct file_result *file)
{
	report->form->file(report, file);
	report->nfiles++;
}

bool report_end(struct report *report, const struct totals *totals,
	const struct fixed_finding *fixed, uint32_t nfixed)
{
	report->form->end(report, totals, fixed, nfixed);
	return fflush(report->out) == 0 && !ferror(report->out);
}

static void add_finding(struct totals *totals, const struct fencepost_finding *finding)
{
	totals->baseline += finding->state == FENCEPOST_BASELINE;
	totals->suppressed += finding->state == FENCEPOST_SUPPRESSED;
	if (finding->state != FENCEPOST_NEW)
		return;
	totals->findings[finding->rule]++;
	totals->levels[finding->level]++;
	totals->possible += finding->confidence == FENCEPOST_POSSIBLE &&
			    fencepost_rule_level(finding->rule) >= FENCEPOST_WARNING;
}

void totals_add(struct totals *totals, const struct file_result *file)
{
	const struct fencepost_result *result = file->result;

	totals->files++;
	if (!result || result->status != FENCEPOST_OK) {
		totals->broken++;
		return;
	}
	totals->kernels += result->nkernels;
	totals->inserted += result->inserted;
	totals->removed += result->removed;
	totals->narrowed += result->narrowed;
	totals->edges_left += result->edges_left;
	for (uint32_t i = 0; i < result->nkernels; i++) {
		totals->verdicts[result->kernels[i]->verdict]++;
		totals->incomplete += result->kernels[i]->incomplete;
	}
	for (uint32_t i = 0; i < result->nfindings; i++)
		add_finding(totals, result->findings[i]);
}

/* A terminal must not obey an input. */
static char without_control(char c)
{
	return iscntrl((unsigned char)c) && c != '\t' ? '?' : c;
}

void print_excerpt(FILE *out, const char *text, size_t size, size_t begin, size_t end,
	uint32_t line, bool color)
{
	enum { MOST = 400, DEEPEST = 350 }; /* initialisers of 500 KB are one line */
	size_t at = begin < size ? begin : size;
	const char *before = memrchr(text, '\n', at);
	size_t from = before ? (size_t)(before + 1 - text) : 0, to = from;
	char shown[MOST];

	if (begin - from > DEEPEST)
		return;
	for (; to < size && to - from < MOST && text[to] != '\n' && text[to] != '\r'; to++)
		shown[to - from] = without_control(text[to]);
	fprintf(out, "%6u | %.*s\n       | ", line, (int)(to - from), shown);
	for (size_t i = from; i < begin; i++)
		shown[i - from] = text[i] == '\t' ? '\t' : ' ';
	fwrite(shown, 1, begin - from, out);
	fputs(color ? GREEN "^" : "^", out);
	end = end < to ? end : to;
	if (end > begin + 1)
		fwrite(memset(shown, '~', end - begin - 1), 1, end - begin - 1, out);
	fputs(color ? PLAIN "\n" : "\n", out);
}

void print_diagnostics(FILE *out, const struct file_result *file, bool color, bool warnings)
{
	static const char *const colors[] = {CYAN, PURPLE, RED};

	if (!file->result) {
		fprintf(out, "%s: %serror:%s %s\n", file->name, color ? RED : "",
			color ? PLAIN : "", file->error);
		return;
	}
	for (uint32_t i = 0; i < file->result->ndiagnostics; i++) {
		const struct fencepost_diagnostic *d = file->result->diagnostics[i];

		if (d->level != FENCEPOST_ERROR && !warnings)
			continue;
		fprintf(out, "%s:", file->name);
		if (d->line)
			fprintf(out, "%u:%u:", d->line, d->column);
		fprintf(out, " %s%s:%s %s\n", color ? colors[d->level] : "",
			fencepost_level_name(d->level), color ? PLAIN : "", d->message);
		if (d->line)
			print_excerpt(
				out, file->text, file->size, d->begin, d->end, d->line, color);
	}
}

static void count_word(
	FILE *out, const char **between, uint32_t n, const char *one, const char *many)
{
	if (!n)
		return;
	fprintf(out, "%s%u %s", *between, n, n == 1 ? one : many);
	*between = ", ";
}

static const char *nothing_new(const struct totals *totals)
{
	if (totals->broken >= totals->files)
		return "nothing looked at";
	return totals->baseline ? "no new findings" : "no findings";
}

void print_summary(
	FILE *out, const struct settings *settings, const struct totals *totals, bool color)
{
	const char *between = "";
	bool bad = totals->levels[FENCEPOST_ERROR] || totals->broken;

	fprintf(out, "%sfencepost:%s ", color ? (bad ? RED : GREEN) : "", color ? PLAIN : "");
	count_word(out, &between, totals->levels[FENCEPOST_ERROR], "error", "errors");
	count_word(out, &between, totals->levels[FENCEPOST_WARNING], "warning", "warnings");
	count_word(out, &between, totals->levels[FENCEPOST_NOTE], "note", "notes");
	if (!*between)
		fputs(nothing_new(totals), out);
	between = " in ";
	count_word(out, &between, totals->kernels, "kernel", "kernels");
	between = totals->kernels ? " of " : " in ";
	count_word(out, &between, totals->files, "file", "files");
	between = " (verdicts: ";
	for (int i = 0; i < 4; i++)
		if (totals->verdicts[i]) {
			fprintf(out, "%s%u %s", between, totals->verdicts[i],
				fencepost_verdict_name((enum fencepost_verdict)i));
			between = ", ";
		}
	fputs(between[0] == ',' ? ")" : "", out);
	between = "; ";
	if (!totals->kernels && totals->broken < totals->files && !settings->nkernels)
		fputs("; no kernel here is for sm_90 or later and has async accesses", out);
	count_word(
		out, &between, totals->broken, "file with input errors", "files with input errors");
	count_word(out, &between, totals->baseline, "known from the baseline",
		"known from the baseline");
	count_word(
		out, &between, totals->suppressed, "suppressed by a hint", "suppressed by hints");
	if (settings->mode == MODE_REWRITE) {
		count_word(out, &between, totals->inserted, "fence inserted", "fences inserted");
		count_word(out, &between, totals->narrowed, "fence narrowed", "fences narrowed");
		count_word(out, &between, totals->removed, "fence removed", "fences removed");
		count_word(out, &between, totals->edges_left, "edge left", "edges left");
		count_word(
			out, &between, totals->unwritten, "file not written", "files not written");
	}
	fputc('\n', out);
}
