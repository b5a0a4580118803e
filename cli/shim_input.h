/* SPDX-License-Identifier: Apache-2.0 */
/* One input of ptxas: read, fenced, and what became of it. */
#pragma once

#include "cli/shim_args.h"
#include "cli/shim_map.h"
#include "lib/fencepost.h"

struct shim_text {
	const char *shown; /* how messages call it: the path, "-", "application ptx input" */
	const char *name;  /* the last part of that */
	char *text; /* as it was read; NULL: it could not be read, which ptxas will say itself */
	size_t size;
	bool once; /* a pipe: it cannot be read again, so ptxas must get a copy */
	struct fencepost_result *result; /* NULL: not PTX */
	enum fencepost_status status;
	bool bad; /* not fenced; shim_text_complain says why */
	struct shim_edit *edits;
	uint32_t nedits;
};

void shim_text_read(struct shim_text *, const struct shim_args *, const struct shim_input *);

/* Does the text begin as PTX does: blanks and comments, then .version? */
bool shim_text_is_ptx(const char *text, size_t size);

/* Runs the library over the text if it is PTX; sets result, edits and bad. */
void shim_text_fence(struct shim_text *, const struct fencepost_options *);

/* Says on stderr why a bad one was not fenced. */
void shim_text_complain(const struct shim_text *);

bool shim_text_changed(const struct shim_text *);

/* What ptxas is to get. */
const char *shim_text_output(const struct shim_text *, size_t *size);

void shim_text_free(struct shim_text *);

/* The whole of a file, `-` being stdin; from malloc, NULL behind the end; NULL: see errno. */
char *shim_read(const char *path, size_t *size, bool *once);
