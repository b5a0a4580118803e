/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: two registers. Out: whether the one goes round a ring one stage ahead of the other, each by a
 * step of its own. Invariant: what is said of two nodes holds wherever both definitions dominate. Of
 * a node and one that it is computed from: the latter's definition dominates the former's, so on
 * every way that comes to the place the last of the former stands behind the last of the latter.
 */
#include "analysis/stages.h"

#define PAIRS_MOST 8 /* of phis */
#define STEPS_MOST 8

struct ahead {
	const struct values *vs;
	uint32_t modulus; /* 0: none seen yet */
	int64_t most;     /* the largest constant of a: it must be below the modulus */
	struct ahead_pair {
		uint32_t a, b;
	} pairs[PAIRS_MOST]; /* phis of one block that are taken to be so: proven when all their ways are */
	uint32_t n;
};

static const struct insn *definition(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];

	return n->kind == NODE_DEF && n->previous == NONE &&
			       insn_operand(vs->fn, &vs->fn->insns[n->insn], 0)->kind == OPERAND_REG
		       ? &vs->fn->insns[n->insn]
		       : NULL;
}

/* Through copies. */
static uint32_t original(const struct values *vs, uint32_t node)
{
	for (uint32_t k = 0; k < STEPS_MOST; k++) {
		const struct insn *insn = definition(vs, node);

		if (!insn || (insn->op != OP_mov && insn->op != OP_LINK_MOV))
			break;
		uint32_t from = trips_plain_node(vs, insn_source(vs->fn, insn, 0));

		if (from == NONE || node_bits(vs, from) != node_bits(vs, node))
			break;
		node = from;
	}
	return node;
}

/* What the node is 1 more than, in 32 bits; NONE: nothing. */
static uint32_t one_less(const struct values *vs, uint32_t node)
{
	int64_t step = 0;

	node = original(vs, node);
	if (node_bits(vs, node) != 32)
		return NONE;
	uint32_t from = trips_step_back(vs, node, &step);

	return from != NONE && step == 1 ? original(vs, from) : NONE;
}

static bool is_zero(const struct values *vs, const struct operand *o)
{
	int64_t c;

	return trips_constant_of(vs, o, &c) && c == 0;
}

/* selp 0, x, p or selp x, 0, !p where x = y + 1 and p says that x is a constant: gives y, and the constant;
 * NONE: it is something else. */
static uint32_t stepped(const struct values *vs, uint32_t node, uint32_t *modulus)
{
	const struct insn *select = definition(vs, node), *compare;
	const struct operand *p;
	bool is_unsigned;
	int64_t c;

	if (!select || select->op != OP_selp || node_bits(vs, node) != 32)
		return NONE;
	p = insn_source(vs->fn, select, 2);
	uint32_t predicate = trips_plain_node(vs, p); /* NONE for !p */

	compare = predicate == NONE ? NULL : definition(vs, predicate);
	if (!compare || compare->op != OP_setp || compare->count != 3 ||
		insn_type(compare, 0).bits != 32 || insn_type(compare, 0).is_float)
		return NONE;
	enum compare how = insn_compare(compare, &is_unsigned);
	uint32_t zero = how == COMPARE_EQ ? 0 : 1; /* which source is taken at the end of the ring */
	uint32_t x = trips_plain_node(vs, insn_source(vs->fn, select, 1 - zero));
	uint32_t compared = trips_plain_node(vs, insn_source(vs->fn, compare, 0));

	if ((how != COMPARE_EQ && how != COMPARE_NE) || x == NONE || compared == NONE ||
		!is_zero(vs, insn_source(vs->fn, select, zero)) ||
		!trips_constant_of(vs, insn_source(vs->fn, compare, 1), &c) || c < 2 ||
		c > INT32_MAX || original(vs, compared) != original(vs, x))
		return NONE;
	*modulus = (uint32_t)c;
	return one_less(vs, x);
}

static bool add_pair(struct ahead *h, uint32_t a, uint32_t b)
{
	for (uint32_t k = 0; k < h->n; k++)
		if (h->pairs[k].a == a && h->pairs[k].b == b)
			return true;
	if (h->n == PAIRS_MOST)
		return false;
	h->pairs[h->n++] = (struct ahead_pair){a, b};
	return true;
}

static bool same_modulus(struct ahead *h, uint32_t modulus)
{
	if (!h->modulus)
		h->modulus = modulus;
	return h->modulus == modulus;
}

static bool is_constant(const struct values *vs, uint32_t node, int64_t *c)
{
	const struct value *v = value_at(vs, node);

	*c = v->lo;
	return v->base == BASE_NUMBER && v->lo == v->hi && v->lo >= 0 && !v->assumptions;
}

/* a is one ahead of b, if what is taken of phis is so. */
static bool is_ahead(struct ahead *h, uint32_t a, uint32_t b)
{
	const struct values *vs = h->vs;

	for (uint32_t k = 0; k < STEPS_MOST; k++) {
		uint32_t of_a, of_b, modulus_a = 0, modulus_b = 0;
		int64_t c, d;

		a = original(vs, a);
		b = original(vs, b);
		if (is_constant(vs, a, &c) && is_constant(vs, b, &d)) {
			h->most = c > h->most ? c : h->most;
			return c == d + 1;
		}
		of_a = stepped(vs, a, &modulus_a);
		if (of_a == b)
			return same_modulus(h, modulus_a);
		if (vs->ssa.nodes[a].kind == NODE_PHI && vs->ssa.nodes[b].kind == NODE_PHI &&
			vs->ssa.nodes[a].block == vs->ssa.nodes[b].block &&
			vs->ssa.nodes[a].block)
			return add_pair(h, a, b);
		of_b = stepped(vs, b, &modulus_b);
		if (of_a == NONE || of_b == NONE || modulus_a != modulus_b ||
			!same_modulus(h, modulus_a))
			return false;
		a = of_a; /* each is one step further than these */
		b = of_b;
	}
	return false;
}

static bool ways_are_ahead(struct ahead *h, struct ahead_pair pair)
{
	const struct ssa *ssa = &h->vs->ssa;
	const struct node *a = &ssa->nodes[pair.a], *b = &ssa->nodes[pair.b];

	for (uint32_t k = 0; k < h->vs->cfg->blocks[a->block].pred.n; k++) {
		uint32_t from_a = ssa->inputs[a->input + k], from_b = ssa->inputs[b->input + k];

		if (from_a >= h->vs->nsolved || from_b >= h->vs->nsolved ||
			ssa->nodes[from_a].kind == NODE_UNDEFINED ||
			ssa->nodes[from_b].kind == NODE_UNDEFINED || !is_ahead(h, from_a, from_b))
			return false;
	}
	return true;
}

/* *modulus: 0 for any, then what it is. */
static bool proves_ahead(const struct values *vs, uint32_t a, uint32_t b, uint32_t *modulus)
{
	struct ahead h = {.vs = vs, .modulus = *modulus};

	if (a >= vs->nsolved || b >= vs->nsolved || !is_ahead(&h, a, b))
		return false;
	for (uint32_t k = 0; k < h.n; k++)
		if (!ways_are_ahead(&h, h.pairs[k]))
			return false;
	*modulus = h.modulus;
	return h.modulus && h.most < h.modulus;
}

bool stages_one_ahead(const struct values *vs, uint32_t a, uint32_t b)
{
	uint32_t modulus = 0;

	return proves_ahead(vs, a, b, &modulus);
}

bool stages_few_ahead(const struct values *vs, uint32_t a, uint32_t b)
{
	uint32_t modulus = 0;

	for (uint32_t k = 1; k <= STEPS_MOST && a < vs->nsolved; k++) {
		uint32_t of = 0, all = modulus;

		if (proves_ahead(vs, a, b, &all))
			return k < all;
		a = stepped(vs, original(vs, a), &of);
		if (modulus && of != modulus)
			return false;
		modulus = of;
	}
	return false;
}
