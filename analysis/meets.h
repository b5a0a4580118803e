/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which generic accesses may make an edge with which async ones, by their bytes, spaces and
 * hazards. Accesses that differ in nothing but their place are one class, and only pairs of classes
 * whose bytes lie near each other are looked at, so that twenty thousand times twenty thousand cost
 * what they find.
 */
#pragma once

#include "analysis/unit.h"

struct meet {
	uint32_t generic, async; /* classes */
	uint8_t spaces;		 /* enum space bits in which they meet, never 0 */
	uint8_t confidence;	 /* enum confidence; of a crowded search: not known */
};

struct meets {
	struct ids *classes; /* their accesses, ascending */
	uint32_t nclasses;
	uint32_t *class_of; /* by access */
	struct meet *v;	    /* by async class, then by generic class */
	uint32_t n;
	uint64_t pairs,
		ruled_out;    /* pairs of accesses that meet; that would but for their addresses */
	uint32_t assumptions; /* enum assumption bits that ruled a pair out */
	bool crowded; /* too many to look at: classes are coarse, what may lie together meets */
};

void meets_find(struct unit *, struct meets *);
/* How sure it is that the bytes of two accesses that meet overlap, as access_overlap() says. */
uint8_t meets_confidence(const struct unit *, const struct meets *, uint32_t generic, uint32_t async);

/* Where an access lies: accesses of two places that are both known never touch the same bytes. */
struct access_place {
	uint8_t kind; /* enum place_kind */
	uint8_t base;
	uint32_t id, aux;
};

enum place_kind { PLACE_ANYWHERE, PLACE_VARIABLE, PLACE_POINTER };

struct access_place access_place_of(const struct unit *, const struct access *);
