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

/* The end of the comment at i; i itself if there is none. */
static size_t skip_comment(const char *s, size_t i, size_t n)
{
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
static uint64_t mix_name(uint64_t hash, const char *s, size_t from, size_t end)
{
	if (end - from < INTERNAL_LEAST) {
		while (from < end)
			hash = mix(hash, s[from++]);
		return hash;
	}
	while (from < end) {
		size_t internal = is_digit(s[from]) ? skip_internal(s, from, end) : from;

		hash = mix(hash, internal > from ? '@' : s[from]);
		from = internal > from ? internal : from + 1;
	}
	return hash;
}

/* The usual name of a register, letters with digits behind them, at i: its end, or i if it is another one. */
static size_t mix_register(uint64_t *hash, const char *s, size_t i, size_t n)
{
	uint64_t mixed = *hash;
	size_t at = i;

	if (s[i] != '%')
		return i;
	while (at < n && kind_of(s[at]) == 'n')
		mixed = mix(mixed, s[at++]);
	while (at < n && is_digit(s[at]))
		at++;
	if (at < n && in_name(s[at]))
		return i;
	*hash = mix(mixed, 0);
	return at;
}

/* The text at `at` without blanks, comments, numbers and the digits behind the names of registers; a name
 * gets one byte more behind it. */
static uint64_t mix_normal(uint64_t hash, const char *s, const struct span *at)
{
	size_t i = at->begin, n = at->end;

	while (i < n) {
		size_t from = i, end;

		if (kind_of(s[i]) == 'b') {
			i++;
			continue;
		}
		if (!in_name(s[i])) {
			i = skip_comment(s, i, n);
			if (i == from)
				hash = mix(hash, s[i++]);
			continue;
		}
		i = mix_register(&hash, s, i, n);
		if (i > from)
			continue;
		while (i < n && in_name(s[i]))
			i++;
		if (is_digit(s[from])) {
			hash = mix(hash, '#');
			continue;
		}
		for (end = i; s[from] == '%' && is_digit(s[end - 1]);)
			end--;
		hash = mix(mix_name(hash, s, from, end), 0);
	}
	return mix(hash, 0);
}

uint64_t fingerprint_insn(struct prints *prints, uint64_t seed, uint32_t insn)
{
	if (insn == NONE)
		return mix(seed, 0);
	struct print *print = &prints->of[prints->number[insn]];

	if (print->asked && print->seed == seed)
		return print->hash;
	*print = (struct print){true, seed,
		mix_normal(seed, prints->fn->module->source->text, &prints->fn->insns[insn].at)};
	return print->hash;
}
