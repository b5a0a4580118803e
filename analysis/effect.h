/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one instruction does to memory, by which proxy, and what part it plays in hand-offs.
 * The table is effects.def (one row per form, with its PTX ISA section); modifiers are matched as a
 * set, source and destination spaces by the order of the two space modifiers (ISA 8.6, 9.7).
 * An instruction that no row knows gets the most cautious effect and `known` false.
 *
 * Spaces. `.shared` is ::cta. A `shared::cluster` address is SHARED|CLUSTER: the window contains the
 * executing CTA (ISA 5.1.7). `peer` says that the form itself reaches other CTAs.
 *
 * Hand-offs through memory (SYNC_MEMORY). `releases` and `acquires` are set where the instruction
 * does so by itself: st/red/atom.release, ld/atom.acquire, fence.{release,acquire,acq_rel,sc}, membar.
 * A fence has no touch; it carries something to another thread only if a strong write follows it
 * (release) or a strong read stands before it (acquire). Strong accesses without an order of their own
 * (relaxed, volatile, mmio, an atom or red that names none) have sync SYNC_MEMORY, `relaxed` set and
 * neither releases nor acquires: the flow asks for them to see whether a fence can carry anything.
 *
 * st.async and red.async complete at the mbarrier in touch.mbarrier_operand of the destination CTA.
 */
#pragma once

#include "parser/ir.h"

enum proxy { PROXY_GENERIC, PROXY_ASYNC, PROXY_TENSORMAP /* the bytes of a map in global memory */, PROXY_OTHER /* texture, surface, readonly: no async fence applies */ };

enum extent_kind { /* how many bytes from the address on; evaluated by analysis/extent.c */
	EXTENT_FIXED,       /* touch.bytes */
	EXTENT_LANES,       /* touch.bytes at each lane's own address (ldmatrix, stmatrix): the address's range covers the lanes */
	EXTENT_OPERAND,     /* value of operand touch.size_operand, in bytes */
	EXTENT_TENSOR_LOAD, /* bounded by the expect_tx of the mbarrier in touch.mbarrier_operand */
	EXTENT_TENSOR_STORE,
	EXTENT_WGMMA,       /* matrix descriptor in touch.operand (a register, no brackets) */
	EXTENT_TCGEN05,     /* likewise */
	EXTENT_WMMA,        /* fragment with a stride operand */
	EXTENT_UNKNOWN
};

struct touch {
	uint8_t proxy;         /* enum proxy */
	uint8_t spaces;        /* enum space bits */
	bool generic_address;  /* no space in the opcode: `spaces` is what it could be; provenance narrows it */
	bool reads, writes;
	bool asynchronous;     /* generic proxy but completes later: cp.async, st.async, red.async */
	bool mbarrier;         /* touches an mbarrier object: never a fact, never an edge */
	bool peer;             /* may touch a peer CTA's bytes by form: .multicast, cta_group::2 */
	bool hidden;           /* global address inside a tensor map: operand names the map */
	uint8_t operand;       /* top-level operand number, 0-based: MEM, or REG for a descriptor; UINT8_MAX: none */
	uint8_t extent;        /* enum extent_kind */
	uint8_t size_operand;  /* 0-based, UINT8_MAX: none */
	uint8_t mbarrier_operand;
	uint32_t bytes;
};

enum fence_kind { /* the proxy fences that the analysis knows, ptx-proxies 1.3 */
	FENCE_NONE,
	FENCE_ASYNC_ALL,     /* fence.proxy.async */
	FENCE_ASYNC_CTA,     /* .shared::cta */
	FENCE_ASYNC_CLUSTER, /* .shared::cluster */
	FENCE_ASYNC_GLOBAL,  /* .global */
	FENCE_GENERIC_RELEASE, /* async::generic.release.sync_restrict::shared::cta.cluster */
	FENCE_GENERIC_ACQUIRE, /* async::generic.acquire.sync_restrict::shared::cluster.cluster */
	FENCE_GENERIC_RELEASE_READ, /* ...release.sync_restrict::shared::cluster::read.cluster: generic reads only */
	FENCE_TENSORMAP_RELEASE,
	FENCE_TENSORMAP_ACQUIRE,
	FENCE_MBARRIER_INIT, /* fence.mbarrier_init.release.cluster: not a proxy fence */
	FENCE_OTHER          /* alias, fabric, unknown fence.proxy form: kills nothing */
};

enum sync_kind {
	SYNC_NONE,
	SYNC_BAR,            /* bar/barrier.sync, .red: release and acquire; barrier_operand, count_operand */
	SYNC_BAR_ARRIVE,     /* bar/barrier.arrive: release */
	SYNC_WARP,           /* bar.warp.sync: both, lanes of a mask */
	SYNC_CLUSTER_ARRIVE, /* barrier.cluster.arrive: release unless `relaxed` */
	SYNC_CLUSTER_WAIT,   /* barrier.cluster.wait: acquire unless `relaxed` */
	SYNC_MBAR_INIT,
	SYNC_MBAR_INVAL,
	SYNC_MBAR_ARRIVE,    /* mbarrier.arrive/arrive_drop (with or without expect_tx): release unless `relaxed`; mbarrier_operand; `remote`: may be a peer's */
	SYNC_MBAR_EXPECT,    /* mbarrier.expect_tx / complete_tx: relaxed, a hand-off behind a fence alone; mbarrier_operand, `remote` */
	SYNC_MBAR_WAIT,      /* mbarrier.test_wait/try_wait: acquire unless `relaxed` */
	SYNC_CPASYNC_COMMIT, /* cp.async.commit_group */
	SYNC_CPASYNC_WAIT,   /* cp.async.wait_group N (count_operand) / wait_all (`all`) */
	SYNC_CPASYNC_ARRIVE, /* cp.async.mbarrier.arrive[.noinc]: publishes own cp.async data only */
	SYNC_BULK_COMMIT,    /* cp.async.bulk.commit_group */
	SYNC_BULK_WAIT,      /* cp.async.bulk.wait_group[.read] N */
	SYNC_TCGEN05_COMMIT, /* arrives on an mbarrier when own tcgen05 work completes: carries no generic facts */
	SYNC_WGMMA_FENCE, SYNC_WGMMA_COMMIT, SYNC_WGMMA_WAIT,
	SYNC_MEMORY          /* st/atom/red/ld with .release/.acquire/.acq_rel, volatile/relaxed flag accesses, fence.acq_rel/sc, membar: see releases/acquires */
};

struct effect {
	struct touch touches[4];
	uint8_t ntouches;
	bool known;              /* the tables know the instruction */
	bool may_touch_memory;   /* !known: it could access memory */
	uint8_t fence;           /* enum fence_kind */
	uint8_t sync;            /* enum sync_kind */
	bool releases, acquires; /* may order memory towards / from other threads */
	bool relaxed;            /* the form carries nothing by itself */
	bool cluster_scope;      /* .cluster/.gpu/.sys scope or a cluster-wide form */
	bool remote;             /* acts on a peer's mbarrier, possibly */
	bool all;                /* cp.async.wait_all */
	bool read_only;          /* cp.async.bulk.wait_group.read */
	uint8_t barrier_operand, count_operand, mbarrier_operand; /* 0-based, UINT8_MAX: none */
	uint8_t collective;      /* 0 thread, 1 warp (.sync.aligned), 2 warpgroup */
	bool is_call, is_branch, is_exit /* ret, exit, trap */, is_noreturn;
	bool pure;               /* reads registers, writes registers: arithmetic, moves, conversions */
	const char *section;     /* where PTX ISA 9.1 describes it: "9.7.9.25.4.1" */
};

/* Classifies an instruction; needs only its own text (no address analysis). */
void effect_of(const struct function *, const struct insn *, struct effect *);
/* By instruction of a function, its effect, and behind them one that does nothing. Equal ones are
 * mostly one object, so that what is changed must be copied first. */
const struct effect **effects_of(const struct function *, struct arena *);
/* A copy of the i-th that takes its place. */
struct effect *effects_own(const struct effect **, uint32_t i, struct arena *);
/* Spelling of a fence this tool inserts: FENCE_ASYNC_* only. */
const char *fence_text(enum fence_kind);
/* Which enum space bits a fence covers. */
uint8_t fence_width(enum fence_kind);
/* The fences that cover a width, at most two; FENCE_NONE where there is no second. */
void fence_kinds(uint8_t width, enum fence_kind kinds[2]);
/* The fence orders generic accesses before async ones, whatever its width. */
bool fence_is_proxy(enum fence_kind);
