/* SPDX-License-Identifier: Apache-2.0 */
/* One forward walk for the rules that need no proxy flow: what is left of one site's duty on each way. */
#pragma once

#include "analysis/audit.h"

/* A branch or guard that decides whether a site runs: value number and the outcome it had. */
struct check_condition {
	uint32_t number;
	bool truth;
};

struct check_walk {
	struct unit *unit;
	uint32_t site;      /* the instruction that starts the walk */
	uint8_t start;      /* state just after it */
	struct check_condition *conditions; /* that hold for the thread that ran the site, also later */
	uint32_t nconditions;
	/* State after an instruction that runs; 0 ends a way. Must keep the order: a larger state in, no
	 * smaller state out. Called until nothing grows, in no fixed order. */
	uint8_t (*step)(struct check_walk *, uint32_t insn, uint8_t state);
	/* Joins two states; no smaller than either. */
	uint8_t (*join)(uint8_t, uint8_t);
	const void *data;
	uint32_t data_count;
	/* filled by the walk, refilled on each run */
	uint8_t *in;        /* by block */
};

struct check_list {
	struct unit *unit;
	struct check_finding *v;
	uint32_t n, cap;
};

/* Finds the conditions of walk->site that stay what they were. */
void check_conditions(struct check_walk *);
/* Runs to the fixed point, then once more in order, with `visit` called before each instruction (and
 * with insn == NONE at a place where the thread ends, `at` being the last instruction). */
void check_run(struct check_walk *,
	void (*visit)(struct check_walk *, uint32_t insn, uint32_t at, uint8_t state, void *), void *);
/* The guard of an instruction for the thread of the walk: 1 runs, 0 does not, -1 not known. */
int check_guard(const struct check_walk *, uint32_t insn);
/* The largest of two: the join of states that are simply ordered. */
uint8_t check_larger(uint8_t, uint8_t);
void check_report(struct check_list *, uint8_t rule, uint8_t confidence, uint32_t insn, uint32_t other,
	const char *detail);

void check_bulk_stores(struct check_list *);
void check_mbarrier_init(struct check_list *);
void check_tensormaps(struct check_list *);
