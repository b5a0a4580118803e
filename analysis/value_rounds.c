/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: solved values and an address. Out: the loop whose every round has another address. Invariant: it
 * is a constant and a multiple of a counter of the loop in 32 bits, and its range leaves no room to come
 * back to an address through zero.
 */
#include "analysis/value_private.h"

#define STEPS 8 /* definitions from the counter to the address */

/* One address, or one number, whenever the instruction runs. */
static bool is_fixed(const struct values *vs, uint32_t insn, const struct operand *o)
{
	struct value v = value_of(vs, insn, o);

	return v.lo == v.hi && !v.assumptions &&
	       (v.base == BASE_NUMBER || v.base == BASE_SYMBOL || v.base == BASE_DERIVED);
}

static bool fixed_number(
	const struct values *vs, uint32_t insn, const struct operand *o, uint32_t *out)
{
	struct value v = value_of(vs, insn, o);

	*out = (uint32_t)v.lo;
	return v.base == BASE_NUMBER && v.lo == v.hi && !v.assumptions;
}

/* node = result * factor + something fixed, modulo 2^32; NONE: it is something else. */
static uint32_t factor_back(const struct values *vs, uint32_t node, uint32_t *factor)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn = &vs->fn->insns[n->insn];
	const struct operand *a = insn_source(vs->fn, insn, 0), *b = insn_source(vs->fn, insn, 1);
	const struct operand *c = insn_source(vs->fn, insn, 2);
	uint32_t k;

	if (n->previous != NONE || node_bits(vs, node) != 32 || insn_type(insn, 0).bits != 32 ||
		insn_type(insn, 0).is_float || insn_has(insn, MOD_sat) || insn_has(insn, MOD_hi))
		return NONE;
	switch (insn->op) {
	case OP_mov:
		return trips_plain_node(vs, a);
	case OP_add:
		return is_fixed(vs, n->insn, b)	  ? trips_plain_node(vs, a)
		       : is_fixed(vs, n->insn, a) ? trips_plain_node(vs, b)
						  : NONE;
	case OP_shl:
		if (!fixed_number(vs, n->insn, b, &k) || k > 31)
			return NONE;
		*factor <<= k;
		return trips_plain_node(vs, a);
	case OP_mul:
	case OP_mad:
		if (!insn_has(insn, MOD_lo) || !fixed_number(vs, n->insn, b, &k) ||
			(insn->op == OP_mad && !is_fixed(vs, n->insn, c)))
			return NONE;
		*factor *= k;
		return trips_plain_node(vs, a);
	default:
		return NONE;
	}
}

uint32_t value_counter_head(
	const struct values *vs, uint32_t insn, const struct operand *o, uint32_t *assumptions)
{
	const struct operand *base = o->kind == OPERAND_MEM ? operand_child(vs->fn, o, 0) : NULL;
	struct value v = value_of(vs, insn, o);
	uint32_t factor = 1;

	if (!base || o->indexed || (v.base != BASE_SYMBOL && v.base != BASE_DERIVED) ||
		v.lo < -VALUE_FAR || v.hi > VALUE_FAR || v.hi - v.lo >= INT64_C(1) << 31)
		return NONE;
	uint32_t node = trips_plain_node(vs, base);

	for (uint32_t k = 0; node != NONE && k < STEPS; k++) {
		if (vs->ssa.nodes[node].kind == NODE_DEF) {
			node = factor_back(vs, node, &factor);
			continue;
		}
		if (vs->trip_of[node] == NONE ||
			(uint32_t)vs->trips[vs->trip_of[node]].step * factor == 0)
			return NONE;
		*assumptions |= v.assumptions;
		return vs->ssa.nodes[node].block;
	}
	return NONE;
}
