/* SPDX-License-Identifier: Apache-2.0 */
/* Work in progress of handoff_pair(), shared by handoff.c, pair_mbarriers.c and phases.c; nothing else includes it. */
#pragma once

#include "analysis/handoff.h"

struct pairing {
	struct unit *unit;
	struct handoffs *h;
	struct pair_list {
		uint32_t *v, n, cap;
	} *to;        /* by release site */
	uint32_t cap; /* of sites */
	bool release_fence, acquire_fence; /* a relaxed form after / before one carries what it orders */
};

void pair_add(struct pairing *, uint32_t release, uint32_t acquire);
/* Arrives with the waits whose mbarrier object may be the same. */
void pair_mbarriers(struct pairing *);
/* Threads that leave early count as arrived at the barriers of all threads. */
void pair_exits(struct pairing *);
/* Fills min_phase and max_phase of every site. */
void pair_phases(struct pairing *);
