/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages of a ring: the question whether two registers certainly hold different numbers, and addresses
 * as sums in which such a register is one term.
 */
#pragma once

#include "analysis/value_private.h"

/* Whenever both are current, the two nodes (of 32 bits) hold different numbers: one is the other, or both are
 * the same counter, some stages further on in a ring. A node is current from its definition until one of its
 * operands, however far back, is defined anew; so while *root (a phi, or another node that both are computed
 * from) is not defined again, the latest contents of the one differ from those that the other had, whatever ran in
 * between. Adds the assumptions on which that rests. */
bool stages_differ(
	const struct values *, uint32_t a, uint32_t b, uint32_t *root, uint32_t *assumptions);

/* The same of two registers that step each for itself: a = b + 1, or a = 0 where that is the number of stages, at
 * every place that both definitions dominate. */
bool stages_one_ahead(const struct values *, uint32_t a, uint32_t b);
/* The same of a few steps, fewer than there are stages. */
bool stages_few_ahead(const struct values *, uint32_t a, uint32_t b);

/* stage_phis.c: another phi of the same block that, whenever both are current, the phi is *factor times of, in 32
 * bits; NONE: none is known. */
uint32_t stage_phi_multiple(const struct values *, uint32_t phi, uint32_t *factor);

#define STAGE_TERMS 16

/* The low 32 bits of what an operand holds: constant + sum of factor * node, modulo 2^32. */
struct stage_sum {
	uint32_t n, constant;
	uint32_t looked; /* registers on the way */
	uint32_t part;   /* see stage_sum_in; NONE */
	struct {
		uint32_t node, factor;
	} terms[STAGE_TERMS];
};

/* A register, or an address in brackets. What is not a sum is a term. False: too many terms. */
bool stage_sum_of(const struct values *, const struct operand *, struct stage_sum *);
/* The same with `part` as a term of its own, if it is one at all, and as few others as there can be: what a register
 * holds is often known better than what it is the sum of. NONE: all there are. */
bool stage_sum_in(
	const struct values *, const struct operand *, uint32_t part, struct stage_sum *);
bool stage_sum_of_node(const struct values *, uint32_t node, struct stage_sum *);
