/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two hash tables: from two numbers to a value's index, and from a value to its index. Invariant:
 * at most two of three places are taken, so that a search ends.
 */
#include "analysis/value_kept.h"

#include <string.h>

enum { FIRST_PLACES = 32, MOST_AT_FIRST = 8192, FIRST_VALUES = 512, FIRST_NUMBERS = 64 };

/* Room for as many as are expected, if these are not very many. */
static uint32_t first_places(const struct kept_values *kept)
{
	uint32_t expected = kept->expected < MOST_AT_FIRST ? kept->expected : MOST_AT_FIRST;

	return FIRST_PLACES + expected + expected / 2;
}

static void make_places(struct kept_values *kept, struct arena *arena)
{
	struct kept_place *old = kept->places;
	uint32_t cap = kept->cap;

	if ((uint64_t)kept->nplaces * 3 < (uint64_t)cap * 2)
		return;
	kept->cap = cap ? cap + cap / 2 : first_places(kept);
	kept->places = ARENA_NEW(arena, struct kept_place, kept->cap);
	for (uint32_t i = 0; i < cap; i++)
		if (old[i].key)
			*kept_place_of(kept, old[i].key) = old[i];
	ARENA_GIVE_BACK(arena, old, cap);
}

static uint32_t *find_number(const struct kept_values *kept, const struct value *v)
{
	uint64_t about = (uint64_t)v->id << 16 | (uint64_t)v->base << 8 | v->space;
	uint32_t i = kept_hash((((uint64_t)v->lo * 31 + (uint64_t)v->hi) * 31 + v->stride) * 31 + about);

	i &= kept->numbers_cap - 1;

	while (kept->numbers[i] && memcmp(&kept->v[kept->numbers[i] - 1], v, sizeof(*v)) != 0)
		i = (i + 1) & (kept->numbers_cap - 1);
	return &kept->numbers[i];
}

static void make_numbers(struct kept_values *kept, struct arena *arena)
{
	if (kept->n * 2 < kept->numbers_cap)
		return;
	ARENA_GIVE_BACK(arena, kept->numbers, kept->numbers_cap);
	while (kept->numbers_cap <= kept->n * 2)
		kept->numbers_cap = kept->numbers_cap ? 2 * kept->numbers_cap : FIRST_NUMBERS;
	kept->numbers = ARENA_NEW(arena, uint32_t, kept->numbers_cap);
	for (uint32_t i = 0; i < kept->n; i++)
		*find_number(kept, &kept->v[i]) = i + 1;
}

uint32_t kept_number(struct kept_values *kept, struct arena *arena, const struct value *v)
{
	make_numbers(kept, arena);
	uint32_t *number = find_number(kept, v);

	if (!*number) {
		ARENA_PUSH(arena, kept->v, kept->n, kept->v_cap, *v);
		*number = kept->n;
	}
	return *number - 1;
}

void kept_add(struct kept_values *kept, struct arena *arena, uint32_t a, uint32_t b,
	const struct value *v)
{
	make_places(kept, arena);
	uint64_t key = kept_key(a, b);
	uint32_t number = kept->n;

	if (!kept->v) {
		kept->v_cap = FIRST_VALUES;
		kept->v = ARENA_UNSET(arena, struct value, kept->v_cap);
	}
	if (number < KEPT_FEW)
		ARENA_PUSH(arena, kept->v, kept->n, kept->v_cap, *v);
	else
		number = kept_number(kept, arena, v);
	*kept_place_of(kept, key) = (struct kept_place){key, number};
	kept->nplaces++;
}
