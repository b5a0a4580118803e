/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-assignment form of the registers that somebody asks about, one register at a time: a node
 * for each definition, for each place where definitions meet (phi), and for "nothing written yet".
 */
#pragma once

#include "analysis/cfg.h"

enum node_kind { NODE_DEF, NODE_PHI, NODE_UNDEFINED };

struct node {
	uint32_t kind : 2; /* enum node_kind */
	uint32_t reg : 30;
	uint32_t block;
	union {
		uint32_t insn;	/* DEF */
		uint32_t input; /* PHI: inputs[input + k] comes along predecessor k of the block */
	};
	uint32_t previous; /* guarded DEF: the node whose value stays when the guard fails, or NONE
			    */
};

_Static_assert(sizeof(struct node) == 16, "there are as many as definitions");

struct ssa {
	const struct function *fn;
	const struct cfg *cfg;
	struct arena *arena;
	struct node *nodes;
	uint32_t n, cap;
	uint32_t *inputs, ninputs, inputs_cap;
	uint32_t *use_at, *use_insn,
		*use_slot; /* by register: uses; slot: operand index, or NONE for the guard */
	uint32_t *def_at, *def_insn; /* by register: definitions in text order; like the uses NULL once given back */
	uint32_t defs_most;	     /* of one register */
	uint64_t specials;	     /* that are read: bits by enum special_register */
	bool *done;				/* by register: its nodes exist */
	/* operand.node: the node that a REG operand reads, or NONE; of who asked last about the function */
	uint32_t *guard_of; /* by instruction: the node that its guard reads, or NONE */
	struct ssa_scratch *scratch; /* made on first need */
};

void ssa_init(struct ssa *, const struct function *, const struct cfg *, struct arena *);
/* Makes the nodes of one register and resolves all its uses. */
void ssa_register(struct ssa *, uint32_t reg);
/* Gives back what only the making of nodes needs; who asks for more has it made again. */
void ssa_rest(struct ssa *);
/* The uses and definitions of all registers: made at first, and again where they were given back. */
void ssa_index(struct ssa *);
void ssa_drop_index(struct ssa *);
/* The node that holds the register just before an instruction. */
uint32_t ssa_node_before(struct ssa *, uint32_t insn, uint32_t reg);
