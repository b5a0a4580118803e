/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What single threads of a CTA compute: predicates and numbers that follow from %tid.x, %laneid and
 * constants alone, and the branches that such a predicate decides. One thread at a time, with numbers
 * instead of ranges, so that `lane == 0 of the warpgroup of warp 4` is one thread and not a range.
 */
#pragma once

#include "analysis/value.h"

#define THREADS_MAX 1024 /* of a CTA (ISA 2.2.1) */

/* A thread by its number; `elected`: whichever elect.sync picks in the warp of that thread. */
struct thread {
	uint16_t tid;
	bool elected;
};

struct thread_set {
	uint64_t w[THREADS_MAX / 64];
};

static inline bool thread_set_has(const struct thread_set *s, uint32_t t)
{
	return s->w[t / 64] >> (t % 64) & 1;
}

static inline void thread_set_add(struct thread_set *s, uint32_t t)
{
	s->w[t / 64] |= UINT64_C(1) << (t % 64);
}

static inline void thread_set_join(struct thread_set *s, const struct thread_set *more)
{
	for (uint32_t i = 0; i < THREADS_MAX / 64; i++)
		s->w[i] |= more->w[i];
}

static inline void thread_set_remove(struct thread_set *s, uint32_t t)
{
	s->w[t / 64] &= ~(UINT64_C(1) << (t % 64));
}

/* The first thread of the set from t on, or THREADS_MAX. */
static inline uint32_t thread_set_next(const struct thread_set *s, uint32_t t)
{
	while (t < THREADS_MAX) {
		uint64_t rest = s->w[t / 64] >> (t % 64);

		if (rest)
			return t + (uint32_t)__builtin_ctzll(rest);
		t = (t / 64 + 1) * 64;
	}
	return THREADS_MAX;
}

/* All 32 threads of the warp of t. */
static inline bool thread_set_has_warp(const struct thread_set *s, uint32_t t)
{
	return (uint32_t)(s->w[t / 64] >> (t & 32)) == UINT32_MAX;
}

/* `part` has no thread that `all` has not. */
static inline bool thread_set_within(const struct thread_set *part, const struct thread_set *all)
{
	uint64_t more = 0;

	for (uint32_t i = 0; i < THREADS_MAX / 64; i++)
		more |= part->w[i] & ~all->w[i];
	return !more;
}

static inline bool thread_sets_meet(const struct thread_set *a, const struct thread_set *b)
{
	uint64_t both = 0;

	for (uint32_t i = 0; i < THREADS_MAX / 64; i++)
		both |= a->w[i] & b->w[i];
	return both != 0;
}

static inline uint32_t thread_set_size(const struct thread_set *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < THREADS_MAX / 64; i++)
		n += (uint32_t)__builtin_popcountll(s->w[i]);
	return n;
}

enum truth { TRUTH_NO, TRUTH_YES, TRUTH_OPEN };

/* Blocks are known, or assumed by the options (then *assumed is set), to have one dimension: only
 * then a thread is known by %tid.x. */
bool threads_numbered(const struct values *, bool *assumed);
/* The most threads of a CTA; *exact: every CTA has as many. */
uint32_t threads_most(const struct values *, bool *exact);
/* The guard of an instruction holds for the thread, whenever it comes there. */
enum truth thread_runs(const struct values *, struct thread, uint32_t insn);
/* The thread takes the edge to successor `i` of the block, whenever it comes there. */
enum truth thread_takes(const struct values *, struct thread, uint32_t block, uint32_t i);
/* False: no branch that decides whether the block runs lets the thread come there. */
bool thread_reaches(const struct values *, struct thread, uint32_t block);
/* The same for all threads that a CTA may have: those that reach the block. Belongs to the values. */
const struct thread_set *threads_reach(const struct values *, uint32_t block);
/* At least those: a warp is left out only where all its threads are, and is asked by one of them. */
const struct thread_set *warps_reach(const struct values *, uint32_t block);
/* Those of them for which the guard of the instruction may hold there. */
void threads_run(const struct values *, uint32_t insn, struct thread_set *);
void warps_run(const struct values *, uint32_t insn, struct thread_set *);
/* Some thread of the set may take the edge to successor `i` of the block. */
bool threads_may_take(const struct values *, const struct thread_set *, uint32_t block, uint32_t i);
/* What an operand of an instruction holds in thread tid, and in all from it to before *end; false: not
 * known. */
bool thread_number(const struct values *, uint32_t tid, const struct operand *, int64_t *, uint32_t *end);
/* The same of an SSA node. Not known: nor is it in any thread from tid to before *end. */
bool thread_node_number(const struct values *, uint32_t tid, uint32_t node, int64_t *, uint32_t *end);
/* What phis hold, as the one who asks has it; false: not known. */
struct thread_given {
	bool (*phi)(void *data, uint32_t node, uint64_t *);
	void *data;
};

/* What an SSA node holds in all threads in which the phis hold that; false: not known. */
bool thread_node_given(const struct values *, const struct thread_given *, uint32_t node, uint64_t *);

/* By node: it differs between threads of one set that execute the same place. Like value_uniform_race_free(), for the
 * threads of each of several sets among each other; *assumptions: adds that, if it may count. Costs a pass over the function. */
const bool *values_alike(
	struct values *, const struct thread_set *, uint32_t nsets, struct arena *, uint32_t *assumptions);
bool value_alike(const struct values *, const bool *, uint32_t insn, const struct operand *);
/* The guard of an instruction is a function of the thread's number, and in each set the same for all. */
enum truth value_guard_alike(const struct values *, const struct thread_set *, uint32_t nsets, uint32_t insn);
