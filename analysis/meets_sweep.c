/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: classes of equal accesses. Out: their pairs whose bytes lie near each other, looked at one by
 * one, and how many pairs of accesses the others stand for. Within a variable, or behind a pointer,
 * a sweep over the offsets visits the pairs whose intervals overlap. Invariant: a pair that is not
 * visited is one that access_overlap() rules out, and is counted as such.
 */
#include "analysis/meets_private.h"

#include <stdlib.h>

/* ---- counting pairs without looking at them ---- */

/* Accesses of one kind of place differ for asked_spaces() in what they do: async ones in reading
 * and writing, generic ones in which of those they go with. */
struct tally {
	uint64_t classes[16], members[16];
};

static uint32_t doing(const struct access *a)
{
	return (uint32_t)a->reads | (uint32_t)a->writes << 1;
}

/* Bit d: goes with an async access of the same kind of place that does d. */
static uint32_t goes_with(const struct search *s, uint32_t class)
{
	const struct access *g = meets_first(s, class);
	uint32_t mask = 0;

	if (s->goes[class])
		return s->goes[class] - 1u;
	for (uint32_t d = 0; d < 4; d++) {
		struct access a = {.spaces = g->spaces, .reads = d & 1, .writes = d >> 1 & 1};

		mask |= (uint32_t)(meets_asked_spaces(s, g, &a) != 0) << d;
	}
	s->goes[class] = (uint8_t)(1 + mask);
	return mask;
}

static struct tally tally_generics(const struct search *s, struct ids generics)
{
	struct tally t = {0};

	for (uint32_t i = 0; i < generics.n; i++) {
		uint32_t mask = goes_with(s, generics.v[i]);

		t.classes[mask]++;
		t.members[mask] += meets_size(s, generics.v[i]);
	}
	return t;
}

static struct tally tally_asyncs(const struct search *s, struct ids asyncs)
{
	struct tally t = {0};

	for (uint32_t i = 0; i < asyncs.n; i++) {
		t.classes[doing(meets_first(s, asyncs.v[i]))]++;
		t.members[doing(meets_first(s, asyncs.v[i]))] += meets_size(s, asyncs.v[i]);
	}
	return t;
}

/* Pairs of accesses that could be told apart by their bytes only. */
static uint64_t pairs_of(const struct tally *generics, const struct tally *asyncs)
{
	uint64_t n = 0;

	for (uint32_t mask = 0; mask < 16; mask++)
		for (uint32_t d = 0; d < 4; d++)
			if (mask >> d & 1)
				n += generics->members[mask] * asyncs->members[d];
	return n;
}

static uint64_t partners_of_generic(const struct tally *asyncs, uint32_t mask)
{
	uint64_t n = 0;

	for (uint32_t d = 0; d < 4; d++)
		n += mask >> d & 1 ? asyncs->classes[d] : 0;
	return n;
}

static uint64_t partners_of_async(const struct tally *generics, uint32_t does)
{
	uint64_t n = 0;

	for (uint32_t mask = 0; mask < 16; mask++)
		n += mask >> does & 1 ? generics->classes[mask] : 0;
	return n;
}

/* ---- the sweep ---- */

struct interval {
	struct access_span at;
	uint32_t class;
	bool async;
};

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->at.lo != y->at.lo)
		return x->at.lo < y->at.lo ? -1 : 1;
	return order_of(x->class, y->class);
}

struct sweep {
	struct search *s;
	struct interval *v;
	uint32_t n;
	struct interval
		*open[2]; /* generic, async: those that have not ended; may hold some that have */
	uint32_t nopen[2];
	uint64_t visited; /* pairs of accesses */
};

static void visit(struct sweep *w, const struct interval *x, const struct interval *y)
{
	uint32_t g = x->async ? y->class : x->class, a = x->async ? x->class : y->class;

	if (!meets_look_at(w->s, g, a))
		return;
	w->s->seen[g]++;
	w->s->seen[a]++;
	w->visited += meets_size(w->s, g) * meets_size(w->s, a);
}

static bool run_sweep(struct sweep *w)
{
	qsort(w->v, w->n, sizeof(*w->v), by_start);
	for (uint32_t i = 0; i < w->n; i++) {
		const struct interval *x = &w->v[i];
		struct interval *open = w->open[!x->async];

		for (uint32_t k = 0; k < w->nopen[!x->async];) {
			if (open[k].at.end <= x->at.lo) {
				open[k] = open[--w->nopen[!x->async]];
				continue;
			}
			visit(w, x, &open[k++]);
		}
		w->open[x->async][w->nopen[x->async]++] = *x;
		if (w->s->meets->n > PAIRS_MOST || budget_spent(w->s->unit->budget))
			return false;
	}
	return true;
}

/* The pairs that the sweep has passed over are ruled out by their offsets. */
static void count_passed(struct sweep *w, struct ids generics, struct ids asyncs)
{
	struct search *s = w->s;
	struct tally g = tally_generics(s, generics), a = tally_asyncs(s, asyncs);

	s->meets->ruled_out += pairs_of(&g, &a) - w->visited;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct access *access = meets_first(s, w->v[i].class);
		uint64_t partners = w->v[i].async ? partners_of_async(&g, doing(access))
						  : partners_of_generic(&a, goes_with(s, w->v[i].class));

		if (partners > s->seen[w->v[i].class])
			s->meets->assumptions |= w->v[i].at.assumptions;
		s->seen[w->v[i].class] = 0;
	}
}

/* `same`: all of them are based on the same address. */
static bool sweep(struct search *s, struct ids generics, struct ids asyncs, bool same)
{
	struct arena *arena = s->unit->arena;
	uint32_t n = generics.n + asyncs.n;
	struct sweep w = {.s = s, .v = ARENA_NEW(arena, struct interval, n)};

	w.open[0] = ARENA_NEW(arena, struct interval, generics.n);
	w.open[1] = ARENA_NEW(arena, struct interval, asyncs.n);
	for (uint32_t i = 0; i < n; i++) {
		bool async = i >= generics.n;
		uint32_t class = async ? asyncs.v[i - generics.n] : generics.v[i];

		w.v[w.n++] = (struct interval){
			access_span(s->unit->values, meets_first(s, class), same), class, async};
	}
	bool done = run_sweep(&w);

	if (done)
		count_passed(&w, generics, asyncs);
	ARENA_GIVE_BACK(arena, w.open[1], asyncs.n);
	ARENA_GIVE_BACK(arena, w.open[0], generics.n);
	ARENA_GIVE_BACK(arena, w.v, n);
	return done;
}

/* ---- by place ---- */

struct placed {
	struct access_place place;
	uint8_t base; /* of the address: with `id`, what offsets count from */
	uint32_t id, class;
};

static int by_origin(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int order = access_place_order(&x->place, &y->place);

	order = order ? order : order_of(x->base, y->base);
	order = order ? order : order_of(x->id, y->id);
	return order ? order : order_of(x->class, y->class);
}

static bool same_origin(const struct placed *x, const struct placed *y)
{
	return x->base == y->base && x->id == y->id;
}

/* Classes of one proxy, sorted; those that may be anywhere come first. */
struct shelf {
	struct placed *v;
	uint32_t *class; /* the same as numbers only */
	uint32_t n, anywhere;
};

static struct shelf shelve(struct search *s, struct ids classes)
{
	struct shelf shelf = {ARENA_NEW(s->unit->arena, struct placed, classes.n),
		ARENA_NEW(s->unit->arena, uint32_t, classes.n), classes.n, 0};

	for (uint32_t i = 0; i < classes.n; i++) {
		const struct access *a = meets_first(s, classes.v[i]);

		shelf.v[i] = (struct placed){
			access_place_of(s->unit, a), a->address.base, a->address.id, classes.v[i]};
		shelf.anywhere += shelf.v[i].place.kind == PLACE_ANYWHERE;
	}
	qsort(shelf.v, shelf.n, sizeof(*shelf.v), by_origin);
	for (uint32_t i = 0; i < shelf.n; i++)
		shelf.class[i] = shelf.v[i].class;
	return shelf;
}

static struct ids part(const struct shelf *shelf, uint32_t from, uint32_t to)
{
	return (struct ids){shelf->class + from, to - from};
}

/* The end of the entries from `i` on with the same place, and the same origin too if asked. */
static uint32_t end_of(const struct shelf *shelf, uint32_t i, bool origin)
{
	uint32_t k = i + 1;

	while (k < shelf->n && access_place_order(&shelf->v[i].place, &shelf->v[k].place) == 0 &&
		(!origin || same_origin(&shelf->v[i], &shelf->v[k])))
		k++;
	return k;
}

/* All of one place, origin by origin. */
static bool sweep_place(struct search *s, const struct shelf *g, uint32_t g0, uint32_t g1,
	const struct shelf *a, uint32_t a0, uint32_t a1)
{
	uint64_t work = 0;

	for (uint32_t i = g0, ie; i < g1; i = ie) {
		ie = end_of(g, i, true);
		for (uint32_t k = a0, ke; k < a1; k = ke) {
			ke = end_of(a, k, true);
			work += (ie - i) + (ke - k);
			if (work > PAIRS_MOST || !sweep(s, part(g, i, ie), part(a, k, ke),
							 same_origin(&g->v[i], &a->v[k])))
				return false;
		}
	}
	return true;
}

/* Pairs of accesses by whether both lie in places of a kind, and in the same one. */
struct between {
	uint64_t all, same;
};

static struct between pairs_between(struct search *s, const struct shelf *g, const struct shelf *a,
	bool (*counts)(const struct placed *))
{
	uint32_t *gv = ARENA_NEW(s->unit->arena, uint32_t, g->n);
	uint32_t *av = ARENA_NEW(s->unit->arena, uint32_t, a->n);
	struct ids generics = {gv, 0}, asyncs = {av, 0};

	for (uint32_t i = 0; i < g->n; i++)
		if (counts(&g->v[i]))
			gv[generics.n++] = g->class[i];
	for (uint32_t i = 0; i < a->n; i++)
		if (counts(&a->v[i]))
			av[asyncs.n++] = a->class[i];
	struct tally x = tally_generics(s, generics), y = tally_asyncs(s, asyncs);
	struct between b = {.all = pairs_of(&x, &y)};

	for (uint32_t i = 0, k = 0, ie, ke; i < g->n && k < a->n;) {
		int order = access_place_order(&g->v[i].place, &a->v[k].place);

		ie = end_of(g, i, false);
		ke = end_of(a, k, false);
		if (order == 0 && counts(&g->v[i])) {
			x = tally_generics(s, part(g, i, ie));
			y = tally_asyncs(s, part(a, k, ke));
			b.same += pairs_of(&x, &y);
		}
		i = order <= 0 ? ie : i;
		k = order >= 0 ? ke : k;
	}
	return b;
}

static bool in_variable(const struct placed *p)
{
	return p->place.kind == PLACE_VARIABLE;
}

static bool behind_pointer(const struct placed *p)
{
	return p->place.kind == PLACE_POINTER;
}

static bool in_global_variable(const struct placed *p)
{
	return p->place.kind == PLACE_POINTER && p->place.base == BASE_SYMBOL;
}

/* Different variables, and what is reached through different pointers, are apart. */
static void count_apart(struct search *s, const struct shelf *g, const struct shelf *a)
{
	struct between shared = pairs_between(s, g, a, in_variable);
	struct between pointers = pairs_between(s, g, a, behind_pointer);
	struct between global = pairs_between(s, g, a, in_global_variable);

	s->meets->ruled_out += shared.all - shared.same + pointers.all - pointers.same;
	if (pointers.all - pointers.same > global.all - global.same)
		s->meets->assumptions |= ASSUME_DISTINCT_PARAMS;
}

bool meets_find_by_place(struct search *s)
{
	struct shelf g = shelve(s, s->generics), a = shelve(s, s->asyncs);
	uint64_t loose = (uint64_t)g.anywhere * a.n + (uint64_t)(g.n - g.anywhere) * a.anywhere;

	if (loose > PAIRS_MOST)
		return false;
	meets_look_at_all(s, part(&g, 0, g.anywhere), s->asyncs);
	meets_look_at_all(s, part(&g, g.anywhere, g.n), part(&a, 0, a.anywhere));
	count_apart(s, &g, &a);
	for (uint32_t i = g.anywhere, k = a.anywhere, ie, ke; i < g.n && k < a.n;) {
		int order = access_place_order(&g.v[i].place, &a.v[k].place);

		ie = end_of(&g, i, false);
		ke = end_of(&a, k, false);
		if (order == 0 && !sweep_place(s, &g, i, ie, &a, k, ke))
			return false;
		i = order <= 0 ? ie : i;
		k = order >= 0 ? ke : k;
	}
	return true;
}
