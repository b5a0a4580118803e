/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the address of a generic access. Out: its terms, followed through additions and products with constants.
 * Everything on that way is a ring operation, so the sum is the address modulo 2^32 whatever wraps in between; and
 * where the ends of the sum lie within 2^31 of the variable, it is the very offset. Invariant: a term's register
 * has the value at the access that it had where the address was computed from it (value_context.c says why).
 */
#include "analysis/linear.h"

#include "analysis/value_private.h"

#include <string.h>

#define TERMS_MOST 12
#define LOOKS_MOST 64 /* operands followed */

struct term {
	uint32_t node;
	int64_t factor;
	struct value v; /* a number, where the access is */
};

/* The sum of an access's address; or, without its ends and what is said of the terms, what a register is the sum of:
 * many accesses count from the same one. */
struct linear {
	struct linear *next;
	uint32_t insn, touch; /* or the register's node and the variable */
	bool known;
	uint32_t n;
	int64_t constant, lo, hi; /* the ends of the whole sum */
	uint32_t assumptions;
	struct term terms[TERMS_MOST]; /* of a kept one as many as there are */
};

struct sum {
	struct values *vs;
	struct linear *l;
	uint32_t variable, looks;
	int64_t variables; /* how often the variable's address is in it */
};

static int64_t folded(int64_t v)
{
	return (int32_t)(uint32_t)(uint64_t)v;
}

static void add_constant(struct sum *s, int64_t factor, int64_t number)
{
	s->l->constant = folded(s->l->constant + (int64_t)((uint64_t)factor * (uint64_t)number));
}

/* A register as a whole, of which something is known. */
static bool is_register(const struct values *vs, const struct operand *o)
{
	return !o->component && !o->negated && vs->fn->regs[o->id].vector <= 1 && o->node < vs->nsolved;
}

static bool add_node(struct sum *s, uint32_t node, int64_t factor);

static bool add_operand(struct sum *s, const struct operand *o, int64_t factor)
{
	const struct function *fn = s->vs->fn;
	int64_t number;

	if (!o)
		return false;
	if (trips_constant_of(s->vs, o, &number)) {
		add_constant(s, factor, number);
		return true;
	}
	if (o->kind == OPERAND_SYMBOL && o->id == s->variable) {
		s->variables += factor;
		add_constant(s, factor, operand_offset(fn, o));
		return true;
	}
	if (o->kind != OPERAND_REG || !is_register(s->vs, o))
		return false;
	add_constant(s, factor, operand_offset(fn, o));
	return add_node(s, o->node, factor);
}

static bool add_product(struct sum *s, const struct insn *insn, int64_t factor)
{
	const struct operand *a = insn_source(s->vs->fn, insn, 0), *b = insn_source(s->vs->fn, insn, 1);
	int64_t by;

	if (trips_constant_of(s->vs, b, &by))
		return add_operand(s, a, folded((int64_t)((uint64_t)factor * (uint64_t)by)));
	return trips_constant_of(s->vs, a, &by) &&
	       add_operand(s, b, folded((int64_t)((uint64_t)factor * (uint64_t)by)));
}

/* A register as it is: of an address, what is behind the variable. */
static bool add_term(struct sum *s, uint32_t node, int64_t factor)
{
	struct linear *l = s->l;
	const struct value *v = value_at(s->vs, node);

	if (v->base == BASE_SYMBOL && v->id == s->variable)
		s->variables += factor;
	else if (v->base != BASE_NUMBER)
		return false;
	for (uint32_t i = 0; i < l->n; i++) {
		if (l->terms[i].node != node)
			continue;
		l->terms[i].factor = folded(l->terms[i].factor + factor);
		return true;
	}
	if (l->n == TERMS_MOST)
		return false;
	l->terms[l->n++] = (struct term){.node = node, .factor = folded(factor)};
	return true;
}

/* Its sources have 32 bits or more and all of its result is their sum or product, modulo 2^32. */
static bool is_plain(const struct values *vs, const struct insn *insn)
{
	struct type type = insn_type(insn, 0);

	return insn_operand(vs->fn, insn, 0)->kind == OPERAND_REG && !type.is_float && type.bits >= 32 &&
	       !insn_has(insn, MOD_sat) && !insn_has(insn, MOD_hi);
}

/* Both halves of a computation; what was added is taken back where the second one fails. */
static bool add_insn(struct sum *s, const struct insn *insn, int64_t factor)
{
	const struct function *fn = s->vs->fn;
	const struct operand *a = insn_source(fn, insn, 0), *b = insn_source(fn, insn, 1),
			     *c = insn_source(fn, insn, 2);
	struct type from = insn_type(insn, 1);
	int64_t by;

	switch (insn->op) {
	case OP_mov:
		return add_operand(s, a, factor);
	case OP_cvt:
		return !from.is_float && from.bits >= 32 && add_operand(s, a, factor);
	case OP_add:
		return add_operand(s, a, factor) && add_operand(s, b, factor);
	case OP_sub: /* of two registers it may be a remainder, whose range says more than both */
		return trips_constant_of(s->vs, b, &by) && add_operand(s, a, factor) &&
		       add_operand(s, b, -factor);
	case OP_or:
		return value_fields_apart(s->vs, insn, insn_type(insn, 0).bits, &s->l->assumptions) &&
		       add_operand(s, a, factor) && add_operand(s, b, factor);
	case OP_shl:
		return trips_constant_of(s->vs, b, &by) && by >= 0 && by < 31 &&
		       add_operand(s, a, folded((int64_t)((uint64_t)factor << by)));
	case OP_mul:
		return add_product(s, insn, factor);
	case OP_mad:
		return add_product(s, insn, factor) && add_operand(s, c, factor);
	default:
		return false;
	}
}

static bool add_node(struct sum *s, uint32_t node, int64_t factor)
{
	const struct node *n = &s->vs->ssa.nodes[node];
	const struct value *v = value_at(s->vs, node);
	struct linear before;
	int64_t variables = s->variables;

	if (v->base == BASE_NUMBER && v->lo == v->hi) {
		s->l->assumptions |= v->assumptions;
		add_constant(s, factor, v->lo);
		return true;
	}
	if (n->kind == NODE_DEF && n->previous == NONE && s->looks < LOOKS_MOST &&
		is_plain(s->vs, &s->vs->fn->insns[n->insn])) {
		size_t size = offsetof(struct linear, terms) + sizeof(before.terms[0]) * s->l->n;

		s->looks++;
		memcpy(&before, s->l, size);
		if (add_insn(s, &s->vs->fn->insns[n->insn], factor))
			return true;
		memcpy(s->l, &before, size);
		s->variables = variables;
	}
	return add_term(s, node, factor);
}

/* The least and the most of a term. */
static void ends_of(const struct term *t, int64_t *lo, int64_t *hi)
{
	*lo = t->factor * (t->factor < 0 ? t->v.hi : t->v.lo);
	*hi = t->factor * (t->factor < 0 ? t->v.lo : t->v.hi);
}

/* What the registers hold where the access is, and the ends of the sum; false: they may be anything. */
static bool find_ends(struct sum *s, uint32_t insn)
{
	const struct context *here = context_of_block(s->vs, s->vs->cfg->block_of[insn]);
	struct linear *l = s->l;
	int64_t lo, hi;

	l->lo = l->hi = l->constant;
	for (uint32_t i = 0; i < l->n; i++) {
		struct term *t = &l->terms[i];

		if (!t->factor)
			continue;
		t->v = context_apply(here, t->node, *value_at(s->vs, t->node));
		/* so small that no product overflows */
		if (range_is_empty(&t->v) || t->v.lo < -INT32_MAX || t->v.hi > INT32_MAX)
			return false;
		ends_of(t, &lo, &hi);
		if (lo < -INT32_MAX || hi > INT32_MAX)
			return false;
		l->lo += lo;
		l->hi += hi;
		l->assumptions |= t->v.assumptions;
	}
	return l->lo >= -INT32_MAX && l->hi <= INT32_MAX;
}

static struct linear *find(struct linear *list, uint32_t insn, uint32_t touch)
{
	while (list && (list->insn != insn || list->touch != touch))
		list = list->next;
	return list;
}

static const struct linear *keep(struct values *vs, struct linear **list, struct linear *found)
{
	size_t size = offsetof(struct linear, terms) + sizeof(found->terms[0]) * (found->known ? found->n : 0);

	found->next = *list;
	return *list = memcpy(arena_alloc_unset(&vs->caches, size), found, size);
}

/* The sum that a register is; an address in the variable. */
static const struct linear *linear_of_node(struct values *vs, uint32_t node, uint32_t variable)
{
	struct linear **list = &vs->linear_nodes[node % RESIDUES_LISTS], *known = find(*list, node, variable);
	struct linear fresh = {.insn = node, .touch = variable};
	struct sum s = {.vs = vs, .l = &fresh, .variable = variable};

	if (known)
		return known;
	fresh.known = add_node(&s, node, 1) && s.variables == 1;
	return keep(vs, list, &fresh);
}

static bool find_sum(struct sum *s, const struct operand *o)
{
	uint32_t insn = s->l->insn, touch = s->l->touch;
	int64_t number;

	if (!o || o->kind != OPERAND_REG || trips_constant_of(s->vs, o, &number))
		return add_operand(s, o, 1) && s->variables == 1;
	if (!is_register(s->vs, o))
		return false;
	const struct linear *l = linear_of_node(s->vs, o->node, s->variable);

	if (!l->known)
		return false;
	memcpy(s->l, l, offsetof(struct linear, terms) + sizeof(l->terms[0]) * l->n);
	s->l->insn = insn;
	s->l->touch = touch;
	add_constant(s, 1, operand_offset(s->vs->fn, o));
	return true;
}

/* What the address of the access is the sum of. */
static bool find_address(struct sum *s, const struct access *g)
{
	const struct touch *touch = &s->vs->cfg->effects[g->insn]->touches[g->touch];
	const struct operand *o = insn_operand(s->vs->fn, &s->vs->fn->insns[g->insn], touch->operand);

	if (o && o->kind == OPERAND_MEM)
		o = o->indexed ? NULL : operand_child(s->vs->fn, o, 0);
	return find_sum(s, o);
}

static const struct linear *linear_of(struct values *vs, const struct access *g)
{
	struct linear **list = &vs->linears[g->insn % RESIDUES_LISTS], *known = find(*list, g->insn, g->touch);
	struct linear fresh = {.insn = g->insn, .touch = g->touch};
	struct sum s = {.vs = vs, .l = &fresh, .variable = g->address.id};

	if (known)
		return known;
	fresh.known = find_address(&s, g) && find_ends(&s, g->insn);
	return keep(vs, list, &fresh);
}

static int64_t rest_of(int64_t v, int64_t by)
{
	return (v % by + by) % by;
}

/* Modulo `by` the places of the access end before the other bytes begin, which end before these begin anew. */
static bool apart_modulo(const struct linear *l, int64_t bytes, int64_t by, int64_t other, int64_t size)
{
	int64_t from = l->constant, to = l->constant, lo, hi;

	for (uint32_t i = 0; i < l->n; i++) {
		const struct term *t = &l->terms[i];
		bool stays = (int64_t)((uint64_t)t->factor * t->v.stride) % by == 0;

		if (t->factor % by == 0)
			continue;
		ends_of(t, &lo, &hi);
		from += lo;
		to += stays ? lo : hi;
	}
	int64_t distance = rest_of(other - from, by);

	return distance >= to - from + bytes && by - distance >= size;
}

bool linear_apart(const struct values *values, const struct access *g, const struct value *other, uint64_t size,
	uint32_t *assumptions)
{
	struct values *vs = (struct values *)(uintptr_t)values;
	bool one = other->lo == other->hi, apart = false;

	if (!g->pattern || other->lo < 0 || other->hi > INT32_MAX || size > INT32_MAX)
		return false;
	const struct linear *l = linear_of(vs, g);
	int64_t bytes = (int64_t)g->bytes, n = (int64_t)size;

	if (!l->known)
		return false;
	if (l->hi + bytes <= other->lo || l->lo >= other->hi + n)
		apart = true;
	else if (!one)
		apart = other->stride > 1 && other->stride < INT32_MAX &&
			apart_modulo(l, bytes, (int64_t)other->stride, other->lo, n);
	for (uint32_t i = 0; i < l->n && one && !apart; i++) {
		int64_t by = l->terms[i].factor < 0 ? -l->terms[i].factor : l->terms[i].factor;

		apart = by > bytes + n && apart_modulo(l, bytes, by, other->lo, n);
	}
	if (apart)
		*assumptions |= l->assumptions | other->assumptions;
	return apart;
}

#define ANYWHERE (INT64_C(1) << 20) /* bytes: more than a CTA has of shared memory */

bool linear_behind(const struct values *values, const struct access *g, const struct value *other, uint64_t size)
{
	struct values *vs = (struct values *)(uintptr_t)values;
	struct linear fresh = {.insn = g->insn, .touch = g->touch};
	struct sum s = {.vs = vs, .l = &fresh, .variable = g->address.id};

	if (g->address.base != BASE_SYMBOL || g->address.lo > -ANYWHERE || size > INT32_MAX || !find_address(&s, g))
		return false;
	const struct context *here = context_of_block(vs, vs->cfg->block_of[g->insn]);
	int64_t lo = fresh.constant;

	for (uint32_t i = 0; i < fresh.n; i++) {
		int64_t factor = fresh.terms[i].factor;
		struct value v = context_apply(here, fresh.terms[i].node, *value_at(vs, fresh.terms[i].node));
		int64_t end = factor < 0 ? v.hi : v.lo;

		if (factor > 0 && v.lo < -ANYWHERE / factor && v.hi <= INT32_MAX)
			continue;
		if (end < -INT32_MAX || end > INT32_MAX)
			return false;
		lo += factor * end;
	}
	return lo >= 0 && lo >= other->hi + (int64_t)size;
}
