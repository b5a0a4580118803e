/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about the fenced text, said of the text that was given. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* At this line of the input the fenced text has so many lines more (or, below zero, less). */
struct shim_edit {
	uint32_t line;
	int32_t lines;
};

struct shim_place {
	const char *path;	       /* of the fenced text, as ptxas was told it */
	const char *shown;	       /* what the input is called */
	const struct shim_edit *edits; /* by line */
	uint32_t nedits;
	bool only; /* there is no other input: a line number without a path is of this one */
};

/* The line of the input for a line of the fenced text, both counted from 1. */
uint32_t shim_map_line(const struct shim_place *, uint32_t line);

/* Writes one line of a message with each path and the line number behind it put right. */
void shim_map_message(
	const struct shim_place *, uint32_t nplaces, const char *text, size_t size, FILE *out);
