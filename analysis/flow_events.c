/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a unit with its accesses and hand-offs. Out: per block the events that the flow looks at, and
 * the sets of the solver. Ten thousand
 * instructions become a few hundred events. Invariant: what changes or reads the state of the flow
 * is an event.
 */
#include "analysis/commits.h"
#include "analysis/rounds.h"

#include <stdlib.h>

/* ---- events ---- */

struct event_list {
	struct event *v;
	uint32_t n, cap;
};

static void event_add(const struct flow_setup *s, struct event_list *list, struct event e)
{
	e.holds = NO_LITERAL;
	ARENA_PUSH(s->unit->arena, list->v, list->n, list->cap, e);
}

static bool stands_alone(const struct flow_setup *s, uint32_t access)
{
	return !s->facts.groups || groups_members(s->facts.groups, access).n == 1;
}

/* A load of its own, of which one may say that it is complete. */
static bool is_single_load(const struct flow_setup *s, uint32_t fact)
{
	const struct access *g = &s->unit->accesses.v[s->facts.v[fact].access];

	return s->facts.v[fact].form == FORM_PENDING && !g->writes && !g->cp_async && !g->call &&
	       stands_alone(s, s->facts.v[fact].access); /* else others may not be complete */
}

static void add_completions(const struct flow_setup *s, struct ids *at, struct arena *arena,
	struct loads *loads, uint32_t fact)
{
	struct ids ends =
		load_completed_at(loads, s->unit->accesses.v[s->facts.v[fact].access].insn);

	for (uint32_t i = 0; i < ends.n; i++) {
		struct ids *list = &at[ends.v[i]];
		uint32_t *v = ARENA_NEW(arena, uint32_t, list->n + 1);

		if (list->n)
			memcpy(v, list->v, list->n * sizeof(*v));
		v[list->n] = fact;
		*list = (struct ids){v, list->n + 1};
	}
}

/* For each instruction the load facts that are complete there; NULL: none are. */
static struct ids *load_completions(struct flow_setup *s)
{
	struct unit *unit = s->unit;
	struct arena *arena = unit->arena, stage;
	uint32_t *facts = NULL, *insns = NULL, n = 0, cap = 0, insns_cap = 0, ninsns = 0;
	struct ids *at = NULL;

	if (!(unit->options->assume & ASSUME_CONSUMED_LOADS))
		return NULL;
	unit_begin(unit, &stage);
	for (uint32_t f = 0; f < s->facts.n; f++) {
		if (!is_single_load(s, f))
			continue;
		ARENA_PUSH(unit->arena, facts, n, cap, f);
		ARENA_PUSH(unit->arena, insns, ninsns, insns_cap,
			unit->accesses.v[s->facts.v[f].access].insn);
	}
	struct loads *loads = n ? loads_prepare(unit, (struct ids){insns, ninsns}) : NULL;

	if (n)
		at = ARENA_NEW(arena, struct ids, unit->fn->ninsns + 1);
	for (uint32_t i = 0; i < n; i++)
		add_completions(s, at, arena, loads, facts[i]);
	unit_end(unit);
	return at;
}

static bool has_facts(const struct flow_setup *s, uint32_t access)
{
	uint32_t own = facts_access(&s->facts, access);

	return s->facts.first_of[own] < s->facts.first_of[own + 1];
}

/* Without literals, which are the one kind that depends on the fences in force. */
static void events_of_insn(
	const struct flow_setup *s, struct event_list *list, uint32_t i, uint32_t *next_access)
{
	const struct unit *unit = s->unit;
	const struct effect *e = unit->effects[i];
	const struct access *v = unit->accesses.v;
	uint32_t first = *next_access, end, site = s->handoffs.site_of[i];

	for (end = first; end < unit->accesses.n && v[end].insn == i; end++)
		;
	*next_access = end;
	if (s->complete && s->complete[i].n)
		event_add(s, list, (struct event){.insn = i, .kind = EVENT_COMPLETE});
	/* the half that acquires settles what it acquires itself, behind a relaxed wait */
	if (e->fence != FENCE_NONE && e->fence != FENCE_GENERIC_ACQUIRE)
		event_add(s, list, (struct event){.insn = i, .kind = EVENT_FENCE});
	for (uint32_t k = first; k < end; k++)
		if (v[k].proxy == PROXY_GENERIC && has_facts(s, k))
			event_add(
				s, list, (struct event){.insn = i, .kind = EVENT_ACCESS, .arg = k});
	if (e->sync == SYNC_CPASYNC_WAIT)
		event_add(s, list, (struct event){.insn = i, .kind = EVENT_WAIT});
	if (site != NONE && s->handoffs.sites[site].releases)
		event_add(s, list, (struct event){.insn = i, .kind = EVENT_RELEASE, .arg = site});
	if (site != NONE && s->handoffs.sites[site].acquires)
		event_add(s, list, (struct event){.insn = i, .kind = EVENT_ACQUIRE, .arg = site});
	if (e->fence == FENCE_GENERIC_ACQUIRE)
		event_add(s, list, (struct event){.insn = i, .kind = EVENT_FENCE});
	for (uint32_t k = first; k < end; k++)
		if (v[k].proxy == PROXY_ASYNC && s->facts.row[k])
			event_add(
				s, list, (struct event){.insn = i, .kind = EVENT_ASYNC, .arg = k});
}

static void collect_events(struct flow_setup *s)
{
	struct unit *unit = s->unit;
	struct event_list list = {0};
	uint32_t *first = ARENA_UNSET(unit->arena, uint32_t, unit->cfg.n + 1);

	for (uint32_t b = 0; b < unit->cfg.n; b++) {
		const struct block *block = &unit->cfg.blocks[b];
		uint32_t next = access_first(&unit->accesses, block->first);

		first[b] = list.n;
		for (uint32_t k = 0; k < block->nactive; k++)
			events_of_insn(s, &list, unit->cfg.active.v[block->active + k], &next);
		if (s->handoffs.exit_of[b] != NONE)
			event_add(s, &list,
				(struct event){.insn = block->first + block->count,
					.kind = EVENT_RELEASE,
					.arg = s->handoffs.exit_of[b]});
	}
	first[unit->cfg.n] = list.n;
	ARENA_TRIM(unit->arena, list.v, list.n, list.cap);
	s->plain = s->base = list.v;
	s->plain_of = s->base_of = first;
}

/* ---- literals ---- */

static uint32_t change_from(const struct literal_changes *changes, uint32_t insn)
{
	uint32_t lo = 0, hi = changes->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (changes->v[mid].insn < insn)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The changes before `end` that come before an event, or all where that is NULL. */
static uint32_t add_changes(const struct flow_setup *s, struct event_list *list,
	const struct literal_changes *changes, uint32_t c, const struct event *before, uint32_t end)
{
	for (; c < changes->n; c++) {
		struct event e = {.insn = changes->v[c].insn,
			.kind = EVENT_LITERAL,
			.arg = changes->v[c].literal};

		if (e.insn >= end ||
			(before && (e.insn > before->insn ||
					   (e.insn == before->insn && e.kind > before->kind))))
			break;
		event_add(s, list, e);
	}
	return c;
}

/* Which literal holds at each event, the events at which literals change, and which holds behind
 * each branch. */
static void add_literals(struct flow_setup *s)
{
	struct unit *unit = s->unit;
	struct literal_changes changes = flow_literal_changes(s);
	struct event_list list = {0};
	uint32_t *first = ARENA_UNSET(unit->arena, uint32_t, unit->cfg.n + 1);

	for (uint32_t b = 0; b < unit->cfg.n; b++) {
		const struct block *block = &unit->cfg.blocks[b];
		uint32_t c = change_from(&changes, block->first), end = block->first + block->count;

		first[b] = list.n;
		for (uint32_t e = s->plain_of[b]; e < s->plain_of[b + 1]; e++) {
			const struct event *event = &s->plain[e];

			c = add_changes(s, &list, &changes, c, event, end);
			event_add(s, &list, *event);
			if (event->insn < end)
				list.v[list.n - 1].holds = flow_literal(s, event->insn);
		}
		add_changes(s, &list, &changes, c, NULL, end);
		if (block->succ.n == 2 && block->count)
			s->taken[b] = flow_literal(s, flow_last_insn(block));
	}
	first[unit->cfg.n] = list.n;
	ARENA_TRIM(unit->arena, list.v, list.n, list.cap);
	s->base = list.v;
	s->base_of = first;
}

/* ---- planned fences ---- */

static int placed_order(const void *a, const void *b)
{
	const struct placed_fence *x = a, *y = b;

	if (x->before != y->before)
		return x->before < y->before ? -1 : 1;
	return (int)x->behind - (int)y->behind;
}

static void make_room(struct flow_setup *s, uint32_t nevents)
{
	if (s->events_cap >= nevents)
		return;
	ARENA_GIVE_BACK(s->arena, s->merged, s->events_cap);
	s->events_cap = nevents + 64;
	s->merged = ARENA_UNSET(s->arena, struct event, s->events_cap);
	if (!s->merged_of)
		s->merged_of = ARENA_UNSET(s->arena, uint32_t, s->unit->cfg.n + 1);
}

static void merge_fence(struct flow_setup *s, const struct placed_fence *fence)
{
	s->merged[s->nevents++] = (struct event){.insn = fence->before,
		.kind = EVENT_PLACED,
		.fence = fence->kind,
		.holds = NO_LITERAL};
}

/* A planned fence stands before its instruction, or at the end of the block. */
static void merge_block(
	struct flow_setup *s, uint32_t b, const struct placed_fence *placed, uint32_t nplaced)
{
	const struct block *block = &s->unit->cfg.blocks[b];
	uint32_t p = 0, hi = nplaced, end = block->first + block->count;

	while (p < hi) { /* first planned fence of the block */
		uint32_t mid = p + (hi - p) / 2;

		if (placed[mid].before < block->first)
			p = mid + 1;
		else
			hi = mid;
	}
	s->merged_of[b] = s->nevents;
	for (uint32_t k = s->base_of[b]; k < s->base_of[b + 1]; k++) {
		for (; p < nplaced && placed[p].before < end &&
			placed[p].before <= s->base[k].insn && !placed[p].behind;
			p++)
			merge_fence(s, &placed[p]);
		s->merged[s->nevents++] = s->base[k];
	}
	for (; p < nplaced && placed[p].before < end; p++)
		merge_fence(s, &placed[p]);
}

void flow_merge_events(struct flow_setup *s, const struct fence_view *view)
{
	struct unit *unit = s->unit;
	uint32_t nplaced = view ? view->nplaced : 0, base_n = s->base_of[unit->cfg.n];

	s->nevents = base_n;
	s->events = s->base;
	s->events_of = s->base_of;
	if (!nplaced)
		return;
	struct placed_fence *placed = ARENA_UNSET(unit->arena, struct placed_fence, nplaced);

	memcpy(placed, view->placed, nplaced * sizeof(*placed));
	qsort(placed, nplaced, sizeof(*placed), placed_order);
	make_room(s, base_n + nplaced);
	s->nevents = 0;
	for (uint32_t b = 0; b < unit->cfg.n; b++)
		merge_block(s, b, placed, nplaced);
	ARENA_GIVE_BACK(unit->arena, placed, nplaced);
	s->merged_of[unit->cfg.n] = s->nevents;
	s->events = s->merged;
	s->events_of = s->merged_of;
}

static uint32_t event_of(const struct flow_setup *s, uint32_t site, enum event_kind kind)
{
	const struct sync_site *at = &s->handoffs.sites[site];
	const struct block *block = &s->unit->cfg.blocks[at->block];
	uint32_t insn = at->is_exit ? block->first + block->count : at->insn;
	uint32_t lo = flow_first(s, at->block), hi = flow_end(s, at->block), end = hi;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->events[mid].insn < insn)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < end && s->events[lo].insn == insn; lo++)
		if (s->events[lo].kind == kind && s->events[lo].arg == site)
			return lo;
	return end;
}

uint32_t flow_acquire_event(const struct flow_setup *s, uint32_t site)
{
	return event_of(s, site, EVENT_ACQUIRE);
}

uint32_t flow_release_event(const struct flow_setup *s, uint32_t site)
{
	return event_of(s, site, EVENT_RELEASE);
}

/* ---- setup ---- */

/* A state over a row; `row` may be NULL where there are no words. */
static struct state state_over(const struct flow_setup *s, uint64_t *row)
{
	struct state st = {.row = row};
	uint64_t *at = row;
	uint32_t n = s->set_words;

	st.own = (struct bits){at, n};
	st.foreign = (struct bits){at += n, n};
	for (uint32_t e = 0; e < s->leaders.nepochs; e++)
		st.fresh[e] = (struct bits){at += n, n};
	if (s->limited)
		st.recent = (struct bits){at += n, n};
	for (uint32_t l = 0; l < s->nliterals; l++)
		st.own_if[l] = (struct bits){at += n, n};
	for (uint32_t l = 0; l < s->nliterals; l++)
		st.foreign_if[l] = (struct bits){at += n, n};
	st.possible = flow_marks(s, row);
	st.uncovered = st.possible + 1;
	return st;
}

/* What depends on the literals, and the sets of the solver. */
#define SETS_MAX (UINT64_C(1) << 30) /* bytes that the sets of one function may take */

static uint64_t bytes_of_sets(const struct flow_setup *s)
{
	uint64_t set = (s->facts.n + 63) / 64 * sizeof(uint64_t);

	return set *
	       (s->unit->cfg.n * (4 + 2 * (uint64_t)s->nliterals) + 6 * (uint64_t)s->handoffs.n);
}

/* Twenty thousand accesses in a hundred thousand blocks are more than the sets are made for: first
 * the literals go, which only costs precision; then the function is incomplete. */
static bool fits(struct flow_setup *s)
{
	if (bytes_of_sets(s) > SETS_MAX)
		s->nliterals = 0;
	if (bytes_of_sets(s) <= SETS_MAX)
		return true;
	s->trivial = s->too_large = true;
	return false;
}

/* Behind the acquire foreign facts are exactly those that are sent to it. */
static bool starts_anew(const struct flow_setup *s, uint32_t site)
{
	const struct sync_site *a = &s->handoffs.sites[site];
	uint32_t e = s->leaders.epoch_of[site];

	return a->resets || a->warp || (e && e < EPOCHS_MAX);
}

/* Whoever hears of the release is a thread of the CTA and has passed each barrier of all threads that the
 * releasing one has: what was pending there it knows from there. Where who meets is not known, or some may have
 * left, all is sent, for the sake of what is said of fences. */
static bool is_limited(const struct flow_setup *s, uint32_t site)
{
	const struct sync_site *r = &s->handoffs.sites[site];
	const struct ids *to = &s->handoffs.to[site];

	if ((r->unknown && r->barrier != NONE) || r->crosses || r->cp_async || r->is_exit)
		return false;
	for (uint32_t i = 0; i < to->n; i++)
		if (starts_anew(s, to->v[i]))
			return false;
	return to->n > 0;
}

static void find_limited(struct flow_setup *s)
{
	bool *limited = ARENA_NEW(s->unit->arena, bool, s->handoffs.n + 1), any = false, full = false;

	for (uint32_t i = 0; i < s->handoffs.n; i++) {
		limited[i] = is_limited(s, i);
		any |= limited[i];
		full |= site_takes_all(&s->handoffs.sites[i]);
	}
	/* elsewhere threads may pass such barriers of which nothing is seen here */
	bool seen = !s->unit->nunmodelled && s->unit->module->functions[s->unit->fn->index].is_entry;

	s->limited = any && full && seen ? limited : NULL;
}

static void prepare_rows(struct flow_setup *s)
{
	const struct unit *unit = s->unit;

	s->set_words = (s->facts.n + 63) / 64;
	s->row_words = s->set_words * (flow_plain_sets(s) + 2 * s->nliterals) +
		       (1 + s->leaders.nepochs + 1) / 2;
	s->now = state_over(s, ARENA_NEW(unit->arena, uint64_t, s->row_words));
}

static void prepare_sites(struct flow_setup *s)
{
	struct arena *arena = s->unit->arena;
	uint32_t n = s->set_words;
	uint32_t sets = flow_site_sets(s);
	uint64_t *at = ARENA_NEW(arena, uint64_t, (size_t)sets * n * s->handoffs.n);

	s->sent = at;
	s->sent_own = ARENA_NEW(arena, struct bits, s->handoffs.n);
	s->sent_foreign = ARENA_NEW(arena, struct bits, s->handoffs.n);
	s->received = ARENA_NEW(arena, struct bits, s->handoffs.n);
	if (s->limited) {
		s->sent_recent = ARENA_NEW(arena, struct bits, s->handoffs.n);
		s->received_recent = ARENA_NEW(arena, struct bits, s->handoffs.n);
	}
	for (uint32_t i = 0; i < s->handoffs.n; i++, at += (size_t)sets * n) {
		s->sent_own[i] = (struct bits){at, n};
		s->sent_foreign[i] = (struct bits){at + n, n};
		s->received[i] = (struct bits){at + 2 * n, n};
		if (s->limited) {
			s->sent_recent[i] = (struct bits){at + 3 * n, n};
			s->received_recent[i] = (struct bits){at + 4 * n, n};
		}
	}
	epochs_new(s);
}

static void prepare_sets(struct flow_setup *s)
{
	const struct unit *unit = s->unit;
	struct arena *arena = unit->arena;

	if (!s->plain) {
		s->complete = load_completions(s);
		collect_events(s);
	}
	s->base = s->plain;
	s->base_of = s->plain_of;
	s->taken = ARENA_UNSET(arena, uint8_t, unit->cfg.n);
	memset(s->taken, NO_LITERAL, unit->cfg.n);
	if (s->nliterals)
		add_literals(s);
	find_limited(s);
	prepare_rows(s);
	prepare_sites(s);
	s->scratch = bits_new(arena, s->facts.n);
	s->scratch2 = bits_new(arena, s->facts.n);
	s->scratch3 = bits_new(arena, s->facts.n);
	s->suppressed = bits_new(arena, s->facts.n);
	s->own_here = bits_new(arena, s->facts.n);
	s->dirty = ARENA_NEW(arena, uint64_t, (unit->cfg.n + 63) / 64);
	s->seen = ARENA_NEW(arena, uint32_t, unit->cfg.n);
	s->heard = ARENA_NEW(arena, uint32_t, s->handoffs.n);
	s->hears = bits_new(arena, unit->cfg.n);
	for (uint32_t i = 0; i < s->handoffs.n; i++)
		bits_set(s->hears, s->handoffs.sites[i].block);
	if (s->facts.groups)
		s->known = ARENA_NEW(arena, uint8_t, (size_t)s->facts.groups->nasyncs * s->facts.n);
}

/* What no thread of this CTA may have as its own when it reaches a barrier of all threads: data
 * that an mbarrier hands over when they are complete (cp.async.mbarrier.arrive, st.async), whose
 * thread need not wait and has them in flight, and what came from another CTA. */
static void find_deferred(struct flow_setup *s)
{
	const struct access *v = s->unit->accesses.v;

	s->deferred = bits_new(s->unit->arena, s->facts.n);
	for (uint32_t f = 0; f < s->facts.n; f++)
		if (s->facts.v[f].form == FORM_ARRIVED || s->facts.v[f].form == FORM_WEAK)
			bits_set(s->deferred, f);
	for (uint32_t r = 0; r < s->handoffs.n; r++) {
		const struct sync_site *site = &s->handoffs.sites[r];

		for (uint32_t f = 0; f < s->facts.n && (site->cp_async || site->self); f++) {
			const struct fact *fact = &s->facts.v[f];
			const struct access *g = &v[fact->access];

			if (fact->form != FORM_INFLIGHT && fact->sibling[FORM_INFLIGHT] != NONE &&
				(site->self ? g->insn == site->insn : g->cp_async))
				bits_set(s->deferred, f);
		}
	}
}

static void find_makers(struct flow_setup *s)
{
	struct bits asked = bits_new(s->unit->arena, s->unit->cfg.n);

	for (uint32_t b = 0; b < s->unit->cfg.n; b++)
		for (uint32_t e = s->plain_of[b]; e < s->plain_of[b + 1]; e++)
			if (s->plain[e].kind == EVENT_RELEASE || s->plain[e].kind == EVENT_ASYNC)
				bits_set(asked, b);
	makers_find(s->unit, &s->facts, asked, &s->makers);
}

static void prepare_facts(struct flow_setup *s, bool crossing)
{
	facts_collect(s->unit, crossing, &s->facts);
	value_forget(s->unit->values);
	s->too_large = s->facts.too_many;
	s->trivial = !s->facts.n;
	if (s->trivial)
		return;
	facts_fence_effects(s->unit, &s->facts, s->fence);
	s->uncommitted = commits_missing(s->unit, &s->facts);
}

/* With loads that are complete nowhere first: where they end is dear to find out. */
static bool is_clear(struct flow_setup *s)
{
	collect_events(s);
	if (flow_is_clear_at_worst(s))
		return true;
	s->complete = load_completions(s);
	if (!s->complete)
		return false;
	collect_events(s);
	return flow_is_clear_at_worst(s);
}

struct flow_setup *flow_prepare(struct unit *unit)
{
	struct flow_setup *s = ARENA_NEW(unit->arena, struct flow_setup, 1);

	s->unit = unit;
	s->arena = unit->arena;
	handoff_find(unit, &s->handoffs);
	bool crossing = handoff_may_cross(&s->handoffs);

	if (unit->edges_only) {
		prepare_facts(s, crossing);
		s->trivial = s->trivial || is_clear(s);
		if (s->trivial)
			return s;
	}
	handoff_pair(unit, &s->handoffs);
	value_forget(unit->values);
	if (!unit->edges_only || s->handoffs.any_cross != crossing) {
		s->plain = NULL;
		prepare_facts(s, s->handoffs.any_cross);
	}
	if (s->trivial)
		return s;
	s->rounds = rounds_find(unit, &s->facts);
	find_deferred(s);
	flow_find_literals(s, NULL);
	leaders_find(unit, &s->handoffs, NULL, NULL, &s->leaders);
	if (fits(s)) {
		prepare_sets(s);
		value_forget(unit->values);
		find_makers(s);
		s->stages = own_stages_find(s);
	}
	return s;
}

struct flow_setup *flow_prepare_with(struct flow_setup *from, const struct fence_view *view)
{
	if (from->trivial)
		return from;
	struct flow_setup *s = ARENA_NEW(from->unit->arena, struct flow_setup, 1);

	s->unit = from->unit;
	s->arena = from->unit->arena;
	s->handoffs = from->handoffs;
	s->facts = from->facts;
	s->guards = from->guards;
	s->fences = from->fences;
	s->nfences = from->nfences;
	s->complete = from->complete;
	s->plain = from->plain;
	s->plain_of = from->plain_of;
	s->uncommitted = from->uncommitted;
	s->rounds = from->rounds;
	s->deferred = from->deferred;
	s->stages = from->stages;
	s->makers = from->makers;
	memcpy(s->fence, from->fence, sizeof(s->fence));
	flow_find_literals(s, view);
	leaders_find(s->unit, &s->handoffs, view, &from->leaders, &s->leaders);
	if (bytes_of_sets(s) > SETS_MAX)
		s->nliterals = 0;
	if (flow_same_literals(s, from) && leaders_same(&s->leaders, &from->leaders))
		return from;
	prepare_sets(s);
	return s;
}
