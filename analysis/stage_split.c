/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an operand and the register of a stage. Out: how often the register is in it, and what is added to
 * that. Invariant: the operand is factor * register + a number of the rest, in the low 32 bits.
 */
#include "analysis/stage_split.h"

#include "analysis/threads.h"

#define SPLIT_DEPTH 12
#define LOOKS_MOST 100

static void find_numbers(const struct values *vs, struct numbers *n)
{
	const struct thread_set *who = threads_reach(vs, n->block);
	uint32_t end = 0;
	bool any = false;

	for (uint32_t tid = 0; tid < THREADS_MAX; tid++) {
		int64_t v = 0;

		if (!thread_set_has(who, tid) || tid < end)
			continue;
		if (!thread_node_number(vs, tid, n->node, &v, &end))
			return;
		v = (int32_t)(uint32_t)(uint64_t)v;
		n->lo = !any || v < n->lo ? v : n->lo;
		n->hi = !any || v > n->hi ? v : n->hi;
		any = true;
	}
	n->known = any;
}

static const struct numbers *numbers_of(struct split *s, uint32_t node)
{
	struct numbers **list = &s->kept[node % NUMBERS_LISTS], *n;

	for (n = *list; n; n = n->next)
		if (n->node == node && n->block == s->block)
			return n;
	n = ARENA_NEW(s->vs->arena, struct numbers, 1);
	*n = (struct numbers){.next = *list, .node = node, .block = s->block};
	find_numbers(s->vs, n);
	return *list = n;
}

/* A register that is not taken apart: what it can hold, or what each thread makes of it, if less. */
static struct value whole_value(struct split *s, uint32_t node)
{
	struct value v = *value_at(s->vs, node);
	bool assumed;

	if (!s->kept || v.base != BASE_NUMBER || v.lo == v.hi || node_bits(s->vs, node) != 32 ||
		!threads_numbered(s->vs, &assumed))
		return v;
	const struct numbers *n = numbers_of(s, node);

	if (!n->known || n->hi - n->lo >= v.hi - v.lo)
		return v;
	s->assumptions |= assumed ? ASSUME_FLAT_BLOCK : 0;
	return range_span(n->lo, n->hi, 1);
}

static struct value add(struct values *vs, const struct value *a, const struct value *b)
{
	if (a->base == BASE_DESCRIPTOR && b->base == BASE_NUMBER)
		return descriptor_add(vs, a, b);
	if (b->base == BASE_DESCRIPTOR && a->base == BASE_NUMBER)
		return descriptor_add(vs, b, a);
	return range_add(a, b, 32);
}

static struct part split_node(struct split *s, uint32_t node, uint32_t depth);

static struct part split_source(
	struct split *s, const struct insn *insn, uint32_t k, uint32_t depth)
{
	const struct operand *o = insn_source(s->vs->fn, insn, k);
	struct part p = {.rest = range_top(32)};
	int64_t c;

	if (trips_constant_of(s->vs, o, &c)) {
		p.rest = range_constant((int32_t)(uint32_t)(uint64_t)c);
		return p;
	}
	uint32_t node = trips_plain_node(s->vs, o);

	return node == NONE ? p : split_node(s, node, depth);
}

static struct part times(const struct part *p, uint32_t by)
{
	struct value factor = range_constant((int32_t)by);
	struct part out = {p->factor * by, range_top(32)};

	if (p->rest.base == BASE_NUMBER)
		out.rest = range_mul(&p->rest, &factor, 32);
	return out;
}

static struct part sum(struct split *s, const struct part *a, const struct part *b)
{
	return (struct part){a->factor + b->factor, add(s->vs, &a->rest, &b->rest)};
}

/* {low, high} of 32 bits each. */
static uint32_t low_half(const struct values *vs, const struct insn *insn)
{
	const struct operand *list = insn_source(vs->fn, insn, 0);

	return list && list->kind == OPERAND_LIST && operand_count(list) == 2
		       ? trips_plain_node(vs, operand_child(vs->fn, list, 0))
		       : NONE;
}

/* What the instruction adds up; a factor of 0: it is not taken apart. */
static struct part split_definition(struct split *s, const struct insn *insn, uint32_t depth)
{
	const struct values *vs = s->vs;
	struct type type = insn_type(insn, 0), from = insn_type(insn, 1);
	struct part none = {.factor = 0}, a, b;
	int64_t c;

	if (type.is_float || type.bits < 32 || insn_has(insn, MOD_sat) || insn_has(insn, MOD_hi) ||
		insn_operand(vs->fn, insn, 0)->kind != OPERAND_REG)
		return none;
	switch (insn->op) {
	case OP_mov:
	case OP_LINK_MOV:
		if (low_half(vs, insn) != NONE)
			return split_node(s, low_half(vs, insn), depth - 1);
		return split_source(s, insn, 0, depth - 1);
	case OP_cvt:
		return from.is_float || from.bits < 32 ? none
						       : split_source(s, insn, 0, depth - 1);
	case OP_add:
	case OP_sub:
		a = split_source(s, insn, 0, depth - 1);
		b = split_source(s, insn, 1, depth - 1);
		if (insn->op == OP_sub)
			b = times(&b, UINT32_MAX);
		return sum(s, &a, &b);
	case OP_shl:
		if (!trips_constant_of(vs, insn_source(vs->fn, insn, 1), &c) || c < 0 || c > 31)
			return none;
		a = split_source(s, insn, 0, depth - 1);
		return times(&a, UINT32_C(1) << c);
	case OP_mul:
	case OP_mad:
		if (!trips_constant_of(vs, insn_source(vs->fn, insn, 1), &c))
			return none;
		a = split_source(s, insn, 0, depth - 1);
		a = times(&a, (uint32_t)(uint64_t)c);
		if (insn->op == OP_mul)
			return a;
		b = split_source(s, insn, 2, depth - 1);
		return sum(s, &a, &b);
	default:
		return none;
	}
}

/* Taken apart only where the stage is in it: what is known of the whole is known best. */
static struct part split_node(struct split *s, uint32_t node, uint32_t depth)
{
	const struct values *vs = s->vs;
	const struct node *n = &vs->ssa.nodes[node];
	struct part p = {.factor = 0};

	if (node == s->stage)
		return (struct part){1, range_constant(0)};
	if (n->kind == NODE_DEF && n->previous == NONE && depth && ++s->looks <= LOOKS_MOST)
		p = split_definition(s, &vs->fn->insns[n->insn], depth);
	if (!p.factor)
		p.rest = whole_value(s, node);
	return p;
}

bool split_operand(struct split *s, const struct operand *o, struct part *out)
{
	struct values *vs = s->vs;

	if (o->kind == OPERAND_MEM)
		o = o->indexed ? NULL : operand_child(vs->fn, o, 0);
	if (!o || o->kind != OPERAND_REG || o->component || o->negated)
		return false;
	uint32_t node = o->node;

	if (node >= vs->nsolved)
		return false;
	struct value offset = range_constant(operand_offset(vs->fn, o));

	*out = split_node(s, node, SPLIT_DEPTH);
	if (o->offset)
		out->rest = add(vs, &out->rest, &offset);
	return out->factor != 0;
}
