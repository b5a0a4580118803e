/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: solved values. Out: registers that are stages of one ring, and never the same one. Compilers
 * go on to the next stage by a select or a branch (next = i + 1 == n ? 0 : i + 1), a mask, a
 * remainder, or its idiom i - i / n * n. Invariant: two nodes are called different only if their
 * contents of 32 bits are, for all contents of what they are computed from, wrapped or not.
 */
#include "analysis/stages.h"

#include "analysis/value_operation.h"

#include <string.h>

#define DEPTH_MOST 4
#define STEPS_MOST 8
#define SUM_DEPTH 12
#define LOOKS_MOST 200 /* registers */

/* root + moved, or what that leaves when it is divided by `of`, all in 32 bits. */
struct ring_place {
	uint32_t root, moved;
	uint32_t of;  /* 0: it is the sum itself */
	bool masked;  /* `of` is a power of two: wrapping at 2^32 does not matter */
	bool bounded; /* the multiple of `of` that goes off the sum is below 2^31 */
};

static const struct insn *definition(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];

	return n->kind == NODE_DEF && n->previous == NONE ? &vs->fn->insns[n->insn] : NULL;
}

static uint32_t source(const struct values *vs, const struct insn *insn, uint32_t k)
{
	return trips_plain_node(vs, insn_source(vs->fn, insn, k));
}

static bool constant(const struct values *vs, const struct insn *insn, uint32_t k, uint32_t *c)
{
	int64_t v;

	if (!trips_constant_of(vs, insn_source(vs->fn, insn, k), &v))
		return false;
	*c = (uint32_t)(uint64_t)v;
	return true;
}

/* A register that holds a constant of the text. */
static bool constant_node(const struct values *vs, uint32_t node, int64_t *c)
{
	const struct insn *insn = definition(vs, node);

	return insn && insn->op == OP_mov && insn_operand(vs->fn, insn, 0)->kind == OPERAND_REG &&
	       trips_constant_of(vs, insn_source(vs->fn, insn, 0), c);
}

static bool is_word(const struct values *vs, uint32_t node)
{
	return node != NONE && node < vs->nsolved && node_bits(vs, node) == 32;
}

/* Back over additions of constants to `stop`, or as far as they go. */
static uint32_t step_back(const struct values *vs, uint32_t node, uint32_t stop, uint32_t *moved)
{
	int64_t sum = 0;

	for (uint32_t k = 0; k < STEPS_MOST && node != stop; k++) {
		uint32_t before = trips_step_back(vs, node, &sum);

		if (before == NONE)
			break;
		node = before;
	}
	*moved = (uint32_t)(uint64_t)sum;
	return node;
}

/* The most that a node holds as a number without sign; assumptions are those on which that rests. */
static uint64_t most(const struct values *vs, uint32_t node, uint32_t *assumptions)
{
	struct value v = *value_at(vs, node);

	if (v.base != BASE_NUMBER)
		return UINT32_MAX;
	v = range_unsigned(&v, 32);
	*assumptions |= v.assumptions;
	return v.lo < 0 || v.hi > UINT32_MAX ? UINT32_MAX : (uint64_t)v.hi;
}

/* sum - quotient * n; gives the sum's node, and n times the quotient's bound. */
static bool difference(const struct values *vs, const struct insn *insn, uint32_t *sum, uint32_t *n,
	uint64_t *product, uint32_t *assumptions)
{
	const struct insn *mul = insn;
	uint32_t k = 0;

	if (insn->op == OP_sub) {
		uint32_t node = source(vs, insn, 1);

		*sum = source(vs, insn, 0);
		mul = node == NONE ? NULL : definition(vs, node);
		if (!mul || mul->op != OP_mul)
			return false;
	} else {
		*sum = source(vs, insn, 2);
	}
	uint32_t quotient = source(vs, mul, 0);

	if (!is_word(vs, quotient) || !is_word(vs, *sum) || !insn_has(mul, MOD_lo) ||
		insn_type(mul, 0).bits != 32 || !constant(vs, mul, 1, &k))
		return false;
	*n = insn->op == OP_sub ? k : 0 - k;
	if (*n < 2 || *n > INT32_MAX)
		return false;
	*product = *n * most(vs, quotient, assumptions);
	return true;
}

/* How a node goes on from a root; it stops at `stop`, if it comes there. */
static struct ring_place place_of(
	const struct values *vs, uint32_t node, uint32_t stop, uint32_t *assumptions)
{
	struct ring_place p = {.of = 0};
	uint32_t sum = NONE, n = 0;
	uint64_t product;

	p.root = step_back(vs, node, stop, &p.moved);
	if (p.root == stop || p.moved)
		return p;
	const struct insn *insn = definition(vs, p.root);

	if (!insn || insn_type(insn, 0).bits != 32 || insn_type(insn, 0).is_float ||
		insn_has(insn, MOD_sat))
		return p;
	switch (insn->op) {
	case OP_and:
		sum = source(vs, insn, 0);
		if (!is_word(vs, sum) || !constant(vs, insn, 1, &n) || !n || (n & (n + 1)))
			return p;
		p.of = n + 1; /* 0 for the whole word: then it is the sum itself */
		p.masked = true;
		break;
	case OP_rem:
		sum = source(vs, insn, 0);
		if (!is_word(vs, sum) || !constant(vs, insn, 1, &n) || n < 2 || n > INT32_MAX)
			return p;
		p.bounded = most(vs, sum, assumptions) <= INT32_MAX;
		if (insn_type(insn, 0).is_signed && !p.bounded)
			return p;
		p.of = n;
		break;
	case OP_mad:
	case OP_sub:
		if (insn_has(insn, MOD_hi) || insn_has(insn, MOD_wide) ||
			!difference(vs, insn, &sum, &n, &product, assumptions) ||
			product > INT32_MAX)
			return p;
		p.bounded = true;
		p.of = n;
		break;
	default:
		return p;
	}
	p.root = step_back(vs, sum, stop, &p.moved);
	return p;
}

/* Two places of one root are never the same number. */
static bool places_differ(const struct ring_place *x, const struct ring_place *y)
{
	uint32_t apart = y->moved - x->moved, of = x->of ? x->of : y->of;

	if (!of)
		return apart != 0;
	if (x->of && y->of && x->of != y->of)
		return false;
	if ((!x->of || x->masked) && (!y->of || y->masked))
		return (apart & (of - 1)) != 0;
	if (x->of && y->of) /* both multiples that go off are below 2^31, so is their distance */
		return x->bounded && y->bounded && (int32_t)apart % (int64_t)of != 0;
	/* Were they equal, the plain one would be less than `of` and the other's sum `ahead` above it,
	 * without wrapping; then a multiple of `of` goes off, and that is `ahead`. */
	uint32_t ahead = y->of ? apart : 0 - apart;

	return ahead <= INT32_MAX && ahead % of != 0;
}

static bool has_number(const struct value *v, uint32_t c)
{
	if (range_is_empty(v))
		return false;
	if (v->base != BASE_NUMBER)
		return true;
	struct value n = range_unsigned(v, 32);

	return c >= n.lo && c <= n.hi && (!n.stride || ((uint64_t)c - (uint64_t)n.lo) % n.stride == 0);
}

/* Under the conditions the node is not the number. */
static bool cannot_be(struct values *vs, struct context *context, uint32_t node, uint32_t c,
	uint32_t *assumptions)
{
	uint32_t fuel = 64;

	context_begin(vs, context, 0);
	struct value v = evaluate_register((struct evaluation){vs, context, 4, &fuel}, node);

	if (has_number(&v, c))
		return false;
	*assumptions |= v.assumptions;
	return true;
}

struct question {
	struct values *vs;
	uint32_t *assumptions;
	uint32_t root; /* of the answer */
};

static bool node_differs(struct question *, uint32_t node, uint32_t from, uint32_t depth);

/* What comes along one way, where the context holds: a constant or a register. */
static bool way_differs(struct question *q, struct context *context, const struct operand *o,
	uint32_t node, uint32_t from, uint32_t depth)
{
	int64_t c;

	if (o ? trips_constant_of(q->vs, o, &c) : constant_node(q->vs, node, &c))
		return cannot_be(q->vs, context, from, (uint32_t)(uint64_t)c, q->assumptions);
	if (o)
		node = trips_plain_node(q->vs, o);
	return is_word(q->vs, node) && node_differs(q, node, from, depth);
}

static bool select_differs(struct question *q, const struct insn *insn, uint32_t from, uint32_t depth)
{
	struct values *vs = q->vs;
	const struct operand *p = insn_source(vs->fn, insn, 2);
	uint32_t predicate = p && p->kind == OPERAND_REG && !p->component
				     ? p->node
				     : NONE;

	if (predicate == NONE || predicate >= vs->nsolved)
		return false;
	for (uint32_t k = 0; k < 2; k++) {
		struct constraint room[CONTEXT_MAX];
		struct context context = {.v = room};

		context_add(vs, &context, predicate, (k == 0) != p->negated);
		if (!way_differs(q, &context, insn_source(vs->fn, insn, k), NONE, from, depth))
			return false;
	}
	return true;
}

/* Each way into the phi brings another number than `from` holds, which stays what it is there. */
static bool phi_differs(struct question *q, uint32_t phi, uint32_t from, uint32_t depth)
{
	struct values *vs = q->vs;
	const struct node *n = &vs->ssa.nodes[phi];
	const struct block *block = &vs->cfg->blocks[n->block];

	if (vs->ssa.nodes[from].block == n->block ||
		!cfg_dominates(vs->cfg, vs->ssa.nodes[from].block, n->block) || n->block == 0)
		return false;
	for (uint32_t k = 0; k < block->pred.n; k++) {
		struct constraint room[CONTEXT_MAX];
		struct context context = {.v = room};
		uint32_t input = vs->ssa.inputs[n->input + k];

		if (input >= vs->nsolved)
			return false;
		context_at_edge(vs, block->pred.v[k], n->block, &context);
		if (!way_differs(q, &context, NULL, input, from, depth))
			return false;
	}
	return true;
}

/* `node` is computed from `from` and never the same. */
static bool node_differs(struct question *q, uint32_t node, uint32_t from, uint32_t depth)
{
	struct values *vs = q->vs;
	const struct ring_place itself = {.root = from};
	struct ring_place p = place_of(vs, node, from, q->assumptions);
	uint32_t moved;

	if (p.root == from)
		return places_differ(&itself, &p);
	if (!depth)
		return false;
	node = step_back(vs, node, from, &moved);
	if (moved)
		return false;
	if (vs->ssa.nodes[node].kind == NODE_PHI)
		return phi_differs(q, node, from, depth - 1);
	const struct insn *insn = definition(vs, node);
	uint32_t c, other;

	if (!insn || insn_type(insn, 0).bits != 32)
		return false;
	if (insn->op == OP_xor && constant(vs, insn, 1, &c) && c) {
		other = source(vs, insn, 0);
		return other != NONE && step_back(vs, other, from, &moved) == from && !moved;
	}
	return insn->op == OP_selp && select_differs(q, insn, from, depth - 1);
}

/* Two phis of one block: both are made anew at once. */
static bool phis_differ(struct question *q, uint32_t a, uint32_t b)
{
	struct values *vs = q->vs;
	const struct node *m = &vs->ssa.nodes[a], *n = &vs->ssa.nodes[b];

	if (m->kind != NODE_PHI || n->kind != NODE_PHI || m->block != n->block || m->block == 0)
		return false;
	for (uint32_t k = 0; k < vs->cfg->blocks[m->block].pred.n; k++) {
		uint32_t x = vs->ssa.inputs[m->input + k], y = vs->ssa.inputs[n->input + k];
		int64_t c, d;

		if (x >= vs->nsolved || y >= vs->nsolved || !is_word(vs, x) || !is_word(vs, y))
			return false;
		if (constant_node(vs, x, &c) && constant_node(vs, y, &d)) {
			if ((uint32_t)(uint64_t)c == (uint32_t)(uint64_t)d)
				return false;
			continue;
		}
		if (!node_differs(q, y, x, DEPTH_MOST) && !node_differs(q, x, y, DEPTH_MOST))
			return false;
	}
	return true;
}

static bool differ(struct question *q, uint32_t a, uint32_t b)
{
	const struct values *vs = q->vs;
	struct ring_place x = place_of(vs, a, NONE, q->assumptions),
			  y = place_of(vs, b, NONE, q->assumptions);

	q->root = x.root;
	if (x.root == y.root)
		return places_differ(&x, &y);
	q->root = a;
	if (node_differs(q, b, a, DEPTH_MOST))
		return true;
	q->root = b;
	if (node_differs(q, a, b, DEPTH_MOST))
		return true;
	q->root = a;
	return phis_differ(q, a, b);
}

bool stages_differ(
	const struct values *values, uint32_t a, uint32_t b, uint32_t *root, uint32_t *assumptions)
{
	uint32_t rests_on = 0, moved;
	struct question q = {(struct values *)(uintptr_t)values, &rests_on, NONE};

	if (!is_word(values, a) || !is_word(values, b))
		return false;
	/* copies hold what they were made from */
	uint32_t x = step_back(values, a, NONE, &moved);
	a = moved ? a : x;
	x = step_back(values, b, NONE, &moved);
	b = moved ? b : x;
	if (!differ(&q, a, b))
		return false;
	*root = q.root;
	*assumptions |= rests_on;
	return true;
}

/* ---- sums ---- */

static bool add_term(struct stage_sum *sum, uint32_t node, uint32_t factor)
{
	for (uint32_t i = 0; i < sum->n; i++)
		if (sum->terms[i].node == node) {
			sum->terms[i].factor += factor;
			return true;
		}
	if (sum->n == STAGE_TERMS)
		return false;
	sum->terms[sum->n].node = node;
	sum->terms[sum->n++].factor = factor;
	return true;
}

static bool add_node(
	const struct values *, struct stage_sum *, uint32_t node, uint32_t factor, uint32_t depth);

struct term { /* a constant, or a whole register */
	uint32_t node; /* or NONE */
	uint32_t constant;
};

static bool term_of(const struct values *vs, const struct insn *insn, uint32_t k, struct term *out)
{
	out->node = NONE;
	if (constant(vs, insn, k, &out->constant))
		return true;
	out->node = source(vs, insn, k);
	return out->node != NONE;
}

static bool add(const struct values *vs, struct stage_sum *sum, const struct term *term,
	uint32_t factor, uint32_t depth)
{
	if (term->node != NONE)
		return add_node(vs, sum, term->node, factor, depth);
	sum->constant += factor * term->constant;
	return true;
}

/* {low, high} */
static uint32_t low_half(const struct values *vs, const struct insn *insn)
{
	const struct operand *list = insn_source(vs->fn, insn, 0);
	const struct operand *low =
		list && list->kind == OPERAND_LIST && operand_count(list) == 2
			? operand_child(vs->fn, list, 0)
			: NULL;
	uint32_t node = trips_plain_node(vs, low);

	return node != NONE && node_bits(vs, node) == 32 ? node : NONE;
}

static bool is_whole(struct type t)
{
	return !t.is_float && (t.bits == 32 || t.bits == 64);
}

/* Adds factor * what the instruction makes. False: too many terms; *plain: it is a term itself. */
static bool add_definition(const struct values *vs, struct stage_sum *sum, const struct insn *insn,
	uint32_t factor, uint32_t depth, bool *plain)
{
	struct term x = {NONE, 0}, y = x, z = x;

	*plain = false;
	if (!depth || !is_whole(insn_type(insn, 0)) || insn_has(insn, MOD_sat) ||
		insn_operand(vs->fn, insn, 0)->kind != OPERAND_REG) {
		*plain = true;
		return true;
	}
	switch (insn->op) {
	case OP_mov:
	case OP_LINK_MOV:
		if (low_half(vs, insn) != NONE)
			return add_node(vs, sum, low_half(vs, insn), factor, depth - 1);
		if (!term_of(vs, insn, 0, &x))
			break;
		return add(vs, sum, &x, factor, depth - 1);
	case OP_cvt:
		if (!is_whole(insn_type(insn, 1)) || !term_of(vs, insn, 0, &x))
			break;
		return add(vs, sum, &x, factor, depth - 1);
	case OP_add:
	case OP_sub:
		if (!term_of(vs, insn, 0, &x) || !term_of(vs, insn, 1, &y))
			break;
		return add(vs, sum, &x, factor, depth - 1) &&
		       add(vs, sum, &y, insn->op == OP_add ? factor : 0 - factor, depth - 1);
	case OP_shl:
		if (!term_of(vs, insn, 0, &x) || !term_of(vs, insn, 1, &y) || y.node != NONE ||
			y.constant > 31)
			break;
		return add(vs, sum, &x, factor << y.constant, depth - 1);
	case OP_mul:
	case OP_mad:
		if (insn_has(insn, MOD_hi) || !term_of(vs, insn, 0, &x) ||
			!term_of(vs, insn, 1, &y) || y.node != NONE ||
			(insn->op == OP_mad && !term_of(vs, insn, 2, &z)))
			break;
		return add(vs, sum, &x, factor * y.constant, depth - 1) &&
		       (insn->op == OP_mul || add(vs, sum, &z, factor, depth - 1));
	default:
		break;
	}
	*plain = true;
	return true;
}

static const struct stage_sum *kept_sum(const struct values *, uint32_t node);

/* Whole, the node is a sum in which the wanted part has a term; or an address, whose base is looked for. */
static bool leads_to_part(const struct values *vs, const struct stage_sum *sum, uint32_t node)
{
	const struct stage_sum *whole;

	if (node == sum->part)
		return false;
	if (value_at(vs, node)->base == BASE_SYMBOL || value_at(vs, node)->base == BASE_DERIVED)
		return true;
	whole = kept_sum(vs, node);
	for (uint32_t k = 0; whole && k < whole->n; k++)
		if (whole->terms[k].node == sum->part && whole->terms[k].factor)
			return true;
	return false;
}

static bool add_node(const struct values *vs, struct stage_sum *sum, uint32_t node, uint32_t factor,
	uint32_t depth)
{
	if (node == NONE || ++sum->looked > LOOKS_MOST)
		return false;
	const struct insn *insn = definition(vs, node);
	uint32_t of = NONE, times = 0;
	bool plain = true;

	if (vs->fn->regs[vs->ssa.nodes[node].reg].bits < 32)
		return false;
	if (sum->part != NONE && !leads_to_part(vs, sum, node))
		return add_term(sum, node, factor);
	if (!insn && depth)
		of = stage_phi_multiple(vs, node, &times);
	if (of != NONE)
		return add_term(sum, of, factor * times);
	if (insn && !add_definition(vs, sum, insn, factor, depth, &plain))
		return false;
	return !plain || add_term(sum, node, factor);
}

/* Of a sum, without the terms that it does not have. */
static size_t size_of(const struct stage_sum *sum)
{
	return offsetof(struct stage_sum, terms) + sizeof(sum->terms[0]) * sum->n;
}

/* The sum of a node, which the text alone says: worked out once, and kept without room for further
 * terms. NULL: too many terms. */
static const struct stage_sum *kept_sum(const struct values *vs, uint32_t node)
{
	struct values *m = (struct values *)(uintptr_t)vs;
	static const struct stage_sum none;

	if (!vs->sums)
		m->sums = ARENA_NEW(&m->caches, const struct stage_sum *, vs->nsolved + 1);
	if (!vs->sums[node]) {
		struct stage_sum sum = {.part = NONE};
		bool is_sum = add_node(vs, &sum, node, 1, SUM_DEPTH);

		vs->sums[node] = is_sum ? memcpy(arena_alloc_unset(&m->caches, size_of(&sum)), &sum,
						  size_of(&sum))
					: &none;
	}
	return vs->sums[node] == &none ? NULL : vs->sums[node];
}

bool stage_sum_of_node(const struct values *vs, uint32_t node, struct stage_sum *sum)
{
	const struct stage_sum *kept = node < vs->nsolved ? kept_sum(vs, node) : NULL;

	if (kept)
		memcpy(sum, kept, size_of(kept));
	return kept != NULL;
}

bool stage_sum_of(const struct values *vs, const struct operand *o, struct stage_sum *sum)
{
	return stage_sum_in(vs, o, NONE, sum);
}

bool stage_sum_in(
	const struct values *vs, const struct operand *o, uint32_t part, struct stage_sum *sum)
{
	if (o && o->kind == OPERAND_MEM)
		o = o->indexed ? NULL : operand_child(vs->fn, o, 0);
	if (!o || o->kind != OPERAND_REG || o->component || o->negated ||
		vs->fn->regs[o->id].vector > 1)
		return false;
	uint32_t node = o->node;

	*sum = (struct stage_sum){.part = part};
	if (node >= vs->nsolved || !(part == NONE ? stage_sum_of_node(vs, node, sum)
						  : add_node(vs, sum, node, 1, SUM_DEPTH)))
		return false;
	sum->constant += (uint32_t)(uint64_t)operand_offset(vs->fn, o);
	return true;
}
