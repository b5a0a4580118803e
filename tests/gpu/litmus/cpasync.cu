/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row E: cp.async into shared memory, completed by a wait or through an mbarrier, then a bulk store or
 * wgmma of it, in the same or another warpgroup.
 */
#include "litmus.cuh"

#define KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads) name(ARGS)
#define BUFFER __shared__ __align__(1024) uint32_t shared[BLOCK_WORDS]

DEVICE void copy_row(uint32_t row, const uint32_t *block)
{
#pragma unroll
	for (int i = 0; i < WORDS; i += 4)
		cp_async16(row + i * 4, block + threadIdx.x % THREADS * WORDS + i);
}

DEVICE void copy_wait_all()
{
	asm volatile("cp.async.wait_all;" ::: "memory");
}

/* The mbarrier gets one of its expected arrivals when this thread's copies are complete. */
DEVICE void copy_arrive(uint32_t bar)
{
	asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(bar) : "memory");
}

DEVICE unsigned multiply(uint32_t tile, int round)
{
	float d[64];

	wgmma_ones(d, tile);
	return count_products(d, round_product(round));
}

KERNEL(e1_store, 128)
{
	BUFFER;
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	ROUNDS(round, 0, rounds) {
		copy_row(own_row(smem_address(shared)), round_block(src, round));
		copy_wait_all();
		fence_shared();
		__syncthreads();
		if (threadIdx.x == 0)
			bulk_store(block, smem_address(shared), BLOCK_BYTES);
		__syncthreads();
		report(stale, count_global(block + threadIdx.x * WORDS, round_word(round)));
	}
}

KERNEL(e2_store_mbarrier, 128)
{
	BUFFER;
	__shared__ uint64_t barrier;
	uint32_t full = smem_address(&barrier);
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	if (threadIdx.x == 0)
		mbarrier_init(full, THREADS);
	__syncthreads();
	ROUNDS(round, 0, rounds) {
		copy_row(own_row(smem_address(shared)), round_block(src, round));
		copy_arrive(full);
		if (threadIdx.x == 0) {
			mbarrier_wait(full, round & 1);
			fence_shared();
			bulk_store(block, smem_address(shared), BLOCK_BYTES);
		}
		__syncthreads();
		report(stale, count_global(block + threadIdx.x * WORDS, round_word(round)));
	}
}

KERNEL(e3_wgmma, 128)
{
	BUFFER;

	ROUNDS(round, 0, rounds) {
		copy_row(own_row(smem_address(shared)), round_block(src, round));
		copy_wait_all();
		fence_shared();
		__syncthreads();
		report(stale, multiply(smem_address(shared), round));
		__syncthreads();
	}
}

KERNEL(e4_wgmma_other, 256)
{
	BUFFER;

	ROUNDS(round, 0, rounds) {
		if (threadIdx.x >= THREADS) {
			copy_row(own_row(smem_address(shared)), round_block(src, round));
			copy_wait_all();
			fence_shared();
		}
		__syncthreads();
		if (threadIdx.x < THREADS)
			report(stale, multiply(smem_address(shared), round));
		__syncthreads();
	}
}

KERNEL(e5_wgmma_mbarrier, 256)
{
	BUFFER;
	__shared__ uint64_t barriers[2];
	uint32_t full = smem_address(&barriers[0]), empty = smem_address(&barriers[1]);

	if (threadIdx.x == 0) {
		mbarrier_init(full, THREADS);
		mbarrier_init(empty, THREADS);
	}
	__syncthreads();
	if (threadIdx.x >= THREADS) {
		ROUNDS(round, 0, rounds) {
			mbarrier_wait(empty, round & 1 ^ 1);
			copy_row(own_row(smem_address(shared)), round_block(src, round));
			copy_arrive(full);
		}
	} else {
		ROUNDS(round, 0, rounds) {
			mbarrier_wait(full, round & 1);
			fence_shared();
			unsigned wrong = multiply(smem_address(shared), round);
			mbarrier_arrive(empty);
			report(stale, wrong);
		}
	}
}

/* Two buffers, the copies of the next round in flight during this one. */
KERNEL(e6_wgmma_stages, 128)
{
	__shared__ __align__(1024) uint32_t shared[2 * BLOCK_WORDS];
	uint32_t tiles = smem_address(shared);

	copy_row(own_row(tiles), round_block(src, 0));
	cp_async_commit();
	ROUNDS(round, 0, rounds) {
		copy_row(own_row(tiles + (round + 1 & 1) * BLOCK_BYTES), round_block(src, round + 1));
		cp_async_commit();
		cp_async_wait<1>();
		fence_shared();
		__syncthreads();
		report(stale, multiply(tiles + (round & 1) * BLOCK_BYTES, round));
		__syncthreads();
	}
	cp_async_wait<0>();
}

/* A fence before the wait does not order copies that are still under way. */
KERNEL(e7_fence_early, 128)
{
	BUFFER;

	ROUNDS(round, 0, rounds) {
		copy_row(own_row(smem_address(shared)), round_block(src, round));
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
		copy_wait_all();
		fence_shared();
		__syncthreads();
		report(stale, multiply(smem_address(shared), round));
		__syncthreads();
	}
}
