/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a text as a list of places and what stands there instead. */
#pragma once

#include "base/arena.h"
#include "base/source.h"

struct edit {
	struct span replace; /* empty: an insertion */
	struct slice text;
};

struct edits {
	struct arena *arena;
	struct edit *v;
	uint32_t n, cap;
};

/* Where an edit stands in the text before and after all of them. */
struct edit_span {
	uint32_t edit; /* its number */
	struct span replaced, written;
};

void edit_add(struct edits *, struct edit);
/* In order of the text, on the edits' arena. */
struct edit_span *edit_spans(struct edits *);
/* The text with its edits, on their arena, a NUL behind it. Insertions at one place keep the order
 * in which they were added and come before what replaces the bytes there. Without edits the
 * source's own text is given back. */
struct slice edit_apply(const struct source *, struct edits *);
