/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one execution: threads, what each knows to have happened before, and barriers.
 */
#pragma once

#include "program.h"

#include <string.h>

enum { WORDS = 12, MAX_EVENTS = WORDS * 64, MAX_STEPS = 9000, MAX_HITS = 30000, NBARRIERS = 16 };
enum { MAX_FRAMES = 8, MAX_COPIES = 64, MAX_PIECES = 160 };

struct set {
	uint64_t w[WORDS];
};

/*
 * Accesses that happened before, those of them that have a fence behind them (by the CTA whose
 * thread ran it), and reads that have certainly delivered their value.
 */
struct facts {
	struct set before, fenced[MAX_CTAS], done;
};

struct spot {
	int home, var, lo, hi; /* home: CTA whose memory it is; NONE: global */
};

struct event {
	struct spot at;
	int line, cta;
	bool reads, writes, is_load, used;
	bool sent; /* complete only at its destination: no fence of the writer covers it */
	uint64_t via;
};

struct copy {
	int event, group;
};

struct frame {
	int back, loop[NDEPTHS], count, result;
	struct set held[NVALUES], acc;
	struct spot arg;
};

struct stage {
	int at, parity;
};

struct thread {
	struct stage rings[NRINGS];
	int cta, tid, pc, phase, token, loop[NDEPTHS], bound[NDEPTHS], count;
	bool over, blocked;
	struct facts facts;
	struct set held[NVALUES], acc; /* reads whose value a register holds */
	struct copy copies[MAX_COPIES];
	int ncopies, group;
	int waits_for, cluster_phase; /* phase of the barrier that it sleeps at */
	const struct barrier *sleeps_at;
	struct spot arg;
	struct frame frames[MAX_FRAMES];
	int nframes;
};

struct barrier {
	int arrived, phase, bytes; /* bytes: still expected */
	unsigned ever, since;      /* threads that have arrived at all, in this phase */
	bool twice;                /* one of them more than once in a phase */
	struct facts next, last;
};

struct hit {
	int event, async;
	bool done, plain, strict;
	uint64_t features;
};

struct run {
	const struct program *p;
	int n, flags, guess, rests;
	struct thread threads[MAX_THREADS];
	int nthreads;
	struct barrier bars[MAX_CTAS][NBARRIERS], warp_bars[MAX_CTAS][MAX_WARPS];
	struct barrier mbs[MAX_CTAS][NMBARRIERS], cluster;
	struct facts left[MAX_CTAS];       /* of the threads that have left */
	int numbers[MAX_CTAS][NMBARRIERS]; /* left for others */
	int template[MAP_FIELDS], map[MAP_FIELDS]; /* of the one CTA of such a program */
	struct event events[MAX_EVENTS];
	int nevents, steps;
	struct hit hits[MAX_HITS];
	int nhits, skip[MAX_LINES + 1];
	bool too_long;
};

static inline void set_add(struct set *s, int i)
{
	s->w[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline bool set_has(const struct set *s, int i)
{
	return s->w[i / 64] >> (i % 64) & 1;
}

static inline void set_join(struct set *s, const struct set *o)
{
	for (int i = 0; i < WORDS; i++)
		s->w[i] |= o->w[i];
}

static inline void facts_join(struct facts *f, const struct facts *o)
{
	set_join(&f->before, &o->before);
	set_join(&f->done, &o->done);
	for (int i = 0; i < MAX_CTAS; i++)
		set_join(&f->fenced[i], &o->fenced[i]);
}

/* ---- access.c ---- */

void do_access(struct run *r, struct thread *t, const struct step *s);
void do_copy(struct run *r, struct thread *t, const struct step *s);
void do_wait_group(struct thread *t, int pending);
void do_use(struct run *r, struct thread *t, const struct set *values);
void do_fence(const struct run *r, struct thread *t, int spaces);
void do_call(struct run *r, struct thread *t, const struct step *s);
void do_return(struct thread *t);

/* st.async: the access is handed over at the mbarrier and nowhere else. */
void do_send(struct run *r, struct thread *t, const struct step *s);

void async_access(struct run *r, struct thread *t, const struct place *p, bool writes);

/* ---- run.c ---- */

/* How far what a step names is from that of the first set. */
int next_of_set(const struct program *p, const struct thread *t, const struct step *s);

/* ---- sync.c ---- */

/* Remembers, for the coverage table, what accesses went through. */
void stamp(struct run *r, const struct set *before, uint64_t features);

/* Each is false if the thread has to wait. */
bool bar_sync(struct run *r, struct barrier *b, struct thread *t, int expected);
bool cluster_wait(struct run *r, struct thread *t);
bool mb_wait(struct run *r, struct thread *t, const struct step *s);
void bar_arrive(struct run *r, struct barrier *b, struct thread *t, int expected);
void cluster_arrive(struct run *r, struct thread *t);
void mb_arrive(struct run *r, struct thread *t, const struct step *s);
void mb_copies(struct run *r, struct thread *t, const struct step *s);
bool arrives_twice(const struct run *r);
void mb_complete(struct run *r, struct barrier *b, int mbarrier, int bytes);
struct barrier *mb_of(struct run *r, const struct thread *t, const struct step *s);
int live(const struct run *r, int cta);
void leave(struct run *r, struct thread *t);
