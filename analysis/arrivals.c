/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: hand-offs of a unit and the sets of threads that meet. Out: the mbarriers (ISA 9.7.13.15)
 * whose count is the number of threads that can arrive there, all of them members of such sets.
 * Whether each phase takes one arrival of every one of them, keep_step.c says.
 */
#include "analysis/leaders_private.h"

#include "analysis/access.h"

#define OBJECT_BYTES 8
#define LOOKS_MAX 64 /* mbarriers that are looked at */

static const struct operand *operand_of(const struct unit *unit, uint32_t insn, uint32_t behind)
{
	uint8_t n = unit->effects[insn]->mbarrier_operand;

	return n == UINT8_MAX ? NULL : insn_operand(unit->fn, &unit->fn->insns[insn], n + behind);
}

/* The constant behind the object's address; `none` if there is no such operand; -1. */
static int64_t constant_of(const struct unit *unit, uint32_t insn, int64_t none)
{
	const struct operand *o = operand_of(unit, insn, 1);

	if (!o)
		return none;
	struct value v = value_of(unit->values, insn, o);

	return v.base == BASE_NUMBER && v.lo == v.hi && v.lo >= 0 ? v.lo : -1;
}

/* It takes one from the count of a phase and does nothing else to it. */
static bool arrives_once(const struct unit *unit, uint32_t insn)
{
	const struct insn *i = &unit->fn->insns[insn];
	const struct effect *e = unit->effects[insn];

	return e->sync == SYNC_MBAR_ARRIVE && !e->remote && !insn_has(i, MOD_arrive_drop) &&
	       !insn_has(i, MOD_noComplete) &&
	       (insn_has(i, MOD_expect_tx) || constant_of(unit, insn, 1) == 1);
}

static bool counts_arrivals(uint8_t sync)
{
	return sync == SYNC_MBAR_INIT || sync == SYNC_MBAR_INVAL || sync == SYNC_MBAR_ARRIVE ||
	       sync == SYNC_CPASYNC_ARRIVE || sync == SYNC_TCGEN05_COMMIT;
}

/* An instruction that changes what an mbarrier counts. */
struct change {
	uint32_t insn;
	bool known; /* there is an operand that names the object */
	bool fixed; /* at a constant place of its variable */
	struct access object;
};

struct changes {
	struct change *v;
	uint32_t n;
};

static struct changes find_changes(const struct unit *unit)
{
	struct changes c = {0};
	const struct ids *active = &unit->cfg.active;
	uint32_t most = 0;

	for (uint32_t k = 0; k < active->n; k++)
		most += counts_arrivals(unit->effects[active->v[k]]->sync);
	c.v = ARENA_NEW(unit->arena, struct change, most);
	for (uint32_t k = 0; k < active->n; k++) {
		uint32_t i = active->v[k];

		if (unit->cfg.block_of[i] == NONE || !counts_arrivals(unit->effects[i]->sync))
			continue;
		struct change *change = &c.v[c.n++];
		const struct operand *o = operand_of(unit, i, 0);

		change->insn = i;
		change->known = o != NULL;
		if (!o)
			continue;
		change->object = access_mbarrier(unit->values, i, o);
		const struct value *v = &change->object.address;

		change->fixed = (v->base == BASE_SYMBOL || v->base == BASE_DERIVED) &&
				v->lo == v->hi && !v->assumptions;
	}
	return c;
}

static bool same_variable(const struct change *a, const struct change *b)
{
	return a->fixed && b->fixed && a->object.address.base == b->object.address.base &&
	       a->object.address.id == b->object.address.id;
}

/* `other` may be about the object of `change`, without being so for certain. */
static bool may_be_same(const struct unit *unit, const struct change *change,
	const struct change *other, uint32_t *assumptions)
{
	if (same_variable(change, other)) {
		int64_t apart = change->object.address.lo - other->object.address.lo;

		return apart > -OBJECT_BYTES && apart < OBJECT_BYTES;
	}
	return !other->known ||
	       access_same_object(unit->values, &change->object, &other->object, assumptions);
}

static bool is_same(const struct change *a, const struct change *b)
{
	return same_variable(a, b) && a->object.address.lo == b->object.address.lo;
}

/* The count that an init gives, if it is run once and agrees with those before; -1. */
static int64_t initial_count(const struct unit *unit, uint32_t insn, int64_t before)
{
	int64_t n = constant_of(unit, insn, -1);

	return n < 1 || (before >= 0 && n != before) ||
			       unit->cfg.blocks[unit->cfg.block_of[insn]].loop_depth
		       ? -1
		       : n;
}

/* All that may be done to the object of one arrive: the threads and sites that arrive there; false:
 * its phases do not take one arrival of each of them. */
static bool find_arrivals(
	struct finder *f, const struct changes *c, const struct change *arrive, struct arrivers *a)
{
	const struct unit *unit = f->unit;
	uint32_t *sites = ARENA_NEW(unit->arena, uint32_t, c->n);
	int64_t count = -1;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct change *change = &c->v[i];
		uint32_t insn = change->insn, site = f->h->site_of[insn];
		struct thread_set who;

		if (!is_same(arrive, change)) {
			if (may_be_same(unit, arrive, change, &a->assumptions))
				return false;
		} else if (unit->effects[insn]->sync == SYNC_MBAR_INIT) {
			count = initial_count(unit, insn, count);
			if (count < 0)
				return false;
		} else {
			if (!arrives_once(unit, insn) || site == NONE || !f->h->to[site].n)
				return false;
			sites[a->sites.n++] = site;
			threads_run(unit->values, insn, &who);
			thread_set_join(&a->threads, &who);
		}
	}
	a->sites.v = sites;
	return count == (int64_t)thread_set_size(&a->threads);
}

/* The sets of the epoch have all the threads that arrive. */
static bool has_all(const struct finder *f, const struct arrivers *a, uint32_t epoch)
{
	struct thread_set all = {0};

	for (uint32_t g = 0; g < f->ngroups; g++)
		if (f->groups[g].epoch == epoch)
			thread_set_join(&all, &f->groups[g].threads);
	return thread_set_within(&a->threads, &all);
}

void arrivals_find(struct finder *f)
{
	struct leaders *l = f->out;
	struct arena *arena = f->unit->arena;

	f->arrivals = true;
	if (l->nepochs < 2)
		return;
	l->arrives = ARENA_NEW(arena, uint8_t, f->h->n);
	memset(l->arrives, ARRIVERS_MAX, f->h->n);
	l->arrivers = ARENA_NEW(arena, struct arrivers, ARRIVERS_MAX);

	struct changes c = find_changes(f->unit);
	struct bits seen = bits_new(arena, c.n + 1);
	uint32_t looks = 0;

	for (uint32_t i = 0; i < c.n && l->narrivers < ARRIVERS_MAX && looks < LOOKS_MAX; i++) {
		struct arrivers *a = &l->arrivers[l->narrivers];

		if (bits_has(seen, i) || !c.v[i].fixed || !arrives_once(f->unit, c.v[i].insn))
			continue;
		for (uint32_t k = i; k < c.n; k++)
			if (is_same(&c.v[i], &c.v[k]))
				bits_set(seen, k);
		*a = (struct arrivers){0};
		looks++;
		if (budget_spent(f->unit->budget) || !find_arrivals(f, &c, &c.v[i], a))
			continue;
		for (uint32_t e = 1; e < l->nepochs;
			e++) /* in that of all threads what is acquired is not followed */
			if (has_all(f, a, e))
				a->may_keep |= UINT32_C(1) << e;
		if (!a->may_keep)
			continue;
		a->keeping = ARENA_NEW(arena, struct keeping, 1);
		for (uint32_t k = 0; k < a->sites.n; k++)
			l->arrives[a->sites.v[k]] = (uint8_t)l->narrivers;
		l->narrivers++;
	}
}
