/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small programs for the oracle. A program is a list of lines; a line is its PTX text and, where
 * it matters to memory or control, the step that it stands for. The oracle executes the steps,
 * the tool reads the texts: nothing else is shared between the two.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	MAX_LINES = 1200,
	MAX_THREADS = 6, /* two of each warp stand for all of it */
	MAX_WARPS = 3,
	NO_COND = -1,
	NVALUES = 4,
	NDEPTHS = 2,
	NMBARRIERS = 4,
};

/* Predicates that every kernel computes first. */
enum pred {
	PRED_FIRST, /* %tid.x == 0 */
	PRED_LANE,  /* first lane of its warp */
	PRED_ELECT, /* the same by elect.sync */
	PRED_WARP0,
	PRED_WARP1,
	PRED_OTHERS, /* not warp 0 */
	PRED_FLAG0,  /* of a kernel parameter: uniform, unknown */
	PRED_FLAG1,
	NPREDS,
};

enum cond_kind { COND_ALWAYS, COND_PRED, COND_LOOP_EQ, COND_LOOP_GE, COND_LOOP_GE_N, COND_DATA };

struct cond {
	enum cond_kind kind;
	int a, b; /* predicate, or loop depth and constant, or value register */
	bool negated;
};

enum op {
	OP_NONE,
	OP_LABEL,
	OP_JUMP,
	OP_EXIT,
	OP_LOOP_ZERO,
	OP_LOOP_NEXT,
	OP_PHASE, /* flip the phase register */
	OP_READ,
	OP_WRITE,
	OP_UPDATE,
	OP_COPY, /* cp.async */
	OP_COMMIT,
	OP_WAIT_GROUP,
	OP_MIX, /* acc += value */
	OP_USE,
	OP_USE_ACC,
	OP_BULK_LOAD,
	OP_BULK_STORE,
	OP_FENCE,
	OP_SYNC,
	OP_ARRIVE,
	OP_WAIT, /* the second half of a split barrier */
	OP_WARP_SYNC,
	OP_MB_ARRIVE,
	OP_MB_WAIT,
};

enum { SPACE_SHARED = 1, SPACE_GLOBAL = 2 };

/* var == 2 is the global buffer; the others are .shared variables. */
struct place {
	int var, base, by_tid, by_warp, by_stage, depth, size;
};

enum parity { PARITY_ZERO, PARITY_ONE, PARITY_PHASE, PARITY_LOOP, PARITY_LOOP_OTHER };

struct step {
	enum op op;
	struct cond guard;
	struct place to, from; /* from: the global side of a copy */
	int value;	       /* register, group count, spaces of a fence, target label */
	int barrier, warps;    /* id and the warps that take part */
	enum parity parity;
	int depth;
};

struct line {
	char *text;
	struct step step;
};

struct program {
	struct line lines[MAX_LINES];
	int n;
	int warps, temps;
	int expected[NMBARRIERS]; /* threads of the model that arrive in a phase */
	bool uses_n, uses_flags, uses_mbarriers, uses_data;
	char name[32];
};

/* What the oracle found: pairs of lines of the program. */
struct edge {
	int generic, async;
};

struct edges {
	struct edge *v;
	int n;
};

enum verdict { RAN, TOO_LONG, STUCK };

void program_make(struct program *p, uint64_t seed);

/* Prints the kernel; the result is the number of lines before the first of the program. */
int program_print(const struct program *p, FILE *out);

void program_clear(struct program *p);

/* The program as text, with fences put in between: false if it is anything else. */
bool program_reread(const struct program *p, char *const *lines, int n, struct program *out);

/* strict: a read counts until a fence, whether its value was used or not. */
enum verdict program_run(const struct program *p, bool strict, struct edges *edges);
