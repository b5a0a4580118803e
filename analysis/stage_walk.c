/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an access and a register. Out: the releases at which the access may be pending when the register
 * has been computed anew since; and the arrives that come behind it at all. Walked over the events that do not depend on fences; none of them is
 * taken for an end but the completion of a load. Invariant: a release that is not named is reached from the
 * access with the register as it was, or not at all.
 */
#include "analysis/flow_state.h"
#include "analysis/value_private.h"

static bool completes(const struct flow_setup *s, const struct event *event, uint32_t access)
{
	if (event->kind != EVENT_COMPLETE || access == NONE)
		return false;
	struct ids loads = s->complete[event->insn];

	for (uint32_t i = 0; i < loads.n; i++)
		if (s->facts.v[loads.v[i]].access == access)
			return true;
	return false;
}

/* Along the events of a block from `from` on: false, the access (NONE: none that ever is) is complete before its end. */
static bool stays_pending(const struct flow_setup *s, uint32_t access, uint32_t block,
	uint32_t from, uint32_t redefined, bool *stale, struct bits sites)
{
	for (uint32_t e = s->plain_of[block]; e < s->plain_of[block + 1]; e++) {
		const struct event *event = &s->plain[e];

		if (event->insn <= from && from != NONE)
			continue;
		*stale |= redefined != NONE && redefined < event->insn &&
			  (from == NONE || redefined > from);
		if (completes(s, event, access))
			return false;
		if (event->kind == EVENT_RELEASE && *stale)
			bits_set(sites, event->arg);
	}
	*stale |= redefined != NONE && (from == NONE || redefined > from);
	return true;
}

struct walking {
	uint8_t *seen; /* by block: bit 0: reached, bit 1: reached stale */
	uint32_t *todo, n;
};

static void walk_to(struct walking *w, uint32_t block, bool stale)
{
	uint8_t bit = stale ? 2 : 1;

	if (w->seen[block] & bit)
		return;
	w->seen[block] |= bit;
	w->todo[w->n++] = block * 2 + stale;
}

struct bits own_stage_left(const struct flow_setup *s, uint32_t access, uint32_t node, bool letter)
{
	const struct cfg *cfg = &s->unit->cfg;
	const struct node *def = &s->unit->values->ssa.nodes[node];
	uint32_t insn = s->unit->accesses.v[access].insn, phi = NONE, redefined_in = NONE;
	struct bits sites = bits_new(s->arena, s->handoffs.n);
	struct walking w = {.seen = ARENA_NEW(s->unit->arena, uint8_t, cfg->n),
		.todo = ARENA_NEW(s->unit->arena, uint32_t, 2 * cfg->n + 1)};

	if (def->kind == NODE_DEF)
		redefined_in = cfg->block_of[def->insn];
	else
		phi = def->block;
	w.todo[w.n++] = NONE; /* the access itself */
	while (w.n) {
		uint32_t next = w.todo[--w.n];
		uint32_t block = next == NONE ? cfg->block_of[insn] : next / 2;
		bool stale = next != NONE && next & 1;

		if (!stays_pending(s, letter ? NONE : access, block, next == NONE ? insn : NONE,
			    block == redefined_in ? def->insn : NONE, &stale, sites))
			continue;
		for (uint32_t i = 0; i < cfg->blocks[block].succ.n; i++) {
			uint32_t to = cfg->blocks[block].succ.v[i];

			walk_to(&w, to, stale || to == phi);
		}
	}
	ARENA_GIVE_BACK(s->unit->arena, w.todo, 2 * cfg->n + 1);
	ARENA_GIVE_BACK(s->unit->arena, w.seen, cfg->n);
	return sites;
}

struct bits own_stage_arrives_behind(const struct flow_setup *s, uint32_t insn)
{
	const struct cfg *cfg = &s->unit->cfg;
	uint32_t *todo = ARENA_NEW(s->unit->arena, uint32_t, cfg->n + 1), n = 0, block = cfg->block_of[insn];
	struct bits sites = bits_new(s->unit->arena, s->handoffs.n), blocks = bits_new(s->unit->arena, cfg->n);

	for (todo[n++] = block; n;) {
		const struct block *b = &cfg->blocks[todo[--n]];

		for (uint32_t i = 0; i < b->succ.n; i++) {
			if (bits_has(blocks, b->succ.v[i]))
				continue;
			bits_set(blocks, b->succ.v[i]);
			todo[n++] = b->succ.v[i];
		}
	}
	for (uint32_t i = 0; i < s->handoffs.n; i++) {
		const struct sync_site *site = &s->handoffs.sites[i];

		if (site->kind == SYNC_MBAR_ARRIVE && !site->self && !site->is_exit &&
			(bits_has(blocks, site->block) || (site->block == block && site->insn > insn)))
			bits_set(sites, i);
	}
	return sites;
}

struct bits stage_blocks_before(const struct unit *unit, uint32_t block)
{
	const struct cfg *cfg = &unit->cfg;
	uint32_t *todo = ARENA_NEW(unit->arena, uint32_t, cfg->n + 1), n = 0;
	struct bits before = bits_new(unit->arena, cfg->n);

	for (todo[n++] = block; n;) {
		const struct ids pred = cfg->blocks[todo[--n]].pred;

		for (uint32_t k = 0; k < pred.n; k++) {
			if (!bits_has(before, pred.v[k]))
				todo[n++] = pred.v[k];
			bits_set(before, pred.v[k]);
		}
	}
	return before;
}
