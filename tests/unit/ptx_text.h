/* SPDX-License-Identifier: Apache-2.0 */
/* PTX text in a test: parsed, and given back all at once. */
#pragma once

#include "parser/parse.h"

struct ptx_text {
	struct source source;
	struct arena arena;
	jmp_buf out_of_memory;
	struct names *names;
	struct modules modules;
	struct diags diags;
};

/* Parses; what is wrong with the text fails the test. */
void ptx_text_parse(struct ptx_text *, const char *text);
void ptx_text_free(struct ptx_text *);
/* The body of function `index` of the first module. */
struct function *ptx_text_body(struct ptx_text *, uint32_t index);
/* Index of the function with that name, or a failed test. */
uint32_t ptx_text_find(const struct ptx_text *, const char *name);
