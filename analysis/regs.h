/* SPDX-License-Identifier: Apache-2.0 */
/* Which registers an instruction defines and uses. */
#pragma once

#include "parser/ir.h"

struct reg_list {
	uint32_t *v, n, cap;
};

struct insn_regs {
	struct reg_list defs; /* with a guard the old value may stay */
	struct reg_list uses; /* sources, address registers, the guard; accumulators are in both lists */
};

/* Refills `out`, whose arrays grow on the arena and are used again by the next call. */
void regs_of(const struct function *, const struct insn *, struct arena *, struct insn_regs *out);
/* The definitions alone. */
void regs_defined(const struct function *, const struct insn *, struct arena *, struct reg_list *);
/* How many of its first operands are written (and, but for accumulators, not read). */
uint32_t regs_destinations(const struct function *, const struct insn *);
