/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of less than eight bytes as integers: the first byte lowest, zeros behind the last. Most
 * operands of compiled code are such names, registers like `%rd12`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHORT_NAME_MOST = 7 }; /* bytes */

#define EACH_BYTE UINT64_C(0x0101010101010101)

/* 0x80 in each byte of ASCII that lies in [lo, hi]. */
static inline uint64_t bytes_within(uint64_t word, unsigned char lo, unsigned char hi)
{
	return (word + EACH_BYTE * (0x80u - lo)) & ~(word + EACH_BYTE * (0x7fu - hi)) &
	       EACH_BYTE * 0x80;
}

static inline uint64_t first_bytes(uint64_t word, uint32_t n)
{
	return word & ((UINT64_C(1) << 8 * n) - 1);
}

/* The name `size` bytes long, 0 < size <= SHORT_NAME_MOST, without a read beyond its ends. */
static inline uint64_t short_name(const char *text, size_t size)
{
	uint64_t word = 0;

	for (size_t i = 0; i < size; i++)
		word |= (uint64_t)(unsigned char)text[i] << 8 * i;
	return word;
}

struct numbered_name {
	uint64_t prefix; /* `%rd` of `%rd12`, as an integer */
	uint32_t number; /* 12 */
};

/* Up to seven decimal digits in the highest bytes, the last one highest; zeros below. Adds up pairs,
 * fours and all eight in turn. */
static inline uint32_t decimal(uint64_t digits)
{
	digits &= EACH_BYTE * 0x0f;
	digits = digits * (1 + (UINT64_C(10) << 8)) >> 8;
	digits = (digits & UINT64_C(0x00ff00ff00ff00ff)) * (1 + (UINT64_C(100) << 16)) >> 16;
	return (uint32_t)((digits & UINT64_C(0x0000ffff0000ffff)) *
				  (1 + (UINT64_C(10000) << 32)) >>
			  32);
}

/* Takes the digits at the end off; false: there are none, there is nothing else, or the number has
 * a zero in front (`%r05`). */
static inline bool short_name_split(uint64_t word, uint32_t n, struct numbered_name *out)
{
	uint64_t digits = bytes_within(word, '0', '9') << 8 * (8 - n);
	uint32_t d = (uint32_t)__builtin_clzll(~digits & EACH_BYTE * 0x80) / 8;

	if (d == 0 || d == n || (d > 1 && (word >> 8 * (n - d) & 0xff) == '0'))
		return false;
	out->prefix = first_bytes(word, n - d);
	out->number = decimal(word >> 8 * (n - d) << 8 * (8 - d));
	return true;
}
