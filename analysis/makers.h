/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that the threads at a place cannot have made themselves: who makes the access, and who comes to the
 * place, are known one by one and none is both. Roles that follow one another in the text, each behind a branch
 * on the number of the warp, pass each other's code on ways that no thread takes.
 */
#pragma once

#include "analysis/facts.h"

struct makers {
	struct bits *absent; /* by block: facts that no thread there has made, in any form; no words: none. NULL: none at all */
	uint32_t assumptions; /* enum assumption bits: under which threads are known */
};

/* Belongs to the arena of the unit. `asked`: the blocks for which `absent` is wanted. */
void makers_find(struct unit *, const struct facts *, struct bits asked, struct makers *);
