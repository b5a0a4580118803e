/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the sites of a unit. Out: the pairs of an arrive with the waits whose mbarrier object may be
 * the same. Objects at constant offsets are looked up, so that a thousand of them cost no million
 * questions. Invariant: an arrive and a wait that are not asked about are at different objects for
 * certain, with no assumption.
 */
#include "analysis/completions.h"
#include "analysis/pairing.h"
#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

#define OBJECT_BYTES 8

struct object {
	uint32_t site;
	bool known; /* there is an operand that names it */
	bool fixed; /* a constant offset inside its variable, with no assumption */
	bool again; /* of waits: the address is that of the one before it */
	struct access access;
};

struct waits {
	struct object *v; /* fixed ones first, by place */
	uint32_t n, fixed;
	uint32_t *asked, nasked; /* numbers of those that the arrive may meet */
	struct bits met;	 /* sites that it does, none in between */
};

static struct object object_of(const struct unit *unit, uint32_t site, uint32_t insn)
{
	uint8_t number = unit->effects[insn]->mbarrier_operand;
	const struct operand *o =
		number == UINT8_MAX ? NULL : insn_operand(unit->fn, &unit->fn->insns[insn], number);
	struct object object = {.site = site, .known = o != NULL};

	if (!o)
		return object;
	object.access = access_mbarrier(unit->values, insn, o);

	const struct value *v = &object.access.address;

	object.fixed = (v->base == BASE_SYMBOL || v->base == BASE_DERIVED) && v->lo == v->hi &&
		       v->lo >= 0 && v->lo < INT32_MAX - OBJECT_BYTES && !v->assumptions;
	if (object.fixed && v->base == BASE_SYMBOL) {
		const struct symbol *s = function_symbol(unit->fn, v->id);

		object.fixed =
			s->unsized || s->is_extern || (uint64_t)v->lo + OBJECT_BYTES <= s->size;
	}
	return object;
}

static int by_number(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_variable(const struct object *x, const struct object *y)
{
	int order = by_number(y->fixed, x->fixed);

	return order ? order : by_number(x->access.object, y->access.object);
}

static int by_base(const struct object *x, const struct object *y)
{
	int order = by_variable(x, y);

	order = order ? order : by_number(x->access.address.base, y->access.address.base);
	return order ? order : by_number(x->access.address.id, y->access.address.id);
}

static int by_place(const void *a, const void *b)
{
	const struct object *x = a, *y = b;
	int order = by_base(x, y);

	order = order ? order : by_number(x->access.address.lo, y->access.address.lo);
	return order ? order : by_number(x->site, y->site);
}

static bool is_same_address(const struct object *x, const struct object *y)
{
	return x->known && y->known && x->access.object == y->access.object &&
	       !memcmp(&x->access.address, &y->access.address, sizeof(x->access.address));
}

static struct waits collect_waits(struct pairing *p)
{
	struct handoffs *h = p->h;
	struct waits w = {.v = ARENA_NEW(p->unit->arena, struct object, h->n),
		.asked = ARENA_NEW(p->unit->arena, uint32_t, h->n),
		.met = bits_new(p->unit->arena, h->n)};
	struct completions *completions = NULL;

	for (uint32_t a = 0; a < h->n; a++) {
		uint32_t insn = h->sites[a].insn;

		if (h->sites[a].kind != SYNC_MBAR_WAIT || !h->sites[a].acquires)
			continue;
		w.v[w.n] = object_of(p->unit, a, insn);
		if (!completions)
			completions = completions_prepare(p->unit);
		if (w.v[w.n].known && completions_none_heard(
					      completions, insn, &w.v[w.n].access, &h->assumptions))
			continue;
		w.fixed += w.v[w.n++].fixed;
	}
	qsort(w.v, w.n, sizeof(*w.v), by_place);
	for (uint32_t i = 1; i < w.n; i++)
		w.v[i].again = is_same_address(&w.v[i - 1], &w.v[i]);
	return w;
}

/* The first fixed wait that is not below the object in the order of `compare`. */
static uint32_t first_not_below(const struct waits *w, const struct object *object,
	int (*compare)(const struct object *, const struct object *))
{
	uint32_t lo = 0, hi = w->fixed;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (compare(&w->v[mid], object) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int by_offset(const struct object *wait, const struct object *object)
{
	int order = by_base(wait, object);

	return order ? order
		     : by_number(wait->access.address.lo,
			       object->access.address.lo - (OBJECT_BYTES - 1));
}

static void ask(struct waits *w, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		w->asked[w->nasked++] = i;
}

static void ask_near(struct waits *w, const struct object *arrive)
{
	uint32_t first = first_not_below(w, arrive, by_variable), i;
	uint32_t base = first_not_below(w, arrive, by_base);

	ask(w, first, base); /* in one variable, but counted from another address */
	for (i = first_not_below(w, arrive, by_offset);
		i < w->fixed && by_base(&w->v[i], arrive) == 0 &&
		w->v[i].access.address.lo < arrive->access.address.lo + OBJECT_BYTES;
		i++)
		w->asked[w->nasked++] = i;
	while (i < w->fixed && by_base(&w->v[i], arrive) == 0)
		i++;
	for (; i < w->fixed && by_variable(&w->v[i], arrive) == 0; i++)
		w->asked[w->nasked++] = i;
}

static bool address_known(const struct object *object)
{
	return object->known && (object->access.address.base == BASE_SYMBOL ||
					object->access.address.base == BASE_DERIVED);
}

static void pair_arrive(struct pairing *p, struct waits *w, const struct object *arrive)
{
	struct handoffs *h = p->h;
	uint32_t last = NONE;
	bool may = true;

	w->nasked = 0;
	if (arrive->fixed)
		ask_near(w, arrive);
	ask(w, arrive->fixed ? w->fixed : 0, w->n);
	for (uint32_t i = 0; i < w->nasked; i++) {
		uint32_t at = w->asked[i];
		const struct object *wait = &w->v[at];

		if (!wait->again || last == NONE || last + 1 != at)
			may = !arrive->known || !wait->known ||
			      access_same_object(p->unit->values, &arrive->access, &wait->access,
				      &h->assumptions);
		last = at;
		if (!may)
			continue;
		h->sites[arrive->site].unknown |= !address_known(arrive);
		h->sites[wait->site].unknown |= !address_known(wait);
		bits_set(w->met, wait->site);
	}
	for (uint32_t k = bits_next(w->met, 0); k != NONE; k = bits_next(w->met, k + 1))
		pair_add(p, arrive->site, k);
	bits_zero(w->met);
}

void pair_mbarriers(struct pairing *p)
{
	struct handoffs *h = p->h;
	struct waits waits = collect_waits(p);

	for (uint32_t r = 0; r < h->n && waits.n; r++) {
		const struct sync_site *site = &h->sites[r];
		bool arrives = site->kind == SYNC_MBAR_ARRIVE || site->kind == SYNC_MBAR_EXPECT ||
			       site->kind == SYNC_CPASYNC_ARRIVE || site->self;

		if (!arrives || !site->releases || budget_spent(p->unit->budget))
			continue;
		struct object arrive = object_of(p->unit, r, site->insn);

		pair_arrive(p, &waits, &arrive);
	}
}
