/* SPDX-License-Identifier: Apache-2.0 */
/* Dense bit sets of a fixed width, stored as words in an arena. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <string.h>

struct bits {
	uint64_t *words;
	uint32_t nwords;
};

static inline struct bits bits_new(struct arena *arena, uint32_t nbits)
{
	uint32_t nwords = (nbits + 63) / 64;

	return (struct bits){ARENA_NEW(arena, uint64_t, nwords ? nwords : 1), nwords};
}

static inline void bits_set(struct bits b, uint32_t i)
{
	b.words[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void bits_clear(struct bits b, uint32_t i)
{
	b.words[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

static inline bool bits_has(struct bits b, uint32_t i)
{
	return b.words[i / 64] >> (i % 64) & 1;
}

static inline void bits_zero(struct bits b)
{
	memset(b.words, 0, b.nwords * sizeof(*b.words));
}

static inline void bits_copy(struct bits to, struct bits from)
{
	memcpy(to.words, from.words, to.nwords * sizeof(*to.words));
}

/* to |= from; tells whether `to` grew. */
static inline bool bits_or(struct bits to, struct bits from)
{
	uint32_t i = 0;

	/* mostly nothing is new */
	while (i < to.nwords && !(from.words[i] & ~to.words[i]))
		i++;
	if (i == to.nwords)
		return false;
	for (; i < to.nwords; i++)
		to.words[i] |= from.words[i];
	return true;
}

/* to |= a & b; tells whether `to` grew. */
static inline bool bits_or_and(struct bits to, struct bits a, struct bits b)
{
	uint32_t i = 0;

	while (i < to.nwords && !(a.words[i] & b.words[i] & ~to.words[i]))
		i++;
	if (i == to.nwords)
		return false;
	for (; i < to.nwords; i++)
		to.words[i] |= a.words[i] & b.words[i];
	return true;
}

static inline void bits_and(struct bits to, struct bits from)
{
	for (uint32_t i = 0; i < to.nwords; i++)
		to.words[i] &= from.words[i];
}

static inline void bits_and_not(struct bits to, struct bits from)
{
	for (uint32_t i = 0; i < to.nwords; i++)
		to.words[i] &= ~from.words[i];
}

static inline bool bits_any(struct bits b)
{
	for (uint32_t i = 0; i < b.nwords; i++)
		if (b.words[i])
			return true;
	return false;
}

static inline bool bits_meet(struct bits a, struct bits b)
{
	for (uint32_t i = 0; i < a.nwords; i++)
		if (a.words[i] & b.words[i])
			return true;
	return false;
}

static inline bool bits_equal(struct bits a, struct bits b)
{
	return memcmp(a.words, b.words, a.nwords * sizeof(*a.words)) == 0;
}

static inline uint32_t bits_count(struct bits b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b.nwords; i++)
		n += (uint32_t)__builtin_popcountll(b.words[i]);
	return n;
}

/* The first set bit at or after `from`, or NONE (UINT32_MAX). */
static inline uint32_t bits_next(struct bits b, uint32_t from)
{
	uint32_t i = from / 64;

	if (i >= b.nwords)
		return UINT32_MAX;
	uint64_t w = b.words[i] & ~UINT64_C(0) << (from % 64);

	while (!w) {
		if (++i == b.nwords)
			return UINT32_MAX;
		w = b.words[i];
	}
	return i * 64 + (uint32_t)__builtin_ctzll(w);
}

/* Of n bytes, the first one at or after `from` that is not zero, or n. */
static inline uint32_t bytes_next(const uint8_t *v, uint32_t n, uint32_t from)
{
	uint64_t eight;

	for (; from + sizeof(eight) <= n; from += (uint32_t)sizeof(eight)) {
		memcpy(&eight, v + from, sizeof(eight));
		if (eight)
			break;
	}
	while (from < n && !v[from])
		from++;
	return from;
}
