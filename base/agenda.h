/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worklist over the numbers below n, each at most once on it. It goes up through them and begins
 * again at the lowest, so what only leads upwards is done in one round. Adding and taking cost the
 * number of levels: a bit of each level says that a word of the one below is not empty.
 */
#pragma once

#include "base/bits.h"

struct agenda {
	struct bits level[6];
	uint32_t nlevels;
	uint32_t at; /* where the next search begins */
};

static inline struct agenda agenda_new(struct arena *arena, uint32_t n)
{
	struct agenda agenda = {0};

	do {
		struct bits level = bits_new(arena, n);

		agenda.level[agenda.nlevels++] = level;
		n = level.nwords;
	} while (n > 1);
	return agenda;
}

static inline void agenda_add(struct agenda *agenda, uint32_t i)
{
	for (uint32_t l = 0; l < agenda->nlevels; l++, i /= 64) {
		bool there = bits_has(agenda->level[l], i);

		bits_set(agenda->level[l], i);
		if (there)
			return;
	}
}

static inline uint32_t agenda_find(const struct agenda *agenda, uint32_t from)
{
	for (uint32_t l = 0; l < agenda->nlevels; l++, from = from / 64 + 1) {
		const struct bits *level = &agenda->level[l];

		if (from / 64 >= level->nwords)
			return UINT32_MAX;
		uint64_t word = level->words[from / 64] & ~UINT64_C(0) << (from % 64);

		if (!word)
			continue;
		from = from / 64 * 64 + (uint32_t)__builtin_ctzll(word);
		while (l-- > 0)
			from = from * 64 + (uint32_t)__builtin_ctzll(agenda->level[l].words[from]);
		return from;
	}
	return UINT32_MAX;
}

/* Takes the next one off it; NONE (UINT32_MAX): it is empty. */
static inline uint32_t agenda_next(struct agenda *agenda)
{
	uint32_t i = agenda_find(agenda, agenda->at);

	if (i == UINT32_MAX)
		i = agenda_find(agenda, 0);
	if (i == UINT32_MAX)
		return i;
	agenda->at = i + 1;
	for (uint32_t l = 0, k = i; l < agenda->nlevels; l++, k /= 64) {
		bits_clear(agenda->level[l], k);
		if (agenda->level[l].words[k / 64])
			break;
	}
	return i;
}
