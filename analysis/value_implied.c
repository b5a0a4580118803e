/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a predicate and whether it holds. Out: constraints on nodes: the predicate taken apart
 * through predicate logic and comparisons, and carried backwards through arithmetic that can be
 * undone (tid >> 5 == 2 restricts tid). Invariant: they depend on nothing but the values of the
 * nodes that the predicate is computed from.
 */
#include "analysis/value_private.h"

static bool known(const struct values *vs, uint32_t node)
{
	return node != NONE && node < vs->nsolved && vs->ssa.nodes[node].kind == NODE_DEF;
}

static uint32_t operand_node(const struct operand *o)
{
	if (!o || o->kind != OPERAND_REG || o->component || o->offset)
		return NONE;
	return o->node;
}

/* The node's contents lie in [lo, hi] when read as type; false when the reading may wrap. */
static bool reading(
	const struct values *vs, uint32_t node, uint32_t bits, bool is_signed, struct value *out)
{
	*out = *value_at(vs, node);
	if (range_is_empty(out))
		return false;
	*out = is_signed ? range_signed(out, bits) : range_unsigned(out, bits);
	return true;
}

static bool constant_source(
	const struct values *vs, const struct insn *insn, uint32_t k, int64_t *c)
{
	const struct operand *o = insn_source(vs->fn, insn, k);

	if (!o)
		return false;
	struct value v = evaluate_operand(
		(struct evaluation){(struct values *)(uintptr_t)vs, NULL, 0, NULL}, 0, o);

	return range_is_constant(&v, c);
}

static bool fits(int64_t lo, int64_t hi, uint32_t bits, bool is_signed)
{
	if (bits >= 63)
		return lo > -VALUE_FAR && hi < VALUE_FAR && (is_signed || lo >= 0);
	if (is_signed)
		return lo >= -(INT64_C(1) << (bits - 1)) && hi < INT64_C(1) << (bits - 1);
	return lo >= 0 && hi < INT64_C(1) << bits;
}

/* As the type has it. */
static int64_t wrapped(int64_t v, uint32_t bits, bool is_signed)
{
	if (bits >= 63)
		return v;
	v &= (INT64_C(1) << bits) - 1;
	return is_signed && v >> (bits - 1) ? v - (INT64_C(1) << bits) : v;
}

static int64_t min_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* y & a mask that keeps the upper bits, the sign's among them: takes off what is between 0 and the mask's
 * complement, in either reading. */
static bool undo_mask(const struct values *vs, const struct insn *insn, struct type type, struct constraint *c)
{
	int64_t k;

	if (!constant_source(vs, insn, 1, &k) || c->excludes || type.bits != c->bits)
		return false;
	int64_t most = ~wrapped(k, type.bits, true);

	if (most < 0 || most > INT32_MAX)
		return false;
	c->hi += most;
	if (type.bits < 63 && !fits(c->hi, c->hi, c->bits, c->is_signed))
		c->hi = (INT64_C(1) << (c->bits - c->is_signed)) - 1;
	return true;
}

/* y op constant = node: what the constraint on node says of y, or false. */
static bool undo(const struct values *vs, const struct constraint *c, struct constraint *out)
{
	const struct node *n = &vs->ssa.nodes[c->node];
	const struct insn *insn = &vs->fn->insns[n->insn];
	struct value y;
	int64_t k;

	if (n->previous != NONE)
		return false;
	uint32_t source = operand_node(insn_source(vs->fn, insn, 0));
	const struct operand *d = insn_operand(vs->fn, insn, 0);

	*out = *c;
	out->node = source;
	if (source == NONE || source >= vs->nsolved || d->kind != OPERAND_REG)
		return insn->op == OP_shfl && source != NONE && source < vs->nsolved;
	struct type type = insn_type(insn, 0);

	switch (insn->op) {
	case OP_shfl: /* with no predicate beside its result (with one: above) */
		return true;
	case OP_mov:
	case OP_LINK_MOV:
		return !type.is_float;
	case OP_cvt: {
		struct type to = type, from = insn_type(insn, 1);

		if (!from.bits || to.is_float || from.is_float || insn_has(insn, MOD_sat))
			return false;
		if (to.bits > from.bits) /* the same number, read in the narrow type */
			out->bits = from.bits, out->is_signed = from.is_signed;
		/* registers may be wider than both types: then the rest of the source is lost */
		return (to.bits == from.bits && c->bits == to.bits) ||
		       (to.bits > from.bits && c->bits == to.bits &&
			       (from.is_signed == c->is_signed || !from.is_signed));
	}
	case OP_add:
	case OP_sub:
		if (insn_has(insn, MOD_sat) || !constant_source(vs, insn, 1, &k) || type.bits != c->bits ||
			!reading(vs, source, c->bits, c->is_signed, &y))
			return false;
		if (insn->op == OP_sub)
			k = -k;
		if (k > VALUE_FAR / 2 || k < -VALUE_FAR / 2 || y.lo < -VALUE_FAR ||
			y.hi > VALUE_FAR)
			return false;
		if (type.bits < 63 && !c->is_signed && k >= INT64_C(1) << (type.bits - 1))
			k -= INT64_C(1) << type.bits;
		if (c->excludes) { /* one number comes from one, wrapped or not */
			out->lo = out->hi = wrapped(c->lo - k, c->bits, c->is_signed);
			return fits(out->lo, out->lo, c->bits, c->is_signed);
		}
		if (fits(y.lo + k, y.hi + k, c->bits, c->is_signed)) {
			out->lo = c->lo - k;
			out->hi = c->hi - k;
			return true;
		}
		if (c->bits >= 63 || !fits(c->lo, c->hi, c->bits, c->is_signed))
			return false;
		/* an addition turns all numbers of the type by as much: what comes out in one piece is as long */
		out->lo = wrapped(c->lo - k, c->bits, c->is_signed);
		out->hi = wrapped(c->hi - k, c->bits, c->is_signed);
		return out->lo <= out->hi;
	case OP_shr:
		if (c->excludes || !constant_source(vs, insn, 1, &k) || k < 0 || k > 31 ||
			type.bits != c->bits)
			return false;
		if (type.is_signed && (!reading(vs, source, type.bits, true, &y) || y.lo < 0))
			return false;
		if (type.bits < 63) /* no more comes out */
			out->hi = min_of(c->hi, ((INT64_C(1) << (type.bits - type.is_signed)) - 1) >> k);
		if (out->lo < 0 && (k || type.is_signed)) /* nor less than 0, of whatever was shifted */
			out->lo = 0;
		if (out->hi >= INT64_C(1) << 31 || out->lo < 0 || out->lo > out->hi)
			return false;
		out->is_signed = type.is_signed;
		out->lo <<= k;
		out->hi = ((out->hi + 1) << k) - 1;
		return true;
	case OP_shl:
	case OP_mul:
		if (c->excludes || !constant_source(vs, insn, 1, &k) || insn_has(insn, MOD_hi) ||
			insn_has(insn, MOD_wide))
			return false;
		if (insn->op == OP_shl) {
			if (k < 0 || k > 30)
				return false;
			k = INT64_C(1) << k;
		}
		if (k <= 0 || k > INT32_MAX || type.bits != c->bits ||
			!reading(vs, source, c->bits, c->is_signed, &y) ||
			y.lo < -(VALUE_FAR / k) || y.hi > VALUE_FAR / k ||
			!fits(y.lo * k, y.hi * k, c->bits, c->is_signed))
			return false;
		out->lo = c->lo >= 0 ? (c->lo + k - 1) / k : c->lo / k;
		out->hi = c->hi >= 0 ? c->hi / k : -((-c->hi + k - 1) / k);
		return true;
	case OP_and:
		if (undo_mask(vs, insn, type, out))
			return true;
		/* the ends of y's range whose low bits are others go */
		if (c->excludes || !constant_source(vs, insn, 1, &k) || k <= 0 || (k & (k + 1)) ||
			k > INT32_MAX || type.bits != c->bits || c->lo < 0 || c->hi > k ||
			c->lo > c->hi || !reading(vs, source, c->bits, c->is_signed, &y) ||
			y.base != BASE_NUMBER || y.lo < 0 || y.hi > INT32_MAX)
			return false;
		out->lo = y.lo + ((y.lo & k) > c->hi   ? k + 1 - (y.lo & k) + c->lo
				  : (y.lo & k) < c->lo ? c->lo - (y.lo & k)
						       : 0);
		out->hi = y.hi - ((y.hi & k) < c->lo   ? (y.hi & k) + k + 1 - c->hi
				  : (y.hi & k) > c->hi ? (y.hi & k) - c->hi
						       : 0);
		out->assumptions |= y.assumptions;
		return out->lo <= out->hi;
	case OP_div:
		if (c->excludes || !constant_source(vs, insn, 1, &k) || k <= 0 || k > INT32_MAX ||
			c->lo < 0 || c->hi > INT32_MAX || type.bits != c->bits ||
			!reading(vs, source, type.bits, type.is_signed, &y) || y.lo < 0)
			return false;
		out->is_signed = type.is_signed;
		out->lo = c->lo * k;
		out->hi = c->hi * k + k - 1;
		return true;
	default:
		return false;
	}
}

/* The value is the same in all lanes of a warp as long as blocks are one-dimensional: multiples of
 * a warp by %tid.x, and what is computed from them. */
static bool same_in_warp(const struct values *vs, uint32_t node, uint32_t depth)
{
	if (!known(vs, node) || !depth)
		return false;
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn = &vs->fn->insns[n->insn];
	const struct operand *a = insn_source(vs->fn, insn, 0);
	int64_t k;

	if (n->previous != NONE || !a)
		return false;
	if (insn->op == OP_shr && constant_source(vs, insn, 1, &k) && k >= 5 &&
		a->kind == OPERAND_REG) {
		uint32_t source = operand_node(a);

		if (!known(vs, source))
			return false;
		const struct insn *def = &vs->fn->insns[vs->ssa.nodes[source].insn];
		const struct operand *from = insn_source(vs->fn, def, 0);

		if (vs->ssa.nodes[source].previous == NONE && def->op == OP_mov && from &&
			from->kind == OPERAND_SPECIAL && from->special == SPECIAL_TID_X)
			return true;
	}
	if (insn->op == OP_shr || insn->op == OP_and || insn->op == OP_cvt || insn->op == OP_mov ||
		insn->op == OP_LINK_MOV || insn->op == OP_shl || insn->op == OP_add) {
		bool constant = insn->op == OP_cvt || insn->op == OP_mov ||
				insn->op == OP_LINK_MOV || constant_source(vs, insn, 1, &k);

		return constant && same_in_warp(vs, operand_node(a), depth - 1);
	}
	if (insn->op == OP_shfl)
		return same_in_warp(vs, operand_node(a), depth - 1);
	return false;
}

static void put(const struct values *vs, struct context *context, struct constraint c)
{
	for (uint32_t steps = 0; steps < 8 && context->n < CONTEXT_MAX; steps++) {
		struct constraint next;

		/* said of the whole register, not of a part of it */
		if (c.node >= vs->nsolved || node_bits(vs, c.node) != c.bits)
			return;
		context->v[context->n++] = c;
		if (!known(vs, c.node) || !undo(vs, &c, &next))
			return;
		if (vs->fn->insns[vs->ssa.nodes[c.node].insn].op == OP_shfl) {
			/* another lane's value is this one's, if all lanes have the same */
			if (!vs->flat || !(vs->options->assume & ASSUME_FLAT_BLOCK) ||
				!same_in_warp(vs, next.node, 6))
				return;
			next.assumptions |= ASSUME_FLAT_BLOCK;
		}
		c = next;
	}
}

static enum compare inverse(enum compare c)
{
	static const uint8_t other[] = {COMPARE_NONE, COMPARE_NE, COMPARE_EQ, COMPARE_GE,
		COMPARE_GT, COMPARE_LE, COMPARE_LT};

	return (enum compare)other[c];
}

static enum compare mirror(enum compare c)
{
	static const uint8_t other[] = {COMPARE_NONE, COMPARE_EQ, COMPARE_NE, COMPARE_GT,
		COMPARE_GE, COMPARE_LT, COMPARE_LE};

	return (enum compare)other[c];
}

/* node c [lo of bound, hi of bound], for whatever the bound is. */
static void put_comparison(const struct values *vs, struct context *context, uint32_t node,
	enum compare c, struct value bound, struct type type)
{
	struct constraint out = {.node = node,
		.bits = type.bits,
		.is_signed = type.is_signed,
		.lo = INT64_MIN,
		.hi = INT64_MAX,
		.assumptions = bound.assumptions};

	if (node == NONE || node >= vs->nsolved || range_is_empty(&bound))
		return;
	switch (c) {
	case COMPARE_EQ:
		out.lo = bound.lo < -VALUE_FAR ? INT64_MIN : bound.lo;
		out.hi = bound.hi > VALUE_FAR ? INT64_MAX : bound.hi;
		break;
	case COMPARE_NE: {
		if (bound.lo != bound.hi)
			return;
		out.excludes = true;
		out.lo = out.hi = bound.lo;
		/* without its first or last member a set is an interval again, which can be undone
		 */
		struct value all;

		if (reading(vs, node, type.bits, type.is_signed, &all) && all.base == BASE_NUMBER &&
			all.lo > -VALUE_FAR && all.hi < VALUE_FAR && all.lo < all.hi &&
			(all.lo == bound.lo || all.hi == bound.lo)) {
			out.excludes = false;
			out.lo = all.lo + (all.lo == bound.lo ? (int64_t)all.stride : 0);
			out.hi = all.hi - (all.hi == bound.lo ? (int64_t)all.stride : 0);
			out.assumptions |= all.assumptions;
		}
		break;
	}
	case COMPARE_LT:
	case COMPARE_LE:
		if (bound.hi > VALUE_FAR)
			return;
		out.hi = bound.hi - (c == COMPARE_LT);
		out.lo = type.is_signed ? INT64_MIN : 0;
		break;
	case COMPARE_GT:
	case COMPARE_GE:
		if (bound.lo < -VALUE_FAR)
			return;
		out.lo = bound.lo + (c == COMPARE_GT);
		break;
	case COMPARE_NONE:
		return;
	}
	/* fill open ends with the type's own, so that they can be carried through arithmetic */
	if (type.bits < 63) {
		int64_t least = type.is_signed ? -(INT64_C(1) << (type.bits - 1)) : 0;
		int64_t most = least + (int64_t)((UINT64_C(1) << type.bits) - 1);

		out.lo = out.lo < least ? least : out.lo;
		out.hi = out.hi > most ? most : out.hi;
	} else {
		out.lo = out.lo < -2 * VALUE_FAR ? -2 * VALUE_FAR : out.lo;
		out.hi = out.hi > 2 * VALUE_FAR ? 2 * VALUE_FAR : out.hi;
		if (!out.excludes && (out.lo < -VALUE_FAR || out.hi > VALUE_FAR)) {
			if (context->n < CONTEXT_MAX)
				context->v[context->n++] = out;
			return;
		}
	}
	put(vs, context, out);
}

static void add_comparison(struct values *vs, struct context *context, const struct insn *insn,
	uint32_t at, bool holds)
{
	struct type type = insn_type(insn, 0);
	const struct operand *a = insn_source(vs->fn, insn, 0), *b = insn_source(vs->fn, insn, 1);
	struct evaluation plain = {vs, NULL, 0, NULL};
	bool is_unsigned;
	enum compare c = insn_compare(insn, &is_unsigned);

	if (type.is_float || !type.bits || !a || !b || c == COMPARE_NONE)
		return;
	if (!holds)
		c = inverse(c);
	struct value x = evaluate_operand(plain, at, a), y = evaluate_operand(plain, at, b);

	if (x.base != BASE_NUMBER && y.base != BASE_NUMBER)
		return;
	y = type.is_signed ? range_signed(&y, type.bits) : range_unsigned(&y, type.bits);
	x = type.is_signed ? range_signed(&x, type.bits) : range_unsigned(&x, type.bits);
	put_comparison(vs, context, operand_node(a), c, y, type);
	put_comparison(vs, context, operand_node(b), mirror(c), x, type);
}

struct goal {
	uint32_t node;
	bool holds;
};

static void push_operand(struct goal *stack, uint32_t *n,
	const struct operand *o, bool holds)
{
	uint32_t node = operand_node(o);

	if (node != NONE && *n < 16)
		stack[(*n)++] = (struct goal){node, holds != o->negated};
}

/* r = selp(1, 0, p): true means p. */
static bool boolean_select(
	const struct values *vs, uint32_t node, const struct operand **p, bool *sense)
{
	int64_t one, zero;

	if (!known(vs, node))
		return false;
	const struct insn *insn = &vs->fn->insns[vs->ssa.nodes[node].insn];

	if (insn->op != OP_selp || vs->ssa.nodes[node].previous != NONE ||
		!constant_source(vs, insn, 0, &one) || !constant_source(vs, insn, 1, &zero) ||
		(one != 0) == (zero != 0))
		return false;
	*p = insn_source(vs->fn, insn, 2);
	*sense = one != 0;
	return *p != NULL;
}

static void take_apart(struct values *vs, struct context *context, struct goal goal,
	struct goal *stack, uint32_t *n)
{
	if (!known(vs, goal.node) || vs->ssa.nodes[goal.node].previous != NONE)
		return;
	uint32_t at = vs->ssa.nodes[goal.node].insn;
	const struct insn *insn = &vs->fn->insns[at];
	const struct operand *a = insn_source(vs->fn, insn, 0), *b = insn_source(vs->fn, insn, 1);
	const struct operand *p, *d = insn_operand(vs->fn, insn, 0);
	int64_t k;
	bool sense, ignored;

	switch (insn->op) {
	case OP_setp:
		if (d->kind == OPERAND_PAIR &&
			insn_slot(vs->fn, insn, vs->ssa.nodes[goal.node].reg))
			goal.holds = !goal.holds; /* the second result is the complement of the
						     comparison */
		if (insn_source(vs->fn, insn, 2)) {
			/* p = (a cmp b) op c */
			bool all = insn_has(insn, MOD_and) && goal.holds && d->kind != OPERAND_PAIR;
			bool none =
				insn_has(insn, MOD_or) && !goal.holds && d->kind != OPERAND_PAIR;

			if (!all && !none)
				return;
			push_operand(stack, n, insn_source(vs->fn, insn, 2), all);
		}
		add_comparison(vs, context, insn, at, goal.holds);
		if (a && b && boolean_select(vs, operand_node(a), &p, &sense) &&
			constant_source(vs, insn, 1, &k) && k == 0) {
			enum compare c = insn_compare(insn, &ignored);

			if (c == COMPARE_NE || c == COMPARE_EQ)
				push_operand(stack, n, p,
					((c == COMPARE_NE) == goal.holds) == sense);
		}
		return;
	case OP_and:
	case OP_or:
		if (insn_has(insn, MOD_pred) && goal.holds == (insn->op == OP_and)) {
			push_operand(stack, n, a, goal.holds);
			push_operand(stack, n, b, goal.holds);
		}
		return;
	case OP_not:
		push_operand(stack, n, a, !goal.holds);
		return;
	case OP_mov:
	case OP_LINK_MOV:
		push_operand(stack, n, a, goal.holds);
		return;
	default:
		return;
	}
}

void context_derive(struct values *vs, struct context *context, uint32_t predicate, bool holds)
{
	struct goal stack[16];
	uint32_t n = 0;

	stack[n++] = (struct goal){predicate, holds};
	for (uint32_t steps = 0; n && steps < 24; steps++) {
		struct goal goal = stack[--n];

		if (context->n < CONTEXT_MAX) /* the predicate itself */
			context->v[context->n++] = (struct constraint){
				.node = goal.node, .bits = 8, .lo = goal.holds, .hi = goal.holds};
		take_apart(vs, context, goal, stack, &n);
	}
}
