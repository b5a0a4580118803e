/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TOK_RUN -> IR. The lexer has matched every statement of the run against the shapes in scan_run,
 * so this walk only takes apart and never refuses; it calls what the grammar's actions call, in the
 * same order (a test compares the two). It is here because most of a body is such statements, and
 * bison's tables cost several times what the walk does.
 */
#include "parser/build.h"
#include "parser/numbered_name.h"

#include <string.h>

struct walk {
	struct build *b;
	const char *p;
	bool branches; /* the instruction under way: its operands may be labels */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Letters, digits, `_` and `$`: a bit for each byte. */
static bool is_follow(char c)
{
	static const uint64_t follows[4] = {
		UINT64_C(0x03ff001000000000), UINT64_C(0x07fffffe87fffffe), 0, 0};
	unsigned char i = (unsigned char)c;

	return follows[i / 64] >> (i % 64) & 1;
}

static void skip_blanks(struct walk *w)
{
	while (is_blank(*w->p))
		w->p++;
}

static struct span span_from(const struct walk *w, const char *begin)
{
	const char *text = w->b->lexer.text;

	return (struct span){(uint32_t)(begin - text), (uint32_t)(w->p - text)};
}

static struct span word(struct walk *w)
{
	const char *begin = w->p++;

	while (is_follow(*w->p))
		w->p++;
	return span_from(w, begin);
}

/* Takes the byte if it comes next, blanks before and behind it included. */
static bool take(struct walk *w, char c)
{
	skip_blanks(w);
	if (*w->p != c)
		return false;
	w->p++;
	skip_blanks(w);
	return true;
}

static void number(struct walk *w)
{
	const char *begin = w->p;
	bool negative = *w->p == '-';

	w->p += negative;
	struct span at = word(w);
	const char *text = w->b->lexer.text + at.begin;

	if (at.end - at.begin >= 10 && strchr("fFdD", text[1]))
		build_float(w->b, at);
	else
		build_integer(w->b, at);
	if (negative)
		build_unary(w->b, '-', span_from(w, begin));
}

/* Most operands are registers of a range. */
static bool numbered_register(struct walk *w, struct operand *o)
{
	struct numbered_name name;

	if (*w->p != '%' || w->branches)
		return false;
	size_t n = numbered_name_read(w->p, &name);

	if (n == 0 || is_follow(w->p[n]) || w->p[n] == '.')
		return false;
	uint32_t reg = scope_find_numbered(&w->b->scope, name);

	if (reg == NONE)
		return false;
	const char *begin = w->p;

	w->p += n;
	*o = (struct operand){.kind = OPERAND_REG, .id = reg, .at = span_from(w, begin)};
	return true;
}

static bool is_number(const struct walk *w)
{
	return is_digit(*w->p) || *w->p == '-';
}

static void name(struct walk *w)
{
	struct pending known = {0};

	if (numbered_register(w, &known.operand)) {
		ARENA_PUSH(w->b->arena, w->b->stack, w->b->nstack, w->b->stack_cap, known);
		return;
	}
	struct span at = word(w);

	if (*w->p == '.') {
		at.end = word(w).end;
		build_reference(w->b, at);
	} else if (at.end - at.begin == 1 && w->p[-1] == '_') {
		build_sink(w->b, at);
	} else {
		build_reference(w->b, at);
	}
}

static void element(struct walk *w)
{
	if (is_number(w))
		number(w);
	else
		name(w);
}

/* Behind the opening bracket; takes the closing one. */
static void group(struct walk *w, const char *begin, enum operand_kind kind, char close)
{
	struct build *b = w->b;
	uint32_t first = b->fn->noperands, n = 0;

	if (!take(w, close)) {
		do {
			struct operand known;

			if (numbered_register(w, &known)) {
				ARENA_PUSH(b->arena, b->fn->operands, b->fn->noperands,
					b->operands_cap, known);
			} else {
				element(w);
				build_settle(b, 1);
			}
			n++;
		} while (take(w, ','));
		skip_blanks(w);
		w->p++;
	}
	const char *end = w->p;

	while (is_blank(end[-1]))
		end--;
	struct operand *parent = &build_push(b, kind,
		(struct span){(uint32_t)(begin - b->lexer.text), (uint32_t)(end - b->lexer.text)})
					  ->operand;

	parent->first = first;
	parent->children = n;
}

static void list(struct walk *w)
{
	const char *begin = w->p++;

	skip_blanks(w);
	group(w, begin, OPERAND_LIST, '}');
}

static void address(struct walk *w)
{
	const char *begin = w->p++;
	uint32_t n = 1;

	skip_blanks(w);
	const char *inner = w->p;

	name(w);
	if (take(w, '+')) {
		number(w);
		build_add(w->b, span_from(w, inner));
	}
	for (; take(w, ','); n++) {
		if (*w->p == '{')
			list(w);
		else
			element(w);
	}
	skip_blanks(w);
	w->p++;
	build_group(w->b, OPERAND_MEM, n, span_from(w, begin));
}

static void negated(struct walk *w)
{
	const char *begin = w->p++;

	name(w);
	build_negated(w->b, span_from(w, begin));
}

static void operand(struct walk *w)
{
	const char *begin = w->p;

	if (*w->p == '[') {
		address(w);
	} else if (*w->p == '{') {
		list(w);
	} else if (*w->p == '(') {
		w->p++;
		skip_blanks(w);
		group(w, begin, OPERAND_TUPLE, ')');
	} else if (*w->p == '!') {
		negated(w);
	} else {
		element(w);
		if (*w->p == '|') {
			w->p++;
			name(w);
			build_pair(w->b, span_from(w, begin));
		}
	}
}

static void guard(struct walk *w)
{
	bool negate = w->p[1] == '!';

	w->p += 1 + negate;
	struct span at = word(w);

	if (negate)
		build_guard_not(w->b, at);
	else
		build_guard(w->b, at);
	skip_blanks(w);
}

static void instruction(struct walk *w, const char *begin)
{
	const char *opcode = w->p;

	while (!is_blank(*w->p) && *w->p != ';')
		w->p++;
	build_opcode(w->b, span_from(w, opcode));
	w->branches = build_op(w->b) == OP_bra || build_op(w->b) == OP_brx;
	skip_blanks(w);
	while (*w->p != ';') {
		operand(w);
		take(w, ',');
	}
	w->p++;
	build_instruction(w->b, span_from(w, begin));
}

static void declare_registers(struct walk *w)
{
	build_space(w->b, TOK_REG);
	skip_blanks(w);
	build_specifier(w->b, word(w));
	skip_blanks(w);
	do {
		struct span at = word(w);

		if (take(w, '<')) {
			build_declare_range(w->b, at, word(w));
			take(w, '>');
		} else {
			build_declare(w->b, at);
		}
	} while (take(w, ','));
	w->p++;
	build_item_end(w->b);
}

static void declare_parameter(struct walk *w)
{
	build_space(w->b, TOK_PARAM);
	skip_blanks(w);
	if (strncmp(w->p, ".align", 6) == 0 && is_blank(w->p[6])) {
		w->p += 6;
		skip_blanks(w);
		build_align(w->b, word(w));
		skip_blanks(w);
	}
	build_specifier(w->b, word(w));
	skip_blanks(w);
	struct span at = word(w);

	if (*w->p == '[') {
		w->p++;
		build_integer(w->b, word(w));
		build_dimension(w->b);
		w->p++;
	}
	build_declare(w->b, at);
	take(w, ';');
	build_item_end(w->b);
}

static void three_words(struct walk *w, struct span at[3])
{
	for (int i = 0; i < 3; i++) {
		skip_blanks(w);
		at[i] = word(w);
	}
}

/* A place, or `FILE LINE COLUMN, function_name NAME, inlined_at FILE LINE COLUMN`. */
static void location(struct walk *w, const char *begin)
{
	struct span at[3], said, name, by, from[3];

	three_words(w, at);
	struct span whole = span_from(w, begin);

	if (!take(w, ',')) {
		build_location(w->b, whole, at[0], at[1], at[2]);
		return;
	}
	said = word(w);
	skip_blanks(w);
	name = word(w);
	take(w, ',');
	by = word(w);
	three_words(w, from);
	build_location(w->b, span_from(w, begin), at[0], at[1], at[2]);
	build_location_function(w->b, said, name);
	build_inlined(w->b, by, from[0], from[1], from[2]);
}

static void directive(struct walk *w)
{
	const char *begin = w->p;

	word(w);
	if (begin[1] == 'l')
		location(w, begin);
	else if (begin[1] == 'r')
		declare_registers(w);
	else
		declare_parameter(w);
}

/* A name with a colon behind it, blanks allowed, is a label. */
static bool label(struct walk *w)
{
	const char *begin = w->p;
	struct span at = word(w);

	if (take(w, ':')) {
		build_label(w->b, at);
		return true;
	}
	w->p = begin;
	return false;
}

static void statement(struct walk *w)
{
	const char *begin = w->p;

	if (*w->p == '/') {
		w->p = strchr(w->p, '\n');
	} else if (*w->p == '{') {
		w->p++;
		build_block(w->b);
	} else if (*w->p == '}') {
		w->p++;
		build_block_end(w->b);
	} else if (*w->p == '.') {
		directive(w);
	} else if (*w->p == '@') {
		guard(w);
		instruction(w, begin);
	} else if (!label(w)) {
		instruction(w, begin);
	}
}

void build_run(struct build *b, struct span at)
{
	struct walk w = {.b = b, .p = b->lexer.text + at.begin};
	const char *end = b->lexer.text + at.end;

	if (!b->fn) {
		ARENA_PUSH(b->arena, b->runs, b->nruns, b->runs_cap, at);
		return;
	}
	while (skip_blanks(&w), w.p < end)
		statement(&w);
}
