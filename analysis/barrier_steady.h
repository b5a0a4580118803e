/* SPDX-License-Identifier: Apache-2.0 */
/* Loops in each round of which every thread passes equally many barriers of an id. */
#pragma once

#include "analysis/barrier.h"

struct steady_rounds;

/* Of barriers at which all threads of the CTA meet, none of them under a guard. `first_in`: by block, the first of
 * the group in it, or NONE; it is looked at later. */
struct steady_rounds *steady_rounds(const struct unit *, const struct barrier_group *, const uint32_t *first_in);
/* Threads that stand at barriers of the group at once, one of them at this one, are in the same round of all
 * loops around it. */
bool steady_has(struct steady_rounds *, uint32_t site);
