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

/* ---- transfer ---- */

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
	for (uint32_t l = 0; l < s->nliterals; l++)
		if (l != fails && may_hold(s, l))
			bits_set(s->now.own_if[l], fact);
}

void flow_fenced_siblings(
	const struct flow_setup *s, struct bits from, struct bits kill, struct bits to)
{
	for (uint32_t w = 0; s->facts.fenced && w < from.nwords; w++) {
		uint64_t hit = from.words[w] & kill.words[w];

		for (; hit; hit &= hit - 1) {
			uint32_t f = w * 64 + (uint32_t)__builtin_ctzll(hit);
			const struct fact *fact = &s->facts.v[f];

			if (fact->form == FORM_PENDING && fact->sibling[FORM_FENCED] != NONE)
				bits_set(to, fact->sibling[FORM_FENCED]);
		}
	}
}

/* to &= a | b */
static void bits_and_either(struct bits to, struct bits a, struct bits b)
{
	for (uint32_t i = 0; i < to.nwords; i++)
		to.words[i] &= a.words[i] | b.words[i];
}

static uint32_t opposite(const struct flow_setup *s, uint32_t literal)
{
	return literal == NO_LITERAL ? NO_LITERAL : s->literals[literal].opposite;
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
	uint32_t skips = always ? NO_LITERAL : opposite(s, under);

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
		epochs_fence(s, kind, always ? UINT32_MAX : leaders_spread(s->leaders.runs[at]));
	/* every thread satisfies the literal or its opposite */
	if (under != NO_LITERAL) {
		uint32_t other = opposite(s, under);

		bits_or(now->own, now->own_if[under]); /* FENCED forms that it has put in */
		bits_and_either(now->own, now->own_if[under], now->own_if[other]);
		if (!s->own_only) {
			bits_or(now->foreign, now->foreign_if[under]);
			bits_and_either(
				now->foreign, now->foreign_if[under], now->foreign_if[other]);
		}
	}
}

static void do_access(struct flow_setup *s, uint32_t access, uint32_t holds)
{
	const struct facts *facts = &s->facts;
	uint32_t fails = opposite(s, holds);
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

void flow_mark_dirty(struct flow_setup *s, uint32_t block)
{
	s->dirty[block / 64] |= UINT64_C(1) << (block % 64);
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

/* What a release publishes of a set, into `out`. */
static void publish(
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

static void do_release(struct flow_setup *s, uint32_t number, uint32_t under)
{
	const struct sync_site *site = &s->handoffs.sites[number];
	const struct ids *to = &s->handoffs.to[number];
	bool grew = false, widened;

	if (!to->n && !site->is_exit)
		return;
	publish(s, site, under == NO_LITERAL ? s->now.own : s->now.own_if[under], s->scratch);
	if (site->is_exit)
		epochs_enter(s, number, s->scratch);
	else if (s->stages)
		own_stages_hold_back(s->stages, number, false, s->scratch, &s->led);
	grew |= bits_or(s->sent_own[number], s->scratch);
	if (!site->cp_async && !site->self && !site->is_exit) {
		publish(s, site, under == NO_LITERAL ? s->now.foreign : s->now.foreign_if[under],
			s->scratch);
		/* all else is in somebody's own set */
		struct bits entered = epochs_entered(s, number);

		if (site->resets)
			bits_and(s->scratch, s->deferred);
		else if (entered.nwords)
			bits_and(s->scratch, entered);
		if (s->stages)
			own_stages_hold_back(s->stages, number, true, s->scratch, &s->led);
		grew |= bits_or(s->sent_foreign[number], s->scratch);
	}
	widened = epochs_release(s, number);
	if (!grew && !widened)
		return;
	for (uint32_t i = 0; i < to->n; i++) {
		uint32_t q = to->v[i];
		bool more = bits_or(s->received[q], s->sent_own[number]);

		more |= bits_or(s->received[q], s->sent_foreign[number]);
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

	if (visitor && visitor->meets)
		visitor->meets(visitor->data, e->arg, own, foreign);
}

static void do_literal(struct flow_setup *s, uint32_t l)
{
	bits_copy(s->now.own_if[l], s->now.own);
	bits_copy(s->now.foreign_if[l], s->now.foreign);
	*s->now.possible |= UINT32_C(1) << l;
}

void flow_step(struct flow_setup *s, uint32_t number, bool solving, const struct visitor *visitor)
{
	const struct event *e = &s->events[number];

	if (visitor && visitor->before)
		visitor->before(visitor->data, number);
	switch ((enum event_kind)e->kind) {
	case EVENT_COMPLETE:
		for (uint32_t i = 0; i < e->facts.n; i++) {
			uint32_t fenced = s->facts.v[e->facts.v[i]].sibling[FORM_FENCED];

			forget(s, e->facts.v[i]);
			if (fenced != NONE) /* a fence before it must not leave more than none */
				forget(s, fenced);
		}
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

/* ---- solver ---- */

void flow_enter(struct flow_setup *s, uint32_t block)
{
	uint32_t absent = s->rows.absent[block];

	memcpy(s->now.row, flow_row(s, block), s->row_words * sizeof(*s->now.row));
	for (uint32_t e = 0; absent && e < s->leaders.nepochs; e++)
		s->now.uncovered[e] &= ~leaders_spread(absent);
}

/* The k-th set of a row, and the n sets from there on as one. */
static struct bits sets_of(const struct flow_setup *s, uint64_t *row, uint32_t k, uint32_t n)
{
	return (struct bits){row + (size_t)k * s->set_words, n * s->set_words};
}

/* Joins what holds under literals, of one half of the state (its sets from `first` on), as far as
 * the half itself comes along. */
static bool join_literals(struct flow_setup *s, uint64_t *in, uint64_t *from, uint32_t first,
	struct bits along, uint32_t fails)
{
	uint64_t *to = in + (size_t)first * s->set_words, grown = 0;
	const uint64_t *of = from + (size_t)first * s->set_words;

	for (uint32_t w = 0; w < s->set_words; w++) {
		uint64_t *into = to + w;
		const uint64_t *out = of + w;

		if (!along.words[w])
			continue;
		for (uint32_t l = 0; l < s->nliterals;
			l++, into += s->set_words, out += s->set_words) {
			uint64_t more = *out & along.words[w] & ~*into;

			if (!more || l == fails) /* vacuous: no thread here satisfies it */
				continue;
			*into |= more;
			grown |= more;
		}
	}
	return grown != 0;
}

/* Joins the state of a row into another, along an edge on which the literal `holds`. */
static bool join(struct flow_setup *s, uint64_t *from, uint32_t into, uint32_t holds)
{
	uint32_t fails = opposite(s, holds), nepochs = s->leaders.nepochs;
	uint32_t own_if = 2 + nepochs, foreign_if = own_if + s->nliterals;
	bool any = holds == NO_LITERAL, grew = !s->rows.reached[into];
	struct bits own = sets_of(s, from, any ? 0 : own_if + holds, 1);
	struct bits foreign = sets_of(s, from, any ? 1 : foreign_if + holds, 1);
	uint64_t *in = flow_words(s, into);
	uint32_t possible = *flow_marks(s, from), *there = flow_marks(s, in);

	if (grew)
		memset(in, 0, s->row_words * sizeof(*in));
	s->rows.reached[into] = true;
	if (any) {
		grew |= bits_or(sets_of(s, in, 0, own_if), sets_of(s, from, 0, own_if));
	} else {
		grew |= bits_or(sets_of(s, in, 0, 1), own);
		grew |= bits_or(sets_of(s, in, 1, 1), foreign);
		grew |= bits_or(sets_of(s, in, 2, nepochs), sets_of(s, from, 2, nepochs));
	}
	grew |= join_literals(s, in, from, own_if, own, fails);
	grew |= join_literals(s, in, from, foreign_if, foreign, fails);
	if (fails != NO_LITERAL)
		possible &= ~(UINT32_C(1) << fails);
	grew |= (possible & ~*there) != 0;
	*there |= possible;
	return grew;
}

static void run_from(struct flow_setup *s, uint32_t row)
{
	for (uint32_t b = s->rows.first_run[row]; b != NONE; b = s->rows.next_run[b])
		flow_mark_dirty(s, b);
}

/* The blocks that begin with the row are to be run: where it begins at a block, once it is that one's turn. */
static void note_growth(struct flow_setup *s, uint32_t row)
{
	struct flow_rows *rows = &s->rows;
	uint32_t home = rows->home[row];

	bits_set(rows->grew, row);
	if (rows->behind[home] == row) {
		run_from(s, row);
		return;
	}
	bits_set(rows->pending, row);
	bits_set(rows->turns, home);
}

/* Joins a state into a row, along a way on which the literal holds and that some leaders do not come. */
static bool join_into(
	struct flow_setup *s, uint64_t *state, uint32_t row, uint32_t holds, uint32_t absent)
{
	bool grew = join(s, state, row, holds);

	grew |= epochs_join(s, flow_marks(s, state) + 1, absent,
		flow_marks(s, flow_words(s, row)) + 1);
	if (grew)
		note_growth(s, row);
	return grew;
}

static void take_ways(struct flow_setup *s, uint32_t row)
{
	for (uint32_t k = s->rows.first_way[row]; k != NONE; k = s->rows.ways[k].next) {
		const struct flow_way *way = &s->rows.ways[k];

		join_into(s, flow_words(s, row), way->to, way->holds, way->absent);
	}
}

/* What holds at the end of block b, which has events. Who shares the row behind them knows himself which leaders
 * do not come to him. */
static void join_succs(struct flow_setup *s, uint32_t b, uint64_t *state)
{
	const struct block *block = &s->unit->cfg.blocks[b];
	uint32_t behind = s->rows.behind[b];

	if (behind != NONE && join_into(s, state, behind, NO_LITERAL, 0))
		take_ways(s, behind);
	for (uint32_t i = 0; i < block->succ.n; i++) {
		if (s->rows.of[block->succ.v[i]] != behind)
			join_into(s, state, flow_row_along(s, b, i), flow_holds_along(s, b, i),
				epochs_absent(s, b, i));
	}
}

/* The next block to be run, or whose turn it is. */
static uint32_t next_dirty(const struct flow_setup *s, uint32_t from)
{
	struct bits turns = s->rows.turns;
	uint64_t below = (UINT64_C(1) << from % 64) - 1;

	for (uint32_t w = from / 64; w < turns.nwords; w++, below = 0) {
		uint64_t word = (s->dirty[w] | turns.words[w]) & ~below;

		if (word)
			return 64 * w + (uint32_t)__builtin_ctzll(word);
	}
	return NONE;
}

static void reset_run(struct flow_setup *s)
{
	memset(s->rows.reached, 0, s->rows.n * sizeof(*s->rows.reached));
	memset(s->sent, 0, (size_t)3 * s->set_words * s->handoffs.n * sizeof(*s->sent));
	epochs_reset(s);
	memset(s->in, 0, s->row_words * sizeof(*s->in));
	memset(flow_marks(s, s->in), 0xff, (1 + s->leaders.nepochs) * sizeof(uint32_t));
	s->rows.reached[0] = true;
}

/* Through the events of block b; the row of the state behind them. */
static uint64_t *run_events(struct flow_setup *s, uint32_t b)
{
	uint32_t end = flow_end(s, b);

	if (flow_first(s, b) == end && !s->rows.absent[b])
		return flow_row(s, b);
	flow_enter(s, b);
	for (uint32_t e = flow_first(s, b); e < end; e++)
		flow_step(s, e, true, NULL);
	return s->now.row;
}

static bool take_pending(struct flow_setup *s, uint32_t row)
{
	bool pending = bits_has(s->rows.pending, row);

	bits_clear(s->rows.pending, row);
	return pending;
}

/* What came back to the row of block b is seen from now on. */
static void take_turn(struct flow_setup *s, uint32_t b)
{
	uint32_t row = s->rows.of[b], late = s->rows.late[b];

	if (late != NONE && take_pending(s, late))
		join_into(s, flow_words(s, late), row, NO_LITERAL, 0);
	bits_clear(s->rows.turns, b);
	if (!take_pending(s, row))
		return;
	run_from(s, row);
	take_ways(s, row);
}

static bool is_dirty(const struct flow_setup *s, uint32_t b)
{
	return s->dirty[b / 64] >> (b % 64) & 1;
}

void flow_run(struct flow_setup *s, struct bits ran)
{
	for (uint32_t b = next_dirty(s, 0); b != NONE && !budget_spent(s->unit->budget);) {
		if (bits_has(s->rows.turns, b))
			take_turn(s, b);
		if (is_dirty(s, b)) {
			s->dirty[b / 64] &= ~(UINT64_C(1) << (b % 64));
			if (ran.nwords)
				bits_set(ran, b);
			join_succs(s, b, run_events(s, b));
		}
		uint32_t next = next_dirty(s, b + 1 < s->unit->cfg.n ? b + 1 : 0);

		b = next == NONE ? next_dirty(s, 0) : next;
	}
}

void flow_solve(struct flow_setup *s, const struct fence_view *view, struct flow *flow)
{
	*flow = (struct flow){
		.pairs_ruled_out = s->facts.pairs_ruled_out,
		.assumptions = s->facts.assumptions | s->handoffs.assumptions,
	};
	flow->incomplete = s->too_large;
	flow->run = ++s->run;
	if (s->trivial || !s->unit->cfg.n)
		return;
	s->existing = view ? view->existing : NULL;
	s->brief = view && view->brief;
	s->own_only = view && view->own_only;
	s->led = 0;
	s->has_saved = false;
	flow_merge_events(s, view);
	flow_make_rows(s, view);
	reset_run(s);
	note_growth(s, s->rows.of[0]);
	flow_run(s, (struct bits){0});
	flow->incomplete = s->unit->budget->spent;
	flow->assumptions |= s->led;
	flow_collect_edges(s, (struct bits){0}, flow);
}

bool flow_is_latest(const struct flow_setup *s, const struct flow *flow)
{
	return flow->run == s->run;
}

uint64_t flow_size(const struct flow_setup *s)
{
	return s->trivial ? 0 : (uint64_t)s->unit->cfg.n + s->nevents;
}
