/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: solved values. Out: the nodes of which asking again, where they stand or under no condition, gives what they
 * have already.
 */
#include "analysis/value_solver.h"

#include <string.h>

/* It also looks at the bits of what its operands are computed from, whatever holds. */
static bool looks_at_bits(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];
	uint32_t op = n->kind == NODE_DEF && n->previous == NONE ? vs->fn->insns[n->insn].op : OP_UNKNOWN;

	return op == OP_or || op == OP_xor;
}

static bool restricts_reads(const struct values *vs, const struct context *here, uint32_t node)
{
	for (uint32_t i = vs->read_at[node]; i < vs->read_at[node + 1]; i++) {
		uint32_t read = vs->reads[i];

		for (uint32_t k = 0; here->all >> (read % 64) & 1 && k < here->n; k++)
			if (here->v[k].node == read)
				return true;
	}
	return false;
}

/* What the node has is what it gave the last time from the same values, looking no further than to what it reads. */
static enum steady steady_of(const struct solver *s, const struct context *here, uint32_t node)
{
	const struct values *vs = s->vs;

	if ((!s->shallow[node] && !looks_at_bits(vs, node)) || range_is_empty(&vs->at[node]) ||
		memcmp(&s->last[node], &vs->at[node], sizeof(*vs->at)) != 0 ||
		bits_has(s->dirty, s->rank[node]))
		return STEADY_NOT;
	return restricts_reads(vs, here, node) ? STEADY_HERE : STEADY;
}

void solver_find_steady(struct solver *s)
{
	struct values *vs = s->vs;
	const struct context *here = NULL;
	uint32_t block = NONE;

	vs->steady = ARENA_NEW(vs->arena, uint8_t, vs->nsolved + 1);
	vs->same = ARENA_NEW(vs->arena, bool, vs->nsolved + 1);
	for (uint32_t r = 0; r < vs->nsolved; r++) {
		uint32_t node = vs->order[r];

		if (vs->ssa.nodes[node].block != block) {
			block = vs->ssa.nodes[node].block;
			here = context_of_block(vs, block);
		}
		vs->steady[node] = (uint8_t)steady_of(s, here, node);
	}
	bits_zero(s->dirty);
}
