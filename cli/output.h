/* SPDX-License-Identifier: Apache-2.0 */
/* A file being written: a regular one appears whole or not at all (spec 3.6). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct output {
	FILE *file;
	char *temporary, *target; /* NULL: written directly (device, FIFO, standard output) */
};

/* "-": standard output. False with a text in `error`. */
bool output_open(struct output *, const char *path, char *error, size_t error_size);
/* Ends the file and puts it in its place. */
bool output_commit(struct output *, const char *path, char *error, size_t error_size);
void output_abort(struct output *);
bool output_write(const char *path, const char *bytes, size_t size, char *error, size_t error_size);

/* A file whose bytes are written, but not in its place yet; those of what is written directly are
 * kept in memory. */
struct held {
	struct output out;
	char *path, *bytes; /* owned */
	size_t size;
};

/* False with a text in `error`; held_free() in any case. */
bool held_open(struct held *, const char *path, const char *bytes, size_t size, char *error,
	size_t error_size);
/* Puts it in its place, once. */
bool held_commit(struct held *, char *error, size_t error_size);
/* Forgets what was not put in its place. */
void held_free(struct held *);
