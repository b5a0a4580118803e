/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: the findings of a file. Goes out: chains of those that a reader of the source cannot
 * tell apart: one rule, one kernel, one confidence, and for each place the same lines, up to where
 * the function was inlined. Invariant: every finding is in one chain, and its first is the earliest.
 */
#include "cli/repeats.h"

#include <stdlib.h>
#include <string.h>

static int by_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_number(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_place(const struct fencepost_place *a, const struct fencepost_place *b)
{
	int order = by_number(a ? a->nsource : 0, b ? b->nsource : 0);

	for (uint32_t i = 0; a && b && !order && i < a->nsource; i++) {
		order = by_number(a->source[i].line, b->source[i].line);
		if (!order)
			order = by_text(a->source[i].file, b->source[i].file);
	}
	return order;
}

static int by_lines(const struct fencepost_finding *a, const struct fencepost_finding *b)
{
	int order = by_number(a->rule, b->rule);

	order = order ? order : by_number(a->level, b->level);
	order = order ? order : by_number(a->confidence, b->confidence);
	order = order ? order : by_number(a->state, b->state);
	order = order ? order : by_place(a->generic, b->generic);
	order = order ? order : by_place(a->async, b->async);
	order = order ? order : by_place(a->fence, b->fence);
	order = order ? order : by_text(a->kernel, b->kernel);
	order = order ? order : by_text(a->suppressed, b->suppressed);
	return order ? order : by_text(a->unfixable, b->unfixable);
}

static bool has_lines(const struct fencepost_finding *f)
{
	return f->primary->nsource && (!f->generic || f->generic->nsource) &&
	       (!f->async || f->async->nsource) && (!f->fence || f->fence->nsource);
}

struct entry {
	const struct fencepost_finding *finding;
	uint32_t number;
};

static int by_entry(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = by_lines(x->finding, y->finding);

	return order ? order : by_number(x->number, y->number);
}

static void chain(struct entry *v, uint32_t n, struct repeats *repeats)
{
	if (n)
		qsort(v, n, sizeof(*v), by_entry);
	for (uint32_t i = 1; i < n; i++) {
		if (by_lines(v[i - 1].finding, v[i].finding) != 0)
			continue;
		repeats->again[v[i].number] = true;
		repeats->next[v[i - 1].number] = v[i].number;
	}
}

bool repeats_find(const struct fencepost_result *result, struct repeats *repeats)
{
	uint32_t n = 0, all = result->nfindings;
	struct entry *v = calloc((size_t)all + 1, sizeof(*v));

	repeats->again = calloc((size_t)all + 1, sizeof(*repeats->again));
	repeats->next = calloc((size_t)all + 1, sizeof(*repeats->next));
	bool good = v && repeats->again && repeats->next;

	for (uint32_t i = 0; good && i < all; i++) {
		repeats->next[i] = REPEATS_END;
		if (has_lines(result->findings[i]))
			v[n++] = (struct entry){result->findings[i], i};
	}
	if (good)
		chain(v, n, repeats);
	else
		repeats_free(repeats);
	free(v);
	return good;
}

void repeats_free(struct repeats *repeats)
{
	free(repeats->again);
	free(repeats->next);
	*repeats = (struct repeats){0};
}
