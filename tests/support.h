/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers of the tests: files, texts that should be equal, the assembler where there is one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *v;
	size_t n;
};

/* The whole file, a NUL behind it; fails the test when it cannot. */
struct text load(const char *path);
void store(const char *path, struct text);
bool is_file(const char *path);

/* A text that grows. */
void append(struct text *, const char *bytes, size_t n);
void append_text(struct text *, const char *);

/* Fails the test with the first line that differs, and its number. */
void assert_same_text(const char *what, struct text expected, struct text actual);

/* The real assembler: FENCEPOST_PTXAS, PATH, or the toolkit's usual place; NULL if there is none. */
const char *find_ptxas(void);
/* Assembles for the arch ("sm_90a"); fails the test with its messages unless it can, silently. */
void assert_assembles(const char *what, struct text ptx, const char *arch);

/* Paths below `folder` that end in `suffix`, sorted; NULL at the end. */
char **find_files(const char *folder, const char *suffix);
void free_files(char **);
