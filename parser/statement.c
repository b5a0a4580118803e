/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a statement only messages, keys and reports ask for: it is found again in the text, so that no
 * instruction has to hold it. Invariant: the same that the parser saw.
 */
#include "lexer/lexer.h"
#include "parser/ir.h"
#include "parser/ptx.tab.h"

#include <string.h>

static bool is_follow(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n' || *p == '\f')
		p++;
	return p;
}

/* Behind the guard, if nothing but blanks stands around it; else NULL. */
static const char *behind_guard(const char *p)
{
	if (*p != '@')
		return p;
	p++;
	if (*p == '!')
		p++;
	if (*p == '%')
		p++;
	if (!is_follow(*p))
		return NULL;
	while (is_follow(*p))
		p++;
	p = skip_blanks(p);
	return is_follow(*p) ? p : NULL;
}

/* The end of the word, if it is all of the opcode for certain; else NULL. Behind it is a blank, the end of the
 * statement, or what an operand begins with. */
static const char *end_of_word(const char *p)
{
	const char *end = p + strcspn(p, " \t\r\n\f;%[{(-+!~/#");
	char next = *skip_blanks(end);

	return next == '.' || next == '/' || next == '#' || next == '@' ? NULL : end;
}

/* Comments, or blanks in front of modifiers: token by token. */
static struct span read_opcode(const struct source *source, struct span at)
{
	struct lexer lx;
	struct span token, opcode;
	int kind;

	lexer_init(&lx, source->text, source->size, at, NULL, NULL);
	kind = lexer_next(&lx, &token);
	if (kind == '@') {
		kind = lexer_next(&lx, &token);
		if (kind == '!')
			lexer_next(&lx, &token);
		lexer_next(&lx, &token);
	}
	opcode = token;
	while ((kind = lexer_next(&lx, &token)) != TOK_FLOAT && kind != TOK_YYEOF && source->text[token.begin] == '.')
		opcode.end = token.end;
	return opcode;
}

struct span insn_opcode_at(const struct function *fn, const struct insn *insn)
{
	const struct source *source = fn->module->source;

	if (!source || insn->at.begin == insn->at.end) /* it is not in the text */
		return (struct span){insn->at.begin, insn->at.begin};
	const char *begin = behind_guard(source->text + insn->at.begin);
	const char *end = begin ? end_of_word(begin) : NULL;

	if (!end)
		return read_opcode(source, insn->at);
	return (struct span){(uint32_t)(begin - source->text), (uint32_t)(end - source->text)};
}

uint32_t insn_loc(const struct function *fn, const struct insn *insn)
{
	struct loc_part part = fn->loc_parts ? fn->loc_parts[insn->context] : (struct loc_part){0, fn->nlocs};
	uint32_t low = part.first, high = part.first + part.n;

	if (insn->at.begin == insn->at.end)
		return NONE;
	while (low < high) { /* the first behind it */
		uint32_t mid = low + (high - low) / 2;

		if (fn->locs[mid].at.begin < insn->at.begin)
			low = mid + 1;
		else
			high = mid;
	}
	return low == part.first ? NONE : low - 1;
}
