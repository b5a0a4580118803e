/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy flow: a may-analysis from generic accesses to async ones.
 *
 *   state at a point = which facts are pending: done, and not certainly fenced since
 *   access           puts its facts into own
 *   fence            takes out of own and foreign what its width covers
 *   release          sends own and foreign to every acquire it may pair with
 *   acquire          adds what its partners sent to foreign; a barrier of all threads replaces
 *                    foreign by what is pending in somebody's own
 *   async access     meets what is pending: an edge
 *
 * Joins are unions and sets only grow, so the worklist ends; a union may claim a pending access
 * that no real path has, never lose one. Sets with _if[L] are the same facts seen from the threads
 * in which predicate L holds: a fence under L clears only them, a path on which L is false clears
 * them vacuously, so that `if (p) fence` and a later `if (p) bulk store` go together (spec 2.4).
 */
#include "analysis/flow_state.h"

static bool may_hold(const struct flow_setup *s, uint32_t literal)
{
	return *s->now.possible >> literal & 1;
}

/* `fails`: a literal that is certainly false where the fact is made; NO_LITERAL. */
static void set_everywhere(struct flow_setup *s, uint32_t fact, uint32_t fails)
{
	bits_set(s->now.own, fact);
	for (uint32_t e = 0; e < s->leaders.nepochs; e++)
		bits_set(s->now.fresh[e], fact);
	if (s->limited)
		bits_set(s->now.recent, fact);
	for (uint32_t l = 0; l < s->nliterals; l++)
		if (l != fails && may_hold(s, l))
			bits_set(s->now.own_if[l], fact);
}

void flow_fenced_siblings(
	const struct flow_setup *s, struct bits from, struct bits kill, struct bits to)
{
	uint64_t carried = 0;

	for (uint32_t w = 0; s->facts.fenced && w < from.nwords; w++) {
		uint64_t hit = from.words[w] & kill.words[w];
		uint64_t next = hit & s->facts.fenced_next.words[w];
		uint64_t far = hit & s->facts.fenced_far.words[w];

		to.words[w] |= next << 1 | carried;
		carried = next >> 63;
		for (; far; far &= far - 1) {
			uint32_t f = w * 64 + (uint32_t)__builtin_ctzll(far);

			bits_set(to, s->facts.v[f].sibling[FORM_FENCED]);
		}
	}
}

/* to &= a | b */
static void bits_and_either(struct bits to, struct bits a, struct bits b)
{
	for (uint32_t i = 0; i < to.nwords; i++)
		to.words[i] &= a.words[i] | b.words[i];
}

/* `under`: the literal under which it runs; NO_LITERAL where that is none, whether guarded or not.
 */
static void do_fence(
	struct flow_setup *s, enum fence_kind kind, bool always, uint32_t under, uint32_t at)
{
	struct bits kill = s->fence[kind].kill;
	struct state *now = &s->now;

	if (always) {
		flow_fenced_siblings(s, now->own, kill, now->own);
		bits_and_not(now->own, kill);
	}
	if (always && !s->own_only) {
		flow_fenced_siblings(s, now->foreign, kill, now->foreign);
		bits_and_not(now->foreign, kill);
	}
	/* a thread that satisfies another literal may satisfy this one too, and have fenced */
	uint32_t skips = always ? NO_LITERAL : flow_opposite(s, under);

	for (uint32_t l = 0; l < s->nliterals && (always || under != NO_LITERAL); l++) {
		if (l == skips)
			continue;
		flow_fenced_siblings(s, now->own_if[l], kill, now->own_if[l]);
		if (!s->own_only)
			flow_fenced_siblings(s, now->foreign_if[l], kill, now->foreign_if[l]);
		if (!always && l != under)
			continue;
		bits_and_not(now->own_if[l], kill);
		if (!s->own_only)
			bits_and_not(now->foreign_if[l], kill);
	}
	if (!s->own_only)
		epochs_fence(s, kind, always ? UINT32_MAX : leaders_spread(leaders_running(&s->leaders, at)));
	/* every thread satisfies the literal or its opposite */
	if (under != NO_LITERAL) {
		uint32_t other = flow_opposite(s, under);

		bits_or(now->own, now->own_if[under]); /* FENCED forms that it has put in */
		bits_and_either(now->own, now->own_if[under], now->own_if[other]);
		if (!s->own_only) {
			bits_or(now->foreign, now->foreign_if[under]);
			bits_and_either(
				now->foreign, now->foreign_if[under], now->foreign_if[other]);
		}
		/* and what no thread has pending, none has that satisfies another one */
		for (uint32_t l = 0; l < s->nliterals; l++) {
			bits_and(now->own_if[l], now->own);
			bits_and(now->foreign_if[l], now->foreign);
		}
	}
}

static void do_access(struct flow_setup *s, uint32_t access, uint32_t holds)
{
	const struct facts *facts = &s->facts;
	uint32_t fails = flow_opposite(s, holds);
	uint32_t own = facts_access(facts, access);

	for (uint32_t f = facts->first_of[own]; f < facts->first_of[own + 1]; f++) {
		uint32_t inflight = facts->v[f].sibling[FORM_INFLIGHT];

		if (facts->v[f].form == (inflight == NONE ? FORM_PENDING : FORM_INFLIGHT))
			set_everywhere(s, f, fails);
	}
}

static bool waits_for_all(const struct flow_setup *s, uint32_t insn)
{
	const struct effect *e = s->unit->effects[insn];

	if (s->unit->fn->insns[insn].guard != NONE)
		return false;
	if (e->all || e->count_operand == UINT8_MAX)
		return e->all;
	const struct operand *n =
		insn_operand(s->unit->fn, &s->unit->fn->insns[insn], e->count_operand);

	return n && n->kind == OPERAND_IMM && n->imm == 0;
}

static bool is_cp_async(const struct flow_setup *s, uint32_t fact)
{
	return s->unit->accesses.v[s->facts.v[fact].access].cp_async;
}

/* wait_group waits for copies that were committed only; what may not have been, stays in flight. */
static bool waits_for(const struct flow_setup *s, uint32_t insn, uint32_t access)
{
	return !s->uncommitted || !s->uncommitted[insn].words ||
	       !bits_has(s->uncommitted[insn], s->facts.first_of[facts_access(&s->facts, access)]);
}

bool flow_wait_completes(const struct flow_setup *s, uint32_t insn, uint32_t access)
{
	return waits_for_all(s, insn) && waits_for(s, insn, access);
}

/* The access is over in this thread, whatever predicates hold. */
static void forget(struct flow_setup *s, uint32_t fact)
{
	bits_clear(s->now.own, fact);
	for (uint32_t l = 0; l < s->nliterals; l++)
		bits_clear(s->now.own_if[l], fact);
}

/* cp.async.wait: what was in flight is complete and from now on needs its fence; with N > 0 some
 * groups may still be in flight. */
static void do_wait(struct flow_setup *s, uint32_t insn)
{
	for (uint32_t f = bits_next(s->facts.inflight, 0); f != NONE;
		f = bits_next(s->facts.inflight, f + 1)) {
		if (!bits_has(s->now.own, f) || !is_cp_async(s, f))
			continue;
		set_everywhere(s, s->facts.v[f].sibling[FORM_PENDING], NO_LITERAL);
		if (flow_wait_completes(s, insn, s->facts.v[f].access))
			forget(s, f);
	}
}

/* Adds the forms that facts take on their way to another CTA, which take no further ones. */
static void cross(struct flow_setup *s, struct bits set)
{
	uint64_t carried = 0;

	for (uint32_t w = 0; w < set.nwords; w++) {
		uint64_t next2 = set.words[w] & s->facts.next2.words[w];
		uint64_t far = set.words[w] & s->facts.far.words[w];

		set.words[w] |= next2 << 2 | carried;
		carried = next2 >> 62;
		for (; far; far &= far - 1) {
			uint32_t f = 64 * w + (uint32_t)__builtin_ctzll(far);

			bits_set(set, facts_crossed(&s->facts.v[f]));
		}
	}
}

void flow_publish(
	struct flow_setup *s, const struct sync_site *site, struct bits set, struct bits out)
{
	if (site->cp_async || site->self) {
		bits_zero(out);
		for (uint32_t f = bits_next(s->facts.inflight, 0); f != NONE;
			f = bits_next(s->facts.inflight, f + 1)) {
			const struct access *g = &s->unit->accesses.v[s->facts.v[f].access];

			if (bits_has(set, f) && (site->self ? g->insn == site->insn : g->cp_async))
				bits_set(out, s->facts.v[f].sibling[FORM_PENDING]);
		}
		if (site->crosses)
			cross(s, out);
		return;
	}
	for (uint32_t w = 0; w < out.nwords; w++)
		out.words[w] = set.words[w] & ~s->facts.inflight.words[w];
	if (site->crosses)
		cross(s, out);
}

/* What was pending when the thread last passed a barrier of all threads came to all of them there: whoever
 * hears of the release now has it, or has run a fence since. */
static void limit(struct flow_setup *s, struct bits out)
{
	const uint64_t *shared = s->facts.shared.words, *global = s->facts.global.words;

	for (uint32_t w = 0; w < out.nwords; w++)
		out.words[w] &= s->now.recent.words[w] | ~(shared[w] | global[w]);
}

/* What of the facts in `scratch` is recent for those who hear of it, too: the release stands behind the same
 * barriers of all threads. A copy that was in flight at one of them went by none. */
static bool note_recent(struct flow_setup *s, uint32_t number)
{
	const struct sync_site *site = &s->handoffs.sites[number];
	uint64_t all = site->cp_async || site->self ? UINT64_MAX : 0, grown = 0;

	for (uint32_t w = 0; s->limited && w < s->set_words; w++) {
		uint64_t *to = &s->sent_recent[number].words[w];
		uint64_t more = s->scratch.words[w] & (s->now.recent.words[w] | all) & ~*to;

		*to |= more;
		grown |= more;
	}
	return grown != 0;
}

/* Takes out what no thread that comes to the block has made. */
static void leave_own(struct flow_setup *s, uint32_t block, struct bits own)
{
	struct bits absent = makers_absent(&s->makers, block);
	uint64_t hit = 0;

	for (uint32_t w = 0; w < absent.nwords; w++) {
		hit |= own.words[w] & absent.words[w];
		own.words[w] &= ~absent.words[w];
	}
	if (hit)
		s->led |= s->makers.assumptions;
}

static void do_release(struct flow_setup *s, uint32_t number, uint32_t under)
{
	const struct sync_site *site = &s->handoffs.sites[number];
	const struct ids *to = &s->handoffs.to[number];
	bool grew = false, widened;

	if (!to->n && !site->is_exit)
		return;
	flow_publish(s, site, under == NO_LITERAL ? s->now.own : s->now.own_if[under], s->scratch);
	leave_own(s, site->block, s->scratch);
	if (s->limited && s->limited[number])
		limit(s, s->scratch);
	if (site->is_exit)
		epochs_enter(s, number, s->scratch);
	else if (s->stages)
		own_stages_hold_back(s->stages, number, false, s->scratch, &s->led);
	grew |= bits_or(s->sent_own[number], s->scratch);
	grew |= note_recent(s, number);
	if (!site->cp_async && !site->self && !site->is_exit) {
		flow_publish(s, site, under == NO_LITERAL ? s->now.foreign : s->now.foreign_if[under],
			s->scratch);
		if (s->limited && s->limited[number])
			limit(s, s->scratch);
		/* all else is in somebody's own set */
		struct bits entered = epochs_entered(s, number);

		if (site->resets)
			bits_and(s->scratch, s->deferred);
		else if (entered.nwords)
			bits_and(s->scratch, entered);
		if (s->stages)
			own_stages_hold_back(s->stages, number, true, s->scratch, &s->led);
		grew |= bits_or(s->sent_foreign[number], s->scratch);
		grew |= note_recent(s, number);
	}
	widened = epochs_release(s, number);
	if (!grew && !widened)
		return;
	for (uint32_t i = 0; i < to->n; i++) {
		uint32_t q = to->v[i];
		bool more = bits_or(s->received[q], s->sent_own[number]);

		more |= bits_or(s->received[q], s->sent_foreign[number]);
		if (s->limited)
			more |= bits_or(s->received_recent[q], s->sent_recent[number]);
		if (more || widened)
			flow_mark_dirty(s, s->handoffs.sites[q].block);
	}
}

static void reset_foreign(struct flow_setup *s)
{
	bits_zero(s->now.foreign);
	for (uint32_t l = 0; l < s->nliterals; l++)
		bits_zero(s->now.foreign_if[l]);
}

static void do_acquire(struct flow_setup *s, uint32_t number)
{
	const struct sync_site *site = &s->handoffs.sites[number];
	struct bits received = s->received[number];
	bool guarded = s->unit->fn->insns[site->insn].guard != NONE;

	if ((site->resets && !guarded) || epochs_reset_by_set(s, number))
		reset_foreign(s);
	received = epochs_acquire(s, number, received);
	epochs_enter(s, number, received);
	if (s->limited && site_takes_all(site) && !guarded)
		bits_zero(s->now.recent);
	else if (s->limited)
		bits_or(s->now.recent, s->received_recent[number]);
	bits_or(s->now.foreign, received);
	for (uint32_t l = 0; l < s->nliterals; l++)
		if (may_hold(s, l))
			bits_or(s->now.foreign_if[l], received);
}

static void do_async(struct flow_setup *s, const struct event *e, const struct visitor *visitor)
{
	bool any = e->holds == NO_LITERAL;
	struct bits own = any ? s->now.own : s->now.own_if[e->holds];
	struct bits foreign = any ? s->now.foreign : s->now.foreign_if[e->holds];

	if (!visitor || !visitor->meets)
		return;
	bits_copy(s->own_here, own);
	leave_own(s, s->unit->cfg.block_of[e->insn], s->own_here);
	visitor->meets(visitor->data, e->arg, s->own_here, foreign);
}

static void do_literal(struct flow_setup *s, uint32_t l)
{
	bits_copy(s->now.own_if[l], s->now.own);
	bits_copy(s->now.foreign_if[l], s->now.foreign);
	*s->now.possible |= UINT32_C(1) << l;
}

static void complete(struct flow_setup *s, struct ids loads)
{
	for (uint32_t i = 0; i < loads.n; i++) {
		uint32_t fenced = s->facts.v[loads.v[i]].sibling[FORM_FENCED];

		forget(s, loads.v[i]);
		if (fenced != NONE) /* a fence before it must not leave more than none */
			forget(s, fenced);
	}
}

void flow_step(struct flow_setup *s, uint32_t number, bool solving, const struct visitor *visitor)
{
	const struct event *e = &s->events[number];

	if (visitor && visitor->before)
		visitor->before(visitor->data, number);
	switch ((enum event_kind)e->kind) {
	case EVENT_COMPLETE:
		if (!s->loads_stay_open)
			complete(s, s->complete[e->insn]);
		break;
	case EVENT_PLACED:
		do_fence(s, (enum fence_kind)e->fence, true, NO_LITERAL, e->insn);
		break;
	case EVENT_LITERAL:
		do_literal(s, e->arg);
		break;
	case EVENT_FENCE: {
		uint8_t kind =
			s->existing ? s->existing[e->insn] : s->unit->effects[e->insn]->fence;

		do_fence(s, (enum fence_kind)kind, s->unit->fn->insns[e->insn].guard == NONE,
			e->holds, e->insn);
		break;
	}
	case EVENT_ACCESS:
		do_access(s, e->arg, e->holds);
		break;
	case EVENT_WAIT:
		do_wait(s, e->insn);
		break;
	case EVENT_RELEASE:
		if (solving)
			do_release(s, e->arg, e->holds);
		break;
	case EVENT_ACQUIRE:
		do_acquire(s, e->arg);
		break;
	case EVENT_ASYNC:
		do_async(s, e, visitor);
		break;
	}
}
