/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that end at a number: `do { ... i += s } while (i != n)`. A comparison for equality says of one
 * round only that i is not n; that i never goes beyond it takes where it starts, how it steps, and that n
 * is a whole number of steps ahead.
 * In: phis that step by a constant. Out: those whose loop ends, for certain, in the round in which they
 * are a certain number, and what they can hold then.
 * Invariant: start and end are numbers of the same way into the loop; the end is computed outside, so it
 * is the same in all rounds. The phi takes start, start + s, ... and each round comes to the comparison,
 * so it never passes over an end that is a multiple of s away, on the side to which it steps.
 */
#include "analysis/value_operation.h"

/* What is added to a comparison's side is computed before the loop is entered. */
static bool is_outside(const struct values *vs, uint32_t node, uint32_t head)
{
	const struct node *n = &vs->ssa.nodes[node];
	uint32_t block = n->kind == NODE_DEF ? vs->cfg->block_of[n->insn] : n->block;

	return n->kind != NODE_UNDEFINED && n->previous == NONE && block != NONE &&
	       !trips_in_loop(vs->cfg, block, head) && cfg_dominates(vs->cfg, block, head);
}

/* Whether a comparison of equal numbers holds. */
static bool holds_if_equal(enum compare c)
{
	return c == COMPARE_EQ || c == COMPARE_LE || c == COMPARE_GE;
}

/* The block's branch, which every round comes to, leaves the loop if the two sides are equal. */
static bool decides_each_round(
	const struct values *vs, uint32_t block, const struct insn *test, bool negated, uint32_t head)
{
	const struct cfg *cfg = vs->cfg;
	const struct block *b = &cfg->blocks[block];
	const struct insn *branch = &vs->fn->insns[b->first + b->count - 1];
	bool is_unsigned;
	enum compare c = insn_compare(test, &is_unsigned);

	if (c == COMPARE_NONE || branch->op != OP_bra || b->succ.n != 2 ||
		b->succ.v[0] == b->succ.v[1])
		return false;
	/* taken when the comparison is true, or false for a negated guard */
	bool taken = holds_if_equal(c) != negated;

	if (trips_in_loop(cfg, b->succ.v[taken ? 0 : 1], head))
		return false;
	for (uint32_t k = 0; k < cfg->blocks[head].pred.n; k++)
		if (trips_is_back_edge(vs, head, k) &&
			!cfg_dominates(cfg, block, cfg->blocks[head].pred.v[k]))
			return false;
	return true;
}

/* One side of the comparison as phi + constant, or phi + constant + a register from outside. */
static bool side_of(const struct values *vs, const struct operand *o, struct trip_end *end,
	uint32_t *phi)
{
	uint32_t node = trips_plain_node(vs, o);

	if (node == NONE)
		return false;
	*phi = trips_phi_below(vs, node, &end->step);
	if (*phi != NONE && vs->trip_of[*phi] != NONE)
		return true;
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn = n->kind == NODE_DEF ? &vs->fn->insns[n->insn] : NULL;

	if (!insn || n->previous != NONE || insn->op != OP_add || insn_has(insn, MOD_sat) ||
		insn_type(insn, 0).is_float || insn_type(insn, 0).bits != node_bits(vs, node))
		return false;
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t moving = trips_plain_node(vs, insn_source(vs->fn, insn, k));
		uint32_t fixed = trips_plain_node(vs, insn_source(vs->fn, insn, 1 - k));

		if (moving == NONE || fixed == NONE)
			continue;
		*phi = trips_phi_below(vs, moving, &end->step);
		if (*phi == NONE || vs->trip_of[*phi] == NONE ||
			!is_outside(vs, fixed, vs->ssa.nodes[*phi].block))
			continue;
		end->added = fixed;
		return true;
	}
	return false;
}

static bool find_end(const struct values *vs, uint32_t block, const struct insn *test, bool negated,
	uint32_t of, struct trip_end *end, uint32_t *phi)
{
	const struct operand *a = insn_source(vs->fn, test, of),
			     *b = insn_source(vs->fn, test, 1 - of);

	*end = (struct trip_end){.added = NONE, .other = NONE};
	if (!side_of(vs, a, end, phi))
		return false;
	uint32_t head = vs->ssa.nodes[*phi].block;

	if (node_bits(vs, *phi) != insn_type(test, 0).bits || !trips_in_loop(vs->cfg, block, head) ||
		!decides_each_round(vs, block, test, negated, head))
		return false;
	if (trips_constant_of(vs, b, &end->constant)) /* without more, widening stops there too */
		return end->added != NONE;
	end->other = trips_plain_node(vs, b);
	return end->other != NONE && node_bits(vs, end->other) == node_bits(vs, *phi) &&
	       is_outside(vs, end->other, head);
}

/* node = result + *offset */
static uint32_t root_of(const struct values *vs, uint32_t node, int64_t *offset)
{
	*offset = 0;
	for (uint32_t k = 0; k < 6; k++) {
		uint32_t from = trips_step_back(vs, node, offset);

		if (from == NONE)
			break;
		node = from;
	}
	return node;
}

/* Start and end are one register plus a constant each: then the rounds are known whatever that holds. The
 * end's register dominates the loop, so both were computed from the same contents. Sums may wrap: the two
 * sides are equal modulo 2^bits after so many rounds. */
static void find_rounds(const struct values *vs, const struct trip_end *end, struct trip *trip)
{
	const struct node *n = &vs->ssa.nodes[trip->node];
	const struct block *block = &vs->cfg->blocks[n->block];
	int64_t last, first, most = -1, step = trip->step;
	uint32_t root;

	if (end->other == NONE || end->added != NONE)
		return;
	root = root_of(vs, end->other, &last);
	for (uint32_t k = 0; k < block->pred.n; k++) {
		uint32_t input = vs->ssa.inputs[n->input + k];

		if (trips_is_back_edge(vs, n->block, k))
			continue;
		if (input >= vs->nsolved || root_of(vs, input, &first) != root ||
			(most >= 0 && first != trip->first))
			return;
		int64_t way = last - first - end->step;

		if (way % step || way / step < 0 || way / step > INT32_MAX)
			return;
		trip->first = first;
		most = way / step;
	}
	if (most < 0)
		return;
	trip->rounds = (uint64_t)most;
	trip->root = root;
}

bool trips_distance(const struct values *vs, uint32_t a, uint32_t b, struct value *out)
{
	int64_t step, offset;
	uint32_t phi = trips_phi_below(vs, a, &step);
	const struct trip *trip =
		phi == NONE || vs->trip_of[phi] == NONE ? NULL : &vs->trips[vs->trip_of[phi]];

	if (!trip || trip->rounds == UINT64_MAX || root_of(vs, b, &offset) != trip->root)
		return false;
	int64_t start = trip->first + step - offset, all = trip->step * (int64_t)trip->rounds;

	if (start > INT32_MAX || start < INT32_MIN || all > INT32_MAX || all < INT32_MIN)
		return false;
	*out = all < 0 ? range_span(start + all, start, (uint64_t)-trip->step)
		       : range_span(start, start + all, (uint64_t)trip->step);
	return true;
}

void trips_find_ends(struct values *vs)
{
	uint32_t cap = 0;

	for (uint32_t b = 0; vs->ntrips && b < vs->cfg->n; b++) {
		const struct block *block = &vs->cfg->blocks[b];
		uint32_t last = block->first + block->count - 1, phi;
		bool negated;
		const struct insn *test = block->count && block->loop_head != NONE && block->succ.n == 2 &&
							  vs->fn->insns[last].guard != NONE
						  ? context_test(vs, last, &negated)
						  : NULL;

		if (!test || (insn_type(test, 0).bits != 32 && insn_type(test, 0).bits != 64))
			continue;
		for (uint32_t of = 0; of < 2; of++) {
			struct trip_end end;

			if (!find_end(vs, b, test, negated, of, &end, &phi))
				continue;
			struct trip *trip = &vs->trips[vs->trip_of[phi]];

			if (trip->end != NONE)
				continue;
			trip->end = vs->nends;
			find_rounds(vs, &end, trip);
			trips_count_by(vs, phi);
			ARENA_PUSH(vs->arena, vs->ends, vs->nends, cap, end);
			break;
		}
	}
}

const struct trip_end *trips_end(const struct values *vs, uint32_t phi)
{
	uint32_t trip = vs->trip_of[phi];

	return trip == NONE || vs->trips[trip].end == NONE ? NULL : &vs->ends[vs->trips[trip].end];
}

bool trips_end_is_near(const struct values *vs, uint32_t phi)
{
	const struct trip_end *end = trips_end(vs, phi);
	const uint32_t nodes[] = {end ? end->other : NONE, end ? end->added : NONE};

	for (uint32_t k = 0; k < 2; k++) {
		const struct value *v = nodes[k] == NONE ? NULL : value_at(vs, nodes[k]);

		if (v && !range_is_empty(v) &&
			(v->base != BASE_NUMBER ||
				(uint64_t)v->hi - (uint64_t)v->lo > INT32_MAX / 128))
			return false;
	}
	return end != NULL;
}

static bool is_plain_number(const struct value *v)
{
	return v->base == BASE_NUMBER && v->lo > -VALUE_FAR / 4 && v->hi < VALUE_FAR / 4;
}

/* The number at which the loop ends, as that is known on a way into it. */
static bool end_value(struct evaluation e, const struct trip_end *end, uint32_t bits,
	struct value *out)
{
	const uint32_t nodes[] = {end->other, end->added};
	struct value v[] = {range_constant(end->constant), range_constant(0)},
		     step = range_constant(end->step);

	for (uint32_t k = 0; k < 2; k++) {
		if (nodes[k] == NONE)
			continue;
		v[k] = evaluate_register(e, nodes[k]);
		if (v[k].base == BASE_EMPTY || v[k].base == BASE_NUMBER)
			v[k] = range_is_empty(&v[k]) ? v[k] : range_signed(&v[k], bits);
	}
	if (range_is_empty(&v[0]) || range_is_empty(&v[1])) {
		*out = range_empty();
		return true;
	}
	if (!is_plain_number(&v[0]) || !is_plain_number(&v[1]) || !is_plain_number(&step))
		return false;
	*out = range_sub(&v[0], &v[1], 64);
	*out = range_sub(out, &step, 64);
	*out = range_signed(out, bits);
	return is_plain_number(out);
}

bool trips_bound_by_end(struct evaluation e, uint32_t phi, const struct value *start,
	struct value *out)
{
	const struct values *vs = e.values;
	const struct trip_end *end = trips_end(vs, phi);
	int64_t step = vs->trips[vs->trip_of[phi]].step;
	uint32_t bits = node_bits(vs, phi);
	struct value first, last;

	if (!end || step > INT32_MAX || step < -INT32_MAX)
		return false;
	if (range_is_empty(start)) {
		*out = *start;
		return true;
	}
	if (start->base != BASE_NUMBER || !end_value(e, end, bits, &last))
		return false;
	first = range_signed(start, bits);
	if (range_is_empty(&last)) {
		*out = first;
		return true;
	}
	int64_t by = step < 0 ? -step : step,
		least = step < 0 ? first.lo - last.hi : last.lo - first.hi;

	if (!is_plain_number(&first) || first.stride % (uint64_t)by ||
		last.stride % (uint64_t)by || least < 0 || least % by)
		return false;
	*out = step > 0 ? range_span(first.lo, last.hi, (uint64_t)by)
			: range_span(last.lo, first.hi, (uint64_t)by);
	out->assumptions = first.assumptions | last.assumptions;
	return true;
}
