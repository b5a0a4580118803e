/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: accesses with their addresses. Out: the facts of the flow, for each async access the facts
 * that make an edge with it, and for each fence the facts it settles (ptx-proxies 1.3). Invariant:
 * an access without a fact can be in no edge.
 */
#include "analysis/facts.h"

#include <stdlib.h>

uint8_t facts_hazard(const struct access *g, const struct access *a, uint32_t hazards)
{
	if (g->writes && a->reads && (hazards & HAZARD_RAW))
		return HAZARD_RAW;
	if (g->writes && a->writes && (hazards & HAZARD_WAW))
		return HAZARD_WAW;
	if (g->reads && a->writes && (hazards & HAZARD_WAR))
		return HAZARD_WAR;
	return 0;
}

/* An address that came through mapa may name the own CTA's bytes or a peer's: a fact for each. */
static uint8_t fact_spaces(const struct access *g, uint8_t meet)
{
	uint8_t spaces = meet & SPACE_GLOBAL;

	if (!(meet & (SPACE_SHARED | SPACE_CLUSTER)))
		return spaces;
	if (g->own)
		spaces |= SPACE_SHARED;
	if (g->peer)
		spaces |= SPACE_CLUSTER;
	return spaces;
}

static bool makes_edge(const struct fact *f, const struct access *a)
{
	switch ((enum fact_form)f->form) {
	case FORM_INFLIGHT:
	case FORM_FENCED:
	case FORM_COUNT:
		return false;
	case FORM_PENDING:
		if (f->space == SPACE_GLOBAL)
			return true;
		if (f->space == SPACE_SHARED)
			return a->own;
		return a->peer;
	case FORM_ARRIVED:
	case FORM_WEAK:
		/* the writer's own bytes matter there only if the async access reaches over */
		return f->space != SPACE_SHARED || a->peer;
	}
	return false;
}

struct collector {
	struct unit *unit;
	struct facts *facts;
	uint32_t cap;
	bool crossing, peers; /* hand-offs lead to other CTAs; async accesses reach into them */
};

static void add_facts(struct collector *c, uint32_t access, uint8_t space)
{
	const struct access *g = &c->unit->accesses.v[access];
	struct facts *facts = c->facts;
	uint32_t first = facts->n, id[FORM_COUNT];
	bool cross = c->crossing && (space != SPACE_SHARED || c->peers);

	for (uint8_t form = 0; form < FORM_COUNT; form++) {
		bool wanted = form == FORM_PENDING ||
			      (form == FORM_INFLIGHT && (g->cp_async || g->st_async)) ||
			      (form > FORM_INFLIGHT && cross);

		id[form] = NONE;
		if (!wanted)
			continue;
		struct fact f = {
			.access = access, .space = space, .form = form, .reads_only = !g->writes};

		id[form] = facts->n;
		ARENA_PUSH(c->unit->arena, facts->v, facts->n, c->cap, f);
	}
	for (uint32_t f = first; f < facts->n; f++)
		memcpy(facts->v[f].sibling, id, sizeof(id));
}

/* ---- rows ---- */

/* Makes rows one after the other: a set that is emptied where it was filled. */
struct row_maker {
	struct collector *c;
	struct bits set;
	uint32_t *words, nwords; /* that are not 0, in no order */
};

static void row_add(struct row_maker *r, uint32_t access, uint8_t meet, const struct access *a)
{
	const struct facts *facts = r->c->facts;
	const struct access *g = &r->c->unit->accesses.v[access];
	uint8_t spaces = fact_spaces(g, meet);

	for (uint32_t f = facts->first_of[access]; f < facts->first_of[access + 1]; f++) {
		if (!(spaces & facts->v[f].space) || !makes_edge(&facts->v[f], a))
			continue;
		if (!r->set.words[f / 64])
			r->words[r->nwords++] = f / 64;
		bits_set(r->set, f);
	}
}

static int by_word(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What was added, and nothing is left in the maker; NULL: nothing was. */
static const struct fact_row *row_take(struct row_maker *r)
{
	struct arena *arena = r->c->unit->arena;

	if (!r->nwords)
		return NULL;
	struct fact_row *row = ARENA_NEW(arena, struct fact_row, 1);

	row->word = ARENA_NEW(arena, uint32_t, r->nwords);
	row->mask = ARENA_NEW(arena, uint64_t, r->nwords);
	qsort(r->words, r->nwords, sizeof(*r->words), by_word);
	for (row->n = 0; row->n < r->nwords; row->n++) {
		uint32_t w = r->words[row->n];

		row->word[row->n] = w;
		row->mask[row->n] = r->set.words[w];
		r->set.words[w] = 0;
	}
	r->nwords = 0;
	return row;
}

static void give_row(struct facts *facts, struct ids asyncs, const struct fact_row *row)
{
	for (uint32_t i = 0; i < asyncs.n; i++)
		facts->row[asyncs.v[i]] = row;
}

static void rows_of_classes(struct row_maker *r, const struct meets *meets)
{
	const struct access *v = r->c->unit->accesses.v;

	for (uint32_t i = 0, k; i < meets->n; i = k) {
		struct ids asyncs = meets->classes[meets->v[i].async];

		for (k = i; k < meets->n && meets->v[k].async == meets->v[i].async; k++) {
			struct ids class = meets->classes[meets->v[k].generic];

			for (uint32_t m = 0; m < class.n; m++)
				row_add(r, class.v[m], meets->v[k].spaces, &v[asyncs.v[0]]);
		}
		give_row(r->c->facts, asyncs, row_take(r));
	}
}

static void rows_of_groups(struct row_maker *r, const struct groups *groups)
{
	for (uint32_t a = 0; a < groups->nasyncs; a++) {
		struct ids asyncs = groups->asyncs[a];

		for (uint32_t g = 0; g < groups->ngenerics; g++)
			row_add(r, groups->generics[g].v[0],
				groups->pair[(size_t)a * groups->ngenerics + g].spaces,
				&r->c->unit->accesses.v[asyncs.v[0]]);
		give_row(r->c->facts, asyncs, row_take(r));
	}
}

static void fill_rows(struct collector *c, const struct meets *meets)
{
	struct row_maker r = {.c = c,
		.set = bits_new(c->unit->arena, c->facts->n),
		.words = ARENA_NEW(c->unit->arena, uint32_t, c->facts->n / 64 + 1)};

	if (c->facts->groups)
		rows_of_groups(&r, c->facts->groups);
	else
		rows_of_classes(&r, meets);
}

/* ---- facts ---- */

/* By access: the spaces in which it has facts. */
static uint8_t *spaces_of_facts(struct collector *c, const struct meets *meets)
{
	const struct accesses *accesses = &c->unit->accesses;
	const struct groups *groups = c->facts->groups;
	uint8_t *spaces = ARENA_NEW(c->unit->arena, uint8_t, accesses->n);
	uint8_t *of_class = ARENA_NEW(c->unit->arena, uint8_t, meets->nclasses);

	for (uint32_t i = 0; i < meets->n; i++)
		of_class[meets->v[i].generic] |= meets->v[i].spaces;
	for (uint32_t i = 0; i < accesses->n; i++) {
		uint8_t meet = of_class[meets->class_of[i]];

		if (meet)
			spaces[groups ? groups_first(groups, i) : i] |=
				fact_spaces(&accesses->v[i], meet);
	}
	return spaces;
}

static void list_facts(struct collector *c, const uint8_t *spaces)
{
	struct facts *facts = c->facts;
	uint32_t n = c->unit->accesses.n;

	for (uint32_t i = 0; i < n; i++) {
		facts->first_of[i] = facts->n;
		for (uint8_t space = SPACE_SHARED; space <= SPACE_GLOBAL; space <<= 1)
			if (spaces[i] & space)
				add_facts(c, i, space);
	}
	facts->first_of[n] = facts->n;
}

uint32_t facts_crossed(const struct fact *fact)
{
	if (fact->form == FORM_PENDING)
		return fact->sibling[FORM_ARRIVED];
	return fact->form == FORM_FENCED ? fact->sibling[FORM_WEAK] : NONE;
}

static void sort_facts(struct arena *arena, struct facts *facts)
{
	facts->next2 = bits_new(arena, facts->n);
	facts->far = bits_new(arena, facts->n);
	facts->fenced_next = bits_new(arena, facts->n);
	facts->fenced_far = bits_new(arena, facts->n);
	facts->inflight = bits_new(arena, facts->n);
	facts->spare = bits_new(arena, facts->n);
	facts->shared = bits_new(arena, facts->n);
	facts->global = bits_new(arena, facts->n);
	for (uint32_t f = 0; f < facts->n; f++) {
		const struct fact *fact = &facts->v[f];

		uint32_t crossed = facts_crossed(fact);

		if (crossed != NONE)
			bits_set(crossed == f + 2 ? facts->next2 : facts->far, f);
		if (fact->form == FORM_PENDING && fact->sibling[FORM_FENCED] != NONE)
			bits_set(fact->sibling[FORM_FENCED] == f + 1 ? facts->fenced_next
								     : facts->fenced_far,
				f);
		facts->fenced |= fact->form == FORM_FENCED;
		if (fact->form == FORM_INFLIGHT)
			bits_set(facts->inflight, f);
		if (fact->form == FORM_INFLIGHT || fact->form == FORM_FENCED)
			bits_set(facts->spare, f);
		if (fact->form == FORM_PENDING && fact->space == SPACE_SHARED)
			bits_set(facts->shared, f);
		if (fact->form == FORM_PENDING && fact->space == SPACE_GLOBAL)
			bits_set(facts->global, f);
	}
}

/* Accesses with facts, at most so many; pairs of them with async ones likewise. No function that a
 * compiler was seen to write comes near. */
#define SINGLE_FACTS_MOST 1024
#define SINGLE_PAIRS_MOST (UINT64_C(1) << 17)

static bool too_many_to_follow(const struct unit *unit, const struct meets *meets)
{
	bool *has = ARENA_NEW(unit->arena, bool, meets->nclasses);
	uint64_t n = 0;

	for (uint32_t i = 0; i < meets->n; i++) {
		n += has[meets->v[i].generic] ? 0 : meets->classes[meets->v[i].generic].n;
		has[meets->v[i].generic] = true;
	}
	return meets->crowded || n > SINGLE_FACTS_MOST || meets->pairs > SINGLE_PAIRS_MOST;
}

static const struct meets *find_meets(struct unit *unit)
{
	struct meets *meets = ARENA_NEW(unit->arena, struct meets, 1);

	meets_find(unit, meets);
	return meets;
}

void facts_collect(struct unit *unit, bool crossing, struct facts *facts)
{
	const struct accesses *accesses = &unit->accesses;
	struct collector c = {.unit = unit, .facts = facts, .crossing = crossing};
	const struct meets *meets = facts->meets ? facts->meets : find_meets(unit);

	*facts = (struct facts){
		.first_of = ARENA_NEW(unit->arena, uint32_t, accesses->n + 1),
		.row = ARENA_NEW(unit->arena, const struct fact_row *, accesses->n + 1),
		.pairs_ruled_out = meets->ruled_out,
		.assumptions = meets->assumptions,
		.meets = meets,
	};
	if (too_many_to_follow(unit, meets)) {
		facts->groups = groups_make(unit, meets);
		facts->too_many = !facts->groups;
		if (facts->too_many)
			return;
	}
	for (uint32_t i = 0; i < accesses->n; i++)
		c.peers |= accesses->v[i].proxy == PROXY_ASYNC && accesses->v[i].peer;
	list_facts(&c, spaces_of_facts(&c, meets));
	fill_rows(&c, meets);
	sort_facts(unit->arena, facts);
}

static bool settles(enum fence_kind kind, const struct fact *f)
{
	bool arrived = f->form == FORM_ARRIVED || f->form == FORM_WEAK;

	if (f->form == FORM_INFLIGHT || f->form == FORM_FENCED)
		return false;
	switch (kind) {
	case FENCE_ASYNC_ALL:
		return true;
	case FENCE_ASYNC_CLUSTER:
		return f->space != SPACE_GLOBAL;
	case FENCE_ASYNC_GLOBAL:
		return f->space == SPACE_GLOBAL;
	case FENCE_ASYNC_CTA:
		/* what a peer wrote through mapa lies, on arrival, in this CTA's own shared memory
		 */
		return arrived ? f->space == SPACE_CLUSTER : f->space == SPACE_SHARED;
	case FENCE_GENERIC_RELEASE:
		return !arrived && f->space == SPACE_SHARED;
	case FENCE_GENERIC_RELEASE_READ:
		return !arrived && f->space == SPACE_SHARED && f->reads_only;
	case FENCE_GENERIC_ACQUIRE:
		/* completes a release half that every way here has seen, else nothing */
		return f->form == FORM_WEAK && f->space != SPACE_GLOBAL;
	case FENCE_NONE:
	case FENCE_TENSORMAP_RELEASE:
	case FENCE_TENSORMAP_ACQUIRE:
	case FENCE_MBARRIER_INIT:
	case FENCE_OTHER:
		return false;
	}
	return false;
}

/* --strict: between CTAs the waiting side's fence counts only behind one of the writer's
 * (spec 3.3), but where the writer has no point for one. */
static bool wants_both(const struct unit *unit, const struct fact *f)
{
	return unit->options->strict && f->form == FORM_ARRIVED &&
	       !unit->accesses.v[f->access].st_async;
}

void facts_fence_effects(struct unit *unit, const struct facts *facts, struct fence_effect *by_kind)
{
	for (uint32_t kind = 0; kind <= FENCE_OTHER; kind++) {
		by_kind[kind].kill = bits_new(unit->arena, facts->n);
		for (uint32_t f = 0; f < facts->n; f++)
			if (settles((enum fence_kind)kind, &facts->v[f]) &&
				!wants_both(unit, &facts->v[f]))
				bits_set(by_kind[kind].kill, f);
	}
}
