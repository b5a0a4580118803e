/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the barrier instructions of a unit. Out: their pairs, by id and by barrier_meet(). Invariant: as
 * for all hand-offs, a pair that is missing cannot happen, or not under a named assumption.
 */
#include "analysis/barrier.h"
#include "analysis/barrier_sets.h"
#include "analysis/pairing.h"

static bool releases_and_acquires(const struct pairing *p, uint32_t r, uint32_t a)
{
	return p->h->sites[r].releases && p->h->sites[a].acquires;
}

static struct barrier_id constant_id(int64_t id)
{
	return (struct barrier_id){.kind = ID_CONSTANT, .key = (uint32_t)id, .lo = id, .hi = id};
}

static struct barrier_id barrier_id(struct pairing *p, uint32_t insn)
{
	struct unit *unit = p->unit;
	const struct effect *e = unit->effects[insn];
	const struct operand *o =
		e->barrier_operand == UINT8_MAX
			? NULL
			: insn_operand(unit->fn, &unit->fn->insns[insn], e->barrier_operand);

	if (!o)
		return constant_id(0);
	struct value v = value_of(unit->values, insn, o);

	if (v.base == BASE_NUMBER && v.lo == v.hi)
		return constant_id(v.lo);
	struct barrier_id id = {
		.kind = ID_NUMBER, .key = value_number(unit->values, insn, o), .hi = BARRIER_IDS - 1};

	if (v.base == BASE_NUMBER) {
		id.lo = v.lo;
		id.hi = v.hi;
	}
	bool assumed;
	uint32_t ids = barrier_ids(unit, insn, &assumed);

	if (!ids)
		return id;
	if (assumed)
		p->h->assumptions |= ASSUME_FLAT_BLOCK;
	id.lo = __builtin_ctz(ids);
	id.hi = 31 - __builtin_clz(ids);
	if (id.lo == id.hi) /* a role of its own, whose threads all have the same */
		return constant_id(id.lo);
	return id;
}

/* Ids at whose barriers all threads of the CTA meet each time, and no others. */
struct walls {
	struct barrier_group *v;
	uint32_t n;
	bool asked;
};

static bool is_wall(const struct pairing *p, const struct barriers *all, const struct barrier_id *id)
{
	for (uint32_t k = 0; k < all->n; k++) {
		const struct sync_site *s = &p->h->sites[all->sites[k]];

		if (barrier_ids_meet(id, &all->ids[k]))
			return false;
		if (barrier_same_id(id, &all->ids[k]) && (!s->full || p->unit->fn->insns[s->insn].guard != NONE))
			return false;
	}
	return id->kind == ID_CONSTANT;
}

static struct barrier_group wall_of(struct pairing *p, const struct barriers *all, const struct barrier_id *id)
{
	struct arena *arena = p->unit->arena;
	uint32_t *insns = ARENA_NEW(arena, uint32_t, all->n);
	struct barrier_group g = {.insns = insns};

	for (uint32_t k = 0; k < all->n; k++)
		if (barrier_same_id(id, &all->ids[k]))
			insns[g.n++] = p->h->sites[all->sites[k]].insn;
	g.meet = ARENA_NEW(arena, uint64_t, (size_t)g.n * ((g.n + 63) / 64));
	g.apart = bits_new(arena, g.n);
	barrier_meet(p->unit, &g);
	return g;
}

static void find_walls(struct pairing *p, const struct barriers *all, struct walls *walls)
{
	walls->asked = true;
	walls->v = ARENA_NEW(p->unit->arena, struct barrier_group, BARRIER_IDS);
	for (uint32_t i = 0; i < all->n && walls->n < BARRIER_IDS; i++) {
		uint32_t first = 0;

		while (!barrier_same_id(&all->ids[first], &all->ids[i]))
			first++;
		if (first == i && is_wall(p, all, &all->ids[i]))
			walls->v[walls->n++] = wall_of(p, all, &all->ids[i]);
	}
}

static bool ids_alone(const struct barriers *all, const struct barrier_id *id)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (barrier_ids_meet(id, &all->ids[i]))
			return false;
	return true;
}

static void pair_group(struct pairing *p, const struct barriers *all, const struct barrier_id *id, struct walls *walls)
{
	struct unit *unit = p->unit;
	uint32_t *sites = ARENA_NEW(unit->arena, uint32_t, all->n);
	uint32_t *insns = ARENA_NEW(unit->arena, uint32_t, all->n);
	struct barrier_group g = {.insns = insns};
	bool named = false, waits = true;

	/* sites come block by block in RPO; barrier_meet wants them ascending within a block: they
	 * are */
	for (uint32_t i = 0; i < all->n; i++) {
		if (!barrier_same_id(&all->ids[i], id))
			continue;
		sites[g.n] = all->sites[i];
		insns[g.n++] = p->h->sites[all->sites[i]].insn;
		named |= !p->h->sites[all->sites[i]].full;
		waits &= p->h->sites[all->sites[i]].kind == SYNC_BAR;
	}
	bool product = !named || (unit->options->assume & ASSUME_NAMED_IDS);
	/* an arrival may be of a phase that ends behind a wall; what runs elsewhere may pass walls too */
	bool walled = named && waits && !unit->nunmodelled &&
		      unit->module->functions[unit->fn->index].is_entry;

	if (product) {
		if (walled && !walls->asked)
			find_walls(p, all, walls);
		g.walls = walls->v;
		g.nwalls = walled ? walls->n : 0;
		g.named = walled && ids_alone(all, id);
		g.meet = ARENA_NEW(unit->arena, uint64_t, (size_t)g.n * ((g.n + 63) / 64));
		barrier_meet(unit, &g);
	}
	for (uint32_t r = 0; r < g.n; r++) {
		for (uint32_t a = 0; a < g.n; a++) {
			if (!releases_and_acquires(p, sites[r], sites[a]))
				continue;
			if (!product || barrier_meets(&g, r, a))
				pair_add(p, sites[r], sites[a]);
			else if (named)
				p->h->assumptions |= ASSUME_NAMED_IDS;
		}
	}
}

/* Threads that only arrive go on before the others are there: such a barrier proves nothing about
 * phases, though what is pending behind it still was in somebody's own set. */
static void find_passed_by(struct pairing *p, const struct barriers *all)
{
	for (uint32_t i = 0; i < all->n; i++) {
		if (p->h->sites[all->sites[i]].kind != SYNC_BAR_ARRIVE)
			continue;
		for (uint32_t k = 0; k < all->n; k++)
			if (barrier_same_id(&all->ids[i], &all->ids[k]) ||
				barrier_ids_meet(&all->ids[i], &all->ids[k]))
				p->h->sites[all->sites[k]].full = false;
	}
}

void pair_barriers(struct pairing *p)
{
	struct unit *unit = p->unit;
	struct barriers all = {0};
	struct walls walls = {0};
	uint32_t ids_cap = 0, nids = 0;

	for (uint32_t i = 0; i < p->h->n; i++) {
		if (p->h->sites[i].kind != SYNC_BAR && p->h->sites[i].kind != SYNC_BAR_ARRIVE)
			continue;
		struct barrier_id id = barrier_id(p, p->h->sites[i].insn);

		ARENA_PUSH(unit->arena, all.sites, all.n, all.cap, i);
		ARENA_PUSH(unit->arena, all.ids, nids, ids_cap, id);
	}
	barriers_part_uses(p, &all);
	find_passed_by(p, &all);
	for (uint32_t i = 0; i < all.n; i++) {
		uint32_t first = 0;

		while (!barrier_same_id(&all.ids[first], &all.ids[i]))
			first++;
		p->h->sites[all.sites[i]].barrier = first;
		if (first == i)
			pair_group(p, &all, &all.ids[i], &walls);
	}
	/* ids that may be equal without being provably so: every site with every other */
	for (uint32_t i = 0; i < all.n; i++) {
		for (uint32_t k = 0; k < all.n; k++) {
			if (!barrier_ids_meet(&all.ids[i], &all.ids[k]))
				continue;
			/* a barrier of all threads that other sites may join is no proof any more
			 */
			p->h->sites[all.sites[i]].unknown = true;
			p->h->sites[all.sites[i]].resets = false;
			if (releases_and_acquires(p, all.sites[i], all.sites[k]))
				pair_add(p, all.sites[i], all.sites[k]);
		}
	}
}
