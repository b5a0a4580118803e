/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: the stages of a root. Goes out: its lines' roles and, where graphviz is installed, its
 * control flow as SVG. Pictures of huge functions help nobody and take graphviz minutes: there are
 * none.
 */
#include "cli/page.h"

#include "cli/dot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BLOCKS 200
#define MOST_PICTURES                                                                              \
	24 /* of a file: each costs graphviz about half a second and the page 100 KB */

static void mark(struct page_kernel *kernel, uint32_t line, uint8_t role)
{
	if (line >= kernel->first && line <= kernel->last)
		kernel->roles[line - kernel->first] |= role;
}

static void mark_lines(const struct unit *unit, struct page_kernel *kernel)
{
	struct source *source = unit->module->source;

	for (uint32_t i = 0; i < unit->accesses.n; i++) {
		const struct access *access = &unit->accesses.v[i];

		mark(kernel, source_line(source, unit->fn->insns[access->insn].at.begin),
			access->proxy == PROXY_ASYNC ? LINE_ASYNC : LINE_GENERIC);
	}
	for (uint32_t k = 0; k < unit->fn->ninsns; k++) {
		uint32_t line = source_line(source, unit->fn->insns[k].at.begin);

		if (unit->effects[k]->fence != FENCE_NONE &&
			unit->effects[k]->fence != FENCE_MBARRIER_INIT)
			mark(kernel, line, LINE_FENCE);
		if (unit->effects[k]->releases || unit->effects[k]->acquires)
			mark(kernel, line, LINE_SYNC);
	}
}

static char *read_all(FILE *file)
{
	char *text = NULL;
	size_t size = 0, n;
	char buffer[65536];
	FILE *memory = open_memstream(&text, &size);

	while (memory && (n = fread(buffer, 1, sizeof(buffer), file)) > 0)
		fwrite(buffer, 1, n, memory);
	if (memory)
		fclose(memory);
	return text;
}

/* Runs graphviz on a temporary file; a limit on its time, because its cost is no polynomial of
 * size. */
static char *draw(const struct analysis_view *view, const char *name, const char *anchor)
{
	char path[] = "/tmp/fencepost-XXXXXX", command[200];
	int fd = mkstemp(path);
	FILE *dot = fd < 0 ? NULL : fdopen(fd, "w");
	char *svg = NULL;

	if (!dot)
		return NULL;
	dot_print(view, name, anchor, dot);
	fclose(dot);
	snprintf(command, sizeof(command), "ulimit -t 20; exec dot -Tsvg %s 2>/dev/null", path);
	FILE *pipe = popen(command, "r");

	if (pipe) {
		char *all = read_all(pipe), *from = all ? strstr(all, "<svg") : NULL;

		if (pclose(pipe) == 0 && from)
			svg = strdup(from);
		free(all);
	}
	unlink(path);
	return svg;
}

void page_see(const struct analysis_view *view, const struct kernel_result *result, void *context)
{
	struct page *page = context;
	const struct unit *unit = view->unit;
	const struct module *module = unit->module;
	const struct function_info *info = &module->functions[result->function];
	struct slice name = names_text(module->names, module->symbols[info->symbol].name);

	if (page->n == page->cap) {
		uint32_t cap = page->cap ? 2 * page->cap : 8;
		struct page_kernel *grown = realloc(page->v, sizeof(*grown) * cap);

		if (!grown)
			return;
		page->v = grown;
		page->cap = cap;
	}
	struct page_kernel *kernel = &page->v[page->n];

	*kernel = (struct page_kernel){.name = strndup(name.text, name.size),
		.first = source_line(module->source, info->at.begin),
		.last = source_line(module->source, info->body.end ? info->body.end - 1 : 0),
		.blocks = unit->cfg.n};
	kernel->roles = calloc(kernel->last - kernel->first + 1, 1);
	if (!kernel->name || !kernel->roles) {
		free(kernel->name);
		free(kernel->roles);
		return;
	}
	page->n++;
	mark_lines(unit, kernel);
	if ((result->async || result->nfindings) && unit->cfg.n <= MOST_BLOCKS &&
		page->npictures < MOST_PICTURES) {
		kernel->picture = draw(view, kernel->name, page->anchor);
		page->npictures++;
	}
}

void page_free(struct page *page)
{
	for (uint32_t i = 0; i < page->n; i++) {
		free(page->v[i].name);
		free(page->v[i].roles);
		free(page->v[i].picture);
	}
	free(page->v);
	*page = (struct page){0};
}
