/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: fence changes at offsets of the text. Goes out: edits (ptx-proxies 4.4). A fence takes
 * a line of its own, indented as its neighbour and ended as the file ends its lines, where the
 * neighbour is the first on its line; else it goes on the neighbour's line. Invariant: an edit
 * touches no byte but those of the fence's own statement and, when a whole line goes, the blanks
 * and the end of that line.
 */
#include "rewrite/fence.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\f' || c == '\r';
}

static uint32_t line_start(const struct source *source, uint32_t at)
{
	while (at && source->text[at - 1] != '\n')
		at--;
	return at;
}

static bool only_blanks(const struct source *source, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (!is_blank(source->text[i]))
			return false;
	return true;
}

/* As the line before ends, or the first line of the file. */
static struct slice newline(const struct source *source, uint32_t start)
{
	const char *end =
		start ? source->text + start - 1 : memchr(source->text, '\n', source->size);

	if (end && end > source->text && end[-1] == '\r')
		return (struct slice){"\r\n", 2};
	return (struct slice){"\n", 1};
}

static struct slice join(struct arena *arena, struct slice a, struct slice b, struct slice c)
{
	char *text = arena_alloc(arena, a.size + b.size + c.size + 1);

	memcpy(text, a.text, a.size);
	memcpy(text + a.size, b.text, b.size);
	memcpy(text + a.size + b.size, c.text, c.size);
	return (struct slice){text, a.size + b.size + c.size};
}

static struct slice spelling(uint8_t kind)
{
	const char *text = fence_text((enum fence_kind)kind);

	return (struct slice){text, strlen(text)};
}

/* Of the line that ends before `at`. */
static struct slice indentation(const struct source *source, uint32_t at)
{
	uint32_t start = line_start(source, at - 1), end = start;

	while (end < at && is_blank(source->text[end]))
		end++;
	return (struct slice){source->text + start, end - start};
}

static struct edit insertion(const struct source *source, const struct result_fence *fence,
	bool alone, struct arena *arena)
{
	uint32_t start = line_start(source, fence->at);
	struct edit edit = {{fence->at, fence->at}, spelling(fence->kind)};
	struct slice none = {"", 0}, space = {" ", 1};

	if (!alone) /* the fence after it is taken away, and its line stays for this one */
		return edit;
	if (fence->behind) {
		struct slice indent = indentation(source, fence->at);

		edit.text = join(arena, indent, edit.text, newline(source, start));
		return edit;
	}
	if (!only_blanks(source, start, fence->at)) {
		edit.text = join(arena, edit.text, space, none);
		return edit;
	}
	edit.text = join(arena, edit.text, newline(source, start),
		(struct slice){source->text + start, fence->at - start});
	return edit;
}

/* The whole line if nothing else is on it; else the statement and the blanks behind it. */
static struct edit removal(
	const struct source *source, const struct result_fence *fence, bool alone)
{
	uint32_t start = line_start(source, fence->fence.begin), end = fence->fence.end;
	struct edit edit = {fence->fence, {"", 0}};

	if (!alone)
		return edit;
	while (end < source->size && is_blank(source->text[end]))
		end++;
	bool last = end == source->size || source->text[end] == '\n';

	if (last && only_blanks(source, start, fence->fence.begin)) {
		edit.replace = (struct span){start, end < source->size ? end + 1 : end};
	} else if (!last) {
		edit.replace.end = end;
	}
	return edit;
}

/* Behind blanks and comments. */
static uint32_t skip_blanks(const char *text, uint32_t i, uint32_t end)
{
	while (i < end) {
		if (is_blank(text[i]) || text[i] == '\n') {
			i++;
		} else if (text[i] == '/' && i + 1 < end && text[i + 1] == '/') {
			while (i < end && text[i] != '\n')
				i++;
		} else if (text[i] == '/' && i + 1 < end && text[i + 1] == '*') {
			for (i += 2; i + 1 < end && (text[i] != '*' || text[i + 1] != '/'); i++)
				;
			i += 2;
		} else {
			break;
		}
	}
	return i < end ? i : end;
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '%';
}

/* Where the opcode of a statement begins: behind its guard. */
static uint32_t opcode_at(const struct source *source, struct span statement)
{
	const char *text = source->text;
	uint32_t i = skip_blanks(text, statement.begin, statement.end);

	if (i == statement.end || text[i] != '@')
		return i;
	i = skip_blanks(text, i + 1, statement.end);
	if (i < statement.end && text[i] == '!')
		i = skip_blanks(text, i + 1, statement.end);
	while (i < statement.end && is_name(text[i]))
		i++;
	return skip_blanks(text, i, statement.end);
}

static struct edit narrowing(const struct source *source, const struct result_fence *fence)
{
	return (struct edit){
		{opcode_at(source, fence->fence), fence->fence.end}, spelling(fence->kind)};
}

void fence_edits(const struct source *source, const struct result_fence *const *v, uint32_t n,
	struct edits *edits)
{
	for (uint32_t i = 0; i < n; i++) {
		bool takes_over =
			i + 1 < n && v[i + 1]->at == v[i]->at && v[i + 1]->change == CHANGE_REMOVE;
		bool taken_over =
			i && v[i - 1]->at == v[i]->at && v[i - 1]->change == CHANGE_INSERT;

		switch ((enum change)v[i]->change) {
		case CHANGE_INSERT:
			edit_add(edits, insertion(source, v[i], !takes_over, edits->arena));
			break;
		case CHANGE_REMOVE:
			edit_add(edits, removal(source, v[i], !taken_over));
			break;
		case CHANGE_NARROW:
			edit_add(edits, narrowing(source, v[i]));
			break;
		}
	}
}
