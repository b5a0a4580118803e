/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two hash tables: from two numbers to a value's index, and from a value to its index. Invariant:
 * at most two of three places are taken, so that a search ends.
 */
#include "analysis/value_kept.h"

#include <string.h>

enum { FIRST_PLACES = 48, FIRST_NUMBERS = 32 };

static uint32_t hash(uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* A table of any size: the hash as a fraction of it. */
static struct kept_place *find_place(const struct kept_values *kept, uint32_t a, uint32_t b)
{
	uint32_t i = (uint32_t)((uint64_t)hash((uint64_t)a << 32 | b) * kept->cap >> 32);

	while ((kept->places[i].a != a || kept->places[i].b != b) &&
		(kept->places[i].a || kept->places[i].b))
		if (++i == kept->cap)
			i = 0;
	return &kept->places[i];
}

const struct value *kept_find(const struct kept_values *kept, uint32_t a, uint32_t b)
{
	if (!kept->cap)
		return NULL;
	const struct kept_place *place = find_place(kept, a, b);

	return place->a || place->b ? &kept->v[place->v] : NULL;
}

static void make_places(struct kept_values *kept, struct arena *arena)
{
	struct kept_place *old = kept->places;
	uint32_t cap = kept->cap;

	if ((uint64_t)kept->nplaces * 3 < (uint64_t)cap * 2)
		return;
	kept->cap = cap ? cap + cap / 2 : FIRST_PLACES;
	kept->places = ARENA_NEW(arena, struct kept_place, kept->cap);
	for (uint32_t i = 0; i < cap; i++)
		if (old[i].a || old[i].b)
			*find_place(kept, old[i].a, old[i].b) = old[i];
	ARENA_GIVE_BACK(arena, old, cap);
}

static uint32_t *find_number(const struct kept_values *kept, const struct value *v)
{
	uint64_t words[sizeof(*v) / sizeof(uint64_t)], sum = 0;

	memcpy(words, v, sizeof(*v));
	for (uint32_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15) + (sum >> 29);
	uint32_t i = hash(sum) & (kept->numbers_cap - 1);

	while (kept->numbers[i] && memcmp(&kept->v[kept->numbers[i] - 1], v, sizeof(*v)) != 0)
		i = (i + 1) & (kept->numbers_cap - 1);
	return &kept->numbers[i];
}

static void make_numbers(struct kept_values *kept, struct arena *arena)
{
	if (kept->n * 2 < kept->numbers_cap)
		return;
	ARENA_GIVE_BACK(arena, kept->numbers, kept->numbers_cap);
	kept->numbers_cap = kept->numbers_cap ? 2 * kept->numbers_cap : FIRST_NUMBERS;
	kept->numbers = ARENA_NEW(arena, uint32_t, kept->numbers_cap);
	for (uint32_t i = 0; i < kept->n; i++)
		*find_number(kept, &kept->v[i]) = i + 1;
}

static uint32_t number_of(struct kept_values *kept, struct arena *arena, const struct value *v)
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
	*find_place(kept, a, b) = (struct kept_place){a, b, number_of(kept, arena, v)};
	kept->nplaces++;
}
