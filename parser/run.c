/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TOK_RUN -> IR. The lexer has matched every statement of the run against the shapes in scan_run,
 * so this walk only takes apart and never refuses; it calls what the grammar's actions call, in the
 * same order (a test compares the two). It is here because most of a body is such statements, and
 * bison's tables cost several times what the walk does.
 */
#include "parser/build.h"
#include "lexer/numbered_name.h"

#include <endian.h>
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

/* Behind the digits of a name: more of it, or a component. */
static inline bool may_go_on(char c)
{
	return c < '0' ? c == '.' || c == '$' : is_follow(c);
}

/* The lexer has let no other control characters pass; behind the run nothing is read. */
static inline const char *behind_blanks(const char *p)
{
	while ((unsigned char)*p <= ' ' && *p)
		p++;
	return p;
}

static void skip_blanks(struct walk *w)
{
	w->p = behind_blanks(w->p);
}

static struct span span_of(const struct walk *w, const char *begin, const char *end)
{
	const char *text = w->b->lexer.text;

	return (struct span){(uint32_t)(begin - text), (uint32_t)(end - text)};
}

static struct span span_from(const struct walk *w, const char *begin)
{
	return span_of(w, begin, w->p);
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

/* Most operands are registers of a range. Their end; NULL: another operand. */
static inline const char *numbered_register(
	const struct walk *w, const char *p, struct numbered_name *name, struct operand *o)
{
	if (*p != '%' || w->branches)
		return NULL;
	size_t n = numbered_name_read(p, name);

	if (n == 0 || may_go_on(p[n]))
		return NULL;
	uint32_t reg = scope_find_numbered(&w->b->scope, *name);

	if (reg == NONE)
		return NULL;
	*o = (struct operand){.kind = OPERAND_REG, .id = reg};
	return p + n;
}

struct front { /* the register in front, in a list */
	struct sibling sibling;
	struct prefix *prefix;
};

static inline const char *sibling_register(
	const struct walk *w, const char *p, const struct front *front, struct operand *o)
{
	uint32_t number;

	if (!sibling_read(&front->sibling, p, w->b->lexer.end, &number))
		return NULL;
	uint32_t reg = scope_find_number(&w->b->scope, front->prefix, number);

	if (reg == NONE)
		return NULL;
	const char *end = p + front->sibling.size;

	*o = (struct operand){.kind = OPERAND_REG, .id = reg};
	return end;
}

enum { SHORT_DECIMAL = 18 }; /* digits: fit into 63 bits */

/* Most numbers are short and decimal. */
static inline const char *short_decimal(const char *begin, struct operand *o)
{
	const char *digits = begin + (*begin == '-'), *p = digits;
	int64_t value = 0;

	for (; is_digit(*p) && p - digits < SHORT_DECIMAL; p++)
		value = 10 * value + (*p - '0');
	if (p == digits || is_follow(*p))
		return NULL;
	*o = (struct operand){.kind = OPERAND_IMM,
		.imm = digits == begin ? value : -value};
	return p;
}

static void push(struct build *b, const struct operand *o)
{
	struct pending known = {.operand = *o};

	ARENA_PUSH(b->arena, b->stack, b->nstack, b->stack_cap, known);
}

static void number(struct walk *w)
{
	struct operand known;
	const char *begin = w->p, *end = short_decimal(begin, &known);

	if (end) {
		push(w->b, &known);
		w->p = end;
		return;
	}
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

static bool is_number(const struct walk *w)
{
	return is_digit(*w->p) || *w->p == '-';
}

static void name(struct walk *w)
{
	struct operand known;
	struct numbered_name taken_apart;
	const char *end = numbered_register(w, w->p, &taken_apart, &known);

	if (end) {
		push(w->b, &known);
		w->p = end;
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

enum { FEW = 3 }; /* operands of an instruction that is no list */

static inline const char *other_operand(
	const struct walk *w, const char *p, struct front *front, struct operand *o)
{
	struct numbered_name name;
	const char *end = numbered_register(w, p, &name, o);

	if (!end)
		return short_decimal(p, o);
	if (front) {
		front->sibling = sibling_of(p, (size_t)(end - p), name.number, w->b->lexer.end);
		front->prefix = scope_prefix_place(&w->b->scope, name.prefix);
	}
	return end;
}

/* Operands with commas between go where they belong as long as each is one register or number and there is
 * room; returns how many. In most instructions, and in long lists, these are all. */
static uint32_t plain_operands(struct walk *w)
{
	struct function *fn = w->b->fn;
	struct operand *first = &fn->operands[fn->noperands], *o = first;
	const struct operand *full = &fn->operands[w->b->operands_cap];
	struct front front = {.prefix = NULL};
	const char *p = w->p;

	while (o < full) {
		const char *end = sibling_register(w, p, &front, o);

		if (!end)
			end = other_operand(w, p, o - first < FEW ? NULL : &front, o);
		if (!end || *end == '|')
			break;
		o++;
		p = behind_blanks(end);
		if (*p != ',')
			break;
		p = behind_blanks(p + 1);
	}
	w->p = p;
	fn->noperands += (uint32_t)(o - first);
	return (uint32_t)(o - first);
}

/* Behind the opening bracket; takes the closing one. */
static void group(struct walk *w, const char *begin, enum operand_kind kind, char close)
{
	struct build *b = w->b;
	uint32_t first = b->fn->noperands;

	while (plain_operands(w), !take(w, close)) {
		element(w);
		build_settle(b, 1);
		take(w, ',');
	}
	const char *end = w->p;
	uint32_t children = b->fn->noperands - first;

	while (is_blank(end[-1]))
		end--;
	if (kind == OPERAND_LIST) {
		first = build_share(b, first);
		if (b->naccumulators && first == b->accumulators)
			build_note_list(b, begin, (size_t)(end - begin));
	}
	struct operand *parent = &build_push(b, kind,
		(struct span){(uint32_t)(begin - b->lexer.text), (uint32_t)(end - b->lexer.text)})
					  ->operand;

	parent->first = first;
	parent->children = children;
}

/* Of registers that a product adds to, as the one before it did; false: the list has to be read. */
static bool same_list(struct walk *w)
{
	struct build *b = w->b;
	const char *begin = w->p, *end = build_same_list(b, begin);

	if (!end)
		return false;
	struct operand *list = &build_push(b, OPERAND_LIST, span_of(w, begin, end))->operand;

	list->first = b->accumulators;
	list->children = b->naccumulators;
	w->p = end;
	skip_blanks(w);
	return true;
}

static void list(struct walk *w)
{
	const char *begin = w->p;

	if (same_list(w))
		return;
	w->p++;
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

/* One comes that has children: they stand before all that the instruction has itself. */
static void take_back(struct build *b, uint32_t n)
{
	struct function *fn = b->fn;

	fn->noperands -= n;
	for (uint32_t i = 0; i < n; i++)
		push(b, &fn->operands[fn->noperands + i]);
}

/* Of eight bytes, marks those that are blanks or `:` or `;`, which differ in their last bit. Only the first mark is
 * sure: the subtractions may carry from one into bytes behind it. */
static inline uint64_t marks_of_ends(const char *p)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = 0x80 * ones;
	uint64_t bytes;

	memcpy(&bytes, p, sizeof(bytes));
	bytes = le64toh(bytes);
	uint64_t differs = (bytes | ones) ^ ';' * ones;

	return (((bytes - (' ' + 1) * ones) & ~bytes) | ((differs - ones) & ~differs)) & tops;
}

/* A colon in a modifier, as the two kinds in `.sp::2:4'; a label's has no digit behind it. */
static bool goes_on(const char *p)
{
	return *p == ':' && (p[1] == ':' || (is_digit(p[-1]) && is_digit(p[1])));
}

/* The end of an opcode with its modifiers, or of a label's name. */
static const char *word_end(const struct walk *w, const char *p)
{
	while (w->b->lexer.end - p >= 8) {
		uint64_t marks = marks_of_ends(p);

		p += marks ? __builtin_ctzll(marks) / 8 : 8;
		if (marks && !goes_on(p))
			return p;
		p += marks ? 2 : 0;
	}
	while ((unsigned char)*p > ' ' && *p != ';' && (*p != ':' || goes_on(p)))
		p += 1 + (*p == ':');
	return p;
}

/* From its guard, if it has one, which begins at `begin`, to its semicolon; the opcode stands at w->p, up to `end`,
 * and behind blanks comes `next`. */
static void instruction(struct walk *w, const char *begin, const char *end, const char *next)
{
	enum opcode op = build_opcode(w->b, span_of(w, w->p, end));

	w->branches = op == OP_bra || op == OP_brx;
	w->p = next;
	uint32_t n = plain_operands(w);

	if (*w->p == ';') {
		w->p++;
		build_instruction_of(w->b, span_from(w, begin), n);
		return;
	}
	take_back(w->b, n);
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
static void label_or_instruction(struct walk *w)
{
	const char *begin = w->p, *end = word_end(w, begin), *next = behind_blanks(end);

	if (*next == ':') {
		w->p = next + 1;
		build_label(w->b, span_of(w, begin, end));
	} else {
		instruction(w, begin, end, next);
	}
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
		const char *end = word_end(w, w->p);

		instruction(w, begin, end, behind_blanks(end));
	} else {
		label_or_instruction(w);
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
