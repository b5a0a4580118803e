/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the events of a flow and the literals of its branches. Out: which blocks share one row of the
 * state, and along which edges rows lead into others. Most blocks have no event, so what holds at
 * their start holds at their end, and only where different rows may come together is there a new
 * one: the state is one variable, blocks with events define it, and rows are its versions (Cytron
 * and others, TOPLAS 1991). Invariant: at its fixed point the state at the start of a block is what
 * a row of the block's own would have.
 */
#include "analysis/flow_state.h"
#include "analysis/frontier.h"

static bool changes_state(const struct flow_setup *s, uint32_t b)
{
	for (uint32_t e = flow_first(s, b); e < flow_end(s, b); e++)
		if (s->events[e].kind != EVENT_ASYNC)
			return true;
	return false;
}

/* Blocks at whose start there is a row of their own: where rows meet, and where a literal is told
 * apart. */
static bool *find_own(const struct flow_setup *s, struct arena *arena)
{
	const struct cfg *cfg = &s->unit->cfg;
	uint32_t *at = ARENA_NEW(arena, uint32_t, cfg->n),
		 *found = ARENA_NEW(arena, uint32_t, cfg->n);
	uint32_t *v = ARENA_UNSET(arena, uint32_t, cfg->n), n = 0;
	bool *own = ARENA_NEW(arena, bool, cfg->n);

	own[0] = true;
	for (uint32_t b = 0; b < cfg->n; b++)
		for (uint32_t i = 0; i < cfg->blocks[b].succ.n && s->taken[b] != NO_LITERAL; i++)
			own[cfg->blocks[b].succ.v[i]] = true;
	for (uint32_t b = 0; b < cfg->n; b++) {
		at[b] = own[b] || bits_has(s->rows.changes, b);
		if (at[b])
			v[n++] = b;
	}
	uint32_t *joins = ARENA_UNSET(arena, uint32_t, cfg->n);

	n = frontiers_iterated(frontiers_new(cfg, arena), v, n, at, 1, found, joins);
	for (uint32_t k = 0; k < n; k++)
		own[joins[k]] = true;
	return own;
}

static uint32_t new_row(struct flow_rows *rows, uint32_t *homes, uint32_t home)
{
	homes[rows->n] = home;
	return rows->n++;
}

/* A block's dominator comes before it. */
static void number_rows(struct flow_setup *s, const bool *own, uint32_t *homes)
{
	struct flow_rows *rows = &s->rows;

	rows->n = 0;
	for (uint32_t b = 0; b < s->unit->cfg.n; b++) {
		uint32_t up = s->unit->cfg.blocks[b].idom;

		rows->behind[b] = NONE;
		if (own[b]) {
			rows->of[b] = new_row(rows, homes, b);
		} else if (!bits_has(rows->changes, up)) {
			rows->of[b] = rows->of[up];
		} else {
			if (rows->behind[up] == NONE)
				rows->behind[up] = new_row(rows, homes, up);
			rows->of[b] = rows->behind[up];
		}
	}
}

/* Rows for what comes back to blocks with a row of their own. */
static void number_late(struct flow_setup *s, uint32_t *homes)
{
	const struct cfg *cfg = &s->unit->cfg;
	struct flow_rows *rows = &s->rows;

	memset(rows->late, 0xff, cfg->n * sizeof(*rows->late));
	for (uint32_t b = 0; b < cfg->n; b++)
		for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
			uint32_t to = cfg->blocks[b].succ.v[i];

			if (to <= b && homes[rows->of[to]] == to && rows->late[to] == NONE)
				rows->late[to] = new_row(rows, homes, to);
		}
}

/* Of the leaders that can come to a block along an edge, those that the row at the edge's start is
 * of. */
static uint32_t absent_behind(const struct flow_setup *s, uint32_t from, uint32_t i)
{
	uint32_t absent = epochs_absent(s, from, i);

	return bits_has(s->rows.changes, from) ? absent : absent | s->rows.absent[from];
}

/* Leaders that the row of a block is of and that do not come to it: what comes to it along several
 * edges is true of those that come along one of them. What comes back is taken from the round
 * before, from none on, until nothing changes: two rounds where loops have one entry. */
static void find_absent(struct flow_setup *s, const bool *own, struct arena *arena)
{
	const struct cfg *cfg = &s->unit->cfg;
	uint32_t *ahead = ARENA_UNSET(arena, uint32_t, cfg->n);
	uint32_t *back = ARENA_UNSET(arena, uint32_t, cfg->n), *absent = s->rows.absent;
	bool changed = s->leaders.n != 0;

	memset(absent, 0, cfg->n * sizeof(*absent));
	memset(back, 0xff, cfg->n * sizeof(*back));
	while (changed) {
		changed = false;
		memset(ahead, 0xff, cfg->n * sizeof(*ahead));
		for (uint32_t b = 0; b < cfg->n; b++) {
			uint32_t now = own[b] ? 0 : ahead[b] & back[b];

			changed |= now != absent[b];
			absent[b] = now;
			back[b] = UINT32_MAX;
			for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
				uint32_t to = cfg->blocks[b].succ.v[i];

				*(to <= b ? &back[to] : &ahead[to]) &= absent_behind(s, b, i);
			}
		}
	}
}

/* `last`: by row, 1 + the latest plain way that leads there. */
static void add_ways(struct flow_setup *s, uint32_t b, uint32_t *last)
{
	struct flow_rows *rows = &s->rows;
	struct ids succ = s->unit->cfg.blocks[b].succ;
	uint32_t row = rows->of[b];

	for (uint32_t i = succ.n; i-- > 0;) {
		struct flow_way way = {.from = row,
			.to = flow_row_along(s, b, i),
			.absent = absent_behind(s, b, i),
			.holds = flow_holds_along(s, b, i),
			.next = rows->first_way[row]};
		bool plain = way.holds == NO_LITERAL;

		if (rows->of[succ.v[i]] == row)
			continue;
		if (plain && last[way.to] && rows->ways[last[way.to] - 1].from == row) {
			rows->ways[last[way.to] - 1].absent &= way.absent;
			continue;
		}
		rows->ways[rows->nways] = way;
		rows->first_way[row] = rows->nways++;
		if (plain)
			last[way.to] = rows->nways;
	}
}

/* Who must look again where a row grows. */
static void list_readers(struct flow_setup *s, struct arena *arena)
{
	struct flow_rows *rows = &s->rows;
	uint32_t *last = ARENA_NEW(
		arena, uint32_t, rows->n); /* by row: 1 + whence a plain way leads there */

	memset(rows->first_run, 0xff, rows->n * sizeof(*rows->first_run));
	memset(rows->first_way, 0xff, rows->n * sizeof(*rows->first_way));
	rows->nways = 0;
	for (uint32_t b = s->unit->cfg.n; b-- > 0;) {
		if (!bits_has(rows->changes, b)) {
			add_ways(s, b, last);
			continue;
		}
		rows->next_run[b] = rows->first_run[rows->of[b]];
		rows->first_run[rows->of[b]] = b;
	}
}

static uint32_t most_rows(const struct cfg *cfg)
{
	return 3 * cfg->n;
}

static uint32_t count_edges(const struct cfg *cfg)
{
	uint32_t n = 0;

	for (uint32_t b = 0; b < cfg->n; b++)
		n += cfg->blocks[b].succ.n;
	return n;
}

static void make_room(struct flow_setup *s)
{
	const struct cfg *cfg = &s->unit->cfg;
	struct flow_rows *rows = &s->rows;

	if (rows->of)
		return;
	rows->of = ARENA_UNSET(s->arena, uint32_t, cfg->n);
	rows->behind = ARENA_UNSET(s->arena, uint32_t, cfg->n);
	rows->late = ARENA_UNSET(s->arena, uint32_t, cfg->n);
	rows->turns = bits_new(s->arena, cfg->n);
	rows->absent = ARENA_UNSET(s->arena, uint32_t, cfg->n);
	rows->changes = bits_new(s->arena, cfg->n);
	rows->next_run = ARENA_UNSET(s->arena, uint32_t, cfg->n);
}

static void give_back_rows(struct flow_setup *s)
{
	struct flow_rows *rows = &s->rows;

	ARENA_GIVE_BACK(s->arena, s->in, (size_t)rows->cap * s->row_words);
	ARENA_GIVE_BACK(s->arena, rows->reached, rows->cap);
	ARENA_GIVE_BACK(s->arena, rows->first_way, rows->cap);
	ARENA_GIVE_BACK(s->arena, rows->first_run, rows->cap);
	ARENA_GIVE_BACK(s->arena, rows->pending.words, rows->pending.nwords);
	ARENA_GIVE_BACK(s->arena, rows->grew.words, rows->grew.nwords);
	ARENA_GIVE_BACK(s->arena, rows->home, rows->cap);
}

/* For as many rows as are numbered now: their homes are kept, the rest is written before it is read. */
static void keep_rows(struct flow_setup *s, const uint32_t *homes)
{
	struct flow_rows *rows = &s->rows;

	if (rows->n > rows->cap) {
		flow_forget_saved(s);
		give_back_rows(s);
		rows->cap = rows->n;
		rows->home = ARENA_UNSET(s->arena, uint32_t, rows->n);
		rows->grew = bits_new(s->arena, rows->n);
		rows->pending = bits_new(s->arena, rows->n);
		rows->first_run = ARENA_UNSET(s->arena, uint32_t, rows->n);
		rows->first_way = ARENA_UNSET(s->arena, uint32_t, rows->n);
		rows->reached = ARENA_UNSET(s->arena, bool, rows->n);
		s->in = ARENA_UNSET(s->arena, uint64_t, (size_t)rows->n * s->row_words);
	}
	memcpy(rows->home, homes, rows->n * sizeof(*homes));
}

/* The ways are found where there is room for one along each edge. */
static void keep_ways(struct flow_setup *s, uint32_t before, struct flow_way *old)
{
	struct flow_rows *rows = &s->rows;
	struct flow_way *found = rows->ways;

	ARENA_GIVE_BACK(s->arena, old, before);
	rows->ways = ARENA_UNSET(s->arena, struct flow_way, rows->nways);
	memcpy(rows->ways, found, rows->nways * sizeof(*found));
}

void flow_forget_rows(struct flow_setup *s)
{
	const struct cfg *cfg = &s->unit->cfg;
	struct flow_rows *rows = &s->rows;

	if (!rows->of)
		return;
	flow_forget_saved(s);
	give_back_rows(s);
	ARENA_GIVE_BACK(s->arena, rows->ways, rows->nways);
	ARENA_GIVE_BACK(s->arena, rows->next_run, cfg->n);
	ARENA_GIVE_BACK(s->arena, rows->absent, cfg->n);
	ARENA_GIVE_BACK(s->arena, rows->late, cfg->n);
	ARENA_GIVE_BACK(s->arena, rows->behind, cfg->n);
	ARENA_GIVE_BACK(s->arena, rows->of, cfg->n);
	*rows = (struct flow_rows){0};
	s->in = NULL;
	s->run++;
}

/* Blocks whose events may change the state, planned fences included; tells whether the rows that
 * are there do not know of all. */
static bool find_changes(struct flow_setup *s, const struct fence_view *view)
{
	struct bits changes = s->rows.changes;
	bool more = !s->rows.n;

	for (uint32_t b = 0; more && b < s->unit->cfg.n; b++)
		if (changes_state(s, b))
			bits_set(changes, b);
	for (uint32_t i = 0; view && i < view->nplaced; i++) {
		uint32_t at = view->placed[i].before;
		uint32_t b = at < s->unit->fn->ninsns ? s->unit->cfg.block_of[at] : NONE;

		if (b == NONE || bits_has(changes, b))
			continue;
		bits_set(changes, b);
		more = true;
	}
	return more;
}

void flow_make_rows(struct flow_setup *s, const struct fence_view *view)
{
	struct arena stage;

	make_room(s);
	if (!find_changes(s, view))
		return;
	unit_begin(s->unit, &stage);
	const bool *own = find_own(s, s->unit->arena);

	uint32_t *homes = ARENA_UNSET(s->unit->arena, uint32_t, most_rows(&s->unit->cfg));

	number_rows(s, own, homes);
	number_late(s, homes);
	keep_rows(s, homes);
	find_absent(s, own, s->unit->arena);
	struct flow_way *old = s->rows.ways;
	uint32_t before = s->rows.nways;

	s->rows.ways = ARENA_UNSET(s->unit->arena, struct flow_way, count_edges(&s->unit->cfg));
	list_readers(s, s->unit->arena);
	keep_ways(s, before, old);
	unit_end(s->unit);
}
