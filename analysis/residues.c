/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the values of a function and a thread. Out: low bits of registers. Invariant: one is known
 * modulo 2^k only if its contents are that at every execution of the thread: numbers of the thread
 * alone, and registers whose set has a stride of a multiple of 2^k. A stage of a ring is such a
 * multiple, so nothing need be known of it.
 */
#include "analysis/residues_private.h"

#define FUEL 400
#define RESIDUES_MOST 512

struct look {
	const struct values *vs;
	uint32_t variable, tid, fuel, assumptions;
	bool cut; /* it ended for want of depth or fuel */
};

/* ---- how low bits follow ---- */

static const struct residue_part nothing = {NONE, NONE, 0, 0};

static struct residue_part part_of(const struct values *vs, const struct operand *o)
{
	struct value v;
	uint32_t node;

	if (!o)
		return nothing;
	switch ((enum operand_kind)o->kind) {
	case OPERAND_IMM:
		return (struct residue_part){NONE, NONE, 64, (uint64_t)o->imm};
	case OPERAND_SYMBOL:
		v = evaluate_operand(
			(struct evaluation){(struct values *)(uintptr_t)vs, NULL, 0, NULL}, 0, o);
		return v.base == BASE_SYMBOL ? (struct residue_part){NONE, v.id, 64, (uint64_t)v.lo}
					     : nothing;
	case OPERAND_REG:
		if (o->component || o->negated || vs->fn->regs[o->id].vector > 1)
			return nothing;
		node = o->node;
		return node < vs->nsolved
			       ? (struct residue_part){node, NONE, 0, (uint64_t)operand_offset(vs->fn, o)}
			       : nothing;
	case OPERAND_SPECIAL:
	case OPERAND_FLOAT:
	case OPERAND_SINK:
	case OPERAND_LABEL:
	case OPERAND_MEM:
	case OPERAND_LIST:
	case OPERAND_PAIR:
	case OPERAND_TUPLE:
	case OPERAND_NAME:
		break;
	}
	return nothing;
}

/* The operand holds an address in some variable. */
static bool is_address(const struct values *vs, const struct operand *o)
{
	uint32_t node = o ? trips_plain_node(vs, o) : NONE;

	return o &&
	       (o->kind == OPERAND_SYMBOL || (node != NONE && value_at(vs, node)->base == BASE_SYMBOL));
}

/* Of addresses at most one is in a result, as it is or with low bits changed that its variable's alignment says
 * are none of its own. */
static uint32_t form_of_insn(const struct values *vs, const struct insn *insn, struct residue_form *f)
{
	const struct function *fn = vs->fn;
	const struct operand *a = insn_source(fn, insn, 0), *b = insn_source(fn, insn, 1),
			     *c = insn_source(fn, insn, 2);
	bool x = is_address(vs, a), y = is_address(vs, b);
	struct type from = insn_type(insn, 1);
	int64_t by;

	f->a = part_of(vs, a);
	f->b = part_of(vs, b);
	switch (insn->op) {
	case OP_mov:
		return x == f->is_address ? FORM_SAME : FORM_NONE;
	case OP_cvt:
		f->most = 32;
		return x == f->is_address && !from.is_float && from.bits >= 32 ? FORM_SAME : FORM_NONE;
	case OP_add:
		return x + y == f->is_address ? FORM_ADD : FORM_NONE;
	case OP_sub:
		return x == f->is_address && !y ? FORM_SUB : FORM_NONE;
	case OP_and:
	case OP_or:
	case OP_xor:
		if (x + y != f->is_address)
			return FORM_NONE;
		return insn->op == OP_and ? FORM_AND : insn->op == OP_or ? FORM_OR : FORM_XOR;
	case OP_shl:
		if (x || f->is_address || !trips_constant_of(vs, b, &by) || by < 0 || by > 31)
			return FORM_NONE;
		f->factor = UINT64_C(1) << by;
		return FORM_MULTIPLE;
	case OP_mul:
		if (x || f->is_address || !trips_constant_of(vs, b, &by))
			return FORM_NONE;
		f->factor = (uint64_t)by;
		return FORM_MULTIPLE;
	case OP_mad:
		if (is_address(vs, c) != f->is_address || !trips_constant_of(vs, b, &by))
			return FORM_NONE;
		f->factor = x ? 1 : (uint64_t)by;
		f->a = x ? nothing : f->a; /* its alignment is not asked for */
		f->b = part_of(vs, c);
		return FORM_MULTIPLE_ADD;
	default:
		return FORM_NONE;
	}
}

static void set_says(const struct value *v, struct residue_form *f)
{
	f->set = residue_unknown;
	if ((v->base != BASE_NUMBER && v->base != BASE_SYMBOL) || v->lo < -VALUE_FAR ||
		v->lo > VALUE_FAR)
		return;
	f->set = residue_modulo(
		(uint64_t)v->lo, v->stride ? (uint32_t)__builtin_ctzll(v->stride) : 64);
	f->set_assumptions = v->assumptions;
}

/* All ways bring an address, or none does: numbers and offsets in a variable say nothing together, and of an
 * address that is taken for a number the low bits are not those of its offset. */
static bool joins_alike(const struct values *vs, const struct node *n, bool is_address)
{
	for (uint32_t k = 0; k < vs->cfg->blocks[n->block].pred.n; k++) {
		uint32_t input = vs->ssa.inputs[n->input + k];

		if (input >= vs->nsolved || (!range_is_empty(value_at(vs, input)) &&
						    (value_at(vs, input)->base == BASE_SYMBOL) != is_address))
			return false;
	}
	return true;
}

static struct residue_form form_of(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct value *v = value_at(vs, node);
	const struct insn *insn =
		n->kind == NODE_DEF && n->previous == NONE ? &vs->fn->insns[n->insn] : NULL;
	struct residue_form f = {.kind = n->kind == NODE_PHI && joins_alike(vs, n, v->base == BASE_SYMBOL) ? FORM_JOIN
													    : FORM_NONE,
		.width = vs->fn->regs[n->reg].bits,
		.most = 64,
		.is_address = v->base == BASE_SYMBOL};
	struct type type = insn ? insn_type(insn, 0) : (struct type){0, false, false};

	set_says(v, &f);
	/* of {lo, hi} each register has bits of its own */
	if (!insn || f.width < 32 || insn_operand(vs->fn, insn, 0)->kind != OPERAND_REG ||
		type.is_float || type.bits < 32 || insn_has(insn, MOD_sat) ||
		insn_has(insn, MOD_hi) || insn_has(insn, MOD_wide))
		return f;
	if ((insn->op == OP_and || insn->op == OP_or || insn->op == OP_xor) && f.is_address &&
		v->aux < f.most)
		f.most = (uint8_t)v->aux;
	f.kind = (uint8_t)form_of_insn(vs, insn, &f);
	return f;
}

/* ---- what they are in one thread ---- */

static struct residue register_bits(struct look *, uint32_t node, uint32_t depth);

/* An address counts from its variable. */
static struct residue part_bits(struct look *l, const struct residue_part *part, uint32_t depth)
{
	if (part->node == NONE)
		return part->symbol == NONE || part->symbol == l->variable
			       ? residue_modulo(part->plus, part->bits)
			       : residue_unknown;
	struct residue r = register_bits(l, part->node, depth);

	return residue_modulo(r.value + part->plus, r.bits);
}

static struct residue definition_bits(struct look *l, const struct residue_form *f, uint32_t depth)
{
	struct residue x, y = residue_unknown;

	if (f->kind == FORM_NONE)
		return residue_unknown;
	x = part_bits(l, &f->a, depth);
	if (residue_has_two_parts(f))
		y = part_bits(l, &f->b, depth);
	return residue_combined(f, x, y);
}

/* What all ways into a phi agree about. One that comes back to the phi runs out of depth: nothing
 * is known of it then. */
static struct residue joined(struct look *l, const struct node *n, uint32_t depth)
{
	const struct values *vs = l->vs;
	struct residue all = residue_unknown;

	for (uint32_t k = 0; k < vs->cfg->blocks[n->block].pred.n; k++) {
		struct residue way = register_bits(l, vs->ssa.inputs[n->input + k], depth);

		all = k ? residue_common(all, way) : way;
		if (!all.bits)
			return residue_unknown;
	}
	return all;
}

static struct residue node_bits_of(
	struct look *l, const struct residue_form *f, uint32_t node, uint32_t depth)
{
	struct residue r = f->kind == FORM_JOIN ? joined(l, &l->vs->ssa.nodes[node], depth - 1)
						: definition_bits(l, f, depth - 1);

	l->assumptions |= f->set_assumptions;
	return residue_bounded(f, r);
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

	*fresh = (struct residues){.next = *list, .node = node, .form = form_of(vs, node)};
	return *list = fresh;
}

/* The whole number, where it follows from the thread's. */
static bool whole_number(const struct look *l, const struct residue_form *f, uint32_t node,
	struct residues *kept, struct residue *out)
{
	int64_t number;
	uint32_t end;

	if (f->is_address || (kept && l->tid >= kept->open_from && l->tid < kept->open_end))
		return false;
	if (thread_node_number(l->vs, l->tid, node, &number, &end)) {
		*out = residue_modulo((uint64_t)number, f->width);
		return true;
	}
	if (kept) {
		kept->open_from = l->tid;
		kept->open_end = end;
	}
	return false;
}

/* A register; what is found is kept, unless it was not looked at to the end. */
static struct residue register_bits(struct look *l, uint32_t node, uint32_t depth)
{
	struct values *vs = (struct values *)(uintptr_t)l->vs;
	struct residue_form form;
	struct residue r;

	if (node >= vs->nsolved || !residue_is_in(vs, node, l->variable))
		return residue_unknown;
	if (!depth || !l->fuel) {
		l->cut = true;
		return residue_unknown;
	}
	l->fuel--;
	struct residues *kept = residues_of(vs, node);
	const struct residue_form *f = kept ? &kept->form : &form;
	uint32_t assumptions = l->assumptions;
	bool cut = l->cut;

	if (kept && thread_set_has(&kept->asked, l->tid)) {
		l->assumptions |= kept->assumptions;
		return kept->v[l->tid];
	}
	if (!kept)
		form = form_of(vs, node);
	l->assumptions = 0;
	l->cut = false;
	/* what comes around a loop finds what is certain of the phi */
	if (kept && f->kind == FORM_JOIN) {
		residues_keep(kept, l->tid, f->set);
		kept->assumptions |= f->set_assumptions;
	}
	if (!whole_number(l, f, node, kept, &r))
		r = node_bits_of(l, f, node, depth);
	if (kept && (!l->cut || thread_set_has(&kept->asked, l->tid))) {
		residues_keep(kept, l->tid, r);
		kept->assumptions |= l->assumptions;
	}
	l->assumptions |= assumptions;
	l->cut |= cut;
	return r;
}

struct residue residue_of_node(
	struct values *vs, uint32_t variable, uint32_t tid, uint32_t node, uint32_t *assumptions)
{
	struct look l = {.vs = vs, .variable = variable, .tid = tid, .fuel = FUEL};
	struct residue r = register_bits(&l, node, RESIDUE_DEPTH_MOST);

	*assumptions |= l.assumptions;
	return r;
}

struct residue residue_of(struct values *vs, uint32_t variable, uint32_t tid,
	const struct operand *o, uint32_t *assumptions)
{
	struct look l = {.vs = vs, .variable = variable, .tid = tid, .fuel = FUEL};
	struct residue_part part = part_of(vs, o);
	struct residue r = part_bits(&l, &part, RESIDUE_DEPTH_MOST);

	*assumptions |= l.assumptions;
	return r;
}
