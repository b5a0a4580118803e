/* SPDX-License-Identifier: Apache-2.0 */
/* Sites against a look at all of them. */
#include "lib/sites.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST 60

static uint32_t pick(uint32_t n)
{
	static uint64_t seed = 1;

	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % n;
}

static void check_all(const struct sites *sites, const struct site *added, uint32_t nadded)
{
	for (uint32_t at = 0; at < 5; at++)
		for (uint32_t what = 0; what < 4; what++) {
			uint32_t n, all = 0, first = UINT32_MAX;
			const struct site *v = sites_at(sites, at, what, &n);

			for (uint32_t root = 0; root < 6; root++) {
				uint32_t count = 0;

				for (uint32_t i = 0; i < nadded; i++)
					count += added[i].at == at && added[i].what == what &&
						 added[i].root == root;
				assert_int_equal(sites_count(sites, at, what, root), count);
				if (count && first == UINT32_MAX)
					first = root;
				all += count;
			}
			assert_int_equal(n, all);
			assert_int_equal(v != NULL, n > 0);
			for (uint32_t i = 0; i < n; i++) {
				assert_int_equal(v[i].at, at);
				assert_int_equal(v[i].what, what);
				assert_true(v[i].root >= (i ? v[i - 1].root : first));
			}
		}
}

static void test_sites_are_found_by_offset_and_kind(void **state)
{
	jmp_buf out_of_memory;
	struct arena arena;

	(void)state;
	if (setjmp(out_of_memory))
		fail_msg("out of memory");
	for (uint32_t round = 0; round < 200; round++) {
		struct site added[MOST];
		struct sites sites = {0};
		uint32_t n = pick(MOST + 1);

		arena_init(&arena, &out_of_memory);
		for (uint32_t i = 0; i < n; i++) {
			added[i] = (struct site){.at = pick(5), .what = pick(4), .root = pick(6)};
			sites_add(&sites, &arena, added[i].at, added[i].what, added[i].root);
		}
		sites_sort(&sites);
		check_all(&sites, added, n);
		arena_free(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites_are_found_by_offset_and_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
