/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a solved flow. Out: for each fact in an edge, between which points a fence must stand
 * (spec 3.3).
 *
 * Writer side: from the access (cp.async: from the wait that completes it) to each async access on
 * the thread's own path and to each release through which the fact leaves and from which, through
 * other threads, its async access is reached. Waiting side, where no writer-side point exists
 * (cp.async published by an mbarrier) or where A's CTA must fence (another CTA's access): from the
 * acquire that brings the fact to its async accesses (--strict: the writer's fence comes first).
 * Invariant: a fence of the demanded width on every way from a source to a sink, within the pending
 * points, removes the edges named.
 */
#include "analysis/demand_private.h"
#include "analysis/plan_demands.h"
#include "analysis/rounds.h"

/* ---- which facts ---- */

struct asking {
	struct demands *d;
	uint32_t event;
};

/* Handed to another CTA unfenced where the waiting side's fence is not enough (--strict). */
static bool wants_writer(const struct flow_setup *s, uint32_t f)
{
	return s->unit->options->strict && s->facts.v[f].form == FORM_ARRIVED &&
	       !s->unit->accesses.v[s->facts.v[f].access].st_async;
}

/* Groups have several async accesses at one instruction. */
static void note_event(struct demands *d, struct list *list, uint32_t event)
{
	if (!list->n || list->v[list->n - 1] != event)
		ARENA_PUSH(d->s->unit->arena, list->v, list->n, list->cap, event);
}

static void ask(void *data, uint32_t access, struct bits own, struct bits foreign)
{
	struct asking *asking = data;
	struct demands *d = asking->d;
	struct flow_setup *s = d->s;
	const struct fact_row *row = s->facts.row[access];

	for (uint32_t i = 0; i < row->n; i++) {
		uint32_t w = row->word[i];
		uint64_t hit = row->mask[i] & (own.words[w] | foreign.words[w]);

		for (; hit; hit &= hit - 1) {
			uint32_t f = w * 64 + (uint32_t)__builtin_ctzll(hit);

			if (rounds_apart(s, access, f))
				continue;
			d->asked[f] = true;
			if (wants_writer(s, f))
				d->asked[s->facts.v[f].sibling[FORM_PENDING]] = true;
			if (bits_has(own, f))
				note_event(d, &d->meets_own[f], asking->event);
			if (bits_has(foreign, f))
				note_event(d, &d->meets_foreign[f], asking->event);
		}
	}
}

static void find_asked(struct demands *d)
{
	struct flow_setup *s = d->s;
	struct asking asking = {.d = d};
	struct visitor visitor = {.data = &asking, .meets = ask};

	for (uint32_t b = 0; b < s->unit->cfg.n; b++) {
		if (!flow_reached(s, b))
			continue;
		flow_enter(s, b);
		for (uint32_t e = flow_first(s, b); e < flow_end(s, b); e++) {
			asking.event = e;
			flow_step(s, e, false, &visitor);
		}
	}
}

/* Lists hold each instruction once; one list at a time is filled. */
static void list_begin(struct demands *d)
{
	d->list_round++;
}

static void list_add(struct demands *d, struct list *list, uint32_t insn)
{
	if (d->listed[insn] == d->list_round)
		return;
	d->listed[insn] = d->list_round;
	ARENA_PUSH(d->s->unit->arena, list->v, list->n, list->cap, insn);
}

/* ---- the demands ---- */

static uint8_t width(const struct flow_setup *s, uint32_t f, bool waiting)
{
	const struct fact *fact = &s->facts.v[f];
	bool arrived = fact->form == FORM_ARRIVED || fact->form == FORM_WEAK;

	if (fact->space == SPACE_GLOBAL)
		return SPACE_GLOBAL;
	if (arrived && waiting)
		return fact->space == SPACE_CLUSTER ? SPACE_SHARED : SPACE_CLUSTER;
	return fact->space;
}

static void find_edges(struct demands *d)
{
	struct arena *arena = d->s->unit->arena;
	const struct flow *flow = d->flow;

	d->edge_first = ARENA_NEW(arena, uint32_t, d->s->unit->accesses.n);
	d->edge_next = ARENA_NEW(arena, uint32_t, flow->nedges);
	memset(d->edge_first, 0xff, sizeof(*d->edge_first) * d->s->unit->accesses.n);
	for (uint32_t i = flow->nedges; i-- > 0;) {
		uint32_t own = facts_access(&d->s->facts, flow->edges[i].generic);

		d->edge_next[i] = d->edge_first[own];
		d->edge_first[own] = i;
	}
}

static void edges_of(struct demands *d, uint32_t f, struct list *edges)
{
	const struct fact *fact = &d->s->facts.v[f];

	for (uint32_t i = d->edge_first[fact->access]; i != NONE; i = d->edge_next[i])
		if (d->flow->edges[i].space == fact->space)
			ARENA_PUSH(d->s->unit->arena, edges->v, edges->n, edges->cap, i);
}

static void demand_add(struct demands *d, uint32_t f, const struct list *sources,
	const struct list *sinks, struct bits pending, bool waiting)
{
	struct list edges = {0};
	struct demand demand = {
		.sources = sources->v,
		.nsources = sources->n,
		.sinks = sinks->v,
		.nsinks = sinks->n,
		.width = width(d->s, f, waiting),
		.waiting_side = waiting,
	};

	if (!sources->n || !sinks->n)
		return;
	demand.pending = pending.words ? pending : demand_no_points(d);
	edges_of(d, f, &edges);
	demand.edges = edges.v;
	demand.nedges = edges.n;
	ARENA_PUSH(d->s->unit->arena, d->v, d->n, d->cap, demand);
}

/* Where the fact begins in its own thread. */
static void own_sources(struct demands *d, uint32_t f, struct list *out)
{
	struct flow_setup *s = d->s;
	const struct fact *fact = &s->facts.v[f];
	const struct access *v = s->unit->accesses.v;
	struct ids all = {&fact->access, 1};

	list_begin(d);
	if (fact->sibling[FORM_INFLIGHT] == NONE) {
		if (s->facts.groups)
			all = groups_members(s->facts.groups, fact->access);
		for (uint32_t i = 0; i < all.n; i++)
			list_add(d, out, v[all.v[i]].insn);
		return;
	}
	for (uint32_t i = 0; i < d->waits.n && v[fact->access].cp_async; i++)
		list_add(d, out, d->waits.v[i]);
}

static void find_waits(struct demands *d)
{
	list_begin(d);
	for (uint32_t e = 0; e < d->s->nevents; e++)
		if (d->s->events[e].kind == EVENT_WAIT)
			list_add(d, &d->waits, d->s->events[e].insn);
}

/* The data leave when they are complete, behind the thread's back: no point of its own covers them.
 */
static bool publishes_at_completion(const struct sync_site *site)
{
	return site->cp_async || site->self;
}

/* A body that falls off its end leaves at the point behind its last instruction. */
static uint32_t site_insn(const struct flow_setup *s, uint32_t site)
{
	uint32_t insn = s->handoffs.sites[site].insn;

	return insn == NONE ? s->unit->fn->ninsns : insn;
}

static void writer_side(struct demands *d, uint32_t f)
{
	struct flow_setup *s = d->s;
	struct list sources = {0}, sinks = {0};
	uint32_t at_home =
		s->facts.v[f].sibling[FORM_PENDING]; /* the same fact in its own thread */

	list_begin(d);
	for (uint32_t i = 0; i < d->meets_own[f].n; i++)
		list_add(d, &sinks, s->events[d->meets_own[f].v[i]].insn);
	if (d->meets_foreign[f].n) {
		const struct list *releases = demand_releases(d, f);

		for (uint32_t i = 0; i < releases->n; i++)
			if (!publishes_at_completion(&s->handoffs.sites[releases->v[i]]) &&
				bits_has(s->sent_own[releases->v[i]], f))
				list_add(d, &sinks, site_insn(s, releases->v[i]));
	}
	own_sources(d, f, &sources);
	demand_add(d, f, &sources, &sinks, d->buckets[d->bucket_of[at_home]].own_at, false);
}

/* Acquires that hear the fact from a partner without a writer-side point (`only_deferred`), or at
 * all. */
static void waiting_side(struct demands *d, uint32_t f, bool only_deferred)
{
	struct flow_setup *s = d->s;
	struct list sources = {0}, sinks = {0};

	list_begin(d);
	for (uint32_t q = 0; q < s->handoffs.n; q++) {
		const struct ids *from = &s->handoffs.from[q];
		bool heard = false;

		for (uint32_t i = 0; i < from->n && !heard; i++) {
			const struct sync_site *r = &s->handoffs.sites[from->v[i]];

			heard = (publishes_at_completion(r) || !only_deferred) &&
				(bits_has(s->sent_own[from->v[i]], f) ||
					bits_has(s->sent_foreign[from->v[i]], f));
		}
		if (heard && bits_has(s->received[q], f))
			list_add(d, &sources, site_insn(s, q));
	}
	if (!sources.n)
		return;
	list_begin(d);
	for (uint32_t i = 0; i < d->meets_foreign[f].n; i++)
		list_add(d, &sinks, s->events[d->meets_foreign[f].v[i]].insn);
	/* another thread may hand it on: then its own release is a sink as well */
	const struct list *releases = demand_releases(d, f);

	for (uint32_t i = 0; i < releases->n; i++)
		if (bits_has(s->sent_foreign[releases->v[i]], f))
			list_add(d, &sinks, site_insn(s, releases->v[i]));
	demand_add(d, f, &sources, &sinks, d->buckets[d->bucket_of[f]].foreign_at, true);
}

void flow_demands(struct flow_setup *s, const struct flow *flow, struct demand **out, uint32_t *n)
{
	struct arena *arena = s->unit->arena;
	struct demands d = {.s = s, .flow = flow, .searched = NONE};

	*out = NULL;
	*n = 0;
	if (s->trivial || !flow->nedges)
		return;
	d.meets_own = ARENA_NEW(arena, struct list, s->facts.n);
	d.meets_foreign = ARENA_NEW(arena, struct list, s->facts.n);
	d.asked = ARENA_NEW(arena, bool, s->facts.n);
	d.bucket_of = ARENA_NEW(arena, uint32_t, s->facts.n);
	d.listed = ARENA_NEW(arena, uint32_t, s->unit->fn->ninsns + 1);
	d.seen_block = ARENA_NEW(arena, uint32_t, s->unit->cfg.n);
	d.seen_site = ARENA_NEW(arena, uint32_t, s->handoffs.n);
	d.seen_release = ARENA_NEW(arena, uint32_t, s->handoffs.n);
	d.seen_event = ARENA_NEW(arena, uint32_t, s->nevents);
	find_asked(&d);
	demand_find_pending(&d);
	find_edges(&d);
	find_waits(&d);
	for (uint32_t f = 0; f < s->facts.n && !budget_spent(s->unit->budget); f++) {
		const struct fact *fact = &s->facts.v[f];

		if (!d.asked[f])
			continue;
		if (wants_writer(s, f)) {
			writer_side(&d, f);
			continue;
		}
		if (fact->form == FORM_ARRIVED || fact->form == FORM_WEAK) {
			waiting_side(&d, f, false);
			continue;
		}
		writer_side(&d, f);
		if (fact->sibling[FORM_INFLIGHT] != NONE && d.meets_foreign[f].n)
			waiting_side(&d, f, true);
	}
	*out = d.v;
	*n = d.shared ? demands_join_all(d.v, d.n, arena) : d.n;
}
