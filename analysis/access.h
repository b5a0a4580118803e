/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbered accesses of a function that matter for proxies, with the bytes they may touch, and the
 * question whether two of them may touch the same bytes (spec 2.6). Unknown means "may touch".
 */
#pragma once

#include "analysis/value.h"

enum confidence { CONFIDENCE_POSSIBLE, CONFIDENCE_LIKELY, CONFIDENCE_PROVEN };

struct access {
	uint32_t insn;
	uint8_t touch;        /* index into the effect's touches */
	uint8_t proxy;        /* PROXY_GENERIC or PROXY_ASYNC */
	uint8_t spaces;       /* enum space bits after provenance: of SHARED, CLUSTER, GLOBAL */
	bool reads, writes;
	bool cp_async;        /* non-bulk cp.async data */
	bool constant;        /* ld.global.nc: of memory that is not written while the kernel runs */
	bool st_async;        /* st.async / red.async: completes at the destination's mbarrier */
	bool peer;            /* may touch a peer CTA's shared memory */
	bool own;             /* may touch the own CTA's shared memory */
	bool call;            /* stands for an unknown callee (--calls) */
	bool exact;           /* address and size are exact for a given thread: an overlap is an overlap for certain */
	bool hidden;          /* GLOBAL: the address is inside a tensor map */
	bool has_ceiling;     /* under ASSUME_MAP_GAP it touches no byte at or above `ceiling` */
	uint8_t assumed_spaces; /* part of `spaces` that is left under `assumed_by`; 0: all of it */
	uint32_t object;      /* .shared symbol, or NONE; GLOBAL: parameter symbol through which it goes, or NONE */
	struct value address; /* first byte */
	uint64_t bytes;       /* from each address on; UINT64_MAX: unknown, to the end of the variable */
	uint32_t extent_assumptions; /* enum assumption bits on which `bytes` rests */
	uint32_t assumed_by;         /* enum assumption bits */
	int64_t ceiling;             /* offset on the base of `address` */
	uint64_t pattern;            /* part in what swizzled.h tells apart: two with the same are run by the same
				      * threads, at the same place in each, or have the same rows; 0: none */
	uint64_t roots;              /* GLOBAL: what the address was made from (value_roots); 0: not known */
};

struct accesses {
	struct access *v;
	uint32_t n;
};

/* Collects generic and async accesses of shared and global memory; mbarrier operands are none. `closely`: where they
 * are is found with what holds there even if no overlap hangs on it. */
void access_collect(const struct function *, const struct cfg *, const struct values *,
	const struct analysis_options *, bool closely, struct arena *, struct accesses *);

/* They are sorted by instruction: the first one of it, or of the next that has one. */
uint32_t access_first(const struct accesses *, uint32_t insn);
/* Some instruction makes addresses of other CTAs. */
bool access_makes_peers(const struct function *, const struct cfg *);

struct overlap {
	bool may;                   /* they may touch the same bytes */
	enum confidence confidence; /* of an overlap */
	uint8_t spaces;             /* enum space bits in which they may meet */
	uint32_t assumptions;       /* enum assumption bits that ruled the overlap out, or one in some space */
	const char *reason;         /* one phrase for --why: "distinct variables", "offsets [0,512) and [1024,2048)" (static or arena text) */
};

/* Of a generic access `g` by any thread and an async access `a` by any thread, also in different iterations. */
struct overlap access_overlap(const struct values *, const struct accesses *, uint32_t g, uint32_t a,
	const struct analysis_options *, struct arena *);
/* The bytes from `lo` on and below `end` are all that an access in a shared variable, or behind a global
 * pointer, may touch: two that share none never overlap. `same`: offsets count from the address's own
 * base, which the other access has too; else from the start of its variable. */
struct access_span {
	int64_t lo, end;
	uint32_t assumptions; /* enum assumption bits on which it rests */
};

struct access_span access_span(const struct values *, const struct access *, bool same);
/* The 8 bytes of an mbarrier object at an operand's address. */
struct access access_mbarrier(const struct values *, uint32_t insn, const struct operand *);
/* Two of them may be the same one. */
bool access_same_object(const struct values *, const struct access *, const struct access *, uint32_t *assumptions);
/* Two mbarrier objects (8 bytes at operand addresses) may be the same one; used for pairing arrives and waits. */
bool access_same_mbarrier(const struct values *, uint32_t insn_a, const struct operand *, uint32_t insn_b,
	const struct operand *, const struct analysis_options *, uint32_t *assumptions);
