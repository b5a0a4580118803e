/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows M and B: generic writes of shared memory, then wgmma reading it, in the same warpgroup or in
 * another, dense and sparse. A product of ones with the tile shows every stale element.
 */
#include "litmus.cuh"

#define BUFFER __shared__ __align__(1024) uint32_t shared[BLOCK_WORDS]
#define KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads) name(ARGS)

/* Warpgroup 1 writes, mbarrier, warpgroup 0 multiplies. */
template <typename Write, typename Multiply>
DEVICE void roles_test(ARGS, uint32_t *shared, uint64_t *barriers, Write write, Multiply multiply)
{
	uint32_t full = smem_address(&barriers[0]), empty = smem_address(&barriers[1]);

	if (threadIdx.x == 0) {
		mbarrier_init(full, THREADS);
		mbarrier_init(empty, THREADS);
	}
	__syncthreads();
	if (threadIdx.x >= THREADS) {
		ROUNDS(round, 0, rounds) {
			mbarrier_wait(empty, round & 1 ^ 1);
			write(round_word(round));
			fence_shared();
			mbarrier_arrive(full);
		}
	} else {
		ROUNDS(round, 0, rounds) {
			mbarrier_wait(full, round & 1);
			unsigned wrong = multiply(round);
			mbarrier_arrive(empty);
			report(stale, wrong);
		}
	}
}

DEVICE unsigned multiply_dense(uint32_t tile, int round)
{
	float d[64];

	wgmma_ones(d, tile);
	return count_products(d, round_product(round));
}

KERNEL(m_roles, 256)
{
	BUFFER;
	__shared__ uint64_t barriers[2];
	uint32_t tile = smem_address(shared);

	roles_test(out, src, flags, stale, rounds, shared, barriers,
		[=](uint32_t value) { write_row(own_row(tile), value); },
		[=](int round) { return multiply_dense(tile, round); });
}

KERNEL(m2_stmatrix, 256)
{
	BUFFER;
	__shared__ uint64_t barriers[2];
	uint32_t tile = smem_address(shared);

	roles_test(out, src, flags, stale, rounds, shared, barriers,
		[=](uint32_t value) {
#pragma unroll
			for (int i = 0; i < WORDS; i += 4)
				stmatrix_x4(own_row(tile) + i * 4, value, value, value, value);
		},
		[=](int round) { return multiply_dense(tile, round); });
}

/* Of every four elements along K the first two take part: half the dense product. */
DEVICE unsigned multiply_sparse(uint32_t tile, int round)
{
	float d[64];
	uint64_t b = wgmma_descriptor(tile);

	wgmma_fence();
#pragma unroll
	for (int k = 0; k < 2; k++)
		asm volatile(
			"{\n\t"
			".reg .pred p;\n\t"
			"setp.ne.b32 p, %67, 0;\n\t"
			"wgmma.mma_async.sp.sync.aligned.m64n128k32.f32.bf16.bf16 {"
			"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
			"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
			"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
			"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
			"{%65, %65, %65, %65}, %64, %66, 0, p, 1, 1, 0;\n\t"
			"}"
			: ACC64(d, 0)
			: "l"(b + 4 * k), "r"(0x3f803f80), "r"(0x44444444), "r"(k));
	wgmma_commit();
	wgmma_wait<0>();
	return count_products(d, round_product(round) / 2);
}

KERNEL(s_sparse, 256)
{
	BUFFER;
	__shared__ uint64_t barriers[2];
	uint32_t tile = smem_address(shared);

	roles_test(out, src, flags, stale, rounds, shared, barriers,
		[=](uint32_t value) { write_row(own_row(tile), value); },
		[=](int round) { return multiply_sparse(tile, round); });
}

KERNEL(b_same_group, 128)
{
	BUFFER;
	uint32_t tile = smem_address(shared);

	ROUNDS(round, 0, rounds) {
		write_row(own_row(tile), round_word(round));
		fence_shared();
		__syncthreads();
		report(stale, multiply_dense(tile, round));
		__syncthreads();
	}
}

KERNEL(b2_other_group, 256)
{
	BUFFER;
	uint32_t tile = smem_address(shared);

	ROUNDS(round, 0, rounds) {
		if (threadIdx.x >= THREADS) {
			write_row(own_row(tile), round_word(round));
			fence_shared();
		}
		__syncthreads();
		if (threadIdx.x < THREADS)
			report(stale, multiply_dense(tile, round));
		__syncthreads();
	}
}

/* As m_roles, fenced by the multiplying warpgroup after its wait: accepted within a CTA. */
KERNEL(p_wgmma, 256)
{
	BUFFER;
	__shared__ uint64_t barriers[2];
	uint32_t tile = smem_address(shared);
	uint32_t full = smem_address(&barriers[0]), empty = smem_address(&barriers[1]);

	if (threadIdx.x == 0) {
		mbarrier_init(full, THREADS);
		mbarrier_init(empty, THREADS);
	}
	__syncthreads();
	if (threadIdx.x >= THREADS) {
		ROUNDS(round, 0, rounds) {
			mbarrier_wait(empty, round & 1 ^ 1);
			write_row(own_row(tile), round_word(round));
			mbarrier_arrive(full);
		}
	} else {
		ROUNDS(round, 0, rounds) {
			mbarrier_wait(full, round & 1);
			asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
			unsigned wrong = multiply_dense(tile, round);
			mbarrier_arrive(empty);
			report(stale, wrong);
		}
	}
}
