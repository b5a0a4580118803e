/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text -> tokens, one at a time. With `runs` on, a stretch of ordinary statements comes back as one
 * token (TOK_RUN) and only leaves its traces in `seen`: that is how text of which nobody wants the
 * IR is checked at the cost of a scan. A hint comment always ends up in `hints`.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "lexer/token.h"

enum seen { /* over-approximate: a bit that is not set says "certainly absent" */
	SEEN_ASYNC = 1,
	SEEN_FENCE = 2,
	SEEN_CALL = 4,
	SEEN_SHARED = 8,
	SEEN_HINT = 16,
	SEEN_UNKNOWN = 32, /* an opcode that opcodes.def lacks */
	SEEN_MEMORY = 64   /* shared or global memory */
};

struct lexer_counts {
	uint32_t instructions, memory; /* memory: those that may touch shared or global memory */
};

struct lexer {
	const char *text;   /* the source's first byte; a NUL stands after its last */
	const char *cursor; /* the next byte to read */
	const char *limit;  /* tokens that begin here or later are TOK_YYEOF */
	const char *end;    /* of the source */
	bool runs;
	bool fresh; /* the last token ended a statement */
	bool in_section;
	int last;	       /* kind of the last token */
	uint32_t values;       /* braces of an initialiser that are open */
	uint32_t nnumbers;     /* in the last token, if it is TOK_NUMBERS */
	uint32_t depth;		    /* of braces: statements stand in some */
	bool run_has_block;	    /* the last TOK_RUN holds a block */
	uint32_t seen;		    /* enum seen */
	struct lexer_counts counts; /* in runs only; the grammar's actions add the others */
	const struct span *known; /* the runs of what is read, found by an earlier reading: they are
				   * not looked for again; NULL: not known */
	uint32_t nknown;	  /* those that are still to come */
	const char *list; /* the latest list of registers of a `wgmma`, braces included; NULL: none yet */
	size_t list_size;
	struct arena *arena;	  /* for hints */
	struct hint_comment *hints;
	uint32_t nhints, hints_cap;
	struct diags *diags; /* NULL: errors are returned but not explained */
};

void lexer_init(struct lexer *, const char *text, uint32_t size, struct span part, struct arena *,
	struct diags *);
/* The next token's kind (TOK_* of the grammar; TOK_PTXerror after a lexical error) and place. */
int lexer_next(struct lexer *, struct span *at);
/* What an opcode, given with its modifiers, leaves in `seen`. */
uint32_t lexer_classify(const char *text, size_t size);
/* Moves on to the end of a directive whose form nobody knows: its `;`, or the end of its line. */
void lexer_skip_directive(struct lexer *);
/* Moves on to the next `.version` outside comments and strings, or to the end; nothing is checked.
 */
void lexer_skip_module(struct lexer *);
