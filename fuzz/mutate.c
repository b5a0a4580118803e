/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/mutate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct piece {
	size_t at, size;
};

struct pieces {
	struct piece *v;
	size_t n, room;
};

struct work {
	char *text;
	size_t size, room;
	uint64_t random;
	struct pieces words;	  /* names, opcodes with their qualifiers, numbers, directives */
	struct pieces statements; /* in braces, each with its `;` */
};

static const char *const numbers[] = {"0", "1", "2", "3", "4", "7", "8", "15", "16", "31", "32",
	"63", "64", "127", "128", "255", "256", "1024", "4096", "65536", "-1", "-2147483648",
	"4294967295", "18446744073709551615", "0x80000000", "0xffffffff"};

static const char *const qualifiers[] = {".u32", ".s32", ".b32", ".u64", ".s64", ".b64", ".u16",
	".u8", ".b8", ".f32", ".v2", ".v4", ".wide", ".lo", ".hi", ".shared", ".shared::cta",
	".shared::cluster", ".global", ".local", ".volatile", ".relaxed", ".acquire", ".release",
	".cta", ".cluster", ".gpu", ".sys", ".aligned", ".read", ".ne", ".lt", ".ge"};

/* $r, $q, $p: a register of 32 or 64 bits, a predicate; $s: shared memory; $l: a label */
static const char *const templates[] = {"st.shared.u32 [$s], $r;", "st.shared.u32 [$r], $r;",
	"ld.shared.u32 $r, [$s+4];", "st.u32 [$q], $r;", "ld.u32 $r, [$q+8];",
	"st.global.u32 [$q], $r;", "atom.shared.add.u32 $r, [$r], 1;", "fence.proxy.async;",
	"fence.proxy.async.shared::cta;", "fence.proxy.async.global;",
	"cp.async.bulk.global.shared::cta.bulk_group [$q], [$r], 64;",
	"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$s], [$q], 64, [$r];",
	"cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;",
	"cp.async.bulk.wait_group.read 1;", "cp.async.cg.shared.global [$r], [$q], 16;",
	"cp.async.commit_group;", "cp.async.wait_group 1;", "cp.async.wait_all;", "bar.sync 0;",
	"bar.sync 1, 64;", "bar.arrive 1, 64;", "bar.warp.sync -1;", "barrier.cluster.arrive;",
	"barrier.cluster.wait;", "mbarrier.init.shared::cta.b64 [$r], 1;",
	"mbarrier.arrive.shared::cta.b64 _, [$s];",
	"mbarrier.try_wait.parity.shared::cta.b64 $p, [$s], $r;",
	"mbarrier.arrive.expect_tx.shared::cta.b64 $q, [$r], 64;", "wgmma.fence.sync.aligned;",
	"wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;", "bra $l;",
	"@$p bra $l;", "@!$p bra $l;", "@$p ret;", "exit;", "mov.u32 $r, %tid.x;",
	"mov.u32 $r, $s;", "mov.u32 $r, %ctaid.x;", "add.s32 $r, $r, $r;", "add.s64 $q, $q, 16;",
	"shl.b32 $r, $r, 4;", "and.b32 $r, $r, 31;", "mad.lo.s32 $r, $r, $r, $r;",
	"mul.wide.u32 $q, $r, 4;", "cvta.to.global.u64 $q, $q;", "cvt.u64.u32 $q, $r;",
	"cvt.u32.u64 $r, $q;", "shr.u64 $q, $q, 4;", "or.b64 $q, $q, 4611686293372403712;",
	"setp.eq.s32 $p, $r, 0;", "setp.lt.u32 $p, $r, $r;", "selp.b32 $r, $r, $r, $p;",
	"xor.b32 $r, $r, 16;", "rem.u32 $r, $r, 3;", "shfl.sync.idx.b32 $r, $r, 0, 31, -1;",
	"mapa.shared::cluster.u32 $r, $r, 1;", "elect.sync _|$p, -1;"};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static size_t draw(struct work *w, size_t n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return n ? (size_t)(w->random % n) : 0;
}

static void push(struct pieces *list, size_t at, size_t size)
{
	if (list->n == list->room) {
		list->room = list->room ? list->room * 2 : 64;
		list->v = realloc(list->v, list->room * sizeof(*list->v));
		if (!list->v)
			abort();
	}
	list->v[list->n++] = (struct piece){at, size};
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_$%.:", c));
}

/* Where a comment that begins at `at` ends; `at` itself where none does. */
static size_t behind_comment(const char *text, size_t size, size_t at)
{
	if (at + 1 >= size || text[at] != '/' || (text[at + 1] != '/' && text[at + 1] != '*'))
		return at;
	bool line = text[at + 1] == '/';

	for (at += 2; at < size; at++)
		if (line ? text[at] == '\n' : (text[at - 1] == '*' && text[at] == '/'))
			return at + 1;
	return size;
}

static void split(const char *text, size_t size, struct pieces *words, struct pieces *statements)
{
	size_t depth = 0, first = 0;

	for (size_t at = 0; at < size;) {
		size_t end = behind_comment(text, size, at);

		if (end > at) {
			at = end;
			continue;
		}
		while (end < size && is_word(text[end]) &&
			!(text[end] == ':' && end > at &&
				(end + 1 >= size || isspace((unsigned char)text[end + 1]))))
			end++;
		if (end > at) {
			push(words, at, end - at);
			at = end;
			continue;
		}
		char c = text[at++];

		if (c == ';' && depth)
			push(statements, first, at - first);
		depth += c == '{';
		depth -= c == '}' && depth;
		/* a vector's braces are no block; its statement is cut short and seldom assembles
		 */
		if (c && strchr("{};:", c))
			first = at;
	}
}

static bool splice(struct work *w, size_t at, size_t cut, const char *text, size_t size)
{
	if (w->size - cut + size > w->room)
		return false;
	memmove(w->text + at + size, w->text + at + cut, w->size - at - cut);
	memcpy(w->text + at, text, size);
	w->size += size - cut;
	return true;
}

static struct piece any(struct work *w, const struct pieces *list)
{
	return list->n ? list->v[draw(w, list->n)] : (struct piece){0};
}

/* The letters that a register or label begins with: all but the digits at its end. */
static size_t stem(const char *word, size_t size)
{
	while (size && isdigit((unsigned char)word[size - 1]))
		size--;
	return size;
}

static bool is_like(const char *one, size_t size, const char *other, size_t other_size)
{
	size_t n = stem(one, size);

	return n && n == stem(other, other_size) && memcmp(one, other, n) == 0 &&
	       (n < size || n < other_size);
}

/* Tries a few words for one that `like` is a cousin of; an empty piece where there is none. */
static struct piece cousin(struct work *w, const char *like, size_t size)
{
	for (int i = 0; i < 64; i++) {
		struct piece p = any(w, &w->words);

		if (is_like(like, size, w->text + p.at, p.size))
			return p;
	}
	return (struct piece){0};
}

static bool starts(const struct work *w, struct piece p, const char *with)
{
	return p.size >= strlen(with) && memcmp(w->text + p.at, with, strlen(with)) == 0;
}

/* Is p a name of the kind (`r', `q', `p', `s', `l') by its declaration or, for labels, its use? */
static bool is_declared(struct work *w, size_t i, char kind)
{
	const struct piece *v = w->words.v;

	if (kind == 'l')
		return i > 0 && starts(w, v[i - 1], "bra");
	if (kind == 's')
		return i > 1 && starts(w, v[i - 1], ".b8") &&
		       (starts(w, v[i - 2], ".shared") ||
			       (i > 3 && starts(w, v[i - 4], ".shared")));
	if (i < 2 || !starts(w, v[i - 2], ".reg"))
		return false;
	if (kind == 'p')
		return starts(w, v[i - 1], ".pred");
	return memchr("bus", w->text[v[i - 1].at + 1], 3) &&
	       memcmp(w->text + v[i - 1].at + 2, kind == 'r' ? "32" : "64", 2) == 0;
}

static struct piece name_of(struct work *w, char kind)
{
	size_t from = draw(w, w->words.n);

	for (size_t n = 0; n < w->words.n; n++) {
		size_t i = (from + n) % w->words.n;

		if (!is_declared(w, i, kind))
			continue;
		struct piece p = w->words.v[i], used;

		if (kind == 's' || kind == 'l')
			return p;
		used = cousin(w, w->text + p.at, p.size);
		return used.size ? used : p;
	}
	return (struct piece){0};
}

static size_t fill(struct work *w, const char *template, char *out, size_t room)
{
	size_t n = 0;

	out[n++] = '\n';
	for (const char *c = template; *c && n + 1 < room; c++) {
		if (*c != '$') {
			out[n++] = *c;
			continue;
		}
		struct piece p = name_of(w, *++c);

		if (!p.size || n + p.size >= room)
			return 0;
		memcpy(out + n, w->text + p.at, p.size);
		n += p.size;
	}
	return n;
}

static void insert_template(struct work *w)
{
	char out[256];
	struct piece at = any(w, &w->statements);
	size_t n = fill(w, templates[draw(w, COUNT(templates))], out, sizeof(out));

	if (n && at.size)
		splice(w, at.at + at.size, 0, out, n);
}

static void copy_statement(struct work *w, const char *text, struct piece from)
{
	struct piece at = any(w, &w->statements);
	char *copy = malloc(from.size + 1);

	if (copy && from.size && at.size) {
		memcpy(copy, text + from.at, from.size);
		splice(w, at.at + at.size, 0, copy, from.size);
	}
	free(copy);
}

static void move_statement(struct work *w)
{
	struct piece from = any(w, &w->statements), at = any(w, &w->statements);
	char *copy = malloc(from.size + 1);

	if (copy && at.at != from.at) {
		memcpy(copy, w->text + from.at, from.size);
		splice(w, from.at, from.size, "", 0);
		splice(w, at.at > from.at ? at.at - from.size : at.at, 0, copy, from.size);
	}
	free(copy);
}

static void drop_statement(struct work *w)
{
	struct piece p = any(w, &w->statements);

	splice(w, p.at, p.size, "", 0);
}

static void change_guard(struct work *w)
{
	struct piece s = any(w, &w->statements);
	char out[128];

	while (s.size && isspace((unsigned char)w->text[s.at])) {
		s.at++;
		s.size--;
	}
	if (!s.size)
		return;
	if (w->text[s.at] == '@') {
		bool negated = w->text[s.at + 1] == '!';

		splice(w, s.at + 1, negated, "!", negated ? 0 : 1);
		return;
	}
	size_t n = fill(w, "@$p ", out, sizeof(out));

	if (n)
		splice(w, s.at, 0, out, n);
}

static void change_number(struct work *w, struct piece p)
{
	const char *number = numbers[draw(w, COUNT(numbers))];

	splice(w, p.at, p.size, number, strlen(number));
}

/* One of the `.x' of an opcode goes, or becomes another. */
static void change_qualifier(struct work *w, struct piece p)
{
	size_t dots[32], n = 0;

	for (size_t i = 1; i < p.size && n < COUNT(dots); i++)
		if (w->text[p.at + i] == '.')
			dots[n++] = i;
	if (!n)
		return;
	size_t pick = draw(w, n), end = pick + 1 < n ? dots[pick + 1] : p.size;
	const char *now = qualifiers[draw(w, COUNT(qualifiers))];

	splice(w, p.at + dots[pick], end - dots[pick], now, draw(w, 4) ? strlen(now) : 0);
}

static void change_word(struct work *w)
{
	struct piece p = any(w, &w->words), as;
	char copy[128];

	if (!p.size || w->text[p.at] == '.')
		return;
	if (isdigit((unsigned char)w->text[p.at])) {
		change_number(w, p);
		return;
	}
	as = cousin(w, w->text + p.at, p.size);
	if (as.size && as.size < sizeof(copy)) {
		memcpy(copy, w->text + as.at, as.size);
		splice(w, p.at, p.size, copy, as.size);
	} else if (memchr(w->text + p.at, '.', p.size)) {
		change_qualifier(w, p);
	}
}

size_t mutate_ptx(uint8_t *text, size_t size, size_t room, uint32_t seed, const uint8_t *other,
	size_t other_size)
{
	struct work w = {.text = (char *)text,
		.size = size,
		.room = room,
		.random = (seed + 1) * 0x9e3779b97f4a7c15u};
	struct pieces words = {0}, statements = {0};

	split(w.text, size, &w.words, &w.statements);
	if (other)
		split((const char *)other, other_size, &words, &statements);
	draw(&w, 1);
	switch (draw(&w, 12)) {
	case 0:
		drop_statement(&w);
		break;
	case 1:
		move_statement(&w);
		break;
	case 2:
		change_guard(&w);
		break;
	case 3:
		if (other)
			copy_statement(&w, (const char *)other, any(&w, &statements));
		else
			copy_statement(&w, w.text, any(&w, &w.statements));
		break;
	case 4:
		copy_statement(&w, w.text, any(&w, &w.statements));
		break;
	case 5:
	case 6:
	case 7:
		insert_template(&w);
		break;
	default:
		change_word(&w);
		break;
	}
	free(words.v);
	free(statements.v);
	free(w.words.v);
	free(w.statements.v);
	return w.size;
}
