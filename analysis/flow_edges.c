/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a solved flow. Out: its edges, each generic access once with each async access it meets, with
 * the strongest confidence any of its forms gives and one way from the one to the other.
 */
#include "analysis/rounds.h"

#include <stdlib.h>

struct meeting { /* facts of one async access, while its block is walked */
	uint32_t generic, async, fact;
	uint64_t more; /* pairs that this one stands for beside itself */
	bool own, foreign, hinted;
};

struct meetings {
	struct flow_setup *s;
	bool anew; /* what the latest run met is not asked for */
	bool latest; /* it is that run whose meetings these are */
	struct meeting *v;
	uint32_t n, cap;
};

/* Of groups one pair of accesses stands for all, once; false: it was noted before. */
static bool stand_for_group(struct meetings *m, struct meeting *meeting)
{
	const struct facts *facts = &m->s->facts;
	const struct group_pair *pair =
		groups_pair(facts->groups, facts->v[meeting->fact].access, meeting->async);
	uint8_t *known =
		&m->s->known[(size_t)facts->groups->of[meeting->async] * facts->n + meeting->fact];
	uint8_t ways = (uint8_t)meeting->own | (uint8_t)(meeting->foreign << 1);

	if (!(ways & ~*known))
		return false;
	*known |= ways;
	meeting->generic = pair->generic;
	meeting->async = pair->async;
	meeting->more = pair->pairs - 1;
	meeting->hinted = pair->hinted;
	return true;
}

static void add_meeting(struct meetings *m, struct meeting *meeting)
{
	meeting->generic = m->s->facts.v[meeting->fact].access;
	if (m->s->facts.groups && !stand_for_group(m, meeting))
		return;
	ARENA_PUSH(m->s->unit->arena, m->v, m->n, m->cap, *meeting);
}

/* By word of its row, the facts that an async access meets in the latest run. */
static uint64_t *met_by(const struct flow_setup *s, uint32_t access)
{
	return s->met + s->met_at[access];
}

static void forget_met(struct flow_setup *s)
{
	uint32_t n = 0;

	for (uint32_t a = 0; !s->met && a < s->unit->accesses.n; a++)
		n += s->facts.row[a] ? s->facts.row[a]->n : 0;
	if (!s->met) {
		s->met = ARENA_UNSET(s->arena, uint64_t, n);
		s->met_at = ARENA_UNSET(s->arena, uint32_t, s->unit->accesses.n);
		s->nmet = n;
		n = 0;
		for (uint32_t a = 0; a < s->unit->accesses.n; a++) {
			s->met_at[a] = n;
			n += s->facts.row[a] ? s->facts.row[a]->n : 0;
		}
	}
	memset(s->met, 0, s->nmet * sizeof(*s->met));
}

/* Of a word of the row what is met now and was not. */
static uint64_t new_in(const struct fact_row *row, const uint64_t *met, uint32_t i, struct bits own,
	struct bits foreign)
{
	return row->mask[i] & (own.words[row->word[i]] | foreign.words[row->word[i]]) & ~met[i];
}

static void note_meeting(void *data, uint32_t access, struct bits own, struct bits foreign)
{
	struct meetings *m = data;
	const struct fact_row *row = m->s->facts.row[access];
	uint64_t *met = m->s->facts.groups ? NULL : met_by(m->s, access);

	for (uint32_t i = 0; i < row->n; i++) {
		uint32_t w = row->word[i];
		uint64_t hit = row->mask[i] & (own.words[w] | foreign.words[w]);

		if (met && m->anew)
			hit = new_in(row, met, i, own, foreign);
		for (; hit; hit &= hit - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(hit);
			struct meeting meeting = {
				.async = access,
				.fact = w * 64 + bit,
				.own = own.words[w] >> bit & 1,
				.foreign = foreign.words[w] >> bit & 1,
			};

			if (rounds_apart(m->s, access, meeting.fact))
				continue;
			if (met && m->latest)
				met[i] |= UINT64_C(1) << bit;
			add_meeting(m, &meeting);
		}
	}
}

/* ---- the way ---- */

#define HOPS_MAX 8

struct way {
	uint32_t sites[2 * HOPS_MAX],
		n;    /* acquire, release, acquire, ... from the async access back */
	bool unknown; /* some barrier on it is not known */
};

struct hop {
	uint32_t acquire, release;
	uint32_t parent; /* the hop that follows it in time; NONE: the async access */
};

/* Backward search, breadth first over hand-offs, for a release whose own fact it is. */
struct way_search {
	struct flow_setup *s;
	uint32_t fact;
	struct hop *hops;
	uint32_t nhops, cap;
	uint32_t *stack, nstack, stack_cap; /* blocks to scan from their end */
};

static void way_up(struct way_search *q, uint32_t last, struct way *way)
{
	for (uint32_t h = last; h != NONE && way->n < 2 * HOPS_MAX; h = q->hops[h].parent)
		way->n += 2;
	uint32_t at = way->n;

	for (uint32_t h = last; h != NONE && at >= 2; h = q->hops[h].parent) {
		const struct sync_site *sites = q->s->handoffs.sites;

		way->sites[--at] = q->hops[h].release;
		way->sites[--at] = q->hops[h].acquire;
		way->unknown |=
			sites[q->hops[h].acquire].unknown || sites[q->hops[h].release].unknown;
	}
}

/* Which of two releases of the access's own thread says more: one whose barrier is known, then the
 * next behind the access in the text (the difference wraps, so those in front of it come last). */
static bool says_more(const struct way_search *q, uint32_t a, uint32_t b)
{
	const struct sync_site *sites = q->s->handoffs.sites;
	uint32_t from = q->s->unit->accesses.v[q->s->facts.v[q->fact].access].insn;

	if (b == NONE)
		return true;
	if (sites[a].unknown != sites[b].unknown)
		return sites[b].unknown;
	return sites[a].insn - from < sites[b].insn - from;
}

static uint32_t add_hop(struct way_search *q, uint32_t acquire, uint32_t release, uint32_t parent)
{
	struct hop hop = {acquire, release, parent};

	ARENA_PUSH(q->s->unit->arena, q->hops, q->nhops, q->cap, hop);
	return q->nhops - 1;
}

/* Takes an acquire that brings the fact; the number of the hop that ends the search, or NONE. */
static uint32_t take_acquire(struct way_search *q, uint32_t acquire, uint32_t parent)
{
	const struct ids *from = &q->s->handoffs.from[acquire];

	if (q->s->heard[acquire] == q->s->round)
		return NONE;
	q->s->heard[acquire] = q->s->round;
	uint32_t best = NONE;

	for (uint32_t i = 0; i < from->n; i++)
		if (bits_has(q->s->sent_own[from->v[i]], q->fact) && says_more(q, from->v[i], best))
			best = from->v[i];
	if (best != NONE)
		return add_hop(q, acquire, best, parent);
	for (uint32_t i = 0; i < from->n; i++)
		if (bits_has(q->s->sent_foreign[from->v[i]], q->fact))
			add_hop(q, acquire, from->v[i], parent);
	return NONE;
}

/* Scans a block's events backward from `end`, then its predecessors. */
static uint32_t scan_back(struct way_search *q, uint32_t b, uint32_t end, uint32_t parent)
{
	struct flow_setup *s = q->s;

	q->nstack = 0;
	for (;;) {
		const struct block *block = &s->unit->cfg.blocks[b];

		for (uint32_t e = bits_has(s->hears, b) ? end : 0; e-- > flow_first(s, b);) {
			if (s->events[e].kind != EVENT_ACQUIRE ||
				!bits_has(s->received[s->events[e].arg], q->fact))
				continue;
			uint32_t found = take_acquire(q, s->events[e].arg, parent);

			if (found != NONE)
				return found;
		}
		for (uint32_t i = 0; i < block->pred.n; i++) {
			uint32_t p = block->pred.v[i];

			if (s->seen[p] == s->round || !flow_reached(s, p))
				continue;
			s->seen[p] = s->round;
			ARENA_PUSH(s->unit->arena, q->stack, q->nstack, q->stack_cap, p);
		}
		if (!q->nstack)
			return NONE;
		b = q->stack[--q->nstack];
		end = flow_end(s, b);
	}
}

static struct way find_way(
	struct flow_setup *s, uint32_t async_event, uint32_t block, uint32_t fact)
{
	struct way way = {0};
	struct way_search q = {.s = s, .fact = fact};

	s->round++;
	uint32_t found = scan_back(&q, block, async_event, NONE);

	for (uint32_t h = 0; found == NONE && h < q.nhops; h++) {
		uint32_t r = q.hops[h].release;

		found = scan_back(&q, s->handoffs.sites[r].block, flow_release_event(s, r), h);
	}
	way_up(&q, found, &way);
	return way;
}

/* ---- edges ---- */

static uint8_t confidence(struct flow_setup *s, const struct meeting *m, const struct way *way)
{
	struct unit *unit = s->unit;
	const struct fact *fact = &s->facts.v[m->fact];
	const struct access *a = &unit->accesses.v[m->async];
	const struct access *g = &unit->accesses.v[m->generic];

	if (fact->form == FORM_WEAK || g->call || a->call)
		return CONFIDENCE_POSSIBLE;
	/* that mbarrier.inval writes the bytes is not said; no library fences it (ptx-proxies 3.2)
	 */
	if (unit->effects[g->insn]->sync == SYNC_MBAR_INVAL)
		return CONFIDENCE_POSSIBLE;
	if (fact->space == SPACE_SHARED && g->peer && !g->address.own_cta)
		return CONFIDENCE_POSSIBLE; /* mapa may name the own CTA: its rank is not known */
	if (!m->own && way->unknown)
		return CONFIDENCE_POSSIBLE;
	uint8_t overlap = meets_confidence(unit, s->facts.meets, m->generic, m->async);

	return !m->own && overlap > CONFIDENCE_LIKELY ? CONFIDENCE_LIKELY : overlap;
}

/* Enough for merge() to keep what is not weak. */
static uint8_t brief_confidence(const struct fact *fact)
{
	return fact->form == FORM_WEAK ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY;
}

static const uint32_t *make_path(
	struct flow_setup *s, const struct edge *edge, const struct way *way, uint32_t *n)
{
	uint32_t *path = ARENA_NEW(s->unit->arena, uint32_t, way->n + 2);

	*n = 0;
	path[(*n)++] = s->unit->accesses.v[edge->generic].insn;
	for (uint32_t i = way->n; i-- > 0;)
		path[(*n)++] = s->handoffs.sites[way->sites[i]].insn;
	path[(*n)++] = s->unit->accesses.v[edge->async].insn;
	return path;
}

static void describe(
	struct flow_setup *s, const struct meeting *m, struct way *way, struct edge *edge)
{
	const struct fact *fact = &s->facts.v[m->fact];
	const struct access *g = &s->unit->accesses.v[m->generic];
	const struct access *a = &s->unit->accesses.v[m->async];

	*edge = (struct edge){
		.generic = m->generic,
		.async = m->async,
		.more = m->more,
		.hinted = m->hinted,
		.hazard = facts_hazard(g, a, s->unit->options->hazards),
		.space = fact->space,
		.confidence = s->brief ? brief_confidence(fact) : confidence(s, m, way),
		.own = m->own,
		.foreign = m->foreign,
		.cross_cta = fact->form == FORM_ARRIVED || fact->form == FORM_WEAK,
		.weak = fact->form == FORM_WEAK,
		.cp_async = g->cp_async && fact->space != SPACE_GLOBAL,
		.release = NONE,
		.acquire = NONE,
	};
	edge->waiting_side = edge->crosses = edge->cross_cta;
	if (s->brief) { /* published by its mbarrier or by the thread that waited: not looked for */
		edge->waiting_side |= edge->cp_async && !m->own;
		return;
	}
	if (way->n) {
		edge->acquire = s->handoffs.sites[way->sites[0]].insn;
		edge->release = s->handoffs.sites[way->sites[1]].insn;
		edge->waiting_side |= s->handoffs.sites[way->sites[way->n - 1]].cp_async ||
				      s->handoffs.sites[way->sites[way->n - 1]].self;
	}
	edge->path = make_path(s, edge, way, &edge->npath);
}

/* One edge per pair and space: the better confidence wins, the ways of both count. */
static void merge(struct edge *into, const struct edge *other)
{
	bool better = other->confidence > into->confidence ||
		      (other->confidence == into->confidence && into->weak && !other->weak);
	bool own = into->own | other->own, foreign = into->foreign | other->foreign;
	bool crosses = into->crosses | other->crosses;

	if (better)
		*into = *other;
	into->own = own;
	into->crosses = crosses;
	into->foreign = foreign;
}

static int by_pair(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;

	if (a->generic != b->generic)
		return a->generic < b->generic ? -1 : 1;
	if (a->async != b->async)
		return a->async < b->async ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return a->cross_cta < b->cross_cta ? -1 : a->cross_cta > b->cross_cta;
}

static bool is_sorted(const struct flow *flow)
{
	for (uint32_t i = 1; i < flow->nedges; i++)
		if (by_pair(&flow->edges[i - 1], &flow->edges[i]) > 0)
			return false;
	return true;
}

/* Numbers of edges in the order of their accesses (the async ones, or the generic ones), equal ones as they
 * were. `at`: room for one more than there are accesses. */
static void order_by_access(const struct flow *flow, bool async, const uint32_t *from, uint32_t *to,
	uint32_t *at, uint32_t naccesses)
{
	const struct edge *v = flow->edges;

	memset(at, 0, sizeof(*at) * (naccesses + 1));
	for (uint32_t i = 0; i < flow->nedges; i++)
		at[(async ? v[i].async : v[i].generic) + 1]++;
	for (uint32_t a = 0; a < naccesses; a++)
		at[a + 1] += at[a];
	for (uint32_t i = 0; i < flow->nedges; i++)
		to[at[async ? v[from[i]].async : v[from[i]].generic]++] = from[i];
}

/* There are far more edges than accesses where there are many. */
static void sort_by_accesses(struct flow_setup *s, struct flow *flow)
{
	struct arena *arena = s->unit->arena;
	uint32_t n = flow->nedges, naccesses = s->unit->accesses.n;
	uint32_t *room = ARENA_UNSET(arena, uint32_t, 2 * (size_t)n + naccesses + 1);
	uint32_t *order = room, *other = room + n, *at = room + 2 * (size_t)n;
	struct edge *edges = ARENA_UNSET(arena, struct edge, n);

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	order_by_access(flow, true, order, other, at, naccesses);
	order_by_access(flow, false, other, order, at, naccesses);
	for (uint32_t i = 0; i < n; i++)
		edges[i] = flow->edges[order[i]];
	memcpy(flow->edges, edges, sizeof(*edges) * n);
	ARENA_GIVE_BACK(arena, edges, n);
	ARENA_GIVE_BACK(arena, room, 2 * (size_t)n + naccesses + 1);
}

static void sort_and_merge(struct flow_setup *s, struct flow *flow)
{
	uint32_t kept = 0;

	if (!flow->nedges)
		return;
	if (flow->nedges > s->unit->accesses.n / 4 && !is_sorted(flow))
		sort_by_accesses(s, flow);
	if (!is_sorted(flow))
		qsort(flow->edges, flow->nedges, sizeof(*flow->edges), by_pair);
	for (uint32_t i = 1; i < flow->nedges; i++) {
		if (flow->edges[kept].generic == flow->edges[i].generic &&
			flow->edges[kept].async == flow->edges[i].async &&
			flow->edges[kept].space == flow->edges[i].space)
			merge(&flow->edges[kept], &flow->edges[i]);
		else
			flow->edges[++kept] = flow->edges[i];
	}
	flow->nedges = kept + 1;
}

/* Edges end at async accesses: behind the last one of a block nothing is asked for. */
static uint32_t behind_last_async(const struct flow_setup *s, uint32_t b)
{
	uint32_t e = flow_end(s, b);

	while (e > flow_first(s, b) && s->events[e - 1].kind != EVENT_ASYNC)
		e--;
	return e;
}

/* The block is in the set, or more has come to its start. */
static bool comes_anew(const struct flow_setup *s, struct bits ran, uint32_t b)
{
	return bits_has(ran, b) || bits_has(s->rows.grew, s->rows.of[b]);
}

void flow_collect_edges(struct flow_setup *s, struct bits only, struct flow *flow)
{
	struct meetings m = {
		.s = s, .anew = only.nwords && !s->every, .latest = !only.nwords};
	struct visitor visitor = {.data = &m, .meets = note_meeting};
	struct arena *arena = s->brief ? s->arena : s->unit->arena;
	uint32_t cap = s->brief ? s->brief_cap : 0;

	if (s->facts.groups)
		memset(s->known, 0, (size_t)s->facts.groups->nasyncs * s->facts.n);
	if (m.latest && !s->facts.groups)
		forget_met(s);
	flow->edges = s->brief ? s->brief_edges : NULL;
	for (uint32_t b = 0; b < s->unit->cfg.n; b++) {
		struct way way = {0};

		if (only.nwords && !comes_anew(s, only, b) && !rounds_in_block(s->rounds, b))
			continue;
		uint32_t end = flow_reached(s, b) ? behind_last_async(s, b) : flow_first(s, b);

		if (end == flow_first(s, b))
			continue;
		flow_enter(s, b);
		for (uint32_t e = flow_first(s, b); e < end; e++) {
			flow_step(s, e, false, &visitor);
			for (uint32_t i = 0; i < m.n; i++) {
				struct edge edge;

				way = m.v[i].own || s->brief ? (struct way){0}
							     : find_way(s, e, b, m.v[i].fact);
				describe(s, &m.v[i], &way, &edge);
				ARENA_PUSH(arena, flow->edges, flow->nedges, cap, edge);
			}
			m.n = 0;
		}
	}
	ARENA_GIVE_BACK(s->unit->arena, m.v, m.cap);
	if (s->brief) {
		s->brief_edges = flow->edges;
		s->brief_cap = cap;
	}
	sort_and_merge(s, flow);
}
