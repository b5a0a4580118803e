/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a phi. Out: another phi of the same block of which it always is the same multiple. Compilers
 * keep stage * size in a register of its own across the end of a loop, where the paths bring stage
 * and stage * size side by side. Invariant: along each way the one gets `factor' times what the
 * other gets; both are made anew at once, so that from there on the one holds `factor' times what
 * the other holds, modulo 2^32.
 */
#include "analysis/stages.h"

#define COPIES_MOST 4

/* The instruction that makes a whole register of 32 bits, always. */
static const struct insn *definition(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn =
		n->kind == NODE_DEF && n->previous == NONE ? &vs->fn->insns[n->insn] : NULL;

	return insn && insn_operand(vs->fn, insn, 0)->kind == OPERAND_REG &&
			       node_bits(vs, node) == 32
		       ? insn
		       : NULL;
}

/* Through copies. */
static uint32_t original(const struct values *vs, uint32_t node)
{
	for (uint32_t k = 0; k < COPIES_MOST; k++) {
		const struct insn *insn = definition(vs, node);
		uint32_t from = insn && (insn->op == OP_mov || insn->op == OP_LINK_MOV)
					? trips_plain_node(vs, insn_source(vs->fn, insn, 0))
					: NONE;

		if (from == NONE || node_bits(vs, from) != 32)
			break;
		node = from;
	}
	return node;
}

struct product {       /* what comes into a phi: node * factor, or a constant */
	uint32_t node; /* NONE: the constant `factor' */
	uint32_t factor;
};

/* False: it is neither. A register itself is the product by 1. */
static bool product_of(const struct values *vs, uint32_t node, struct product *out)
{
	if (node >= vs->nsolved || vs->ssa.nodes[node].kind == NODE_UNDEFINED ||
		node_bits(vs, node) != 32)
		return false;
	node = original(vs, node);
	*out = (struct product){node, 1};
	const struct insn *insn = definition(vs, node);
	struct type type = insn ? insn_type(insn, 0) : (struct type){.bits = 0};
	int64_t c;

	if (!insn || type.is_float || type.bits != 32)
		return true;
	if (insn->op == OP_mov && trips_constant_of(vs, insn_source(vs->fn, insn, 0), &c)) {
		*out = (struct product){NONE, (uint32_t)(uint64_t)c};
		return true;
	}
	bool shifts = insn->op == OP_shl;

	if ((!shifts && (insn->op != OP_mul || !insn_has(insn, MOD_lo))) ||
		!trips_constant_of(vs, insn_source(vs->fn, insn, 1), &c) ||
		(shifts && (c < 0 || c > 31)))
		return true;
	uint32_t of = trips_plain_node(vs, insn_source(vs->fn, insn, 0));

	if (of != NONE && node_bits(vs, of) == 32)
		*out = (struct product){
			original(vs, of), shifts ? UINT32_C(1) << c : (uint32_t)(uint64_t)c};
	return true;
}

/* Nodes of one register lie side by side. */
static uint32_t phi_of(const struct ssa *ssa, uint32_t near, uint32_t block)
{
	uint32_t reg = ssa->nodes[near].reg, k = near;

	while (k > 0 && ssa->nodes[k - 1].reg == reg)
		k--;
	for (; k < ssa->n && ssa->nodes[k].reg == reg; k++)
		if (ssa->nodes[k].kind == NODE_PHI && ssa->nodes[k].block == block)
			return k;
	return NONE;
}

/* Along the k-th way `other' gets what `product' is `factor' times of. */
static bool brings(const struct values *vs, uint32_t other, uint32_t k,
	const struct product *product, uint32_t factor)
{
	uint32_t input = vs->ssa.inputs[vs->ssa.nodes[other].input + k];
	struct product plain;

	if (!product_of(vs, input, &plain))
		return false;
	if (product->node == NONE)
		return plain.node == NONE && product->factor == factor * plain.factor;
	return product->factor == factor && original(vs, input) == product->node;
}

uint32_t stage_phi_multiple(const struct values *vs, uint32_t phi, uint32_t *factor)
{
	const struct ssa *ssa = &vs->ssa;
	const struct node *n = &ssa->nodes[phi];
	uint32_t other = NONE, ways = vs->cfg->blocks[n->block].pred.n;
	struct product p;

	if (n->kind != NODE_PHI || n->block == 0 || node_bits(vs, phi) != 32)
		return NONE;
	for (uint32_t k = 0; k < ways; k++) {
		if (!product_of(vs, ssa->inputs[n->input + k], &p))
			return NONE;
		if (p.node == NONE || other != NONE)
			continue;
		other = p.factor > 1 ? phi_of(ssa, p.node, n->block) : NONE;
		*factor = p.factor;
		if (other == NONE || other == phi)
			return NONE;
	}
	for (uint32_t k = 0; other != NONE && k < ways; k++)
		if (!product_of(vs, ssa->inputs[n->input + k], &p) ||
			!brings(vs, other, k, &p, *factor))
			return NONE;
	return other;
}
