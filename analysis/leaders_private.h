/* SPDX-License-Identifier: Apache-2.0 */
/* Work in progress of leaders_find(), shared by leaders.c, arrivals.c and keep_step.c; nothing else includes it. */
#pragma once

#include "analysis/leaders.h"

struct group {
	struct thread_set threads;
	uint32_t epoch;
};

struct finder {
	struct unit *unit;
	const struct handoffs *h;
	struct leaders *out;
	struct group *groups; /* room for EPOCHS_MAX * BARRIER_IDS; they rest on the barriers alone */
	uint32_t ngroups;
	uint32_t most; /* threads of a CTA */
	bool exact, numbered, elects;
	bool named;    /* all that can come to a named barrier is in view */
	bool arrivals; /* arrivals_find() has been here */
	struct bits placed;
};

/* An unguarded barrier of the epoch's own stands on every way to a site. */
bool leaders_counted(const struct finder *, uint32_t epoch, uint32_t site);
/* Fills arrivers, but for who leads them. */
void arrivals_find(struct finder *);
