/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an arithmetic instruction and what its operands can hold. Out: what the result can hold (ISA
 * 9.7.1, 9.7.2, 9.7.9). Invariant: every concrete result is in it.
 */
#include "analysis/value_operation.h"

static bool has_descriptor(const struct value *a, const struct value *b)
{
	return (a->base == BASE_DESCRIPTOR) != (b->base == BASE_DESCRIPTOR) && !range_is_empty(a) &&
	       !range_is_empty(b);
}

/*
 * What a counter that only grows is multiplied by, or moved on by, does not wrap either (assumption
 * no-wrap): a loop that counts in such steps gives the same numbers. v: that product or sum, of a
 * number and a small constant.
 */
static struct value counted(const struct operation *op, const struct value *number,
	const struct value *constant, struct value v)
{
	const int64_t most = 65535;
	int64_t k;

	if (op->type.bits != 32 || !(number->assumptions & ASSUME_NO_WRAP) ||
		!range_is_constant(constant, &k) || k < 0 || k > most ||
		number->base != BASE_NUMBER || v.base != BASE_NUMBER)
		return v;
	/* it was cut at the end: a counter, or made of one in this way */
	if (number->lo < 0 || number->hi < INT32_MAX - most || number->hi > INT32_MAX || v.lo < 0 ||
		v.hi <= INT32_MAX)
		return v;
	return range_clip(&v, v.lo, INT32_MAX);
}

static struct value sum(const struct operation *op, const struct value *a, const struct value *b)
{
	if (has_descriptor(a, b))
		return a->base == BASE_DESCRIPTOR ? descriptor_add(op->e.values, a, b)
						  : descriptor_add(op->e.values, b, a);
	if (a->base == BASE_DESCRIPTOR && b->base == BASE_DESCRIPTOR)
		return any(op->type.bits);
	return counted(op, a, b, range_add(a, b, op->type.bits));
}

/* An aligned address as one of the variable that the other is in, so that their distance is known; else as it is. */
static struct value in_symbol(const struct values *vs, const struct value *a, const struct value *b)
{
	struct value number = *a;

	if (a->base != BASE_DERIVED || b->base != BASE_SYMBOL || vs->derived[a->id].parent.id != b->id)
		return *a;
	number.base = BASE_NUMBER;
	number.space = 0;
	struct value out = vs->derived[a->id].parent;

	out.aux = b->aux;
	return range_add(&out, &number, 64);
}

static struct value difference(
	const struct operation *op, const struct value *a, const struct value *b)
{
	const struct values *vs = op->e.values;
	struct value zero = range_constant(0), moved;
	uint32_t x = trips_plain_node(vs, insn_source(vs->fn, op->insn, 0)),
		 y = trips_plain_node(vs, insn_source(vs->fn, op->insn, 1));

	if (op->insn->op == OP_sub && x != NONE && y != NONE && trips_distance(vs, x, y, &moved))
		return moved;

	if (a->base == BASE_DESCRIPTOR || b->base == BASE_DESCRIPTOR) {
		struct value minus = range_sub(&zero, b, 64);

		return b->base == BASE_DESCRIPTOR ? any(op->type.bits) : sum(op, a, &minus);
	}
	struct value whole = in_symbol(vs, a, b);

	return range_sub(&whole, b, op->type.bits);
}

static struct value product(
	const struct operation *op, const struct value *x, const struct value *y)
{
	if (insn_has(op->insn, MOD_wide)) {
		struct value a = value_in_type(x, op->type), b = value_in_type(y, op->type);

		return range_mul(&a, &b, 2u * op->type.bits);
	}
	if (insn_has(op->insn, MOD_hi)) {
		struct value a = value_in_type(x, op->type), b = value_in_type(y, op->type);

		return range_mulhi(&a, &b, op->type.bits);
	}
	return counted(op, x, y, range_mul(x, y, op->type.bits));
}

static struct value shifted_left(
	const struct operation *op, const struct value *x, const struct value *amount)
{
	struct value factor = range_constant(1);

	factor = range_shl(&factor, amount, 32);
	return counted(op, x, &factor, range_shl(x, amount, op->type.bits));
}

static struct value evaluate_mad(
	const struct operation *op, const struct value *a, const struct value *b)
{
	struct value c = operation_source(op, 2), idiom;

	if (idiom_multiply_add(op->e, op->insn, &idiom) ||
		lockstep_evaluate(op->e, op->insn, &idiom))
		return idiom;
	struct operation wide = *op;
	struct value p = product(op, a, b);

	if (insn_has(op->insn, MOD_wide))
		wide.type.bits = (uint8_t)(2 * op->type.bits);
	return sum(&wide, &p, &c);
}

/* An address shifted right by 4 is the start field of a matrix descriptor. */
static struct value shift_right(
	const struct operation *op, struct value v, const struct value *amount)
{
	int64_t k;

	if (range_is_constant(amount, &k) && k == 4 && value_is_shared_address(&v))
		return descriptor_from_address(op->e.values, &v);
	if (v.base == BASE_DESCRIPTOR && range_is_constant(amount, &k) && k == 32) {
		v = descriptor_half(op->e.values, &v, true);
		return op->type.is_signed ? value_in_type(&v, (struct type){.bits = 32, .is_signed = true}) : v;
	}
	v = value_in_type(&v, op->type);
	return range_shr(&v, amount);
}

static struct value convert(const struct operation *op)
{
	struct type to = insn_type(op->insn, 0), from = insn_type(op->insn, 1);
	struct value v = operation_source(op, 0);

	if (insn_has(op->insn, MOD_pack)) /* two numbers or more in one register (ISA 9.7.9.22) */
		return any(op->bits);
	if (!from.bits || to.is_float || from.is_float || insn_has(op->insn, MOD_sat))
		return to.is_float ? any(op->bits) : value_type_range(to);
	if (v.base != BASE_NUMBER && !range_is_empty(&v)) {
		/* all 14 bits of the start; of a wider register (ISA 9.4.1) the 16 bits that are
		 * read */
		if (v.base == BASE_DESCRIPTOR && (to.bits == 16 || from.bits == 16) &&
			!from.is_signed)
			return descriptor_and(op->e.values, &v, 0xffff);
		if (to.bits < 32 || from.bits < 32)
			return value_type_range(to);
		/* addresses of shared memory have 32 bits at most: widening keeps them */
		if (v.base == BASE_DESCRIPTOR)
			return to.bits < 64 && from.bits == 64
				       ? descriptor_half(op->e.values, &v, false)
				       : v;
		if (v.base == BASE_PARAM && to.bits > from.bits) {
			v = value_in_type(&v, from);
			return v;
		}
		if (v.base == BASE_PARAM && to.bits < from.bits)
			return range_unsigned(&v, to.bits);
		return to.bits > from.bits || op->bits > from.bits ? value_extended(v) : v;
	}
	uint32_t narrow = from.bits < to.bits ? from.bits : to.bits;

	if (to.bits <=
		from.bits) /* keep the low bits; read as the new type when it is extended later */
		return to.bits < op->bits ? value_in_type(&v, to) : range_fit(v, narrow);
	v = value_in_type(&v, from);
	/* a register wider than both is filled as the new type says (ISA 9.4.1) */
	return to.bits < op->bits ? value_in_type(&v, to) : v;
}

static struct value evaluate_cvta(const struct operation *op)
{
	struct value v = operation_source(op, 0);

	if (insn_has(op->insn, MOD_shared) || insn_has(op->insn, MOD_shared__cta))
		v.space = SPACE_SHARED;
	else if (insn_has(op->insn, MOD_shared__cluster))
		v.space = SPACE_SHARED | SPACE_CLUSTER;
	else if (insn_has(op->insn, MOD_global))
		v.space = SPACE_GLOBAL;
	else if (insn_has(op->insn, MOD_local))
		v.space = SPACE_LOCAL;
	else if (insn_has(op->insn, MOD_const))
		v.space = SPACE_CONST;
	else if (insn_has(op->insn, MOD_param) || insn_has(op->insn, MOD_param__entry))
		v.space = SPACE_PARAM;
	return v;
}

static struct value evaluate_mapa(const struct operation *op)
{
	struct value v = operation_source(op, 0);
	const struct operand *rank = insn_source(op->e.values->fn, op->insn, 1);
	bool own =
		rank && rank->kind == OPERAND_SPECIAL && rank->special == SPECIAL_CLUSTER_CTARANK;

	if (rank && rank->kind == OPERAND_REG) {
		const struct values *vs = op->e.values;
		uint32_t node = rank->node;

		if (node != NONE && node < vs->nsolved && vs->ssa.nodes[node].kind == NODE_DEF &&
			vs->ssa.nodes[node].previous == NONE) {
			const struct insn *def = &vs->fn->insns[vs->ssa.nodes[node].insn];
			const struct operand *from = insn_source(vs->fn, def, 0);

			own = def->op == OP_mov && from && from->kind == OPERAND_SPECIAL &&
			      from->special == SPECIAL_CLUSTER_CTARANK;
		}
	}
	v.is_peer = true;
	v.own_cta = own;
	if (!v.space || v.space == SPACE_SHARED)
		v.space = SPACE_SHARED | SPACE_CLUSTER;
	return v;
}

static struct value evaluate_abs(const struct operation *op)
{
	struct value v = operation_number(op, 0), zero = range_constant(0);

	if (range_is_empty(&v) || v.lo >= 0)
		return v;
	struct value minus = range_sub(&zero, &v, op->type.bits);

	v = range_join(&v, &minus, op->type.bits);
	return range_clip(&v, 0, v.hi);
}

/* With carry in, the sum may be one larger; the difference one smaller. */
static struct value carried(const struct operation *op, bool minus)
{
	struct value a = operation_source(op, 0), b = operation_source(op, 1),
		     carry = range_span(0, 1, 1), v;

	if (a.base == BASE_DESCRIPTOR || b.base == BASE_DESCRIPTOR)
		return any(op->bits);
	v = minus ? range_sub(&a, &b, op->type.bits) : range_add(&a, &b, op->type.bits);
	return minus ? range_sub(&v, &carry, op->type.bits) : range_add(&v, &carry, op->type.bits);
}

static struct value least_or_most(
	const struct operation *op, const struct value *a, const struct value *b)
{
	struct value v = op->insn->op == OP_min ? range_min(a, b) : range_max(a, b);
	struct value zero = range_constant(0);

	/* .relu: what is below zero becomes zero (ISA 9.7.1) */
	return insn_has(op->insn, MOD_relu) ? range_max(&v, &zero) : v;
}

static uint32_t variable_of(const struct values *vs, const struct operand *o)
{
	uint32_t node = trips_plain_node(vs, o);
	const struct value *v = node == NONE ? NULL : value_at(vs, node);

	return !v			   ? NONE
	       : v->base == BASE_SYMBOL	   ? v->id
	       : v->base == BASE_DERIVED ? vs->derived[v->id].parent.id
					   : NONE;
}

/* The source is how far one variable is from another. What that is added to, as an address of some third
 * place, may be meant to be in any: sums are put in another order than they were written in. */
static bool is_way_to_other(const struct values *vs, const struct operand *o)
{
	uint32_t node = trips_plain_node(vs, o);
	const struct node *n = node == NONE ? NULL : &vs->ssa.nodes[node];
	const struct insn *insn = n && n->kind == NODE_DEF && n->previous == NONE ? &vs->fn->insns[n->insn] : NULL;

	if (!insn || insn->op != OP_sub)
		return false;
	uint32_t to = variable_of(vs, insn_source(vs->fn, insn, 0)), from = variable_of(vs, insn_source(vs->fn, insn, 1));

	return to != NONE && from != NONE && to != from;
}

#define TAKEN_DEPTH 4

/* The number was made by taking the address of a variable off, or a multiple of it; NONE. */
static uint32_t taken_off(const struct values *vs, const struct operand *o, uint32_t depth)
{
	uint32_t node = trips_plain_node(vs, o);
	const struct node *n = node == NONE || !depth ? NULL : &vs->ssa.nodes[node];
	const struct insn *insn = n && n->kind == NODE_DEF && n->previous == NONE ? &vs->fn->insns[n->insn] : NULL;
	const struct operand *s[3] = {NULL, NULL, NULL};
	uint32_t variable;

	for (uint32_t k = 0; insn && k < 3 && k + 1u < insn->count; k++)
		s[k] = insn_source(vs->fn, insn, k);
	switch (insn ? (uint32_t)insn->op : (uint32_t)OP_ret) {
	case OP_neg:
	case OP_not:
		return variable_of(vs, s[0]);
	case OP_mul:
	case OP_mad:
		variable = variable_of(vs, s[0]) != NONE ? variable_of(vs, s[0]) : variable_of(vs, s[1]);
		return variable == NONE && insn->op == OP_mad ? taken_off(vs, s[2], depth - 1) : variable;
	case OP_add:
		variable = taken_off(vs, s[0], depth - 1);
		return variable == NONE ? taken_off(vs, s[1], depth - 1) : variable;
	case OP_sub:
		variable = taken_off(vs, s[0], depth - 1);
		return variable == NONE && variable_of(vs, s[0]) == NONE ? variable_of(vs, s[1]) : variable;
	default:
		return NONE;
	}
}

/* An address in one variable less that of another is anything, less its own how far apart they are. */
static bool less(const struct operation *op, uint32_t variable, uint32_t off, struct value *v)
{
	if (off == NONE)
		return false;
	*v = variable == off ? range_top(op->type.bits) : any(op->type.bits);
	return true;
}

/* The sum of an address and what was made by taking one off. */
static bool is_distance(const struct operation *op, const struct value *a, const struct value *b, struct value *v)
{
	const struct values *vs = op->e.values;
	const struct operand *x = insn_source(vs->fn, op->insn, 0), *y = insn_source(vs->fn, op->insn, 1);

	if (range_is_address(a) && b->base == BASE_NUMBER)
		return less(op, variable_of(vs, x), taken_off(vs, y, TAKEN_DEPTH), v);
	return range_is_address(b) && a->base == BASE_NUMBER && less(op, variable_of(vs, y), taken_off(vs, x, TAKEN_DEPTH), v);
}

/* The same of a product: an address by a number, and an address. */
static bool is_distance_of_product(const struct operation *op, struct value *v)
{
	const struct values *vs = op->e.values;
	const struct operand *s[3];
	struct value to = operation_source(op, 2);
	uint32_t off;

	for (uint32_t k = 0; k < 3; k++)
		s[k] = insn_source(vs->fn, op->insn, k);
	off = variable_of(vs, s[0]);
	return range_is_address(&to) && less(op, variable_of(vs, s[2]), off == NONE ? variable_of(vs, s[1]) : off, v);
}

static bool goes_elsewhere(const struct operation *op, const struct value *a, const struct value *b)
{
	const struct values *vs = op->e.values;

	return (b->base == BASE_NUMBER && range_is_address(a) &&
		       is_way_to_other(vs, insn_source(vs->fn, op->insn, 1))) ||
	       (a->base == BASE_NUMBER && range_is_address(b) &&
		       is_way_to_other(vs, insn_source(vs->fn, op->insn, 0)));
}

/* A sum whose sources have to do with one another, in either order. */
static bool sum_of_form(const struct operation *op, struct value *v)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct operand *a = insn_source(op->e.values->fn, op->insn, i),
				     *b = insn_source(op->e.values->fn, op->insn, 1 - i);

		if (idiom_sum(op->e, a, b, v) || idiom_floor(op->e, a, b, v))
			return true;
	}
	return false;
}

struct value operation_arithmetic(const struct operation *op)
{
	struct value a = operation_source(op, 0), b, v;

	switch (op->insn->op) {
	case OP_not:
	case OP_neg:
		v = range_constant(op->insn->op == OP_not ? -1 : 0);
		return difference(op, &v, &a);
	case OP_abs:
		return evaluate_abs(op);
	case OP_cvt:
		return convert(op);
	case OP_cvta:
		return evaluate_cvta(op);
	case OP_popc:
	case OP_clz:
		return range_span(0, op->type.bits, 1);
	case OP_mapa:
		return evaluate_mapa(op);
	default:
		break;
	}
	b = operation_source(op, 1);
	switch (op->insn->op) {
	case OP_add:
		if (lockstep_evaluate(op->e, op->insn, &v))
			return v;
		if (goes_elsewhere(op, &a, &b))
			return any(op->type.bits);
		if (is_distance(op, &a, &b, &v))
			return v;
		if (op->type.bits == 32 && !insn_has(op->insn, MOD_sat) && sum_of_form(op, &v)) {
			b = sum(op, &a, &b);
			return range_meet(&b, &v, 32);
		}
		return sum(op, &a, &b);
	case OP_sub:
		if (lockstep_evaluate(op->e, op->insn, &v))
			return v;
		if (idiom_difference(op->e,
			    (const struct operand *const[]){
				    insn_source(op->e.values->fn, op->insn, 0),
				    insn_source(op->e.values->fn, op->insn, 1)},
			    (const struct value[]){a, b}, &v)) {
			b = difference(op, &a, &b);
			return range_meet(&b, &v, op->type.bits);
		}
		return difference(op, &a, &b);
	case OP_addc:
		return carried(op, false);
	case OP_subc:
		return carried(op, true);
	case OP_mul:
		return product(op, &a, &b);
	case OP_mad:
		return is_distance_of_product(op, &v) ? v : evaluate_mad(op, &a, &b);
	case OP_shl:
		b = range_unsigned(&b, 32);
		if (op->type.bits == 32 && b.lo == b.hi && b.lo > 0 && b.lo < 32 &&
			idiom_shifted(op->e, insn_source(op->e.values->fn, op->insn, 0), (uint32_t)b.lo,
				&v)) {
			a = range_shl(&a, &b, 32);
			b = range_shl(&v, &b, 32);
			return range_meet(&a, &b, 32);
		}
		return shifted_left(op, &a, &b);
	case OP_shr:
		b = range_unsigned(&b, 32);
		return shift_right(op, a, &b);
	case OP_and:
		return operation_and(op, &a, &b);
	case OP_or:
		return operation_or(op, &a, &b);
	case OP_xor:
		return operation_xor(op, &a, &b);
	case OP_bfe:
		return operation_extract(op);
	case OP_bfi:
		return operation_insert(op);
	case OP_lop3:
		return operation_logic3(op);
	case OP_prmt:
		return operation_permute(op);
	default:
		break;
	}
	a = value_in_type(&a, op->type);
	b = value_in_type(&b, op->type);
	switch (op->insn->op) {
	case OP_min:
	case OP_max:
		return least_or_most(op, &a, &b);
	case OP_div:
		return range_div(&a, &b);
	case OP_rem:
		return range_rem(&a, &b);
	default:
		return any(op->bits);
	}
}
