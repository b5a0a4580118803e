/* SPDX-License-Identifier: Apache-2.0 */
/* A growing list of messages about the input. When memory runs out the message is lost but still
 * counted, so a caller that asks `errors` is never told that all went well. */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DIAGS = 100 };

static bool reserve(struct diags *diags)
{
	if (diags->n < diags->cap)
		return true;
	uint32_t cap = diags->cap ? diags->cap * 2 : 8;
	struct diag *v = realloc(diags->v, cap * sizeof(*v));

	if (!v)
		return false;
	diags->v = v;
	diags->cap = cap;
	return true;
}

void diag_add(struct diags *diags, enum diag_level level, struct span at, const char *fmt, ...)
{
	va_list args;
	char *message = NULL;

	if (level == DIAG_ERROR)
		diags->errors++;
	if (diags->n >= MAX_DIAGS || !reserve(diags)) {
		diags->dropped++;
		return;
	}
	va_start(args, fmt);
	if (vasprintf(&message, fmt, args) < 0)
		message = NULL;
	va_end(args);
	if (!message) {
		diags->dropped++;
		return;
	}
	diags->v[diags->n++] = (struct diag){level, at, message};
}

void diags_free(struct diags *diags)
{
	for (uint32_t i = 0; i < diags->n; i++)
		free(diags->v[i].message);
	free(diags->v);
	*diags = (struct diags){0};
}
