/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cut against brute force: random graphs of a few points, every placement tried. With one group
 * nothing cheaper exists; with several the cut costs at most 1.1 times the optimum.
 */
#include "analysis/cut_implied.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka needs the above */
#include <cmocka.h>

#define POINTS 12
#define ROUNDS 10000

static uint64_t seed;

static uint32_t pick(uint32_t n)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

struct example {
	struct arena arena;
	jmp_buf failure;
	uint32_t n;
	uint32_t to[POINTS]; /* bit mask of successors */
	uint32_t first[POINTS + 1], succ[POINTS * POINTS];
	uint64_t cost[POINTS];
	uint8_t kills[POINTS];
	struct cut_graph graph;
	struct demand demands[5];
	uint32_t ndemands;
	uint32_t from[5], sinks[5], pending[5]; /* bit masks by demand */
};

static void example_begin(struct example *e)
{
	*e = (struct example){0};
	arena_init(&e->arena, &e->failure);
	if (setjmp(e->failure))
		abort();
}

static void connect(struct example *e, uint32_t p, uint32_t q)
{
	e->to[p] |= 1u << q;
}

static void freeze(struct example *e)
{
	uint32_t m = 0;

	for (uint32_t p = 0; p < e->n; p++) {
		e->first[p] = m;
		for (uint32_t q = 0; q < e->n; q++)
			if (e->to[p] >> q & 1)
				e->succ[m++] = q;
	}
	e->first[e->n] = m;
	e->graph = (struct cut_graph){e->n, e->first, e->succ, e->cost, e->kills, NULL, 0};
}

static void random_graph(struct example *e, uint32_t most)
{
	static const uint64_t costs[] = {1, 1, 1, 10, 10, 100, 1000};

	e->n = 4 + pick(most - 3);
	for (uint32_t p = 0; p < e->n; p++) {
		if (p + 1 < e->n && pick(8))
			connect(e, p, p + 1);
		if (!pick(3))
			connect(e, p, pick(e->n));
		e->cost[p] = pick(9) ? costs[pick(7)] : CUT_FORBIDDEN;
		e->kills[p] = pick(14) ? 0 : (pick(2) ? SPACE_SHARED : SPACE_GLOBAL);
	}
	freeze(e);
}

/* Points that `from` reaches behind it, over points that `open` holds. */
static uint32_t reach(const struct example *e, uint32_t from, uint32_t open, uint8_t width)
{
	uint32_t seen = 0, todo = 0;

	for (uint32_t p = 0; p < e->n; p++)
		if (from >> p & 1)
			todo |= e->to[p] & open;
	while (todo) {
		uint32_t p = (uint32_t)__builtin_ctz(todo);

		seen |= 1u << p;
		todo &= ~(1u << p);
		if (!cut_covers(e->kills[p], width))
			todo |= e->to[p] & open & ~seen;
	}
	return seen;
}

static const uint32_t *list(struct example *e, uint32_t mask, uint32_t *n)
{
	uint32_t *v = ARENA_NEW(&e->arena, uint32_t, POINTS);

	*n = 0;
	for (uint32_t p = 0; p < e->n; p++)
		if (mask >> p & 1)
			v[(*n)++] = p;
	return v;
}

static void add_demand(struct example *e, uint32_t from, uint32_t sinks, uint8_t width)
{
	uint32_t d = e->ndemands++;
	struct demand *demand = &e->demands[d];

	*demand = (struct demand){.width = width, .pending = bits_new(&e->arena, e->n + 1)};
	demand->sources = list(e, from, &demand->nsources);
	demand->sinks = list(e, sinks, &demand->nsinks);
	e->from[d] = from;
	e->sinks[d] = sinks;
	e->pending[d] = reach(e, from, ~0u, width);
	for (uint32_t p = 0; p < e->n; p++)
		if (e->pending[d] >> p & 1)
			bits_set(demand->pending, p);
}

static uint32_t random_set(const struct example *e, uint32_t most)
{
	uint32_t set = 0;

	for (uint32_t i = 1 + pick(most); i > 0; i--)
		set |= 1u << pick(e->n);
	return set;
}

/* No way from a source to a sink of the demand is open with these widths in place. */
static bool met(const struct example *e, uint32_t d, const uint8_t *have)
{
	uint32_t open = e->pending[d];

	for (uint32_t p = 0; p < e->n; p++)
		if (cut_covers(have[p], e->demands[d].width))
			open &= ~(1u << p);
	return !(reach(e, e->from[d], open, e->demands[d].width) & e->sinks[d]);
}

static uint64_t cost_of(const struct example *e, const uint8_t *have)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < e->n; p++)
		if (have[p])
			sum += e->cost[p] * cut_instructions(have[p]);
	return sum;
}

static bool feasible(const struct example *e, uint32_t d)
{
	uint8_t have[POINTS] = {0};

	for (uint32_t p = 0; p < e->n; p++)
		have[p] = e->cost[p] == CUT_FORBIDDEN ? 0 : SPACE_CLUSTER | SPACE_GLOBAL;
	return met(e, d, have);
}

/* The least cost over all ways to give each point one of these widths. */
static uint64_t brute_force(const struct example *e, const uint8_t *widths, uint32_t nwidths)
{
	uint32_t digit[POINTS] = {0};
	uint8_t have[POINTS] = {0};
	uint64_t best = UINT64_MAX;

	for (;;) {
		uint64_t cost = cost_of(e, have);
		bool good = cost < best;

		for (uint32_t d = 0; good && d < e->ndemands; d++)
			good = met(e, d, have) || !feasible(e, d);
		if (good)
			best = cost;
		uint32_t p = 0;

		for (; p < e->n; p++) {
			if (e->cost[p] == CUT_FORBIDDEN)
				continue;
			digit[p] = (digit[p] + 1) % nwidths;
			have[p] = widths[digit[p]];
			if (digit[p])
				break;
		}
		if (p == e->n)
			return best;
	}
}

/* Solves, and checks that every demand is met or known not to be. Gives the cost. */
static uint64_t solve(struct example *e, uint64_t round)
{
	struct budget budget = {0};
	struct cut cut;
	uint8_t have[POINTS] = {0};

	cut_solve(&e->graph, e->demands, e->ndemands, &e->arena, &budget, &cut);
	for (uint32_t i = 0; i < cut.nfences; i++) {
		assert_true(e->cost[cut.fences[i].point] != CUT_FORBIDDEN);
		have[cut.fences[i].point] = cut.fences[i].width;
	}
	for (uint32_t d = 0; d < e->ndemands; d++) {
		if (cut.infeasible[d] == feasible(e, d) || (!cut.infeasible[d] && !met(e, d, have)))
			fail_msg("round %llu: demand %u is not met", (unsigned long long)round, d);
	}
	assert_int_equal(cut.cost, cost_of(e, have));
	return cut.cost;
}

static void expect_cheapest(struct example *e, uint64_t round)
{
	static const uint8_t widths[] = {0, SPACE_SHARED};
	uint64_t cost = solve(e, round), least = brute_force(e, widths, 2);

	if (cost != least)
		fail_msg("round %llu: cut %llu, brute force %llu", (unsigned long long)round,
			(unsigned long long)cost, (unsigned long long)least);
}

static void test_cut_one_group_is_cheapest(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		struct example e;

		seed = round * UINT64_C(0x9e3779b97f4a7c15);
		example_begin(&e);
		random_graph(&e, 11);
		add_demand(&e, random_set(&e, 3), random_set(&e, 3), SPACE_SHARED);
		expect_cheapest(&e, round);
		arena_free(&e.arena);
	}
}

/* Accesses one behind the other that go to the same places: mostly the last demand implies the others, and
 * what is left is met no dearer. */
static void test_cut_accesses_in_a_row(void **state)
{
	uint32_t fewer = 0;

	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		struct demand kept[3];
		struct example e;

		seed = round * UINT64_C(0xbf58476d1ce4e5b9);
		example_begin(&e);
		random_graph(&e, 11);
		uint32_t from = pick(e.n - 2), sinks = random_set(&e, 3);

		for (uint32_t i = 0; i < 3; i++)
			add_demand(&e, 1u << (from + i), sinks, SPACE_SHARED);
		if (pick(2)) { /* one of them is not pending everywhere */
			uint32_t d = pick(3), p = pick(e.n);

			e.pending[d] &= ~(1u << p);
			bits_clear(e.demands[d].pending, p);
		}
		fewer += cut_drop_implied(&e.graph, e.demands, 3, kept) < 3;
		expect_cheapest(&e, round);
		arena_free(&e.arena);
	}
	assert_true(fewer > ROUNDS / 8);
}

static void several_groups(const uint8_t *widths, uint32_t nwidths, uint32_t points)
{
	uint32_t dearer = 0;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		struct example e;

		seed = (round + ROUNDS * nwidths) * UINT64_C(0x9e3779b97f4a7c15);
		example_begin(&e);
		random_graph(&e, points);
		for (uint32_t i = 2 + pick(3); i > 0; i--)
			add_demand(&e, random_set(&e, 2), random_set(&e, 2),
				widths[1 + pick(nwidths - 1)]);
		uint64_t cost = solve(&e, round), least = brute_force(&e, widths, nwidths);

		if (cost < least || cost * 10 > least * 11)
			fail_msg("round %llu: cut %llu, brute force %llu",
				(unsigned long long)round, (unsigned long long)cost,
				(unsigned long long)least);
		dearer += cost > least;
		arena_free(&e.arena);
	}
	print_message("%u of %u dearer than the optimum\n", dearer, ROUNDS);
}

static void test_cut_several_groups_of_one_width(void **state)
{
	static const uint8_t widths[] = {0, SPACE_SHARED};

	(void)state;
	several_groups(widths, 2, 9);
}

static void test_cut_several_groups_of_mixed_widths(void **state)
{
	static const uint8_t widths[] = {0, SPACE_SHARED, SPACE_CLUSTER};

	(void)state;
	several_groups(widths, 3, 6);
}

static void line(struct example *e, uint32_t n)
{
	e->n = n;
	for (uint32_t p = 0; p < n; p++) {
		e->cost[p] = 1;
		if (p + 1 < n)
			connect(e, p, p + 1);
	}
}

static struct cut_fence only_fence(struct example *e)
{
	struct budget budget = {0};
	struct cut cut;

	cut_solve(&e->graph, e->demands, e->ndemands, &e->arena, &budget, &cut);
	assert_int_equal(cut.nfences, 1);
	return cut.fences[0];
}

/* Of equal points the last one before the sink is taken, and a cheaper one before it wins. */
static void test_cut_takes_the_latest_of_the_cheapest(void **state)
{
	struct example e;

	(void)state;
	example_begin(&e);
	line(&e, 6);
	freeze(&e);
	add_demand(&e, 1u << 0, 1u << 5, SPACE_SHARED);
	assert_int_equal(only_fence(&e).point, 5);
	e.cost[4] = e.cost[5] = 10;
	assert_int_equal(only_fence(&e).point, 3);
	arena_free(&e.arena);
}

/* 0 -> {1 (source) -> 2, 3} -> 4 -> 5 (sink): point 2 sees the access on every path, 4 does not. */
static void test_cut_prefers_points_that_always_need_it(void **state)
{
	struct example e;

	(void)state;
	example_begin(&e);
	e.n = 6;
	for (uint32_t p = 0; p < e.n; p++)
		e.cost[p] = 1;
	connect(&e, 0, 1), connect(&e, 0, 3), connect(&e, 1, 2), connect(&e, 2, 4);
	connect(&e, 3, 4), connect(&e, 4, 5);
	freeze(&e);
	add_demand(&e, 1u << 1, 1u << 5, SPACE_SHARED);
	assert_int_equal(only_fence(&e).point, 2);
	arena_free(&e.arena);
}

/* Two demands that share nothing but the way: one fence. Its width serves both. */
static void test_cut_shares_fences_between_groups(void **state)
{
	struct example e;

	(void)state;
	example_begin(&e);
	line(&e, 6);
	freeze(&e);
	add_demand(&e, 1u << 0, 1u << 4, SPACE_SHARED);
	add_demand(&e, 1u << 1, 1u << 5, SPACE_CLUSTER);
	struct cut_fence fence = only_fence(&e);

	assert_in_range(fence.point, 2, 4);
	assert_int_equal(fence.width & SPACE_CLUSTER, SPACE_CLUSTER);
	arena_free(&e.arena);
}

/* What stands already costs nothing and is not given again. */
static void test_cut_uses_what_stands_already(void **state)
{
	static const uint8_t given[POINTS] = {0, 0, 0, SPACE_CLUSTER};
	struct budget budget = {0};
	struct example e;
	struct cut cut;

	(void)state;
	example_begin(&e);
	line(&e, 6);
	freeze(&e);
	e.graph.given = given;
	add_demand(&e, 1u << 0, 1u << 5, SPACE_SHARED);
	cut_solve(&e.graph, e.demands, e.ndemands, &e.arena, &budget, &cut);
	assert_int_equal(cut.nfences, 0);
	add_demand(&e, 1u << 0, 1u << 2, SPACE_SHARED);
	assert_int_equal(only_fence(&e).point, 2);
	arena_free(&e.arena);
}

static void test_cut_costly_points_are_a_last_resort(void **state)
{
	struct example e;

	(void)state;
	example_begin(&e);
	line(&e, 4);
	e.cost[1] = CUT_FORBIDDEN, e.cost[2] = CUT_AVOID, e.cost[3] = CUT_AVOID;
	freeze(&e);
	add_demand(&e, 1u << 0, 1u << 3, SPACE_SHARED);
	assert_int_equal(only_fence(&e).point, 3);
	e.cost[1] = 100000000;
	assert_int_equal(only_fence(&e).point, 1);
	arena_free(&e.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_one_group_is_cheapest),
		cmocka_unit_test(test_cut_accesses_in_a_row),
		cmocka_unit_test(test_cut_several_groups_of_one_width),
		cmocka_unit_test(test_cut_several_groups_of_mixed_widths),
		cmocka_unit_test(test_cut_takes_the_latest_of_the_cheapest),
		cmocka_unit_test(test_cut_prefers_points_that_always_need_it),
		cmocka_unit_test(test_cut_shares_fences_between_groups),
		cmocka_unit_test(test_cut_uses_what_stands_already),
		cmocka_unit_test(test_cut_costly_points_are_a_last_resort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
