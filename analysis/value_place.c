/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: solved values. Out: what holds at an instruction, made once per place, and what a register
 * holds under that, kept by place and node. A register whose slice no condition of the place
 * restricts is evaluated once for all places. Invariant: what is kept was evaluated whole, not cut
 * short for depth or fuel, so it is as good as any later evaluation could be.
 */
#include "analysis/value_place.h"

#include <string.h>

struct places {
	struct context nowhere; /* nothing is known to hold */
	struct context **of_block; /* without a guard: by what is known to hold in all that it decides about */
	struct context **of_guard; /* by block: with the latest guard that was asked for */
	struct ids ranks; /* see ranks_of */
	bool ranks_found;
};

/* ---- registers ---- */

/* Whether a condition matters is looked up further away than values are: the stages of a ring, waited for one after
 * the other, are three nodes each. Where none does, what is kept is of use at all places. */
enum { MATTERS_FAR = 96 };

/* Under no condition the node is what the solver found, as all that it reads is. */
static bool becomes_same(struct evaluation e, uint32_t node)
{
	struct values *vs = e.values;

	if (!vs->same || vs->steady[node] != STEADY || !e.depth || (e.fuel && !*e.fuel))
		return false;
	e.depth--;
	for (uint32_t i = vs->read_at[node]; i < vs->read_at[node + 1]; i++) {
		uint32_t read = vs->reads[i];

		if (vs->same[read] || !node_is_computed(vs, read))
			continue;
		place_register(e, read);
		if (!vs->same[read])
			return false;
	}
	return vs->same[node] = true;
}

/* Under what holds in its own block, too: what it reads is no more restricted there than it was to the solver. */
static bool is_same_here(struct evaluation e, uint32_t node)
{
	struct values *vs = e.values;
	uint32_t control = vs->control[vs->ssa.nodes[node].block];

	if (!vs->same || !vs->steady[node] || control == NONE || !e.depth || (e.fuel && !*e.fuel) ||
		vs->places->of_block[control] != e.context)
		return false;
	e.depth--;
	for (uint32_t i = vs->read_at[node]; i < vs->read_at[node + 1]; i++) {
		uint32_t read = vs->reads[i];

		if (!node_is_computed(vs, read))
			continue;
		struct value v = place_register(e, read),
			     known = context_apply(e.context, read, *value_at(vs, read));

		if (memcmp(&v, &known, sizeof(v)) != 0)
			return false;
	}
	return true;
}

/* What a definition gives that gives `at' again. */
static struct value restricted(const struct values *vs, const struct context *context, uint32_t node)
{
	struct value v = context_apply(context, node, *value_at(vs, node));

	return range_is_empty(&v) ? v : range_meet(&v, value_at(vs, node), node_bits(vs, node));
}

/* The place restricts the node, but nothing that it is computed from. */
static bool is_restricted_alone(struct evaluation e, uint32_t node)
{
	struct values *vs = e.values;

	if (!node_is_computed(vs, node))
		return false;
	for (uint32_t i = vs->read_at[node]; i < vs->read_at[node + 1]; i++)
		if (context_matters(vs, e.context, vs->reads[i], MATTERS_FAR))
			return false;
	return true;
}

/* Of such a node: what it is computed as, it is at the outer place as well. */
static struct value restricted_alone(struct evaluation e, uint32_t node)
{
	struct values *vs = e.values;
	struct value v = context_apply(e.context, node, *value_at(vs, node));

	e.context = e.context->outer;
	struct value outside = range_is_empty(&v) ? v : place_register(e, node);

	return range_is_empty(&outside) ? outside : range_meet(&v, &outside, node_bits(vs, node));
}

struct value place_register(struct evaluation e, uint32_t node)
{
	struct values *vs = e.values;
	const struct context *context = e.context;
	bool nowhere = context == &vs->places->nowhere;

	if (nowhere && vs->same && vs->same[node])
		return *value_at(vs, node);
	const struct value *known =
		context->place ? kept_find(&vs->kept, context->place, node) : NULL;

	if (known)
		return *known;
	if (context->outer && !context_matters(vs, context, node, MATTERS_FAR)) {
		e.context = context->outer;
		return place_register(e, node);
	}
	if (nowhere && becomes_same(e, node))
		return *value_at(vs, node);
	uint32_t cuts = vs->cuts;
	struct value v = context->outer && is_restricted_alone(e, node) ? restricted_alone(e, node)
			 : !nowhere && is_same_here(e, node)		? restricted(vs, context, node)
									: evaluate_under(e, node);

	if (nowhere && cuts == vs->cuts && vs->same && memcmp(&v, value_at(vs, node), sizeof(v)) == 0)
		vs->same[node] = true;
	else if (context->place && cuts == vs->cuts)
		kept_add(&vs->kept, vs->arena, context->place, node, &v);
	return v;
}

/* ---- places ---- */

static struct places *places_of(struct values *vs)
{
	if (vs->places)
		return vs->places;
	struct places *p = vs->places = ARENA_NEW(&vs->caches, struct places, 1);

	p->of_block = ARENA_NEW(&vs->caches, struct context *, vs->cfg->n + 1);
	p->of_guard = ARENA_NEW(&vs->caches, struct context *, vs->cfg->n + 1);
	p->nowhere.place = 1;
	return p;
}

/* Under these numbers results stay kept when contexts are made again; other places then are new ones. */
static uint32_t place_of_control(uint32_t control)
{
	return 2 + control;
}

static uint32_t next_place(struct values *vs)
{
	if (!vs->latest_place)
		vs->latest_place = place_of_control(vs->cfg->n);
	return ++vs->latest_place;
}

/* Of constraints that stay where they are; the first of them, as many as it has, are those of an outer place. */
static struct context *add_place_of(struct values *vs, uint32_t number, const struct context *from,
	const struct context *outer)
{
	struct context *context = ARENA_UNSET(&vs->caches, struct context, 1);

	*context = *from;
	context->place = number;
	context->outer = outer;
	context_begin(vs, context, outer->n);
	return context;
}

static struct context *add_place(struct values *vs, uint32_t number, const struct context *from,
	const struct context *outer)
{
	struct context context = *from;

	context.v = ARENA_UNSET(&vs->caches, struct constraint, from->n);
	context_copy(&context, from);
	return add_place_of(vs, number, &context, outer);
}

static struct context *at_block(struct values *vs, uint32_t block)
{
	uint32_t control = vs->control[block];
	uint32_t which = control == NONE ? vs->cfg->n : control;
	struct context **slot = &places_of(vs)->of_block[which];

	if (!*slot) {
		const struct context *here = context_of_block(vs, block);

		*slot = (context_stays(vs, here) ? add_place_of : add_place)(
			vs, place_of_control(which), here, &vs->places->nowhere);
	}
	return *slot;
}

/* A register that holds where this CTA stands in its cluster: its rank or one of its coordinates. */
static bool holds_place(const struct values *vs, uint32_t node, bool *is_rank)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn = n->kind == NODE_DEF && n->previous == NONE ? &vs->fn->insns[n->insn] : NULL;
	const struct operand *s = insn && insn->op == OP_mov ? insn_source(vs->fn, insn, 0) : NULL;

	if (!s || s->kind != OPERAND_SPECIAL)
		return false;
	*is_rank = s->special == SPECIAL_CLUSTER_CTARANK;
	return *is_rank || s->special == SPECIAL_CLUSTER_CTAID_X ||
	       s->special == SPECIAL_CLUSTER_CTAID_Y || s->special == SPECIAL_CLUSTER_CTAID_Z;
}

/* The nodes that hold this CTA's rank in its cluster or a coordinate, which never change. */
static struct ids ranks_of(struct values *vs)
{
	struct places *p = places_of(vs);
	uint32_t *v = NULL, n = 0, cap = 0;

	if (p->ranks_found)
		return p->ranks;
	bool is_rank;

	for (uint32_t i = 0; i < vs->nsolved; i++)
		if (holds_place(vs, i, &is_rank))
			ARENA_PUSH(&vs->caches, v, n, cap, i);
	p->ranks_found = true;
	return p->ranks = (struct ids){v, n};
}

/* The bits that a multicast's mask can have, or more; 0: not known. */
static uint32_t mask_bits(struct values *vs, const struct insn *insn)
{
	const struct operand *mask = value_multicast_mask(vs->fn, insn);
	int64_t c;

	if (!mask || trips_constant_of(vs, mask, &c))
		return mask ? (uint32_t)c & 0xffff : 0;
	struct value v = evaluate_operand((struct evaluation){vs, NULL, 0, NULL}, 0, mask);

	if (v.base != BASE_NUMBER || v.lo < 0 || v.hi < 1 || v.hi > 0xffff || v.assumptions)
		return 0;
	return UINT32_MAX >> __builtin_clz((uint32_t)v.hi);
}

/* Who sends by a known mask is among those who get it (ASSUME_MULTICAST_SELF). No coordinate is above the
 * rank, which is x + (y + z * height) * width (ISA 10.16). */
static const struct context *at_sender(
	struct values *vs, const struct insn *insn, const struct context *plain)
{
	struct ids ranks = ranks_of(vs);
	struct constraint room[CONTEXT_MAX];
	struct context context = {.v = room, .guard = plain->guard, .holds = plain->holds};

	if (!ranks.n || !(vs->options->assume & ASSUME_MULTICAST_SELF))
		return plain;
	uint32_t bits = mask_bits(vs, insn);

	if (!bits)
		return plain;
	context_copy(&context, plain);
	for (uint32_t i = 0; i < ranks.n && context.n < CONTEXT_MAX; i++) {
		bool is_rank = false;

		(void)holds_place(vs, ranks.v[i], &is_rank);
		context.v[context.n++] = (struct constraint){.node = ranks.v[i],
			.assumptions = ASSUME_MULTICAST_SELF,
			.lo = is_rank ? __builtin_ctz(bits) : 0,
			.hi = 31 - __builtin_clz(bits),
			.bits = (uint8_t)node_bits(vs, ranks.v[i])};
	}
	for (uint32_t i = plain->n; i < context.n; i++)
		context.all |= UINT64_C(1) << (context.v[i].node % 64);
	return add_place(vs, next_place(vs), &context, plain);
}

static const struct context *at_instruction(struct values *vs, uint32_t insn)
{
	uint32_t block = vs->cfg->block_of[insn];

	if (block == NONE)
		return &places_of(vs)->nowhere;
	struct context *plain = at_block(vs, block), **slot = &vs->places->of_guard[block];
	const struct insn *i = &vs->fn->insns[insn];
	uint32_t guard = i->guard == NONE ? NONE : vs->ssa.guard_of[insn];

	if (guard == NONE || guard >= vs->nsolved)
		return plain;
	if (*slot && (*slot)->guard == guard && (*slot)->holds != i->guard_negated)
		return *slot;
	struct constraint room[CONTEXT_MAX];
	struct context context = {.v = room, .guard = guard, .holds = !i->guard_negated};

	context_copy(&context, plain);
	/* the guard matters most: leave room for it */
	bool whole = context.n <= CONTEXT_MAX - 12;

	if (!whole)
		context.n = CONTEXT_MAX - 12;
	context_add(vs, &context, guard, context.holds);
	return *slot = add_place(vs, next_place(vs), &context, whole ? plain : &vs->places->nowhere);
}

const struct context *place_at(struct values *vs, uint32_t insn)
{
	const struct context *plain = at_instruction(vs, insn);

	return value_sends_to_mask(&vs->fn->insns[insn]) ? at_sender(vs, &vs->fn->insns[insn], plain)
							  : plain;
}
