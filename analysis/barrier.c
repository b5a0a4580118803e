/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the barrier instructions of one id. Out: the symmetric relation "one thread can stand at a
 * while another stands at b, and both leave together".
 *
 * Start: every site meets itself. Each divergent branch d with immediate post-dominator J sends
 * threads into different arms: the first barriers of one arm meet those of the other; an arm that
 * comes to J without a barrier brings the first barriers behind J. A barrier under a guard is such
 * a branch around it. Threads that met at different sites p, q go on to next(p) and next(q), which
 * then meet too. Invariant: a pair is added only for threads that have passed equally many barriers
 * of the id. Threads that meet at one site after that may be in different rounds of a loop, where
 * uniform code too sends them different ways: such sites are kept apart.
 *
 * Walls are barriers of other ids that every thread of the CTA passes. Two threads that stand at sites at
 * once have both passed the last wall that is complete, and none since; so no way is followed through a wall,
 * and what stands behind those that meet at walls meets.
 */
#include "analysis/barrier.h"

#include "analysis/barrier_steady.h"

#include "base/bits.h"

#include <string.h>

struct walk {
	struct unit *unit;
	struct barrier_group *group;
	uint32_t *first_in; /* by block: first site of the group in it, or NONE */
	bool *walled;	    /* by instruction: it is a wall; NULL: there is none */
	uint32_t *wall_in;  /* by block: its first wall, NONE */
	struct steady_rounds *steady; /* NULL: rounds are not counted */
	struct barrier_whole whole;
	uint32_t *stamp, round;
	uint32_t *stack;
	uint64_t steps;	    /* blocks that walks with no end went through */
	struct bits *front; /* by block: first sites from its start on; NULL: not found for all */
	struct bits apart; /* by site: two threads that meet here may be in different rounds of a loop */
};

struct sites { /* a set of sites as a list */
	uint32_t *v, n;
	bool reaches_end; /* the end block is reached without a barrier */
};

static void add_site(struct walk *w, struct sites *out, uint32_t site)
{
	for (uint32_t i = 0; i < out->n; i++)
		if (out->v[i] == site)
			return;
	if (!out->v)
		out->v = ARENA_NEW(w->unit->arena, uint32_t, w->group->n);
	out->v[out->n++] = site;
}

/* A wall stands among these instructions of a block. */
static bool wall_in(const struct walk *w, uint32_t b, uint32_t from, uint32_t to)
{
	if (!w->walled || w->wall_in[b] >= to)
		return false;
	for (uint32_t i = from > w->wall_in[b] ? from : w->wall_in[b]; i < to; i++)
		if (w->walled[i])
			return true;
	return false;
}

/* From an instruction to the end of its block, where `site` is the next one; tells whether the way can go on
 * behind it. */
static bool pass_sites(struct walk *w, uint32_t b, uint32_t from, uint32_t site, struct sites *out)
{
	const struct barrier_group *g = w->group;
	const struct block *block = &w->unit->cfg.blocks[b];

	for (; site < g->n && w->unit->cfg.block_of[g->insns[site]] == b; site++) {
		if (wall_in(w, b, from, g->insns[site]))
			return false;
		add_site(w, out, site);
		if (!barrier_skipped(w->unit, g->insns[site]))
			return false;
		from = g->insns[site] + 1;
	}
	return !wall_in(w, b, from, block->first + block->count);
}

/* Visits one block: a site that every thread passes stops the way, the end block too. */
static uint32_t visit(struct walk *w, uint32_t b, uint32_t end, uint32_t top, struct sites *out)
{
	if (b == end) {
		out->reaches_end = true;
		return top;
	}
	if (w->stamp[b] == w->round)
		return top;
	w->stamp[b] = w->round;
	if ((w->first_in[b] != NONE || (w->walled && w->wall_in[b] != NONE)) &&
		!pass_sites(w, b, w->unit->cfg.blocks[b].first, w->first_in[b], out))
		return top;
	w->stack[top] = b;
	return top + 1;
}

static uint32_t visit_succs(
	struct walk *w, uint32_t b, uint32_t end, uint32_t top, struct sites *out)
{
	const struct block *block = &w->unit->cfg.blocks[b];

	for (uint32_t i = 0; i < block->succ.n; i++)
		top = visit(w, block->succ.v[i], end, top, out);
	return top;
}

static void drain(struct walk *w, uint32_t top, uint32_t end, struct sites *out)
{
	while (top) {
		top--;
		top = visit_succs(w, w->stack[top], end, top, out);
		w->steps += end == NONE;
	}
}

#define FRONT_MOST (UINT64_C(1) << 20) /* words for all blocks */

/* First sites from each block on, for all of them at once. */
static void find_fronts(struct walk *w)
{
	struct arena *arena = w->unit->arena;
	const struct cfg *cfg = &w->unit->cfg;
	bool *passed = ARENA_NEW(arena, bool, cfg->n);
	struct sites here = {0};

	w->front = ARENA_NEW(arena, struct bits, cfg->n);
	for (uint32_t b = 0; b < cfg->n; b++) {
		w->front[b] = bits_new(arena, w->group->n);
		here.n = 0;
		passed[b] = pass_sites(w, b, cfg->blocks[b].first, w->first_in[b], &here);
		for (uint32_t i = 0; i < here.n; i++)
			bits_set(w->front[b], here.v[i]);
	}
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t b = cfg->n; b-- > 0;)
			for (uint32_t i = 0; passed[b] && i < cfg->blocks[b].succ.n; i++)
				grew |= bits_or(w->front[b], w->front[cfg->blocks[b].succ.v[i]]);
	}
}

/* Where walks from here and there have gone through the function several times. */
static bool fronts_known(struct walk *w)
{
	uint64_t n = w->unit->cfg.n;

	if (!w->front && w->steps > 4 * n && (w->group->n / 64 + 1) * n <= FRONT_MOST)
		find_fronts(w);
	return w->front != NULL;
}

static void add_front(struct walk *w, uint32_t b, struct sites *out)
{
	for (uint32_t site = bits_next(w->front[b], 0); site != NONE;
		site = bits_next(w->front[b], site + 1))
		add_site(w, out, site);
}

/* First sites from the start of block `from` on, not beyond block `end` (NONE: no end). */
static struct sites first_from(struct walk *w, uint32_t from, uint32_t end)
{
	struct sites out = {0};

	if (end == NONE && fronts_known(w)) {
		add_front(w, from, &out);
		return out;
	}
	w->round++;
	drain(w, visit(w, from, end, 0, &out), end, &out);
	return out;
}

/* First sites behind an instruction, of which `site` is the next in its block, if it is there. */
static struct sites first_behind(struct walk *w, uint32_t insn, uint32_t site)
{
	uint32_t b = w->unit->cfg.block_of[insn];
	struct sites out = {0};

	if (!pass_sites(w, b, insn + 1, site, &out))
		return out;
	if (fronts_known(w)) {
		const struct block *block = &w->unit->cfg.blocks[b];

		for (uint32_t i = 0; i < block->succ.n; i++)
			add_front(w, block->succ.v[i], &out);
		return out;
	}
	w->round++;
	drain(w, visit_succs(w, b, NONE, 0, &out), NONE, &out);
	return out;
}

/* First sites behind a site. */
static struct sites next_of(struct walk *w, uint32_t site)
{
	return first_behind(w, w->group->insns[site], site + 1);
}

static bool mark(struct barrier_group *g, uint32_t a, uint32_t b)
{
	uint32_t words = (g->n + 63) / 64;

	if (barrier_meets(g, a, b))
		return false;
	g->meet[(size_t)a * words + b / 64] |= UINT64_C(1) << (b % 64);
	g->meet[(size_t)b * words + a / 64] |= UINT64_C(1) << (a % 64);
	return true;
}

static void mark_apart(struct walk *w, uint32_t site, struct bits todo)
{
	if (bits_has(w->apart, site) || (w->steady && steady_has(w->steady, site)))
		return;
	bits_set(w->apart, site);
	bits_set(todo, site);
}

static bool in_one_loop(const struct walk *w, uint32_t p, uint32_t q)
{
	const struct cfg *cfg = &w->unit->cfg;
	uint32_t a = cfg->block_of[w->group->insns[p]], b = cfg->block_of[w->group->insns[q]];

	for (uint32_t h = cfg->blocks[a].loop_head; h != NONE; h = cfg->blocks[h].outer_head)
		for (uint32_t g = cfg->blocks[b].loop_head; g != NONE; g = cfg->blocks[g].outer_head)
			if (g == h)
				return true;
	return false;
}

static bool site_has(const struct sites *s, uint32_t site)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->v[i] == site)
			return true;
	return false;
}

/* A thread that does not take the arm never comes to the site: what decides is the same each time. */
static bool stays_away(const struct walk *w, uint32_t b, uint32_t arm, uint32_t site)
{
	const struct unit *unit = w->unit;
	const struct block *block = &unit->cfg.blocks[b];
	uint32_t last = block->first + block->count - 1, s = block->succ.v[arm];
	struct operand guard = {.kind = OPERAND_REG, .id = unit->fn->insns[last].guard};

	return guard.id != NONE && !value_parts_unseen(&unit->cfg, b) &&
	       unit->fn->insns[last].op != OP_brx &&
	       value_number_invariant(unit->values, value_number(unit->values, last, &guard)) &&
	       unit->cfg.blocks[s].pred.n == 1 &&
	       cfg_dominates(&unit->cfg, s, unit->cfg.block_of[w->group->insns[site]]);
}

/* Sites that both sets have: one thread may come to them a round after another. */
static void part_rounds(struct walk *w, uint32_t b, uint32_t arm, const struct sites *x,
	const struct sites *behind, struct bits todo)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (site_has(behind, x->v[i]) && !stays_away(w, b, arm, x->v[i]))
			mark_apart(w, x->v[i], todo);
}

static void meet_all(struct walk *w, const struct sites *x, const struct sites *y, struct bits todo)
{
	for (uint32_t i = 0; i < x->n; i++) {
		for (uint32_t k = 0; k < y->n; k++) {
			if (x->v[i] == y->v[k] || !mark(w->group, x->v[i], y->v[k]))
				continue;
			bits_set(todo, x->v[i]);
			bits_set(todo, y->v[k]);
		}
	}
}

#define ARMS_LOOKED_AT 64 /* blocks */

/* Some arm of the block may have a site: mostly one sees soon that none has, and need not know whether
 * threads part there. */
static bool arms_may_meet(struct walk *w, uint32_t b)
{
	const struct cfg *cfg = &w->unit->cfg;
	uint32_t top = 0, n = 0;

	w->round++;
	w->stack[top++] = b;
	while (top) {
		struct ids succ = cfg->blocks[w->stack[--top]].succ;

		for (uint32_t i = 0; i < succ.n; i++) {
			uint32_t to = succ.v[i];

			if (to == cfg->blocks[b].ipdom || w->stamp[to] == w->round)
				continue;
			if (w->first_in[to] != NONE || ++n > ARMS_LOOKED_AT)
				return true;
			w->stamp[to] = w->round;
			w->stack[top++] = to;
		}
	}
	return false;
}

/* All threads that meet at the group's barriers go the same way. */
static bool together(struct walk *w, uint32_t b)
{
	if (barrier_assumed_together(w->unit, b)) {
		w->unit->assumptions |= ASSUME_RACE_FREE;
		return true;
	}
	return w->group->named && !barrier_parts_sets(w->unit, w->group, &w->whole, b);
}

static void diverge(struct walk *w, uint32_t b, struct bits todo)
{
	const struct block *block = &w->unit->cfg.blocks[b];
	uint32_t join = block->ipdom;
	struct sites *arm = ARENA_NEW(w->unit->arena, struct sites, block->succ.n);
	struct sites behind = {0};
	bool have_behind = false, any = false;

	for (uint32_t i = 0; i < block->succ.n; i++) {
		arm[i] = first_from(w, block->succ.v[i], join);
		any |= arm[i].n > 0;
	}
	if (!any || together(w, b))
		return;
	for (uint32_t i = 0; i < block->succ.n; i++) {
		for (uint32_t k = 0; k < block->succ.n; k++) {
			if (k > i)
				meet_all(w, &arm[i], &arm[k], todo);
			if (k == i || !arm[k].reaches_end || !arm[i].n)
				continue;
			if (!have_behind) {
				behind = first_from(w, join, NONE);
				have_behind = true;
			}
			meet_all(w, &arm[i], &behind, todo);
			part_rounds(w, b, i, &arm[i], &behind, todo);
		}
	}
}

static struct bits row_of(const struct barrier_group *g, uint32_t site)
{
	uint32_t words = (g->n + 63) / 64;

	return (struct bits){g->meet + (size_t)site * words, words};
}

/* Who met at p and q comes to one site, where one of them may have been in the loop once more. */
static bool rejoins_apart(
	const struct walk *w, uint32_t p, uint32_t q, uint32_t site, struct bits behind)
{
	return bits_has(behind, site) && (in_one_loop(w, p, site) || in_one_loop(w, q, site));
}

/* Who met at p and at some q of its row goes on to next(p) and to what stands behind all those q.
 */
static void go_on(struct walk *w, uint32_t p, const struct sites *next, const struct bits *behind,
	struct bits met, struct bits todo)
{
	struct barrier_group *g = w->group;
	struct bits row = row_of(g, p);

	bits_zero(met);
	for (uint32_t q = bits_next(row, 0); q != NONE; q = bits_next(row, q + 1)) {
		if (q != p || bits_has(w->apart, p))
			bits_or(met, behind[q]);
		for (uint32_t i = 0; i < next[p].n; i++)
			if (q == p ? bits_has(w->apart, p)
				   : rejoins_apart(w, p, q, next[p].v[i], behind[q]))
				mark_apart(w, next[p].v[i], todo);
	}
	for (uint32_t i = 0; i < next[p].n; i++) {
		uint32_t x = next[p].v[i];
		struct bits to = row_of(g, x);

		for (uint32_t k = 0; k < to.nwords; k++) {
			uint64_t more = met.words[k] & ~to.words[k];

			for (; more; more &= more - 1) {
				uint32_t y = k * 64 + (uint32_t)__builtin_ctzll(more);

				if (mark(g, x, y)) {
					bits_set(todo, x);
					bits_set(todo, y);
				}
			}
		}
	}
}

static void close_product(struct walk *w, struct bits todo)
{
	struct arena *arena = w->unit->arena;
	uint32_t n = w->group->n;
	struct sites *next = ARENA_NEW(arena, struct sites, n);
	struct bits *behind = ARENA_NEW(arena, struct bits, n);
	struct bits met = bits_new(arena, n);

	for (uint32_t i = 0; i < n; i++) {
		next[i] = next_of(w, i);
		behind[i] = bits_new(arena, n);
		for (uint32_t k = 0; k < next[i].n; k++)
			bits_set(behind[i], next[i].v[k]);
	}
	while (bits_any(todo) && !budget_spent(w->unit->budget)) {
		for (uint32_t p = bits_next(todo, 0); p != NONE; p = bits_next(todo, p + 1)) {
			bits_clear(todo, p);
			go_on(w, p, next, behind, met, todo);
		}
	}
}

/* First sites behind a wall. */
static struct sites behind_wall(struct walk *w, uint32_t insn)
{
	uint32_t site = w->first_in[w->unit->cfg.block_of[insn]];

	while (site < w->group->n && w->group->insns[site] < insn)
		site++;
	return first_behind(w, insn, site);
}

/* Threads that have met at walls, elsewhere or in other rounds, go on. */
static void meet_behind_walls(struct walk *w, const struct barrier_group *walls, struct bits todo)
{
	struct sites *next = ARENA_NEW(w->unit->arena, struct sites, walls->n);

	for (uint32_t a = 0; a < walls->n; a++)
		next[a] = behind_wall(w, walls->insns[a]);
	for (uint32_t a = 0; a < walls->n; a++) {
		for (uint32_t b = 0; b <= a; b++) {
			if (!barrier_meets(walls, a, b) || (a == b && !bits_has(walls->apart, a)))
				continue;
			meet_all(w, &next[a], &next[b], todo);
			for (uint32_t i = 0; i < next[a].n; i++)
				if (site_has(&next[b], next[a].v[i]))
					mark_apart(w, next[a].v[i], todo);
		}
	}
}

static void find_walls(struct walk *w)
{
	const struct barrier_group *g = w->group;

	if (!g->nwalls)
		return;
	w->walled = ARENA_NEW(w->unit->arena, bool, w->unit->fn->ninsns);
	w->wall_in = ARENA_UNSET(w->unit->arena, uint32_t, w->unit->cfg.n);
	memset(w->wall_in, 0xff, sizeof(*w->wall_in) * w->unit->cfg.n);
	for (uint32_t k = 0; k < g->nwalls; k++) {
		for (uint32_t i = 0; i < g->walls[k].n; i++) {
			uint32_t wall = g->walls[k].insns[i], *first = &w->wall_in[w->unit->cfg.block_of[wall]];

			w->walled[wall] = true;
			*first = wall < *first ? wall : *first;
		}
	}
}

void barrier_meet(struct unit *unit, struct barrier_group *group)
{
	const struct cfg *cfg = &unit->cfg;
	struct walk w = {.unit = unit, .group = group};
	struct bits todo = bits_new(unit->arena, group->n);

	for (uint32_t i = 0; i < group->n; i++)
		mark(group, i, i);
	if (group->n < 2 && !group->apart.words)
		return;
	w.first_in = ARENA_NEW(unit->arena, uint32_t, cfg->n);
	w.stamp = ARENA_NEW(unit->arena, uint32_t, cfg->n);
	w.stack = ARENA_NEW(unit->arena, uint32_t, cfg->n + 1);
	w.apart = group->apart.words ? group->apart : bits_new(unit->arena, group->n);
	for (uint32_t b = 0; b < cfg->n; b++)
		w.first_in[b] = NONE;
	for (uint32_t i = group->n; i-- > 0;)
		w.first_in[cfg->block_of[group->insns[i]]] = i;
	find_walls(&w);
	if (group->apart.words)
		w.steady = steady_rounds(unit, group, w.first_in);
	for (uint32_t b = 0; b < cfg->n && !budget_spent(unit->budget); b++) {
		if (cfg->blocks[b].succ.n < 2 || !arms_may_meet(&w, b))
			continue;
		if (barrier_parts(unit, b))
			diverge(&w, b, todo);
	}
	for (uint32_t i = 0; i < group->n; i++) {
		if (!barrier_divides(unit, group->insns[i]))
			continue;
		struct sites behind = next_of(&w, i);

		meet_all(&w, &(struct sites){.v = &i, .n = 1}, &behind, todo);
	}
	for (uint32_t k = 0; k < group->nwalls; k++)
		meet_behind_walls(&w, &group->walls[k], todo);
	if (bits_any(todo))
		close_product(&w, todo);
}
