/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a solved flow, and the events at which a fact meets an async access as another thread's. Out:
 * the releases that it may leave through to get there. Searched backwards from the async accesses:
 * over events that do not take it away, from an acquire that brings it to its releases, and from a
 * release that hands it on to what stands before.
 */
#include "analysis/demand_private.h"

#include <stdlib.h>

static enum fence_kind fence_at(const struct flow_setup *s, const struct event *e)
{
	if (e->kind == EVENT_PLACED)
		return (enum fence_kind)e->fence;
	if (e->kind != EVENT_FENCE || s->unit->fn->insns[e->insn].guard != NONE)
		return FENCE_NONE;
	return (enum fence_kind)(
		s->existing ? s->existing[e->insn] : s->unit->effects[e->insn]->fence);
}

/* Behind the event the fact is not what it was before: fenced, or what a barrier's partners sent.
 */
static bool parts(const struct flow_setup *s, const struct event *e, uint32_t f)
{
	if (e->kind == EVENT_ACQUIRE) {
		struct bits entered = epochs_entered(s, e->arg);

		return s->handoffs.sites[e->arg].resets || (entered.nwords && !bits_has(entered, f));
	}
	return (e->kind == EVENT_PLACED || e->kind == EVENT_FENCE) &&
	       bits_has(s->fence[fence_at(s, e)].kill, f);
}

static void go_back_from(struct demands *d, uint32_t event)
{
	if (d->seen_event[event] == d->round)
		return;
	d->seen_event[event] = d->round;
	ARENA_PUSH(d->s->unit->arena, d->todo.v, d->todo.n, d->todo.cap, event);
}

/* An acquire behind which an async access is reached. */
static void take_acquire(struct demands *d, uint32_t site, uint32_t f)
{
	struct flow_setup *s = d->s;
	const struct ids *from = &s->handoffs.from[site];

	if (d->seen_site[site] == d->round || !bits_has(s->received[site], f))
		return;
	d->seen_site[site] = d->round;
	for (uint32_t i = 0; i < from->n; i++) {
		uint32_t r = from->v[i];

		if (d->seen_release[r] == d->round)
			continue;
		d->seen_release[r] = d->round;
		ARENA_PUSH(s->unit->arena, d->releases.v, d->releases.n, d->releases.cap, r);
		if (!bits_has(s->sent_foreign[r], f))
			continue;
		uint32_t event = flow_release_event(s, r);

		if (event < flow_end(s, s->handoffs.sites[r].block))
			go_back_from(d, event);
	}
}

static void enter_preds(struct demands *d, uint32_t b, uint32_t f, struct list *blocks)
{
	struct flow_setup *s = d->s;
	const struct block *block = &s->unit->cfg.blocks[b];

	if (!flow_reached(s, b) || !bits_has(flow_foreign(s, b), f))
		return;
	for (uint32_t i = 0; i < block->pred.n; i++) {
		uint32_t p = block->pred.v[i];

		if (d->seen_block[p] == d->round || !flow_reached(s, p))
			continue;
		d->seen_block[p] = d->round;
		ARENA_PUSH(s->unit->arena, blocks->v, blocks->n, blocks->cap, p);
	}
}

/* Over the events of block b below `end`, from the last one on, then its predecessors. */
static void go_back(struct demands *d, uint32_t b, uint32_t end, uint32_t f, struct list *blocks)
{
	struct flow_setup *s = d->s;

	for (uint32_t e = end; e-- > flow_first(s, b);) {
		const struct event *event = &s->events[e];

		if (event->kind == EVENT_ACQUIRE)
			take_acquire(d, event->arg, f);
		if (d->seen_event[e] == d->round || parts(s, event, f))
			return; /* what stands before it is looked at from there, or does not matter
				 */
	}
	enter_preds(d, b, f, blocks);
}

static uint32_t block_of_event(const struct flow_setup *s, uint32_t event)
{
	uint32_t lo = 0, hi = s->unit->cfg.n; /* the last block that starts at or before it */

	while (lo + 1 < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (flow_first(s, mid) <= event)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* ---- facts that go the same ways ---- */

static uint64_t next_mix(uint64_t mix)
{
	mix ^= mix << 13;
	mix ^= mix >> 7;
	return mix ^ mix << 17;
}

/* A set like the one before it tells nothing more apart. */
static void add_set(uint64_t *hash, struct bits set, struct bits *last, uint64_t *mix)
{
	if (last->nwords && bits_equal(*last, set))
		return;
	*last = set;
	*mix = next_mix(*mix);
	for (uint32_t f = bits_next(set, 0); f != NONE; f = bits_next(set, f + 1))
		hash[f] += *mix;
}

/* By fact a number that is equal for facts of which the searches below see the same. */
static void tell_apart(struct demands *d)
{
	struct flow_setup *s = d->s;
	uint64_t mix = UINT64_C(0x9e3779b97f4a7c15);
	struct bits last[3] = {{0}};

	d->likeness = ARENA_NEW(s->unit->arena, uint64_t, s->facts.n);
	for (uint32_t b = 0; b < s->unit->cfg.n; b++)
		if (flow_reached(s, b))
			add_set(d->likeness, flow_foreign(s, b), &last[0], &mix);
	for (uint32_t i = 0; i < s->handoffs.n; i++) {
		add_set(d->likeness, s->received[i], &last[1], &mix);
		add_set(d->likeness, s->sent_foreign[i], &last[2], &mix);
	}
	for (uint32_t i = 0; i < s->handoffs.n; i++) {
		struct bits entered = epochs_entered(s, i);

		if (entered.nwords)
			add_set(d->likeness, entered, &last[0], &mix);
	}
	for (uint32_t kind = 0; kind <= FENCE_OTHER; kind++)
		add_set(d->likeness, s->fence[kind].kill, &last[0], &mix);
}

static bool same_search(const struct demands *d, uint32_t f)
{
	const struct list *a, *b;

	if (d->searched == NONE || d->likeness[d->searched] != d->likeness[f])
		return false;
	a = &d->meets_foreign[d->searched];
	b = &d->meets_foreign[f];
	return a->n == b->n && memcmp(a->v, b->v, sizeof(*a->v) * a->n) == 0;
}

const struct list *demand_releases(struct demands *d, uint32_t f)
{
	struct list blocks = {0};

	if (!d->likeness)
		tell_apart(d);
	if (same_search(d, f)) /* accesses in a row, mostly */
		return &d->releases;
	d->searched = f;
	d->round++;
	d->todo.n = d->releases.n = 0;
	for (uint32_t i = 0; i < d->meets_foreign[f].n; i++)
		go_back_from(d, d->meets_foreign[f].v[i]);
	while (d->todo.n || blocks.n) {
		if (blocks.n) {
			uint32_t b = blocks.v[--blocks.n];

			go_back(d, b, flow_end(d->s, b), f, &blocks);
			continue;
		}
		uint32_t event = d->todo.v[--d->todo.n];

		go_back(d, block_of_event(d->s, event), event, f, &blocks);
	}
	if (d->releases.n)
		qsort(d->releases.v, d->releases.n, sizeof(*d->releases.v), by_number);
	return &d->releases;
}
