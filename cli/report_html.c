/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One page that needs nothing else: kernels with verdicts, and per kernel its findings, its control
 * flow and its listing. A listing is kept in a <template> until its kernel is opened, and shows the
 * lines that matter with two around each, so that a page with hundreds of kernels stays quick. Rows
 * of the table are written behind the kernels' bodies and moved to the top by the page's own order
 * (CSS).
 */
#include "cli/page.h"
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

extern const char *const page_css[], *const page_js[];

#define CONTEXT 2

struct html {
	FILE *rows; /* the table, in memory until the end: one short line per kernel */
	char *text;
	size_t size;
	uint32_t kernels;
};

static void put_lines(FILE *out, const char *const *lines)
{
	for (; *lines; lines++)
		fprintf(out, "%s\n", *lines);
}

static void put(FILE *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (text[i]) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\r':
			break;
		default:
			fputc(text[i], out);
		}
	}
}

static void put_text(FILE *out, const char *text)
{
	put(out, text, strlen(text));
}

static void html_begin(struct report *report)
{
	struct html *html = calloc(1, sizeof(*html));

	report->own = html;
	if (html)
		html->rows = open_memstream(&html->text, &html->size);
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>fencepost "
	      "report</title>\n"
	      "<style>\n",
		report->out);
	put_lines(report->out, page_css);
	fprintf(report->out,
		"main { display: flex; flex-direction: column; } #head { order: 0; } #list { "
		"order: 1; } "
		"#all { order: 2; }\n</style>\n</head>\n<body>\n<main>\n<div id=\"all\">\n");
}

static bool in_pairs(const struct fencepost_finding *finding, uint32_t line)
{
	for (uint32_t i = 0; i < finding->npairs; i++)
		if (finding->pairs[i].generic_line == line || finding->pairs[i].async_line == line)
			return true;
	return false;
}

static bool is_edge(const struct fencepost_finding *finding)
{
	return strncmp(fencepost_rule_name(finding->rule), "missing-", 8) == 0;
}

struct named { /* something of a kernel */
	const char *kernel;
	uint32_t number; /* in its list */
};

struct index { /* of one file: what belongs to a kernel, and where a line begins */
	struct named *findings, *pages; /* by kernel, then number */
	uint32_t nfindings, npages;
	const char *at; /* of `line`, or NULL behind the last one; lines are asked for mostly upwards */
	uint32_t line;
};

static int by_kernel(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->kernel, y->kernel);

	return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

/* The first of a kernel, as a number of the sorted list. */
static uint32_t first_of(const struct named *v, uint32_t n, const char *kernel)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (strcmp(v[mid].kernel, kernel) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t count_of(const struct named *v, uint32_t n, uint32_t first, const char *kernel)
{
	uint32_t end = first;

	while (end < n && strcmp(v[end].kernel, kernel) == 0)
		end++;
	return end - first;
}

static void index_free(struct index *index)
{
	free(index->findings);
	free(index->pages);
}

/* False: out of memory. */
static bool index_make(const struct file_result *file, struct index *index)
{
	*index = (struct index){.nfindings = file->result->nfindings,
		.npages = file->page ? file->page->n : 0,
		.at = file->text,
		.line = 1};
	index->findings = calloc(index->nfindings + 1, sizeof(*index->findings));
	index->pages = calloc(index->npages + 1, sizeof(*index->pages));
	if (!index->findings || !index->pages) {
		index_free(index);
		return false;
	}
	for (uint32_t i = 0; i < index->nfindings; i++)
		index->findings[i] = (struct named){file->result->findings[i]->kernel, i};
	for (uint32_t i = 0; i < index->npages; i++)
		index->pages[i] = (struct named){file->page->v[i].name, i};
	qsort(index->findings, index->nfindings, sizeof(*index->findings), by_kernel);
	qsort(index->pages, index->npages, sizeof(*index->pages), by_kernel);
	return true;
}

struct listing {
	const struct file_result *file;
	struct index *index;
	const struct fencepost_kernel *kernel;
	const struct named *findings; /* of the kernel */
	uint32_t nfindings;
	const struct page_kernel *page;
	const char *anchor;
	uint8_t *shown; /* by line - first: 1 itself, 2 context */
	FILE *out;
};

static const struct fencepost_finding *finding_of(const struct listing *l, uint32_t i)
{
	return l->file->result->findings[l->findings[i].number];
}

/* The first finding of the file, or fence, that stands in a line or behind it: both lists are in order of the text. */
static uint32_t finding_from(const struct listing *l, uint32_t line)
{
	uint32_t low = 0, high = l->file->result->nfindings;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (l->file->result->findings[mid]->primary->line < line)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t fence_from(const struct listing *l, uint32_t line)
{
	uint32_t low = 0, high = l->file->result->nfences;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (l->file->result->fences[mid]->line < line)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The lines of the findings and of all accesses, fences and hand-offs. */
static void choose_lines(struct listing *l)
{
	uint32_t n = l->page->last - l->page->first + 1;

	for (uint32_t i = 0; i < n; i++)
		l->shown[i] = l->page->roles[i] != 0;
	for (uint32_t f = finding_from(l, l->page->first); f < l->file->result->nfindings; f++) {
		uint32_t line = l->file->result->findings[f]->primary->line;

		if (line > l->page->last)
			break;
		l->shown[line - l->page->first] = 1;
	}
	l->shown[0] = 1;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i > CONTEXT ? i - CONTEXT : 0;
			l->shown[i] == 1 && j < n && j <= i + CONTEXT; j++)
			if (!l->shown[j])
				l->shown[j] = 2;
}

/* The other ends of the edges of this line, for the page's script. */
static void put_partners(const struct listing *l, uint32_t line)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < l->nfindings; f++) {
		const struct fencepost_finding *finding = finding_of(l, f);

		if (!is_edge(finding))
			continue;
		for (uint32_t p = 0; p < finding->npairs && n < 64; p++) {
			uint32_t g = finding->pairs[p].generic_line,
				 a = finding->pairs[p].async_line;

			if (g == line || a == line)
				fprintf(l->out, "%s%sL%u", n++ ? " " : " data-e=\"", l->anchor,
					g == line ? a : g);
		}
	}
	fputs(n ? "\"" : "", l->out);
}

static bool edge_at(const struct listing *l, uint32_t line)
{
	for (uint32_t f = 0; f < l->nfindings; f++)
		if (is_edge(finding_of(l, f)) && in_pairs(finding_of(l, f), line))
			return true;
	return false;
}

static void put_inserted(const struct listing *l, uint32_t line)
{
	for (uint32_t i = fence_from(l, line); i < l->file->result->nfences; i++) {
		const struct fencepost_fence *fence = l->file->result->fences[i];

		if (fence->line != line)
			break;
		fprintf(l->out, "<div class=\"i\"><b>%s</b>",
			fence->change == FENCEPOST_INSERT   ? "+"
			: fence->change == FENCEPOST_REMOVE ? "-"
							    : "~");
		put_text(l->out, fence->text);
		fputs("</div>", l->out);
	}
}

static void put_line(const struct listing *l, uint32_t line, const char *text, size_t n)
{
	uint8_t roles = l->page->roles[line - l->page->first];

	put_inserted(l, line);
	fprintf(l->out, "<div id=\"%sL%u\" class=\"%s%s%s%s%s\"", l->anchor, line,
		roles & LINE_GENERIC ? "g " : "", roles & LINE_ASYNC ? "a " : "",
		roles & LINE_FENCE ? "f " : "", roles & LINE_SYNC ? "h " : "",
		edge_at(l, line) ? "e" : "");
	put_partners(l, line);
	fprintf(l->out, "><b>%u</b>", line);
	put(l->out, text, n > 300 ? 300 : n);
	fputs("</div>", l->out);
}

static const char *line_start(const struct listing *l, uint32_t line)
{
	const char *end = l->file->text + l->file->size;
	struct index *index = l->index;

	if (line < index->line) {
		index->at = l->file->text;
		index->line = 1;
	}
	for (; index->line < line && index->at; index->line++) {
		index->at = memchr(index->at, '\n', (size_t)(end - index->at));
		index->at = index->at ? index->at + 1 : NULL;
	}
	return index->at;
}

static void put_listing(struct listing *l)
{
	const char *at = line_start(l, l->page->first), *end = l->file->text + l->file->size;
	uint32_t gap = 0;

	l->shown = calloc(l->page->last - l->page->first + 1, 1);
	if (!l->shown || !at) {
		free(l->shown);
		return;
	}
	choose_lines(l);
	fputs("<pre>", l->out);
	for (uint32_t line = l->page->first; line <= l->page->last && at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop : end) - at);

		if (l->shown[line - l->page->first]) {
			if (gap)
				fprintf(l->out, "<div class=\"gap\"><b></b>%u lines</div>", gap);
			gap = 0;
			put_line(l, line, at, n);
		} else {
			gap++;
		}
		at = stop ? stop + 1 : end;
	}
	if (gap)
		fprintf(l->out, "<div class=\"gap\"><b></b>%u lines</div>", gap);
	fputs("</pre>\n", l->out);
	free(l->shown);
}

static void put_link(const struct listing *l, const struct fencepost_place *place, const char *what)
{
	fprintf(l->out, " &middot; %s <a href=\"#%sL%u\">line %u</a>", what, l->anchor, place->line,
		place->line);
	if (!place->nsource)
		return;
	fputs(" (", l->out);
	put_text(l->out, place->source[0].file);
	fprintf(l->out, ":%u)", place->source[0].line);
}

static void put_finding(const struct listing *l, const struct fencepost_finding *finding)
{
	fprintf(l->out, "<div class=\"finding\"><span class=\"%s\">%s</span> <code>%s</code> ",
		fencepost_level_name(finding->level), fencepost_level_name(finding->level),
		fencepost_rule_name(finding->rule));
	put_text(l->out, finding->message);
	fprintf(l->out, "<br><span class=\"dim\">%s%s%s",
		fencepost_confidence_name(finding->confidence),
		finding->state == FENCEPOST_NEW ? "" : ", ",
		finding->state == FENCEPOST_NEW ? "" : fencepost_state_name(finding->state));
	if (finding->fence)
		put_link(l, finding->fence, "fence");
	if (finding->generic)
		put_link(l, finding->generic, finding->async ? "access" : "place");
	for (uint32_t i = 0; i < finding->nhandoffs && i < 4; i++) {
		put_link(l, &finding->handoffs[i].release, "release");
		put_link(l, &finding->handoffs[i].acquire, "acquire");
	}
	if (finding->async)
		put_link(l, finding->async, "async");
	if (finding->suppressed) {
		fputs(" &middot; hint: ", l->out);
		put_text(l->out, finding->suppressed);
	}
	fputs("</span>", l->out);
	if (finding->help) {
		fputs("<br>", l->out);
		put_text(l->out, finding->help);
	}
	fputs("</div>\n", l->out);
}

static void put_list(FILE *out, const char *before, const char *const *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? ", " : before, out);
		put_text(out, list[i]);
	}
	fputs(n ? "</p>\n" : "", out);
}

static void put_kernel(struct report *report, struct listing *l, const char *name, uint32_t number)
{
	FILE *out = report->out;

	fprintf(out,
		"<details class=\"kernel\" id=\"k%u\" data-file=\"%s\" data-first=\"%u\" "
		"data-last=\"%u\">"
		"<summary><span class=\"%s\">%s</span> <h2>",
		number, l->anchor, l->page ? l->page->first : 0, l->page ? l->page->last : 0,
		fencepost_verdict_name(l->kernel->verdict),
		fencepost_verdict_name(l->kernel->verdict));
	put_text(out, name);
	fputs("</h2> <span class=\"dim\">", out);
	put_text(out, l->file->name);
	fprintf(out, ":%u</span></summary><div class=\"body\"><template>\n", l->kernel->line);
	put_list(out, "<p>Not modelled: ", l->kernel->unmodelled, l->kernel->nunmodelled);
	put_list(out, "<p>Rests on: ", l->kernel->assumptions, l->kernel->nassumptions);
	for (uint32_t i = 0; i < l->nfindings; i++)
		put_finding(l, finding_of(l, i));
	if (l->page && l->page->picture)
		fprintf(out, "<div class=\"picture\">%s</div>\n", l->page->picture);
	else if (l->page)
		fprintf(out,
			"<p class=\"dim\">No picture of its %u blocks: --dump=dot prints "
			"one.</p>\n",
			l->page->blocks);
	if (l->page)
		put_listing(l);
	fputs("</template></div></details>\n", out);
}

static void put_row(struct html *html, const struct listing *l, const char *name, uint32_t number)
{
	FILE *out = html->rows;

	fprintf(out, "<tr data-kernel=\"k%u\" data-text=\"%s ", number,
		fencepost_verdict_name(l->kernel->verdict));
	put_text(out, l->file->name);
	fputc(' ', out);
	put_text(out, name);
	for (uint32_t i = 0; i < l->nfindings; i++)
		fprintf(out, " %s", fencepost_rule_name(finding_of(l, i)->rule));
	fprintf(out, "\"><td class=\"%s\">%s</td><td class=\"name\"><a href=\"#k%u\">",
		fencepost_verdict_name(l->kernel->verdict),
		fencepost_verdict_name(l->kernel->verdict), number);
	put_text(out, name);
	fputs("</a></td><td class=\"name\">", out);
	put_text(out, l->file->name);
	fprintf(out,
		"</td><td class=\"n\">%u</td><td class=\"n\">%u</td><td class=\"n\">%u</td>"
		"<td class=\"n\">%u</td><td class=\"n\">%u</td></tr>\n",
		l->nfindings, l->kernel->instructions, l->kernel->generic, l->kernel->async,
		l->kernel->fences);
}

static const struct page_kernel *page_of(
	const struct file_result *file, const struct index *index, const char *name)
{
	uint32_t i = first_of(index->pages, index->npages, name);

	return count_of(index->pages, index->npages, i, name)
		       ? &file->page->v[index->pages[i].number]
		       : NULL;
}

static void html_file(struct report *report, const struct file_result *file)
{
	struct html *html = report->own;

	if (!html || !html->rows)
		return;
	if (!file->result || file->result->status != FENCEPOST_OK) {
		fputs("<p class=\"error\">", report->out);
		put_text(report->out, file->name);
		fputs(": ", report->out);
		put_text(report->out, file->error ? file->error
				      : file->result->ndiagnostics
					      ? file->result->diagnostics[0]->message
					      : "not PTX");
		fputs("</p>\n", report->out);
		return;
	}
	struct index index;

	if (!index_make(file, &index))
		return;
	for (uint32_t i = 0; i < file->result->nkernels; i++) {
		const struct fencepost_kernel *kernel = file->result->kernels[i];
		uint32_t first = first_of(index.findings, index.nfindings, kernel->name);
		struct listing l = {.file = file,
			.index = &index,
			.kernel = kernel,
			.findings = index.findings + first,
			.nfindings = count_of(index.findings, index.nfindings, first, kernel->name),
			.page = page_of(file, &index, kernel->name),
			.anchor = file->page && file->page->anchor ? file->page->anchor : "f",
			.out = report->out};
		char *name = demangle(kernel->name);

		put_kernel(report, &l, name ? name : kernel->name, html->kernels);
		put_row(html, &l, name ? name : kernel->name, html->kernels);
		html->kernels++;
		free(name);
	}
	index_free(&index);
}

static void html_end(struct report *report, const struct totals *totals,
	const struct fixed_finding *fixed, uint32_t nfixed)
{
	struct html *html = report->own;
	FILE *out = report->out;

	(void)fixed, (void)nfixed;
	fputs("</div>\n<div id=\"head\"><h1>fencepost report</h1><p class=\"dim\">", out);
	print_summary(out, report->settings, totals, false);
	fprintf(out,
		"</p>\n<p><input id=\"find\" type=\"search\" placeholder=\"search: kernel, file, "
		"rule, verdict\" "
		"aria-label=\"search\"> <span id=\"shown\" class=\"dim\">%u kernels</span></p>\n"
		"<p class=\"key\"><span class=\"g\">generic</span><span class=\"a\">async</span>"
		"<span class=\"f\">fence</span><span class=\"h\">hand-off</span><span "
		"class=\"e\">missing edge"
		"</span> In pictures: dashed hand-offs, red missing edges.</p></div>\n"
		"<div id=\"list\"><table "
		"id=\"kernels\"><thead><tr><th>verdict</th><th>kernel</th><th>file</th>"
		"<th class=\"n\">findings</th><th class=\"n\">instructions</th><th "
		"class=\"n\">generic</th>"
		"<th class=\"n\">async</th><th class=\"n\">fences</th></tr></thead><tbody>\n",
		html ? html->kernels : 0);
	if (html && html->rows) {
		fclose(html->rows);
		fwrite(html->text, 1, html->size, out);
		free(html->text);
	}
	fputs("</tbody></table></div>\n</main>\n<script>\n", out);
	put_lines(out, page_js);
	fputs("</script>\n</body>\n</html>\n", out);
	free(html);
}

const struct report_form report_html = {html_begin, html_file, html_end};
