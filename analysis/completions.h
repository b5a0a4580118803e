/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many phases of an mbarrier object can complete in the life of a kernel (ISA 9.7.13.15): all that
 * can arrive there, over the fewest arrivals that a phase takes.
 */
#pragma once

#include "analysis/unit.h"

struct completions;

struct completions *completions_prepare(struct unit *);
/* The wait is over at once, and acquires nothing: it names the phase before the first, by parity 1, and
 * `object`, what its operand may name, never completes two. Adds the assumptions on which that rests. */
bool completions_none_heard(struct completions *, uint32_t wait, const struct access *object,
	uint32_t *assumptions);
