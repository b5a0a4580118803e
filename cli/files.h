/* SPDX-License-Identifier: Apache-2.0 */
/* Which files the paths of the command line mean, and a pool that works on them. */
#pragma once

#include "cli/settings.h"

struct input {
	char *path;
	size_t size;   /* for the progress bar */
	char *problem; /* why there is nothing to read, or NULL */
};

struct inputs {
	struct input *v;
	uint32_t n, cap;
	size_t bytes;
};

/* Folders are searched for *.ptx, in the order of their names. False: out of memory. */
bool inputs_collect(const struct settings *, struct inputs *);
void inputs_free(struct inputs *);

/* Calls `work` for 0 .. n-1 on several threads and `done` in order on this one, a bounded number of
 * results ahead. `work` gives a result, `done` takes it. */
struct pool {
	void *(*work)(void *context, uint32_t i);
	void (*done)(void *context, uint32_t i, void *result);
	void *context;
};
bool pool_run(const struct pool *, uint32_t n, uint32_t threads);
