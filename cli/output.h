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
