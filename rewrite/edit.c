/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a text and edits in any order. Goes out: the edited text. Invariant: every byte outside
 * of the replaced spans is there, once, in its order; spans do not overlap.
 */
#include "rewrite/edit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void edit_add(struct edits *edits, struct edit edit)
{
	ARENA_PUSH(edits->arena, edits->v, edits->n, edits->cap, edit);
}

struct ranked {
	struct edit edit;
	uint32_t rank; /* order of adding */
};

static bool is_insertion(const struct edit *edit)
{
	return edit->replace.begin == edit->replace.end;
}

static int by_place(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->edit.replace.begin != y->edit.replace.begin)
		return x->edit.replace.begin < y->edit.replace.begin ? -1 : 1;
	if (is_insertion(&x->edit) != is_insertion(&y->edit))
		return is_insertion(&x->edit) ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static struct ranked *sorted(const struct edits *edits)
{
	struct ranked *v = ARENA_NEW(edits->arena, struct ranked, edits->n + 1);

	for (uint32_t i = 0; i < edits->n; i++)
		v[i] = (struct ranked){edits->v[i], i};
	if (edits->n)
		qsort(v, edits->n, sizeof(*v), by_place);
	return v;
}

struct edit_span *edit_spans(struct edits *edits)
{
	struct ranked *v = sorted(edits);
	struct edit_span *spans = ARENA_NEW(edits->arena, struct edit_span, edits->n + 1);
	uint32_t at = 0, written = 0;

	for (uint32_t i = 0; i < edits->n; i++) {
		const struct edit *edit = &v[i].edit;

		written += edit->replace.begin - at;
		spans[i] = (struct edit_span){v[i].rank, edit->replace,
			{written, written + (uint32_t)edit->text.size}};
		written = spans[i].written.end;
		at = edit->replace.end;
	}
	return spans;
}

static char *copy(char *to, const char *from, size_t size)
{
	if (size)
		memcpy(to, from, size);
	return to + size;
}

struct slice edit_apply(const struct source *source, struct edits *edits)
{
	size_t size = source->size;
	uint32_t at = 0;

	if (!edits->n)
		return (struct slice){source->text, source->size};
	for (uint32_t i = 0; i < edits->n; i++)
		size += edits->v[i].text.size -
			(edits->v[i].replace.end - edits->v[i].replace.begin);
	struct ranked *v = sorted(edits);
	char *text = arena_alloc_unset(edits->arena, size + 1), *to = text;

	for (uint32_t i = 0; i < edits->n; i++) {
		const struct edit *edit = &v[i].edit;

		assert(edit->replace.begin >= at && edit->replace.end >= edit->replace.begin &&
			edit->replace.end <= source->size);
		to = copy(to, source->text + at, edit->replace.begin - at);
		to = copy(to, edit->text.text, edit->text.size);
		at = edit->replace.end;
	}
	to = copy(to, source->text + at, source->size - at);
	*to = 0;
	assert((size_t)(to - text) == size);
	return (struct slice){text, size};
}
