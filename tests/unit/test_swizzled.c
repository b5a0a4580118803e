/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks that threads write against the bytes that a k-step of wgmma reads, both counted one by one. */
#include "analysis/access.h"
#include "unit_text.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 128
#define BYTES 65536

struct shape {
	uint32_t row, sbo, start, rows;	     /* of the matrix, in bytes and rows */
	uint32_t pitch, shift, mask, column; /* a thread's chunk: tid * pitch + ((tid >> shift & mask) ^ column) * 16 */
	uint32_t stage;			     /* distance of two stages, of which the thread takes either; 0: one */
	uint32_t detour;		     /* its chunk is so much further on where it has come by another way; 0: none */
};

static uint32_t swizzled(const struct shape *s, uint32_t at)
{
	return at ^ ((at >> 7 & (s->row / 16 - 1)) << 4);
}

/* Stages lie `stage` bytes apart, and the k-step may be of any: what is a multiple apart is the same. */
static bool meets(const struct shape *s)
{
	static bool read[BYTES];
	uint32_t period = s->stage ? s->stage & -s->stage : BYTES;

	memset(read, 0, sizeof(read));
	for (uint32_t r = 0; r < s->rows; r++)
		for (uint32_t b = 0; b < 32; b++)
			read[swizzled(s, s->start + r / 8 * s->sbo + r % 8 * s->row + b) % period] = true;
	for (uint32_t t = 0; t < 2 * THREADS; t++) {
		uint32_t tid = t % THREADS, at = t < THREADS ? 0 : s->detour;

		at += tid * s->pitch + (((tid >> s->shift & s->mask) ^ s->column) << 4);
		for (uint32_t b = 0; b < 16; b++)
			if (read[(at + b) % period])
				return true;
	}
	return false;
}

static void write_body(const struct shape *s, char *body)
{
	uint32_t mode = s->row == 128 ? 1 : s->row == 64 ? 2 : 3;
	int n = sprintf(body,
		".shared .align 1024 .b8 big[65536];\nmov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, big;\nmul.lo.s32 %%r2, %%r0, %u;\nshr.u32 %%r3, %%r0, "
		"%u;\nand.b32 %%r3, %%r3, %u;\nxor.b32 %%r3, %%r3, %u;\nshl.b32 %%r3, %%r3, 4;\nadd.s32 %%r2, "
		"%%r2, %%r3;\nadd.s32 %%r2, %%r2, %%r1;\n",
		s->pitch, s->shift, s->mask, s->column);

	if (s->stage)
		n += sprintf(body + n,
			"ld.param.u32 %%r4, [out];\nand.b32 %%r4, %%r4, 1;\nmad.lo.s32 %%r2, %%r4, %u, %%r2;\n",
			s->stage);
	if (s->detour)
		n += sprintf(body + n,
			"ld.param.u32 %%r6, [out];\nsetp.ne.u32 %%p0, %%r6, 0;\nmov.u32 %%r7, 0;\n@%%p0 bra BACK;\nmov.u32 %%r7, "
			"%u;\nBACK:\nadd.s32 %%r2, %%r2, %%r7;\n",
			s->detour);
	sprintf(body + n,
		"st.shared.v4.b32 [%%r2], {%%r0, %%r0, %%r0, %%r0};\nadd.s32 %%r5, %%r1, %u;\nshr.u32 %%r5, %%r5, "
		"4;\nmov.b64 %%rd1, {%%r5, %u};\nwgmma.mma_async.sync.aligned.m64n%uk8.f32.tf32.tf32 {%%f0, %%f1, "
		"%%f2, %%f3}, {%%r0, %%r0, %%r0, %%r0}, %%rd1, 1, 1, 1;\nret;",
		s->start, mode << 30 | s->sbo >> 4, s->rows);
}

static bool says_may(const struct shape *s)
{
	struct unit_text t;
	char body[1200];
	bool may = false;

	write_body(s, body);
	unit_text_parse(&t, body);
	unit_text_analyse(&t);
	const struct accesses *all = &t.unit.accesses;
	uint32_t pairs = 0;

	for (uint32_t g = 0; g < all->n; g++)
		for (uint32_t a = 0; a < all->n; a++) {
			if (all->v[g].proxy != PROXY_GENERIC || all->v[a].proxy != PROXY_ASYNC)
				continue;
			pairs++;
			may |= access_overlap(t.unit.values, all, g, a, &t.options, &t.arena).may;
		}
	assert_int_equal(pairs, 1);
	unit_text_free(&t);
	return may;
}

static uint32_t next(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % n;
}

static void test_swizzled_rows_meet_where_their_bytes_do(void **state)
{
	uint32_t seed = 7, apart = 0, met = 0;

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		struct shape s = {.row = 32u << next(&seed, 3), .rows = 8u << next(&seed, 4)};

		bool alike = next(&seed, 4) != 0; /* the threads swizzle as the matrix does */

		s.sbo = 8 * s.row << (next(&seed, 3) ? 0 : next(&seed, 3));
		s.start = 8 * s.row * next(&seed, 4) + 32 * next(&seed, s.row / 32);
		s.pitch = alike ? s.row : 16 * (1 + next(&seed, 20));
		s.shift = alike ? 7 - (uint32_t)__builtin_ctz(s.row) : next(&seed, 4);
		s.mask = alike ? s.row / 16 - 1 : next(&seed, 8);
		s.column = next(&seed, alike ? s.row / 16 : 16);
		s.stage = next(&seed, 3) ? 0 : 1024u << next(&seed, 5);
		s.detour = next(&seed, 3) ? 0 : 1024u << next(&seed, 5);
		s.start += next(&seed, 2) ? s.detour : 0;

		bool may = says_may(&s), meet = meets(&s);

		if (meet && !may)
			fail_msg("row %u sbo %u start %u rows %u pitch %u shift %u mask %u column %u stage %u",
				s.row, s.sbo, s.start, s.rows, s.pitch, s.shift, s.mask, s.column,
				s.stage);
		apart += !may;
		met += may && !meet;
	}
	assert_true(apart > 500); /* many are told apart, and few that could be are not */
	assert_true(met < apart / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_swizzled_rows_meet_where_their_bytes_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
