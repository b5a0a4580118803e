/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant expressions (ISA 4.5): 64-bit, signed unless a `U`, a size beyond the signed range or a
 * cast says otherwise. The grammar calls in postfix order; values live on the builder's stack.
 */
#include "parser/build.h"

#include <stdlib.h>
#include <string.h>

struct pending *build_push(struct build *b, enum operand_kind kind, struct span at)
{
	struct pending fresh = {.operand = {.kind = (uint8_t)kind}, .at = at};

	if (kind != OPERAND_IMM && kind != OPERAND_FLOAT)
		fresh.operand.id = NONE;
	ARENA_PUSH(b->arena, b->stack, b->nstack, b->stack_cap, fresh);
	return &b->stack[b->nstack - 1];
}

static struct pending *top(struct build *b)
{
	return &b->stack[b->nstack - 1];
}

static uint32_t digit(char c)
{
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0');
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10) : 99;
}

/* Any INT token; bits beyond 64 are lost. */
bool number_read(const char *text, size_t size, uint64_t *value)
{
	uint32_t base = 10;
	size_t i = 0;

	if (size > 1 && text[0] == '0') {
		char c = (char)(text[1] | 0x20);

		base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
		i = base == 8 ? 1 : 2;
	}
	*value = 0;
	for (; i < size && digit(text[i]) < base; i++)
		*value = *value * base + digit(text[i]);
	return i == size || (text[i] == 'U' && i + 1 == size);
}

uint64_t build_number(const struct build *b, struct span at)
{
	struct slice text = build_text(b, at);
	uint64_t value;

	number_read(text.text, text.size, &value);
	return value;
}

void build_integer(struct build *b, struct span at)
{
	if (b->muted)
		return;
	uint64_t value = build_number(b, at);
	struct pending *pending = build_push(b, OPERAND_IMM, at);

	pending->operand.imm = (int64_t)value;
	pending->is_unsigned = value > INT64_MAX || b->source->text[at.end - 1] == 'U';
}

/* The exact forms 0f and 0d keep their bits; of the decimal forms nobody asks the value. */
void build_float(struct build *b, struct span at)
{
	if (b->muted)
		return;
	struct slice text = build_text(b, at);
	struct pending *pending = build_push(b, OPERAND_FLOAT, at);
	uint64_t bits = 0;

	if (text.size < 10 || text.text[0] != '0' || !strchr("fFdD", text.text[1]))
		return;
	for (size_t i = 2; i < text.size; i++)
		bits = bits * 16 + digit(text.text[i]);
	pending->operand.imm = (int64_t)bits;
}

void build_warp_size(struct build *b, struct span at)
{
	if (b->muted)
		return;
	build_push(b, OPERAND_IMM, at)->operand.imm = 32;
}

void build_parenthesised(struct build *b, struct span at)
{
	if (b->muted)
		return;
	top(b)->at = at;
	top(b)->is_parenthesised = true;
}

/* A folded result: not parenthesised any more, and no float where an integer operator was at work.
 */
static struct pending *result(struct build *b, struct span at)
{
	struct pending *pending = top(b);

	pending->at = at;
	pending->is_parenthesised = false;
	if (pending->operand.kind == OPERAND_FLOAT)
		pending->operand.imm = 0;
	return pending;
}

void build_cast(struct build *b, struct span type, struct span at)
{
	if (b->muted)
		return;
	result(b, at)->is_unsigned = build_text(b, type).text[1] == 'u';
}

void build_unary(struct build *b, int op, struct span at)
{
	if (b->muted)
		return;
	struct pending *pending = result(b, at);
	uint64_t value = (uint64_t)pending->operand.imm;

	if (op == '-')
		value = -value;
	else if (op == '~')
		value = ~value;
	else if (op == '!')
		value = !value;
	pending->operand.imm = (int64_t)value;
	if (op == '!')
		pending->is_unsigned = false;
}

static uint64_t divide(uint64_t x, uint64_t y, bool is_unsigned)
{
	if (y == 0)
		return 0;
	if (is_unsigned)
		return x / y;
	return y == UINT64_MAX ? -x : (uint64_t)((int64_t)x / (int64_t)y);
}

static uint64_t remainder_of(uint64_t x, uint64_t y, bool is_unsigned)
{
	if (y == 0)
		return 0;
	if (is_unsigned)
		return x % y;
	return y == UINT64_MAX ? 0 : (uint64_t)((int64_t)x % (int64_t)y);
}

static uint64_t shift_right(uint64_t x, uint64_t n, bool is_unsigned)
{
	if (n > 63)
		return is_unsigned || (int64_t)x >= 0 ? 0 : UINT64_MAX;
	return is_unsigned ? x >> n : (uint64_t)((int64_t)x >> n);
}

static bool less(uint64_t x, uint64_t y, bool is_unsigned)
{
	return is_unsigned ? x < y : (int64_t)x < (int64_t)y;
}

static uint64_t apply(int op, uint64_t x, uint64_t y, bool is_unsigned)
{
	switch (op) {
	case '*':
		return x * y;
	case '/':
		return divide(x, y, is_unsigned);
	case '%':
		return remainder_of(x, y, is_unsigned);
	case '+':
		return x + y;
	case '-':
		return x - y;
	case TOK_SHL:
		return y > 63 ? 0 : x << y;
	case TOK_SHR:
		return shift_right(x, y, is_unsigned);
	case '<':
		return less(x, y, is_unsigned);
	case '>':
		return less(y, x, is_unsigned);
	case TOK_LE:
		return !less(y, x, is_unsigned);
	case TOK_GE:
		return !less(x, y, is_unsigned);
	case TOK_EQ:
		return x == y;
	case TOK_NE:
		return x != y;
	case '&':
		return x & y;
	case '^':
		return x ^ y;
	case '|':
		return x | y;
	case TOK_AND:
		return x && y;
	default: /* TOK_OR */
		return x || y;
	}
}

static bool gives_truth(int op)
{
	return op == '<' || op == '>' || op == TOK_LE || op == TOK_GE || op == TOK_EQ ||
	       op == TOK_NE || op == TOK_AND || op == TOK_OR;
}

void build_binary(struct build *b, int op, struct span at)
{
	if (b->muted)
		return;
	struct pending right = *top(b);

	b->nstack--;
	struct pending *left = result(b, at);
	bool shift = op == TOK_SHL || op == TOK_SHR;
	bool is_unsigned = left->is_unsigned || (!shift && right.is_unsigned);

	left->operand.imm = (int64_t)apply(
		op, (uint64_t)left->operand.imm, (uint64_t)right.operand.imm, is_unsigned);
	left->is_unsigned = is_unsigned && !gives_truth(op);
	if (right.operand.kind == OPERAND_FLOAT) {
		left->operand.kind = OPERAND_FLOAT;
		left->operand.imm = 0;
	}
}

void build_choice(struct build *b, struct span at)
{
	if (b->muted)
		return;
	b->nstack -= 2;
	struct pending *three = top(b);

	*three = three[0].operand.imm ? three[1] : three[2];
	three->at = at;
	three->is_parenthesised = false;
}
