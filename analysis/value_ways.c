/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an address at a place, in which a phi counts. Out: what the phi can hold there, way by way into its
 * block: what holds at the place of registers from before that block held on the way, too (ssa.c). The
 * rest of an unrolled loop is not reached where no rest is left, which says how far the loop itself can have
 * come. Invariant: only conditions on registers that are not made anew between the block and the place are
 * carried back.
 */
#include "analysis/stages.h"
#include "analysis/value_place.h"

#define WAYS_MOST 4
#define WAY_DEPTH 6

static bool holds_already(const struct context *context, const struct constraint *c)
{
	for (uint32_t i = 0; i < context->n; i++) {
		const struct constraint *k = &context->v[i];

		if (k->node == c->node && k->lo == c->lo && k->hi == c->hi &&
			k->excludes == c->excludes && k->bits == c->bits &&
			k->is_signed == c->is_signed)
			return true;
	}
	return false;
}

/* What holds at the place and did so when the block was entered, but is not known there. */
static uint32_t carried_back(
	struct values *vs, const struct context *place, uint32_t block, struct constraint *out)
{
	struct constraint room[CONTEXT_MAX];
	struct context there = {.v = room};
	uint32_t n = 0;

	context_at_block(vs, block, &there);
	for (uint32_t i = 0; i < place->n; i++) {
		uint32_t from = vs->ssa.nodes[place->v[i].node].block;

		if (from != block && cfg_dominates(vs->cfg, from, block) &&
			!holds_already(&there, &place->v[i]))
			out[n++] = place->v[i];
	}
	return n;
}

/* Two registers, or one and a constant, are equal on the way from one block into another. */
static const struct insn *equality(const struct values *vs, uint32_t from, uint32_t to)
{
	uint32_t branch = context_branch(vs, from);
	bool taken = vs->cfg->blocks[from].succ.v[0] == to, negated, is_unsigned;
	const struct insn *test = branch == NONE ? NULL : context_test(vs, branch, &negated);

	if (!test || insn_type(test, 0).bits != 32)
		return NULL;
	return insn_compare(test, &is_unsigned) == (taken != negated ? COMPARE_EQ : COMPARE_NE) ? test : NULL;
}

static bool add_sum(struct stage_sum *to, const struct stage_sum *more, uint32_t factor)
{
	to->constant += factor * more->constant;
	for (uint32_t i = 0; i < more->n; i++) {
		uint32_t k = 0;

		while (k < to->n && to->terms[k].node != more->terms[i].node)
			k++;
		if (k == STAGE_TERMS)
			return false;
		if (k == to->n) {
			to->terms[k].node = more->terms[i].node;
			to->terms[k].factor = 0;
			to->n++;
		}
		to->terms[k].factor += factor * more->terms[i].factor;
	}
	return true;
}

static uint32_t *factor_of(struct stage_sum *sum, uint32_t node)
{
	for (uint32_t i = 0; i < sum->n; i++)
		if (sum->terms[i].node == node)
			return &sum->terms[i].factor;
	return NULL;
}

/* The input of a phi on the only way into its loop from outside, or NONE. */
static uint32_t start_of(const struct values *vs, uint32_t phi)
{
	const struct node *n = &vs->ssa.nodes[phi];
	uint32_t start = NONE;

	for (uint32_t k = 0; k < vs->cfg->blocks[n->block].pred.n; k++) {
		if (trips_is_back_edge(vs, n->block, k))
			continue;
		if (start != NONE)
			return NONE;
		start = vs->ssa.inputs[n->input + k];
	}
	return start;
}

static int64_t step_of(const struct values *vs, uint32_t phi)
{
	return vs->ssa.nodes[phi].kind == NODE_PHI && vs->trip_of[phi] != NONE
		       ? vs->trips[vs->trip_of[phi]].step
		       : 0;
}

/* In place of `a` what it is by `b`, which goes by the same step, or as far the other way: their starts and
 * b say what it is. */
static bool put_by_other(const struct values *vs, struct stage_sum *sum, uint32_t a, uint32_t b)
{
	uint32_t starts[] = {start_of(vs, a), start_of(vs, b)}, factor = *factor_of(sum, a);
	uint32_t along = step_of(vs, a) == step_of(vs, b) ? UINT32_MAX : 1;
	struct stage_sum by = {.n = 0}, start;

	if (node_bits(vs, b) != 32)
		return false;
	for (uint32_t k = 0; k < 2; k++)
		if (starts[k] == NONE || !stage_sum_of_node(vs, starts[k], &start) ||
			!add_sum(&by, &start, k ? along : 1))
			return false;
	struct stage_sum other = {.n = 1, .terms = {{b, 0 - along}}}, itself = {.n = 1, .terms = {{a, 1}}};

	return add_sum(&by, &other, 1) && add_sum(sum, &itself, 0 - factor) &&
	       add_sum(sum, &by, factor);
}

/* The sum without one phi of it, which the sum that is zero gives by others. False: it is as it was. */
static bool take_out(
	const struct values *vs, struct stage_sum *sum, uint32_t phi, const struct stage_sum *zero)
{
	for (uint32_t i = 0; i < zero->n; i++) {
		uint32_t other = zero->terms[i].node, f = zero->terms[i].factor;
		int64_t step = step_of(vs, phi);
		struct stage_sum without = *sum; /* too many terms may be found half-way */

		if (f != 1 && f != UINT32_MAX) /* its own inverse */
			continue;
		if (other != phi &&
			(!step || vs->ssa.nodes[other].kind != NODE_PHI ||
				vs->ssa.nodes[other].block != vs->ssa.nodes[phi].block ||
				(step_of(vs, other) != step && step_of(vs, other) != -step) ||
				!put_by_other(vs, &without, phi, other)))
			continue;
		if (!add_sum(&without, zero, 0 - *factor_of(&without, other) * f))
			continue;
		*sum = without;
		return true;
	}
	return false;
}

/* One phi of the sum goes by the equality. */
static bool eliminate(const struct values *vs, const struct insn *test, struct stage_sum *sum)
{
	struct stage_sum zero = {.n = 0}, side;
	int64_t c;

	for (uint32_t k = 0; k < 2; k++) {
		const struct operand *o = insn_source(vs->fn, test, k);

		if (trips_constant_of(vs, o, &c))
			zero.constant += k ? 0 - (uint32_t)(uint64_t)c : (uint32_t)(uint64_t)c;
		else if (!stage_sum_of(vs, o, &side) || !add_sum(&zero, &side, k ? UINT32_MAX : 1))
			return false;
	}
	for (uint32_t i = 0; i < sum->n; i++)
		if (sum->terms[i].factor && vs->ssa.nodes[sum->terms[i].node].kind == NODE_PHI &&
			take_out(vs, sum, sum->terms[i].node, &zero))
			return true;
	return false;
}

static struct value value_of_sum(struct evaluation e, const struct stage_sum *sum)
{
	struct value v = range_constant((int32_t)sum->constant);

	for (uint32_t i = 0; i < sum->n; i++) {
		struct value factor = range_constant((int32_t)sum->terms[i].factor), term;

		if (!sum->terms[i].factor)
			continue;
		term = evaluate_register(e, sum->terms[i].node);
		if (range_is_empty(&term))
			return term;
		if (term.base != BASE_NUMBER)
			return range_top(32);
		term = range_mul(&term, &factor, 32);
		v = range_add(&v, &term, 32);
	}
	return v;
}

/* What comes along one way, under the conditions. */
static struct value value_of_way(
	struct values *vs, struct context *context, uint32_t input, const struct insn *test)
{
	uint32_t fuel = 64;
	struct evaluation e = {vs, context, WAY_DEPTH, &fuel};
	struct stage_sum sum;
	struct value v = evaluate_register(e, input), other;

	if (!test || range_is_empty(&v) || !stage_sum_of_node(vs, input, &sum) ||
		!eliminate(vs, test, &sum))
		return v;
	other = value_of_sum(e, &sum);
	return range_is_empty(&other) ? other : range_meet(&v, &other, 32);
}

static bool has_ways(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];

	return n->kind == NODE_PHI && node_bits(vs, node) == 32 && n->block &&
	       vs->cfg->blocks[n->block].pred.n <= WAYS_MOST;
}

static bool reads_one_with_ways(const struct values *vs, uint32_t node)
{
	for (uint32_t i = vs->read_at[node]; i < vs->read_at[node + 1]; i++)
		if (vs->ways[vs->reads[i]])
			return true;
	return false;
}

/* Definitions stand behind what they read. */
static void find_ways(struct values *vs)
{
	vs->ways = ARENA_NEW(vs->arena, bool, vs->nsolved + 1);
	for (uint32_t r = 0; r < vs->nsolved; r++) {
		uint32_t node = vs->order[r];

		vs->ways[node] = has_ways(vs, node) ||
				 (vs->ssa.nodes[node].kind == NODE_DEF && reads_one_with_ways(vs, node));
	}
}

bool ways_may_count(struct values *vs, const struct operand *mem)
{
	const struct operand *base = operand_child(vs->fn, mem, 0);
	uint32_t node = base && base->kind == OPERAND_REG
				? base->node
				: NONE;

	if (!vs->ways)
		find_ways(vs);
	return node < vs->nsolved && vs->ways[node];
}

bool ways_into_phi(struct values *vs, const struct context *place, uint32_t phi, struct value *out)
{
	const struct node *n = &vs->ssa.nodes[phi];
	const struct block *block = &vs->cfg->blocks[n->block];
	struct constraint room[CONTEXT_MAX], back[CONTEXT_MAX];
	uint32_t nback;

	if (!has_ways(vs, phi))
		return false;
	nback = carried_back(vs, place, n->block, back);
	if (!nback)
		return false;
	*out = range_empty();
	for (uint32_t k = 0; k < block->pred.n; k++) {
		struct context context = {.v = room};
		uint32_t input = vs->ssa.inputs[n->input + k];

		if (input >= vs->nsolved)
			return false;
		context_at_edge(vs, block->pred.v[k], n->block, &context);
		for (uint32_t i = 0; i < nback && context.n < CONTEXT_MAX; i++) {
			context.all |= UINT64_C(1) << (back[i].node % 64);
			context.v[context.n++] = back[i];
		}
		context_begin(vs, &context, 0);
		struct value v = value_of_way(
			vs, &context, input, equality(vs, block->pred.v[k], n->block));

		*out = values_join(vs, out, &v, 32);
	}
	return !range_is_empty(out) && out->base == BASE_NUMBER;
}
