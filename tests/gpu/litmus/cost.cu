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

/*
 * One instruction between two clock reads, with a number of global stores in flight. All CTAs run it,
 * one thread reports: the least number of cycles in the high half of the result, the mean in the
 * low one.
 */
template <int STORES, typename Fence>
DEVICE void cost_test(ARGS, Fence fence)
{
	uint32_t *own = out + blockIdx.x * BLOCK_WORDS + threadIdx.x;
	unsigned least = ~0u;
	unsigned long long sum = 0;

	ROUNDS(round, 0, rounds) {
#pragma unroll
		for (int i = 0; i < STORES; i++)
			asm volatile("st.global.b32 [%0], %1;"
				:: "l"(__cvta_generic_to_global(own + i * THREADS)), "r"(round)
				: "memory");
		unsigned start, end;
		asm volatile("mov.u32 %0, %%clock;" : "=r"(start) :: "memory");
		fence();
		asm volatile("mov.u32 %0, %%clock;" : "=r"(end) :: "memory");
		least = min(least, end - start);
		sum += end - start;
		__syncthreads();
	}
	if (blockIdx.x == 0 && threadIdx.x == 0)
		*stale = (unsigned long long)least << 32 | sum / rounds;
}

#define COST(name, text) \
	extern "C" __global__ void __launch_bounds__(THREADS) name##_idle(ARGS) \
	{ \
		cost_test<0>(out, src, flags, stale, rounds, \
			[] { asm volatile(text ::: "memory"); }); \
	} \
	extern "C" __global__ void __launch_bounds__(THREADS) name##_busy(ARGS) \
	{ \
		cost_test<8>(out, src, flags, stale, rounds, \
			[] { asm volatile(text ::: "memory"); }); \
	}

COST(cost_nothing, "")
COST(cost_shared, "fence.proxy.async.shared::cta;")
COST(cost_global, "fence.proxy.async.global;")
COST(cost_wide, "fence.proxy.async;")
COST(cost_membar, "membar.cta;")
