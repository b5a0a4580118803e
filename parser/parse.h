/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text -> modules -> functions. Bodies are parsed one at a time, so that tokens and IR of one
 * function are all that is in memory beside the text.
 */
#pragma once

#include "base/diag.h"
#include "parser/ir.h"

struct modules {
	struct module *v;
	uint32_t n;
};

/* Finds the modules of a file and, in each, its directives, module-level symbols and functions (with
 * the spans of their bodies). Checks the whole text, bodies included, against lexer and grammar.
 * False when an error was added to diags: then nothing of the file may be rewritten.
 * Everything is allocated on `arena` and views `source`. */
bool parse_modules(struct source *, struct arena *, struct names *, struct modules *, struct diags *);

/* Builds the IR of one body. False when it has an error (an unresolved label, say), with a diagnostic. */
bool parse_function(const struct module *, uint32_t index, struct arena *, struct function *,
	struct diags *);
