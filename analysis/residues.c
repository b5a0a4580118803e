/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the values of a function and a thread. Out: low bits of registers. Invariant: one is known
 * modulo 2^k only if its contents are that at every execution of the thread: numbers of the thread
 * alone, and registers whose set has a stride of a multiple of 2^k. A stage of a ring is such a
 * multiple, so nothing need be known of it.
 */
#include "analysis/residues.h"

#define DEPTH_MOST 24
#define FUEL 400
#define RESIDUES_MOST 512

struct look {
	const struct values *vs;
	uint32_t variable, tid, fuel, assumptions;
	bool cut; /* it ended for want of depth or fuel */
};

static uint32_t fewer(const struct residue *a, const struct residue *b)
{
	return a->bits < b->bits ? a->bits : b->bits;
}

/* What a register's set says, whoever runs it. */
static struct residue by_set(struct look *l, uint32_t node)
{
	const struct value *v = &l->vs->at[node];

	if ((v->base != BASE_NUMBER && v->base != BASE_SYMBOL) || v->lo < -VALUE_FAR ||
		v->lo > VALUE_FAR)
		return residue_unknown;
	l->assumptions |= v->assumptions;
	return residue_modulo(
		(uint64_t)v->lo, v->stride ? (uint32_t)__builtin_ctzll(v->stride) : 64);
}

static struct residue low_bits(struct look *, const struct operand *, uint32_t depth);
static struct residue register_bits(struct look *, uint32_t node, uint32_t depth);

/* The operand holds an address in the variable. */
static bool is_address(const struct look *l, const struct operand *o)
{
	const struct values *vs = l->vs;
	uint32_t node = o ? trips_plain_node(vs, o) : NONE;

	return o &&
	       (o->kind == OPERAND_SYMBOL || (node != NONE && vs->at[node].base == BASE_SYMBOL));
}

/* factor * source 0, the factor a constant. */
static struct residue multiple(
	struct look *l, const struct insn *insn, uint64_t factor, uint32_t depth)
{
	const struct operand *o = insn_source(l->vs->fn, insn, 0);

	if (is_address(l, o)) /* its alignment is not asked for */
		return residue_unknown;
	struct residue x = low_bits(l, o, depth);

	if (!factor)
		return residue_modulo(0, 64);
	return residue_modulo(x.value * factor, x.bits + (uint32_t)__builtin_ctzll(factor));
}

static struct residue both(struct look *l, const struct insn *insn, uint32_t depth)
{
	struct residue x = low_bits(l, insn_source(l->vs->fn, insn, 0), depth),
		       y = low_bits(l, insn_source(l->vs->fn, insn, 1), depth);
	uint64_t v = insn->op == OP_add	  ? x.value + y.value
		     : insn->op == OP_sub ? x.value - y.value
		     : insn->op == OP_and ? x.value & y.value
		     : insn->op == OP_or  ? x.value | y.value
					  : x.value ^ y.value;

	return residue_modulo(v, fewer(&x, &y));
}

/* The low bits of a result follow from low bits of the sources. Of addresses at most one is in it,
 * as it is or with low bits changed that its variable's alignment says are none of its own. */
static struct residue low_result(
	struct look *l, const struct insn *insn, const struct value *result, uint32_t depth)
{
	const struct function *fn = l->vs->fn;
	const struct operand *a = insn_source(fn, insn, 0), *b = insn_source(fn, insn, 1),
			     *c = insn_source(fn, insn, 2);
	struct type type = insn_type(insn, 0), from = insn_type(insn, 1);
	bool address = result->base == BASE_SYMBOL, x = is_address(l, a), y = is_address(l, b);
	struct residue r, s;
	int64_t by;

	/* of {lo, hi} each register has bits of its own */
	if (insn_operand(fn, insn, 0)->kind != OPERAND_REG || type.is_float || type.bits < 32 || insn_has(insn, MOD_sat) || insn_has(insn, MOD_hi) ||
		insn_has(insn, MOD_wide))
		return residue_unknown;
	switch (insn->op) {
	case OP_mov:
		return x == address ? low_bits(l, a, depth) : residue_unknown;
	case OP_cvt:
		if (x != address || from.is_float || from.bits < 32)
			return residue_unknown;
		r = low_bits(l, a, depth);
		return residue_modulo(r.value, r.bits < 32 ? r.bits : 32);
	case OP_add:
		return x + y == address ? both(l, insn, depth) : residue_unknown;
	case OP_sub:
		return x == address && !y ? both(l, insn, depth) : residue_unknown;
	case OP_and:
	case OP_or:
	case OP_xor:
		if (x + y != address)
			return residue_unknown;
		r = both(l, insn, depth);
		return residue_modulo(
			r.value, address && r.bits > result->aux ? result->aux : r.bits);
	case OP_shl:
		if (address || !trips_constant_of(l->vs, b, &by) || by < 0 || by > 31)
			return residue_unknown;
		return multiple(l, insn, UINT64_C(1) << by, depth);
	case OP_mul:
		if (address || !trips_constant_of(l->vs, b, &by))
			return residue_unknown;
		return multiple(l, insn, (uint64_t)by, depth);
	case OP_mad:
		if (is_address(l, c) != address || !trips_constant_of(l->vs, b, &by))
			return residue_unknown;
		r = multiple(l, insn, (uint64_t)by, depth);
		s = low_bits(l, c, depth);
		return residue_modulo(r.value + s.value, fewer(&r, &s));
	default:
		return residue_unknown;
	}
}

/* What all ways into a phi agree about. One that comes back to the phi runs out of depth: nothing
 * is known of it then. */
static struct residue joined(struct look *l, const struct node *n, uint32_t depth)
{
	const struct values *vs = l->vs;
	struct residue all = residue_unknown;

	for (uint32_t k = 0; k < vs->cfg->blocks[n->block].pred.n; k++) {
		struct residue way = register_bits(l, vs->ssa.inputs[n->input + k], depth);
		uint64_t apart = k ? all.value ^ way.value : 0;

		if (k && all.bits < way.bits)
			way.bits = all.bits;
		if (apart && (uint32_t)__builtin_ctzll(apart) < way.bits)
			way.bits = (uint32_t)__builtin_ctzll(apart);
		all = way;
		if (!all.bits)
			return residue_unknown;
	}
	return all;
}

static struct residue node_bits_of(struct look *l, uint32_t node, uint32_t depth)
{
	const struct values *vs = l->vs;
	const struct node *n = &vs->ssa.nodes[node];
	uint32_t bits = vs->fn->regs[n->reg].bits;
	struct residue r = residue_unknown, s;

	if (n->kind == NODE_DEF && n->previous == NONE && bits >= 32)
		r = low_result(l, &vs->fn->insns[n->insn], &vs->at[node], depth - 1);
	if (n->kind == NODE_PHI)
		r = joined(l, n, depth - 1);
	s = by_set(l, node);
	if (s.bits > r.bits)
		r = s;
	return residue_modulo(r.value, r.bits < bits ? r.bits : bits);
}

struct residues *residues_of(struct values *vs, uint32_t node)
{
	struct residues **list = &vs->residues[node % RESIDUES_LISTS];
	bool exact;
	uint32_t most = threads_most(vs, &exact);

	for (struct residues *r = *list; r; r = r->next)
		if (r->node == node)
			return r;
	if (vs->nresidues == RESIDUES_MOST)
		return NULL;
	vs->nresidues++;
	struct residues *fresh =
		arena_alloc_unset(vs->arena, sizeof(*fresh) + most * sizeof(struct residue));

	*fresh = (struct residues){.next = *list, .node = node};
	return *list = fresh;
}

/* The whole number, where it follows from the thread's. */
static bool whole_number(
	const struct look *l, uint32_t node, struct residues *kept, struct residue *out)
{
	const struct values *vs = l->vs;
	int64_t number;
	uint32_t end;

	if (vs->at[node].base == BASE_SYMBOL ||
		(kept && l->tid >= kept->open_from && l->tid < kept->open_end))
		return false;
	if (thread_node_number(vs, l->tid, node, &number, &end)) {
		*out = residue_modulo((uint64_t)number, vs->fn->regs[vs->ssa.nodes[node].reg].bits);
		return true;
	}
	if (kept) {
		kept->open_from = l->tid;
		kept->open_end = end;
	}
	return false;
}

static void keep(struct residues *kept, uint32_t tid, struct residue r)
{
	kept->v[tid] = r;
	thread_set_add(&kept->asked, tid);
}

/* A register; what is found is kept, unless it was not looked at to the end. */
static struct residue register_bits(struct look *l, uint32_t node, uint32_t depth)
{
	struct values *vs = (struct values *)(uintptr_t)l->vs;
	struct residue r;

	if (node >= vs->nsolved ||
		(vs->at[node].base == BASE_SYMBOL && vs->at[node].id != l->variable))
		return residue_unknown;
	if (!depth || !l->fuel) {
		l->cut = true;
		return residue_unknown;
	}
	l->fuel--;
	struct residues *kept = residues_of(vs, node);
	uint32_t assumptions = l->assumptions;
	bool cut = l->cut;

	if (kept && thread_set_has(&kept->asked, l->tid)) {
		l->assumptions |= kept->assumptions;
		return kept->v[l->tid];
	}
	l->assumptions = 0;
	l->cut = false;
	/* what comes around a loop finds what is certain of the phi */
	if (kept && vs->ssa.nodes[node].kind == NODE_PHI) {
		keep(kept, l->tid, by_set(l, node));
		kept->assumptions |= l->assumptions;
	}
	if (!whole_number(l, node, kept, &r))
		r = node_bits_of(l, node, depth);
	if (kept && (!l->cut || thread_set_has(&kept->asked, l->tid))) {
		keep(kept, l->tid, r);
		kept->assumptions |= l->assumptions;
	}
	l->assumptions |= assumptions;
	l->cut |= cut;
	return r;
}

/* An address counts from its variable. */
static struct residue low_bits(struct look *l, const struct operand *o, uint32_t depth)
{
	const struct values *vs = l->vs;
	struct residue r;

	if (!o)
		return residue_unknown;
	if (o->kind == OPERAND_IMM)
		return residue_modulo((uint64_t)o->imm, 64);
	if (o->kind == OPERAND_SYMBOL) {
		struct value v = evaluate_operand(
			(struct evaluation){(struct values *)(uintptr_t)vs, NULL, 0, NULL}, 0, o);

		return v.base == BASE_SYMBOL && v.id == l->variable
			       ? residue_modulo((uint64_t)v.lo, 64)
			       : residue_unknown;
	}
	if (o->kind != OPERAND_REG || o->component || o->negated || vs->fn->regs[o->id].vector > 1)
		return residue_unknown;
	r = register_bits(l, vs->ssa.node_of[o - vs->fn->operands], depth);
	return residue_modulo(r.value + (uint64_t)o->imm, r.bits);
}

struct residue residue_of_node(
	struct values *vs, uint32_t variable, uint32_t tid, uint32_t node, uint32_t *assumptions)
{
	struct look l = {.vs = vs, .variable = variable, .tid = tid, .fuel = FUEL};
	struct residue r = register_bits(&l, node, DEPTH_MOST);

	*assumptions |= l.assumptions;
	return r;
}

struct residue residue_of(struct values *vs, uint32_t variable, uint32_t tid,
	const struct operand *o, uint32_t *assumptions)
{
	struct look l = {.vs = vs, .variable = variable, .tid = tid, .fuel = FUEL};
	struct residue r = low_bits(&l, o, DEPTH_MOST);

	*assumptions |= l.assumptions;
	return r;
}
