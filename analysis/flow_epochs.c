/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the state of the flow at fences, releases, acquires and edges. Out: what leaders have fenced
 * for others. Invariant: a fact goes by a leader's fence only if its access happens before that
 * fence in whatever thread made it, and the fence before all that follows.
 */
#include "analysis/flow_state.h"

/* Of all leaders the bits of the spaces that a fence settles for whoever it acquired from: a release
 * half works for what its own thread did. */
static uint32_t cover_mask(enum fence_kind kind)
{
	const uint32_t shared = 0x55555555, global = 0xaaaaaaaa;
	uint8_t width = kind == FENCE_GENERIC_RELEASE ? 0 : fence_width(kind);

	return (width & SPACE_SHARED ? shared : 0) | (width & SPACE_GLOBAL ? global : 0);
}

void epochs_fence(struct flow_setup *s, enum fence_kind kind, uint32_t leaders)
{
	for (uint32_t e = 0; e < s->leaders.nepochs; e++)
		s->now.uncovered[e] &= ~(cover_mask(kind) & leaders);
}

static const struct arrivers *arrivers_at(const struct flow_setup *s, uint32_t site)
{
	const struct leaders *l = &s->leaders;

	return l->arrives && l->arrives[site] < ARRIVERS_MAX ? &l->arrivers[l->arrives[site]]
							     : NULL;
}

static struct bits fresh_at(const struct flow_setup *s, uint32_t site, uint32_t epoch)
{
	uint32_t end = s->end_of[site * EPOCHS_MAX + epoch];

	return (struct bits){s->end_fresh + (size_t)end * s->set_words, s->set_words};
}

static uint32_t *uncovered_at(const struct flow_setup *s, uint32_t site, uint32_t epoch)
{
	return &s->end_uncovered[s->end_of[site * EPOCHS_MAX + epoch]];
}

/* The epochs that end at a release for whoever hears it. Some of those that a barrier of all
 * threads hears are no such barriers themselves (other ids that may be the same, exits). */
static uint32_t ending(const struct flow_setup *s, uint32_t release)
{
	const struct ids *to = &s->handoffs.to[release];

	for (uint32_t i = 0; i < to->n; i++)
		if (s->handoffs.sites[to->v[i]].full)
			return s->leaders.begins[release] | 1;
	return s->leaders.begins[release];
}

void epochs_new(struct flow_setup *s)
{
	struct arena *arena = s->unit->arena;
	uint32_t n = s->handoffs.n;

	s->watched = ARENA_NEW(arena, uint8_t, n);
	s->end_of = ARENA_NEW(arena, uint32_t, (size_t)n * EPOCHS_MAX);
	s->nends = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct arrivers *a = arrivers_at(s, i);

		s->watched[i] = (uint8_t)(ending(s, i) | (a ? a->may_keep : 0));
		for (uint32_t e = 0; e < s->leaders.nepochs; e++)
			if (s->watched[i] >> e & 1)
				s->end_of[i * EPOCHS_MAX + e] = s->nends++;
	}
	s->sets = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t e = s->leaders.epoch_of[i];

		s->sets |= e && e < EPOCHS_MAX ? UINT32_C(1) << e : s->handoffs.sites[i].warp;
	}
	s->entered = ARENA_NEW(arena, uint64_t, (size_t)s->leaders.nepochs * s->set_words);
	s->end_fresh = ARENA_NEW(arena, uint64_t, (size_t)s->nends * s->set_words);
	s->end_uncovered = ARENA_NEW(arena, uint32_t, s->nends);
}

void epochs_reset(struct flow_setup *s)
{
	memset(s->end_fresh, 0, (size_t)s->nends * s->set_words * sizeof(*s->end_fresh));
	memset(s->end_uncovered, 0, s->nends * sizeof(*s->end_uncovered));
	memset(s->entered, 0, (size_t)s->leaders.nepochs * s->set_words * sizeof(*s->entered));
}

/* ---- barriers of sets ---- */

static struct bits entered_by(const struct flow_setup *s, uint32_t epoch)
{
	return (struct bits){s->entered + (size_t)epoch * s->set_words, s->set_words};
}

/*
 * All of a set pass its barrier, so what one of them did before is in his own set there, if no fence of his
 * has covered it; that others of the set had heard of it does not matter. What was done outside the set came
 * in by a hand-off of another kind. A warp is such a set, and bar.warp.sync its barrier: number 0.
 */
struct bits epochs_entered(const struct flow_setup *s, uint32_t site)
{
	uint32_t e = s->leaders.epoch_of[site];

	if (s->handoffs.sites[site].warp)
		return entered_by(s, 0);
	return e && e < EPOCHS_MAX ? entered_by(s, e) : (struct bits){0};
}

bool epochs_reset_by_set(struct flow_setup *s, uint32_t site)
{
	struct bits entered = epochs_entered(s, site);

	if (!entered.nwords)
		return false;
	bits_copy(s->scratch, s->now.foreign);
	bits_and_not(s->scratch, entered);
	if (bits_any(s->scratch))
		s->led |= s->handoffs.sites[site].warp ? ASSUME_CONVERGED_WARP
						       : s->leaders.assumptions;
	return true;
}

void epochs_enter(struct flow_setup *s, uint32_t site, struct bits set)
{
	if (!s->sets || !bits_any(set))
		return;
	for (uint32_t sets = leaders_enter(&s->leaders, site) & s->sets; sets; sets &= sets - 1) {
		uint32_t e = (uint32_t)__builtin_ctz(sets);

		if (!bits_or(entered_by(s, e), set))
			continue;
		for (uint32_t i = 0; i < s->handoffs.n; i++)
			if (e ? s->leaders.epoch_of[i] == e : s->handoffs.sites[i].warp)
				flow_mark_dirty(s, s->handoffs.sites[i].block);
	}
}

/* ---- fences of leaders ---- */

/* Whoever waits for one of the arrivals waits for all of them. */
static void wake(struct flow_setup *s, const struct arrivers *a)
{
	for (uint32_t i = 0; i < a->sites.n; i++) {
		const struct ids *to = &s->handoffs.to[a->sites.v[i]];

		for (uint32_t k = 0; k < to->n; k++)
			flow_mark_dirty(s, s->handoffs.sites[to->v[k]].block);
	}
}

bool epochs_release(struct flow_setup *s, uint32_t number)
{
	const struct arrivers *a = arrivers_at(s, number);
	bool widened = false;

	for (uint32_t e = 0; e < s->leaders.nepochs; e++) {
		if (!(s->watched[number] >> e & 1))
			continue;
		uint32_t *uncovered = uncovered_at(s, number, e);

		widened |= bits_or(fresh_at(s, number, e), s->now.fresh[e]);
		widened |= (s->now.uncovered[e] & ~*uncovered) != 0;
		*uncovered |= s->now.uncovered[e];
		/* a fence before the arrive says nothing about what others do until the next
		 * barrier */
		if (!a)
			s->now.uncovered[e] = UINT32_MAX;
	}
	if (widened && a)
		wake(s, a);
	return widened;
}

/* For every set of threads of the epoch some leader, of those `among` whom it is looked for, has
 * fenced on every way to the sites. */
static uint32_t covered_spaces(
	const struct flow_setup *s, const struct epoch *e, uint32_t among, uint32_t uncovered)
{
	uint32_t covered = 3;

	for (uint32_t g = 0; g < e->ngroups; g++) {
		uint32_t any = 0;

		for (uint32_t l = 0; l < s->leaders.n; l++)
			if (e->members[g] & among & (UINT32_C(1) << l))
				any |= ~(uncovered >> (2 * l)) & 3;
		covered &= any;
	}
	return covered;
}

/* Into `out` the facts of the spaces. */
static void facts_of(const struct flow_setup *s, uint32_t spaces, struct bits out)
{
	bits_zero(out);
	if (spaces & 1)
		bits_or(out, s->facts.shared);
	if (spaces & 2)
		bits_or(out, s->facts.global);
}

/* Facts that a leader has fenced for everybody, into `suppressed`: every thread of the epoch had
 * handed them over when it began, a fence has since run in one that takes part for certain, and
 * nobody has made or acquired them anew. G -> barrier -> fence -> this barrier -> A is then ordered
 * (ptx-proxies 1.2: any thread of the block of A may fence). */
static void add_suppressed(struct flow_setup *s, uint32_t acquire, uint32_t e)
{
	const struct ids *from = &s->handoffs.from[acquire];
	/* those of a part of all threads may not be there where all meet */
	bool there = !e || !s->handoffs.sites[acquire].full || s->leaders.counted[acquire] >> e & 1;
	uint32_t among = there ? UINT32_MAX : s->leaders.epochs[0].members[0];
	uint32_t covered, uncovered = 0;

	for (uint32_t i = 0; i < from->n; i++) {
		if (s->handoffs.sites[from->v[i]].is_exit ||
			(e && !(s->leaders.begins[from->v[i]] >> e & 1)))
			return;
		uncovered |= *uncovered_at(s, from->v[i], e);
	}
	covered = covered_spaces(s, &s->leaders.epochs[e], among, uncovered);
	if (!covered)
		return;
	facts_of(s, covered, s->scratch);
	for (uint32_t i = 0; i < from->n; i++)
		bits_and_not(s->scratch, fresh_at(s, from->v[i], e));
	bits_or(s->suppressed, s->scratch);
}

/* Another CTA still wants a fence of its own (spec 3.3): for it the facts stay, as fenced ones. */
static void fence_for_all(struct flow_setup *s, struct bits set)
{
	flow_fenced_siblings(s, set, s->suppressed, set);
	bits_and_not(set, s->suppressed);
}

/* Takes the suppressed facts out of the state and out of what is received, of which the rest is
 * given back. */
static struct bits suppress(struct flow_setup *s, struct bits received)
{
	if (bits_meet(received, s->suppressed))
		s->led |= s->leaders.assumptions;
	fence_for_all(s, s->now.own);
	fence_for_all(s, s->now.foreign);
	for (uint32_t l = 0; l < s->nliterals; l++) {
		fence_for_all(s, s->now.own_if[l]);
		fence_for_all(s, s->now.foreign_if[l]);
	}
	bits_copy(s->scratch2, received);
	fence_for_all(s, s->scratch2);
	return s->scratch2;
}

/* Into `suppressed` what an arrive sends that a leader has fenced: since its thread last met the
 * leader it has neither made nor acquired it, and no phase is complete before the leader, behind
 * its fence, has arrived as well. */
static void find_led(
	struct flow_setup *s, const struct arrivers *a, uint32_t epochs, uint32_t arrive)
{
	bits_zero(s->suppressed);
	for (uint32_t e = 1; e < s->leaders.nepochs; e++) {
		uint32_t uncovered = 0;

		if (!(epochs >> e & 1))
			continue;
		for (uint32_t i = 0; i < a->sites.n; i++)
			uncovered |= *uncovered_at(s, a->sites.v[i], e);
		facts_of(s, covered_spaces(s, &a->led[e], UINT32_MAX, uncovered), s->scratch);
		bits_and_not(s->scratch, fresh_at(s, arrive, e));
		bits_or(s->suppressed, s->scratch);
	}
}

/* The same of what has been sent; whether those who arrive keep step is asked only where it
 * matters. */
static void take_led(
	struct flow_setup *s, const struct arrivers *a, uint32_t arrive, struct bits sent)
{
	find_led(s, a, a->may_keep, arrive);
	if (!bits_meet(sent, s->suppressed))
		return;
	struct keeping keeping = arrivals_keep(&s->leaders, a);

	find_led(s, a, keeping.epochs, arrive);
	if (!bits_meet(sent, s->suppressed))
		return;
	s->led |= s->leaders.assumptions | keeping.assumptions;
	fence_for_all(s, sent);
}

/* What a wait receives, without what leaders have fenced for those who arrived. */
static struct bits receive_led(struct flow_setup *s, const struct ids *from)
{
	struct bits sent = s->scratch3;

	bits_zero(s->scratch2);
	for (uint32_t i = 0; i < from->n; i++) {
		const struct arrivers *a = arrivers_at(s, from->v[i]);

		bits_copy(sent, s->sent_own[from->v[i]]);
		bits_or(sent, s->sent_foreign[from->v[i]]);
		if (a)
			take_led(s, a, from->v[i], sent);
		bits_or(s->scratch2, sent);
	}
	return s->scratch2;
}

/* Epochs begin here; into the others comes what was received. Into that of all threads only what is
 * not in somebody's own set. */
static void start_epochs(
	struct flow_setup *s, const struct sync_site *site, uint32_t begins, struct bits received)
{
	uint32_t absent = leaders_spread(s->leaders.cannot[site->block]);

	for (uint32_t k = 0; k < s->leaders.nepochs; k++) {
		if (begins >> k & 1) {
			bits_zero(s->now.fresh[k]);
			s->now.uncovered[k] = ~absent;
		} else if (k) {
			bits_or(s->now.fresh[k], received);
		} else {
			bits_copy(s->scratch, received);
			bits_and(s->scratch, s->deferred);
			bits_or(s->now.fresh[0], s->scratch);
		}
	}
}

struct bits epochs_acquire(struct flow_setup *s, uint32_t number, struct bits received)
{
	const struct sync_site *site = &s->handoffs.sites[number];
	const struct ids *from = &s->handoffs.from[number];
	uint32_t begins = s->leaders.begins[number];
	bool led = false;

	bits_zero(s->suppressed);
	for (uint32_t e = 0; e < s->leaders.nepochs; e++)
		if (begins >> e & 1 && (e || site->resets))
			add_suppressed(s, number, e);
	if (bits_any(s->suppressed))
		received = suppress(s, received);
	for (uint32_t i = 0; i < from->n && !led; i++)
		led = arrivers_at(s, from->v[i]) != NULL;
	if (led)
		received = receive_led(s, from);
	start_epochs(s, site, begins, received);
	return received;
}

uint32_t epochs_absent(const struct flow_setup *s, uint32_t from, uint32_t i)
{
	uint32_t to = s->unit->cfg.blocks[from].succ.v[i];
	uint32_t absent = s->leaders.cannot[to] | (i < 2 ? s->leaders.not_along[from][i] : 0);

	return absent;
}

bool epochs_join(struct flow_setup *s, const uint32_t *uncovered, uint32_t absent, uint32_t *there)
{
	/* for leaders that do not come this way anything is true of it */
	uint32_t come = ~leaders_spread(absent), some = 0;

	for (uint32_t e = 0; e < s->leaders.nepochs; e++) {
		some |= uncovered[e] & come & ~there[e];
		there[e] |= uncovered[e] & come;
	}
	return some != 0;
}
