/* SPDX-License-Identifier: Apache-2.0 */
/* Work in progress of flow_demands(), shared by demand.c, demand_pending.c and demand_reach.c. */
#pragma once

#include "analysis/flow_state.h"

struct list {
	uint32_t *v, n, cap;
};

/* Facts whose demands may share one set of points: usually one fact; where that would be too much
 * memory, those of one form that meet the same async accesses. */
struct bucket {
	uint32_t fact;			/* the only one; NONE: see `facts` */
	struct bits facts;		/* no words: see `fact` */
	struct bits own_at, foreign_at; /* instructions before which one of them is pending; no
					   words: none */
};

struct demands {
	struct flow_setup *s;
	const struct flow *flow;
	struct demand *v;
	uint32_t n, cap;
	bool *asked; /* by fact: it needs a demand, or its points do */
	struct list *meets_own,
		*meets_foreign; /* by fact: events (async) where it makes an edge, ascending */
	struct bucket *buckets;
	uint32_t nbuckets;
	bool shared;			  /* buckets hold more than one fact */
	uint32_t *bucket_of;		  /* by fact; NONE: not asked */
	uint32_t *edge_first, *edge_next; /* by generic access, by edge: the edges of each access */
	struct list waits;		  /* instructions that wait for cp.async */
	uint32_t *listed, list_round;	  /* by instruction: the list that has it */
	/* searches backward, one per fact; stamped with their round */
	uint32_t *seen_block, *seen_site, *seen_release, *seen_event, round;
	struct list todo, releases;
	uint64_t *likeness; /* by fact, from the first search on */
	uint32_t searched;  /* the fact of the latest search, or NONE */
};

/* A set of instructions. */
static inline struct bits demand_no_points(const struct demands *d)
{
	return bits_new(d->s->unit->arena, d->s->unit->fn->ninsns + 1);
}

/* Sorts the asked facts into buckets and finds where they are pending. */
void demand_find_pending(struct demands *);
/* The releases, ascending, from which fact f reaches an async access through what others acquire;
 * valid until the next call. */
const struct list *demand_releases(struct demands *, uint32_t f);
