/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single statements of random programs: the text of each and the step that it stands for. say.c
 * and say_wide.c make them, the other files build programs of them.
 */
#pragma once

#include "program.h"

/* mbarriers that every program has: one that everybody waits for, one that nobody does. */
enum { MB_LOADED, MB_SHOT, MB_OWN };

enum { CLUSTER_BARRIER = 15, MAX_CALLEES = 3, NTEMPS = 400 };

struct callee {
	int label;
	bool syncs;   /* has barriers of the whole CTA */
	bool returns; /* a value */
	bool used;
	bool recurses, wide; /* a parameter that counts; a generic pointer */
};

/* A ring of stages whose registers the accesses that are made now may take for their addresses. */
struct stages {
	int var, stride, n, regs[2], nregs; /* no registers: none */
};

struct maker {
	struct stages stages;
	struct program *p;
	uint64_t state;
	int temps, labels, depth;
	int ids[1 << MAX_WARPS], next_id, next_role_id; /* of named barriers, by set of warps */
	int nbounds;
	int edge; /* out of place_small(): threads below this one are meant; 0: all */
	int nmbarriers, threads[NMBARRIERS];
	int fence_odds, peer_odds; /* per cent: a fence before a release, an access to the peer */
	bool loaded, left;
	bool sets; /* warps form sets that meet at barriers of their own */
	int set_id; /* of the first set */
	bool built; /* there is a map that the kernel builds */
	int map_base; /* where its copies go to or come from in their variables */
	bool arrivals, staged; /* begins with make_arrivals(), make_stages() */
	bool swizzles, edges; /* many accesses are in swizzled rows, at edges of ranges */
	bool cluster, group, hints, hinted, in_callee, keep_pool;
	uint64_t more; /* features of all that is made now */
	struct callee callees[MAX_CALLEES];
	int ncallees;
};

/* Which threads run the code that is being made. */
struct who {
	int warps;
	bool whole_warps, all, in_loop;
	bool sets;  /* of each set all threads, or none */
	bool both;  /* and those of the other CTA as well */
	bool alone; /* all other warps have left the kernel */
};

/* A random number from 0 to n - 1. */
int below(struct maker *m, int n);
bool chance(struct maker *m, int percent);

struct step *put(struct maker *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int temp(struct maker *m);
int label(struct maker *m);
void put_label(struct maker *m, int l);
void put_jump(struct maker *m, struct cond c, int to);

static inline uint64_t bit(enum feature f)
{
	return UINT64_C(1) << f;
}

struct cond always(void);
struct cond on(enum pred p);
struct cond some_guard(struct maker *m);

/* Mostly none. */
struct cond rare_guard(struct maker *m);

/* Leaves "@%p " in out, computing the predicate here if it depends on a counter. */
void cond_name(struct maker *m, struct cond c, char *out, size_t size);

struct place place_small(struct maker *m, int size);
struct place place_bulk(struct maker *m);
struct place place_global(struct maker *m, int size);

/* Leaves the text of an address operand in out; the result is its register or NONE. */
int address(struct maker *m, const struct place *p, bool generic, char *out, size_t size);

/* The space that goes with it. */
const char *space_of(const struct place *p, bool generic);

/* The address of an mbarrier of the program, perhaps of the other CTA. */
void mb_address(struct maker *m, const struct step *s, char *out, size_t size);

void put_write(struct maker *m);
void put_read(struct maker *m);
void put_use(struct maker *m);
void put_global(struct maker *m);
void put_copies(struct maker *m);
void put_fence(struct maker *m, struct cond c);
void put_bulk_load(struct maker *m, struct cond c, int mbarrier);

/* A bulk store, or a load that nobody waits for, mostly by one thread. */
void put_async(struct maker *m, const struct who *who);

/* ---- say_wide.c ---- */

bool can_wgmma(const struct maker *m, const struct who *who);
void put_wgmma(struct maker *m);
void put_matrix_write(struct maker *m);
void put_matrix_read(struct maker *m);
void put_tensor_store(struct maker *m, struct cond c);
void put_tensor_load(struct maker *m, struct cond c);
void put_multicast(struct maker *m, struct cond c);
void put_peer_copy(struct maker *m, struct cond c);

/* ---- sync statements, in meet.c ---- */

int all_warps(const struct maker *m);
void put_sync(struct maker *m, int id, int warps, bool wait);
void put_warp_sync(struct maker *m);
void put_barrier(struct maker *m, const struct who *who);
void put_cluster_barrier(struct maker *m, const struct who *who);

/* A barrier id that no other use has, or NONE; the threads of the model that arrive at a new
 * mbarrier. */
int role_id(struct maker *m);
int new_mbarrier(struct maker *m, int threads, int threads_of_model);

struct step *put_mb_arrive(struct maker *m, struct step like);
struct step *put_mb_wait(struct maker *m, struct step like);
void put_mb_ask(struct maker *m, struct step like);

/* ---- make.c ---- */

void put_registers(struct maker *m);
void put_flags(struct maker *m);
void make_body(struct maker *m, const struct who *who, int n);
void maybe_fence(struct maker *m);

struct loop {
	int depth, head, end;
	struct cond leave;
	bool bottom;
};

struct loop loop_begin(struct maker *m);
void loop_again(struct maker *m, struct loop *l); /* begins one that counts like *l */
void loop_end(struct maker *m, struct loop *l);

/* ---- segments ---- */

void make_segment(struct maker *m, const struct who *who);
void make_arrivals(struct maker *m, const struct who *who);
void make_cluster_segment(struct maker *m, const struct who *who);

/* ---- stages.c ---- */

void make_stages(struct maker *m, const struct who *who);

/* ---- sets.c ---- */

/* Once for a kernel: who is of which set. */
void declare_sets(struct maker *m);
/* Text behind that of put_registers(). */
void put_set_registers(struct maker *m);
/* A condition that is the same in a whole set. */
struct cond some_set(struct maker *m);
void put_set_sync(struct maker *m, const struct who *who);
void make_sets(struct maker *m, const struct who *who);

/* ---- maps.c ---- */

/* Once for a kernel, before the first of the others. */
void declare_map(struct maker *m);
void make_built_map(struct maker *m, const struct who *who);

/* ---- unrolled.c ---- */

void make_unrolled(struct maker *m, const struct who *who);

/* ---- rounds.c ---- */

void make_bound(struct maker *m, const struct who *who);
void make_turned(struct maker *m, const struct who *who);
void make_fresh(struct maker *m, const struct who *who);

void make_callees(struct maker *m);
void put_call(struct maker *m, const struct who *who);

/* A function that nobody calls would be a root of its own. */
void put_missing_calls(struct maker *m);
