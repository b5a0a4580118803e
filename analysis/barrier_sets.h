/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads come to a barrier, one by one, and how many it asks for. */
#pragma once

#include "analysis/threads.h"
#include "analysis/unit.h"

#define BARRIER_IDS 16 /* of a CTA (ISA 9.7.13.1) */

/* Threads that the barrier counts, if all that come wait (bar, barrier.aligned) and it has a constant
 * count and no guard; 0. */
uint32_t barrier_counted(const struct unit *, uint32_t insn);
/* Adds the threads that can come to a barrier to the sets of the ids that it has for them; false: an id
 * is not known, or some thread comes there under another id than before. */
bool barrier_add_threads(
	const struct unit *, uint32_t insn, struct thread_set by_id[BARRIER_IDS]);
/* Whoever meets at the barriers, of one id or of one in a register, is each time one whole set of threads: gives the
 * number of sets, which are put first; 0: not known. `by_id' must be empty. */
uint32_t barrier_whole_sets(
	const struct unit *, const uint32_t *insns, uint32_t n, struct thread_set by_id[BARRIER_IDS]);
/* The set has as many threads as the barrier counts, in whole warps; or none at all. */
bool barrier_set_complete(const struct thread_set *, uint32_t count);
