/* SPDX-License-Identifier: Apache-2.0 */
/* Values by two numbers. Of many few differ, so that each is held once. */
#pragma once

#include "analysis/value.h"

struct __attribute__((packed, aligned(4))) kept_place {
	uint64_t key; /* 0: free */
	uint32_t v;   /* index of its value */
};

struct kept_values {
	uint32_t expected;	   /* how many there will be, about; at first */
	struct kept_place *places; /* open addressing */
	uint32_t nplaces, cap;
	struct value *v; /* each once, but for the first of kept_add() */
	uint32_t n, v_cap;
	uint32_t *numbers, numbers_cap; /* open addressing: 1 + index of a value, or 0 */
};

#define KEPT_FEW 1024 /* among so many it is not worth while to look for an equal one */

static inline uint64_t kept_key(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

static inline uint32_t kept_hash(uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Where the key is or would be. A table of any size: the hash as a fraction of it. */
static inline struct kept_place *kept_place_of(const struct kept_values *kept, uint64_t key)
{
	struct kept_place *end = kept->places + kept->cap,
			  *at = kept->places + ((uint64_t)kept_hash(key) * kept->cap >> 32);

	while (at->key != key && at->key)
		if (++at == end)
			at = kept->places;
	return at;
}

/* What was kept under two numbers that are not both 0, until more is kept; or NULL. */
static inline const struct value *kept_find(const struct kept_values *kept, uint32_t a, uint32_t b)
{
	if (!kept->cap)
		return NULL;
	const struct kept_place *place = kept_place_of(kept, kept_key(a, b));

	return place->key ? &kept->v[place->v] : NULL;
}

/* Keeps a value under two numbers that have none. */
void kept_add(struct kept_values *, struct arena *, uint32_t a, uint32_t b, const struct value *);
/* Keeps a value under no number but its own: index in v, the same for equal ones. */
uint32_t kept_number(struct kept_values *, struct arena *, const struct value *);
