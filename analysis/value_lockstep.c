/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two registers of a loop that move in step. Compilers turn `base + k * (i % d)` into a - (i / d) *
 * (k * d), where a counts beside i: a = base + k * i in every round, though neither is computed
 * from the other. In: an addition, subtraction or multiply-add of that form. Out: base + { 0, k,
 * ..., k * (d - 1) }; with an i that has a sign, k times what remains of its values. What is found
 * depends on the text alone; only the bases, and such an i, have values that grow. They lie behind
 * phis, where the solver does not look by itself, so it is told of them.
 */
#include "analysis/value_private.h"

__extension__ typedef unsigned __int128 uwide;

struct pair { /* phis of one block: a = base + k * i + offset, modulo 2^32 */
	uint32_t a, i, offset;
};

struct base { /* contents of a node, or 0 (NONE), + moved */
	uint32_t node, moved;
};

struct lockstep {
	const struct values *vs;
	uint32_t k, step; /* of what asks: a + step - q * k * d */
	uint64_t d;
	struct pair pairs[LOCKSTEP_MOST];
	struct base bases[LOCKSTEP_MOST];
	uint32_t npairs, nbases;
	uint32_t i;		    /* the phi that has a sign; NONE: it has none */
	const struct operand *more; /* is added to it, or NULL */
};

struct linear { /* node + factor * (the low half of `of`) + constant; nodes: or NONE */
	uint32_t node, of, factor, constant;
};

static const struct insn *definition(const struct values *vs, uint32_t node)
{
	if (node == NONE || vs->ssa.nodes[node].kind != NODE_DEF ||
		vs->ssa.nodes[node].previous != NONE)
		return NULL;
	return &vs->fn->insns[vs->ssa.nodes[node].insn];
}

static uint32_t source(const struct values *vs, const struct insn *insn, uint32_t k)
{
	return trips_plain_node(vs, insn_source(vs->fn, insn, k));
}

static bool constant(const struct values *vs, const struct insn *insn, uint32_t k, uint64_t *c)
{
	int64_t is_signed;

	if (!trips_constant_of(vs, insn_source(vs->fn, insn, k), &is_signed))
		return false;
	*c = (uint64_t)is_signed;
	return true;
}

/* cvt to 32 bits of a register of 64: gives the latter, or NONE. */
static uint32_t low_half(const struct values *vs, const struct insn *insn)
{
	if (!insn || insn->op != OP_cvt || insn_type(insn, 0).bits != 32 ||
		insn_type(insn, 0).is_float || insn_type(insn, 1).bits != 64 ||
		insn_type(insn, 1).is_float || insn_has(insn, MOD_sat))
		return NONE;
	uint32_t whole = source(vs, insn, 0);

	return whole != NONE && node_bits(vs, whole) == 64 ? whole : NONE;
}

/* The register without sign whose quotient the node is for all its contents, cut to 32 bits; NONE:
 * it is none. */
static uint32_t divided(const struct values *vs, uint32_t node, uint64_t *d)
{
	const struct insn *insn = definition(vs, node);
	uint64_t shift = 0, factor;
	bool wide = false; /* the upper half of a product of 64 bits */

	if (insn && insn->op == OP_cvt)
		insn = definition(vs, low_half(vs, insn));
	if (insn && insn->op == OP_shr) {
		wide = insn_type(insn, 0).bits == 64;
		if (insn_type(insn, 0).is_signed || !constant(vs, insn, 1, &shift))
			return NONE;
		insn = definition(vs, source(vs, insn, 0));
		wide = wide && insn && insn->op == OP_mul && insn_has(insn, MOD_wide);
		if (wide && shift < 32)
			return NONE;
		shift -= wide ? 32 : 0;
		if (shift > 31)
			return NONE;
	}
	if (!insn || insn->op != OP_mul || !insn_has(insn, wide ? MOD_wide : MOD_hi) ||
		insn_type(insn, 0).is_signed || !constant(vs, insn, 1, &factor) ||
		(wide && insn_type(insn, 0).bits != 32))
		return NONE;
	uint32_t bits = insn_type(insn, 0).bits, x = source(vs, insn, 0);

	if ((bits != 32 && bits != 64) || x == NONE || node_bits(vs, x) != bits)
		return NONE;
	if (bits == 32)
		factor = (uint32_t)factor;
	if (factor < 2)
		return NONE;
	uwide power = (uwide)1 << (bits + shift), most = bits == 32 ? UINT32_MAX : UINT64_MAX;
	uwide divisor = (power + factor - 1) / factor;

	if (divisor < 2 || divisor > INT32_MAX)
		return NONE;
	/* floor(x * factor / power) is floor(x / d) for all x if factor * d is so little above
	 * power that the excess does not add up to 1 */
	uwide excess = factor * divisor - power;

	*d = (uint64_t)divisor;
	return excess <= INT32_MAX && excess * most < power ? x : NONE;
}

static bool is_shift(const struct values *vs, const struct insn *insn, bool is_signed, uint64_t *by)
{
	return insn && insn->op == OP_shr && insn_type(insn, 0).bits == 32 &&
	       insn_type(insn, 0).is_signed == is_signed && constant(vs, insn, 1, by);
}

/* x + 2^k - 1 where x is negative, else x: what is shifted then is cut towards zero. Gives x, or
 * NONE. */
static uint32_t biased(const struct values *vs, const struct insn *add, uint32_t k)
{
	uint64_t by;

	for (uint32_t n = 0; n < 2; n++) {
		uint32_t x = source(vs, add, n);
		const struct insn *bias = definition(vs, source(vs, add, 1 - n));

		if (x == NONE || !is_shift(vs, bias, false, &by) || by != 32 - k)
			continue;
		if (k == 1 && source(vs, bias, 0) == x)
			return x;
		const struct insn *sign = definition(vs, source(vs, bias, 0));

		if (is_shift(vs, sign, true, &by) && by == 31 && source(vs, sign, 0) == x)
			return x;
	}
	return NONE;
}

/* The upper part of x * factor, and one more where that is negative. Gives x, or NONE. */
static uint32_t multiplied(const struct values *vs, const struct insn *add, uint64_t *d)
{
	for (uint32_t n = 0; n < 2; n++) {
		uint32_t upper = source(vs, add, n);
		const struct insn *shift = definition(vs, upper),
				  *sign = definition(vs, source(vs, add, 1 - n));
		uint64_t by, k = 0, factor;

		if (!is_shift(vs, sign, false, &by) || by != 31)
			continue;
		if (is_shift(vs, shift, true, &k))
			upper = source(vs, shift, 0);
		const struct insn *mul = definition(vs, upper);

		if (k > 30 || source(vs, sign, 0) != upper || !mul || mul->op != OP_mul ||
			!insn_has(mul, MOD_hi) || insn_type(mul, 0).bits != 32 ||
			!insn_type(mul, 0).is_signed || !constant(vs, mul, 1, &factor) ||
			(int32_t)(uint32_t)factor <= 1)
			continue;
		factor = (uint32_t)factor;
		*d = ((UINT64_C(1) << (32 + k)) + factor - 1) / factor;
		if (idiom_divides_signed((uint32_t)factor, 32 + (uint32_t)k, *d))
			return source(vs, mul, 0);
	}
	return NONE;
}

/* The same for a register with a sign, whose quotient is cut towards zero. */
static uint32_t divided_signed(const struct values *vs, uint32_t node, uint64_t *d)
{
	const struct insn *insn = definition(vs, node), *add = insn;
	uint64_t k = 0;

	if (is_shift(vs, insn, true, &k)) {
		if (!k || k > 30)
			return NONE;
		*d = UINT64_C(1) << k;
		add = definition(vs, source(vs, insn, 0));
	}
	if (!add || add->op != OP_add || insn_type(add, 0).bits != 32 || insn_has(add, MOD_sat))
		return NONE;
	return k ? biased(vs, add, (uint32_t)k) : multiplied(vs, add, d);
}

static struct linear linear_of(const struct values *, uint32_t node, uint32_t depth);

/* false: the operand is neither a constant nor a whole register. */
static bool linear_source(const struct values *vs, const struct insn *insn, uint32_t k,
	uint32_t depth, struct linear *l)
{
	uint64_t c;

	if (constant(vs, insn, k, &c)) {
		*l = (struct linear){NONE, NONE, 0, (uint32_t)c};
		return true;
	}
	uint32_t node = source(vs, insn, k);

	if (node == NONE)
		return false;
	*l = linear_of(vs, node, depth);
	return true;
}

/* A register of 32 bits as a sum; what is not understood is a node of its own. */
static struct linear linear_of(const struct values *vs, uint32_t node, uint32_t depth)
{
	const struct linear itself = {node, NONE, 0, 0};
	const struct insn *insn = definition(vs, node);
	struct linear x, y;
	uint64_t by;
	uint32_t of;

	if (!insn || !depth || insn_has(insn, MOD_sat) || insn_type(insn, 0).is_float ||
		insn_type(insn, 0).bits != 32)
		return itself;
	switch (insn->op) {
	case OP_mov:
		return linear_source(vs, insn, 0, depth - 1, &x) ? x : itself;
	case OP_add:
		if (!linear_source(vs, insn, 0, depth - 1, &x) ||
			!linear_source(vs, insn, 1, depth - 1, &y) ||
			(x.node != NONE && y.node != NONE) || (x.of != NONE && y.of != NONE))
			return itself;
		return (struct linear){x.node != NONE ? x.node : y.node, x.of != NONE ? x.of : y.of,
			x.factor + y.factor, x.constant + y.constant};
	case OP_shl:
		of = low_half(vs, definition(vs, source(vs, insn, 0)));
		if (of == NONE)
			of = source(vs, insn, 0);
		if (of == NONE || !constant(vs, insn, 1, &by) || by > 31)
			return itself;
		return (struct linear){NONE, of, UINT32_C(1) << by, 0};
	default:
		return itself;
	}
}

/* The register as a constant (of NONE), or as one added to `of`; false: it is neither. */
static bool distance(const struct values *vs, uint32_t node, uint32_t of, uint32_t *step)
{
	int64_t sum = 0;

	for (uint32_t n = 0; node != of && n < 6; n++) {
		const struct insn *insn = definition(vs, node);
		uint64_t c;

		if (of == NONE && insn && insn->op == OP_mov && constant(vs, insn, 0, &c)) {
			*step = (uint32_t)((uint64_t)sum + c);
			return true;
		}
		node = trips_step_back(vs, node, &sum);
		if (node == NONE)
			return false;
	}
	*step = (uint32_t)(uint64_t)sum;
	return node == of && of != NONE;
}

/* The way into a pair from where they do not move in step: a - k * i - offset is a base. */
static bool add_base(struct lockstep *l, const struct pair *pair, uint32_t a, uint32_t i)
{
	struct linear sum = linear_of(l->vs, a, 6);
	uint32_t step;

	if (sum.of != NONE && (sum.factor != l->k || !distance(l->vs, i, sum.of, &step)))
		sum = (struct linear){a, NONE, 0, 0};
	if (l->nbases == LOCKSTEP_MOST || (sum.of == NONE && !distance(l->vs, i, NONE, &step)))
		return false;
	l->bases[l->nbases++] = (struct base){sum.node, sum.constant - l->k * step - pair->offset};
	return true;
}

static bool add_pair(struct lockstep *l, uint32_t a, uint32_t i, uint32_t offset)
{
	for (uint32_t p = 0; p < l->npairs; p++)
		if (l->pairs[p].a == a && l->pairs[p].i == i)
			return l->pairs[p].offset == offset;
	if (l->npairs == LOCKSTEP_MOST)
		return false;
	l->pairs[l->npairs++] = (struct pair){a, i, offset};
	return true;
}

/* Follows both phis of a pair back on each way into their block. A register that is computed from
 * phis holds what their latest contents gave, as they dominate it; those of one block change
 * together. */
static bool follow(struct lockstep *l, const struct pair pair)
{
	const struct values *vs = l->vs;
	const struct node *a = &vs->ssa.nodes[pair.a], *i = &vs->ssa.nodes[pair.i];

	for (uint32_t k = 0; k < vs->cfg->blocks[a->block].pred.n; k++) {
		uint32_t from_a = vs->ssa.inputs[a->input + k],
			 from_i = vs->ssa.inputs[i->input + k];
		int64_t a_step, i_step;

		if (from_a >= vs->nsolved || from_i >= vs->nsolved ||
			vs->ssa.nodes[from_a].kind == NODE_UNDEFINED ||
			vs->ssa.nodes[from_i].kind == NODE_UNDEFINED)
			return false;
		uint32_t below_a = trips_phi_below(vs, from_a, &a_step),
			 below_i = trips_phi_below(vs, from_i, &i_step);

		if (below_a != NONE && below_i != NONE &&
			vs->ssa.nodes[below_a].block == vs->ssa.nodes[below_i].block) {
			if (!add_pair(l, below_a, below_i,
				    pair.offset + l->k * (uint32_t)(uint64_t)i_step -
					    (uint32_t)(uint64_t)a_step))
				return false;
		} else if (!add_base(l, &pair, from_a, from_i)) {
			return false;
		}
	}
	return true;
}

/* a - q * product */
static bool find(struct lockstep *l, uint32_t a, uint32_t q, int64_t product)
{
	const struct values *vs = l->vs;
	int64_t step;
	uint32_t i = divided(vs, q, &l->d), phi = trips_phi_below(vs, a, &step);

	l->i = NONE;
	if (i == NONE)
		l->i = i = divided_signed(vs, q, &l->d);
	if (i == NONE || phi == NONE || vs->ssa.nodes[i].kind != NODE_PHI || product <= 0 ||
		product > INT32_MAX || vs->ssa.nodes[i].block != vs->ssa.nodes[phi].block ||
		node_bits(vs, phi) != 32 || (uint64_t)product % l->d)
		return false;
	l->k = (uint32_t)((uint64_t)product / l->d);
	l->step = (uint32_t)(uint64_t)step;
	l->npairs = l->nbases = 0;
	if (!add_pair(l, phi, i, 0))
		return false;
	for (uint32_t p = 0; p < l->npairs; p++)
		if (!follow(l, l->pairs[p]))
			return false;
	return true;
}

/* a - the product that the node is */
static bool find_difference(struct lockstep *l, uint32_t a, uint32_t node)
{
	const struct insn *mul = definition(l->vs, node);
	uint64_t product;

	if (!mul || insn_type(mul, 0).bits != 32 || !constant(l->vs, mul, 1, &product))
		return false;
	if (mul->op == OP_shl)
		product = product < 31 ? UINT64_C(1) << product : 0;
	else if (mul->op != OP_mul || !insn_has(mul, MOD_lo))
		return false;
	return find(l, a, source(l->vs, mul, 0), (int32_t)(uint32_t)product);
}

static bool recognise(struct lockstep *l, const struct insn *insn)
{
	const struct values *vs = l->vs;
	uint64_t product;

	if (insn_type(insn, 0).bits != 32 || insn_type(insn, 0).is_float || insn_has(insn, MOD_sat))
		return false;
	switch (insn->op) {
	case OP_mad:
		return insn_has(insn, MOD_lo) && constant(vs, insn, 1, &product) &&
		       find(l, source(vs, insn, 2), source(vs, insn, 0),
			       -(int64_t)(int32_t)(uint32_t)product);
	case OP_sub:
		return find_difference(l, source(vs, insn, 0), source(vs, insn, 1));
	case OP_add: /* (more - q * product) + a, or q * -product + a */
		for (uint32_t k = 0; k < 2; k++) {
			const struct insn *sub = definition(vs, source(vs, insn, k));

			if (sub && sub->op == OP_mul && insn_has(sub, MOD_lo) &&
				insn_type(sub, 0).bits == 32 && constant(vs, sub, 1, &product) &&
				(int32_t)(uint32_t)product < 0 &&
				find(l, source(vs, insn, 1 - k), source(vs, sub, 0),
					-(int64_t)(int32_t)(uint32_t)product))
				return true;

			if (!sub || sub->op != OP_sub || insn_type(sub, 0).bits != 32 ||
				insn_has(sub, MOD_sat) ||
				!find_difference(l, source(vs, insn, 1 - k), source(vs, sub, 1)))
				continue;
			l->more = insn_source(vs->fn, sub, 0);
			return true;
		}
		return false;
	default:
		return false;
	}
}

/* The form is looked for once per instruction: most have it not. */
static bool has_form(struct values *vs, struct lockstep *l, const struct insn *insn)
{
	*l = (struct lockstep){.vs = vs};
	if (recognise(l, insn))
		return true;
	if (!vs->plain)
		vs->plain = ARENA_NEW(vs->arena, bool, vs->fn->ninsns + 1);
	vs->plain[insn - vs->fn->insns] = true;
	return false;
}

uint32_t lockstep_reads(struct values *vs, const struct insn *insn, uint32_t *nodes)
{
	struct lockstep l;
	uint32_t n = 0;

	if (lockstep_is_plain(vs, insn) || !has_form(vs, &l, insn))
		return 0;
	for (uint32_t b = 0; b < l.nbases; b++)
		if (l.bases[b].node != NONE)
			nodes[n++] = l.bases[b].node;
	if (l.i != NONE)
		nodes[n++] = l.i;
	return n;
}

static struct value add(struct values *vs, const struct value *a, const struct value *b)
{
	if (range_is_empty(a) || range_is_empty(b))
		return range_empty();
	if (a->base == BASE_DESCRIPTOR && b->base == BASE_DESCRIPTOR)
		return range_top(32);
	if (a->base == BASE_DESCRIPTOR)
		return descriptor_add(vs, a, b);
	if (b->base == BASE_DESCRIPTOR)
		return descriptor_add(vs, b, a);
	return range_add(a, b, 32);
}

bool lockstep_evaluate(struct evaluation e, const struct insn *insn, struct value *out)
{
	struct values *vs = e.values;
	struct lockstep l;

	if (lockstep_is_plain(vs, insn) || !has_form(vs, &l, insn))
		return false;
	struct value sum = range_empty(), rounds = range_span(0, (int64_t)(l.k * (l.d - 1)), l.k);

	if (l.i != NONE) {
		struct value i = *value_at(vs, l.i), d = range_constant((int64_t)l.d),
			     k = range_constant(l.k);

		if (range_is_empty(&i))
			return false;
		i = range_signed(&i, 32);
		i = range_rem(&i, &d);
		rounds = range_mul(&i, &k, 32);
	}

	for (uint32_t b = 0; b < l.nbases; b++) {
		struct value moved = range_constant((int32_t)(l.bases[b].moved + l.step)),
			     base = l.bases[b].node == NONE ? range_constant(0)
							    : *value_at(vs, l.bases[b].node);

		base = add(vs, &base, &moved);
		sum = values_join(vs, &sum, &base, 32);
	}
	*out = add(vs, &sum, &rounds);
	if (l.more) {
		struct value more = evaluate_operand(e, 0, l.more);

		*out = add(vs, out, &more);
	}
	return true;
}
