/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: accesses with their addresses. Out: the classes of equal accesses and the pairs of a generic
 * and an async class that may touch the same bytes. Within a variable, or behind a pointer, a sweep
 * over the offsets visits the pairs whose intervals overlap; access_overlap() has the word on each
 * of them. Invariant: a pair that is not visited is one that access_overlap() rules out, and is
 * counted as such.
 */
#include "analysis/meets.h"

#include "analysis/facts.h"

#include <stdlib.h>

#define PAIRS_PLAIN (1u << 12)	       /* so few pairs of classes are all looked at */
#define PAIRS_MOST (UINT64_C(1) << 21) /* more are not told apart */

struct search {
	struct unit *unit;
	struct meets *meets;
	uint32_t cap;
	struct ids generics, asyncs; /* classes */
	uint32_t *seen;		     /* by class: partners visited in the latest sweep */
};

static const struct access *first_of(const struct search *s, uint32_t class)
{
	return &s->unit->accesses.v[s->meets->classes[class].v[0]];
}

static uint64_t size_of(const struct search *s, uint32_t class)
{
	return s->meets->classes[class].n;
}

/* ---- places ---- */

static bool is_near(const struct access *a)
{
	return a->address.lo >= -VALUE_FAR && a->address.hi <= VALUE_FAR &&
	       a->bytes <= INT64_MAX / 4;
}

struct access_place access_place_of(const struct unit *unit, const struct access *a)
{
	const struct value *v = &a->address;
	bool symbol = v->base == BASE_SYMBOL;

	if (a->assumed_spaces || a->call)
		return (struct access_place){0};
	if (!(a->spaces & SPACE_GLOBAL) && (symbol || v->base == BASE_DERIVED))
		return (struct access_place){.kind = PLACE_VARIABLE, .id = a->object};
	if (a->spaces == SPACE_GLOBAL && !a->hidden && (symbol || v->base == BASE_PARAM) &&
		is_near(a) && (unit->options->assume & ASSUME_DISTINCT_PARAMS))
		return (struct access_place){PLACE_POINTER, v->base, v->id, v->aux};
	return (struct access_place){0};
}

static int by_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_place(const struct access_place *a, const struct access_place *b)
{
	int order = by_number(a->kind, b->kind);

	order = order ? order : by_number(a->base, b->base);
	order = order ? order : by_number(a->id, b->id);
	return order ? order : by_number(a->aux, b->aux);
}

/* ---- classes ---- */

static bool same_value(const struct value *a, const struct value *b)
{
	return a->base == b->base && a->space == b->space && a->is_peer == b->is_peer &&
	       a->own_cta == b->own_cta && a->id == b->id && a->lo == b->lo && a->hi == b->hi &&
	       a->stride == b->stride && a->aux == b->aux && a->assumptions == b->assumptions;
}

/* What the flow asks of an access beside its bytes. */
static bool same_kind(const struct access *a, const struct access *b)
{
	return a->proxy == b->proxy && a->spaces == b->spaces && a->reads == b->reads &&
	       a->writes == b->writes && a->cp_async == b->cp_async && a->st_async == b->st_async &&
	       a->peer == b->peer && a->own == b->own && a->call == b->call &&
	       a->hidden == b->hidden && a->assumed_spaces == b->assumed_spaces;
}

static bool same_access(const struct access *a, const struct access *b)
{
	return same_kind(a, b) && same_value(&a->address, &b->address) && a->bytes == b->bytes &&
	       a->object == b->object && a->exact == b->exact &&
	       a->extent_assumptions == b->extent_assumptions && a->has_ceiling == b->has_ceiling &&
	       a->ceiling == b->ceiling && a->roots == b->roots;
}

static uint64_t mix(uint64_t hash, uint64_t number)
{
	hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static bool equal_in(const struct search *s, uint32_t a, uint32_t b, bool coarse)
{
	const struct access *x = &s->unit->accesses.v[a], *y = &s->unit->accesses.v[b];

	if (!coarse)
		return same_access(x, y);
	struct access_place p = access_place_of(s->unit, x), q = access_place_of(s->unit, y);

	return same_kind(x, y) && by_place(&p, &q) == 0;
}

static uint64_t hash_of(const struct search *s, uint32_t access, bool coarse)
{
	const struct access *a = &s->unit->accesses.v[access];
	uint64_t hash = mix(a->proxy, a->spaces);

	hash = mix(hash, a->object);
	if (coarse)
		return mix(hash, access_place_of(s->unit, a).id);
	hash = mix(hash, a->address.id);
	hash = mix(hash, (uint64_t)a->address.lo);
	hash = mix(hash, (uint64_t)a->address.hi);
	return mix(hash, a->bytes);
}

/* Fills class_of and, by a second pass, the members of each class. */
static void find_classes(struct search *s, bool coarse)
{
	struct arena *arena = s->unit->arena;
	struct meets *m = s->meets;
	uint32_t n = s->unit->accesses.n, size = 16;
	uint32_t *count = ARENA_NEW(arena, uint32_t, n), *first = ARENA_NEW(arena, uint32_t, n);

	while (size < 2 * n)
		size *= 2;
	uint32_t *table = ARENA_NEW(arena, uint32_t, size); /* 1 + class */

	m->nclasses = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (uint32_t)hash_of(s, i, coarse) & (size - 1);

		while (table[at] && !equal_in(s, first[table[at] - 1], i, coarse))
			at = (at + 1) & (size - 1);
		if (!table[at]) {
			first[m->nclasses] = i;
			table[at] = ++m->nclasses;
		}
		m->class_of[i] = table[at] - 1;
		count[m->class_of[i]]++;
	}
	uint32_t *members = ARENA_NEW(arena, uint32_t, n), at = 0;

	m->classes = ARENA_NEW(arena, struct ids, m->nclasses);
	for (uint32_t k = 0; k < m->nclasses; k++) {
		m->classes[k].v = members + at;
		first[k] = at;
		at += count[k];
	}
	for (uint32_t i = 0; i < n; i++)
		members[first[m->class_of[i]] + m->classes[m->class_of[i]].n++] = i;
}

static void sort_out(struct search *s)
{
	uint32_t *generics = ARENA_NEW(s->unit->arena, uint32_t, s->meets->nclasses);
	uint32_t *asyncs = ARENA_NEW(s->unit->arena, uint32_t, s->meets->nclasses);

	s->generics = (struct ids){generics, 0};
	s->asyncs = (struct ids){asyncs, 0};
	for (uint32_t k = 0; k < s->meets->nclasses; k++) {
		if (first_of(s, k)->proxy == PROXY_GENERIC)
			generics[s->generics.n++] = k;
		if (first_of(s, k)->proxy == PROXY_ASYNC)
			asyncs[s->asyncs.n++] = k;
	}
}

/* ---- pairs ---- */

/* Spaces of a generic access in which an async one can meet it at all. */
static uint8_t common_spaces(const struct access *g, const struct access *a)
{
	uint8_t spaces = g->spaces & a->spaces & SPACE_GLOBAL;
	uint8_t window = SPACE_SHARED | SPACE_CLUSTER;

	if ((g->spaces & window) && (a->spaces & window))
		spaces |= g->spaces & window;
	return spaces;
}

/* The same among the spaces and hazards that are asked for; 0: the pair is none, whatever its
 * bytes. */
static uint8_t asked_spaces(const struct search *s, const struct access *g, const struct access *a)
{
	const struct analysis_options *options = s->unit->options;
	uint8_t spaces = common_spaces(g, a);

	if (!options->shared)
		spaces &= SPACE_GLOBAL;
	if (!options->global)
		spaces &= (uint8_t)~SPACE_GLOBAL;
	if (!spaces || !facts_hazard(g, a, options->hazards))
		return 0;
	if (g->cp_async && g->writes && options->cp_async_trust && !(spaces & SPACE_GLOBAL))
		return 0;
	return spaces;
}

static void push_meet(struct search *s, uint32_t g, uint32_t a, uint8_t spaces)
{
	struct meet one = {g, a, spaces};

	s->meets->pairs += size_of(s, g) * size_of(s, a);
	ARENA_PUSH(s->unit->arena, s->meets->v, s->meets->n, s->cap, one);
}

/* Tells whether the pair is one at all. */
static bool look_at(struct search *s, uint32_t g, uint32_t a)
{
	struct unit *unit = s->unit;
	uint8_t spaces = asked_spaces(s, first_of(s, g), first_of(s, a));

	if (!spaces)
		return false;
	struct overlap o = access_overlap(unit->values, &unit->accesses, s->meets->classes[g].v[0],
		s->meets->classes[a].v[0], unit->options, NULL);

	if (!o.may) {
		s->meets->ruled_out += size_of(s, g) * size_of(s, a);
		s->meets->assumptions |= o.assumptions;
	} else if (spaces & o.spaces) {
		push_meet(s, g, a, spaces & o.spaces);
	}
	return true;
}

static void look_at_all(struct search *s, struct ids generics, struct ids asyncs)
{
	for (uint32_t k = 0; k < asyncs.n && !budget_spent(s->unit->budget); k++)
		for (uint32_t i = 0; i < generics.n; i++)
			look_at(s, generics.v[i], asyncs.v[k]);
}

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
static uint32_t goes_with(const struct search *s, const struct access *g)
{
	uint32_t mask = 0;

	for (uint32_t d = 0; d < 4; d++) {
		struct access a = {.spaces = g->spaces, .reads = d & 1, .writes = d >> 1 & 1};

		mask |= (uint32_t)(asked_spaces(s, g, &a) != 0) << d;
	}
	return mask;
}

static struct tally tally_generics(const struct search *s, struct ids generics)
{
	struct tally t = {0};

	for (uint32_t i = 0; i < generics.n; i++) {
		uint32_t mask = goes_with(s, first_of(s, generics.v[i]));

		t.classes[mask]++;
		t.members[mask] += size_of(s, generics.v[i]);
	}
	return t;
}

static struct tally tally_asyncs(const struct search *s, struct ids asyncs)
{
	struct tally t = {0};

	for (uint32_t i = 0; i < asyncs.n; i++) {
		t.classes[doing(first_of(s, asyncs.v[i]))]++;
		t.members[doing(first_of(s, asyncs.v[i]))] += size_of(s, asyncs.v[i]);
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
	return by_number(x->class, y->class);
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

	if (!look_at(w->s, g, a))
		return;
	w->s->seen[g]++;
	w->s->seen[a]++;
	w->visited += size_of(w->s, g) * size_of(w->s, a);
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
		const struct access *access = first_of(s, w->v[i].class);
		uint64_t partners = w->v[i].async ? partners_of_async(&g, doing(access))
						  : partners_of_generic(&a, goes_with(s, access));

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
			access_span(s->unit->values, first_of(s, class), same), class, async};
	}
	if (!run_sweep(&w))
		return false;
	count_passed(&w, generics, asyncs);
	return true;
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
	int order = by_place(&x->place, &y->place);

	order = order ? order : by_number(x->base, y->base);
	order = order ? order : by_number(x->id, y->id);
	return order ? order : by_number(x->class, y->class);
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
		const struct access *a = first_of(s, classes.v[i]);

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

	while (k < shelf->n && by_place(&shelf->v[i].place, &shelf->v[k].place) == 0 &&
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
		int order = by_place(&g->v[i].place, &a->v[k].place);

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

static bool find_by_place(struct search *s)
{
	struct shelf g = shelve(s, s->generics), a = shelve(s, s->asyncs);
	uint64_t loose = (uint64_t)g.anywhere * a.n + (uint64_t)(g.n - g.anywhere) * a.anywhere;

	if (loose > PAIRS_MOST)
		return false;
	look_at_all(s, part(&g, 0, g.anywhere), s->asyncs);
	look_at_all(s, part(&g, g.anywhere, g.n), part(&a, 0, a.anywhere));
	count_apart(s, &g, &a);
	for (uint32_t i = g.anywhere, k = a.anywhere, ie, ke; i < g.n && k < a.n;) {
		int order = by_place(&g.v[i].place, &a.v[k].place);

		ie = end_of(&g, i, false);
		ke = end_of(&a, k, false);
		if (order == 0 && !sweep_place(s, &g, i, ie, &a, k, ke))
			return false;
		i = order <= 0 ? ie : i;
		k = order >= 0 ? ke : k;
	}
	return true;
}

/* ---- too many ---- */

/* What may lie in the same place meets. */
static void find_coarsely(struct search *s)
{
	s->meets->crowded = true;
	s->meets->n = 0;
	s->meets->pairs = s->meets->ruled_out = 0;
	find_classes(s, true);
	sort_out(s);
	for (uint32_t k = 0; k < s->asyncs.n && !budget_spent(s->unit->budget); k++) {
		for (uint32_t i = 0; i < s->generics.n; i++) {
			const struct access *g = first_of(s, s->generics.v[i]);
			const struct access *a = first_of(s, s->asyncs.v[k]);
			struct access_place p = access_place_of(s->unit, g);
			struct access_place q = access_place_of(s->unit, a);
			uint8_t spaces = asked_spaces(s, g, a);

			if (spaces && (!p.kind || !q.kind || by_place(&p, &q) == 0))
				push_meet(s, s->generics.v[i], s->asyncs.v[k], spaces);
			else if (spaces && p.kind == PLACE_POINTER)
				s->meets->assumptions |= ASSUME_DISTINCT_PARAMS;
		}
	}
}

static int by_async(const void *a, const void *b)
{
	const struct meet *x = a, *y = b;
	int order = by_number(x->async, y->async);

	return order ? order : by_number(x->generic, y->generic);
}

void meets_find(struct unit *unit, struct meets *meets)
{
	struct search s = {.unit = unit, .meets = meets};

	*meets = (struct meets){.class_of = ARENA_NEW(unit->arena, uint32_t, unit->accesses.n)};
	find_classes(&s, false);
	sort_out(&s);
	s.seen = ARENA_NEW(unit->arena, uint32_t, meets->nclasses);
	if ((uint64_t)s.generics.n * s.asyncs.n <= PAIRS_PLAIN)
		look_at_all(&s, s.generics, s.asyncs);
	else if (!find_by_place(&s))
		find_coarsely(&s);
	if (meets->n)
		qsort(meets->v, meets->n, sizeof(*meets->v), by_async);
}
