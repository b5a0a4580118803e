/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors and warnings about the input itself (unreadable, not PTX, syntax), collected by the stages
 * and printed by cli/ only. Findings of the analysis are another list: analysis/result.h.
 */
#pragma once

#include "base/span.h"

enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR };

struct diag {
	enum diag_level level;
	struct span at; /* begin == NONE: no place in the text */
	char *message;  /* owned; lower case start, no full stop */
};

struct diags {
	struct diag *v;
	uint32_t n, cap;
	uint32_t errors;
	uint32_t dropped; /* beyond the limit of 100 errors per file */
};

void diag_add(struct diags *, enum diag_level, struct span at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void diags_free(struct diags *);
