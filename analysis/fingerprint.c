/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: an instruction's text. Goes out: a number that stays the same when lines move,
 * registers are renumbered or constants change, and differs for another opcode or another variable
 * (FNV-1a).
 */
#include "analysis/findings.h"

#include <ctype.h>
#include <string.h>

static uint64_t mix(uint64_t hash, char c)
{
	return (hash ^ (unsigned char)c) * UINT64_C(0x100000001b3);
}

uint64_t fingerprint_text(uint64_t seed, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		seed = mix(seed, text[i]);
	return mix(seed, 0);
}

/* nvcc names what has internal linkage by a hash of the file's text and by its first global name: a
 * part such as `35_GLOBAL__N__c34f0a32_5_st_cu__Z2gov` of a mangled name (its length in front). The
 * end of one that begins at i, or i itself. */
static size_t skip_internal(const char *s, size_t i, size_t n)
{
	static const char *const begins[] = {"_GLOBAL__N_", "_INTERNAL_"};
	size_t at = i, length = 0;

	if (!isdigit((unsigned char)s[i]))
		return i;
	for (; at < n && isdigit((unsigned char)s[at]) && length < n; at++)
		length = length * 10 + (size_t)(s[at] - '0');
	for (size_t k = 0; k < sizeof(begins) / sizeof(*begins); k++) {
		size_t begin = strlen(begins[k]);

		if (length >= begin && length <= n - at && !strncmp(s + at, begins[k], begin))
			return at + length;
	}
	return i;
}

uint64_t fingerprint_name(uint64_t seed, const char *name, size_t size)
{
	for (size_t i = 0; i < size;) {
		size_t end = skip_internal(name, i, size);

		seed = mix(seed, end > i ? '@' : name[i]);
		i = end > i ? end : i + 1;
	}
	return mix(seed, 0);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Letters, digits, `_`, `$`, `%`: a bit for each byte. */
static bool in_name(char c)
{
	static const uint64_t bits[4] = {
		UINT64_C(0x03ff003000000000), UINT64_C(0x07fffffe87fffffe), 0, 0};
	unsigned char i = (unsigned char)c;

	return bits[i / 64] >> (i % 64) & 1;
}

/* The end of the comment or blanks at i; i itself if there are none. */
static size_t skip_blanks(const char *s, size_t i, size_t n)
{
	for (;;) {
		size_t from = i;

		while (i < n && isspace((unsigned char)s[i]))
			i++;
		if (i + 1 < n && s[i] == '/' && s[i + 1] == '/')
			while (i < n && s[i] != '\n')
				i++;
		if (i + 1 < n && s[i] == '/' && s[i + 1] == '*') {
			i += 2;
			while (i + 1 < n && !(s[i] == '*' && s[i + 1] == '/'))
				i++;
			i = i + 2 < n ? i + 2 : n;
		}
		if (i == from)
			return i;
	}
}

static char *scratch(struct prints *prints, size_t size)
{
	if (size > prints->room) {
		prints->room = 2 * size;
		prints->bytes = arena_alloc(prints->arena, prints->room);
	}
	return prints->bytes;
}

/* What the hash of an instruction is made of; each byte becomes one at the most, and a name gets
 * one more behind it. */
static struct slice normal_text(struct prints *prints, const struct span *at)
{
	const char *s = prints->fn->module->source->text;
	size_t i = at->begin, n = 0;
	char *out = scratch(prints, 2 * (size_t)(at->end - at->begin));

	while ((i = skip_blanks(s, i, at->end)) < at->end) {
		size_t from = i;

		if (!in_name(s[i])) {
			out[n++] = s[i++];
			continue;
		}
		while (i < at->end && in_name(s[i]))
			i++;
		if (is_digit(s[from])) {
			out[n++] = '#';
			continue;
		}
		size_t end = i;

		if (s[from] == '%')
			while (end > from && is_digit(s[end - 1]))
				end--;
		while (from < end) {
			size_t internal = is_digit(s[from]) ? skip_internal(s, from, end) : from;

			out[n++] = internal > from ? '@' : s[from];
			from = internal > from ? internal : from + 1;
		}
		out[n++] = 0;
	}
	char *copy = arena_alloc(prints->arena, n + 1);

	if (n)
		memcpy(copy, out, n);
	return (struct slice){copy, n};
}

void prints_init(struct prints *prints, const struct function *fn, struct arena *arena)
{
	*prints = (struct prints){
		.fn = fn, .arena = arena, .of = ARENA_NEW(arena, struct print, fn->ninsns + 1)};
}

uint64_t fingerprint_insn(struct prints *prints, uint64_t seed, uint32_t insn)
{
	if (insn == NONE)
		return mix(seed, 0);
	struct print *print = &prints->of[insn];

	if (print->text.text && print->seed == seed)
		return print->hash;
	if (!print->text.text)
		print->text = normal_text(prints, &prints->fn->insns[insn].at);
	print->seed = seed;
	return print->hash = fingerprint_text(seed, print->text.text, print->text.size);
}
