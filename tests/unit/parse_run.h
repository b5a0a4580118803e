/* SPDX-License-Identifier: Apache-2.0 */
/* A text parsed to its end, every body of it too. */
#pragma once

#include "parser/parse.h"

#include <setjmp.h>

#define HEAD ".version 9.0 .target sm_90a .address_size 64\n"

struct run { /* one parse and what came of it */
	jmp_buf failed;
	struct arena arena, body;
	struct source source;
	struct names *names;
	struct diags diags;
	struct modules modules;
	bool ok;
};

/* Never NULL; run_end() frees it. `ok`: no error. */
struct run *parse(const char *text, size_t size);
/* With a limit of bytes for each arena, memory runs out: then NULL. 0: no limit. */
struct run *parse_limited(const char *text, size_t size, size_t limit);
void run_end(struct run *);
