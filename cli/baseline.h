/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that a project knows of and has put off: a JSON file of fingerprints (docs/usage.md). */
#pragma once

#include "cli/report.h"

struct baseline;

/* Reads --baseline; NULL with a text in `error`. Takes a report (fencepost-report/1) as well. */
struct baseline *baseline_read(const char *path, char *error, size_t error_size);
/* An empty one, to be written. */
struct baseline *baseline_new(void);
/* Says which files will be looked at, by the names that their results will have; before any of the
 * following. False: out of memory. */
bool baseline_inputs(struct baseline *, const char *const *paths, uint32_t n);
/* A file of the baseline that may be any of several inputs: its entries match nothing. NULL: none.
 */
const char *baseline_unclear(const struct baseline *);
/* Sets the state of the findings that are in it, each entry once; `input` is the file's index. */
void baseline_apply(struct baseline *, const struct file_result *, uint32_t input);
/* The entries of files that were looked at and that nothing matched. */
struct fixed_finding *baseline_fixed(struct baseline *, uint32_t *n);
/* Remembers the findings of a file for --write-baseline. */
bool baseline_add(struct baseline *, const struct file_result *);
bool baseline_write(struct baseline *, const char *path, char *error, size_t error_size);
void baseline_free(struct baseline *);
