/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: facts and events, and the places that release or acquire; no pairs. Out: whether the flow is without edges even if
 * each release is heard at every acquire of its kind. Invariant: what is pending at a point is no less than what
 * the flow says; so true holds for the flow, false says nothing.
 *
 * Most kernels fence in front of what they release. Then nobody needs to know who hears whom, who leads, and
 * which stage is whose.
 */
#include "analysis/flow_state.h"

#define WORDS_MOST (UINT64_C(1) << 20) /* that the sets of all blocks may have */

enum heard { HEARD_BAR, HEARD_CLUSTER, HEARD_WARP, HEARD_MBAR, HEARD_MEMORY, HEARD_COUNT };

/* A fence in front of a relaxed arrive, or behind a relaxed wait, stands for it. */
#define LEANING (1 << HEARD_MEMORY | 1 << HEARD_MBAR | 1 << HEARD_CLUSTER)

struct bound {
	struct flow_setup *s;
	uint64_t *in;	     /* own and foreign, by block */
	struct bits dirty;   /* blocks */
	struct bits reached;
	struct bits sent[HEARD_COUNT];
	bool clear;
};

/* By bit: the acquires that may hear of a release, or the one that the site is. */
static uint32_t heard_at(const struct sync_site *site)
{
	if (site->is_exit) /* who has left counts as arrived */
		return 1 << HEARD_BAR | 1 << HEARD_CLUSTER;
	switch (site->kind) {
	case SYNC_BAR:
	case SYNC_BAR_ARRIVE:
		return 1 << HEARD_BAR;
	case SYNC_CLUSTER_ARRIVE:
	case SYNC_CLUSTER_WAIT:
		return 1 << HEARD_CLUSTER;
	case SYNC_WARP:
		return 1 << HEARD_WARP;
	case SYNC_MEMORY:
		return site->leans ? LEANING : 1 << HEARD_MEMORY;
	case SYNC_NONE:
		return site->leans ? LEANING : 1 << HEARD_MBAR;
	default:
		return 1 << HEARD_MBAR;
	}
}

/* The sets of a block are one behind the other. */
static struct bits in_of(const struct bound *b, uint32_t block)
{
	uint32_t n = 2 * b->s->set_words;

	return (struct bits){b->in + (size_t)block * n, n};
}

static struct bits now_of(const struct bound *b)
{
	return (struct bits){b->s->now.own.words, 2 * b->s->set_words};
}

static bool row_meets(const struct fact_row *row, struct bits set)
{
	for (uint32_t i = 0; i < row->n; i++)
		if (set.words[row->word[i]] & row->mask[i])
			return true;
	return false;
}

static void release(struct bound *b, const struct sync_site *site)
{
	struct flow_setup *s = b->s;
	uint32_t heard = heard_at(site), grew = 0;

	flow_publish(s, site, s->now.own, s->scratch);
	for (uint32_t k = 0; k < HEARD_COUNT; k++)
		if (heard >> k & 1 && bits_or(b->sent[k], s->scratch))
			grew |= 1u << k;
	if (!site->cp_async && !site->self) {
		flow_publish(s, site, s->now.foreign, s->scratch);
		for (uint32_t k = 0; k < HEARD_COUNT; k++)
			if (heard >> k & 1 && bits_or(b->sent[k], s->scratch))
				grew |= 1u << k;
	}
	for (uint32_t i = 0; grew && i < s->handoffs.n; i++) {
		const struct sync_site *to = &s->handoffs.sites[i];

		if (to->acquires && heard_at(to) & grew && bits_has(b->reached, to->block))
			bits_set(b->dirty, to->block);
	}
}

static void acquire(struct bound *b, const struct sync_site *site)
{
	uint32_t heard = heard_at(site);

	for (uint32_t k = 0; k < HEARD_COUNT; k++)
		if (heard >> k & 1)
			bits_or(b->s->now.foreign, b->sent[k]);
}

static void step(struct bound *b, uint32_t number)
{
	struct flow_setup *s = b->s;
	const struct event *e = &s->events[number];

	switch ((enum event_kind)e->kind) {
	case EVENT_RELEASE:
		release(b, &s->handoffs.sites[e->arg]);
		break;
	case EVENT_ACQUIRE:
		acquire(b, &s->handoffs.sites[e->arg]);
		break;
	case EVENT_ASYNC:
		b->clear &= !row_meets(s->facts.row[e->arg], s->now.own) &&
			    !row_meets(s->facts.row[e->arg], s->now.foreign);
		break;
	case EVENT_COMPLETE:
	case EVENT_PLACED:
	case EVENT_LITERAL:
	case EVENT_FENCE:
	case EVENT_ACCESS:
	case EVENT_WAIT:
		flow_step(s, number, true, NULL);
		break;
	}
}

static void run_block(struct bound *b, uint32_t block)
{
	struct flow_setup *s = b->s;
	const struct block *at = &s->unit->cfg.blocks[block];

	bits_copy(now_of(b), in_of(b, block));
	for (uint32_t e = flow_first(s, block); e < flow_end(s, block); e++)
		step(b, e);
	for (uint32_t i = 0; i < at->succ.n; i++) {
		uint32_t to = at->succ.v[i];

		if (!bits_or(in_of(b, to), now_of(b)) && bits_has(b->reached, to))
			continue;
		bits_set(b->reached, to);
		bits_set(b->dirty, to);
	}
}

static bool run(struct bound *b)
{
	uint32_t block = 0;

	bits_set(b->reached, 0);
	while (block != NONE && b->clear && !budget_spent(b->s->unit->budget)) {
		bits_clear(b->dirty, block);
		run_block(b, block);
		uint32_t next = bits_next(b->dirty, block + 1);

		block = next == NONE ? bits_next(b->dirty, 0) : next;
	}
	return b->clear && !b->s->unit->budget->spent;
}

bool flow_is_clear_at_worst(struct flow_setup *s)
{
	struct unit *unit = s->unit;
	uint32_t n = s->set_words = (s->facts.n + 63) / 64;
	struct bound b = {.s = s, .clear = true};
	struct arena stage;

	if (2 * (uint64_t)unit->cfg.n * n > WORDS_MOST)
		return false;
	unit_begin(unit, &stage);
	b.in = ARENA_NEW(unit->arena, uint64_t, 2 * (size_t)unit->cfg.n * n);
	b.dirty = bits_new(unit->arena, unit->cfg.n);
	b.reached = bits_new(unit->arena, unit->cfg.n);
	for (uint32_t k = 0; k < HEARD_COUNT; k++)
		b.sent[k] = bits_new(unit->arena, s->facts.n);
	s->now.own = (struct bits){ARENA_NEW(unit->arena, uint64_t, 2 * (size_t)n), n};
	s->now.foreign = (struct bits){s->now.own.words + n, n};
	s->scratch = bits_new(unit->arena, s->facts.n);
	s->events = s->plain;
	s->events_of = s->plain_of;
	bool clear = run(&b);

	unit_end(unit);
	return clear;
}
