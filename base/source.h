/* SPDX-License-Identifier: Apache-2.0 */
/* The whole input in memory, a NUL after its end, and where its lines start. */
#pragma once

#include "base/span.h"

struct diags;

struct source {
	const char *name; /* as printed in messages; owned by the caller */
	char *text;       /* size bytes, then a NUL; owned by the source unless `borrowed` */
	uint32_t size;    /* bytes */
	uint32_t *line_at, nlines; /* line starts, built on first use */
	bool borrowed;
};

/* Reads a file ("-": standard input); false with a diagnostic when it cannot, or is 4 GiB or more. */
bool source_read(struct source *, const char *path, struct diags *);
/* Wraps (copies) `size` bytes in memory. */
bool source_copy(struct source *, const char *name, const char *bytes, size_t size, struct diags *);
void source_free(struct source *);
/* 1-based line and byte column of an offset; the first call builds the line table. */
uint32_t source_line(struct source *, uint32_t offset);
uint32_t source_column(struct source *, uint32_t offset);
/* The line's text without its end-of-line bytes. */
/* The start of the next line if nothing but blanks and a `//` comment stands between `at` and it; else NONE. */
uint32_t source_rest_blank(const struct source *, uint32_t at);
struct slice source_line_text(struct source *, uint32_t line);
