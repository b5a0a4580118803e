/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a body instruction by instruction with real numbers: the truth that value sets must cover.
 */
#pragma once

#include "analysis/cfg.h"

#define CONCRETE_LOCAL 64
#define CONCRETE_LOCAL_BASE UINT64_C(0x18080000000)

struct concrete {
	const struct function *fn;
	uint32_t tid, ctaid;
	uint64_t param; /* contents of the only parameter */
	uint64_t
		shared_base; /* address of the shared variable `tile`, which is 1024-byte aligned */
	uint64_t other_base; /* of all others */
	uint8_t local[CONCRETE_LOCAL]; /* the thread's only local variable */
	bool local_written[CONCRETE_LOCAL];
	uint64_t *regs; /* by register */
	bool *written;
	/* called before each executed instruction; false stops the run */
	bool (*see)(struct concrete *, uint32_t insn);
	/* called, where it is there, for each one whose guard does not hold */
	void (*pass)(struct concrete *, uint32_t insn);
	void *context;
	uint32_t steps;
};

/* Runs until the end or `limit` steps, or until local memory is left, or read before it is written;
 * false: an instruction that it does not know. */
bool concrete_run(struct concrete *, uint32_t limit);
/* The same with `nregs` registers of its own, none of them written yet. */
bool concrete_run_fresh(struct concrete *, uint32_t nregs, uint32_t limit);
/* Runs lanes that step together (threads of one CTA, warps of 32 in order), until they part at a
 * branch; knows shfl.sync and elect.sync as well. */
bool concrete_run_together(struct concrete *lanes, uint32_t n, uint32_t limit);
/* The guard of an instruction holds. */
bool concrete_guard(const struct concrete *, const struct insn *);
/* Contents of a REG, IMM, SYMBOL or SPECIAL operand. */
uint64_t concrete_operand(const struct concrete *, const struct operand *);
uint64_t concrete_base(const struct concrete *, uint32_t symbol);
