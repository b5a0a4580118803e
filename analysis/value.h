/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a register can hold, at each use: analysis-notes section 6. A value is a base plus a range of
 * numbers with a stride: base + { lo, lo+stride, ..., hi }. Flow-sensitive (SSA over the slices that
 * matter); conditions restrict at uses and on phi inputs; widening at the function's own constants.
 * Everything here over-approximates: the concrete value is always in the set.
 */
#pragma once

#include "analysis/cfg.h"
#include "analysis/options.h"
#include "base/budget.h"

enum base_kind {
	BASE_NUMBER,     /* no base: lo..hi are the number itself */
	BASE_SYMBOL,     /* address of a variable (id: symbol); all .extern .shared arrays are one */
	BASE_DERIVED,    /* align-up of a symbol's address (id: derived base; same id = same address) */
	BASE_PARAM,      /* value of a kernel parameter (id: symbol, offset inside it: aux) */
	BASE_DESCRIPTOR, /* matrix descriptor whose start address is (id: value index) */
	BASE_LOADED,     /* loaded from memory: id = the load's instruction (not comparable across executions) */
	BASE_OPAQUE,     /* unknown but one fixed SSA definition: id = definition; comparable within one execution only when loop-invariant and uniform */
	BASE_UNKNOWN,    /* anything */
	BASE_EMPTY       /* nothing: never computed on a path that runs (inside the solver only) */
};

struct value {
	uint8_t base;    /* enum base_kind */
	uint8_t space;   /* enum space bits the address may point into when used as one; 0: plain number */
	bool is_peer;    /* came through mapa: names a CTA of the cluster, peer or own */
	bool own_cta;    /* mapa with %cluster_ctarank: certainly the own CTA */
	uint32_t id;
	int64_t lo, hi;  /* bytes relative to the base; beyond VALUE_FAR: unbounded on that side */
	uint64_t stride; /* every value is lo + k*stride; 0: lo == hi */
	uint32_t aux;    /* DESCRIPTOR: see value_descriptor; PARAM: byte offset inside the parameter;
	                  * SYMBOL, DERIVED: binary logarithm of the base's alignment */
	uint32_t assumptions; /* enum assumption bits on which lo, hi, stride rest */
};

#define VALUE_FAR (INT64_C(1) << 61)

struct descriptor { /* wgmma / tcgen05 matrix descriptor as far as its bits are known */
	struct value start;      /* start address (bytes, in shared memory) */
	bool high_known;         /* LBO, SBO, base offset, swizzle are the constants below */
	uint32_t lbo, sbo;       /* bytes */
	uint32_t base_offset, swizzle; /* swizzle field as encoded */
	bool absolute;                 /* the lbo field is an address (tcgen05) */
};

struct values;

/* Solves for all registers on which an address, size, descriptor, barrier id, count, or branch predicate depends. */
struct values *values_solve(const struct function *, const struct cfg *, const struct analysis_options *,
	struct arena *, struct budget *, uint32_t *assumptions_used);
/* Gives back what questions have left to be answered faster, and make again where they need it: for when others
 * are asked from here on. */
void value_forget(struct values *);
/* The same, with the uses and definitions of registers: for when there will be few questions. */
void value_rest(struct values *);
/* The value of an operand as used by an instruction (REG, IMM, SYMBOL, MEM: the address with its offset). */
struct value value_of(const struct values *, uint32_t insn, const struct operand *);
/* The same with no regard to what holds at the instruction: no less, and on the same base if that is a parameter. Costs
 * little. */
struct value value_anywhere(const struct values *, uint32_t insn, const struct operand *);
/* The most bytes that an operand of 32 bits says as the size of a copy from or to shared memory: one that is
 * negative, as a number with a sign, is more than that has. ASSUME_NO_WRAP: one cut from 64 bits loses none. */
bool value_shared_size(const struct values *, uint32_t insn, const struct operand *, int64_t *most,
	uint32_t *assumptions);
/* Of an operand of 32 bits: which bits are ones, and which may be ones or zeros; the others are zeros. False:
 * that rests on assumptions. */
bool value_bits(const struct values *, const struct operand *, uint32_t *set, uint32_t *open);
bool value_descriptor(const struct values *, const struct value *, struct descriptor *);
/* A number equal for two operands only if they certainly hold the same value whenever both are
 * current (hash-consed expression of SSA definitions; elect.sync with equal mask is equal). Never NONE. */
uint32_t value_number(const struct values *, uint32_t insn, const struct operand *);
/* Instructions, in reach, that name a register: as a source or the guard, perhaps twice; as a destination. */
struct ids value_register_uses(const struct values *, uint32_t reg);
struct ids value_register_defs(const struct values *, uint32_t reg);
/* The value number stays the same for the whole life of the thread (no phi, load or volatile source in it). */
bool value_number_invariant(const struct values *, uint32_t number);
/* All threads of the CTA certainly hold the same value (ctaid, parameters, constants, arithmetic of such;
 * not tid, loads other than ld.param, votes, atomics, mbarrier tests). */
bool value_uniform(const struct values *, uint32_t insn, const struct operand *);
/* The same if no data race is in the program: only then do plain loads of one address count (ASSUME_RACE_FREE). */
bool value_uniform_race_free(const struct values *, uint32_t insn, const struct operand *);
/* Threads may go on in different ways behind the block though no predicate says so: a call of one of
 * several callees, the return of a copy that several calls share. */
bool value_parts_unseen(const struct cfg *, uint32_t block);
/* The head of a loop in whose rounds an address in brackets is never the same twice, if all ways back to
 * the head come from blocks that it dominates; or NONE. Adds the assumptions on which that rests. */
uint32_t value_counter_head(
	const struct values *, uint32_t insn, const struct operand *, uint32_t *assumptions);
/* The guard of a conditional branch is decided: 1 always true, 0 always false, -1 not known. */
int value_decided(const struct values *, uint32_t insn);
/* Certainly in code that no thread comes to, by a branch before it that is decided. */
bool value_never_runs(const struct values *, uint32_t insn);
/* SSA: the instructions whose definition of `reg` may reach `insn` (as a use); n == 0: undefined there. */
struct ids value_definitions(const struct values *, uint32_t insn, uint32_t reg);
/* That the address's base is aligned to 2^log2 rests on evidence alone (ASSUME_ALIGNED_TMA). */
bool value_alignment_assumed(const struct values *, const struct value *, uint32_t log2);
/* Prints one value ("buf+[0,4080]/16"). */
void value_print(const struct values *, const struct value *, char *out, size_t size);
