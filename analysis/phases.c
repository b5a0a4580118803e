/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the sites of a unit. Out: for each the fewest and the most barriers of all threads that a thread
 * has passed before it. Invariant: a bound is never tighter than what some way through the function shows.
 */
#include "analysis/pairing.h"

/* Full barriers passed on the shortest way to each block's start; then whether a longest way exists. One
 * under a guard may or may not be passed: it counts for the longest way only. */
void pair_phases(struct pairing *p)
{
	struct unit *unit = p->unit;
	const struct cfg *cfg = &unit->cfg;
	uint32_t *min = ARENA_NEW(unit->arena, uint32_t, cfg->n);
	uint32_t *max = ARENA_NEW(unit->arena, uint32_t, cfg->n);
	uint32_t *fewest = ARENA_NEW(unit->arena, uint32_t, cfg->n); /* in the block */
	uint32_t *most = ARENA_NEW(unit->arena, uint32_t, cfg->n);

	for (uint32_t i = 0; i < p->h->n; i++) {
		const struct sync_site *s = &p->h->sites[i];

		most[s->block] += s->full;
		fewest[s->block] += s->full && unit->fn->insns[s->insn].guard == NONE;
	}
	for (uint32_t b = 0; b < cfg->n; b++)
		min[b] = b ? NONE : 0;
	/* few rounds: each round settles one more nesting of back edges; numbers only fall */
	for (bool changed = true; changed && !budget_spent(unit->budget);) {
		changed = false;
		for (uint32_t b = 0; b < cfg->n; b++) {
			if (min[b] == NONE)
				continue;
			for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
				uint32_t s = cfg->blocks[b].succ.v[i];

				if (min[b] + fewest[b] < min[s]) {
					min[s] = min[b] + fewest[b];
					changed |= s <= b;
				}
			}
		}
	}
	/* longest ways: along forward edges; a block that a cycle with a barrier can reach has no bound */
	for (uint32_t b = 0; b < cfg->n; b++) {
		for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
			uint32_t s = cfg->blocks[b].succ.v[i];
			uint32_t way = max[b] == NONE ? NONE : max[b] + most[b];

			if (s > b) {
				if (way > max[s])
					max[s] = way;
			}
		}
	}
	for (bool changed = true; changed && !budget_spent(unit->budget);) {
		changed = false;
		for (uint32_t b = 0; b < cfg->n; b++) {
			for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
				uint32_t s = cfg->blocks[b].succ.v[i];
				uint32_t way = max[b] == NONE ? NONE : max[b] + most[b];

				if (way <= max[s])
					continue;
				/* a back edge that still lengthens the way closes a cycle with a barrier */
				max[s] = s <= b ? NONE : way;
				changed |= s <= b || max[s] == NONE;
			}
		}
	}
	uint32_t surely = 0, perhaps = 0; /* full barriers of the site's block that stand before it */

	for (uint32_t i = 0; i < p->h->n; i++) {
		struct sync_site *s = &p->h->sites[i];

		if (i && p->h->sites[i - 1].block != s->block)
			surely = perhaps = 0;
		s->min_phase = min[s->block] == NONE ? 0 : min[s->block] + surely;
		s->max_phase = max[s->block] == NONE ? NONE : max[s->block] + perhaps;
		perhaps += s->full;
		surely += s->full && unit->fn->insns[s->insn].guard == NONE;
	}
}
