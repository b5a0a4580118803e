/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/maxflow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka needs the above */
#include <cmocka.h>

#define NODES 7
#define ROUNDS 10000

static uint64_t seed;

static uint32_t pick(uint32_t n)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* The cheapest way to split the nodes with 0 on one side and NODES - 1 on the other. */
static uint64_t cheapest_split(uint64_t capacity[NODES][NODES])
{
	uint64_t best = UINT64_MAX;

	for (uint32_t side = 0; side < 1u << NODES; side++) {
		uint64_t sum = 0;

		if (!(side & 1) || side >> (NODES - 1) & 1)
			continue;
		for (uint32_t i = 0; i < NODES; i++)
			for (uint32_t k = 0; k < NODES; k++)
				if ((side >> i & 1) && !(side >> k & 1))
					sum += capacity[i][k];
		best = sum < best ? sum : best;
	}
	return best < MAXFLOW_INFINITE ? best : MAXFLOW_INFINITE;
}

static void test_maxflow_equals_the_cheapest_split(void **state)
{
	struct arena arena;
	jmp_buf failure;

	(void)state;
	arena_init(&arena, &failure);
	assert_int_equal(setjmp(failure), 0);
	struct maxflow *m = maxflow_new(&arena, NODES, 23);
	struct bits side = bits_new(&arena, NODES);

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		uint64_t capacity[NODES][NODES] = {{0}};

		seed = round * UINT64_C(0x9e3779b97f4a7c15);
		maxflow_clear(m);
		for (uint32_t i = 4 + pick(20); i > 0; i--) {
			uint32_t from = pick(NODES), to = pick(NODES);
			uint64_t c = pick(8) ? pick(20) : MAXFLOW_INFINITE / 8;

			capacity[from][to] += c;
			maxflow_edge(m, from, to, c);
		}
		uint64_t flow = maxflow_run(m, 0, NODES - 1), sum = 0;

		assert_int_equal(flow, cheapest_split(capacity));
		maxflow_sink_side(m, side);
		for (uint32_t i = 0; i < NODES; i++)
			for (uint32_t k = 0; k < NODES; k++)
				if (!bits_has(side, i) && bits_has(side, k))
					sum += capacity[i][k];
		assert_int_equal(sum, flow);
	}
	arena_free(&arena);
}

/* 0 -> 1 -> 2 -> 3: without a finite edge there is no cut; of two equal ones the later is taken. */
static void test_maxflow_without_cut_and_nearest_the_sink(void **state)
{
	struct arena arena;
	jmp_buf failure;

	(void)state;
	arena_init(&arena, &failure);
	assert_int_equal(setjmp(failure), 0);
	struct maxflow *m = maxflow_new(&arena, 4, 3);
	struct bits side = bits_new(&arena, 4);

	for (uint32_t i = 0; i < 3; i++)
		maxflow_edge(m, i, i + 1, MAXFLOW_INFINITE);
	assert_true(maxflow_run(m, 0, 3) == MAXFLOW_INFINITE);
	maxflow_clear(m);
	maxflow_edge(m, 0, 1, 5), maxflow_edge(m, 1, 2, 5), maxflow_edge(m, 2, 3, MAXFLOW_INFINITE);
	assert_int_equal(maxflow_run(m, 0, 3), 5);
	maxflow_sink_side(m, side);
	assert_true(bits_has(side, 2) && !bits_has(side, 1));
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maxflow_equals_the_cheapest_split),
		cmocka_unit_test(test_maxflow_without_cut_and_nearest_the_sink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
