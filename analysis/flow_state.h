/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machinery of the proxy flow, shared by what an event does (flow_step.c), its solver (flow.c), the edges (flow_edges.c), the demands
 * on the planner (demand.c) and the dumps. Nothing outside analysis/ includes it.
 */
#pragma once

#include "analysis/facts.h"
#include "analysis/flow.h"
#include "analysis/leaders.h"
#include "analysis/loads.h"
#include "analysis/makers.h"
#include "analysis/own_stage.h"

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
	uint32_t insn;     /* COMPLETE: facts by setup.complete */
	uint8_t kind;      /* enum event_kind; events of one instruction come in this order */
	uint8_t fence;     /* PLACED: enum fence_kind */
	uint8_t holds;     /* the literal under which its instruction runs; NO_LITERAL */
	uint32_t arg;      /* ACCESS, ASYNC: access; RELEASE, ACQUIRE: site; LITERAL: literal */
};

/* A predicate under which some fence runs: `number` is its value number, `negated` for @!p. */
struct literal {
	uint32_t number;
	bool negated;
	uint8_t opposite; /* the literal that holds where this one does not */
};

#define LITERALS_MAX 12
#define NO_LITERAL LITERALS_MAX

/*
 * The state at a point. Sets of facts:
 *   own      done by this thread          foreign  done by others that happened before
 *   own_if[L], foreign_if[L]: pending even in the threads in which literal L holds
 *   recent   done or acquired by this thread since it last passed a barrier of all threads; no words: of no use
 *   fresh[E]    done by this thread, or for a named barrier also acquired, since epoch E began
 *   uncovered[E] the leaders for which no fence has certainly run since then, stored negated so that
 *               every join is a union
 *
 * The sets of a state lie one behind the other in a row of words, in this order: own, foreign, fresh, recent,
 * own_if, foreign_if, each set_words long, and behind them `possible` and uncovered, 32 bits each.
 * A struct state shows the parts of one row.
 */
struct state {
	struct bits own, foreign;
	struct bits fresh[EPOCHS_MAX], recent;
	struct bits own_if[LITERALS_MAX], foreign_if[LITERALS_MAX];
	uint32_t *possible;  /* bit L: literal L may hold here */
	uint32_t *uncovered; /* bit 2 * L: no shared fence for certain, bit 2 * L + 1: no global one */
	uint64_t *row;
};

/* A definition of the register of a literal, which holds or not anew from there on. */
struct literal_change {
	uint32_t insn;
	uint8_t literal;
};

struct literal_changes {
	struct literal_change *v; /* by instruction */
	uint32_t n, cap;
};

/* Guarded instructions, ascending; the value numbers of their guards, and these sorted. */
struct guards {
	uint32_t *insns, *numbers, *sorted;
	uint32_t n;
};

/* A way from one row into another, along edges between blocks without events. */
struct flow_way {
	uint32_t from, to;
	uint32_t absent; /* leaders that come along none of the edges */
	uint8_t holds;   /* the literal that holds along it; NO_LITERAL */
	uint32_t next;   /* from the same row; NONE */
};

/* flow_rows.c: the rows of the state; what is said of events holds of those of all runs so far. */
struct flow_rows {
	uint32_t n, cap;
	uint32_t *of;        /* by block: its row at the start */
	uint32_t *absent;    /* by block: leaders that do not come to it, in whatever way the row comes */
	uint32_t *behind;    /* by block whose events may change the state: its row at the end; NONE: nobody has it */
	uint32_t *late;      /* by block with a row of its own: what comes back to it, until its turn; NONE */
	struct bits changes; /* such blocks */
	uint32_t *home;      /* by row: the block at whose start, or end, it is */
	uint32_t *first_run, *next_run; /* by row, by block: those of `changes` that begin with it; NONE */
	uint32_t *first_way; /* by row: into ways */
	struct flow_way *ways;
	uint32_t nways;
	bool *reached;       /* by row */
	struct bits grew;    /* rows, since somebody has emptied it */
	struct bits pending; /* rows that grew since their home had its turn */
	struct bits turns;   /* such homes */
};

enum { KEPT_ROWS = 32 }; /* to a piece of memory */

/* flow_less.c: rows as they were in the latest run. */
struct kept_rows {
	struct bits there;
	uint32_t *rows, n, cap;
	uint64_t **words; /* by piece, the first npieces made */
	uint32_t npieces, pieces_cap;
};

struct flow_setup {
	struct unit *unit;
	struct arena *arena;      /* of what is kept from one run to the next */
	struct handoffs handoffs;
	struct facts facts;
	struct fence_effect fence[FENCE_OTHER + 1];
	struct bits deferred;     /* facts that others can have while their own thread has them in flight */
	struct literal literals[LITERALS_MAX];
	uint32_t nliterals;
	struct guards guards;     /* once they are asked for */
	uint32_t *fences;         /* instructions that are a fence in the text, ascending */
	uint32_t nfences;
	struct leaders leaders;
	struct own_stages *stages;/* NULL: there are none */
	uint8_t *taken;           /* by block of two successors: the literal that holds in the first, or NO_LITERAL */
	struct ids *complete;     /* by instruction: load facts that are complete there; NULL: none */
	struct bits *uncommitted; /* by wait_group: copies it does not wait for, by first fact; NULL: none */
	const struct event *plain; /* events that depend neither on literals nor on the fences in force */
	const uint32_t *plain_of; /* by block: plain_of[b] .. plain_of[b + 1) */
	const struct event *base; /* with those of the literals */
	const uint32_t *base_of;
	struct rounds *rounds;    /* accesses that meet in other rounds only; NULL: there are none */
	uint8_t *known;           /* groups: by async group and fact: edges noted, 1 own, 2 foreign */
	bool *limited;            /* by site: a release that sends of PENDING facts only recent ones; NULL: none does */
	bool trivial;             /* no fact can meet an async access: nothing to solve */
	bool too_large;           /* nothing is solved for lack of room: every flow is incomplete */
	/* the latest run */
	uint32_t run;
	const struct event *events;
	uint32_t nevents, events_cap;
	const uint32_t *events_of;
	struct event *merged;     /* room for events and events_of where fences are planned */
	uint32_t *merged_of;
	const uint8_t *existing;
	bool brief, own_only;     /* see fence_view */
	bool loads_stay_open;     /* no load is complete: see flow_open_loads_show() */
	uint32_t led;             /* enum assumption bits under which a leader's fence has settled something for others */
	struct edge *brief_edges; /* of the latest brief run: used again by the next one */
	uint32_t brief_cap;
	bool every;               /* what was met before is listed, too, where it may have changed */
	struct edge *less_edges;  /* the same for flow_solve_less */
	uint32_t less_cap;
	uint64_t *saved;          /* flow_less.c: sites of the latest run, if has_saved */
	uint32_t *saved_uncovered; /* by end */
	bool has_saved;
	bool goes_back;           /* rows are kept as they were before anything is joined into them */
	struct kept_rows kept;
	uint64_t *met;            /* flow_edges.c: facts that async accesses meet in the latest run, word by word of their rows */
	uint32_t *met_at, nmet;   /* by access: its first word */
	struct flow_rows rows;
	uint64_t *in;             /* the rows that are reached */
	uint32_t set_words, row_words;
	struct state now;
	struct bits *sent_own, *sent_foreign; /* by release site, conversions of crossing included */
	struct bits *received;    /* by acquire site */
	struct bits *sent_recent, *received_recent; /* what of that was recent where it was sent; NULL without `limited` */
	/* Ends of epochs, as what is fresh and who has not fenced at the releases of a site: for each site
	 * and each epoch that ends there, or since whose beginning what leaves may have been led. */
	uint8_t *watched;         /* by site: bit E: there is such an end of epoch E */
	uint32_t *end_of, nends;  /* by site and epoch, EPOCHS_MAX to a site: its number */
	uint64_t *end_fresh;
	uint32_t *end_uncovered;
	uint32_t sets;            /* bit E: there are barriers of sets of E; 0: of warps */
	uint64_t *entered;        /* by epoch: facts that may have come to its sets from others than themselves */
	uint64_t *sent;           /* where the three sets of each site lie, five with `limited`, one site behind the other */
	struct makers makers;     /* what is not of the threads at a release or an async access */
	struct bits own_here;     /* room for that */
	struct bits scratch, scratch2, scratch3, suppressed;
	uint64_t *dirty;          /* blocks, one bit each */
	uint32_t *seen, *heard, round; /* by block, by site: stamps of backward searches */
	struct bits hears; /* blocks with a site */
};

/* The literal that holds along the i-th edge out of a block, or NO_LITERAL. */
static inline uint8_t flow_holds_along(const struct flow_setup *s, uint32_t from, uint32_t i)
{
	uint8_t taken = s->taken[from];

	return i == 0 || taken == NO_LITERAL ? taken : s->literals[taken].opposite;
}

static inline uint32_t flow_opposite(const struct flow_setup *s, uint32_t literal)
{
	return literal == NO_LITERAL ? NO_LITERAL : s->literals[literal].opposite;
}

/* The row into which the i-th edge out of a block leads. */
static inline uint32_t flow_row_along(const struct flow_setup *s, uint32_t from, uint32_t i)
{
	uint32_t to = s->unit->cfg.blocks[from].succ.v[i];

	return to <= from && s->rows.late[to] != NONE ? s->rows.late[to] : s->rows.of[to];
}

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
/* What a release publishes of a set, into `out`, in all forms that it takes on its way. */
void flow_publish(struct flow_setup *, const struct sync_site *, struct bits set, struct bits out);
/* flow_bound.c: no async access meets anything, whoever hears whom. Of a setup with facts and events, before all else. */
bool flow_is_clear_at_worst(struct flow_setup *);
/* A cp.async.wait behind which nothing of the copy `access` is in flight. */
bool flow_wait_completes(const struct flow_setup *, uint32_t insn, uint32_t access);
/* A row, that of the state at the start of a block, and a set of it. */
static inline uint64_t *flow_words(const struct flow_setup *s, uint32_t row)
{
	return s->in + (size_t)row * s->row_words;
}

static inline uint64_t *flow_row(const struct flow_setup *s, uint32_t block)
{
	return flow_words(s, s->rows.of[block]);
}

static inline bool flow_reached(const struct flow_setup *s, uint32_t block)
{
	return s->rows.reached[s->rows.of[block]];
}

static inline struct bits flow_foreign(const struct flow_setup *s, uint32_t block)
{
	return (struct bits){flow_row(s, block) + s->set_words, s->set_words};
}

/* How many sets of a row come before own_if. */
static inline uint32_t flow_plain_sets(const struct flow_setup *s)
{
	return 2 + s->leaders.nepochs + (s->limited != NULL);
}

/* How many sets a site has. */
static inline uint32_t flow_site_sets(const struct flow_setup *s)
{
	return s->limited ? 5 : 3;
}

static inline uint32_t *flow_marks(const struct flow_setup *s, uint64_t *row)
{
	return (uint32_t *)(row + (size_t)s->set_words *
				  (flow_plain_sets(s) + 2 * s->nliterals));
}

/* flow_literals.c. Fills literals from the fences in the text and those of the view (NULL: none). */
void flow_find_literals(struct flow_setup *, const struct fence_view *);
bool flow_same_literals(const struct flow_setup *, const struct flow_setup *);
/* The literal that the guard of an instruction is, or NO_LITERAL. */
uint8_t flow_literal(const struct flow_setup *, uint32_t insn);
/* Where literals may change. */
struct literal_changes flow_literal_changes(const struct flow_setup *);
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
/* flow_epochs.c: room for the ends of epochs, once; nothing in them, before each run. */
void epochs_new(struct flow_setup *);
void epochs_reset(struct flow_setup *);
/* leaders and epochs of setup->now. A fence that the leaders of a spread set run: */
void epochs_fence(struct flow_setup *, enum fence_kind, uint32_t leaders);
/* At a release site; true when those who acquire there must look again. */
bool epochs_release(struct flow_setup *, uint32_t site);
/* The facts that others than the set itself may have brought into a set of threads whose own barrier the
 * site is: all others are in somebody's own set. No words: the site is no such barrier. */
struct bits epochs_entered(const struct flow_setup *, uint32_t site);
/* Tells whether what others have done is reset at an acquire site of the set's own. */
bool epochs_reset_by_set(struct flow_setup *, uint32_t site);
/* What is acquired at the site may come into sets from outside; what is pending at an exit may be of one who
 * meets no more. */
void epochs_enter(struct flow_setup *, uint32_t site, struct bits);
/* At an acquire site: what of `received` is left, and the own and foreign facts that go. */
struct bits epochs_acquire(struct flow_setup *, uint32_t site, struct bits received);
/* Leaders that do not come along the i-th edge out of a block, or never where it leads. */
uint32_t epochs_absent(const struct flow_setup *, uint32_t from, uint32_t i);
/* Joins `uncovered` into another one, along a way that these leaders do not come; true when it grew there. */
bool epochs_join(struct flow_setup *, const uint32_t *uncovered, uint32_t absent, uint32_t *there);
/* Fills setup->events from the base events and the planned fences of a view (NULL: none). */
void flow_merge_events(struct flow_setup *, const struct fence_view *);
/* Makes the rows for the events as they are with the planned fences of a view, if they are not there. */
void flow_make_rows(struct flow_setup *, const struct fence_view *);
/* Those that end in the blocks of the set, or of rows that grew, and some of which may be none of the latest run
 * (no words: all). */
void flow_collect_edges(struct flow_setup *, struct bits blocks, struct flow *);
/* flow_less.c: a row before it changes; once for what is asked at hand. */
void flow_keep_row(struct flow_setup *, uint32_t row);
/* Before the rows become others, or more. */
void flow_forget_saved(struct flow_setup *);
/* To be run, or run again. */
void flow_mark_dirty(struct flow_setup *, uint32_t block);
/* Runs dirty blocks until none is; those that ran are noted in `ran`, where it has words. */
void flow_run(struct flow_setup *, struct bits ran);
/* The same for so many turns of blocks; false: it is not at the end. */
bool flow_run_some(struct flow_setup *, struct bits ran, uint32_t most);
