/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that the threads at a place cannot have made themselves: who makes the access, and who comes to the
 * place, are known one by one and none is both. Roles that follow one another in the text, each behind a branch
 * on the number of the warp, pass each other's code on ways that no thread takes.
 */
#pragma once

#include "analysis/facts.h"

#define MAKERS_ANY UINT8_MAX

struct makers {
	uint8_t *role_of;    /* by block: of the threads there, as a number of `absent`, or MAKERS_ANY. NULL: nothing is known */
	struct bits *absent; /* facts that no thread of the role has made, in any form; no words: none */
	uint32_t assumptions; /* enum assumption bits: under which threads are known */
};

/* Facts that no thread in the block has made; no words: none. */
static inline struct bits makers_absent(const struct makers *m, uint32_t block)
{
	return m->role_of && m->role_of[block] != MAKERS_ANY ? m->absent[m->role_of[block]] : (struct bits){0};
}

/* Belongs to the arena of the unit. `asked`: the blocks for which `absent` is wanted. */
void makers_find(struct unit *, const struct facts *, struct bits asked, struct makers *);
