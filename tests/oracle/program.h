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
	MAX_LINES = 1600,
	MAX_CTAS = 2,
	MAX_WARPS = 5,
	MAX_THREADS = 10, /* of a cluster; two of each warp stand for all of it */
	NVALUES = 4,
	NDEPTHS = 2,
	NMBARRIERS = 16,
	NRINGS = 3,
};

/* Predicates that every kernel computes first. */
enum pred {
	PRED_FIRST,  /* %tid.x == 0 */
	PRED_SECOND, /* of the second warp */
	PRED_LANE,  /* first lane of its warp */
	PRED_ELECT, /* the same by elect.sync */
	PRED_WARP0,
	PRED_WARP1,
	PRED_GROUP,  /* of the first four warps */
	PRED_OTHERS, /* not warp 0 */
	PRED_FLAG0,  /* of a kernel parameter: uniform, unknown */
	PRED_FLAG1,
	PRED_RANK0, /* the first CTA of its cluster */
	PRED_SET_FIRST, /* the first thread of its set */
	PRED_SET_HALF,	/* of one half of the warps of each set */
	NPREDS,
};

extern const char *const pred_names[NPREDS];

enum cond_kind {
	COND_ALWAYS,
	COND_PRED,
	COND_LOOP_EQ,
	COND_LOOP_GE,
	COND_LOOP_GE_N,
	COND_LOOP_GE_BOUND, /* a number that was taken */
	COND_BELOW, /* a thread's number is less than b */
	COND_STAGE, /* of a ring: register and number */
	COND_SET_EQ,	 /* the number of the thread's set is b */
	COND_SET_GE_N,
	COND_TURN,	 /* the round and the number of the warp are together odd */
	COND_LOOP_GE_SET, /* the loop's counter is more than that */
	COND_DATA,
	COND_LAST_CALL /* the recursion ends here */
};

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
	OP_CALL,
	OP_RETURN,
	OP_LOOP_ZERO,
	OP_LOOP_NEXT,
	OP_PHASE, /* flip the phase register */
	OP_STAGE_SET,	/* the stage of a ring is `value', its parity `count' */
	OP_STAGE_NEXT,	/* the next of `count' stages; the parity flips behind the last */
	OP_STAGE_STEP,	/* the next, without an end */
	OP_STAGE_WRAP,	/* the first one, with the parity flipped */
	OP_STAGE_OF,	/* the one of the counter of a loop and `value' */
	OP_STAGE_COPY,	/* that of another ring register, `value' */
	OP_MOVE,	/* a value into register `result' */
	OP_READ,
	OP_WRITE,
	OP_UPDATE,
	OP_COPY, /* cp.async */
	OP_COMMIT,
	OP_WAIT_GROUP,
	OP_SEND, /* st.async, red.async */
	OP_MIX,	 /* acc += value */
	OP_USE,
	OP_USE_ACC,
	OP_BULK_LOAD, /* writes `to`, reads `from` */
	OP_BULK_STORE,
	OP_MATMUL, /* reads `to` and, if it has a size, `from` */
	OP_FENCE,
	OP_SYNC,
	OP_ARRIVE,
	OP_CLUSTER_ARRIVE,
	OP_CLUSTER_WAIT,
	OP_WARP_SYNC,
	OP_MB_ARRIVE,
	OP_MB_COPIES, /* cp.async.mbarrier.arrive */
	OP_MB_WAIT,
	OP_MB_ASK, /* a wait that goes on whatever the answer */
	OP_MAP_FIELD, /* of the template of a tensor map, `value', becomes amounts[] */
	OP_MAP_COPY,  /* the template becomes the map */
	OP_LEAVE, /* a number for others: `value' in place `barrier' */
	OP_TAKE,  /* the one that is there */
};

/* What a fence covers: the own CTA's shared memory, that of the cluster, global memory. */
enum { SPACE_SHARED = 1, SPACE_CLUSTER = 2, SPACE_GLOBAL = 4 };

/*
 * Variables: three in shared memory (one of them at module level), the global buffer, what a
 * tensor map names, and in a callee whatever its parameter points to.
 */
enum { VAR_TILE, VAR_OTHER, VAR_POOL, VAR_GLOBAL, VAR_MAP, VAR_ARG };

/* Fields of a built map: elements of each dimension, bytes of one. */
enum { MAP_ELEMENT = 2, MAP_FIELDS };

enum shape {
	SHAPE_PLAIN,
	SHAPE_ROWS,    /* one row of 16 bytes per lane, touched by all lanes of the warp */
	SHAPE_CORES,   /* two blocks of 128 bytes, `lead` bytes apart, `groups` times */
	SHAPE_SWIZZLE, /* 32 bytes of each of eight rows of `lead` bytes, swizzled, `groups` times
			*/
};

/* The CTA that a mapa names by its rank, where it is not the other one. */
enum mapped { MAPPED_NOT, MAPPED_SELF, MAPPED_ZERO, MAPPED_ONE };

enum mask { MASK_NONE, MASK_BOTH, MASK_ZERO, MASK_ONE, MASK_SELF, MASK_PEER };

struct place {
	int var, base, by_tid, by_warp, by_lane, by_stage, depth, size;
	int swizzle;	   /* bytes of a row whose chunks are mixed; 0: none */
	int per, apart_by, chunk; /* threads to a row, chunks between two of them, the first chunk */
	int ring, by_ring; /* 1 + a ring register, bytes from one of its stages to the next */
	enum shape shape;
	int lead, groups, apart; /* groups: `apart` bytes from one to the next */
	int threads_from; /* by_tid counts from here */
	int mix;		 /* the offset by thread is xored with it */
	int by_rank;	 /* bytes from one CTA's to the next one's */
	enum mapped mapped;
	enum mask mask; /* of a multicast */
	bool peer, at_edge;
	int by_map; /* not 0: as long as the box of the built map, in so many dimensions */
};

enum parity {
	PARITY_ZERO,
	PARITY_ONE,
	PARITY_PHASE,
	PARITY_LOOP,
	PARITY_LOOP_OTHER,
	PARITY_HALF, /* of a ring of two stages: bit 1 of the counter */
	PARITY_HALF_OTHER,
	PARITY_TOKEN,
	PARITY_RING,
	PARITY_RING_OTHER
};

/* What the coverage table counts. */
enum feature {
	FEATURE_PLAIN_BAR,
	FEATURE_NAMED_BAR,
	FEATURE_BAR_ARRIVE,
	FEATURE_WARP_SYNC,
	FEATURE_MBARRIER,
	FEATURE_RING,
	FEATURE_TOKEN,
	FEATURE_FLAG,
	FEATURE_LEADER,
	FEATURE_LEADER_MBARRIER,
	FEATURE_LEADER_ARRIVES,
	FEATURE_GUARDED_FENCE,
	FEATURE_CP_ASYNC,
	FEATURE_CP_MBARRIER,
	FEATURE_CP_NOINC,
	FEATURE_MATRIX,
	FEATURE_WGMMA,
	FEATURE_TENSOR,
	FEATURE_GLOBAL,
	FEATURE_CALL,
	FEATURE_RECURSION,
	FEATURE_PEER,
	FEATURE_CLUSTER_BAR,
	FEATURE_REMOTE_ARRIVE,
	FEATURE_SEND,
	FEATURE_MULTICAST,
	FEATURE_PEER_COPY,
	FEATURE_HINT,
	FEATURE_BOUND,
	FEATURE_FRESH,
	FEATURE_STAGES,
	FEATURE_AHEAD,
	FEATURE_SWIZZLE,
	FEATURE_EDGE,
	FEATURE_MAPPED,
	FEATURE_MASK,
	FEATURE_UNROLLED,
	FEATURE_LEFT,
	FEATURE_BOX,
	FEATURE_SETS,
	FEATURE_TURNS,
	NFEATURES
};

extern const char *const feature_names[NFEATURES];

struct step {
	enum op op;
	struct cond guard;
	struct place to, from; /* from: the other side of a copy */
	int value;	       /* register (of a product: their set), group count, spaces of a
				  fence, target label */
	int barrier, warps;    /* id and the warps that take part */
	int bytes;	       /* what an arrive expects, what a store to a peer completes */
	enum parity parity;
	int depth;
	int ring;	 /* 1 + the ring register whose stage is added to `barrier' */
	bool peer;	 /* the mbarrier of the other CTA */
	bool by_set;	 /* the barrier, or the place of a number, is the next one for each next set */
	bool by_other;	 /* the barrier is that of the other one of two sets */
	bool by_stage;	 /* the mbarrier next to it in every second iteration */
	int count;	 /* of a call: iterations; NONE: one less than the caller's */
	int amounts[2];	 /* by a parameter, or by the round */
	bool by_loop;
	int result;	 /* of a call: value register, or NONE */
	bool neutral;	 /* a hint says that it touches nothing */
	bool as_async;	 /* a hint says that it is an async access */
	bool may_ignore; /* a hint lets findings that name this line be suppressed */
	uint64_t features;
};

enum { NONE = -1 };

struct line {
	char *text;
	struct step step;
	int origin; /* of a rewritten program: the line of the original, or NONE */
};

struct program {
	struct line lines[MAX_LINES];
	int n, start; /* the first line of the kernel's own code */
	int warps, ctas, temps;
	int lane; /* of the second thread of each warp; the first is that of lane 0 */
	int set_of[MAX_WARPS], nsets; /* warps that meet at barriers of their own */
	int halves; /* warps, a bit each */
	int expected[NMBARRIERS]; /* threads of the model that arrive in a phase */
	int rounds; /* more values of n, up to this one */
	bool uses_n, uses_flags, uses_mbarriers, uses_data;
	bool races; /* threads may take different numbers: only the strict reading counts */
	uint64_t features;
	char name[32];
};

/* A pair of lines, the first generic, the second async, that touch the same bytes in this order. */
struct meeting {
	int generic, async;
	bool plain, strict; /* an edge, by the default rules and by the strict ones */
	uint64_t features;
};

struct outcome {
	struct meeting *v;
	int n, edges, strict_edges;
};

/* TWICE: a thread has arrived twice in a phase that takes as many arrivals as threads arrive, which the
 * default rules assume not to happen (one-arrival). */
enum verdict { RAN, TOO_LONG, STUCK, TWICE };

/* The warps of a set, a bit each. */
int set_warps(const struct program *p, int set);

void program_make(struct program *p, uint64_t seed);
void program_clear(struct program *p);

/*
 * The program as text, with fences put in between, taken away or replaced: false if it is anything
 * else.
 */
bool program_reread(const struct program *p, char *const *lines, int n, struct program *out);

/* The program without one line that is no jump's target. */
void program_without(const struct program *p, int line, struct program *out);

enum verdict program_run(const struct program *p, struct outcome *out);
