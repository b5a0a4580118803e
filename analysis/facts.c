/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: accesses with their addresses. Out: the facts of the flow, for each async access the facts
 * that make an edge with it, and for each fence the facts it settles (ptx-proxies 1.3). Invariant:
 * an access without a fact can be in no edge.
 */
#include "analysis/facts.h"

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

/* Spaces of generic access g in which async access a can meet it at all. */
static uint8_t common_spaces(const struct access *g, const struct access *a)
{
	uint8_t spaces = g->spaces & a->spaces & SPACE_GLOBAL;
	uint8_t window = SPACE_SHARED | SPACE_CLUSTER;

	if ((g->spaces & window) && (a->spaces & window))
		spaces |= g->spaces & window;
	return spaces;
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

static void fill_rows(struct collector *c, const uint8_t *meets, const uint32_t *asyncs,
	uint32_t nasyncs, const uint32_t *generics, uint32_t ngenerics)
{
	struct facts *facts = c->facts;
	const struct access *v = c->unit->accesses.v;

	for (uint32_t k = 0; k < nasyncs; k++) {
		uint32_t a = asyncs[k];

		for (uint32_t i = 0; i < ngenerics; i++) {
			uint32_t g = generics[i];
			uint8_t meet = meets[(size_t)i * nasyncs + k];

			for (uint32_t f = facts->first_of[g]; meet && f < facts->first_of[g + 1];
				f++) {
				if (!(fact_spaces(&v[g], meet) & facts->v[f].space) ||
					!makes_edge(&facts->v[f], &v[a]))
					continue;
				if (!facts->row[a].words)
					facts->row[a] = bits_new(c->unit->arena, facts->n);
				bits_set(facts->row[a], f);
			}
		}
	}
}

static uint8_t meeting(struct collector *c, uint32_t g, uint32_t a)
{
	struct unit *unit = c->unit;
	const struct access *x = &unit->accesses.v[g], *y = &unit->accesses.v[a];
	uint8_t spaces = common_spaces(x, y);

	if (!unit->options->shared)
		spaces &= SPACE_GLOBAL;
	if (!unit->options->global)
		spaces &= (uint8_t)~SPACE_GLOBAL;
	if (!spaces || !facts_hazard(x, y, unit->options->hazards))
		return 0;
	if (x->cp_async && x->writes && unit->options->cp_async_trust && !(spaces & SPACE_GLOBAL))
		return 0;
	struct overlap o = access_overlap(unit->values, &unit->accesses, g, a, unit->options, NULL);

	if (!o.may) {
		c->facts->pairs_ruled_out++;
		c->facts->assumptions |= o.assumptions;
		return 0;
	}
	return spaces & o.spaces;
}

void facts_collect(struct unit *unit, bool crossing, struct facts *facts)
{
	const struct accesses *accesses = &unit->accesses;
	struct arena *arena = unit->arena;
	struct collector c = {.unit = unit, .facts = facts, .crossing = crossing};
	uint32_t *generics = ARENA_NEW(arena, uint32_t, accesses->n);
	uint32_t *asyncs = ARENA_NEW(arena, uint32_t, accesses->n);
	uint32_t ngenerics = 0, nasyncs = 0;

	*facts = (struct facts){
		.first_of = ARENA_NEW(arena, uint32_t, accesses->n + 1),
		.row = ARENA_NEW(arena, struct bits, accesses->n + 1),
	};
	for (uint32_t i = 0; i < accesses->n; i++) {
		if (accesses->v[i].proxy == PROXY_GENERIC)
			generics[ngenerics++] = i;
		if (accesses->v[i].proxy == PROXY_ASYNC) {
			asyncs[nasyncs++] = i;
			c.peers |= accesses->v[i].peer;
		}
	}
	uint8_t *meets = ARENA_NEW(arena, uint8_t, (size_t)ngenerics * nasyncs);
	uint8_t *spaces = ARENA_NEW(arena, uint8_t, accesses->n);

	for (uint32_t i = 0; i < ngenerics && !budget_spent(unit->budget); i++) {
		for (uint32_t k = 0; k < nasyncs; k++) {
			uint8_t meet = meeting(&c, generics[i], asyncs[k]);

			meets[(size_t)i * nasyncs + k] = meet;
			spaces[generics[i]] |= fact_spaces(&accesses->v[generics[i]], meet);
		}
	}
	for (uint32_t i = 0; i < accesses->n; i++) {
		facts->first_of[i] = facts->n;
		for (uint8_t space = SPACE_SHARED; space <= SPACE_GLOBAL; space <<= 1)
			if (spaces[i] & space)
				add_facts(&c, i, space);
	}
	facts->first_of[accesses->n] = facts->n;
	fill_rows(&c, meets, asyncs, nasyncs, generics, ngenerics);
	facts->inflight = bits_new(arena, facts->n);
	facts->spare = bits_new(arena, facts->n);
	facts->shared = bits_new(arena, facts->n);
	facts->global = bits_new(arena, facts->n);
	for (uint32_t f = 0; f < facts->n; f++) {
		const struct fact *fact = &facts->v[f];

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
