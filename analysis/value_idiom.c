/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences whose two sides depend on each other: x - (x / d) * d in the forms that compilers
 * give it (division by multiplication, rounding by masks). In: a subtraction or a multiply-add.
 * Out: the remainder's range. Each form is accepted only if its constants make it exact for all
 * contents of x.
 */
#include "analysis/value_private.h"

__extension__ typedef unsigned __int128 uwide;

struct walker {
	struct evaluation e;
	const struct function *fn;
};

/* The definition that an operand reads, through copies; NULL: none that computes something. */
static const struct insn *definition(
	const struct walker *w, const struct operand *o, uint32_t *node)
{
	const struct values *vs = w->e.values;

	for (uint32_t steps = 0; steps < 8; steps++) {
		if (!o || o->kind != OPERAND_REG || o->offset || o->component || o->negated)
			return NULL;
		*node = o->node;
		if (*node == NONE || *node >= vs->nsolved)
			return NULL;
		const struct node *n = &vs->ssa.nodes[*node];

		if (n->kind != NODE_DEF || n->previous != NONE)
			return NULL;
		const struct insn *insn = &w->fn->insns[n->insn];
		const struct operand *d = insn_operand(w->fn, insn, 0),
				     *s = insn_source(w->fn, insn, 0);

		if (insn->op != OP_mov || d->kind != OPERAND_REG || !s || s->kind != OPERAND_REG)
			return insn_has(insn, MOD_sat) ? NULL : insn;
		o = s;
	}
	return NULL;
}

/* The node that a register operand holds, copies looked through; NONE otherwise. */
static uint32_t root(const struct walker *w, const struct operand *o)
{
	const struct values *vs = w->e.values;
	uint32_t node = NONE;

	for (uint32_t steps = 0; steps < 8; steps++) {
		if (!o || o->kind != OPERAND_REG || o->offset || o->component || o->negated)
			return node;
		uint32_t next = o->node;

		if (next == NONE || next >= vs->nsolved)
			return node;
		node = next;
		const struct node *n = &vs->ssa.nodes[node];

		if (n->kind != NODE_DEF || n->previous != NONE ||
			w->fn->insns[n->insn].op != OP_mov)
			return node;
		const struct insn *insn = &w->fn->insns[n->insn];
		const struct operand *d = insn_operand(w->fn, insn, 0);

		if (d->kind != OPERAND_REG)
			return node;
		o = insn_source(w->fn, insn, 0);
	}
	return node;
}

static bool constant(const struct walker *w, const struct operand *o, int64_t *c)
{
	if (!o || (o->kind != OPERAND_IMM && o->kind != OPERAND_REG))
		return false;
	struct value v = evaluate_operand((struct evaluation){w->e.values, NULL, 0, NULL}, 0, o);

	return range_is_constant(&v, c);
}

/* cvt that cuts 64 bits to 32; to fewer, a quotient may lose more than zeros. */
static bool is_low_half(const struct insn *insn)
{
	return insn->op == OP_cvt && insn_type(insn, 0).bits == 32 &&
	       !insn_type(insn, 0).is_float && insn_type(insn, 1).bits == 64 &&
	       !insn_type(insn, 1).is_float && !insn_has(insn, MOD_sat);
}

static struct value reading(
	const struct walker *w, const struct operand *o, uint32_t bits, bool is_signed)
{
	struct value v = evaluate_operand(w->e, 0, o);

	return is_signed ? range_signed(&v, bits) : range_unsigned(&v, bits);
}

/* floor(v * factor / 2^shift) == floor(v / d) for 0 <= v <= most? */
static bool divides(uwide factor, uint32_t shift, uint64_t d, uint64_t most)
{
	uwide power = (uwide)1 << shift, product = factor * d;

	if (!d || product < power)
		return false;
	return (uwide)most * (product - power) < power;
}

/* floor(v * factor / 2^shift), and one more where v is negative, is v / d cut towards zero for all v of
 * 32 bits? With factor * d = 2^shift + excess, v * factor / 2^shift lies v * excess / (d * 2^shift)
 * away from v / d. For v >= 0 that must stay below the 1 / d that is left up to the next integer;
 * for v < 0 it may be as much, but not nothing, since a multiple of d is to be cut to the integer
 * below. */
bool idiom_divides_signed(uint32_t factor, uint32_t shift, uint64_t d)
{
	uwide power = (uwide)1 << shift, product = (uwide)factor * d;

	return product > power && (product - power) << 31 <= power;
}

/* The upper half of x * factor, unsigned: mul.hi, or mul.wide shifted by 32. */
static const struct insn *upper_half(
	const struct walker *w, const struct operand *o, uint32_t x, int64_t *factor)
{
	uint32_t node;
	int64_t k;
	const struct insn *insn = definition(w, o, &node);
	bool wide = false;

	if (insn && is_low_half(insn)) {
		insn = definition(w, insn_source(w->fn, insn, 0), &node);
		if (!insn || insn->op != OP_shr || insn_type(insn, 0).is_signed ||
			!constant(w, insn_source(w->fn, insn, 1), &k) || k != 32)
			return NULL;
		insn = definition(w, insn_source(w->fn, insn, 0), &node);
		wide = true;
	}
	if (!insn || insn->op != OP_mul || !insn_has(insn, wide ? MOD_wide : MOD_hi) ||
		insn_type(insn, 0).is_signed || insn_type(insn, 0).bits != 32 ||
		root(w, insn_source(w->fn, insn, 0)) != x ||
		!constant(w, insn_source(w->fn, insn, 1), factor))
		return NULL;
	return insn;
}

/* (((x - t) >> 1) + t) >> k with t the upper half of x * m: x * (2^32 + m) / 2^(33 + k). */
static bool is_long_quotient(
	const struct walker *w, const struct operand *o, uint32_t x, uint64_t d)
{
	uint32_t node, t_node;
	int64_t k, one, factor;
	const struct insn *shift = definition(w, o, &node);

	if (!shift || shift->op != OP_shr || insn_type(shift, 0).is_signed ||
		!constant(w, insn_source(w->fn, shift, 1), &k) || k < 0 || k > 31)
		return false;
	const struct insn *add = definition(w, insn_source(w->fn, shift, 0), &node);

	if (!add || add->op != OP_add || insn_type(add, 0).bits != 32)
		return false;
	const struct operand *t = insn_source(w->fn, add, 1);
	const struct insn *half = definition(w, insn_source(w->fn, add, 0), &node);

	if (!half || half->op != OP_shr || insn_type(half, 0).is_signed ||
		!constant(w, insn_source(w->fn, half, 1), &one) || one != 1)
		return false;
	const struct insn *sub = definition(w, insn_source(w->fn, half, 0), &node);

	t_node = root(w, t);
	if (!sub || sub->op != OP_sub || root(w, insn_source(w->fn, sub, 0)) != x ||
		t_node == NONE || root(w, insn_source(w->fn, sub, 1)) != t_node ||
		!upper_half(w, t, x, &factor))
		return false;
	return divides(((uwide)1 << 32) + (uint32_t)factor, (uint32_t)k + 33, d, UINT32_MAX);
}

/* Behind a conversion from 32 bits to 16 that loses nothing: its source, else the operand itself. */
static const struct operand *before_narrowing(const struct walker *w, const struct operand *o)
{
	uint32_t node;
	const struct insn *insn = definition(w, o, &node);

	if (!insn || insn->op != OP_cvt || insn_type(insn, 0).bits != 16 ||
		insn_type(insn, 1).bits != 32 || insn_type(insn, 0).is_float ||
		insn_type(insn, 1).is_float)
		return o;
	const struct operand *from = insn_source(w->fn, insn, 0);
	struct value v = reading(w, from, 32, false);

	return v.base == BASE_NUMBER && v.hi <= UINT16_MAX ? from : o;
}

/* The operand is x (node), or its low bits where x has no others. */
static bool is_same_number(const struct walker *w, const struct operand *o, uint32_t x, uint32_t bits)
{
	uint32_t node;
	int64_t mask;

	if (root(w, o) == x)
		return true;
	const struct insn *insn = definition(w, o, &node);

	if (!insn || insn->op != OP_and || insn_type(insn, 0).bits != bits ||
		root(w, insn_source(w->fn, insn, 0)) != x ||
		!constant(w, insn_source(w->fn, insn, 1), &mask) || mask <= 0 || (mask & (mask + 1)))
		return false;
	struct value v = reading(w, insn_source(w->fn, insn, 0), bits, false);

	return v.base == BASE_NUMBER && v.hi <= mask;
}

/* (x * factor) >> k for x of 16 bits, as compilers divide counters that they know to be small. */
static bool is_short_quotient(
	const struct walker *w, const struct operand *o, uint32_t x, uint64_t d)
{
	uint32_t node;
	int64_t k, factor;
	const struct insn *shift = definition(w, before_narrowing(w, o), &node);

	if (!shift || shift->op != OP_shr || insn_type(shift, 0).is_signed ||
		insn_type(shift, 0).bits != 32 ||
		!constant(w, insn_source(w->fn, shift, 1), &k) || k < 16 || k > 31)
		return false;
	const struct insn *mul = definition(w, insn_source(w->fn, shift, 0), &node);

	if (!mul || mul->op != OP_mul || !insn_has(mul, MOD_wide) || insn_type(mul, 0).bits != 16 ||
		insn_type(mul, 0).is_signed ||
		!is_same_number(w, insn_source(w->fn, mul, 0), x, 16) ||
		!constant(w, insn_source(w->fn, mul, 1), &factor))
		return false;
	return divides((uint16_t)factor, (uint32_t)k, d, UINT16_MAX);
}

/* The operand is the quotient of x (node) by d: in *is_signed whether x is read as signed. */
static bool is_quotient(
	const struct walker *w, const struct operand *o, uint32_t x, uint64_t d, bool *is_signed)
{
	uint32_t node;
	const struct insn *insn = definition(w, o, &node);
	int64_t k = 0, factor;

	*is_signed = false;
	if (!insn)
		return false;
	if (is_long_quotient(w, o, x, d) || is_short_quotient(w, o, x, d))
		return true;
	if (is_low_half(insn)) /* of the upper half of a wide product */
		insn = definition(w, insn_source(w->fn, insn, 0), &node);
	if (!insn)
		return false;
	const struct operand *a = insn_source(w->fn, insn, 0), *b = insn_source(w->fn, insn, 1);

	if (insn->op == OP_div && root(w, a) == x && constant(w, b, &factor)) {
		*is_signed = insn_type(insn, 0).is_signed;
		return (uint64_t)factor == d;
	}
	if (insn->op == OP_shr && constant(w, b, &k) && root(w, a) == x && k >= 0 && k < 31) {
		*is_signed = insn_type(insn, 0).is_signed; /* x >> k is x / 2^k rounded down */
		return d == UINT64_C(1) << k && !*is_signed;
	}
	/* the sign is added to a signed quotient */
	if (insn->op == OP_add) {
		uint32_t other;
		const struct insn *sign = definition(w, b, &other),
				  *shift = definition(w, a, &node);
		int64_t one;

		if (!sign || !shift || sign->op != OP_shr || insn_type(sign, 0).is_signed ||
			!constant(w, insn_source(w->fn, sign, 1), &one) || one != 31)
			return false;
		const struct insn *of = definition(w, insn_source(w->fn, sign, 0), &other);

		/* the sign of x, or of the product, which has it too */
		if (root(w, insn_source(w->fn, sign, 0)) != x &&
			(!of || (of != shift &&
					of != definition(w, insn_source(w->fn, shift, 0), &other))))
			return false;
		*is_signed = true;
		insn = shift;
		a = insn_source(w->fn, insn, 0);
		b = insn_source(w->fn, insn, 1);
	}
	if (insn->op == OP_shr) {
		if (!constant(w, b, &k) || k < 0 || k > 63 ||
			insn_type(insn, 0).is_signed != *is_signed)
			return false;
		insn = definition(w, a, &node);
		if (!insn)
			return false;
		a = insn_source(w->fn, insn, 0);
		b = insn_source(w->fn, insn, 1);
	}
	if (insn->op != OP_mul || !constant(w, b, &factor))
		return false;
	bool high = insn_has(insn, MOD_hi), wide = insn_has(insn, MOD_wide);
	struct type type = insn_type(insn, 0);

	if (type.bits != 32 || (!high && !(wide && k >= 32)) || type.is_signed != *is_signed ||
		root(w, a) != x)
		return false;
	uint32_t shift = (uint32_t)k + (high ? 32 : 0);

	if (*is_signed)
		return (int32_t)factor > 0 && shift < 64 &&
		       idiom_divides_signed((uint32_t)factor, shift, d);
	struct value v = reading(w, a, 32, false);

	return shift < 100 && !range_is_empty(&v) &&
	       divides((uint32_t)factor, shift, d, (uint64_t)v.hi);
}

/* a - q * d, in `bits` bits */
static bool remainder_of(const struct walker *w, const struct operand *a, const struct operand *q,
	int64_t d, uint32_t bits, struct value *out)
{
	uint32_t x = root(w, a);
	bool is_signed;

	if (x == NONE || d <= 0 || d > INT32_MAX || !is_quotient(w, q, x, (uint64_t)d, &is_signed))
		return false;
	struct value v = reading(w, a, bits, is_signed), divisor = range_constant(d);

	*out = range_rem(&v, &divisor);
	return true;
}

/* a - (y & -2^k), where y is a or a plus a small number: modulo 2^width, which is all that is asked for. */
static bool rounding_of(const struct walker *w, const struct operand *a,
	const struct insn *and_insn, uint32_t width, struct value *out)
{
	const struct operand *y = insn_source(w->fn, and_insn, 0);
	uint32_t node, x = root(w, a);
	int64_t mask;

	uint32_t size = insn_type(and_insn, 0).bits;

	if (x == NONE || !constant(w, insn_source(w->fn, and_insn, 1), &mask) || !mask ||
		(size != 32 && size != 16))
		return false;
	uint32_t bits = (uint32_t)mask & (size == 32 ? UINT32_MAX : UINT16_MAX), k = bits ? (uint32_t)__builtin_ctz(bits) : 32;
	uint32_t top = 32 - (uint32_t)__builtin_clz(bits | 1);

	/* ones from bit k up to bit top */
	if (!k || k > size - 2 ||
		bits != (uint32_t)(((UINT64_C(1) << top) - 1) & ~((UINT64_C(1) << k) - 1)))
		return false;
	struct value sum = reading(w, y, size, false), bias = range_constant(0);

	if (top < width && (range_is_empty(&sum) || sum.hi >= INT64_C(1) << top))
		return false; /* the mask cuts off more than low bits */
	if (root(w, y) != x) {
		const struct insn *add = definition(w, y, &node);

		if (!add || add->op != OP_add)
			return false;
		const struct operand *p = insn_source(w->fn, add, 0),
				     *q = insn_source(w->fn, add, 1);

		if (root(w, p) != x) {
			const struct operand *swap = p;

			p = q;
			q = swap;
		}
		if (!q || root(w, p) != x)
			return false;
		bias = reading(w, q, size, false);
	}
	/* a - (y - y mod 2^k) = (y mod 2^k) - bias */
	struct value full = evaluate_operand(w->e, 0, y), low = range_unsigned(&full, k);

	if (range_is_empty(&bias) || range_is_empty(&low) || bias.hi >= INT64_C(1) << (size - 1))
		return false;
	*out = range_sub(&low, &bias, size);
	return true;
}

/* x - (x & (2^k - 1)), where the second operand is the mask's result: x rounded down to 2^k. `v` is what
 * x can hold. */
static bool rounded_down(const struct walker *w, const struct operand *x, const struct operand *low,
	const struct value *v, struct value *out)
{
	uint32_t node, of = root(w, x);
	const struct insn *insn = definition(w, low, &node);
	int64_t mask;

	if (of == NONE || !insn || insn->op != OP_and || insn_type(insn, 0).bits != 32 ||
		root(w, insn_source(w->fn, insn, 0)) != of ||
		!constant(w, insn_source(w->fn, insn, 1), &mask) || mask <= 0 ||
		mask >= INT64_C(1) << 30 || (mask & (mask + 1)))
		return false;
	struct value number = range_signed(v, 32), cleared = range_constant(~mask);

	if (number.base != BASE_NUMBER)
		return false;
	*out = range_and(&number, &cleared, 32);
	return true;
}

bool idiom_difference(struct evaluation e, const struct operand *const sources[2],
	const struct value values[2], struct value *out)
{
	const struct operand *a = sources[0], *b = sources[1];
	struct walker w = {e, e.values->fn};
	uint32_t node;
	const struct insn *insn = definition(&w, b, &node);
	struct value zero = range_constant(0), down;
	int64_t d;

	if (rounded_down(&w, b, a, &values[1], &down)) { /* (x & (2^k - 1)) - x */
		*out = range_sub(&zero, &down, 32);
		return true;
	}
	if (!insn)
		return false;
	if (insn->op == OP_and)
		return rounded_down(&w, a, b, &values[0], out) || rounding_of(&w, a, insn, insn_type(insn, 0).bits, out);
	uint32_t bits = insn_type(insn, 0).bits;

	if (insn->op == OP_mul && insn_has(insn, MOD_lo) && (bits == 32 || bits == 16) &&
		constant(&w, insn_source(w.fn, insn, 1), &d))
		return remainder_of(&w, a, insn_source(w.fn, insn, 0), d, bits, out);
	if (insn->op == OP_shl && insn_type(insn, 0).bits == 32 &&
		constant(&w, insn_source(w.fn, insn, 1), &d) && d > 0 && d < 31)
		return remainder_of(&w, a, insn_source(w.fn, insn, 0), INT64_C(1) << d, 32, out);
	return false;
}

/* a - b, where both are one register plus constants. */
static bool constant_apart(const struct walker *w, const struct operand *a, const struct operand *b,
	int64_t *apart)
{
	const struct values *vs = w->e.values;
	uint32_t ends[2] = {root(w, a), root(w, b)};
	int64_t offsets[2] = {0, 0};

	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t steps = 0, from; steps < 4 && ends[side] != NONE; steps++) {
			from = trips_step_back(vs, ends[side], &offsets[side]);
			if (from == NONE)
				break;
			ends[side] = from;
		}
	*apart = (int32_t)(uint32_t)(offsets[0] - offsets[1]);
	return ends[0] != NONE && ends[0] == ends[1];
}

bool idiom_sum(struct evaluation e, const struct operand *a, const struct operand *b,
	struct value *out)
{
	struct walker w = {e, e.values->fn};
	uint32_t node;
	int64_t mask, apart;
	const struct insn *or_insn = definition(&w, b, &node);

	if (!or_insn || or_insn->op != OP_or || insn_type(or_insn, 0).bits != 32 ||
		!constant(&w, insn_source(w.fn, or_insn, 1), &mask) || mask <= 0 ||
		mask >= INT64_C(1) << 30 || (mask & (mask + 1)))
		return false;
	const struct insn *not_insn = definition(&w, insn_source(w.fn, or_insn, 0), &node);

	if (!not_insn || not_insn->op != OP_not || insn_type(not_insn, 0).bits != 32)
		return false;
	const struct operand *y = insn_source(w.fn, not_insn, 0);

	if (!constant_apart(&w, a, y, &apart))
		return false;
	/* ~y | mask = -(y - y mod 2^k) - 1 */
	struct value full = evaluate_operand(e, 0, y), rest = range_constant(apart - 1),
		     low = range_unsigned(&full, (uint32_t)__builtin_ctzll((uint64_t)mask + 1));

	*out = range_add(&low, &rest, 32);
	return !range_is_empty(out);
}

bool idiom_shifted(struct evaluation e, const struct operand *from, uint32_t by, struct value *out)
{
	struct walker w = {e, e.values->fn};
	uint32_t node;
	const struct insn *sub = definition(&w, from, &node);
	const struct insn *and_insn =
		sub && sub->op == OP_sub && insn_type(sub, 0).bits == 32 && !insn_has(sub, MOD_sat)
			? definition(&w, insn_source(w.fn, sub, 1), &node)
			: NULL;

	return by < 32 && and_insn && and_insn->op == OP_and &&
	       rounding_of(&w, insn_source(w.fn, sub, 0), and_insn, 32 - by, out);
}

bool idiom_multiply_add(struct evaluation e, const struct insn *insn, struct value *out)
{
	struct walker w = {e, e.values->fn};
	const struct operand *q = insn_source(w.fn, insn, 0), *f = insn_source(w.fn, insn, 1),
			     *a = insn_source(w.fn, insn, 2);
	int64_t d;

	if (!a || !insn_has(insn, MOD_lo) || insn_type(insn, 0).bits != 32 || !constant(&w, f, &d))
		return false;
	d = (int32_t)d;
	return d < 0 && remainder_of(&w, a, q, -d, 32, out);
}

/* x & (2^k - 1), compared with zero by the predicate: gives x's operand and k. */
static const struct operand *tests_low_bits(
	const struct walker *w, const struct operand *p, bool *equal, int64_t *mask, uint32_t *low)
{
	uint32_t node;
	const struct insn *test = definition(w, p, &node);
	bool is_unsigned;
	int64_t zero;

	/* the second result of setp says the opposite */
	if (!test || test->op != OP_setp || insn_source(w->fn, test, 2) ||
		insn_operand(w->fn, test, 0)->kind != OPERAND_REG ||
		!constant(w, insn_source(w->fn, test, 1), &zero) || zero)
		return NULL;
	enum compare c = insn_compare(test, &is_unsigned);
	const struct insn *and_insn = definition(w, insn_source(w->fn, test, 0), low);

	if ((c != COMPARE_EQ && c != COMPARE_NE) || !and_insn || and_insn->op != OP_and ||
		!constant(w, insn_source(w->fn, and_insn, 1), mask) || *mask <= 0 ||
		*mask >= 1 << 16 || (*mask & (*mask + 1)))
		return NULL;
	*equal = c == COMPARE_EQ;
	return insn_source(w->fn, and_insn, 0);
}

/* The operand is x + (2^k - low), in either order and grouping. */
static bool adds_up(
	const struct walker *w, const struct operand *o, uint32_t x, uint32_t low, int64_t size)
{
	uint32_t node;
	const struct insn *add = definition(w, o, &node);

	if (!add || add->op != OP_add)
		return false;
	for (uint32_t k = 0; k < 2; k++) {
		const struct operand *p = insn_source(w->fn, add, k),
				     *q = insn_source(w->fn, add, 1 - k);
		const struct insn *sub = definition(w, p, &node);
		int64_t c;

		if (root(w, q) == x && sub && sub->op == OP_sub &&
			constant(w, insn_source(w->fn, sub, 0), &c) && c == size &&
			root(w, insn_source(w->fn, sub, 1)) == low)
			return true;
		/* (x - low) + 2^k, (x + 2^k) - low is not seen */
		if (constant(w, q, &c) && c == size && sub && sub->op == OP_sub &&
			root(w, insn_source(w->fn, sub, 0)) == x &&
			root(w, insn_source(w->fn, sub, 1)) == low)
			return true;
	}
	return false;
}

/* selp d, x, x + (P - (x & (P-1))), (x & (P-1)) == 0: x rounded up to P. */
bool idiom_align_up(struct evaluation e, const struct insn *select, struct value *out)
{
	struct walker w = {e, e.values->fn};
	const struct operand *p = insn_source(w.fn, select, 2);
	bool equal;
	int64_t mask;
	uint32_t low;

	if (!p || p->kind != OPERAND_REG || p->negated)
		return false;
	const struct operand *from = tests_low_bits(&w, p, &equal, &mask, &low);

	if (!from)
		return false;
	const struct operand *same = insn_source(w.fn, select, equal ? 0 : 1);
	const struct operand *moved = insn_source(w.fn, select, equal ? 1 : 0);
	uint32_t x = root(&w, from);

	if (x == NONE || root(&w, same) != x || !adds_up(&w, moved, x, low, mask + 1))
		return false;
	struct value v = evaluate_operand(e, 0, from);

	return derived_align_up(e.values, &v, (uint32_t)__builtin_ctzll((uint64_t)mask + 1), out);
}
