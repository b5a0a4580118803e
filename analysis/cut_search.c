/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a placement that meets the demands. Goes out: a cheapest one, if the search ends in
 * time. Every open path must get a fence at one of its runs: take them one after the other, the
 * runs tried before being banned for the later branches, so that no set is looked at twice.
 * Invariant: `have` always is what the branches on the stack have chosen.
 */
#include "analysis/cut_search.h"

#define SEARCH_VISITS 40000 /* of runs: less than a millisecond */
#define SEARCH_DEPTH 24

struct branch {
	uint32_t *path, n; /* of an open demand */
	uint32_t next;	   /* to try */
	uint8_t width;	   /* of the demand */
	uint8_t before;	   /* width that stood at the run now chosen */
	bool chosen;
	uint8_t *banned_before; /* by place on the path */
};

struct search {
	struct runs *runs;
	struct ids demands;
	const bool *infeasible;
	uint8_t *have, *banned, *best;
	uint64_t cost, best_cost; /* of have, of best */
	struct branch stack[SEARCH_DEPTH];
	uint32_t depth;
};

/* Opens a branch for some demand that is not met; false: all are met. */
static bool open_branch(struct search *s)
{
	struct branch *b = &s->stack[s->depth];

	for (uint32_t i = 0; i < s->demands.n; i++) {
		uint32_t d = s->demands.v[i];

		if (s->infeasible[d])
			continue;
		b->n = runs_open_path(s->runs, d, s->have, b->path);
		if (!b->n)
			continue;
		b->width = s->runs->demands[d].width;
		b->next = 0;
		b->chosen = false;
		s->depth++;
		return true;
	}
	return false;
}

static void unchoose(struct search *s, struct branch *b)
{
	uint32_t i = b->next - 1, r = b->path[i];

	s->cost -= cut_cost_at(s->runs, r, s->have[r]) - cut_cost_at(s->runs, r, b->before);
	s->have[r] = b->before;
	b->banned_before[i] = s->banned[r];
	s->banned[r] |= b->width;
	b->chosen = false;
}

/* Undoes its bans and takes it off the stack. */
static void close_branch(struct search *s)
{
	struct branch *b = &s->stack[--s->depth];

	for (uint32_t i = b->next; i-- > 0;)
		s->banned[b->path[i]] = b->banned_before[i];
}

/* Chooses the next run of the branch's path that could lead to something better; false: none is
 * left. */
static bool choose(struct search *s, struct branch *b)
{
	for (; b->next < b->n; b->next++) {
		uint32_t r = b->path[b->next];

		b->banned_before[b->next] = s->banned[r];
		if (s->runs->v[r].cost >= CUT_FORBIDDEN || (s->banned[r] & b->width) == b->width)
			continue;
		uint64_t cost = s->cost - cut_cost_at(s->runs, r, s->have[r]) +
				cut_cost_at(s->runs, r, s->have[r] | b->width);

		if (cost >= s->best_cost)
			continue;
		b->before = s->have[r];
		s->have[r] |= b->width;
		s->cost = cost;
		b->chosen = true;
		b->next++;
		return true;
	}
	return false;
}

static bool search_new(struct search *s, struct arena *arena)
{
	uint32_t n = s->runs->n;

	if (n > 2048)
		return false;
	s->have = ARENA_NEW(arena, uint8_t, n + 1);
	s->banned = ARENA_NEW(arena, uint8_t, n + 1);
	for (uint32_t i = 0; i < SEARCH_DEPTH; i++) {
		s->stack[i].path = ARENA_NEW(arena, uint32_t, n + 1);
		s->stack[i].banned_before = ARENA_NEW(arena, uint8_t, n + 1);
	}
	s->best_cost = cut_cost(s->runs, s->best);
	return true;
}

static void keep(struct search *s)
{
	s->best_cost = s->cost;
	memcpy(s->best, s->have, s->runs->n);
}

void cut_search(struct runs *runs, struct ids demands, const bool *infeasible, uint8_t *best,
	struct arena *arena, struct budget *budget)
{
	struct search *s = ARENA_NEW(arena, struct search, 1);

	*s = (struct search){
		.runs = runs, .demands = demands, .infeasible = infeasible, .best = best};
	if (!search_new(s, arena) || !open_branch(s))
		return;
	uint64_t last = runs->visits + SEARCH_VISITS;

	while (s->depth && runs->visits < last && !budget_spent(budget)) {
		struct branch *b = &s->stack[s->depth - 1];

		if (b->chosen)
			unchoose(s, b);
		if (!choose(s, b)) {
			close_branch(s);
			continue;
		}
		if (s->depth == SEARCH_DEPTH)
			continue;
		if (!open_branch(s))
			keep(s);
	}
}
