/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: pairs of arrives and waits, relaxed ones among them. Out: the pairs of the fences that those
 * lean on. A relaxed arrive hands over what stands before a fence in front of it, not what is
 * between the two, and a relaxed wait brings it to what stands behind a fence behind it
 * (ISA 8.7.3, 8.8): a proxy fence between is on no way from one thread to the other. Invariant: a
 * fence counts for each relaxed arrive that some way leads to from it.
 */
#include "analysis/pairing.h"

#include "base/bits.h"

struct leaning {
	struct pairing *p;
	uint32_t *stamp, round; /* blocks that a site leads to */
	uint32_t *stack;
	struct bits *behind; /* by site: the fences that stand for it, itself if it is not relaxed;
				made when asked for */
	struct bits to;
};

static void walk(struct leaning *l, uint32_t from)
{
	const struct cfg *cfg = &l->p->unit->cfg;
	uint32_t top = 0;

	l->round++;
	for (uint32_t b = from;;) {
		for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
			uint32_t s = cfg->blocks[b].succ.v[i];

			if (l->stamp[s] == l->round)
				continue;
			l->stamp[s] = l->round;
			l->stack[top++] = s;
		}
		if (!top)
			return;
		b = l->stack[--top];
	}
}

/* Behind the walk from site a's block. */
static bool leads_to(const struct leaning *l, const struct sync_site *a, const struct sync_site *b)
{
	return l->stamp[b->block] == l->round || (a->block == b->block && a->insn < b->insn);
}

static const struct effect *effect_at(const struct leaning *l, uint32_t site)
{
	const struct sync_site *s = &l->p->h->sites[site];

	return s->is_exit ? NULL : l->p->unit->effects[s->insn];
}

static bool is_relaxed(const struct leaning *l, uint32_t site)
{
	const struct effect *e = effect_at(l, site);

	return e && pair_is_relaxed(e);
}

/* Fences in front of relaxed arrives: from each of them a walk tells which. */
static void find_in_front(struct leaning *l)
{
	struct handoffs *h = l->p->h;

	for (uint32_t f = 0; f < h->n; f++) {
		const struct effect *e = effect_at(l, f);

		if (!h->sites[f].leans || !pair_leans_release(e))
			continue;
		walk(l, h->sites[f].block);
		for (uint32_t r = 0; r < h->n; r++)
			if (h->sites[r].releases && is_relaxed(l, r) &&
				leads_to(l, &h->sites[f], &h->sites[r]))
				bits_set(l->behind[r], f);
	}
}

static void find_behind(struct leaning *l)
{
	struct handoffs *h = l->p->h;

	for (uint32_t w = 0; w < h->n; w++) {
		if (!h->sites[w].acquires || !is_relaxed(l, w))
			continue;
		walk(l, h->sites[w].block);
		for (uint32_t f = 0; f < h->n; f++)
			if (h->sites[f].leans && pair_leans_acquire(effect_at(l, f)) &&
				leads_to(l, &h->sites[w], &h->sites[f]))
				bits_set(l->behind[w], f);
	}
}

/* The pairs of a site once more, with what stands for those that are heard there. */
static void pair_with(struct leaning *l, uint32_t release, const struct pair_list *heard)
{
	struct handoffs *h = l->p->h;

	for (uint32_t i = 0; i < l->p->to[release].n; i++)
		bits_set(l->to, l->p->to[release].v[i]);
	for (uint32_t i = 0; i < heard->n; i++) {
		if (!is_relaxed(l, heard->v[i])) {
			bits_set(l->to, heard->v[i]);
			continue;
		}
		bits_or(l->to, l->behind[heard->v[i]]);
		for (uint32_t f = bits_next(l->behind[heard->v[i]], 0); f != NONE;
			f = bits_next(l->behind[heard->v[i]], f + 1))
			h->sites[f].unknown |= h->sites[heard->v[i]].unknown;
	}
	l->p->to[release].n = 0;
	for (uint32_t a = bits_next(l->to, 0); a != NONE; a = bits_next(l->to, a + 1))
		pair_add(l->p, release, a);
	bits_zero(l->to);
}

static void replace(struct leaning *l, uint32_t release)
{
	struct handoffs *h = l->p->h;
	struct pair_list heard = l->p->to[release];

	l->p->to[release] = (struct pair_list){0};
	if (!is_relaxed(l, release)) {
		pair_with(l, release, &heard);
		return;
	}
	for (uint32_t f = bits_next(l->behind[release], 0); f != NONE;
		f = bits_next(l->behind[release], f + 1)) {
		h->sites[f].crosses |= h->sites[release].crosses; /* whatever scope it names */
		h->sites[f].unknown |= h->sites[release].unknown;
		pair_with(l, f, &heard);
	}
}

void pair_leaning(struct pairing *p)
{
	struct arena *arena = p->unit->arena;
	struct leaning l = {.p = p};
	bool any = false;

	for (uint32_t i = 0; i < p->h->n; i++)
		any |= is_relaxed(&l, i);
	if (!any)
		return;
	l.stamp = ARENA_NEW(arena, uint32_t, p->unit->cfg.n);
	l.stack = ARENA_NEW(arena, uint32_t, p->unit->cfg.n);
	l.behind = ARENA_NEW(arena, struct bits, p->h->n);
	l.to = bits_new(arena, p->h->n);
	for (uint32_t i = 0; i < p->h->n; i++)
		if (is_relaxed(&l, i))
			l.behind[i] = bits_new(arena, p->h->n);
	find_in_front(&l);
	find_behind(&l);
	for (uint32_t r = 0; r < p->h->n; r++)
		if (p->to[r].n)
			replace(&l, r);
	/* by itself a relaxed one is a site no more */
	for (uint32_t i = 0; i < p->h->n; i++)
		if (is_relaxed(&l, i))
			p->h->site_of[p->h->sites[i].insn] = NONE;
}
