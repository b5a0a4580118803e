/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: barriers of one id at which all threads of the CTA meet. Out: the loops each round of which takes equally
 * many of them. Threads that stand at such barriers at once have passed equally many; so in a loop that no other
 * one encloses, that each way reaches behind the same number, they are in the same round.
 */
#include "analysis/barrier_steady.h"

#include <string.h>

enum steady { STEADY_UNASKED, STEADY_NOT, STEADY };

struct steady_rounds {
	const struct unit *unit;
	const struct barrier_group *group;
	const uint32_t *first_in;
	uint8_t *known; /* by block that is a loop's head: enum steady */
	uint32_t *stack;
};

/* Numbers of sites passed before each block on the ways from block `from` to the head, along blocks of `on`;
 * *passed: on the whole way. False: two ways differ. */
static bool count_ways(struct steady_rounds *w, uint32_t from, uint32_t head, struct bits on, uint32_t *passed)
{
	const struct cfg *cfg = &w->unit->cfg;
	const struct barrier_group *g = w->group;
	uint32_t *count = ARENA_UNSET(w->unit->arena, uint32_t, cfg->n), top = 0;

	memset(count, 0xff, sizeof(*count) * cfg->n);
	*passed = NONE;
	count[from] = 0;
	w->stack[top++] = from;
	while (top) {
		uint32_t b = w->stack[--top], behind = count[b];

		for (uint32_t i = w->first_in[b]; i < g->n && cfg->block_of[g->insns[i]] == b; i++)
			behind++;
		for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
			uint32_t to = cfg->blocks[b].succ.v[i], *there = to == head ? passed : &count[to];

			if (!bits_has(on, to) || *there == behind)
				continue;
			if (*there != NONE)
				return false;
			*there = behind;
			if (to != head)
				w->stack[top++] = to;
		}
	}
	return true;
}

/* Blocks from which a way leads to the head. */
static struct bits before_head(struct steady_rounds *w, uint32_t head)
{
	const struct cfg *cfg = &w->unit->cfg;
	struct bits on = bits_new(w->unit->arena, cfg->n);
	uint32_t top = 0;

	bits_set(on, head);
	w->stack[top++] = head;
	while (top) {
		struct ids pred = cfg->blocks[w->stack[--top]].pred;

		for (uint32_t i = 0; i < pred.n; i++) {
			if (bits_has(on, pred.v[i]))
				continue;
			bits_set(on, pred.v[i]);
			w->stack[top++] = pred.v[i];
		}
	}
	return on;
}

/* Each way to the loop passes equally many sites, and so does each round of it: whoever stands at a site of it has
 * gone through as many rounds as any other thread that has passed as many sites. */
static bool is_steady(struct steady_rounds *w, uint32_t head)
{
	struct bits on = before_head(w, head);
	uint32_t ahead, round;

	return (!head || count_ways(w, 0, head, on, &ahead)) && count_ways(w, head, head, on, &round);
}

bool steady_has(struct steady_rounds *w, uint32_t site)
{
	const struct cfg *cfg = &w->unit->cfg;
	uint32_t b = cfg->block_of[w->group->insns[site]], head = cfg->blocks[b].loop_head;

	if (head == NONE || cfg->blocks[head].outer_head != NONE)
		return false;
	if (w->known[head] == STEADY_UNASKED)
		w->known[head] = is_steady(w, head) ? STEADY : STEADY_NOT;
	return w->known[head] == STEADY;
}

struct steady_rounds *steady_rounds(
	const struct unit *unit, const struct barrier_group *group, const uint32_t *first_in)
{
	struct steady_rounds *w = ARENA_NEW(unit->arena, struct steady_rounds, 1);

	*w = (struct steady_rounds){unit, group, first_in, ARENA_NEW(unit->arena, uint8_t, unit->cfg.n),
		ARENA_NEW(unit->arena, uint32_t, unit->cfg.n + 1)};
	return w;
}
