/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses taken together where there are too many to follow each: a group is pending while one of
 * its members may be. What the flow then sees is never less than what it sees of single accesses.
 */
#pragma once

#include "analysis/meets.h"

struct group_pair {
	uint32_t generic, async; /* the first two members that meet */
	uint64_t pairs;		 /* of members that meet */
	uint8_t spaces;		 /* enum space bits in which they do; 0: none meet */
	bool hinted; /* every member of one of them is in a range that a hint switches off */
};

struct groups {
	uint32_t *of; /* by access: its group, numbered per proxy; NONE: in no pair */
	struct ids *generics, *asyncs; /* members, ascending */
	uint32_t ngenerics, nasyncs;
	struct group_pair *pair; /* [async * ngenerics + generic] */
};

/* Finds groups, as fine as their number allows; NULL: there are too many even so. */
struct groups *groups_make(struct unit *, const struct meets *);

static inline const struct group_pair *groups_pair(
	const struct groups *groups, uint32_t generic, uint32_t async)
{
	return &groups->pair[(size_t)groups->of[async] * groups->ngenerics + groups->of[generic]];
}

static inline struct ids groups_members(const struct groups *groups, uint32_t generic)
{
	return groups->generics[groups->of[generic]];
}

/* The first member of a generic access's group; itself where it is in none. */
static inline uint32_t groups_first(const struct groups *groups, uint32_t generic)
{
	uint32_t g = groups->of[generic];

	return g == UINT32_MAX ? generic : groups->generics[g].v[0];
}
