/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an address at a place, which is a phi and a constant. Out: what it is by the ways into the phi's block
 * that can have been taken: not by one that was left by a predicate that does not hold at the place
 * (`p = mine ? &slot : 0; ... if (mine) *p = x;`). Invariant: the predicate was made before that block, and
 * the block comes before the place on every way, so both are about the same contents of it.
 */
#include "analysis/value_place.h"

static bool is_predicate(const struct values *vs, const struct constraint *c)
{
	return node_bits(vs, c->node) == 1 && c->lo == c->hi && !c->excludes && !c->assumptions;
}

/* The node is made in a block that is passed before this one. */
static bool made_before(const struct values *vs, uint32_t node, uint32_t block)
{
	uint32_t from = vs->ssa.nodes[node].block;

	return from != block && cfg_dominates(vs->cfg, from, block);
}

/* What held on the way contradicts what holds at the place. */
static bool is_closed(
	struct values *vs, const struct context *place, uint32_t block, const struct context *way)
{
	for (uint32_t i = 0; i < place->n; i++) {
		const struct constraint *here = &place->v[i];

		if (!is_predicate(vs, here) || !made_before(vs, here->node, block))
			continue;
		for (uint32_t k = 0; k < way->n; k++)
			if (way->v[k].node == here->node && is_predicate(vs, &way->v[k]) &&
				way->v[k].lo != here->lo)
				return true;
	}
	return false;
}

/* What comes into the phi along the ways that are open; false: all are. */
static bool by_open_ways(
	struct values *vs, const struct context *place, uint32_t phi, struct value *out)
{
	const struct node *n = &vs->ssa.nodes[phi];
	const struct block *block = &vs->cfg->blocks[n->block];
	struct constraint room[CONTEXT_MAX];
	struct context way = {.v = room};
	bool closed = false;

	*out = range_empty();
	for (uint32_t k = 0; k < block->pred.n; k++) {
		uint32_t input = vs->ssa.inputs[n->input + k];

		context_at_edge(vs, block->pred.v[k], n->block, &way);
		if (is_closed(vs, place, n->block, &way)) {
			closed = true;
			continue;
		}
		if (input >= vs->nsolved)
			return false;
		*out = values_join(vs, out, value_at(vs, input), node_bits(vs, phi));
	}
	return closed && !range_is_empty(out);
}

bool open_ways_into(struct evaluation e, const struct operand *mem, struct value *out)
{
	struct values *vs = e.values;
	const struct operand *base = operand_child(vs->fn, mem, 0);
	int64_t added = 0;

	if (mem->indexed || !base || base->kind != OPERAND_REG || base->negated || base->component)
		return false;
	uint32_t phi = trips_phi_below(vs, base->node, &added);

	if (phi == NONE || phi >= vs->nsolved || !vs->ssa.nodes[phi].block ||
		!by_open_ways(vs, e.context, phi, out) || out->base == BASE_DESCRIPTOR)
		return false;
	added += base->offset ? operand_offset(vs->fn, base) : 0;
	struct value offset = range_constant(added);

	*out = range_add(out, &offset, vs->fn->regs[base->id].bits);
	return true;
}
