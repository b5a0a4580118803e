/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an instruction. Out: the wait on an mbarrier that is over whenever control comes there. Invariant: on
 * every way to the instruction a wait on this object and for this phase has said that it is over, since the
 * registers of its address were computed. Who only asks, and goes on whatever the answer, has not waited.
 * Whether the instruction may come again behind one wait, with something new acquired, is asked apart.
 */
#include "analysis/flow_state.h"
#include "analysis/own_stage.h"
#include "analysis/value_place.h"

#define WAITS_MOST 16

struct waits {
	const struct flow_setup *s;
	uint32_t insns[WAITS_MOST], n; /* on one object, for one phase */
};

/* It may acquire something. */
static bool is_wait(const struct flow_setup *s, uint32_t insn)
{
	uint32_t site = s->handoffs.site_of[insn];

	return site != NONE && s->handoffs.sites[site].kind == SYNC_MBAR_WAIT &&
	       s->handoffs.sites[site].acquires && s->handoffs.from[site].n &&
	       s->unit->fn->insns[insn].guard == NONE;
}

/* The parity, or the state that an arrive gave. */
static bool same_phase(const struct unit *unit, const struct insn *a, const struct insn *b)
{
	const struct operand *x = insn_source(unit->fn, a, 1), *y = insn_source(unit->fn, b, 1);
	uint32_t node = trips_plain_node(unit->values, x);
	int64_t c, d;

	if (insn_has(a, MOD_parity) != insn_has(b, MOD_parity))
		return false;
	if (trips_constant_of(unit->values, x, &c) && trips_constant_of(unit->values, y, &d))
		return c == d;
	return node != NONE && node == trips_plain_node(unit->values, y);
}

static void find_waits(struct waits *w, uint32_t wait, const struct stage_place *object)
{
	const struct unit *unit = w->s->unit;
	const struct insn *insns = unit->fn->insns;

	for (uint32_t i = 0; i < w->s->handoffs.n && w->n < WAITS_MOST; i++) {
		uint32_t insn = w->s->handoffs.sites[i].insn;
		struct stage_place place;

		if (w->s->handoffs.sites[i].is_exit || !is_wait(w->s, insn) ||
			!same_phase(unit, &insns[wait], &insns[insn]) ||
			!stage_object_at(unit, insn, &place) || !stage_same_base(&place, object) ||
			!stage_same_sum(&place.sum, &object->sum))
			continue;
		w->insns[w->n++] = insn;
	}
}

/* What holds says that one of the waits is over (1), or is not yet (0). */
static bool says(const struct waits *w, const struct context *context, int64_t answer)
{
	const struct node *nodes = w->s->unit->values->ssa.nodes;

	for (uint32_t i = 0; i < context->n; i++) {
		const struct constraint *c = &context->v[i];

		for (uint32_t k = 0; k < w->n && !c->excludes && c->lo == answer && c->hi == answer; k++)
			if (nodes[c->node].kind == NODE_DEF && nodes[c->node].insn == w->insns[k])
				return true;
	}
	return false;
}

/* On each way from the wait, or from the latest one of the same object, to the instruction one has given this answer. */
static bool has_said(const struct waits *w, uint32_t wait, uint32_t insn, int64_t answer)
{
	struct values *vs = (struct values *)(uintptr_t)w->s->unit->values;
	const struct cfg *cfg = &w->s->unit->cfg;
	uint32_t block = cfg->block_of[insn], from = cfg->block_of[wait], n = 0;

	if (says(w, place_at(vs, insn), answer))
		return true;
	struct bits seen = bits_new(w->s->unit->arena, cfg->n);
	uint32_t *todo = ARENA_NEW(w->s->unit->arena, uint32_t, cfg->n + 1);
	bool said = block != from;

	todo[n++] = block;
	while (n && said) {
		const struct block *b = &cfg->blocks[todo[--n]];

		for (uint32_t k = 0; k < b->pred.n && said; k++) {
			struct constraint room[CONTEXT_MAX];
			struct context context = {.v = room};
			uint32_t p = b->pred.v[k];

			context_at_edge(vs, p, (uint32_t)(b - cfg->blocks), &context);
			if (says(w, &context, answer))
				continue;
			said = p != from;
			if (!bits_has(seen, p))
				todo[n++] = p;
			bits_set(seen, p);
		}
	}
	return said;
}

bool stage_wait_refused(const struct flow_setup *s, uint32_t wait, uint32_t insn)
{
	const struct waits w = {s, {wait}, 1};

	return has_said(&w, wait, insn, 0);
}

bool stage_wait_over(const struct flow_setup *s, uint32_t wait, uint32_t insn)
{
	const struct waits w = {s, {wait}, 1};

	return has_said(&w, wait, insn, 1);
}

bool stage_wait_before(const struct flow_setup *s, uint32_t insn, struct stage_place *object, uint32_t *wait)
{
	const struct cfg *cfg = &s->unit->cfg;

	for (uint32_t b = cfg->block_of[insn], end = insn; b != NONE; b = cfg->blocks[b].idom) {
		const struct block *block = &cfg->blocks[b];

		if (b != cfg->block_of[insn])
			end = block->first + block->count;
		for (uint32_t i = end; i-- > block->first;) {
			struct waits w = {.s = s};

			if (!is_wait(s, i))
				continue;
			if (!stage_object_at(s->unit, i, object))
				return false;
			find_waits(&w, i, object);
			*wait = i;
			if (has_said(&w, i, insn, 1))
				return true;
		}
	}
	return false;
}

static bool is_one_of(const struct waits *w, uint32_t insn)
{
	for (uint32_t k = 0; k < w->n; k++)
		if (w->insns[k] == insn)
			return true;
	return false;
}

/* The instructions [from, end): false, one of the waits is among them, or the instruction is again. */
static bool goes_on(
	const struct waits *w, uint32_t from, uint32_t end, uint32_t insn, bool *acquired, bool *again)
{
	for (uint32_t i = from; i < end; i++) {
		uint32_t site = w->s->handoffs.site_of[i];

		if (is_one_of(w, i))
			return false;
		if (i == insn) {
			*again |= *acquired;
			return false;
		}
		*acquired |= site != NONE && w->s->handoffs.sites[site].acquires;
	}
	return true;
}

/* A walk from behind instructions on. */
struct renewal {
	struct waits waits;
	uint32_t insn;
	uint8_t *seen;	/* by block: bit 0: come to with nothing acquired, bit 1: with something */
	uint32_t *todo, n;
	bool again; /* the instruction is come to with something acquired */
};

static void walk_block(struct renewal *r, uint32_t block, uint32_t from, bool acquired)
{
	const struct block *b = &r->waits.s->unit->cfg.blocks[block];

	if (!goes_on(&r->waits, from, b->first + b->count, r->insn, &acquired, &r->again))
		return;
	for (uint32_t k = 0; k < b->succ.n; k++) {
		if (r->seen[b->succ.v[k]] & (1 << acquired))
			continue;
		r->seen[b->succ.v[k]] |= (uint8_t)(1 << acquired);
		r->todo[r->n++] = b->succ.v[k] * 2 + acquired;
	}
}

bool stage_wait_renewed(const struct flow_setup *s, uint32_t wait, struct ids behind, uint32_t insn)
{
	const struct cfg *cfg = &s->unit->cfg;
	struct stage_place object;
	struct renewal r = {.waits = {.s = s},
		.insn = insn,
		.seen = ARENA_NEW(s->unit->arena, uint8_t, cfg->n),
		.todo = ARENA_NEW(s->unit->arena, uint32_t, 2 * cfg->n + 1)};

	if (!stage_object_at(s->unit, wait, &object))
		return false;
	find_waits(&r.waits, wait, &object);
	for (uint32_t k = 0; k < behind.n; k++)
		walk_block(&r, cfg->block_of[behind.v[k]], behind.v[k] + 1, false);
	while (r.n && !r.again) {
		uint32_t next = r.todo[--r.n];

		walk_block(&r, next / 2, cfg->blocks[next / 2].first, next & 1);
	}
	return !r.again;
}
