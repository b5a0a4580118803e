/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the litmus kernels share. Each kernel repeats one pattern for many rounds: a generic access, a
 * hand-off, an async access to the same bytes. In: Args. Out: the number of words (or products)
 * that were not those of the round, added to *stale. Invariants: the fences called here are the right
 * ones, and -DNO_FENCES, the form under test, has none of them; a check is finished (its values
 * decide a branch) before the next hand-off, so that it makes no edge of its own.
 */
#pragma once

#include "../../../samples/wgmma.cuh"

enum { THREADS = 128, WORDS = 32, BLOCK_WORDS = THREADS * WORDS, BLOCK_BYTES = BLOCK_WORDS * 4 };

/*
 * out: BLOCK_WORDS words per CTA, zero at first. src: two blocks, filled with round_word(0) and (1).
 * flags: two words per CTA, zero at first.
 */
#define ARGS uint32_t *out, const uint32_t *src, unsigned *flags, unsigned long long *stale, int rounds

/* Not unrolled, so that a pattern stands in the PTX once. */
#define ROUNDS(round, from, to) _Pragma("unroll 1") for (int round = from; round < (to); round++)

/* Half-words of it are 1.0 and 2.0 in bf16, so that wgmma can read the same blocks. */
DEVICE uint32_t round_word(int round)
{
	return round & 1 ? 0x40004000 : 0x3f803f80;
}

DEVICE const uint32_t *round_block(const uint32_t *src, int round)
{
	return src + (round & 1) * BLOCK_WORDS;
}

DEVICE void report(unsigned long long *stale, unsigned wrong)
{
	if (wrong)
		atomicAdd(stale, (unsigned long long)wrong);
}

/* A thread's 128 bytes of the buffer: lanes of a warp meet in one bank, so the queue grows deep. */
DEVICE uint32_t own_row(uint32_t buffer)
{
	return buffer + threadIdx.x % THREADS * (WORDS * 4);
}

DEVICE void write_row(uint32_t row, uint32_t value)
{
#pragma unroll
	for (int i = 0; i < WORDS; i++)
		store_shared(row + i * 4, value);
}

DEVICE unsigned count_global(const uint32_t *words, uint32_t want)
{
	unsigned wrong = 0;

#pragma unroll
	for (int i = 0; i < WORDS; i += 4) {
		uint4 v;
		asm volatile("ld.relaxed.gpu.global.v4.b32 {%0, %1, %2, %3}, [%4];"
			: "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
			: "l"(__cvta_generic_to_global(words + i)) : "memory");
		wrong += (v.x != want) + (v.y != want) + (v.z != want) + (v.w != want);
	}
	return wrong;
}

DEVICE unsigned count_row(uint32_t row, uint32_t want)
{
	unsigned wrong = 0;

#pragma unroll
	for (int i = 0; i < WORDS; i++)
		wrong += load_shared(row + i * 4) != want;
	return wrong;
}

DEVICE void bulk_store(uint32_t *dst, uint32_t src, int bytes)
{
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
		:: "l"(__cvta_generic_to_global(dst)), "r"(src), "r"(bytes) : "memory");
	bulk_commit();
	bulk_wait();
}

DEVICE void load_block(uint32_t buffer, const uint32_t *src, uint32_t full)
{
	mbarrier_expect(full, BLOCK_BYTES);
	bulk_load(buffer, src, BLOCK_BYTES, full);
}

/* D[64][128] = ones[64][64] * B[128][64]^T, A in registers, so B is all that is read in memory. */
DEVICE void wgmma_ones(float (&d)[64], uint32_t tile)
{
	uint64_t b = wgmma_descriptor(tile);

	wgmma_fence();
#pragma unroll
	for (int k = 0; k < 4; k++)
		asm volatile(
			"{\n\t"
			".reg .pred p;\n\t"
			"setp.ne.b32 p, %66, 0;\n\t"
			"wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
			"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
			"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
			"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
			"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
			"{%65, %65, %65, %65}, %64, p, 1, 1, 0;\n\t"
			"}"
			: ACC64(d, 0) : "l"(b + 2 * k), "r"(0x3f803f80), "r"(k));
	wgmma_commit();
	wgmma_wait<0>();
}

DEVICE unsigned count_products(const float (&d)[64], float want)
{
	unsigned wrong = 0;

#pragma unroll
	for (int i = 0; i < 64; i++)
		wrong += d[i] != want;
	return wrong;
}

/* The product of ones and a block filled with round_word. */
DEVICE float round_product(int round)
{
	return round & 1 ? 128.0f : 64.0f;
}
