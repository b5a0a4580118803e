/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the latest run of the flow. Out: the edges that come where some fences, planned or of the
 * text, are gone or cover less, found by going on from its state. A fence takes facts away, each by itself, or
 * puts their FENCED forms there, so a run with fewer fences has all that was there and more, but
 * for such forms; what these lead to was there before. Only blocks to which more comes are looked
 * at again. Invariant: behind it the state is that of the latest run, as before: what is joined into is kept first.
 */
#include "analysis/flow_state.h"

#define SAVED_MOST (UINT64_C(1) << 22) /* words of the sets of all blocks and sites */

/* As if each block had a row of its own. */
static uint64_t row_space(const struct flow_setup *s)
{
	return (uint64_t)s->unit->cfg.n * s->row_words;
}

static uint64_t site_space(const struct flow_setup *s)
{
	return ((uint64_t)s->handoffs.n * flow_site_sets(s) + s->nends + s->leaders.nepochs) * s->set_words;
}

static void copy_words(uint64_t *saved, uint64_t *words, uint64_t n, bool away)
{
	memcpy(away ? saved : words, away ? words : saved, n * sizeof(*words));
}

/* What is kept by site: `away` to be saved, or back. */
static void copy_sites(struct flow_setup *s, bool away)
{
	uint64_t sent = (uint64_t)s->handoffs.n * flow_site_sets(s) * s->set_words;
	uint64_t fresh = (uint64_t)s->nends * s->set_words;
	uint64_t *saved = s->saved;
	size_t uncovered = s->nends * sizeof(*s->end_uncovered);

	copy_words(saved, s->sent, sent, away);
	copy_words(saved + sent, s->end_fresh, fresh, away);
	copy_words(saved + sent + fresh, s->entered, (uint64_t)s->leaders.nepochs * s->set_words, away);
	memcpy(away ? s->saved_uncovered : s->end_uncovered,
		away ? s->end_uncovered : s->saved_uncovered, uncovered);
}

static uint64_t *kept_words(const struct flow_setup *s, uint32_t i)
{
	return s->kept.words[i / KEPT_ROWS] + (size_t)(i % KEPT_ROWS) * s->row_words;
}

void flow_keep_row(struct flow_setup *s, uint32_t row)
{
	struct kept_rows *kept = &s->kept;

	if (kept->n == kept->npieces * KEPT_ROWS) {
		uint64_t *piece = ARENA_UNSET(s->arena, uint64_t, (size_t)KEPT_ROWS * s->row_words);

		ARENA_PUSH(s->arena, kept->words, kept->npieces, kept->pieces_cap, piece);
	}
	bits_set(kept->there, row);
	memcpy(kept_words(s, kept->n), flow_words(s, row), s->row_words * sizeof(uint64_t));
	ARENA_PUSH(s->arena, kept->rows, kept->n, kept->cap, row);
}

static void forget_kept(struct flow_setup *s)
{
	struct kept_rows *kept = &s->kept;

	for (uint32_t i = 0; i < kept->npieces; i++)
		ARENA_GIVE_BACK(s->arena, kept->words[i], (size_t)KEPT_ROWS * s->row_words);
	ARENA_GIVE_BACK(s->arena, kept->words, kept->pieces_cap);
	ARENA_GIVE_BACK(s->arena, kept->rows, kept->cap);
	ARENA_GIVE_BACK(s->arena, kept->there.words, kept->there.nwords);
	*kept = (struct kept_rows){0};
}

void flow_forget_saved(struct flow_setup *s)
{
	if (!s->saved)
		return;
	forget_kept(s);
	ARENA_GIVE_BACK(s->arena, s->saved, site_space(s));
	ARENA_GIVE_BACK(s->arena, s->saved_uncovered, s->nends);
	s->saved = NULL;
}

/* Once for all that is asked of one run. */
static void save(struct flow_setup *s)
{
	if (s->has_saved)
		return;
	if (!s->saved) {
		s->saved = ARENA_UNSET(s->arena, uint64_t, site_space(s));
		s->saved_uncovered = ARENA_NEW(s->arena, uint32_t, s->nends);
		s->kept.there = bits_new(s->arena, s->rows.cap);
	}
	copy_sites(s, true);
	s->has_saved = true;
}

static void restore(struct flow_setup *s)
{
	struct kept_rows *kept = &s->kept;

	for (uint32_t i = 0; i < kept->n; i++) {
		memcpy(flow_words(s, kept->rows[i]), kept_words(s, i), s->row_words * sizeof(uint64_t));
		bits_clear(kept->there, kept->rows[i]);
	}
	kept->n = 0;
	copy_sites(s, false);
}

/* The event of a planned fence: of two at one instruction the one behind it comes last. */
static struct event *event_of(const struct flow_setup *s, const struct placed_fence *fence)
{
	uint32_t b = s->unit->cfg.block_of[fence->before];
	struct event *found = NULL;

	if (b == NONE)
		return NULL;
	for (uint32_t e = flow_first(s, b); e < flow_end(s, b); e++) {
		if (s->events[e].kind != EVENT_PLACED || s->events[e].insn != fence->before ||
			s->events[e].fence != fence->kind)
			continue;
		found = &s->merged[e];
		if (!fence->behind)
			break;
	}
	return found;
}

bool flow_can_lose(const struct flow_setup *s)
{
	return !s->trivial && row_space(s) + site_space(s) <= SAVED_MOST;
}

/* The edges of blocks that were run or to which more has come. */
static void collect(struct flow_setup *s, struct bits ran, struct flow *flow)
{
	struct edge *edges = s->brief_edges;
	uint32_t cap = s->brief_cap;

	*flow = (struct flow){.incomplete = s->unit->budget->spent};
	s->brief_edges = s->less_edges; /* those of the latest run are still looked at */
	s->brief_cap = s->less_cap;
	flow_collect_edges(s, ran, flow);
	s->less_edges = s->brief_edges;
	s->less_cap = s->brief_cap;
	s->brief_edges = edges;
	s->brief_cap = cap;
}

static void go_back(struct flow_setup *s, struct bits ran, uint32_t led)
{
	s->goes_back = false;
	restore(s);
	ARENA_GIVE_BACK(s->unit->arena, ran.words, ran.nwords);
	s->led = led;
}

/* Goes on through the dirty blocks, and back. */
static void run_on(struct flow_setup *s, struct flow *flow)
{
	struct bits ran = bits_new(s->unit->arena, s->unit->cfg.n);
	uint32_t led = s->led;

	bits_zero(s->rows.grew);
	s->goes_back = true;
	flow_run(s, ran);
	collect(s, ran, flow);
	go_back(s, ran, led);
}

/* Nothing is left to be run. */
static void drop_rest(struct flow_setup *s)
{
	memset(s->dirty, 0, (s->unit->cfg.n + 63) / 64 * sizeof(*s->dirty));
	bits_zero(s->rows.turns);
	bits_zero(s->rows.pending);
}

static bool any_asked(const struct flow *flow, flow_question *asked, const void *data)
{
	for (uint32_t i = 0; i < flow->nedges; i++)
		if (asked(data, &flow->edges[i]))
			return true;
	return flow->incomplete;
}

#define TURNS_FIRST 16 /* of blocks, before edges are looked at; then twice as many */

/* The same until there is such an edge: sets only grow, so that it is there in the end as well. */
static bool run_until(struct flow_setup *s, flow_question *asked, const void *data)
{
	struct bits ran = bits_new(s->unit->arena, s->unit->cfg.n);
	uint32_t led = s->led, turns = TURNS_FIRST;
	bool found = false, ends = false;
	struct flow flow;

	bits_zero(s->rows.grew);
	s->goes_back = true;
	for (; !found && !ends; turns *= 2) {
		ends = flow_run_some(s, ran, turns);
		collect(s, ran, &flow);
		found = any_asked(&flow, asked, data);
	}
	found |= s->loads_stay_open && (s->led & ~led); /* it is another assumption that leaves none then */
	drop_rest(s);
	go_back(s, ran, led);
	return found;
}

void flow_solve_less(struct flow_setup *s, const struct placed_fence *fences, const uint8_t *left,
	uint32_t n, struct flow *flow)
{
	struct event **events = ARENA_NEW(s->unit->arena, struct event *, n);

	save(s);
	for (uint32_t i = 0; i < n; i++)
		events[i] = event_of(s, &fences[i]);
	for (uint32_t i = 0; i < n; i++) {
		if (!events[i])
			continue;
		events[i]->fence = left[i];
		flow_mark_dirty(s, s->unit->cfg.block_of[fences[i].before]);
	}
	s->every = s->own_only; /* whose edge it is may change, too */
	run_on(s, flow);
	s->every = false;
	for (uint32_t i = 0; i < n; i++)
		if (events[i])
			events[i]->fence = fences[i].kind;
}

static void mark_dirty(struct flow_setup *s, const uint32_t *insns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (s->unit->cfg.block_of[insns[i]] != NONE)
			flow_mark_dirty(s, s->unit->cfg.block_of[insns[i]]);
}

void flow_solve_taken(struct flow_setup *s, const uint8_t *existing, const uint32_t *insns,
	uint32_t n, struct flow *flow)
{
	const uint8_t *before = s->existing;

	save(s);
	s->existing = existing;
	mark_dirty(s, insns, n);
	run_on(s, flow);
	s->existing = before;
}

bool flow_taken_shows(struct flow_setup *s, const uint8_t *existing, const uint32_t *insns,
	uint32_t n, flow_question *asked, const void *data)
{
	const uint8_t *before = s->existing;

	save(s);
	s->existing = existing;
	mark_dirty(s, insns, n);
	bool shows = run_until(s, asked, data);

	s->existing = before;
	return shows;
}

static bool marks_completions(struct flow_setup *s)
{
	bool any = false;

	for (uint32_t b = 0; b < s->unit->cfg.n; b++) {
		bool here = false;

		for (uint32_t e = flow_first(s, b); e < flow_end(s, b); e++)
			here |= s->events[e].kind == EVENT_COMPLETE;
		if (here)
			flow_mark_dirty(s, b);
		any |= here;
	}
	return any;
}

bool flow_open_loads_show(struct flow_setup *s, flow_question *asked, const void *data)
{
	bool brief = s->brief;

	if (s->trivial || s->too_large || !s->complete)
		return false;
	if (!flow_can_lose(s))
		return true;
	if (!marks_completions(s))
		return false;
	save(s);
	s->brief = s->loads_stay_open = true;
	bool shows = run_until(s, asked, data);

	s->loads_stay_open = false;
	s->brief = brief;
	return shows;
}

static bool has_fence(const struct flow_setup *s, uint32_t b)
{
	for (uint32_t e = flow_first(s, b); e < flow_end(s, b); e++)
		if (s->events[e].kind == EVENT_FENCE || s->events[e].kind == EVENT_PLACED)
			return true;
	return false;
}

void flow_solve_own(struct flow_setup *s, const uint8_t *existing, struct flow *flow)
{
	flow->run = ++s->run;
	if (s->trivial)
		return;
	s->existing = existing;
	s->brief = s->own_only = true;
	s->has_saved = false;
	for (uint32_t b = 0; b < s->unit->cfg.n; b++)
		if (flow_reached(s, b) && has_fence(s, b))
			flow_mark_dirty(s, b);
	flow_run(s, (struct bits){0});
	flow->incomplete = s->unit->budget->spent;
	flow->edges = NULL;
	flow->nedges = 0;
	flow_collect_edges(s, (struct bits){0}, flow);
}

bool flow_leave_taken(
	struct flow_setup *s, const uint8_t *existing, const uint32_t *insns, uint32_t n)
{
	s->existing = existing;
	mark_dirty(s, insns, n);
	flow_run(s, (struct bits){0});
	s->has_saved = false;
	return !s->unit->budget->spent;
}
