/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a solved flow. Out: for each fact in an edge, between which points a fence must stand (spec 3.3).
 *
 * Writer side: from the access (cp.async: from the wait that completes it) to each async access on the
 * thread's own path and to each release through which the fact leaves and from which, through other
 * threads, its async access is reached. Waiting side, where no writer-side point exists (cp.async
 * published by an mbarrier) or where A's CTA must fence (another CTA's access): from the acquire that
 * brings the fact to its async accesses (--strict: the writer's fence comes first). Invariant: a
 * fence of the demanded width on every way from a source to a sink, within the pending points,
 * removes the edges named.
 */
#include "analysis/flow_state.h"

struct list {
	uint32_t *v, n, cap;
};

struct demands {
	struct flow_setup *s;
	const struct flow *flow;
	struct demand *v;
	uint32_t n, cap;
	struct bits *own_at, *foreign_at; /* by fact: instructions before which it is pending; no words: not asked */
	bool *asked;                      /* by fact */
	struct bits *meets_own, *meets_foreign; /* by fact: events (async) where it makes an edge */
	uint32_t *seen_block, *seen_site; /* round of the search that came here last */
	uint32_t round;
};

static void list_add(struct demands *d, struct list *list, uint32_t item)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->v[i] == item)
			return;
	ARENA_PUSH(d->s->unit->arena, list->v, list->n, list->cap, item);
}

/* ---- which facts, where pending ---- */

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

static void prepare(struct demands *d, uint32_t f)
{
	struct flow_setup *s = d->s;

	if (d->asked[f])
		return;
	d->asked[f] = true;
	d->own_at[f] = bits_new(s->unit->arena, s->unit->fn->ninsns + 1);
	d->foreign_at[f] = bits_new(s->unit->arena, s->unit->fn->ninsns + 1);
	d->meets_own[f] = bits_new(s->unit->arena, s->nevents);
	d->meets_foreign[f] = bits_new(s->unit->arena, s->nevents);
}

static void ask(void *data, uint32_t access, struct bits own, struct bits foreign)
{
	struct asking *asking = data;
	struct demands *d = asking->d;
	struct flow_setup *s = d->s;
	struct bits row = s->facts.row[access];

	for (uint32_t f = bits_next(row, 0); f != NONE; f = bits_next(row, f + 1)) {
		bool o = bits_has(own, f), g = bits_has(foreign, f);

		if (!o && !g)
			continue;
		prepare(d, f);
		if (wants_writer(s, f))
			prepare(d, s->facts.v[f].sibling[FORM_PENDING]);
		if (o)
			bits_set(d->meets_own[f], asking->event);
		if (g)
			bits_set(d->meets_foreign[f], asking->event);
	}
}

static void find_asked(struct demands *d)
{
	struct flow_setup *s = d->s;
	struct asking asking = {.d = d};
	struct visitor visitor = {.data = &asking, .meets = ask};

	for (uint32_t b = 0; b < s->unit->cfg.n; b++) {
		if (!s->reached[b])
			continue;
		flow_enter(s, b);
		for (uint32_t e = flow_first(s, b); e < flow_end(s, b); e++) {
			asking.event = e;
			flow_step(s, e, false, &visitor);
		}
	}
}

/* The state as it is before the instructions from `from` on, up to and including `to`. */
static void mark_pending(struct demands *d, uint32_t from, uint32_t to)
{
	struct flow_setup *s = d->s;

	for (uint32_t f = 0; f < s->facts.n; f++) {
		if (!d->asked[f])
			continue;
		bool own = bits_has(s->now.own, f), foreign = bits_has(s->now.foreign, f);

		for (uint32_t i = from; (own || foreign) && i <= to; i++) {
			if (own)
				bits_set(d->own_at[f], i);
			if (foreign)
				bits_set(d->foreign_at[f], i);
		}
	}
}

static void find_pending(struct demands *d)
{
	struct flow_setup *s = d->s;

	for (uint32_t b = 0; b < s->unit->cfg.n; b++) {
		const struct block *block = &s->unit->cfg.blocks[b];
		uint32_t from = block->first, end = block->first + block->count;

		if (!s->reached[b] || !block->count)
			continue;
		flow_enter(s, b);
		for (uint32_t e = flow_first(s, b); e < flow_end(s, b);) {
			uint32_t at = s->events[e].insn;

			if (from <= at)
				mark_pending(d, from, at < end ? at : end - 1);
			from = at + 1;
			for (; e < flow_end(s, b) && s->events[e].insn == at; e++)
				flow_step(s, e, false, NULL);
		}
		if (from < end)
			mark_pending(d, from, end - 1);
	}
}

/* ---- from a release to the async accesses that it can reach through other threads ---- */

struct search {
	struct demands *d;
	struct list todo; /* blocks; sites as ~number */
};

static void go_sites(struct search *q, uint32_t r)
{
	const struct ids *to = &q->d->s->handoffs.to[r];

	for (uint32_t i = 0; i < to->n; i++) {
		if (q->d->seen_site[to->v[i]] == q->d->round)
			continue;
		q->d->seen_site[to->v[i]] = q->d->round;
		ARENA_PUSH(q->d->s->unit->arena, q->todo.v, q->todo.n, q->todo.cap, ~to->v[i]);
	}
}

static bool kills(const struct flow_setup *s, const struct event *e, uint32_t f)
{
	enum fence_kind kind = FENCE_NONE;

	if (e->kind == EVENT_PLACED)
		kind = (enum fence_kind)e->fence;
	else if (e->kind == EVENT_FENCE && s->unit->fn->insns[e->insn].guard == NONE)
		kind = (enum fence_kind)(
			s->existing ? s->existing[e->insn] : s->unit->effects[e->insn].fence);
	return bits_has(s->fence[kind].kill, f);
}

/* From event `e` on; true when an async access meets the fact as a foreign one. */
static bool run_on(struct search *q, uint32_t b, uint32_t e, uint32_t f)
{
	struct flow_setup *s = q->d->s;
	const struct block *block = &s->unit->cfg.blocks[b];

	for (; e < flow_end(s, b); e++) {
		const struct event *event = &s->events[e];

		if (event->kind == EVENT_ASYNC && bits_has(q->d->meets_foreign[f], e))
			return true;
		if (kills(s, event, f))
			return false;
		if (event->kind == EVENT_RELEASE && bits_has(s->sent_foreign[event->arg], f))
			go_sites(q, event->arg);
		if (event->kind == EVENT_ACQUIRE && s->handoffs.sites[event->arg].resets)
			return false; /* from here on it is what the barrier's partners sent */
	}
	for (uint32_t i = 0; i < block->succ.n; i++) {
		uint32_t n = block->succ.v[i];

		if (q->d->seen_block[n] == q->d->round || !s->reached[n] || !bits_has(s->in[n].foreign, f))
			continue;
		q->d->seen_block[n] = q->d->round;
		ARENA_PUSH(s->unit->arena, q->todo.v, q->todo.n, q->todo.cap, n);
	}
	return false;
}

static uint32_t event_behind(const struct flow_setup *s, uint32_t site)
{
	uint32_t b = s->handoffs.sites[site].block;

	for (uint32_t e = flow_first(s, b); e < flow_end(s, b); e++)
		if (s->events[e].kind == EVENT_ACQUIRE && s->events[e].arg == site)
			return e + 1;
	return flow_end(s, b);
}

/* Does fact f, published by release r, reach an async access through what others acquire? */
static bool reaches(struct demands *d, uint32_t r, uint32_t f)
{
	struct flow_setup *s = d->s;
	struct search q = {.d = d};

	d->round++;
	go_sites(&q, r);
	while (q.todo.n) {
		uint32_t item = q.todo.v[--q.todo.n];
		bool site = item > UINT32_MAX / 2;
		uint32_t b = site ? s->handoffs.sites[~item].block : item;

		if (site && !bits_has(s->received[~item], f))
			continue;
		if (run_on(&q, b, site ? event_behind(s, ~item) : flow_first(s, b), f))
			return true;
	}
	return false;
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

/* The flow's edges are sorted by their generic access. */
static void edges_of(struct demands *d, uint32_t f, struct list *edges)
{
	const struct fact *fact = &d->s->facts.v[f];
	const struct edge *v = d->flow->edges;
	uint32_t low = 0, high = d->flow->nedges;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (v[middle].generic < fact->access)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = low; i < d->flow->nedges && v[i].generic == fact->access; i++)
		if (v[i].space == fact->space)
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
		.pending = pending,
		.width = width(d->s, f, waiting),
		.waiting_side = waiting,
	};

	if (!sources->n || !sinks->n)
		return;
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

	if (fact->sibling[FORM_INFLIGHT] == NONE) {
		list_add(d, out, s->unit->accesses.v[fact->access].insn);
		return;
	}
	for (uint32_t e = 0; e < s->nevents; e++)
		if (s->events[e].kind == EVENT_WAIT && s->unit->accesses.v[fact->access].cp_async)
			list_add(d, out, s->events[e].insn);
}

/* The data leave when they are complete, behind the thread's back: no point of its own covers them. */
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
	uint32_t at_home = s->facts.v[f].sibling[FORM_PENDING]; /* the same fact in its own thread */

	for (uint32_t e = bits_next(d->meets_own[f], 0); e != NONE;
		e = bits_next(d->meets_own[f], e + 1))
		list_add(d, &sinks, s->events[e].insn);
	if (bits_any(d->meets_foreign[f]))
		for (uint32_t r = 0; r < s->handoffs.n; r++)
			if (!publishes_at_completion(&s->handoffs.sites[r]) &&
				bits_has(s->sent_own[r], f) &&
				reaches(d, r, f))
				list_add(d, &sinks, site_insn(s, r));
	own_sources(d, f, &sources);
	demand_add(d, f, &sources, &sinks, d->own_at[at_home], false);
}

/* Acquires that hear the fact from a partner without a writer-side point (`only_deferred`), or at all. */
static void waiting_side(struct demands *d, uint32_t f, bool only_deferred)
{
	struct flow_setup *s = d->s;
	struct list sources = {0}, sinks = {0};

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
	for (uint32_t e = bits_next(d->meets_foreign[f], 0); e != NONE;
		e = bits_next(d->meets_foreign[f], e + 1))
		list_add(d, &sinks, s->events[e].insn);
	/* another thread may hand it on: then its own release is a sink as well */
	for (uint32_t r = 0; r < s->handoffs.n; r++)
		if (bits_has(s->sent_foreign[r], f) && reaches(d, r, f))
			list_add(d, &sinks, site_insn(s, r));
	demand_add(d, f, &sources, &sinks, d->foreign_at[f], true);
}

void flow_demands(struct flow_setup *s, const struct flow *flow,
	struct demand **out, uint32_t *n)
{
	struct arena *arena = s->unit->arena;
	struct demands d = {.s = s, .flow = flow};

	*out = NULL;
	*n = 0;
	if (s->trivial || !flow->nedges)
		return;
	d.own_at = ARENA_NEW(arena, struct bits, s->facts.n);
	d.foreign_at = ARENA_NEW(arena, struct bits, s->facts.n);
	d.meets_own = ARENA_NEW(arena, struct bits, s->facts.n);
	d.meets_foreign = ARENA_NEW(arena, struct bits, s->facts.n);
	d.asked = ARENA_NEW(arena, bool, s->facts.n);
	d.seen_block = ARENA_NEW(arena, uint32_t, s->unit->cfg.n);
	d.seen_site = ARENA_NEW(arena, uint32_t, s->handoffs.n);
	find_asked(&d);
	find_pending(&d);
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
		if (fact->sibling[FORM_INFLIGHT] != NONE && bits_any(d.meets_foreign[f]))
			waiting_side(&d, f, true);
	}
	*out = d.v;
	*n = d.n;
}
