/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the two sources of a sum. Out: what y * 2^k + (c & y >> 31) can hold, c more where y is negative: so a
 * remainder is made one that is never negative. Invariant: no product and no sum leaves 32 bits.
 */
#include "analysis/value_operation.h"

static const struct insn *made_by(const struct values *vs, const struct operand *o, enum opcode op)
{
	uint32_t node = trips_plain_node(vs, o);
	const struct node *n = node == NONE ? NULL : &vs->ssa.nodes[node];
	const struct insn *insn =
		n && n->kind == NODE_DEF && n->previous == NONE ? &vs->fn->insns[n->insn] : NULL;

	return insn && insn->op == op && insn_type(insn, 0).bits == 32 ? insn : NULL;
}

/* c & y >> 31; returns y. */
static const struct operand *sign_of(const struct values *vs, const struct operand *o, int64_t *c)
{
	const struct insn *and = made_by(vs, o, OP_and);
	const struct insn *shr = and ? made_by(vs, insn_source(vs->fn, and, 0), OP_shr) : NULL;
	int64_t by;

	if (!shr || !insn_type(shr, 0).is_signed ||
		!trips_constant_of(vs, insn_source(vs->fn, and, 1), c) || *c < 0 || *c >= 1 << 30 ||
		!trips_constant_of(vs, insn_source(vs->fn, shr, 1), &by) || by != 31)
		return NULL;
	return insn_source(vs->fn, shr, 0);
}

/* The operand is y << k. */
static bool shifted(const struct values *vs, const struct operand *o, uint32_t y, int64_t *k)
{
	const struct insn *shl;

	*k = 0;
	if (trips_plain_node(vs, o) == y)
		return true;
	shl = made_by(vs, o, OP_shl);
	return shl && trips_plain_node(vs, insn_source(vs->fn, shl, 0)) == y &&
	       trips_constant_of(vs, insn_source(vs->fn, shl, 1), k) && *k > 0 && *k < 24;
}

bool idiom_floor(struct evaluation e, const struct operand *a, const struct operand *b, struct value *out)
{
	struct values *vs = e.values;
	int64_t c, k;
	const struct operand *o = sign_of(vs, b, &c);
	uint32_t node = o ? trips_plain_node(vs, o) : NONE;

	if (node == NONE || !shifted(vs, a, node, &k))
		return false;
	struct value y = evaluate_operand(e, 0, o), part;
	const int64_t factor = INT64_C(1) << k, most = (INT64_C(1) << 30) / factor;

	if (y.base != BASE_NUMBER)
		return false;
	y = range_signed(&y, 32);
	if (y.lo < -most || y.hi > most)
		return false;
	*out = range_empty();
	if (y.hi >= 0)
		*out = range_span((y.lo > 0 ? y.lo : 0) * factor, y.hi * factor, (uint64_t)factor);
	if (y.lo < 0) {
		part = range_span(y.lo * factor + c, (y.hi < 0 ? y.hi : -1) * factor + c, (uint64_t)factor);
		*out = values_join(vs, out, &part, 32);
	}
	out->assumptions |= y.assumptions;
	return !range_is_empty(out);
}
