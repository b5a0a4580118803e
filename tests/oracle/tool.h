/* SPDX-License-Identifier: Apache-2.0 */
/* What the tool says of each kernel of a batch, by lines of the batch's text. */
#pragma once

#include "program.h"

struct pair {
	int generic, async;
	bool suppressed, unfixable;
};

struct answer {
	const char *name; /* of the kernel, borrowed */
	struct pair *v;
	int n;
	int *spare, nspare; /* lines of fences that are called redundant */
	bool clean, known;
};

/* Exit status, at least 128 if it did not exit. */
int tool_run(const char *tool, const char *args);

/* Runs --check with these flags, the report going to a file; fills the answers, whose names are
 * set. */
bool tool_check(const char *tool, const char *path, const char *flags, const char *report,
	struct answer *answers, int n);

const struct pair *answer_find(const struct answer *a, int generic, int async);

/* Forgets all but the names. */
void answers_clear(struct answer *answers, int n);
