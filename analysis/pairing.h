/* SPDX-License-Identifier: Apache-2.0 */
/* Work in progress of handoff_pair(), shared by handoff.c, pair_arms.c, pair_barriers.c, barrier_uses.c, pair_mbarriers.c, pair_leaning.c, pair_exits.c and phases.c;
 * nothing else includes it. */
#pragma once

#include "analysis/handoff.h"

struct pairing {
	struct unit *unit;
	struct handoffs *h;
	struct pair_list {
		uint32_t *v, n, cap;
	} *to;        /* by release site */
	uint32_t cap; /* of sites */
	bool relaxed; /* some arrive or wait is */
	bool release_fence, acquire_fence; /* on which one could lean */
};

enum barrier_id_kind { ID_CONSTANT, ID_NUMBER /* value number of a register */ };

struct barrier_id {
	uint8_t kind;
	uint8_t use;    /* number of its use, of the uses that are told apart */
	uint32_t key;
	int64_t lo, hi; /* the ids it can be */
	uint32_t apart; /* bit U: never under way at once with use U */
};

struct barriers {
	uint32_t *sites, n, cap; /* block by block, ascending in each */
	struct barrier_id *ids;
};

static inline bool barrier_same_id(const struct barrier_id *a, const struct barrier_id *b)
{
	return a->kind == b->kind && a->key == b->key && a->use == b->use;
}

static inline bool barrier_ids_meet(const struct barrier_id *a, const struct barrier_id *b)
{
	return !barrier_same_id(a, b) && a->lo <= b->hi && b->lo <= a->hi && !(a->apart >> b->use & 1);
}

/* It orders nothing by itself: with a fence in front of an arrive, or behind a wait, that fence does (ISA 8.7.3). */
static inline bool pair_is_relaxed(const struct effect *e)
{
	return e->sync == SYNC_MBAR_EXPECT ||
	       (e->relaxed && (e->sync == SYNC_CLUSTER_ARRIVE || e->sync == SYNC_MBAR_ARRIVE || e->sync == SYNC_MBAR_WAIT));
}

static inline bool pair_is_half(const struct effect *e)
{
	return e->fence == FENCE_GENERIC_RELEASE || e->fence == FENCE_GENERIC_RELEASE_READ || e->fence == FENCE_GENERIC_ACQUIRE;
}

/* Fences of their own, with no access. */
static inline bool pair_leans_release(const struct effect *e)
{
	return (e->sync == SYNC_MEMORY && !e->ntouches && e->releases) || e->fence == FENCE_GENERIC_RELEASE ||
	       e->fence == FENCE_GENERIC_RELEASE_READ;
}

static inline bool pair_leans_acquire(const struct effect *e)
{
	return (e->sync == SYNC_MEMORY && !e->ntouches && e->acquires) || e->fence == FENCE_GENERIC_ACQUIRE;
}

void pair_add(struct pairing *, uint32_t release, uint32_t acquire);
/* Barrier instructions with those that may be of one barrier. */
void pair_barriers(struct pairing *);
/* Gives uses of one id that can never be under way at once numbers of their own (barrier_uses.c). */
void barriers_part_uses(struct pairing *, struct barriers *);
/* Arrives with the waits whose mbarrier object may be the same. */
void pair_mbarriers(struct pairing *);
/* What relaxed arrives and waits hand over at the fences around them. */
void pair_leaning(struct pairing *);
/* Threads that leave early count as arrived at the barriers of all threads. */
void pair_exits(struct pairing *);
/* Branches that each CTA takes one way only: the blocks to which they lead (pair_arms.c). */
#define PAIR_ARMS_MAX 16
struct pair_arms {
	uint32_t v[PAIR_ARMS_MAX][2], n;
};

void pair_find_arms(const struct pairing *, struct pair_arms *);
bool pair_in_other_arms(const struct pairing *, const struct pair_arms *, const struct sync_site *release,
	const struct sync_site *acquire);
/* Fills min_phase and max_phase of every site. */
void pair_phases(struct pairing *);
