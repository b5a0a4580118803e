/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machinery of the proxy flow, shared by its solver (flow.c), the edges (flow_edges.c), the demands
 * on the planner (demand.c) and the dumps. Nothing outside analysis/ includes it.
 */
#pragma once

#include "analysis/facts.h"
#include "analysis/flow.h"
#include "analysis/leaders.h"
#include "analysis/loads.h"

enum event_kind {
	EVENT_COMPLETE, /* loads that are complete here: list of facts */
	EVENT_PLACED,   /* a planned fence */
	EVENT_LITERAL,  /* a predicate that a literal watches gets a new value */
	EVENT_FENCE,
	EVENT_ACCESS,   /* a generic access */
	EVENT_WAIT,     /* cp.async.wait_group / wait_all */
	EVENT_RELEASE,
	EVENT_ACQUIRE,
	EVENT_ASYNC
};

struct event {
	uint32_t insn;
	uint8_t kind;      /* enum event_kind; events of one instruction come in this order */
	uint8_t fence;     /* PLACED: enum fence_kind */
	uint32_t arg;      /* ACCESS, ASYNC: access; RELEASE, ACQUIRE: site; LITERAL: literal */
	struct ids facts;  /* COMPLETE */
};

/* A predicate under which some fence runs: `number` is its value number, `negated` for @!p. */
struct literal {
	uint32_t number;
	bool negated;
	uint32_t opposite; /* the literal that holds where this one does not; NONE */
};

#define LITERALS_MAX 12

/*
 * The state at a point. Sets of facts:
 *   own      done by this thread          foreign  done by others that happened before
 *   own_if[L], foreign_if[L]: pending even in the threads in which literal L holds
 *   fresh[E]    done by this thread, or for a named barrier also acquired, since epoch E began
 *   uncovered[E] the leaders for which no fence has certainly run since then, stored negated so that
 *               every join is a union
 */
struct state {
	struct bits own, foreign;
	struct bits own_if[LITERALS_MAX], foreign_if[LITERALS_MAX];
	uint32_t possible; /* bit L: literal L may hold here */
	struct bits fresh[EPOCHS_MAX];
	uint32_t uncovered[EPOCHS_MAX]; /* bit 2 * L: no shared fence for certain, bit 2 * L + 1: no global one */
};

struct flow_setup {
	struct unit *unit;
	struct handoffs handoffs;
	struct facts facts;
	struct fence_effect fence[FENCE_OTHER + 1];
	struct bits deferred;     /* facts that others can have while their own thread has them in flight */
	struct literal literals[LITERALS_MAX];
	uint32_t nliterals;
	struct leaders leaders;
	struct ids *complete;     /* by instruction: load facts that are complete there */
	struct bits *uncommitted; /* by wait_group: copies it does not wait for, by first fact; NULL: none */
	struct event *base;       /* events that do not depend on the fences in force */
	uint32_t *base_of;        /* by block: base_of[b] .. base_of[b + 1) */
	uint8_t *known;           /* groups: by async group and fact: edges noted, 1 own, 2 foreign */
	bool trivial;             /* no fact can meet an async access: nothing to solve */
	bool too_large;           /* nothing is solved for lack of room: every flow is incomplete */
	/* the latest run */
	struct event *events;
	uint32_t nevents, events_cap;
	uint32_t *events_of;
	const uint8_t *existing;
	bool brief, own_only;     /* see fence_view */
	bool led;                 /* a leader's fence has settled something for others */
	struct edge *brief_edges; /* of the latest brief run: used again by the next one */
	uint32_t brief_cap;
	struct state *in;         /* by block */
	bool *reached;
	struct state now;
	struct bits *sent_own, *sent_foreign; /* by release site, conversions of crossing included */
	struct bits *received;    /* by acquire site */
	struct bits *fresh_at;    /* by site at which an epoch ends: of that epoch, at its release */
	uint32_t *uncovered_at;
	struct bits scratch, scratch2, suppressed;
	uint64_t *dirty;          /* blocks, one bit each */
	uint32_t *seen, *heard, round; /* by block, by site: stamps of backward searches */
};

/* What a pass over a block's events can be told beside the state. */
struct visitor {
	void *data;
	/* an async access meets these pending facts (already restricted by its guard) */
	void (*meets)(void *data, uint32_t access, struct bits own, struct bits foreign);
	/* the state just before an event */
	void (*before)(void *data, uint32_t event);
};

/* Loads the state at the start of a block into setup->now. */
void flow_enter(struct flow_setup *, uint32_t block);
/* Runs one event on setup->now: the only place where the state changes. `solving`: sets may grow. */
void flow_step(struct flow_setup *, uint32_t event, bool solving,
	const struct visitor *);
/* A cp.async.wait behind which nothing of the copy `access` is in flight. */
bool flow_wait_completes(const struct flow_setup *, uint32_t insn, uint32_t access);
/* The literal that a guard is, or NONE. */
uint32_t flow_literal(const struct flow_setup *, uint32_t insn, uint32_t reg, bool negated);
/* Event numbers of a block. */
static inline uint32_t flow_first(const struct flow_setup *s, uint32_t block)
{
	return s->events_of[block];
}

static inline uint32_t flow_end(const struct flow_setup *s, uint32_t block)
{
	return s->events_of[block + 1];
}

static inline uint32_t flow_last_insn(const struct block *block)
{
	return block->first + block->count - 1;
}

/* The event at which a site acquires, or releases, in the latest run. */
uint32_t flow_acquire_event(const struct flow_setup *, uint32_t site);
uint32_t flow_release_event(const struct flow_setup *, uint32_t site);

/* Into `to` the FENCED siblings of those facts of `from` that are in `kill`, where they have one. */
void flow_fenced_siblings(
	const struct flow_setup *, struct bits from, struct bits kill, struct bits to);
/* flow_epochs.c: leaders and epochs of setup->now. A fence that the leaders of a spread set run: */
void epochs_fence(struct flow_setup *, enum fence_kind, uint32_t leaders);
/* At a release site; true when those who acquire there must look again. */
bool epochs_release(struct flow_setup *, uint32_t site);
/* At an acquire site: what of `received` is left, and the own and foreign facts that go. */
struct bits epochs_acquire(struct flow_setup *, uint32_t site, struct bits received);
/* Along the i-th edge out of a block; true when the state there grew. */
bool epochs_join(struct flow_setup *, uint32_t from, uint32_t i);
/* Fills setup->events from the base events and the planned fences of a view (NULL: none). */
void flow_merge_events(struct flow_setup *, const struct fence_view *);
void flow_collect_edges(struct flow_setup *, struct flow *);
