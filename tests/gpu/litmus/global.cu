/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row D: generic writes of global memory, then a bulk load of it, by the same thread, through a
 * barrier, or in another CTA through a flag.
 */
#include "litmus.cuh"

#define KERNEL(name) extern "C" __global__ void __launch_bounds__(THREADS) name(ARGS)
#define BUFFER __shared__ __align__(1024) uint32_t shared[BLOCK_WORDS]

DEVICE void write_global(uint32_t *words, uint32_t value)
{
#pragma unroll
	for (int i = 0; i < WORDS; i++)
		asm volatile("st.global.b32 [%0], %1;"
			:: "l"(__cvta_generic_to_global(words + i)), "r"(value) : "memory");
}

/* Fence chooses what stands between the writes and the load besides the right fence. */
template <typename Fence>
DEVICE void same_thread_test(ARGS, uint32_t *shared, uint64_t *barrier, Fence fence)
{
	uint32_t full = smem_address(barrier);
	uint32_t row = own_row(smem_address(shared));
	uint32_t *words = out + blockIdx.x * BLOCK_WORDS + threadIdx.x * WORDS;

	if (threadIdx.x == 0)
		mbarrier_init(full, THREADS);
	__syncthreads();
	ROUNDS(round, 0, rounds) {
		write_global(words, round + 1);
		fence();
		fence_global();
		mbarrier_expect(full, WORDS * 4);
		bulk_load(row, words, WORDS * 4, full);
		mbarrier_wait(full, round & 1);
		report(stale, count_row(row, round + 1));
	}
}

KERNEL(d_same_thread)
{
	BUFFER;
	__shared__ uint64_t barrier;

	same_thread_test(out, src, flags, stale, rounds, shared, &barrier, [] {});
}

KERNEL(y_shared_fence)
{
	BUFFER;
	__shared__ uint64_t barrier;

	same_thread_test(out, src, flags, stale, rounds, shared, &barrier,
		[] { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); });
}

KERNEL(d2_block)
{
	BUFFER;
	__shared__ uint64_t barrier;
	uint32_t full = smem_address(&barrier);
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	if (threadIdx.x == 0)
		mbarrier_init(full, 1);
	__syncthreads();
	ROUNDS(round, 0, rounds) {
		write_global(block + threadIdx.x * WORDS, round + 1);
		fence_global();
		__syncthreads();
		if (threadIdx.x == 0)
			load_block(smem_address(shared), block, full);
		mbarrier_wait(full, round & 1);
		report(stale, count_row(own_row(smem_address(shared)), round + 1));
		__syncthreads();
	}
}

DEVICE void set_flag(unsigned *flag, unsigned value)
{
	asm volatile("st.release.gpu.global.u32 [%0], %1;"
		:: "l"(__cvta_generic_to_global(flag)), "r"(value) : "memory");
}

DEVICE void wait_flag(const unsigned *flag, unsigned value)
{
	unsigned seen;

	do
		asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
			: "=r"(seen) : "l"(__cvta_generic_to_global(flag)) : "memory");
	while (seen != value);
}

/* CTAs in pairs, all of them resident: the even one writes, the odd one loads. */
KERNEL(d3_flag)
{
	BUFFER;
	__shared__ uint64_t barrier;
	uint32_t full = smem_address(&barrier);
	uint32_t *block = out + blockIdx.x / 2 * BLOCK_WORDS;
	unsigned *written = flags + blockIdx.x / 2 * 2, *read = written + 1;

	if (threadIdx.x == 0)
		mbarrier_init(full, 1);
	__syncthreads();
	ROUNDS(round, 0, rounds) {
		if (blockIdx.x % 2 == 0) {
			if (threadIdx.x == 0)
				wait_flag(read, round);
			__syncthreads();
			write_global(block + threadIdx.x * WORDS, round + 1);
			__syncthreads();
			if (threadIdx.x == 0)
				set_flag(written, round + 1);
		} else {
			if (threadIdx.x == 0) {
				wait_flag(written, round + 1);
				fence_global();
				load_block(smem_address(shared), block, full);
			}
			mbarrier_wait(full, round & 1);
			report(stale, count_row(own_row(smem_address(shared)), round + 1));
			__syncthreads();
			if (threadIdx.x == 0)
				set_flag(read, round + 1);
		}
	}
}
