/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The questions that other stages ask of solved values. In: an instruction and one of its operands.
 * Out: what is known there, with the conditions that hold at that place taken into account.
 */
#include "analysis/stages.h"
#include "analysis/value_place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Answers are cached and rare registers are put into SSA form on demand; neither changes an answer.
 */
static struct values *cache_of(const struct values *vs)
{
	return (struct values *)(uintptr_t)vs;
}

static struct value unknown(void)
{
	struct value v = range_top(64);

	v.base = BASE_UNKNOWN;
	return v;
}

/* Inside the solver a number without bounds stands for anything; outside it has a name. */
static struct value finished(struct value v)
{
	if (v.base == BASE_EMPTY)
		return unknown();
	if (v.base == BASE_NUMBER && v.stride == 1 && (v.lo <= -VALUE_FAR || v.hi >= UINT32_MAX)) {
		v.lo = -2 * VALUE_FAR;
		v.hi = 2 * VALUE_FAR;
		v.base = BASE_UNKNOWN;
	}
	return v;
}

/* An address in which a phi counts, with what that can hold here; false: it gains nothing. */
static bool look_by_ways(
	struct values *vs, struct evaluation e, uint32_t insn, const struct operand *o, struct value *out)
{
	struct constraint room[CONTEXT_MAX];
	struct context context = {.v = room};
	struct stage_sum sum;
	bool gains = false;

	if (o->kind != OPERAND_MEM || !e.context->n || !ways_may_count(vs, o) ||
		!stage_sum_of(vs, o, &sum))
		return false;
	context_copy(&context, e.context);
	for (uint32_t i = 0; i < sum.n && context.n < CONTEXT_MAX; i++) {
		uint32_t phi = sum.terms[i].node;
		struct value v, old = *value_at(vs, phi);

		if (old.base != BASE_NUMBER || !ways_into_phi(vs, e.context, phi, &v) ||
			v.lo < INT32_MIN || v.hi > INT32_MAX || range_subset(&old, &v, 32))
			continue;
		context.v[context.n++] = (struct constraint){.node = phi,
			.lo = v.lo,
			.hi = v.hi,
			.bits = 32,
			.is_signed = v.lo < 0,
			.assumptions = v.assumptions};
		context.all |= UINT64_C(1) << (phi % 64);
		gains = true;
	}
	if (!gains)
		return false;
	context_begin(vs, &context, 0);
	e.context = &context;
	*out = evaluate_operand(e, insn, o);
	return !range_is_empty(out);
}

static struct value look(const struct values *vs, uint32_t insn, const struct operand *o)
{
	uint32_t fuel = 200;
	struct evaluation e = {cache_of(vs), place_at(cache_of(vs), insn), 24, &fuel};
	struct value v = evaluate_operand(e, insn, o), better;

	if (look_by_ways(e.values, e, insn, o, &better))
		v = better;
	if (v.base == BASE_NUMBER && o->kind == OPERAND_MEM && e.context->n &&
		open_ways_into(e, o, &better))
		v = better;
	if (range_is_empty(&v)) /* contradicting conditions: dead code, or rounding; say what is
				   known without */
		v = evaluate_operand((struct evaluation){cache_of(vs), NULL, 0, NULL}, insn, o);
	return finished(v);
}

struct value value_anywhere(const struct values *vs, uint32_t insn, const struct operand *o)
{
	if (vs->unsolved || vs->cfg->block_of[insn] == NONE)
		return unknown();
	return finished(
		evaluate_operand((struct evaluation){cache_of(vs), NULL, 0, NULL}, insn, o));
}

struct value value_of(const struct values *vs, uint32_t insn, const struct operand *o)
{
	struct values *m = cache_of(vs);

	if (vs->unsolved || vs->cfg->block_of[insn] == NONE)
		return unknown();
	if (o < vs->fn->operands || o >= vs->fn->operands + vs->fn->noperands)
		return look(vs, insn, o);
	uint32_t operand = (uint32_t)(o - vs->fn->operands);
	const struct value *known = kept_find(&vs->kept, ANSWER | insn, operand);

	if (known)
		return *known;
	struct value v = look(vs, insn, o);

	kept_add(&m->kept, m->arena, ANSWER | insn, operand, &v);
	return v;
}

/* The source of a conversion that cuts 64 bits to 32, as the one definition of a register; NULL: it is none. */
static const struct operand *cut_source(const struct values *vs, const struct operand *o, uint32_t *at)
{
	uint32_t node = trips_plain_node(vs, o);
	const struct node *n = node == NONE ? NULL : &vs->ssa.nodes[node];

	if (!n || n->kind != NODE_DEF || n->previous != NONE)
		return NULL;
	const struct insn *insn = &vs->fn->insns[n->insn];
	struct type to = insn_type(insn, 0), from = insn_type(insn, 1);

	*at = n->insn;
	return insn->op == OP_cvt && to.bits == 32 && from.bits == 64 && !to.is_float &&
			       !from.is_float && !insn_has(insn, MOD_sat)
		       ? insn_source(vs->fn, insn, 0)
		       : NULL;
}

/* A number has no base, but perhaps no lower end. */
static bool most_of(struct value v, int64_t *most)
{
	*most = v.hi;
	return v.base == BASE_NUMBER && v.hi >= 0 && v.hi < INT64_C(1) << 18;
}

bool value_shared_size(const struct values *vs, uint32_t insn, const struct operand *o,
	int64_t *most, uint32_t *assumptions)
{
	uint32_t fuel = 200, at = insn;
	struct evaluation e = {cache_of(vs), NULL, 24, &fuel};
	const struct operand *cut;

	if (vs->unsolved || vs->cfg->block_of[insn] == NONE)
		return false;
	e.context = place_at(e.values, insn);
	struct value v = evaluate_operand(e, insn, o);

	if (v.lo < INT32_MIN || !most_of(v, most)) {
		cut = vs->options->assume & ASSUME_NO_WRAP ? cut_source(vs, o, &at) : NULL;
		if (!cut)
			return false;
		e.context = place_at(e.values, at);
		v = evaluate_operand(e, at, cut);
		if (!most_of(v, most))
			return false;
		*assumptions |= ASSUME_NO_WRAP;
	}
	*assumptions |= v.assumptions;
	return true;
}

int value_decided(const struct values *vs, uint32_t insn)
{
	const struct insn *i = &vs->fn->insns[insn];
	uint32_t guard = vs->ssa.guard_of[insn];
	struct constraint room[CONTEXT_MAX];
	struct context context = {.v = room};
	uint32_t fuel = 24;

	if (i->guard == NONE || guard == NONE || guard >= vs->nsolved || vs->unsolved ||
		vs->cfg->block_of[insn] == NONE)
		return -1;
	context_at_block(cache_of(vs), vs->cfg->block_of[insn], &context);
	context_begin(cache_of(vs), &context, 0);
	struct value v = context_apply(&context, guard, *value_at(vs, guard));

	if (!range_is_empty(&v) && v.lo != v.hi && vs->ssa.nodes[guard].kind == NODE_DEF &&
		vs->ssa.nodes[guard].previous == NONE) {
		struct evaluation e = {cache_of(vs), &context, 6, &fuel};
		struct value again = evaluate_definition(e, guard);

		if (!range_is_empty(&again))
			v = again;
	}
	if (range_is_empty(&v) || v.lo != v.hi || v.assumptions)
		return -1;
	return (v.lo != 0) != i->guard_negated;
}

/* The block is the arm of a branch that always goes the other way. */
static bool is_shut(const struct values *vs, uint32_t block)
{
	uint32_t branch = vs->entry[block];
	int decided = value_decided(vs, branch);

	/* where the guard of an exit holds, nothing goes on */
	bool taken = vs->fn->insns[branch].op == OP_bra &&
		     vs->cfg->blocks[vs->cfg->block_of[branch]].succ.v[0] == block;

	return decided >= 0 && (decided != 0) != taken;
}

enum { SHUT_NOT_ASKED, SHUT_NO, SHUT_YES };

bool value_never_runs(const struct values *vs, uint32_t insn)
{
	uint32_t b = vs->unsolved ? NONE : vs->control[vs->cfg->block_of[insn]];
	struct values *m = cache_of(vs);

	if (!m->shut)
		m->shut = ARENA_NEW(m->arena, uint8_t, vs->cfg->n);
	for (; b != NONE; b = vs->control[vs->cfg->blocks[b].idom]) {
		if (m->shut[b] == SHUT_NOT_ASKED)
			m->shut[b] = is_shut(vs, b) ? SHUT_YES : SHUT_NO;
		if (m->shut[b] == SHUT_YES)
			return true;
	}
	return false;
}

static struct ids collect_definitions(struct values *vs, uint32_t node)
{
	struct ssa *ssa = &vs->ssa;
	struct arena *arena = vs->arena;
	uint32_t *out = NULL, n = 0, cap = 0, depth = 0;

	bits_zero(vs->seen);
	ARENA_PUSH(arena, vs->stack, depth, vs->stack_cap, node);
	while (depth) {
		uint32_t x = vs->stack[--depth];

		if (bits_has(vs->seen, x))
			continue;
		bits_set(vs->seen, x);
		const struct node *node_x = &ssa->nodes[x];

		if (node_x->kind == NODE_DEF) {
			ARENA_PUSH(arena, out, n, cap, node_x->insn);
			if (node_x->previous != NONE)
				ARENA_PUSH(
					arena, vs->stack, depth, vs->stack_cap, node_x->previous);
		}
		if (node_x->kind != NODE_PHI)
			continue;
		for (uint32_t i = 0; i < vs->cfg->blocks[node_x->block].pred.n; i++)
			ARENA_PUSH(arena, vs->stack, depth, vs->stack_cap,
				ssa->inputs[node_x->input + i]);
	}
	return (struct ids){out, n};
}

/* Of few nodes they are asked for. */
static struct ids *definitions_at(struct values *vs, uint32_t node)
{
	if (node >= vs->ndefinitions) {
		uint32_t old = vs->ndefinitions / DEFINITIONS_PAGE;
		uint32_t wanted = vs->ssa.n > 2 * vs->ndefinitions ? vs->ssa.n : 2 * vs->ndefinitions;
		uint32_t pages = wanted / DEFINITIONS_PAGE + 1;

		vs->definitions = arena_grow(vs->arena, vs->definitions,
			sizeof(*vs->definitions) * old, sizeof(*vs->definitions) * pages);
		vs->ndefinitions = pages * DEFINITIONS_PAGE;
		vs->seen = bits_new(vs->arena, vs->ndefinitions);
	}
	struct ids **page = &vs->definitions[node / DEFINITIONS_PAGE];

	if (!*page)
		*page = ARENA_NEW(vs->arena, struct ids, DEFINITIONS_PAGE);
	return &(*page)[node % DEFINITIONS_PAGE];
}

struct ids value_definitions(const struct values *vs, uint32_t insn, uint32_t reg)
{
	struct values *m = cache_of(vs);
	uint32_t node = ssa_node_before(&m->ssa, insn, reg);

	if (node == NONE)
		return (struct ids){NULL, 0};
	struct ids *known = definitions_at(m, node);

	if (!known->v)
		*known = collect_definitions(m, node);
	return *known;
}

bool value_alignment_assumed(const struct values *vs, const struct value *v, uint32_t log2)
{
	return v->base == BASE_SYMBOL && v->id == vs->dynamic_shared && vs->assumed_align &&
	       UINT32_C(1) << log2 > function_symbol(vs->fn, v->id)->align;
}

static int put_bound(char *out, size_t size, int64_t v)
{
	if (v > VALUE_FAR)
		return snprintf(out, size, "inf");
	if (v < -VALUE_FAR)
		return snprintf(out, size, "-inf");
	return snprintf(out, size, "%" PRId64, v);
}

static int put_name(const struct values *vs, uint32_t symbol, char *out, size_t size)
{
	struct slice name =
		names_text(vs->fn->module->names, function_symbol(vs->fn, symbol)->name);

	return snprintf(out, size, "%.*s", (int)name.size, name.text);
}

static int put_base(const struct values *vs, const struct value *v, char *out, size_t size)
{
	switch ((enum base_kind)v->base) {
	case BASE_NUMBER:
		return 0;
	case BASE_SYMBOL:
		return put_name(vs, v->id, out, size);
	case BASE_PARAM: {
		int n = snprintf(out, size, "*");

		n += put_name(vs, v->id, out + n, size - (size_t)n);
		if (v->aux && (size_t)n < size)
			n += snprintf(out + n, size - (size_t)n, ".%" PRIu32, v->aux);
		return n;
	}
	case BASE_DERIVED:
		return snprintf(out, size, "aligned#%" PRIu32, v->id);
	case BASE_DESCRIPTOR: {
		struct descriptor d;
		int n = snprintf(out, size, "descriptor of ");

		value_descriptor(vs, v, &d);
		return n + put_base(vs, &d.start, out + n, size - (size_t)n);
	}
	case BASE_LOADED:
		return snprintf(out, size, "loaded#%" PRIu32, v->id);
	case BASE_OPAQUE:
		return snprintf(out, size, "value#%" PRIu32, v->id);
	case BASE_UNKNOWN:
	case BASE_EMPTY:
		break;
	}
	return snprintf(out, size, "?");
}

void value_print(const struct values *vs, const struct value *v, char *out, size_t size)
{
	char name[200];
	int used = put_base(vs, v, name, sizeof(name));

	if (used >= (int)sizeof(name))
		used = (int)sizeof(name) - 1;
	size_t n = (size_t)used < size ? (size_t)used : size - 1;

	memcpy(out, name, n);
	out[n] = 0;
	if (v->base == BASE_UNKNOWN || v->base == BASE_EMPTY)
		return;
	char lo[32], hi[32];

	put_bound(lo, sizeof(lo), v->lo);
	put_bound(hi, sizeof(hi), v->hi);
	const char *plus = n ? "+" : "";

	if (v->lo == v->hi && v->lo == 0 && n)
		return;
	if (v->lo == v->hi)
		snprintf(out + n, size - n, "%s%s", v->lo < 0 ? "" : plus, lo);
	else if (v->stride == 1)
		snprintf(out + n, size - n, "%s[%s,%s]", plus, lo, hi);
	else
		snprintf(out + n, size - n, "%s[%s,%s]/%" PRIu64, plus, lo, hi, v->stride);
}

struct ids value_register_uses(const struct values *vs, uint32_t reg)
{
	struct ssa *ssa = &cache_of(vs)->ssa;

	ssa_index(ssa);
	return (struct ids){
		ssa->use_insn + ssa->use_at[reg], ssa->use_at[reg + 1] - ssa->use_at[reg]};
}

struct ids value_register_defs(const struct values *vs, uint32_t reg)
{
	struct ssa *ssa = &cache_of(vs)->ssa;

	ssa_index(ssa);
	return (struct ids){
		ssa->def_insn + ssa->def_at[reg], ssa->def_at[reg + 1] - ssa->def_at[reg]};
}
