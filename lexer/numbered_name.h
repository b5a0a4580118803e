/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names like `%rd12`: a short prefix and a number. Most operands of compiled code are such names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SHORT_PREFIX = 7, SHORT_NUMBER = 9 }; /* bytes: fit into 64 and 32 bits */

struct numbered_name {
	uint64_t prefix; /* `%rd` as an integer: the first byte lowest, zeros behind the last */
	uint32_t number; /* 12 */
};

/* The bytes of a prefix as an integer; 0 < size <= SHORT_PREFIX. */
static inline uint64_t short_prefix(const char *text, size_t size)
{
	uint64_t prefix = 0;

	for (size_t i = 0; i < size; i++)
		prefix |= (uint64_t)(unsigned char)text[i] << 8 * i;
	return prefix;
}

static inline bool is_decimal(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads from a `%`, `$`, `_` or letter on: letters, then digits, up to a byte that is neither. Returns
 * how many bytes that is; 0: there is no number, one with a zero in front (`%r05`), or too much. */
static inline size_t numbered_name_read(const char *text, struct numbered_name *out)
{
	const char *p = text;
	uint64_t prefix = (unsigned char)*p;
	uint32_t number = 0;

	for (p++; (*p | 0x20) >= 'a' && (*p | 0x20) <= 'z'; p++) {
		if (p - text == SHORT_PREFIX)
			return 0;
		prefix |= (uint64_t)(unsigned char)*p << 8 * (p - text);
	}
	const char *digits = p;

	for (; is_decimal(*p); p++)
		number = 10 * number + (uint32_t)(*p - '0');
	if (p == digits || p - digits > SHORT_NUMBER || (*digits == '0' && p - digits > 1))
		return 0;
	*out = (struct numbered_name){prefix, number};
	return (size_t)(p - text);
}

/* In a list, a name mostly differs from the one in front in its last digit alone: `%f17, %f16`. */
struct sibling {
	uint64_t bytes, mask; /* of the name in front; all but its last digit */
	uint32_t size;	      /* of it; 0: there is none */
	uint32_t tens;	      /* its number with the last digit as 0 */
};

/* Of a name with a number; `end` is that of the text. */
static inline struct sibling sibling_of(
	const char *name, size_t size, uint32_t number, const char *end)
{
	static const unsigned char bytes[16] = {255, 255, 255, 255, 255, 255, 255, 255};
	struct sibling s = {.size = 0};

	if (size > sizeof(s.bytes) || (size_t)(end - name) < sizeof(s.bytes))
		return s;
	s.size = (uint32_t)size;
	s.tens = number - (uint32_t)(name[size - 1] - '0');
	memcpy(&s.bytes, name, sizeof(s.bytes));
	memcpy(&s.mask, bytes + sizeof(s.mask) - (size - 1), sizeof(s.mask));
	return s;
}

/* Whether such a name, with a comma or brace behind it, stands at p; `number` is its own then. */
static inline bool sibling_read(
	const struct sibling *s, const char *p, const char *end, uint32_t *number)
{
	uint64_t bytes;

	if (!s->size || (size_t)(end - p) < sizeof(bytes))
		return false;
	memcpy(&bytes, p, sizeof(bytes));
	if (((bytes ^ s->bytes) & s->mask) || !is_decimal(p[s->size - 1]) ||
		(p[s->size] != ',' && p[s->size] != '}'))
		return false;
	*number = s->tens + (uint32_t)(p[s->size - 1] - '0');
	return true;
}
