/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

static bool is_zero(const unsigned char *p, size_t n)
{
	while (n && !p[n - 1])
		n--;
	return n == 0;
}

static void test_arena_alloc_gives_aligned_zeroes(void **state)
{
	jmp_buf failed;
	struct arena arena;
	static const size_t sizes[] = {0, 1, 15, 16, 17, 4096, 70000, 9000000};

	(void)state;
	if (setjmp(failed))
		fail();
	arena_init(&arena, &failed);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			unsigned char *p = arena_alloc(&arena, sizes[i]);

			assert_int_equal((uintptr_t)p % 16, 0);
			assert_true(is_zero(p, sizes[i]));
			memset(p, 0xa5, sizes[i]);
		}
		arena_reset(&arena);
		assert_int_equal(arena.used, 0);
	}
	arena_free(&arena);
}

static void test_arena_grow_keeps_bytes_and_clears_the_rest(void **state)
{
	jmp_buf failed;
	struct arena arena;

	(void)state;
	if (setjmp(failed))
		fail();
	arena_init(&arena, &failed);
	unsigned char *p = arena_alloc(&arena, 100);

	memset(p, 1, 100);
	unsigned char *q = arena_grow(&arena, p, 100, 1000);

	assert_ptr_equal(p, q); /* the newest allocation grows in place */
	assert_true(is_zero(q + 112, 888));
	arena_alloc(&arena, 1);
	memset(q, 2, 1000);
	unsigned char *r = arena_grow(&arena, q, 1000, 200000);

	assert_ptr_not_equal(q, r);
	assert_int_equal(r[999], 2);
	assert_true(is_zero(r + 1000, 199000));
	assert_true(is_zero(arena_grow(&arena, NULL, 0, 64), 64));
	arena_free(&arena);
}

static void test_arena_extends_without_touching(void **state)
{
	jmp_buf failed;
	struct arena arena;

	(void)state;
	if (setjmp(failed))
		fail();
	arena_init(&arena, &failed);
	unsigned char *p = arena_alloc_unset(&arena, 100);

	memset(p, 1, 100);
	assert_ptr_equal(arena_extend(&arena, p, 100, 1000), p);
	memset(p, 1, 1000);
	arena_alloc(&arena, 1);
	unsigned char *q = arena_extend(&arena, p, 1000, 200000);

	assert_ptr_not_equal(p, q);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(q[i], 1);
	memset(q, 2, 200000); /* all of it is there */
	arena_reset(&arena);
	assert_true(is_zero(arena_alloc(&arena, 200000), 200000));
	arena_free(&arena);
}

static void test_arena_hands_out_again(void **state)
{
	jmp_buf failed;
	struct arena arena;

	(void)state;
	if (setjmp(failed))
		fail();
	arena_init(&arena, &failed);
	unsigned char *p = arena_alloc(&arena, 100000), *after = arena_alloc(&arena, 5000);
	size_t used = arena.used;

	memset(p, 0xa5, 100000);
	memset(after, 0xa5, 5000);
	arena_give_back(&arena, p, 100000);
	assert_int_equal(arena.used, used - 100000);
	unsigned char *q = arena_alloc(&arena, 90000);

	assert_ptr_equal(q, p); /* the block fits, and is cleared */
	assert_true(is_zero(q, 90000));
	unsigned char *rest = arena_alloc_unset(&arena, 8000);

	memset(rest, 1, 8000);
	assert_true(is_zero(q, 90000));
	arena_trim(&arena, q, 90000, 40000);
	memset(arena_alloc_unset(&arena, 50000), 2, 50000);
	arena_trim(&arena, q, 40000, 40000);
	assert_true(is_zero(q, 40000));
	for (int i = 0; i < 5000; i++)
		assert_int_equal(after[i], 0xa5);
	arena_give_back(&arena, NULL, 100);
	arena_reset(&arena);
	assert_int_equal(arena.used, 0);
	assert_true(is_zero(arena_alloc(&arena, 300000), 300000));
	arena_free(&arena);
}

static void test_arena_fails_through_the_jump(void **state)
{
	jmp_buf failed;
	struct arena arena;
	volatile int failures = 0;

	(void)state;
	arena_init(&arena, &failed);
	arena.limit = 1000;
	if (setjmp(failed)) {
		failures++;
		if (failures == 1)
			arena_alloc(&arena, SIZE_MAX - 3);
	} else {
		arena_alloc(&arena, 900);
		arena_alloc(&arena, 200);
	}
	assert_int_equal(failures, 2);
	assert_true(arena.used <= 1000);
	arena_free(&arena);
}

static void push_many(struct arena *arena)
{
	uint32_t *v = NULL, n = 0, cap = 0;

	for (uint32_t i = 0; i < 100000; i++)
		ARENA_PUSH(arena, v, n, cap, i);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(v[i], i);
}

static void test_arena_push_grows(void **state)
{
	jmp_buf failed;
	struct arena arena;

	(void)state;
	if (setjmp(failed))
		fail();
	arena_init(&arena, &failed);
	push_many(&arena);
	arena_free(&arena);
}

/* What a stage took is there again for its parent; what the parent gave meanwhile stays. */
static void test_arena_stage_gives_back(void **state)
{
	jmp_buf failed;
	struct arena arena, stage;
	size_t used;
	unsigned char *kept;

	(void)state;
	if (setjmp(failed))
		fail();
	arena_init(&arena, &failed);
	arena_alloc(&arena, 100);
	used = arena.used;
	arena_begin(&stage, &arena);
	memset(arena_alloc_unset(&stage, 1000000), 0xa5, 1000000);
	kept = arena_alloc(&arena, 100);
	memset(kept, 0x5a, 100);
	for (int i = 0; i < 100; i++)
		memset(arena_alloc_unset(&stage, 10000), 0xa5, 10000);
	arena_end(&stage);
	assert_int_equal(arena.used, used + 112);
	for (int i = 0; i < 100; i++)
		assert_int_equal(kept[i], 0x5a);
	struct arena_chunk *chunks = arena.chunks;
	unsigned char *again = arena_alloc(&arena, 1000000);

	assert_ptr_equal(arena.chunks, chunks); /* nothing new from malloc */
	assert_true(is_zero(again, 1000000));
	arena_free(&arena);
}

/* Neighbours that were given back one by one, in any order, are one block for who asks for more than each. */
static void test_arena_joins_neighbours(void **state)
{
	jmp_buf failed;
	struct arena arena;
	unsigned char *v[8];

	(void)state;
	if (setjmp(failed))
		fail();
	arena_init(&arena, &failed);
	arena_reset(&arena);
	arena_give_back(&arena, arena_alloc(&arena, 1000000), 1000000); /* one chunk for all */
	for (int i = 0; i < 8; i++)
		v[i] = memset(arena_alloc_unset(&arena, 40000), i, 40000);
	struct arena_chunk *chunks = arena.chunks;

	for (int i = 0; i < 6; i++)
		arena_give_back(&arena, v[i * 5 % 6], 40000);
	arena_give_back(&arena, v[7], 40000);
	unsigned char *six = arena_alloc(&arena, 240000);

	assert_ptr_equal(six, v[0]);
	assert_true(is_zero(six, 240000));
	for (int i = 0; i < 40000; i++)
		assert_int_equal(v[6][i], 6);
	assert_ptr_equal(arena.chunks, chunks);
	arena_free(&arena);
}

/* A stage that wants a large chunk begins with what its parent has lying about. */
static void test_arena_stage_takes_what_is_spare(void **state)
{
	jmp_buf failed;
	struct arena arena, stage;

	(void)state;
	if (setjmp(failed))
		fail();
	arena_init(&arena, &failed);
	unsigned char *spare = arena_alloc(&arena, 90000), *after = arena_alloc(&arena, 16);

	arena_give_back(&arena, spare, 90000);
	arena_begin(&stage, &arena);
	for (int i = 0; i < 80; i++) {
		unsigned char *p = memset(arena_alloc(&stage, 1000), 0xa5, 1000);

		assert_true(p > spare && p + 1000 <= spare + 90000);
	}
	assert_int_equal(after[0], 0);
	arena_end(&stage);
	assert_ptr_equal(arena_alloc(&arena, 90000), spare);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arena_alloc_gives_aligned_zeroes),
		cmocka_unit_test(test_arena_grow_keeps_bytes_and_clears_the_rest),
		cmocka_unit_test(test_arena_extends_without_touching),
		cmocka_unit_test(test_arena_hands_out_again),
		cmocka_unit_test(test_arena_fails_through_the_jump),
		cmocka_unit_test(test_arena_push_grows),
		cmocka_unit_test(test_arena_stage_gives_back),
		cmocka_unit_test(test_arena_joins_neighbours),
		cmocka_unit_test(test_arena_stage_takes_what_is_spare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 99 : 0;
}
