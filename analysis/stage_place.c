/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: operands and registers. Out: the places and numbers of stages. Invariant: a place is given only where the
 * operand is that sum, and a number only where the register is in its set.
 */
#include "analysis/stage_place.h"

const struct operand *stage_address_of(const struct unit *unit, const struct access *access)
{
	const struct insn *insn = &unit->fn->insns[access->insn];
	uint8_t operand = unit->effects[access->insn]->touches[access->touch].operand;

	return operand == UINT8_MAX ? NULL : insn_operand(unit->fn, insn, operand);
}

/* Constants go into the constant, the variable's address into the base. */
static bool take_base(const struct values *vs, struct stage_place *p)
{
	struct stage_sum *sum = &p->sum;
	uint32_t n = 0;

	p->base = BASE_NUMBER;
	p->assumptions = 0;
	for (uint32_t k = 0; k < sum->n; k++) {
		const struct value *v = value_at(vs, sum->terms[k].node);
		bool address = v->base == BASE_SYMBOL || v->base == BASE_DERIVED;

		if (address ? v->lo != v->hi || sum->terms[k].factor != 1 || p->base != BASE_NUMBER
			    : v->base != BASE_NUMBER)
			return false;
		if (v->lo != v->hi) {
			sum->terms[n++] = sum->terms[k];
			continue;
		}
		if (address) {
			p->base = v->base;
			p->id = v->id;
		}
		sum->constant += sum->terms[k].factor * (uint32_t)(uint64_t)v->lo;
		p->assumptions |= v->assumptions;
	}
	sum->n = n;
	return p->base != BASE_NUMBER;
}

bool stage_place_of(
	const struct values *vs, const struct operand *o, uint32_t node, struct stage_place *out)
{
	const struct operand *inner = o && o->kind == OPERAND_MEM && !o->indexed
					      ? operand_child(vs->fn, o, 0)
					      : o;

	if (inner && inner->kind == OPERAND_SYMBOL && !vs->unsolved) {
		struct value v = evaluate_operand(
			(struct evaluation){(struct values *)(uintptr_t)vs, NULL, 0, NULL}, 0, inner);

		*out = (struct stage_place){.base = v.base, .id = v.id, .assumptions = v.assumptions};
		out->sum.constant = (uint32_t)(uint64_t)v.lo;
		return (v.base == BASE_SYMBOL || v.base == BASE_DERIVED) && v.lo == v.hi;
	}
	return inner && !vs->unsolved && stage_sum_in(vs, o, node, &out->sum) && take_base(vs, out);
}

/* The operand of `mapa` from which an address in some CTA of the cluster comes, or the address itself; *insn is
 * the instruction that it is in. */
static const struct operand *own_address(
	const struct values *vs, const struct operand *o, uint32_t *insn)
{
	const struct operand *inner = o && o->kind == OPERAND_MEM ? operand_child(vs->fn, o, 0) : o;
	uint32_t node = trips_plain_node(vs, inner);

	if (node == NONE || vs->ssa.nodes[node].kind != NODE_DEF ||
		vs->ssa.nodes[node].previous != NONE ||
		vs->fn->insns[vs->ssa.nodes[node].insn].op != OP_mapa)
		return o;
	*insn = vs->ssa.nodes[node].insn;
	return insn_source(vs->fn, &vs->fn->insns[*insn], 0);
}

bool stage_object_at(const struct unit *unit, uint32_t insn, struct stage_place *out)
{
	uint8_t operand = unit->effects[insn]->mbarrier_operand;
	const struct operand *o =
		operand == UINT8_MAX ? NULL
				     : insn_operand(unit->fn, &unit->fn->insns[insn], operand);

	o = o ? own_address(unit->values, o, &insn) : NULL;
	if (!o || !stage_place_of(unit->values, o, NONE, out))
		return false;
	out->set = value_of(unit->values, insn, o);
	return true;
}

bool stage_number_of(const struct values *vs, uint32_t node, int64_t plus, struct stage_number *out,
	uint32_t *assumptions)
{
	*out = (struct stage_number){.node = node, .plus = plus};
	if (node == NONE)
		return true;
	const struct value *v = value_at(vs, node);

	if (v->base != BASE_NUMBER || v->lo < 0 || v->hi > STAGE_NUMBER_MOST)
		return false;
	out->lo = v->lo;
	out->hi = v->hi;
	out->stride = v->stride;
	*assumptions |= v->assumptions;
	return true;
}

bool stage_object_number(const struct values *vs, const struct stage_place *object,
	const struct stage_place *from, struct stage_number *out, uint32_t *assumptions)
{
	const struct stage_sum *sum = &object->sum;
	int64_t apart = (int32_t)(sum->constant - from->sum.constant);

	if (!sum->n || (sum->n == 1 && sum->terms[0].factor == STAGE_OBJECT_BYTES))
		return apart % STAGE_OBJECT_BYTES == 0 &&
		       stage_number_of(vs, sum->n ? sum->terms[0].node : NONE, apart / STAGE_OBJECT_BYTES, out,
			       assumptions);
	/* a number that is made in some other way: the set of the address says what can be said */
	const struct value *v = &object->set;
	int64_t first = v->lo - (int32_t)from->sum.constant;

	if (v->base != object->base || v->id != object->id || v->lo < -STAGE_OFFSET_MOST ||
		v->hi > STAGE_OFFSET_MOST || v->hi - v->lo > STAGE_NUMBER_MOST * STAGE_OBJECT_BYTES ||
		v->stride % STAGE_OBJECT_BYTES || first % STAGE_OBJECT_BYTES)
		return false;
	*out = (struct stage_number){.node = NONE,
		.hi = (v->hi - v->lo) / STAGE_OBJECT_BYTES,
		.plus = first / STAGE_OBJECT_BYTES,
		.stride = v->stride / STAGE_OBJECT_BYTES};
	*assumptions |= v->assumptions;
	return true;
}

bool stage_stretch_of(const struct values *vs, const struct stage_place *x, uint32_t but,
	uint64_t bytes, struct stage_stretch *out, uint32_t *assumptions)
{
	int64_t lo = (int32_t)x->sum.constant, hi = lo;

	for (uint32_t k = 0; k < x->sum.n; k++) {
		const struct value *v = value_at(vs, x->sum.terms[k].node);
		int64_t factor = (int32_t)x->sum.terms[k].factor;

		if (x->sum.terms[k].node == but)
			continue;
		if (v->base != BASE_NUMBER || v->lo < -STAGE_OFFSET_MOST || v->hi > STAGE_OFFSET_MOST)
			return false;
		lo += factor * (factor < 0 ? v->hi : v->lo);
		hi += factor * (factor < 0 ? v->lo : v->hi);
		*assumptions |= v->assumptions;
	}
	*assumptions |= x->assumptions;
	if (lo < -STAGE_OFFSET_MOST || hi > STAGE_OFFSET_MOST || bytes > (uint64_t)STAGE_OFFSET_MOST)
		return false;
	*out = (struct stage_stretch){lo, hi + (int64_t)bytes};
	return true;
}

uint32_t stage_term_with(const struct stage_place *x, uint32_t factor)
{
	for (uint32_t k = 0; k < x->sum.n; k++)
		if (x->sum.terms[k].factor == factor)
			return x->sum.terms[k].node;
	return NONE;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

bool stage_numbers_differ(const struct stage_number *i, const struct stage_number *j)
{
	int64_t lo = i->lo + i->plus - (j->lo + j->plus);
	uint64_t step = common_divisor(i->stride, j->stride);

	if (i->hi + i->plus < j->lo + j->plus || j->hi + j->plus < i->lo + i->plus)
		return true;
	return step && lo % (int64_t)step;
}

bool stage_numbers_differ_now(const struct values *vs, const struct stage_number *i, const struct stage_number *j,
	uint32_t *root, uint32_t *assumptions)
{
	if (i->node == NONE || j->node == NONE)
		return false;
	*root = i->node;
	if (i->node == j->node)
		return i->plus != j->plus;
	return i->plus == j->plus &&
	       (stages_one_ahead(vs, i->node, j->node) || stages_one_ahead(vs, j->node, i->node) ||
		       stages_differ(vs, i->node, j->node, root, assumptions));
}
