/* SPDX-License-Identifier: Apache-2.0 */
/* What the roots of a file have at offsets of its text. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

/* `what` of a site: one of these, or one with a number added to it. */
enum site_kind {
	SITE_FENCE,		  /* a fence that the root runs */
	SITE_HINT,		  /* a hint that it contains, */
	SITE_USED_HINT,		  /* and that said something */
	SITE_FINDING = 0x10000,	  /* a finding about a fence; with its rule */
	SITE_CHANGE = 0x20000,	  /* a change; with what it is and the kind of fence */
};

struct site {
	uint32_t at, what, root;
	uint8_t answer; /* of the first of several: 1 + what was found when it was asked whether all agree; 0: not asked */
};

/* Filled by sites_add, asked behind sites_sort. */
struct sites {
	struct site *v;
	uint32_t n, cap;
};

void sites_add(struct sites *, struct arena *, uint32_t at, uint32_t what, uint32_t root);
void sites_sort(struct sites *);
/* What there is at an offset, by root, as often as it was added; `n` of them, inside the list; NULL: none. */
struct site *sites_at(const struct sites *, uint32_t at, uint32_t what, uint32_t *n);
/* How often one root was added. */
uint32_t sites_count(const struct sites *, uint32_t at, uint32_t what, uint32_t root);
