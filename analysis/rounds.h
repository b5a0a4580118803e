/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses of one thread that never touch the same bytes in one round of a loop: the generic one is in another
 * stage of a ring than the async one, as the same registers say (stages.h). They meet only if the register
 * that both stages are computed from is made anew in between.
 */
#pragma once

#include "analysis/flow_state.h"

/* Finds them, once per unit. */
struct rounds *rounds_find(struct unit *, const struct facts *);
/* The block has an async access that is one of them. */
bool rounds_in_block(const struct rounds *, uint32_t block);
/* In the latest run: a fact that is pending on this thread's own path at an async access was made in the same
 * round, on every way there, so it meets nothing. Adds the assumptions on which that rests. */
bool rounds_apart(struct flow_setup *, uint32_t async, uint32_t fact);
