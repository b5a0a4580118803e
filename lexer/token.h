/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens are spans of the source; white space and comments are the bytes between them. The kinds are
 * bison's (parser/ptx.y), so that both sides share one list. */
#pragma once

#include "base/span.h"

struct token {
	uint16_t kind;
	struct span at;
};

/* A `// fencepost: ...` comment (spec 2.9). */
struct hint_comment {
	struct span at;   /* from `//` to the end of the line */
	struct span text; /* behind `fencepost:`, blanks trimmed */
};
