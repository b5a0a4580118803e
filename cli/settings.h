/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line asks for. */
#pragma once

#include "lib/fencepost.h"

#include <stdio.h>

enum mode { MODE_REWRITE, MODE_CHECK, MODE_DUMP, MODE_WHY, MODE_EXPLAIN, MODE_MERGE };
enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_SARIF, FORMAT_HTML };
enum stage { STAGE_TOKENS, STAGE_IR, STAGE_CFG, STAGE_ADDRESSES, STAGE_FLOW, STAGE_PLAN, STAGE_DOT };
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct fail_on {
	enum fencepost_level level; /* this and worse, if by_level */
	bool by_level, incomplete, possible;
	uint32_t rules; /* bit by rule */
};

struct settings {
	enum mode mode;
	struct fencepost_options options;
	const char *output;     /* -o, or NULL */
	bool in_place;
	enum format format;
	const char *report;     /* --report, or NULL */
	struct fail_on fail_on;
	const char *const *kernels; /* --kernel globs, NULL at the end */
	uint32_t nkernels;
	const char *baseline, *write_baseline;
	enum stage stage;
	uint32_t why_generic, why_async; /* lines */
	const char *rule;       /* --explain */
	uint32_t jobs;          /* 0: as many as there are cores */
	bool progress, progress_given, quiet, fail_on_given;
	uint32_t verbosity;
	enum color color;
	const char *const *paths;
	uint32_t npaths;
};

/* Reads the command line; prints and exits with status 2 when it is wrong, 0 after --help. */
void settings_read(struct settings *, int argc, char **argv);
void settings_free(struct settings *);
/* Lets --kernel decide which kernels a run looks at. */
void settings_select(const struct settings *, struct fencepost_options *);
/* May colours go there? */
bool settings_color(const struct settings *, FILE *);
