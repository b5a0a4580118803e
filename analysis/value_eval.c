/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a node and what its operands can hold. Out: what it can hold. Invariant: the
 * result covers every concrete result (ISA 9.7.1 to 9.7.9).
 */
#include "analysis/value_place.h"

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
	uint32_t node = p->node;
	struct value condition = evaluate_operand(op->e, op->index, p);

	for (uint32_t k = 0; k < 2; k++) {
		const struct operand *from = insn_source(vs->fn, op->insn, k);
		struct constraint room[CONTEXT_MAX];
		struct context context = {.v = room};

		if (range_is_empty(&condition) || condition.hi < 1 - (int64_t)k ||
			condition.lo > 1 - (int64_t)k) {
			v[k] = range_empty();
			continue;
		}
		if (from && from->kind == OPERAND_IMM) {
			v[k] = range_constant(from->imm);
			continue;
		}
		context_copy(&context, op->e.context);
		if (node != NONE && node < vs->nsolved)
			context_add(vs, &context, node, (k == 0) != p->negated);
		if (op->e.context && (op->e.context->place || op->e.context->outer)) {
			context.outer = op->e.context;
			context_begin(vs, &context, op->e.context->n);
		} else {
			context_begin(vs, &context, 0);
		}
		arm.e.context = &context;
		arm.e.depth = op->e.depth > 4 ? op->e.depth : 4;
		uint32_t fuel = 24;

		if (!arm.e.fuel)
			arm.e.fuel = &fuel;
		v[k] = operation_source(&arm, k);
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
	a = operation_number(op, 0);
	b = operation_number(op, 1);
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
	result = type.bits < op->bits || type.bits < 32 ? value_type_range(type) : any(type.bits);
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

/* A half of x | constant, which as a whole may be too large a number for a range; false: it is no such. */
static bool half_of_or(const struct operation *op, const struct operand *s, struct value *out)
{
	const struct values *vs = op->e.values;
	uint32_t node = trips_plain_node(vs, s);
	const struct node *n = node == NONE ? NULL : &vs->ssa.nodes[node];
	const struct insn *insn =
		n && n->kind == NODE_DEF && n->previous == NONE ? &vs->fn->insns[n->insn] : NULL;
	int64_t c;

	if (!insn || insn->op != OP_or || insn_type(insn, 0).bits != 64 || op->bits != 32 ||
		!trips_constant_of(vs, insn_source(vs->fn, insn, 1), &c))
		return false;
	struct value x = evaluate_operand(op->e, n->insn, insn_source(vs->fn, insn, 0)),
		     shift = range_constant(32);

	if (x.base != BASE_NUMBER || x.lo < 0 || x.hi > VALUE_FAR)
		return false;
	if (op->slot)
		x = range_shr(&x, &shift);
	x = range_unsigned(&x, 32);
	uint64_t half = (uint64_t)c >> 32 * op->slot & UINT32_MAX;
	struct value v = range_constant((int64_t)half);
	uint32_t zeros = range_trailing_zeros(&x);

	/* no bit in common: x has none above its highest one, and none below its zeros */
	if (!x.hi || !(half & (~UINT64_C(0) >> __builtin_clzll((uint64_t)x.hi) & ~UINT64_C(0) << zeros)))
		*out = range_add(&x, &v, 32);
	else
		*out = range_or(&x, &v, 32);
	return true;
}

/* Of a number of 64 bits that may be too large for a range. */
static bool half_of_constant(const struct operation *op, const struct operand *s, struct value *out)
{
	int64_t c;

	if (op->bits != 32 || !trips_constant_of(op->e.values, s, &c))
		return false;
	*out = range_constant((int64_t)((uint64_t)c >> 32 * op->slot & UINT32_MAX));
	return true;
}

static struct value move(const struct operation *op)
{
	struct values *vs = op->e.values;
	const struct function *fn = vs->fn;
	const struct operand *d = insn_operand(fn, op->insn, 0), *s = insn_source(fn, op->insn, 0);

	if (!s)
		return any(op->bits);
	if (d->kind == OPERAND_LIST) { /* unpack */
		struct value v = s->kind == OPERAND_REG ? operation_source(op, 0) : any(64), k;

		if (range_is_empty(&v))
			return v;
		if (v.base == BASE_DESCRIPTOR)
			return operand_count(d) == 2 ? descriptor_half(vs, &v, op->slot == 1)
						     : any(op->bits);
		if (operand_count(d) == 2 && (half_of_constant(op, s, &k) || half_of_or(op, s, &k)))
			return k;
		if (!op->slot && op->bits >= 32)
			return v.base == BASE_PARAM ? range_unsigned(&v, op->bits)
						    : range_fit(v, op->bits);
		v = range_unsigned(&v, op->bits * operand_count(d));
		k = range_constant((int64_t)(op->slot * op->bits));
		v = range_shr(&v, &k);
		return range_unsigned(&v, op->bits);
	}
	if (s->kind == OPERAND_LIST) { /* pack */
		const struct operand *low = operand_child(fn, s, 0),
				     *high = operand_child(fn, s, 1);

		if (operand_count(s) != 2 || (op->bits != 64 && op->bits != 32))
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
		if (range_is_constant(&b, &c) && !c && value_is_shared_address(&a))
			return half == 32 ? value_extended(a) : a;
		a = range_unsigned(&a, half);
		b = range_shl(&b, &shift, op->bits);
		return range_add(&a, &b, op->bits);
	}
	struct value v = operation_source(op, 0);

	return v.base == BASE_NUMBER && s->kind == OPERAND_SPECIAL ? range_fit(v, op->bits) : v;
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
		return op->slot ? range_span(0, 1, 1) : operation_source(op, 0);
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
			return operation_predicate(&op);
		else if (op.type.is_float || !op.type.bits || insn_has(insn, MOD_sat))
			v = insn->op == OP_cvt || insn->op == OP_cvta ? operation_arithmetic(&op)
								      : any(op.bits);
		else
			v = operation_arithmetic(&op);
	}
	/* results narrower than their register are extended by type: leave only what fits */
	return v.base == BASE_NUMBER ? range_fit(v, op.bits) : v;
}

/* What comes into a phi along way k, under what holds there. */
static struct value evaluate_input(struct values *vs, const struct node *n, uint32_t k)
{
	uint32_t input = vs->ssa.inputs[n->input + k], fuel = 32;
	uint32_t from = vs->cfg->blocks[n->block].pred.v[k];
	struct kept_input *kept = &vs->kept_inputs[n->input + k];
	struct constraint room[CONTEXT_MAX];
	struct context context = {.v = room};

	if (kept->looked > vs->fresh[input] &&
		kept->looked > context_edge_since(vs, from, n->block))
		return kept->v;
	context_at_edge(vs, from, n->block, &context);
	context_begin(vs, &context, 0);
	kept->v = evaluate_register((struct evaluation){vs, &context, 6, &fuel}, input);
	kept->looked = vs->clock + 1;
	return kept->v;
}

/* A phi joins its inputs. */
static struct value join_inputs(struct values *vs, uint32_t node, bool around)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct block *block = &vs->cfg->blocks[n->block];
	struct value out = range_empty();
	uint32_t bits = node_bits(vs, node);

	for (uint32_t i = 0; i < block->pred.n; i++) {
		uint32_t input = vs->ssa.inputs[n->input + i];

		if (input >= vs->nsolved || range_is_empty(value_at(vs, input)) ||
			(!around && trips_is_back_edge(vs, n->block, i)))
			continue;
		struct value v = *value_at(vs, input);

		if (!range_is_top(&v, bits) || vs->ssa.nodes[input].kind != NODE_DEF ||
			insn_is_arithmetic(&vs->fn->insns[vs->ssa.nodes[input].insn]))
			v = evaluate_input(vs, n, i);
		out = values_join(vs, &out, &v, bits);
		if (range_is_top(&out, bits))
			break;
	}
	return out;
}

/* By what the loop ends at, for each way into it; false: not known. */
static bool bound_by_end(struct values *vs, uint32_t node, struct value *out)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct block *block = &vs->cfg->blocks[n->block];
	struct constraint room[CONTEXT_MAX];

	*out = range_empty();
	for (uint32_t k = 0; k < block->pred.n; k++) {
		uint32_t input = vs->ssa.inputs[n->input + k], fuel = 64;
		struct context context = {.v = room};
		struct evaluation e = {vs, &context, 6, &fuel};
		struct value v;

		if (trips_is_back_edge(vs, n->block, k))
			continue;
		context_at_edge(vs, block->pred.v[k], n->block, &context);
		context_begin(vs, &context, 0);
		v = evaluate_register(e, input);
		if (!trips_bound_by_end(e, node, &v, &v))
			return false;
		*out = values_join(vs, out, &v, node_bits(vs, node));
	}
	return true;
}

static struct value evaluate_phi(struct values *vs, uint32_t node)
{
	struct value start, bound, out;

	if (!trips_are_bounded(vs, node))
		return join_inputs(vs, node, true);
	if (!trips_end_is_near(vs, node) || !bound_by_end(vs, node, &bound)) {
		if (!trips_know_rounds(vs, node))
			return join_inputs(vs, node, true);
		start = join_inputs(vs, node, false);
		if (!trips_bound(vs, node, &start, &bound))
			return join_inputs(vs, node, true);
	}
	if (!vs->narrowing || range_is_empty(&bound))
		return bound;
	out = join_inputs(vs, node, true);
	return range_meet(&out, &bound, node_bits(vs, node));
}

struct value evaluate_node(struct evaluation e, uint32_t node)
{
	struct values *vs = e.values;
	const struct node *n = &vs->ssa.nodes[node];

	if (n->kind == NODE_UNDEFINED)
		return range_empty();
	if (n->kind == NODE_PHI)
		return evaluate_phi(vs, node);
	struct value v = evaluate_definition(e, node);

	if (n->previous == NONE || n->previous >= vs->nsolved)
		return v;
	/* guarded: the old value stays when the guard fails */
	const struct insn *insn = &vs->fn->insns[n->insn];
	struct constraint room[CONTEXT_MAX];
	struct context context = {.v = room};
	uint32_t fuel = 16, guard = vs->ssa.guard_of[n->insn];

	context_copy(&context, e.context);
	if (guard != NONE && guard < vs->nsolved)
		context_add(vs, &context, guard, insn->guard_negated);
	context_begin(vs, &context, 0);
	struct value old =
		evaluate_register((struct evaluation){vs, &context, 4, &fuel}, n->previous);

	return values_join(vs, &v, &old, node_bits(vs, node));
}
