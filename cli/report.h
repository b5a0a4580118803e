/* SPDX-License-Identifier: Apache-2.0 */
/* A report is begun, gets one file after the other, and is ended: nothing of a file is kept. */
#pragma once

#include "cli/settings.h"

#include <stdio.h>

struct page;

struct file_result { /* one input with what was found */
	const char *name;
	const char *text; /* the input; NULL: it could not be read */
	size_t size;
	struct fencepost_result *result; /* NULL: it could not be read */
	const char *error;               /* then why */
	struct page *page;               /* for HTML: what is kept of the stages; NULL: nothing */
};

struct totals {
	uint32_t files, kernels, broken;
	uint32_t findings[32]; /* by rule; new ones only */
	uint32_t baseline, suppressed, possible, incomplete;
	uint32_t verdicts[4];
	uint32_t inserted, removed, narrowed;
	uint32_t edges_left;
	uint32_t unwritten; /* files whose PTX is not where it should be */
	uint32_t levels[3];
};

struct fixed_finding { /* in the baseline and no longer found */
	const char *file, *kernel, *rule, *fingerprint;
};

struct report {
	const struct settings *settings;
	FILE *out;
	bool color;
	uint32_t nfiles; /* so far */
	void *own;       /* of the format */
	const struct report_form *form;
};

struct report_form {
	void (*begin)(struct report *);
	void (*file)(struct report *, const struct file_result *);
	void (*end)(struct report *, const struct totals *, const struct fixed_finding *, uint32_t nfixed);
};

extern const struct report_form report_text, report_json, report_sarif, report_html;

void report_begin(struct report *, const struct settings *, enum format, FILE *out);
void report_file(struct report *, const struct file_result *);
/* False when something could not be written. */
bool report_end(struct report *, const struct totals *, const struct fixed_finding *, uint32_t nfixed);

/* Adds a file to the totals. */
void totals_add(struct totals *, const struct file_result *);
/* Errors of the input, with the line and a caret, for a person. */
void print_diagnostics(FILE *, const struct file_result *, bool color, bool warnings);
/* "3 errors, 1 warning" and so on: the closing line. */
void print_summary(FILE *, const struct settings *, const struct totals *, bool color);
/* The line of the text that holds byte `at`, tabs kept, and carets below [begin, end). */
void print_excerpt(FILE *, const char *text, size_t size, size_t begin, size_t end, uint32_t line,
	bool color);
/* The name as a person writes it; a new text, or a copy where it is not mangled. NULL: no memory. */
char *demangle(const char *name);
/* The start of every JSON report: schema, version, options. */
struct json_t;
struct json_t *json_options(const struct settings *);
/* SARIF's help of a rule: its page of docs/rules.md. */
struct json_t *rule_help(uint32_t rule);
struct json_t *json_summary(const struct totals *);
