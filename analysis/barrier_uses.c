/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the barrier instructions of a unit. Out: which uses of one id, by other numbers of threads, are
 * never under way at once: `bar.sync 0, 256` and, behind a barrier of those 256, `bar.sync 0, 128`.
 *
 * A meeting is a barrier whose threads are known and that all of them pass together. Between two
 * meetings those threads are in one stretch of code at a time. Two uses are apart if only they come
 * there, and no stretch that some of them can be in, while others are in this or a meeting one, has
 * both. Proof: let thread x wait at the one and y at the other, having passed m and n meetings. x has
 * passed the m-th, so y has come to it, and waits there no more: n >= m; likewise m >= n. So both are
 * behind the same meeting, in stretches that begin at sites which meet.
 *
 * A use may be the meeting itself: it then ends the stretches before it and counts for them. Up to the
 * first time that it would be under way with another use, its threads pass it together.
 */
#include "analysis/barrier.h"
#include "analysis/barrier_sets.h"
#include "analysis/pairing.h"

#define USES_MAX 32
#define COUNT_ALL UINT32_MAX           /* every thread of the CTA */
#define COUNT_UNKNOWN (UINT32_MAX - 1)

struct use {
	uint32_t first;            /* number in `all` */
	uint32_t count;            /* threads asked for */
	struct thread_set threads; /* that can come, under any id */
	bool known;                /* those are all */
	bool waits;                /* whoever comes waits */
	bool meets;                /* it is a meeting */
};

struct parting {
	struct pairing *p;
	struct barriers *all;
	struct use uses[USES_MAX];
	uint32_t nuses;
	uint32_t apart[USES_MAX];
	uint32_t *first_in; /* by block: its first number in `all`; NONE */
	uint32_t *stamp, round;
	uint32_t *stack;
};

static const struct sync_site *site_at(const struct parting *w, uint32_t i)
{
	return &w->p->h->sites[w->all->sites[i]];
}

static uint32_t count_of(const struct parting *w, uint32_t i)
{
	uint32_t n = barrier_counted(w->p->unit, site_at(w, i)->insn);

	return site_at(w, i)->full ? COUNT_ALL : n ? n : COUNT_UNKNOWN;
}

static bool same_key(const struct barrier_id *a, const struct barrier_id *b)
{
	return a->kind == b->kind && a->key == b->key;
}

/* Adds a site to the use that it belongs to; false: there are too many. */
static bool add_site(struct parting *w, uint32_t i)
{
	struct barrier_id *id = &w->all->ids[i];
	uint32_t count = count_of(w, i);
	uint32_t u = 0;

	while (u < w->nuses && !(w->uses[u].count == count &&
				       same_key(&w->all->ids[w->uses[u].first], id)))
		u++;
	if (u == USES_MAX)
		return false;
	if (u == w->nuses)
		w->uses[w->nuses++] =
			(struct use){.first = i, .count = count, .waits = true, .meets = true};
	id->use = (uint8_t)u;
	return true;
}

static bool may_clash(const struct parting *w, uint32_t u, uint32_t v)
{
	const struct barrier_id *a = &w->all->ids[w->uses[u].first];
	const struct barrier_id *b = &w->all->ids[w->uses[v].first];

	return u != v && !(w->apart[u] >> v & 1) && a->lo <= b->hi && b->lo <= a->hi;
}

static bool any_clash(const struct parting *w)
{
	for (uint32_t u = 0; u < w->nuses; u++)
		for (uint32_t v = 0; v < u; v++)
			if (may_clash(w, u, v))
				return true;
	return false;
}

/* Who comes to the sites of a use, and whether they all pass together. */
static void look_at(struct parting *w, uint32_t u, bool numbered)
{
	const struct unit *unit = w->p->unit;
	struct thread_set by_id[BARRIER_IDS] = {0};
	struct use *use = &w->uses[u];
	const struct barrier_id *id = &w->all->ids[use->first];

	use->known = numbered;
	for (uint32_t i = use->first; i < w->all->n; i++) {
		const struct sync_site *s = site_at(w, i);

		if (w->all->ids[i].use != u)
			continue;
		use->waits &= s->kind == SYNC_BAR;
		use->meets &= unit->fn->insns[s->insn].guard == NONE && id->kind == ID_CONSTANT;
		use->known = use->known && barrier_add_threads(unit, s->insn, by_id);
	}
	for (uint32_t k = 0; k < BARRIER_IDS; k++)
		for (uint32_t i = 0; i < THREADS_MAX / 64; i++)
			use->threads.w[i] |= by_id[k].w[i];
	use->meets &= use->waits &&
		      (use->count == COUNT_ALL ||
			      (use->known && use->count != COUNT_UNKNOWN &&
				      barrier_set_complete(&use->threads, use->count)));
}

/* Only threads of the meeting come to the use, and wait there. */
static bool is_within(const struct parting *w, uint32_t u, uint32_t meeting)
{
	const struct use *use = &w->uses[u], *m = &w->uses[meeting];

	return use->waits && (m->count == COUNT_ALL ||
				     (use->known && thread_set_within(&use->threads, &m->threads)));
}

/* ---- stretches between meetings ---- */

/* From number i to the end of the block; false: a meeting ends the way. */
static bool pass_sites(struct parting *w, uint32_t i, uint32_t block, uint32_t meeting, uint32_t *uses)
{
	for (; i < w->all->n && site_at(w, i)->block == block; i++) {
		*uses |= UINT32_C(1) << w->all->ids[i].use;
		if (w->all->ids[i].use == meeting)
			return false;
	}
	return true;
}

static uint32_t enter_succs(struct parting *w, uint32_t b, uint32_t top)
{
	const struct block *block = &w->p->unit->cfg.blocks[b];

	for (uint32_t i = 0; i < block->succ.n; i++) {
		uint32_t to = block->succ.v[i];

		if (w->stamp[to] == w->round)
			continue;
		w->stamp[to] = w->round;
		w->stack[top++] = to;
	}
	return top;
}

/* Uses that a thread comes to behind a site of the meeting (NONE: the start), the next one included. */
static uint32_t stretch(struct parting *w, uint32_t site, uint32_t meeting)
{
	uint32_t uses = 0, top = 0, block = site == NONE ? 0 : site_at(w, site)->block;
	uint32_t next = site == NONE ? w->first_in[0] : site + 1;

	w->round++;
	if (next == NONE || pass_sites(w, next, block, meeting, &uses))
		top = enter_succs(w, block, top);
	while (top) {
		uint32_t b = w->stack[--top];

		if (w->first_in[b] == NONE || pass_sites(w, w->first_in[b], b, meeting, &uses))
			top = enter_succs(w, b, top);
	}
	return uses;
}

static void put_together(uint32_t *together, uint32_t x, uint32_t y)
{
	for (uint32_t u = 0; u < USES_MAX; u++) {
		together[u] |= x >> u & 1 ? y : 0;
		together[u] |= y >> u & 1 ? x : 0;
	}
}

/* By use: those that can be come to at once with it, between two meetings. */
static void find_together(struct parting *w, uint32_t meeting, uint32_t *together)
{
	struct unit *unit = w->p->unit;
	uint32_t *sites = ARENA_NEW(unit->arena, uint32_t, w->all->n);
	uint32_t *insns = ARENA_NEW(unit->arena, uint32_t, w->all->n);
	uint32_t *uses = ARENA_NEW(unit->arena, uint32_t, w->all->n);
	struct barrier_group g = {.insns = insns};
	uint32_t start = stretch(w, NONE, meeting);

	put_together(together, start, start);
	for (uint32_t i = 0; i < w->all->n; i++) {
		if (w->all->ids[i].use != meeting)
			continue;
		uses[g.n] = stretch(w, i, meeting);
		sites[g.n] = i;
		insns[g.n++] = site_at(w, i)->insn;
	}
	g.meet = ARENA_NEW(unit->arena, uint64_t, (size_t)g.n * ((g.n + 63) / 64));
	barrier_meet(unit, &g);
	for (uint32_t a = 0; a < g.n; a++)
		for (uint32_t b = 0; b <= a; b++)
			if (barrier_meets(&g, a, b))
				put_together(together, uses[a], uses[b]);
}

static void part_by(struct parting *w, uint32_t meeting)
{
	uint32_t together[USES_MAX] = {0};
	bool named = w->uses[meeting].count != COUNT_ALL;

	if (named && !(w->p->unit->options->assume & ASSUME_NAMED_IDS))
		return;
	find_together(w, meeting, together);
	for (uint32_t u = 0; u < w->nuses; u++)
		if (may_clash(w, u, meeting) &&
			(!is_within(w, u, meeting) || together[meeting] >> u & 1))
			return;
	for (uint32_t u = 0; u < w->nuses; u++) {
		for (uint32_t v = 0; v < u; v++) {
			if (!may_clash(w, u, v) || together[u] >> v & 1 ||
				!is_within(w, u, meeting) || !is_within(w, v, meeting))
				continue;
			w->apart[u] |= UINT32_C(1) << v;
			w->apart[v] |= UINT32_C(1) << u;
			w->p->h->assumptions |= named ? ASSUME_NAMED_IDS : 0;
		}
	}
}

/* Uses of one key that are not apart are one. */
static void join_uses(struct parting *w)
{
	uint32_t into[USES_MAX];
	bool more = true;

	for (uint32_t u = 0; u < w->nuses; u++)
		into[u] = u;
	while (more) {
		more = false;
		for (uint32_t u = 0; u < w->nuses; u++) {
			for (uint32_t v = 0; v < u; v++) {
				if (into[u] == into[v] || w->apart[into[u]] >> into[v] & 1 ||
					!same_key(&w->all->ids[w->uses[u].first],
						&w->all->ids[w->uses[v].first]))
					continue;
				uint32_t from = into[u] > into[v] ? into[u] : into[v];
				uint32_t to = into[u] + into[v] - from;

				for (uint32_t k = 0; k < w->nuses; k++) {
					if (!(w->apart[from] >> k & 1))
						w->apart[k] &= ~(UINT32_C(1) << to);
					into[k] = into[k] == from ? to : into[k];
				}
				w->apart[to] &= w->apart[from];
				more = true;
			}
		}
	}
	for (uint32_t i = 0; i < w->all->n; i++) {
		struct barrier_id *id = &w->all->ids[i];

		id->use = (uint8_t)into[id->use];
		id->apart = w->apart[id->use];
	}
}

static void make_room(struct parting *w)
{
	const struct cfg *cfg = &w->p->unit->cfg;

	w->first_in = ARENA_NEW(w->p->unit->arena, uint32_t, cfg->n);
	w->stamp = ARENA_NEW(w->p->unit->arena, uint32_t, cfg->n);
	w->stack = ARENA_NEW(w->p->unit->arena, uint32_t, cfg->n + 1);
	for (uint32_t b = 0; b < cfg->n; b++)
		w->first_in[b] = NONE;
	for (uint32_t i = w->all->n; i-- > 0;)
		w->first_in[site_at(w, i)->block] = i;
}

void barriers_part_uses(struct pairing *p, struct barriers *all)
{
	struct unit *unit = p->unit;
	struct parting *w = ARENA_NEW(unit->arena, struct parting, 1);
	bool assumed, ok = true, numbered = threads_numbered(unit->values, &assumed);

	w->p = p;
	w->all = all;
	for (uint32_t i = 0; i < all->n && ok; i++)
		ok = add_site(w, i);
	if (ok && any_clash(w) && !unit->nunmodelled &&
		unit->module->functions[unit->fn->index].is_entry) {
		make_room(w);
		for (uint32_t u = 0; u < w->nuses; u++)
			look_at(w, u, numbered);
		for (uint32_t u = 0; u < w->nuses && !budget_spent(unit->budget); u++)
			if (w->uses[u].meets)
				part_by(w, u);
		if (assumed && numbered)
			for (uint32_t u = 0; u < w->nuses; u++)
				p->h->assumptions |= w->apart[u] ? ASSUME_FLAT_BLOCK : 0;
	}
	if (ok) {
		join_uses(w);
		return;
	}
	for (uint32_t i = 0; i < all->n; i++)
		all->ids[i].use = 0;
}
