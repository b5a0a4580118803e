/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What narrowing a fence is worth: a loop with the hand-off of an epilogue, its fence wider than its
 * edge needs (both forms have it: it is the one under test). Out: cycles of all rounds, per CTA, in
 * `out`.
 */
#include "litmus.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) wide_fence(ARGS)
{
	__shared__ __align__(1024) uint32_t shared[BLOCK_WORDS];
	uint32_t base = smem_address(shared);
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;
	long long start = clock64();

	ROUNDS(round, 0, rounds) {
		store_shared(base + threadIdx.x * 4, round);
		asm volatile("fence.proxy.async;" ::: "memory");
		__syncthreads();
		if (threadIdx.x == 0) {
			asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
				:: "l"(__cvta_generic_to_global(block)), "r"(base), "r"(THREADS * 4)
				: "memory");
			bulk_commit();
			bulk_wait_read();
		}
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		bulk_wait();
		*stale = (unsigned long long)(clock64() - start) / rounds;
	}
}
