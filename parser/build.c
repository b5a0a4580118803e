/* SPDX-License-Identifier: Apache-2.0 */
/* Between lexer and grammar: tokens with the nesting counted, and errors in words. */
#include "parser/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct slice build_text(const struct build *b, struct span at)
{
	return (struct slice){b->source->text + at.begin, at.end - at.begin};
}

uint32_t build_name_id(const struct build *b, struct span at)
{
	struct slice text = build_text(b, at);
	uint32_t id = names_add(b->names, text.text, text.size);

	if (id == NONE)
		longjmp(*b->arena->on_failure, 1);
	return id;
}

/* In the first run over a file an error only ends it: a second run with `diags` will explain. */
static void stop(struct build *b)
{
	b->failed = true;
	if (!b->diags)
		b->lexer.cursor = b->lexer.limit;
}

void build_error(struct build *b, struct span at, const char *fmt, ...)
{
	char message[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	if (b->diags)
		diag_add(b->diags, DIAG_ERROR, at, "%s", message);
	stop(b);
}

void build_too_deep(struct build *b, struct span at)
{
	build_error(b, at, "nesting deeper than %d levels", MAX_NESTING);
	b->lexer.cursor = b->lexer.limit;
}

static bool count_nesting(struct build *b, int kind)
{
	if (kind == '{' || kind == '(' || kind == '[')
		return ++b->nesting <= MAX_NESTING;
	if (kind == '}' || kind == ')' || kind == ']')
		b->nesting -= b->nesting > 0;
	return true;
}

int build_token(struct build *b, struct span *at)
{
	int kind = b->start;

	if (kind) {
		uint32_t begin = (uint32_t)(b->lexer.cursor - b->lexer.text);

		b->start = 0;
		*at = (struct span){begin, begin};
		return kind;
	}
	do
		kind = lexer_next(&b->lexer, at);
	while (kind == TOK_VERSION && !b->fn && module_skip_old(b, *at));
	bool too_deep = kind == TOK_RUN && b->lexer.run_has_block && b->nesting == MAX_NESTING;

	if (too_deep || !count_nesting(b, kind)) {
		build_too_deep(b, *at);
		return TOK_PTXerror;
	}
	if (kind == TOK_PTXerror)
		stop(b);
	return kind;
}

/* Messages. Bison's list of what could follow is folded into the words that a person would use. */

enum { MOST = 160 };

struct expected {
	const char *names[MOST];
	int n;
};

static bool has(const struct expected *e, const char *name)
{
	for (int i = 0; i < e->n; i++)
		if (strcmp(e->names[i], name) == 0)
			return true;
	return false;
}

static void drop(struct expected *e, const char *const *names)
{
	for (; *names; names++)
		for (int i = 0; i < e->n; i++)
			if (strcmp(e->names[i], *names) == 0)
				e->names[i--] = e->names[--e->n];
}

static void drop_directives(struct expected *e)
{
	for (int i = 0; i < e->n; i++)
		if (e->names[i][0] == '.')
			e->names[i--] = e->names[--e->n];
}

static const char *const operand_names[] = {"name", "dotted name", "integer",
	"floating-point number", "WARP_SZ", "'_'", "'('", "'['", "'{'", "'-'", "'+'", "'!'", "'~'",
	NULL};
static const char *const operator_names[] = {"'+'", "'-'", "'*'", "'/'", "'%'", "<<", ">>", "'<'",
	"'>'", "<=", ">=", "==", "!=", "'&'", "'^'", "'|'", "&&", "||", "'?'", NULL};
static const char *const after_names[] = {"'['", "'='", "'<'", "modifier", NULL};
static const char *const statement_names[] = {
	"'@'", "'{'", "name", "dotted name", "modifier", NULL};
static const char *const never_names[] = {
	"statements", "data", "numbers", "START_FILE", "START_FUNCTION", NULL};
static const char *const modifier_names[] = {"modifier", NULL};

static void fold(struct expected *e)
{
	bool closes =
		has(e, "','") || has(e, "';'") || has(e, "']'") || has(e, "')'") || has(e, "'}'");
	bool has_list = has(e, "'['");

	drop(e, never_names);
	if (has(e, "'@'")) {
		drop_directives(e);
		drop(e, statement_names);
		e->names[e->n++] = "a statement";
		return;
	}
	if (has(e, "name") && has(e, "integer") && has(e, "'-'")) {
		drop(e, operand_names);
		drop(e, modifier_names);
		drop_directives(e);
		e->names[e->n++] = has_list ? "an operand" : "a value";
		return;
	}
	if (has(e, ".align") && has(e, ".attribute") && !has(e, ".entry")) {
		drop_directives(e);
		drop(e, modifier_names);
		e->names[e->n++] = "a type";
		return;
	}
	if (has(e, "integer") && has(e, "floating-point number")) {
		drop(e, operand_names);
		e->names[e->n++] = "a constant";
		return;
	}
	if (has(e, ".entry") && has(e, ".section")) {
		drop_directives(e);
		drop(e, modifier_names);
		e->names[e->n++] = "a directive";
		return;
	}
	if (closes) {
		drop(e, operator_names);
		drop(e, after_names);
		drop_directives(e);
	}
}

static void append(char *text, size_t room, const char *part)
{
	size_t used = strlen(text);

	if (used < room)
		snprintf(text + used, room - used, "%s", part);
}

/* Literal tokens are quoted, kinds are not. */
static void append_name(char *text, size_t room, const char *name)
{
	bool literal = name[0] == '.' || strchr("<>=!&|", name[0]) || strcmp(name, "WARP_SZ") == 0;

	append(text, room, literal ? "'" : "");
	append(text, room, name);
	append(text, room, literal ? "'" : "");
}

/* Bison lists tokens by number; a message that reads the same for any grammar lists them by text.
 */
static void sort(struct expected *e)
{
	for (int i = 1; i < e->n; i++)
		for (int j = i; j > 0 && strcmp(e->names[j - 1], e->names[j]) > 0; j--) {
			const char *name = e->names[j];

			e->names[j] = e->names[j - 1];
			e->names[j - 1] = name;
		}
}

static void join(struct expected *e, char *text, size_t room)
{
	text[0] = '\0';
	sort(e);
	for (int i = 0; i < e->n; i++) {
		append(text, room, i == 0 ? "" : i + 1 == e->n ? " or " : ", ");
		append_name(text, room, e->names[i]);
	}
}

static void describe(const struct build *b, struct span at, char *text, size_t room)
{
	struct slice saw = build_text(b, at);
	const char *line_end = memchr(saw.text, '\n', saw.size);
	size_t size = line_end ? (size_t)(line_end - saw.text) : saw.size;

	if (at.begin == at.end)
		snprintf(text, room, "end of file");
	else if (size > 60)
		snprintf(text, room, "'%.57s...'", saw.text);
	else
		snprintf(text, room, "'%.*s'", (int)size, saw.text);
}

void build_syntax_error(struct build *b, struct span at, const char *const *expected, int n)
{
	struct expected e = {.n = 0};
	char wanted[256], saw[80];

	if (!b->diags) {
		stop(b);
		return;
	}
	for (int i = 0; i < n && i + 1 < MOST; i++)
		e.names[e.n++] = expected[i];
	fold(&e);
	join(&e, wanted, sizeof(wanted));
	describe(b, at, saw, sizeof(saw));
	if (e.n == 0)
		build_error(b, at, "unexpected %s", saw);
	else
		build_error(b, at, "expected %s, saw %s", wanted, saw);
}
