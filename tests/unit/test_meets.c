/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which accesses meet: the sweep must say of every pair what access_overlap() says of it, on bodies
 * made at random and large enough that pairs are not all looked at.
 */
#include "analysis/facts.h"
#include "unit_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % n;
}

static int address(char *to)
{
	switch (below(6)) {
	case 0:
		return sprintf(to, "[tile+%u]", below(128) * 16);
	case 1:
		return sprintf(to, "[other+%u]", below(32) * 16);
	case 2: /* by thread */
		return sprintf(to, "[%%r2+%u]", below(64) * 16);
	case 3: /* aligned up: a base of its own */
		return sprintf(to, "[%%r4+%u]", below(64) * 16);
	case 4: /* not known */
		return sprintf(to, "[%%r5+%u]", below(4) * 16);
	default: /* a stride of four */
		return sprintf(to, "[%%r7+%u]", below(64) * 16);
	}
}

static int global(char *to)
{
	static const char *const bases[] = {"%rd2", "%rd2", "%rd3", "source", "drain", "%rd4"};

	return sprintf(to, "[%s+%u]", bases[below(6)], below(24) * 16);
}

static int statement(char *to)
{
	static const char *const ops[] = {"st.shared.u32 %s, %%r1;\n",
		"st.shared.v4.u32 %s, {%%r1, %%r1, %%r1, %%r1};\n", "ld.shared.u32 %%r9, %s;\n",
		"atom.shared.add.u32 %%r9, %s, 1;\n"};
	char at[64], far[64];

	address(at);
	global(far);
	if (below(6) == 0)
		return sprintf(to,
			below(2) ? "st.global.u32 %s, %%r1;\n" : "ld.global.u32 %%r9, %s;\n", far);
	if (below(2))
		return sprintf(to, ops[below(4)], at);
	if (below(2))
		return sprintf(to, "cp.async.bulk.global.shared::cta.bulk_group %s, %s, %u;\n", far,
			at, 16 + below(4) * 16);
	return sprintf(to,
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes %s, %s, "
		"%u, [full];\n",
		at, far, 16 + below(4) * 16);
}

static void make(char *to, uint32_t n)
{
	to += sprintf(to,
		"mov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, tile;\nmov.u32 %%r3, tile;\nshl.b32 %%r6, "
		"%%r1, 2;\n"
		"add.u32 %%r2, %%r2, %%r6;\nadd.u32 %%r4, %%r3, 127;\nand.b32 %%r4, %%r4, -128;\n"
		"ld.global.u32 %%r5, [source];\nshl.b32 %%r8, %%r1, 4;\nadd.u32 %%r7, %%r3, %%r8;\n"
		"ld.param.u64 %%rd1, [out];\ncvta.to.global.u64 %%rd2, %%rd1;\n"
		"ld.global.u64 %%rd3, [%%rd2];\nmul.wide.u32 %%rd5, %%r1, 16;\n"
		"add.u64 %%rd4, %%rd2, %%rd5;\n");
	for (uint32_t i = 0; i < n; i++)
		to += statement(to);
	strcpy(to, "ret;");
}

static uint8_t both(uint8_t g, uint8_t a)
{
	uint8_t window = SPACE_SHARED | SPACE_CLUSTER, spaces = g & a & SPACE_GLOBAL;

	return (g & window) && (a & window) ? spaces | (g & window) : spaces;
}

struct expected {
	uint64_t pairs, ruled_out;
	uint32_t assumptions;
};

/* Holds every pair against access_overlap(); `told`: by async and generic access, what the sweep
 * says. */
static struct expected look_at_all(struct unit_text *t, const uint8_t *told)
{
	const struct accesses *all = &t->unit.accesses;
	struct expected e = {0};

	for (uint32_t g = 0; g < all->n; g++) {
		for (uint32_t a = 0; a < all->n; a++) {
			uint8_t spaces = both(all->v[g].spaces, all->v[a].spaces), meet = 0;

			if (!t->options.global)
				spaces &= (uint8_t)~SPACE_GLOBAL;
			if (all->v[g].proxy == PROXY_GENERIC && all->v[a].proxy == PROXY_ASYNC &&
				spaces &&
				facts_hazard(&all->v[g], &all->v[a], t->options.hazards)) {
				struct overlap o = access_overlap(
					t->unit.values, all, g, a, &t->options, NULL);

				meet = o.may ? spaces & o.spaces : 0;
				e.pairs += meet != 0;
				e.ruled_out += !o.may;
				e.assumptions |= o.may ? 0 : o.assumptions;
			}
			assert_int_equal(meet, told[(size_t)a * all->n + g]);
		}
	}
	return e;
}

static void check(struct unit_text *t)
{
	uint32_t n = t->unit.accesses.n;
	uint8_t *told = calloc(n, n);
	struct meets meets;

	meets_find(&t->unit, &meets);
	assert_false(meets.crowded);
	for (uint32_t i = 0; i < meets.n; i++) {
		struct ids g = meets.classes[meets.v[i].generic],
			   a = meets.classes[meets.v[i].async];

		for (uint32_t x = 0; x < g.n; x++)
			for (uint32_t y = 0; y < a.n; y++)
				told[(size_t)a.v[y] * n + g.v[x]] |= meets.v[i].spaces;
	}
	struct expected e = look_at_all(t, told);

	assert_int_equal(meets.pairs, e.pairs);
	assert_int_equal(meets.ruled_out, e.ruled_out);
	assert_int_equal(meets.assumptions, e.assumptions);
	free(told);
}

static void test_sweep(void **state)
{
	char *body = malloc(200000);

	(void)state;
	for (uint64_t round = 1; round <= 24; round++) {
		struct unit_text t;

		seed = round * UINT64_C(0x9e3779b97f4a7c15);
		make(body, round % 4 ? 400 : 40); /* the small ones are looked at pair by pair */
		unit_text_parse(&t, body);
		t.options.assume = round & 1 ? t.options.assume : 0;
		t.options.hazards = round % 3 ? t.options.hazards : HAZARD_RAW | HAZARD_WAR;
		t.options.global = round % 5 != 0;
		unit_text_analyse(&t);
		check(&t);
		unit_text_free(&t);
	}
	free(body);
}

/* Members of a group meet what single accesses would; none is lost. */
static void test_groups(void **state)
{
	char *body = malloc(200000);
	struct unit_text t;
	struct meets meets;

	(void)state;
	seed = 99;
	make(body, 600);
	unit_text_parse(&t, body);
	unit_text_analyse(&t);
	meets_find(&t.unit, &meets);
	struct groups *groups = groups_make(&t.unit, &meets);
	uint64_t pairs = 0;

	assert_non_null(groups);
	assert_true(groups->ngenerics < meets.nclasses);
	for (uint32_t i = 0; i < groups->ngenerics * groups->nasyncs; i++)
		pairs += groups->pair[i].pairs;
	assert_int_equal(pairs, meets.pairs);
	for (uint32_t i = 0; i < meets.n; i++) {
		struct ids g = meets.classes[meets.v[i].generic],
			   a = meets.classes[meets.v[i].async];

		for (uint32_t x = 0; x < g.n; x++)
			for (uint32_t y = 0; y < a.n; y++)
				assert_int_equal(groups_pair(groups, g.v[x], a.v[y])->spaces &
							 meets.v[i].spaces,
					meets.v[i].spaces);
	}
	unit_text_free(&t);
	free(body);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sweep), cmocka_unit_test(test_groups)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
