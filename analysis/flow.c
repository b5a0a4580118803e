/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the events of a flow (flow_step.c says what each does) and its rows. Out: the state at the start of each
 * block, at the least fixed point. Invariant: a block is run again whenever what comes to its start, or what
 * others send it, has grown; blocks are taken in the order of the graph, what comes back to one at its turn.
 */
#include "analysis/flow_state.h"

void flow_mark_dirty(struct flow_setup *s, uint32_t block)
{
	s->dirty[block / 64] |= UINT64_C(1) << (block % 64);
}

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

/* Joins a row into another, along an edge on which the literal `holds`. */
static bool join_under(struct flow_setup *s, uint64_t *in, uint64_t *from, uint32_t holds)
{
	uint32_t fails = flow_opposite(s, holds);
	uint32_t own_if = flow_plain_sets(s), foreign_if = own_if + s->nliterals;
	struct bits own = sets_of(s, from, own_if + holds, 1);
	struct bits foreign = sets_of(s, from, foreign_if + holds, 1);
	bool grew = bits_or(sets_of(s, in, 0, 1), own);

	grew |= bits_or(sets_of(s, in, 1, 1), foreign);
	grew |= bits_or(sets_of(s, in, 2, own_if - 2), sets_of(s, from, 2, own_if - 2));
	grew |= join_literals(s, in, from, own_if, own, fails);
	return join_literals(s, in, from, foreign_if, foreign, fails) || grew;
}

/* The same along any other edge. */
static bool join_whole(struct flow_setup *s, uint64_t *in, uint64_t *from)
{
	uint32_t own_if = flow_plain_sets(s);
	bool grew = bits_or(sets_of(s, in, 0, own_if), sets_of(s, from, 0, own_if));

	if (!s->nliterals)
		return grew;
	grew |= join_literals(s, in, from, own_if, sets_of(s, from, 0, 1), NO_LITERAL);
	return join_literals(s, in, from, own_if + s->nliterals, sets_of(s, from, 1, 1),
		       NO_LITERAL) ||
	       grew;
}

/* Joins the state of a row into another, along an edge on which the literal `holds`. */
static bool join(struct flow_setup *s, uint64_t *from, uint32_t into, uint32_t holds)
{
	bool grew = !s->rows.reached[into];
	uint64_t *in = flow_words(s, into);
	uint32_t possible = *flow_marks(s, from), *there = flow_marks(s, in);

	if (grew)
		memset(in, 0, s->row_words * sizeof(*in));
	s->rows.reached[into] = true;
	if (holds == NO_LITERAL) {
		grew |= join_whole(s, in, from);
	} else {
		grew |= join_under(s, in, from, holds);
		if (flow_opposite(s, holds) != NO_LITERAL)
			possible &= ~(UINT32_C(1) << flow_opposite(s, holds));
	}
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
	if (s->goes_back && !bits_has(s->kept.there, row))
		flow_keep_row(s, row);
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
	memset(s->sent, 0, (size_t)flow_site_sets(s) * s->set_words * s->handoffs.n * sizeof(*s->sent));
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

bool flow_run_some(struct flow_setup *s, struct bits ran, uint32_t most)
{
	for (uint32_t b = next_dirty(s, 0); b != NONE && !budget_spent(s->unit->budget); most--) {
		if (!most)
			return false;
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
	return true;
}

void flow_run(struct flow_setup *s, struct bits ran)
{
	while (!flow_run_some(s, ran, UINT32_MAX))
		;
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
