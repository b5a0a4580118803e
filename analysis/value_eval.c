/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a node and what its operands can hold. Out: what it can hold. Operands come from the solved
 * values, or are evaluated anew a few steps deep where a context (conditions that hold at the
 * place) can make them narrower. Invariant: the result covers every concrete result (ISA 9.7.1
 * to 9.7.9).
 */
#include "analysis/value_private.h"

static struct value any(uint32_t bits)
{
	return range_top(bits ? bits : 64);
}

static struct value type_range(struct type type)
{
	if (type.is_signed && type.bits < 64)
		return range_span(
			-(INT64_C(1) << (type.bits - 1)), (INT64_C(1) << (type.bits - 1)) - 1, 1);
	return any(type.bits);
}

static struct value in_type(const struct value *v, struct type type)
{
	return type.is_signed ? range_signed(v, type.bits) : range_unsigned(v, type.bits);
}

static struct value below(uint32_t n)
{
	return range_span(0, n ? (int64_t)n - 1 : 0, 1);
}

static struct value special_thread(const struct values *vs, uint32_t dimension, bool count)
{
	uint32_t most = vs->threads[dimension];

	if (!count)
		return below(most);
	return vs->exact_threads ? range_constant(most) : range_span(1, most, 1);
}

static struct value special_value(const struct values *vs, const struct operand *o)
{
	switch ((enum special_register)o->special) {
	case SPECIAL_TID_X:
	case SPECIAL_TID_Y:
	case SPECIAL_TID_Z:
		return special_thread(vs, (uint32_t)(o->special - SPECIAL_TID_X), false);
	case SPECIAL_NTID_X:
	case SPECIAL_NTID_Y:
	case SPECIAL_NTID_Z:
		return special_thread(vs, (uint32_t)(o->special - SPECIAL_NTID_X), true);
	case SPECIAL_CTAID_X:
		return range_span(0, INT32_MAX - 1, 1);
	case SPECIAL_CTAID_Y:
	case SPECIAL_CTAID_Z:
		return range_span(0, 65534, 1);
	case SPECIAL_NCTAID_X:
		return range_span(1, INT32_MAX, 1);
	case SPECIAL_NCTAID_Y:
	case SPECIAL_NCTAID_Z:
		return range_span(1, 65535, 1);
	case SPECIAL_LANEID:
		return below(32);
	case SPECIAL_WARPID:
		return below(64);
	case SPECIAL_NWARPID:
		return range_span(1, 64, 1);
	case SPECIAL_CLUSTER_CTARANK:
	case SPECIAL_CLUSTER_CTAID_X:
	case SPECIAL_CLUSTER_CTAID_Y:
	case SPECIAL_CLUSTER_CTAID_Z:
		return below(16);
	case SPECIAL_CLUSTER_NCTARANK:
		return range_span(1, 16, 1);
	case SPECIAL_WARP_SZ:
		return range_constant(32);
	case SPECIAL_DYNAMIC_SMEM_SIZE:
	case SPECIAL_TOTAL_SMEM_SIZE:
		return range_span(0, 1 << 20, 1);
	case SPECIAL_OTHER:
	case SPECIAL_CLUSTERID:
	case SPECIAL_NCLUSTERID:
	case SPECIAL_LANEMASK:
	case SPECIAL_SMID:
	case SPECIAL_GRIDID:
	case SPECIAL_CLOCK:
		break;
	}
	return any(64);
}

/* All .extern .shared arrays start at one place: they are one variable (ISA 5.4.3). */
static struct value symbol_value(const struct values *vs, uint32_t id, int64_t offset)
{
	const struct symbol *symbol = function_symbol(vs->fn, id);
	struct value v = range_constant(offset);

	if (symbol->kind == SYMBOL_FUNC || symbol->kind == SYMBOL_ALIAS)
		return any(64);
	v.base = BASE_SYMBOL;
	v.space = symbol->space;
	v.id = id;
	if (symbol->space == SPACE_SHARED && symbol->is_extern && vs->dynamic_shared != NONE) {
		v.id = vs->dynamic_shared;
		symbol = function_symbol(vs->fn, v.id);
	}
	v.aux = symbol->align ? (uint32_t)__builtin_ctz(symbol->align) : 0;
	if (v.id == vs->dynamic_shared && v.aux < vs->assumed_align)
		v.aux = vs->assumed_align;
	return v;
}

/* A result that looked at an address's low bits rests on what they are assumed to be. */
static struct value with_alignment(
	const struct values *vs, const struct value *a, const struct value *b, struct value out)
{
	bool used = (a->base == BASE_SYMBOL && a->id == vs->dynamic_shared) ||
		    (b->base == BASE_SYMBOL && b->id == vs->dynamic_shared);

	if (used && vs->assumed_align)
		out.assumptions |= ASSUME_ALIGNED_TMA;
	return out;
}

static struct value evaluate_register(struct evaluation e, uint32_t node)
{
	const struct values *vs = e.values;

	if (node == NONE || node >= vs->nsolved)
		return any(64);
	struct value v = vs->at[node];

	if (!e.context)
		return v;
	v = context_apply(e.context, node, v);
	if (!e.depth || (e.fuel && !*e.fuel))
		return v;
	if (e.fuel)
		--*e.fuel;
	const struct node *n = &vs->ssa.nodes[node];

	/* only pure arithmetic depends on nothing but its operands, as they are at the place of use
	 */
	if (n->kind != NODE_DEF || n->previous != NONE ||
		!insn_is_arithmetic(&vs->fn->insns[n->insn]) || range_is_empty(&v))
		return v;
	e.depth--;
	struct value again = evaluate_definition(e, node);

	if (range_is_empty(&again))
		return again;
	return range_meet(&v, &again, node_bits(vs, node));
}

struct value evaluate_operand(struct evaluation e, uint32_t insn, const struct operand *o)
{
	const struct values *vs = e.values;
	const struct function *fn = vs->fn;

	switch ((enum operand_kind)o->kind) {
	case OPERAND_IMM:
		return range_constant(o->imm);
	case OPERAND_SPECIAL:
		return special_value(vs, o);
	case OPERAND_SYMBOL:
		return symbol_value(vs, o->id, o->imm);
	case OPERAND_REG: {
		if (o < fn->operands || o >= fn->operands + fn->noperands)
			return any(64);
		uint32_t bits = fn->regs[o->id].bits;

		if (fn->regs[o->id].vector > 1 || o->component)
			return any(bits);
		struct value v = evaluate_register(e, vs->ssa.node_of[o - fn->operands]);
		struct value zero = range_constant(0), offset = range_constant(o->imm);

		if (o->negated && bits > 1)
			v = range_sub(&zero, &v, bits);
		if (o->negated && bits == 1) {
			zero = range_constant(1);
			v = range_sub(&zero, &v, 8);
		}
		if (!o->imm)
			return v;
		return v.base == BASE_DESCRIPTOR ? any(64) : range_add(&v, &offset, bits);
	}
	case OPERAND_MEM: {
		const struct operand *base = operand_child(fn, o, 0);

		if (!base)
			return any(64);
		struct value v = evaluate_operand(e, insn, base);

		if (o->indexed && operand_child(fn, o, 1)) {
			struct value index = evaluate_operand(e, insn, operand_child(fn, o, 1));

			v = range_add(&v, &index, 64);
		}
		return v;
	}
	case OPERAND_FLOAT:
	case OPERAND_SINK:
	case OPERAND_LABEL:
	case OPERAND_LIST:
	case OPERAND_PAIR:
	case OPERAND_TUPLE:
	case OPERAND_NAME:
		break;
	}
	return any(64);
}

struct operation { /* one definition being evaluated */
	struct evaluation e;
	const struct insn *insn;
	uint32_t index, slot, bits; /* instruction, destination slot, width of the register */
	struct type type;
};

static struct value source(const struct operation *op, uint32_t k)
{
	const struct operand *o = insn_source(op->e.values->fn, op->insn, k);

	return o ? evaluate_operand(op->e, op->index, o) : any(64);
}

/* Source k as a number of the instruction's type. */
static struct value number(const struct operation *op, uint32_t k)
{
	struct value v = source(op, k);

	return in_type(&v, op->type);
}

static bool has_descriptor(const struct value *a, const struct value *b)
{
	return (a->base == BASE_DESCRIPTOR) != (b->base == BASE_DESCRIPTOR) && !range_is_empty(a) &&
	       !range_is_empty(b);
}

static struct value sum(const struct operation *op, const struct value *a, const struct value *b)
{
	if (has_descriptor(a, b))
		return a->base == BASE_DESCRIPTOR ? descriptor_add(op->e.values, a, b)
						  : descriptor_add(op->e.values, b, a);
	if (a->base == BASE_DESCRIPTOR && b->base == BASE_DESCRIPTOR)
		return any(op->type.bits);
	return range_add(a, b, op->type.bits);
}

static struct value difference(
	const struct operation *op, const struct value *a, const struct value *b)
{
	struct value zero = range_constant(0);

	if (a->base == BASE_DESCRIPTOR || b->base == BASE_DESCRIPTOR) {
		struct value minus = range_sub(&zero, b, 64);

		return b->base == BASE_DESCRIPTOR ? any(op->type.bits) : sum(op, a, &minus);
	}
	return range_sub(a, b, op->type.bits);
}

static struct value product(
	const struct operation *op, const struct value *x, const struct value *y)
{
	if (insn_has(op->insn, MOD_wide)) {
		struct value a = in_type(x, op->type), b = in_type(y, op->type);

		return range_mul(&a, &b, 2u * op->type.bits);
	}
	if (insn_has(op->insn, MOD_hi)) {
		struct value a = in_type(x, op->type), b = in_type(y, op->type);

		return range_mulhi(&a, &b, op->type.bits);
	}
	return range_mul(x, y, op->type.bits);
}

static struct value evaluate_mad(const struct operation *op)
{
	struct value a = source(op, 0), b = source(op, 1), c = source(op, 2), idiom;

	if (idiom_multiply_add(op->e, op->insn, &idiom))
		return idiom;
	struct operation wide = *op;
	struct value p = product(op, &a, &b);

	if (insn_has(op->insn, MOD_wide))
		wide.type.bits = (uint8_t)(2 * op->type.bits);
	return sum(&wide, &p, &c);
}

/* An address shifted right by 4 is the start field of a matrix descriptor. */
static bool is_shared_address(const struct value *v)
{
	return (v->base == BASE_SYMBOL || v->base == BASE_DERIVED) && v->space &&
	       !(v->space & ~(SPACE_SHARED | SPACE_CLUSTER));
}

static struct value shift_right(
	const struct operation *op, struct value v, const struct value *amount)
{
	int64_t k;

	if (range_is_constant(amount, &k) && k == 4 && is_shared_address(&v))
		return descriptor_from_address(op->e.values, &v);
	if (v.base == BASE_DESCRIPTOR && range_is_constant(amount, &k) && k == 32)
		return descriptor_half(op->e.values, &v, true);
	v = in_type(&v, op->type);
	return range_shr(&v, amount);
}

static struct value bits_and(
	const struct operation *op, const struct value *a, const struct value *b)
{
	int64_t c;

	if (a->base == BASE_DESCRIPTOR && range_is_constant(b, &c))
		return descriptor_and(op->e.values, a, (uint64_t)c);
	if (b->base == BASE_DESCRIPTOR && range_is_constant(a, &c))
		return descriptor_and(op->e.values, b, (uint64_t)c);
	if (a->base == BASE_DESCRIPTOR || b->base == BASE_DESCRIPTOR)
		return any(op->type.bits);
	if (is_shared_address(a) && range_is_constant(b, &c) && op->type.bits >= 32) {
		/* (x + P - 1) & -P: x rounded up, when -P is all ones above its zeros */
		uint64_t mask = (uint64_t)c << (64 - op->type.bits) >> (64 - op->type.bits);
		uint32_t k = mask ? (uint32_t)__builtin_ctzll(mask) : 64;
		uint64_t all = ~UINT64_C(0) >> (64 - op->type.bits);
		struct value up = *a, v;

		if (k && k < 17 && mask == (all & ~((UINT64_C(1) << k) - 1)) && a->lo == a->hi) {
			up.lo = up.hi = a->lo - ((1 << k) - 1);
			if (derived_align_up(op->e.values, &up, k, &v))
				return v;
		}
	}
	return with_alignment(op->e.values, a, b, range_and(a, b, op->type.bits));
}

static struct value bits_or(
	const struct operation *op, const struct value *a, const struct value *b)
{
	if (has_descriptor(a, b))
		return a->base == BASE_DESCRIPTOR ? descriptor_or(op->e.values, a, b)
						  : descriptor_or(op->e.values, b, a);
	if (a->base == BASE_DESCRIPTOR || b->base == BASE_DESCRIPTOR)
		return any(op->type.bits);
	return with_alignment(op->e.values, a, b, range_or(a, b, op->type.bits));
}

static struct value bits_xor(
	const struct operation *op, const struct value *a, const struct value *b)
{
	if (a->base == BASE_DESCRIPTOR || b->base == BASE_DESCRIPTOR)
		return any(op->type.bits);
	return with_alignment(op->e.values, a, b, range_xor(a, b, op->type.bits));
}

/* bfe d, a, position, length: (a >> position) & mask; signed forms extend the top bit. */
static struct value extract(const struct operation *op)
{
	struct value a = source(op, 0), position = source(op, 1), length = source(op, 2);
	int64_t p, n;

	if (!range_is_constant(&position, &p) || !range_is_constant(&length, &n) || p < 0 ||
		n <= 0 || p + n > op->type.bits)
		return any(op->type.bits);
	if (p == 4 && n >= 14 && is_shared_address(&a))
		return descriptor_from_address(op->e.values, &a);
	struct value v = range_unsigned(&a, op->type.bits);

	v = range_shr(&v, &position);
	return op->type.is_signed ? range_signed(&v, (uint32_t)n) : range_unsigned(&v, (uint32_t)n);
}

/* bfi f, a, b, position, length: the low bits of a replace bits of b. */
static struct value insert(const struct operation *op)
{
	struct value a = source(op, 0), b = source(op, 1), position = source(op, 2),
		     length = source(op, 3);
	int64_t p, n;

	if (!range_is_constant(&position, &p) || !range_is_constant(&length, &n) || p < 0 ||
		n <= 0 || p + n > op->type.bits || n > 62)
		return any(op->type.bits);
	struct value low = range_constant((int64_t)((UINT64_C(1) << n) - 1)),
		     keep = range_constant((int64_t) ~(((UINT64_C(1) << n) - 1) << p));

	a = bits_and(op, &a, &low);
	if (a.base == BASE_DESCRIPTOR && p)
		return any(op->type.bits);
	a = p ? range_shl(&a, &position, op->type.bits) : a;
	b = bits_and(op, &b, &keep);
	return bits_or(op, &b, &a);
}

static struct value convert(const struct operation *op)
{
	struct type to = insn_type(op->insn, 0), from = insn_type(op->insn, 1);
	struct value v = source(op, 0);

	if (!from.bits || to.is_float || from.is_float || insn_has(op->insn, MOD_sat))
		return to.is_float ? any(op->bits) : type_range(to);
	if (v.base != BASE_NUMBER && !range_is_empty(&v)) {
		if (v.base == BASE_DESCRIPTOR && to.bits == 16) /* all 14 bits of the start */
			return descriptor_and(op->e.values, &v, 0xffff);
		if (to.bits < 32 || from.bits < 32)
			return v.base == BASE_DESCRIPTOR && from.bits == 16 ? v : type_range(to);
		/* addresses of shared memory have 32 bits at most: widening keeps them */
		if (v.base == BASE_DESCRIPTOR)
			return to.bits < 64 && from.bits == 64
				       ? descriptor_half(op->e.values, &v, false)
				       : v;
		if (v.base == BASE_PARAM && to.bits > from.bits) {
			v = in_type(&v, from);
			return v;
		}
		if (v.base == BASE_PARAM && to.bits < from.bits)
			return range_unsigned(&v, to.bits);
		return v;
	}
	uint32_t narrow = from.bits < to.bits ? from.bits : to.bits;

	if (to.bits <=
		from.bits) /* keep the low bits; read as the new type when it is extended later */
		return to.bits < op->bits ? in_type(&v, to) : range_fit(v, narrow);
	return in_type(&v, from);
}

static struct value evaluate_cvta(const struct operation *op)
{
	struct value v = source(op, 0);

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
	struct value v = source(op, 0);
	const struct operand *rank = insn_source(op->e.values->fn, op->insn, 1);
	bool own =
		rank && rank->kind == OPERAND_SPECIAL && rank->special == SPECIAL_CLUSTER_CTARANK;

	if (rank && rank->kind == OPERAND_REG) {
		const struct values *vs = op->e.values;
		uint32_t node = vs->ssa.node_of[rank - vs->fn->operands];

		if (node != NONE && node < vs->nsolved && vs->ssa.nodes[node].kind == NODE_DEF) {
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

static struct value merge(const struct operation *op, const struct value *a, const struct value *b)
{
	return values_join(op->e.values, a, b, op->bits);
}

/* selp d, a, b, p: each arm under its condition. */
static struct value select(const struct operation *op)
{
	struct values *vs = op->e.values;
	const struct operand *p = insn_source(vs->fn, op->insn, 2);
	struct operation arm = *op;
	struct value v[2];

	if (op->type.is_float || !p || p->kind != OPERAND_REG)
		return any(op->bits);
	if (idiom_align_up(op->e, op->insn, &v[0]))
		return v[0];
	uint32_t node = vs->ssa.node_of[p - vs->fn->operands];
	struct value condition = evaluate_operand(op->e, op->index, p);

	for (uint32_t k = 0; k < 2; k++) {
		struct context context = {0};

		if (op->e.context)
			context = *op->e.context;
		if (node != NONE && node < vs->nsolved)
			context_add(vs, &context, node, (k == 0) != p->negated);
		arm.e.context = &context;
		arm.e.depth = op->e.depth > 4 ? op->e.depth : 4;
		uint32_t fuel = 24;

		if (!arm.e.fuel)
			arm.e.fuel = &fuel;
		v[k] = source(&arm, k);
		if (range_is_empty(&condition) || condition.hi < 1 - (int64_t)k ||
			condition.lo > 1 - (int64_t)k)
			v[k] = range_empty();
	}
	return merge(op, &v[0], &v[1]);
}

/* 1 true, 0 false, -1 open. */
static int compare(enum compare c, const struct value *a, const struct value *b)
{
	bool apart = a->hi < b->lo || a->lo > b->hi;

	switch (c) {
	case COMPARE_EQ:
		return apart ? 0 : a->lo == a->hi && b->lo == b->hi ? 1 : -1;
	case COMPARE_NE:
		return apart ? 1 : a->lo == a->hi && b->lo == b->hi ? 0 : -1;
	case COMPARE_LT:
		return a->hi < b->lo ? 1 : a->lo >= b->hi ? 0 : -1;
	case COMPARE_LE:
		return a->hi <= b->lo ? 1 : a->lo > b->hi ? 0 : -1;
	case COMPARE_GT:
		return compare(COMPARE_LT, b, a);
	case COMPARE_GE:
		return compare(COMPARE_LE, b, a);
	case COMPARE_NONE:
		break;
	}
	return -1;
}

/* An unbounded side is no number to compare with. */
static void push_out(struct value *v)
{
	if (v->lo < -VALUE_FAR)
		v->lo = INT64_MIN;
	if (v->hi > VALUE_FAR)
		v->hi = INT64_MAX;
}

static struct value test(const struct operation *op)
{
	bool is_unsigned;
	enum compare c = insn_compare(op->insn, &is_unsigned);
	struct value a, b;

	if (op->type.is_float || !op->type.bits || c == COMPARE_NONE || op->slot)
		return range_span(0, 1, 1);
	if (insn_source(op->e.values->fn, op->insn, 2)) /* combined with another predicate */
		return range_span(0, 1, 1);
	a = number(op, 0);
	b = number(op, 1);
	if (range_is_empty(&a) || range_is_empty(&b))
		return range_empty();
	if (a.assumptions | b.assumptions) /* a decision must not rest on an assumption */
		return range_span(0, 1, 1);
	push_out(&a);
	push_out(&b);
	int decided = compare(c, &a, &b);

	return decided < 0 ? range_span(0, 1, 1) : range_constant(decided);
}

static struct value load(const struct operation *op)
{
	struct values *vs = op->e.values;
	const struct operand *mem = insn_source(vs->fn, op->insn, 0);
	struct type type = op->type;
	struct value v, result;

	if (!mem || mem->kind != OPERAND_MEM || type.is_float || !type.bits)
		return any(op->bits);
	result = type.bits < op->bits || type.bits < 32 ? type_range(type) : any(type.bits);
	if (!vs->is_entry)
		return result;
	v = evaluate_operand((struct evaluation){vs, NULL, 0, NULL}, op->index, mem);
	if (v.base != BASE_SYMBOL || v.space != SPACE_PARAM || v.lo != v.hi || v.lo < 0 ||
		v.id < vs->fn->first_param || v.id >= vs->fn->first_param + vs->fn->nparams ||
		type.bits < 32)
		return result;
	result = range_constant(0);
	result.base = BASE_PARAM;
	result.id = v.id;
	result.aux = (uint32_t)v.lo + op->slot * type.bits / 8;
	result.space = function_symbol(vs->fn, v.id)->ptr_space;
	return result;
}

static struct value move(const struct operation *op)
{
	struct values *vs = op->e.values;
	const struct function *fn = vs->fn;
	const struct operand *d = insn_operand(fn, op->insn, 0), *s = insn_source(fn, op->insn, 0);

	if (!s)
		return any(op->bits);
	if (d->kind == OPERAND_LIST) { /* unpack */
		struct value v = s->kind == OPERAND_REG ? source(op, 0) : any(64), k;

		if (range_is_empty(&v))
			return v;
		if (v.base == BASE_DESCRIPTOR)
			return d->count == 2 ? descriptor_half(vs, &v, op->slot == 1)
					     : any(op->bits);
		if (!op->slot && op->bits >= 32)
			return v.base == BASE_PARAM ? range_unsigned(&v, op->bits)
						    : range_fit(v, op->bits);
		v = range_unsigned(&v, op->bits * d->count);
		k = range_constant((int64_t)(op->slot * op->bits));
		v = range_shr(&v, &k);
		return range_unsigned(&v, op->bits);
	}
	if (s->kind == OPERAND_LIST) { /* pack */
		const struct operand *low = operand_child(fn, s, 0),
				     *high = operand_child(fn, s, 1);

		if (s->count != 2 || (op->bits != 64 && op->bits != 32))
			return any(op->bits);
		uint32_t half = op->bits / 2;
		struct value a = evaluate_operand(op->e, op->index, low),
			     b = evaluate_operand(op->e, op->index, high),
			     shift = range_constant(half);

		if (range_is_empty(&a) || range_is_empty(&b))
			return range_empty();
		if (a.base == BASE_DESCRIPTOR)
			return descriptor_pack(vs, &a, &b, half);
		int64_t c;

		b = range_unsigned(&b, half);
		if (range_is_constant(&b, &c) && !c && is_shared_address(&a))
			return a;
		a = range_unsigned(&a, half);
		b = range_shl(&b, &shift, op->bits);
		return range_add(&a, &b, op->bits);
	}
	struct value v = source(op, 0);

	return v.base == BASE_NUMBER && s->kind == OPERAND_SPECIAL ? range_fit(v, op->bits) : v;
}

static struct value evaluate_abs(const struct operation *op)
{
	struct value v = number(op, 0), zero = range_constant(0);

	if (range_is_empty(&v) || v.lo >= 0)
		return v;
	struct value minus = range_sub(&zero, &v, op->type.bits);

	v = range_join(&v, &minus, op->type.bits);
	return range_clip(&v, 0, v.hi);
}

/* lop3 d, a, b, c, table: the tables of single two-input functions; others by their width. */
static struct value logic3(const struct operation *op)
{
	struct value table = source(op, 3), a = source(op, 0), b = source(op, 1), c = source(op, 2),
		     t;
	int64_t which;

	if (!range_is_constant(&table, &which))
		return any(op->bits);
	switch (which) {
	case 0xc0:
		return bits_and(op, &a, &b);
	case 0xfc:
		return bits_or(op, &a, &b);
	case 0x3c:
		return bits_xor(op, &a, &b);
	case 0x80:
		t = bits_and(op, &a, &b);
		return bits_and(op, &t, &c);
	case 0xfe:
		t = bits_or(op, &a, &b);
		return bits_or(op, &t, &c);
	case 0x96:
		t = bits_xor(op, &a, &b);
		return bits_xor(op, &t, &c);
	case 0xf8:
		t = bits_and(op, &b, &c);
		return bits_or(op, &a, &t);
	case 0xea:
		t = bits_and(op, &a, &b);
		return bits_or(op, &t, &c);
	case 0x6a:
		t = bits_and(op, &a, &b);
		return bits_xor(op, &t, &c);
	case 0x78:
		t = bits_and(op, &b, &c);
		return bits_xor(op, &a, &t);
	default:
		return any(op->bits);
	}
}

/* With carry in, the sum may be one larger; the difference one smaller. */
static struct value carried(const struct operation *op, bool minus)
{
	struct value a = source(op, 0), b = source(op, 1), carry = range_span(0, 1, 1), v;

	if (a.base == BASE_DESCRIPTOR || b.base == BASE_DESCRIPTOR)
		return any(op->bits);
	v = minus ? range_sub(&a, &b, op->type.bits) : range_add(&a, &b, op->type.bits);
	return minus ? range_sub(&v, &carry, op->type.bits) : range_add(&v, &carry, op->type.bits);
}

/* prmt with selectors that copy bytes in order, or pick bytes into a shorter number. */
static struct value permute(const struct operation *op)
{
	struct value selector = source(op, 2), a = source(op, 0), b = source(op, 1);
	int64_t s;

	if (!range_is_constant(&selector, &s))
		return any(32);
	if (s == 0x3210)
		return a;
	if (s == 0x7654)
		return b;
	if (a.lo == 0 && a.hi == 0 && a.base == BASE_NUMBER && (s & 0xf) >= 4) {
		/* zero bytes above the one that is taken */
		bool one = (s >> 4 & 0xf) < 4 && (s >> 8 & 0xf) < 4 && (s >> 12 & 0xf) < 4;

		if (one)
			return range_span(0, 255, 1);
	}
	if (b.lo == 0 && b.hi == 0 && b.base == BASE_NUMBER) {
		bool byte = (s & 0xf) < 4 && (s >> 4 & 0xf) >= 4 && (s >> 8 & 0xf) >= 4 &&
			    (s >> 12 & 0xf) >= 4;
		bool half = (s & 0xf) < 4 && (s >> 4 & 0xf) < 4 && (s >> 8 & 0xf) >= 4 &&
			    (s >> 12 & 0xf) >= 4 && !(s & 0x8888);

		if (byte && !(s & 0x8888))
			return range_span(0, 255, 1);
		if (half)
			return range_span(0, 65535, 1);
	}
	return any(32);
}

/* Predicate logic keeps to 0 and 1. */
static struct value logic1(const struct operation *op)
{
	struct value a = source(op, 0), b = source(op, 1);
	bool both = a.lo == a.hi && b.lo == b.hi;

	if (op->insn->op == OP_not) {
		struct value one = range_constant(1);

		return range_sub(&one, &a, 8);
	}
	if (range_is_empty(&a) || range_is_empty(&b))
		return range_empty();
	switch (op->insn->op) {
	case OP_and:
		return a.hi == 0 || b.hi == 0 ? range_constant(0)
		       : both		      ? range_constant(1)
					      : range_span(0, 1, 1);
	case OP_or:
		return a.lo == 1 || b.lo == 1 ? range_constant(1)
		       : both		      ? range_constant(0)
					      : range_span(0, 1, 1);
	default:
		return both ? range_constant(a.lo ^ b.lo) : range_span(0, 1, 1);
	}
}

static struct value arithmetic(const struct operation *op)
{
	struct value a = source(op, 0), b, v;

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
	b = source(op, 1);
	switch (op->insn->op) {
	case OP_add:
		return sum(op, &a, &b);
	case OP_sub:
		if (idiom_difference(op->e, insn_source(op->e.values->fn, op->insn, 0),
			    insn_source(op->e.values->fn, op->insn, 1), &v)) {
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
		return evaluate_mad(op);
	case OP_shl:
		b = range_unsigned(&b, 32);
		return range_shl(&a, &b, op->type.bits);
	case OP_shr:
		b = range_unsigned(&b, 32);
		return shift_right(op, a, &b);
	case OP_and:
		return bits_and(op, &a, &b);
	case OP_or:
		return bits_or(op, &a, &b);
	case OP_xor:
		return bits_xor(op, &a, &b);
	case OP_bfe:
		return extract(op);
	case OP_bfi:
		return insert(op);
	case OP_lop3:
		return logic3(op);
	case OP_prmt:
		return permute(op);
	default:
		break;
	}
	a = in_type(&a, op->type);
	b = in_type(&b, op->type);
	switch (op->insn->op) {
	case OP_min:
		return range_min(&a, &b);
	case OP_max:
		return range_max(&a, &b);
	case OP_div:
		return range_div(&a, &b);
	case OP_rem:
		return range_rem(&a, &b);
	default:
		return any(op->bits);
	}
}

/* Instructions that are no arithmetic on numbers but give a bounded result. */
static struct value other(const struct operation *op)
{
	switch (op->insn->op) {
	case OP_ld:
	case OP_ldu:
		return load(op);
	case OP_shfl: /* another lane's value of the same register, at the same place (ISA 9.7.9.6)
		       */
		return op->slot ? range_span(0, 1, 1) : source(op, 0);
	case OP_elect:
		return op->slot ? range_span(0, 1, 1) : range_span(0, 31, 1);
	case OP_getctarank:
		return range_span(0, 15, 1);
	default:
		return op->bits == 1 ? range_span(0, 1, 1) : any(op->bits);
	}
}

struct value evaluate_definition(struct evaluation e, uint32_t node)
{
	struct values *vs = e.values;
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn = &vs->fn->insns[n->insn];
	const struct operand *d = insn_operand(vs->fn, insn, 0);
	struct operation op = {e, insn, n->insn, insn_slot(vs->fn, insn, n->reg),
		vs->fn->regs[n->reg].bits, insn_type(insn, 0)};
	struct value v;

	if (vs->fn->regs[n->reg].vector > 1 || (d->kind == OPERAND_REG && d->component))
		return any(op.bits);
	switch (insn->op) {
	case OP_mov:
	case OP_LINK_MOV:
		v = move(&op);
		break;
	case OP_setp:
		return test(&op);
	case OP_selp:
		v = select(&op);
		break;
	default:
		if (!insn_is_arithmetic(insn))
			v = other(&op);
		else if (op.type.bits == 1)
			return logic1(&op);
		else if (op.type.is_float || !op.type.bits || insn_has(insn, MOD_sat))
			v = insn->op == OP_cvt || insn->op == OP_cvta ? arithmetic(&op)
								      : any(op.bits);
		else
			v = arithmetic(&op);
	}
	/* results narrower than their register are extended by type: leave only what fits */
	return v.base == BASE_NUMBER ? range_fit(v, op.bits) : v;
}

/* A phi joins its inputs, each under what holds on its way in. */
static struct value evaluate_phi(struct evaluation e, uint32_t node)
{
	struct values *vs = e.values;
	const struct node *n = &vs->ssa.nodes[node];
	const struct block *block = &vs->cfg->blocks[n->block];
	struct value out = range_empty();
	uint32_t bits = node_bits(vs, node);

	for (uint32_t i = 0; i < block->pred.n; i++) {
		struct context context;
		uint32_t input = vs->ssa.inputs[n->input + i], fuel = 32;

		if (input >= vs->nsolved || range_is_empty(&vs->at[input]))
			continue;
		if (range_is_top(&vs->at[input], bits) && vs->ssa.nodes[input].kind == NODE_DEF &&
			!insn_is_arithmetic(&vs->fn->insns[vs->ssa.nodes[input].insn]))
			context.n = 0;
		else
			context_at_edge(vs, block->pred.v[i], n->block, &context);
		struct value v =
			evaluate_register((struct evaluation){vs, &context, 6, &fuel}, input);

		out = values_join(vs, &out, &v, bits);
		if (range_is_top(&out, bits))
			break;
	}
	return out;
}

struct value evaluate_node(struct evaluation e, uint32_t node)
{
	struct values *vs = e.values;
	const struct node *n = &vs->ssa.nodes[node];

	if (n->kind == NODE_UNDEFINED)
		return range_empty();
	if (n->kind == NODE_PHI)
		return evaluate_phi(e, node);
	struct value v = evaluate_definition(e, node);

	if (n->previous == NONE || n->previous >= vs->nsolved)
		return v;
	/* guarded: the old value stays when the guard fails */
	const struct insn *insn = &vs->fn->insns[n->insn];
	struct context context = {0};
	uint32_t fuel = 16, guard = vs->ssa.guard_of[n->insn];

	if (e.context)
		context = *e.context;
	if (guard != NONE && guard < vs->nsolved)
		context_add(vs, &context, guard, insn->guard_negated);
	struct value old =
		evaluate_register((struct evaluation){vs, &context, 4, &fuel}, n->previous);

	return values_join(vs, &v, &old, node_bits(vs, node));
}
