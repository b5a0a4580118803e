/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaders and epochs: what a fence by one thread does for all. Threads that meet at a barrier, one of
 * which fences, meet again: what any of them had done or acquired before the first meeting is then
 * ordered before the fence and the fence before what follows the second (ptx-proxies 1.2). An epoch
 * counts the meetings of one set of threads; a leader is one thread whose way is followed. A fence
 * counts for an epoch if on every way that the leader can take from meeting to meeting one stands.
 *
 * A meeting of more threads is one of each part of them too. An arrive on an mbarrier is a second
 * meeting for those who wait there, if no phase completes without the leader's arrival of the same
 * epoch.
 */
#pragma once

#include "analysis/barrier_sets.h"
#include "analysis/flow.h"
#include "analysis/handoff.h"
#include "analysis/threads.h"

#define LEADERS_MAX 16
#define EPOCHS_MAX 8  /* number 0: the barriers of all threads */
#define ARRIVERS_MAX 16
#define ENTERS_ASKED (1u << 15)

struct epoch {
	uint32_t ngroups;             /* sets of threads that run the same code under different ids */
	uint32_t members[BARRIER_IDS]; /* bit L: leader L takes part in every meeting of the set */
};

/* The threads that arrive at one mbarrier, each phase of which takes one arrival of every one of them. */
struct arrivers {
	struct thread_set threads;
	struct ids sites;              /* their arrives */
	uint32_t may_keep;             /* bit E: all of them are in the sets of E */
	struct keeping *keeping;       /* what arrivals_keep() (keep_step.c) has found, for all who ask */
	struct epoch led[EPOCHS_MAX];  /* by epoch: of the sets that arrive, the leaders that do */
	uint32_t assumptions;          /* enum assumption bits on which the object being another one than others rests */
};

/* With which epochs they keep step: all of its sets arrive once, or not, from meeting to meeting. */
struct keeping {
	bool known;
	uint32_t epochs;      /* bit E */
	uint32_t assumptions; /* enum assumption bits on which it rests */
};

struct leaders_run {
	uint32_t insn;
	uint32_t set; /* leaders for which its guard certainly holds */
};

struct leaders {
	struct thread v[LEADERS_MAX];
	uint32_t n;
	struct epoch epochs[EPOCHS_MAX];
	uint32_t nepochs;
	uint8_t *epoch_of;     /* by site: the epoch that begins there; EPOCHS_MAX: none */
	uint8_t *begins;       /* by site: bit E: so does epoch E, in every thread that passes */
	uint8_t *counted;      /* by site of all threads: bit E: who passes has passed a barrier of E's own, which
	                        * counts its set: all of that set are there */
	uint16_t *enters;      /* by site: what leaders_enter() has found, and ENTERS_ASKED */
	struct arrivers *arrivers;
	uint32_t narrivers;
	uint8_t *arrives;      /* by site: the arrivers it is one of; ARRIVERS_MAX: none. NULL: no site is */
	struct leaders_run *runs; /* fences of the text, ascending */
	uint32_t nruns;
	uint32_t *cannot;      /* by block: leaders that never come there */
	uint32_t (*not_along)[2]; /* by block: leaders that never take its first, second edge */
	uint32_t assumptions;  /* enum assumption bits on which the numbers of threads rest */
	struct finder *finder; /* for the next one that asks about the same hand-offs */
};

/* The leaders for which the guard of a fence of the text certainly holds. */
static inline uint32_t leaders_running(const struct leaders *l, uint32_t insn)
{
	uint32_t first = 0, end = l->nruns;

	while (first < end) {
		uint32_t middle = first + (end - first) / 2;

		if (l->runs[middle].insn < insn)
			first = middle + 1;
		else
			end = middle;
	}
	return first < l->nruns && l->runs[first].insn == insn ? l->runs[first].set : 0;
}

/* Two bits for each leader of the set: shared and global. */
static inline uint32_t leaders_spread(uint32_t set)
{
	uint32_t out = 0;

	for (; set; set &= set - 1)
		out |= UINT32_C(3) << 2 * (uint32_t)__builtin_ctz(set);
	return out;
}

/* Of the fences in the text and those of the view (NULL: none). `known`: of the same hand-offs under
 * other fences, or NULL. */
void leaders_find(struct unit *, const struct handoffs *, const struct fence_view *,
	const struct leaders *known, struct leaders *);
/* Works out, when first asked, with which epochs the threads that arrive keep step. */
struct keeping arrivals_keep(const struct leaders *, const struct arrivers *);
/* A mask of epochs, by bit; 0 stands for warps: what is acquired at the site may come into a set of threads from
 * outside, or, at an exit, be of one whom the rest of its warp meets without. */
uint32_t leaders_enter(const struct leaders *, uint32_t site);
bool leaders_same(const struct leaders *, const struct leaders *);
