/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single statements of random programs: the text of each and the step that it stands for. Shared
 * by say.c, which makes them, and make.c, which builds programs of them.
 */
#pragma once

#include "program.h"

/* The mbarriers of a program: two of a ring, one that everybody waits for, one that nobody does. */
enum { MB_FULL, MB_EMPTY, MB_LOADED, MB_SHOT };

struct maker {
	struct program *p;
	uint64_t state;
	int temps, labels, depth, next_id;
	int fence_odds; /* per cent: a fence before a release */
	bool shot_used, loaded, left;
};

/* A random number from 0 to n - 1. */
int below(struct maker *m, int n);
bool chance(struct maker *m, int percent);

struct step *put(struct maker *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int temp(struct maker *m);
int label(struct maker *m);
void put_label(struct maker *m, int l);
void put_jump(struct maker *m, struct cond c, int to);

struct cond always(void);
struct cond on(enum pred p);
struct cond some_guard(struct maker *m);

/* Mostly none. */
struct cond rare_guard(struct maker *m);

void put_write(struct maker *m);
void put_read(struct maker *m);
void put_use(struct maker *m);
void put_global(struct maker *m);
void put_copies(struct maker *m);
void put_fence(struct maker *m, struct cond c);
void put_bulk_load(struct maker *m, struct cond c, int mbarrier);

/* A bulk store, or a load that nobody waits for, mostly by one thread. */
void put_async(struct maker *m);
