/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which executions of barrier instructions can meet: the diagonal product of analysis-notes section 5.
 * Threads that run the same uniform code meet at the same site; two sites meet only where a divergent
 * branch has put threads at different ones.
 */
#pragma once

#include "analysis/threads.h"
#include "analysis/unit.h"
#include "base/bits.h"

struct barrier_group {
	const uint32_t *insns; /* barrier instructions of one id, ascending, all reachable */
	uint32_t n;
	uint64_t *meet;        /* n x n bits, row after row of (n + 63) / 64 words: symmetric */
	struct bits apart;     /* words: by instruction of the group, threads that meet there may be in different rounds of a loop */
	const struct barrier_group *walls; /* groups of other ids at which all threads of the CTA meet, or NULL */
	uint32_t nwalls;
	bool named; /* whoever comes waits, and no other barriers may be of these ids: sets of threads may be known */
};

/* The ids, as a mask, that the threads which can come to a barrier instruction have in the register of
 * its id; 0: not known. *assumed: it rests on ASSUME_FLAT_BLOCK. */
uint32_t barrier_ids(struct unit *, uint32_t insn, bool *assumed);
/* Fills meet, which must be zero. */
void barrier_meet(struct unit *, struct barrier_group *);

static inline bool barrier_meets(const struct barrier_group *g, uint32_t a, uint32_t b)
{
	return g->meet[(size_t)a * ((g->n + 63) / 64) + b / 64] >> (b % 64) & 1;
}

/* The predicate of the branch that ends the block may differ between threads of the CTA; whether or not the program
 * has a data race. */
bool barrier_parts(const struct unit *, uint32_t block);
/* ... if it has none. */
bool barrier_divergent(const struct unit *, uint32_t block);
/* It may only if there is a data race (not so: ASSUME_RACE_FREE). */
bool barrier_assumed_together(const struct unit *, uint32_t block);
/* The threads that meet at the barriers of a group, where each time all of one set do and no others. */
struct barrier_whole {
	bool asked;
	const struct thread_set *sets;
	uint32_t n;          /* 0: not known */
	uint32_t assume;     /* enum assumption bits on which that rests */
	const bool *varies;  /* within the sets: values_alike(); NULL: not asked for yet */
	uint32_t varies_assume;
};

/* It may differ between threads that meet at the barriers of the group. */
bool barrier_parts_sets(struct unit *, const struct barrier_group *, struct barrier_whole *, uint32_t block);
/* The block ends in an exit under a guard that some threads of the CTA may have and others not. */
bool barrier_some_leave(struct unit *, uint32_t block);
/* Some thread of those that come to the barrier may not pass it, for its guard. */
bool barrier_skipped(const struct unit *, uint32_t insn);
/* ... while another thread of the CTA does. */
bool barrier_divides(struct unit *, uint32_t insn);
