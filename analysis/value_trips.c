/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: phis. Out: which of them step by a constant in each round of their loop, and which of those
 * decide when the loop ends. Those, the counters, bound the others: if the counter's set is
 * [lo, hi] and each round adds s to it, there are at most (hi - lo) / |s| rounds before the head is
 * reached again, so a pointer that starts in P and steps by d stays in P + { 0, d, ..., rounds * d
 * }. The counter does not wrap on the way: all its numbers lie in the set, and the set and one step
 * together are shorter than 2^bits.
 * Invariant: a counter is bounded by its own conditions alone, never by another phi's rounds. Two
 * phis that bound each other would prove each other's start to be all there is.
 */
#include "analysis/value_solver.h"

#define MOST_ROUNDS (1 << 24)

bool trips_constant_of(const struct values *vs, const struct operand *o, int64_t *c)
{
	if (!o)
		return false;
	if (o->kind == OPERAND_IMM) {
		*c = o->imm;
		return true;
	}
	if (o->kind != OPERAND_REG || o->offset || o->component || o->negated)
		return false;
	uint32_t node = o->node;

	if (node >= vs->nsolved || vs->ssa.nodes[node].kind != NODE_DEF ||
		vs->ssa.nodes[node].previous != NONE)
		return false;
	const struct insn *insn = &vs->fn->insns[vs->ssa.nodes[node].insn];
	const struct operand *s = insn_source(vs->fn, insn, 0);

	if (insn->op != OP_mov || insn_operand(vs->fn, insn, 0)->kind != OPERAND_REG || !s ||
		s->kind != OPERAND_IMM)
		return false;
	*c = s->imm;
	return true;
}

uint32_t trips_plain_node(const struct values *vs, const struct operand *o)
{
	if (!o || o->kind != OPERAND_REG || o->offset || o->component || o->negated ||
		vs->fn->regs[o->id].vector > 1)
		return NONE;
	uint32_t node = o->node;

	return node < vs->nsolved ? node : NONE;
}

uint32_t trips_step_back(const struct values *vs, uint32_t node, int64_t *step)
{
	const struct node *n = &vs->ssa.nodes[node];
	uint32_t bits = node_bits(vs, node), from;

	if (n->kind != NODE_DEF || n->previous != NONE)
		return NONE;
	const struct insn *insn = &vs->fn->insns[n->insn];
	const struct operand *d = insn_operand(vs->fn, insn, 0), *a = insn_source(vs->fn, insn, 0),
			     *b = insn_source(vs->fn, insn, 1);
	struct type type = insn_type(insn, 0);
	int64_t c = 0;

	if (d->kind != OPERAND_REG || d->component || vs->fn->regs[n->reg].vector > 1 ||
		type.is_float || (type.bits && type.bits != bits) || insn_has(insn, MOD_sat))
		return NONE;
	switch (insn->op) {
	case OP_mov:
	case OP_LINK_MOV:
		break;
	case OP_add:
		if (!trips_constant_of(vs, b, &c)) {
			a = b;
			if (!trips_constant_of(vs, insn_source(vs->fn, insn, 0), &c))
				return NONE;
		}
		break;
	case OP_sub:
		if (!trips_constant_of(vs, b, &c))
			return NONE;
		c = -(int64_t)(uint64_t)c;
		break;
	default:
		return NONE;
	}
	from = trips_plain_node(vs, a);
	if (from == NONE || node_bits(vs, from) != bits || c < -VALUE_FAR || c > VALUE_FAR)
		return NONE;
	*step += c;
	return from;
}

uint32_t trips_phi_below(const struct values *vs, uint32_t node, int64_t *step)
{
	*step = 0;
	for (uint32_t k = 0; node != NONE && k < 4; k++) {
		if (vs->ssa.nodes[node].kind == NODE_PHI)
			return node;
		node = trips_step_back(vs, node, step);
	}
	return NONE;
}

static int64_t in_width(int64_t step, uint32_t bits)
{
	return bits >= 64 ? step : (int64_t)((uint64_t)step << (64 - bits)) >> (64 - bits);
}

bool trips_is_back_edge(const struct values *vs, uint32_t block, uint32_t k)
{
	return cfg_dominates(vs->cfg, block, vs->cfg->blocks[block].pred.v[k]);
}

/* What every round adds to a phi of the loop's head; false: not the same on all ways around. */
static bool find_step(const struct values *vs, uint32_t phi, int64_t *step)
{
	const struct node *n = &vs->ssa.nodes[phi];
	const struct block *block = &vs->cfg->blocks[n->block];
	uint32_t bits = node_bits(vs, phi), ways = 0;
	int64_t s = 0;

	if (bits < 32 || vs->fn->regs[n->reg].vector > 1)
		return false;
	for (uint32_t k = 0; k < block->pred.n; k++) {
		uint32_t input = vs->ssa.inputs[n->input + k];

		if (!trips_is_back_edge(vs, n->block, k))
			continue;
		if (input >= vs->nsolved || trips_phi_below(vs, input, &s) != phi)
			return false;
		s = in_width(s, bits);
		if (ways++ && s != *step)
			return false;
		*step = s;
	}
	return ways && s;
}

bool trips_in_loop(const struct cfg *cfg, uint32_t block, uint32_t head)
{
	for (uint32_t h = cfg->blocks[block].loop_head; h != NONE; h = cfg->blocks[h].outer_head)
		if (h == head)
			return true;
	return false;
}

static bool leaves(const struct cfg *cfg, uint32_t block, uint32_t head)
{
	for (uint32_t k = 0; k < cfg->blocks[block].succ.n; k++)
		if (!trips_in_loop(cfg, cfg->blocks[block].succ.v[k], head))
			return true;
	return false;
}

void trips_count_by(struct values *vs, uint32_t phi)
{
	struct trip *trip = &vs->trips[vs->trip_of[phi]];
	uint32_t head = vs->ssa.nodes[phi].block;

	if (trip->counts)
		return;
	trip->counts = true;
	trip->next = vs->counters[head];
	vs->counters[head] = vs->trip_of[phi];
}

/* Marks what a branch of `block` compares, through predicate logic. */
static void mark_compared(struct values *vs, uint32_t block, uint32_t predicate, uint32_t depth)
{
	if (predicate >= vs->nsolved || vs->ssa.nodes[predicate].kind != NODE_DEF)
		return;
	const struct insn *insn = &vs->fn->insns[vs->ssa.nodes[predicate].insn];

	for (uint32_t k = 0; k < 3; k++) {
		uint32_t node = trips_plain_node(vs, insn_source(vs->fn, insn, k));
		int64_t step;

		if (node == NONE)
			continue;
		if (node_bits(vs, node) == 1) {
			if (depth && insn_is_arithmetic(insn))
				mark_compared(vs, block, node, depth - 1);
			continue;
		}
		uint32_t phi = insn->op == OP_setp ? trips_phi_below(vs, node, &step) : NONE;

		if (phi == NONE || vs->trip_of[phi] == NONE)
			continue;
		uint32_t head = vs->ssa.nodes[phi].block;

		if (trips_in_loop(vs->cfg, block, head) && leaves(vs->cfg, block, head))
			trips_count_by(vs, phi);
	}
}

void trips_find(struct values *vs)
{
	uint32_t cap = 0;

	vs->trip_of = ARENA_NEW(vs->arena, uint32_t, vs->nsolved + 1);
	vs->counters = ARENA_NEW(vs->arena, uint32_t, vs->cfg->n + 1);
	for (uint32_t node = 0; node < vs->nsolved; node++) {
		struct trip trip = {
			.node = node, .next = NONE, .end = NONE, .rounds = UINT64_MAX};

		vs->trip_of[node] = NONE;
		if (vs->ssa.nodes[node].kind != NODE_PHI || !find_step(vs, node, &trip.step))
			continue;
		vs->trip_of[node] = vs->ntrips;
		ARENA_PUSH(vs->arena, vs->trips, vs->ntrips, cap, trip);
	}
	for (uint32_t b = 0; b < vs->cfg->n; b++)
		vs->counters[b] = NONE;
	for (uint32_t b = 0; vs->ntrips && b < vs->cfg->n; b++) {
		const struct block *block = &vs->cfg->blocks[b];
		uint32_t last = block->first + block->count - 1;

		if (block->loop_head != NONE && block->count && block->succ.n == 2 &&
			vs->fn->insns[last].guard != NONE)
			mark_compared(vs, b, vs->ssa.guard_of[last], 3);
	}
	trips_find_ends(vs);
}

uint32_t trips_counters(const struct values *vs, uint32_t phi)
{
	uint32_t trip = vs->trip_of[phi];

	return trip == NONE || vs->trips[trip].counts ? NONE
						      : vs->counters[vs->ssa.nodes[phi].block];
}

bool trips_are_bounded(const struct values *vs, uint32_t phi)
{
	return trips_counters(vs, phi) != NONE || trips_end(vs, phi);
}

/* The rounds that one counter allows, or more than MOST_ROUNDS. */
static uint64_t rounds_of(const struct values *vs, const struct trip *counter)
{
	const struct value *v = value_at(vs, counter->node);
	uint32_t bits = node_bits(vs, counter->node);
	uint64_t step = counter->step < 0 ? -(uint64_t)counter->step : (uint64_t)counter->step;

	if (range_is_empty(v))
		return 0;
	if (v->base != BASE_NUMBER || v->lo < -VALUE_FAR || v->hi > VALUE_FAR)
		return UINT64_MAX;
	uint64_t width = (uint64_t)v->hi - (uint64_t)v->lo;

	if (step > (uint64_t)VALUE_FAR || (bits < 63 && width + step >= UINT64_C(1) << bits))
		return UINT64_MAX;
	return width / step;
}

/* The most rounds that come back to the head of a phi's loop, and what that rests on. */
static uint64_t most_rounds(const struct values *vs, uint32_t phi, uint32_t *assumptions)
{
	uint64_t rounds = vs->trips[vs->trip_of[phi]].rounds;

	if (rounds != UINT64_MAX)
		return rounds;
	for (uint32_t c = trips_counters(vs, phi); c != NONE; c = vs->trips[c].next) {
		bool known = vs->trips[c].rounds != UINT64_MAX;
		uint64_t most = known ? vs->trips[c].rounds : rounds_of(vs, &vs->trips[c]);

		if (most >= rounds)
			continue;
		rounds = most;
		*assumptions = known ? 0 : value_at(vs, vs->trips[c].node)->assumptions;
	}
	return rounds;
}

bool trips_know_rounds(const struct values *vs, uint32_t phi)
{
	uint32_t ignored;

	return vs->trip_of[phi] != NONE && most_rounds(vs, phi, &ignored) <= MOST_ROUNDS;
}

bool trips_bound(struct values *vs, uint32_t phi, const struct value *start, struct value *out)
{
	uint32_t assumptions = 0;
	uint64_t rounds = most_rounds(vs, phi, &assumptions);
	int64_t step = vs->trips[vs->trip_of[phi]].step;

	if (rounds > MOST_ROUNDS || step > INT32_MAX || step < INT32_MIN)
		return false;
	int64_t all = step * (int64_t)rounds;
	struct value moved =
		step < 0 ? range_span(all, 0, (uint64_t)-step) : range_span(0, all, (uint64_t)step);

	moved.assumptions = assumptions;
	if (range_is_empty(start)) {
		*out = *start;
		return true;
	}
	switch ((enum base_kind)start->base) {
	case BASE_NUMBER:
	case BASE_SYMBOL:
	case BASE_DERIVED:
	case BASE_PARAM:
		*out = range_add(start, &moved, node_bits(vs, phi));
		return true;
	case BASE_DESCRIPTOR:
		*out = descriptor_add(vs, start, &moved);
		return true;
	case BASE_LOADED:
	case BASE_OPAQUE:
	case BASE_UNKNOWN:
	case BASE_EMPTY:
		break;
	}
	return false;
}
