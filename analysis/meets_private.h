/* SPDX-License-Identifier: Apache-2.0 */
/* The search for pairs, shared by meets.c and meets_sweep.c; nothing else includes it. */
#pragma once

#include "analysis/meets.h"

#define PAIRS_MOST (UINT64_C(1) << 21) /* more are not told apart */

struct search {
	struct unit *unit;
	struct meets *meets;
	uint32_t cap;
	struct ids generics, asyncs; /* classes */
	uint32_t *seen;		     /* by class: partners visited in the latest sweep */
	uint8_t *goes;		     /* by generic class: 1 + the mask of goes_with(); 0: not asked yet */
};

/* A class's first member stands for all. */
static inline const struct access *meets_first(const struct search *s, uint32_t class)
{
	return &s->unit->accesses.v[s->meets->classes[class].v[0]];
}

/* Its members. */
static inline uint64_t meets_size(const struct search *s, uint32_t class)
{
	return s->meets->classes[class].n;
}

static inline int order_of(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int access_place_order(const struct access_place *, const struct access_place *);
/* The spaces among those asked for in which a pair can meet, hazards considered; 0: it is none,
 * whatever its bytes. */
uint8_t meets_asked_spaces(const struct search *, const struct access *g, const struct access *a);
/* A pair of classes: among the meets, or ruled out. False: it is none at all. */
bool meets_look_at(struct search *, uint32_t generic, uint32_t async);
void meets_look_at_all(struct search *, struct ids generics, struct ids asyncs);
/* Looks at the pairs that lie near each other; false: they are too many. */
bool meets_find_by_place(struct search *);
