/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the state of the flow at fences, releases, acquires and edges. Out: what leaders have fenced
 * for others. Invariant: a fact goes by a leader's fence only if its access happens before that
 * fence in whatever thread made it, and the fence before all that follows.
 */
#include "analysis/flow_state.h"

/* Of all leaders the bits of the spaces that a fence settles for whoever it acquired from. */
static uint32_t cover_mask(enum fence_kind kind)
{
	const uint32_t shared = 0x55555555, global = 0xaaaaaaaa;

	switch (kind) {
	case FENCE_ASYNC_ALL:
		return shared | global;
	case FENCE_ASYNC_CTA:
	case FENCE_ASYNC_CLUSTER:
		return shared;
	case FENCE_ASYNC_GLOBAL:
		return global;
	case FENCE_NONE:
	case FENCE_GENERIC_RELEASE:
	case FENCE_GENERIC_ACQUIRE:
	case FENCE_GENERIC_RELEASE_READ:
	case FENCE_TENSORMAP_RELEASE:
	case FENCE_TENSORMAP_ACQUIRE:
	case FENCE_MBARRIER_INIT:
	case FENCE_OTHER:
		return 0;
	}
	return 0;
}

void epochs_fence(struct flow_setup *s, enum fence_kind kind, uint32_t leaders)
{
	for (uint32_t e = 0; e < s->leaders.nepochs; e++)
		s->now.uncovered[e] &= ~(cover_mask(kind) & leaders);
}

/* The epoch that ends at a release for whoever hears it; EPOCHS_MAX: none. Some of those that a
 * barrier of all threads hears are no such barriers themselves (other ids that may be the same,
 * exits). */
static uint32_t epoch_ending(const struct flow_setup *s, uint32_t release)
{
	const struct ids *to = &s->handoffs.to[release];

	for (uint32_t i = 0; i < to->n; i++)
		if (s->handoffs.sites[to->v[i]].full)
			return 0;
	return s->leaders.epoch_of[release];
}

bool epochs_release(struct flow_setup *s, uint32_t number)
{
	uint32_t e = epoch_ending(s, number);

	if (e == EPOCHS_MAX)
		return false;
	bool widened = bits_or(s->fresh_at[number], s->now.fresh[e]);

	widened |= (s->now.uncovered[e] & ~s->uncovered_at[number]) != 0;
	s->uncovered_at[number] |= s->now.uncovered[e];
	/* a fence before the arrive says nothing about what others do until the next barrier */
	s->now.uncovered[e] = UINT32_MAX;
	return widened;
}

/* For every set of threads of the epoch some leader has fenced on every way to the sites. */
static uint32_t covered_spaces(
	const struct flow_setup *s, const struct epoch *e, uint32_t uncovered)
{
	uint32_t covered = 3;

	for (uint32_t g = 0; g < e->ngroups; g++) {
		uint32_t any = 0;

		for (uint32_t l = 0; l < s->leaders.n; l++)
			if (e->members[g] >> l & 1)
				any |= ~(uncovered >> (2 * l)) & 3;
		covered &= any;
	}
	return covered;
}

/* Facts that a leader has fenced for everybody, into `suppressed`: every thread of the epoch had
 * handed them over when it began, a fence has since run in one that takes part for certain, and
 * nobody has made or acquired them anew. G -> barrier -> fence -> this barrier -> A is then ordered
 * (ptx-proxies 1.2: any thread of the block of A may fence). */
static void find_suppressed(struct flow_setup *s, uint32_t acquire, uint32_t e)
{
	const struct ids *from = &s->handoffs.from[acquire];
	uint32_t covered, uncovered = 0;

	bits_zero(s->suppressed);
	for (uint32_t i = 0; i < from->n; i++) {
		if (s->handoffs.sites[from->v[i]].is_exit ||
			(e && s->leaders.epoch_of[from->v[i]] != e))
			return;
		uncovered |= s->uncovered_at[from->v[i]];
	}
	covered = covered_spaces(s, &s->leaders.epochs[e], uncovered);
	if (covered & 1)
		bits_or(s->suppressed, s->facts.shared);
	if (covered & 2)
		bits_or(s->suppressed, s->facts.global);
	for (uint32_t i = 0; covered && i < from->n; i++)
		bits_and_not(s->suppressed, s->fresh_at[from->v[i]]);
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
		s->led = true;
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

/* Epoch e begins here, or all do where all threads meet; into the others comes what was received.
 * Into that of all threads only what is not in somebody's own set. */
static void start_epochs(
	struct flow_setup *s, const struct sync_site *site, uint32_t e, struct bits received)
{
	uint32_t absent = leaders_spread(s->leaders.cannot[site->block]);

	for (uint32_t k = 0; k < s->leaders.nepochs; k++) {
		if (k == e || (e == 0 && !site->unknown)) {
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
	bool guarded = s->unit->fn->insns[site->insn].guard != NONE;
	uint32_t e = guarded ? EPOCHS_MAX : s->leaders.epoch_of[number];

	if (e < EPOCHS_MAX && (e || site->resets)) {
		find_suppressed(s, number, e);
		received = suppress(s, received);
	}
	start_epochs(s, site, e, received);
	return received;
}

bool epochs_join(struct flow_setup *s, const uint32_t *uncovered, uint32_t from, uint32_t i)
{
	uint32_t to = s->unit->cfg.blocks[from].succ.v[i];
	/* for leaders that do not come this way anything is true of it */
	uint32_t absent = s->leaders.cannot[to] | (i < 2 ? s->leaders.not_along[from][i] : 0);
	uint32_t *there = flow_marks(s, flow_row(s, to)) + 1, some = 0;

	absent = leaders_spread(absent);
	for (uint32_t e = 0; e < s->leaders.nepochs; e++) {
		some |= uncovered[e] & ~absent & ~there[e];
		there[e] |= uncovered[e] & ~absent;
	}
	return some != 0;
}
