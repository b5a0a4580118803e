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

/* clang-format off */
/* By byte: blank, digit, another one of a name (letters, `_`, `$`, `%`), or neither. */
static const char kinds[256] =
	".........bbbbb.." "................"
	"b...nn.........." "dddddddddd......"
	".nnnnnnnnnnnnnnn" "nnnnnnnnnnn....n"
	".nnnnnnnnnnnnnnn" "nnnnnnnnnnn.....";
/* clang-format on */

static char kind_of(char c)
{
	return kinds[(unsigned char)c];
}

static bool in_name(char c)
{
	return kind_of(c) >= 'd';
}

/* The end of the blank or comment at i; i itself if there is none. */
static size_t skip_blank(const char *s, size_t i, size_t n)
{
	if (kind_of(s[i]) == 'b')
		return i + 1;
	if (s[i] != '/' || i + 1 == n)
		return i;
	if (s[i + 1] == '/') {
		const char *end = memchr(s + i, '\n', n - i);

		return end ? (size_t)(end - s) : n;
	}
	if (s[i + 1] != '*')
		return i;
	for (i += 2; i + 1 < n && !(s[i] == '*' && s[i + 1] == '/'); i++)
		;
	return i + 2 < n ? i + 2 : n;
}

#define INTERNAL_LEAST 12 /* bytes of `10_INTERNAL_' */

/* A name without its parts that change with each change of the file. */
static size_t put_name(char *out, const char *s, size_t from, size_t end)
{
	size_t n = 0;

	if (end - from < INTERNAL_LEAST) {
		while (from < end)
			out[n++] = s[from++];
		return n;
	}
	while (from < end) {
		size_t internal = is_digit(s[from]) ? skip_internal(s, from, end) : from;

		out[n++] = internal > from ? '@' : s[from];
		from = internal > from ? internal : from + 1;
	}
	return n;
}

static char *scratch(struct prints *prints, size_t size)
{
	if (size > prints->room) {
		prints->room = 2 * size;
		prints->bytes = arena_alloc_unset(prints->arena, prints->room);
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

	while (i < at->end) {
		size_t from = i, end; /* end: behind the last byte that is no digit */

		if (!in_name(s[i])) {
			i = skip_blank(s, i, at->end);
			if (i == from)
				out[n++] = s[i++];
			continue;
		}
		for (end = i; i < at->end && in_name(s[i]); i++)
			if (kind_of(s[i]) != 'd')
				end = i + 1;
		if (is_digit(s[from])) {
			out[n++] = '#';
			continue;
		}
		n += put_name(out + n, s, from, s[from] == '%' ? end : i);
		out[n++] = 0;
	}
	char *copy = arena_alloc_unset(prints->arena, n + 1);

	if (n)
		memcpy(copy, out, n);
	return (struct slice){copy, n};
}

uint64_t fingerprint_insn(struct prints *prints, uint64_t seed, uint32_t insn)
{
	if (insn == NONE)
		return mix(seed, 0);
	struct print *print = &prints->of[prints->number[insn]];

	if (print->text.text && print->seed == seed)
		return print->hash;
	if (!print->text.text)
		print->text = normal_text(prints, &prints->fn->insns[insn].at);
	print->seed = seed;
	return print->hash = fingerprint_text(seed, print->text.text, print->text.size);
}
