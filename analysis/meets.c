/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: accesses with their addresses. Out: the classes of equal accesses and the pairs of a generic
 * and an async class that may touch the same bytes; access_overlap() has the word on each of them.
 * Invariant: every pair of accesses that makes an edge is in one of the pairs of classes.
 */
#include "analysis/facts.h"
#include "analysis/meets_private.h"

#include <stdlib.h>
#include <string.h>

#define PAIRS_PLAIN (1u << 12) /* so few pairs of classes are all looked at */
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

int access_place_order(const struct access_place *a, const struct access_place *b)
{
	int order = order_of(a->kind, b->kind);

	order = order ? order : order_of(a->base, b->base);
	order = order ? order : order_of(a->id, b->id);
	return order ? order : order_of(a->aux, b->aux);
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
	       a->writes == b->writes && a->cp_async == b->cp_async && a->constant == b->constant &&
	       a->st_async == b->st_async &&
	       a->peer == b->peer && a->own == b->own && a->call == b->call &&
	       a->hidden == b->hidden && a->assumed_spaces == b->assumed_spaces &&
	       a->assumed_by == b->assumed_by;
}

static bool same_access(const struct access *a, const struct access *b)
{
	return same_kind(a, b) && same_value(&a->address, &b->address) && a->bytes == b->bytes &&
	       a->object == b->object && a->exact == b->exact &&
	       a->extent_assumptions == b->extent_assumptions && a->has_ceiling == b->has_ceiling &&
	       a->ceiling == b->ceiling && a->roots == b->roots && a->pattern == b->pattern;
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

	return same_kind(x, y) && access_place_order(&p, &q) == 0;
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
	hash = mix(hash, a->pattern);
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
	ARENA_GIVE_BACK(arena, table, size);
	ARENA_GIVE_BACK(arena, first, n);
	ARENA_GIVE_BACK(arena, count, n);
}

static void sort_out(struct search *s)
{
	uint32_t *generics = ARENA_NEW(s->unit->arena, uint32_t, s->meets->nclasses);
	uint32_t *asyncs = ARENA_NEW(s->unit->arena, uint32_t, s->meets->nclasses);

	s->generics = (struct ids){generics, 0};
	s->asyncs = (struct ids){asyncs, 0};
	for (uint32_t k = 0; k < s->meets->nclasses; k++) {
		if (meets_first(s, k)->proxy == PROXY_GENERIC)
			generics[s->generics.n++] = k;
		if (meets_first(s, k)->proxy == PROXY_ASYNC)
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

uint8_t meets_asked_spaces(const struct search *s, const struct access *g, const struct access *a)
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

static void push_meet(
	struct search *s, uint32_t g, uint32_t a, uint8_t spaces, enum confidence confidence)
{
	struct meet one = {g, a, spaces, (uint8_t)confidence};

	s->meets->pairs += meets_size(s, g) * meets_size(s, a);
	ARENA_PUSH(s->unit->arena, s->meets->v, s->meets->n, s->cap, one);
}

bool meets_look_at(struct search *s, uint32_t g, uint32_t a)
{
	struct unit *unit = s->unit;
	uint8_t spaces = meets_asked_spaces(s, meets_first(s, g), meets_first(s, a));

	if (!spaces)
		return false;
	struct overlap o = access_overlap(unit->values, &unit->accesses, s->meets->classes[g].v[0],
		s->meets->classes[a].v[0], unit->options, NULL);

	s->meets->assumptions |= o.assumptions;
	if (!o.may) {
		s->meets->ruled_out += meets_size(s, g) * meets_size(s, a);
	} else if (spaces & o.spaces) {
		push_meet(s, g, a, spaces & o.spaces, o.confidence);
	}
	return true;
}

void meets_look_at_all(struct search *s, struct ids generics, struct ids asyncs)
{
	for (uint32_t k = 0; k < asyncs.n && !budget_spent(s->unit->budget); k++)
		for (uint32_t i = 0; i < generics.n; i++)
			meets_look_at(s, generics.v[i], asyncs.v[k]);
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
			const struct access *g = meets_first(s, s->generics.v[i]);
			const struct access *a = meets_first(s, s->asyncs.v[k]);
			struct access_place p = access_place_of(s->unit, g);
			struct access_place q = access_place_of(s->unit, a);
			uint8_t spaces = meets_asked_spaces(s, g, a);

			if (spaces && (!p.kind || !q.kind || access_place_order(&p, &q) == 0))
				push_meet(s, s->generics.v[i], s->asyncs.v[k], spaces,
					CONFIDENCE_POSSIBLE);
			else if (spaces && p.kind == PLACE_POINTER)
				s->meets->assumptions |= ASSUME_DISTINCT_PARAMS;
		}
	}
}

static int by_async_class(const void *a, const void *b)
{
	const struct meet *x = a, *y = b;
	int order = order_of(x->async, y->async);

	return order ? order : order_of(x->generic, y->generic);
}

/* Into another list in the order of one of the two classes, equal ones as they were. */
static void order_by(const struct meets *m, bool async, const struct meet *from, struct meet *to, uint32_t *at)
{
	memset(at, 0, sizeof(*at) * (m->nclasses + 1));
	for (uint32_t i = 0; i < m->n; i++)
		at[(async ? from[i].async : from[i].generic) + 1]++;
	for (uint32_t k = 0; k < m->nclasses; k++)
		at[k + 1] += at[k];
	for (uint32_t i = 0; i < m->n; i++)
		to[at[async ? from[i].async : from[i].generic]++] = from[i];
}

/* As by_async_class has it: there are far more of them than classes where there are many. */
static void sort_meets(struct search *s)
{
	struct arena *arena = s->unit->arena;
	struct meets *m = s->meets;
	struct meet *other = ARENA_UNSET(arena, struct meet, m->n);
	uint32_t *at = ARENA_UNSET(arena, uint32_t, m->nclasses + 1);

	order_by(m, false, m->v, other, at);
	order_by(m, true, other, m->v, at);
	ARENA_GIVE_BACK(arena, at, m->nclasses + 1);
	ARENA_GIVE_BACK(arena, other, m->n);
}

void meets_find(struct unit *unit, struct meets *meets)
{
	struct search s = {.unit = unit, .meets = meets};

	*meets = (struct meets){.class_of = ARENA_NEW(unit->arena, uint32_t, unit->accesses.n)};
	find_classes(&s, false);
	sort_out(&s);
	s.seen = ARENA_NEW(unit->arena, uint32_t, meets->nclasses);
	s.goes = ARENA_NEW(unit->arena, uint8_t, meets->nclasses);
	if ((uint64_t)s.generics.n * s.asyncs.n <= PAIRS_PLAIN)
		meets_look_at_all(&s, s.generics, s.asyncs);
	else if (!meets_find_by_place(&s))
		find_coarsely(&s);
	else if (meets->n) /* the others come in this order */
		sort_meets(&s);
}

uint8_t meets_confidence(
	const struct unit *unit, const struct meets *meets, uint32_t generic, uint32_t async)
{
	struct meet key = {.generic = meets->class_of[generic], .async = meets->class_of[async]};
	const struct meet *found =
		meets->crowded || !meets->n
			? NULL
			: bsearch(&key, meets->v, meets->n, sizeof(key), by_async_class);

	return found ? found->confidence
		     : (uint8_t)access_overlap(unit->values, &unit->accesses, generic, async,
			       unit->options, NULL)
			       .confidence;
}
