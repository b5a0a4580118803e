/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterated dominance frontiers of random graphs and of nested loops, held against their definition:
 * block y is in the frontier of x if x dominates a predecessor of y and not y itself, or is y.
 */
#include "unit_text.h"

#include "analysis/frontier.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(seed >> 33) % n;
}

static bool in_frontier(const struct cfg *cfg, uint32_t x, uint32_t y)
{
	struct ids pred = cfg->blocks[y].pred;

	if (x != y && cfg_dominates(cfg, x, y))
		return false;
	for (uint32_t i = 0; i < pred.n; i++)
		if (cfg_dominates(cfg, x, pred.v[i]))
			return true;
	return false;
}

static void iterate_by_definition(const struct cfg *cfg, const uint32_t *at, bool *found)
{
	bool grown = true;

	memset(found, 0, cfg->n * sizeof(*found));
	while (grown) {
		grown = false;
		for (uint32_t x = 0; x < cfg->n; x++)
			for (uint32_t y = 0; (at[x] || found[x]) && y < cfg->n; y++)
				if (!found[y] && in_frontier(cfg, x, y))
					grown = found[y] = true;
	}
}

static void compare(const struct cfg *cfg, struct arena *arena)
{
	struct frontiers *f = frontiers_new(cfg, arena);
	uint32_t *at = calloc(cfg->n, sizeof(*at)), *found = calloc(cfg->n, sizeof(*found));
	uint32_t *from = calloc(cfg->n, sizeof(*from)), *blocks = calloc(cfg->n, sizeof(*blocks));
	bool *expected = calloc(cfg->n, sizeof(*expected));

	for (uint32_t mark = 1; mark < 12; mark++) {
		uint32_t n = 0, count = 0, share = 1 + below(6), first = below(cfg->n);

		for (uint32_t b = 0; b < cfg->n; b++)
			at[b] = b == first || !below(share * 4) ? mark : 0;
		for (uint32_t b = 0; b < cfg->n; b++)
			if (at[b])
				from[n++] = b;
		uint32_t got = frontiers_iterated(f, from, n, at, mark, found, blocks);

		iterate_by_definition(cfg, at, expected);
		for (uint32_t b = 0; b < cfg->n; b++) {
			assert_int_equal(found[b] == mark, expected[b]);
			count += expected[b];
		}
		assert_int_equal(got, count);
		for (uint32_t i = 0; i < got; i++)
			assert_true(expected[blocks[i]]);
	}
	free(at);
	free(found);
	free(from);
	free(blocks);
	free(expected);
}

static void compare_text(const char *body)
{
	struct unit_text t;
	struct cfg cfg;

	unit_text_parse(&t, body);
	cfg_build(&t.linked, NULL, &t.arena, &cfg);
	compare(&cfg, &t.arena);
	unit_text_free(&t);
}

static void test_frontier_random(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t n = 2 + below(30);
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		for (uint32_t i = 0; i < n; i++) {
			fprintf(out, "L%u:\nadd.u32 %%r1, %%r1, 1;\n", i);
			if (below(4))
				fprintf(out, "@%%p1 bra L%u;\n", below(n));
			if (!below(6))
				fprintf(out, "bra L%u;\n", below(n));
		}
		fprintf(out, "ret;\n");
		fclose(out);
		compare_text(text);
		free(text);
	}
}

/* Deep enough for all frontiers together to be far larger than the graph; between the heads other
 * ways lead up and down. */
static void test_frontier_loops(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 4; round++) {
		uint32_t n = 90;
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		for (uint32_t i = 0; i < n; i++) {
			fprintf(out, "L%u:\nadd.u32 %%r1, %%r1, 1;\n", i);
			if (round && !below(5))
				fprintf(out, "@%%p2 bra L%u;\n", below(n));
		}
		for (uint32_t i = n; i-- > 0;) {
			fprintf(out, "@%%p1 bra L%u;\n", i);
			if (round && !below(5))
				fprintf(out, "@%%p2 bra E%u;\n", below(i + 1));
			fprintf(out, "E%u:\n", i);
		}
		fprintf(out, "ret;\n");
		fclose(out);
		compare_text(text);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frontier_random),
		cmocka_unit_test(test_frontier_loops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
