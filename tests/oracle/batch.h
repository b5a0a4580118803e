/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of programs in one module: made, given to the tool, and compared. */
#pragma once

#include "tally.h"
#include "tool.h"

enum { MAX_BATCH = 200 };

/* What stands in front of the programs. */
extern const char *const batch_head;
enum { HEAD_LINES = 4 };

struct options {
	const char *tool, *keep;
	long count;
	int batch, jobs;
	uint64_t seed;
	bool cover, brief; /* brief: stop at the first batch in which something is wrong */
	uint64_t with;	   /* features that a program must have to count */
};

struct batch {
	struct program programs[MAX_BATCH];
	int first_line[MAX_BATCH];
	struct outcome outcomes[MAX_BATCH];
	struct answer answers[MAX_BATCH];
	int n;
	char dir[64], in[96], out[96], again[96], report[96];
	const struct options *o;
};

/* Programs of `want` seeds from `seed` on, those left out that do not end or do not fit. */
void batch_make(struct batch *b, uint64_t seed, int want, struct counts *c);

/* False if the tool broke. */
bool batch_check(struct batch *b, struct counts *c);

/* Copies the text into the folder of the options. */
void batch_keep(const struct batch *b);
void batch_clear(struct batch *b);
