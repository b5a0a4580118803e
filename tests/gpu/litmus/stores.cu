/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows A, G, I, J, Q and more: generic writes of shared memory, then a bulk store of it (raw), a bulk
 * reduction of it, or a bulk load over it (waw). Hand-offs: none, warp, CTA, mbarrier.
 */
#include "litmus.cuh"

#define KERNEL(name) extern "C" __global__ void __launch_bounds__(THREADS) name(ARGS)
#define BUFFER __shared__ __align__(1024) uint32_t shared[BLOCK_WORDS]

KERNEL(a1_same_thread)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));
	uint32_t *dst = out + blockIdx.x * BLOCK_WORDS + threadIdx.x * WORDS;

	ROUNDS(round, 0, rounds) {
		write_row(row, round + 1);
		fence_shared();
		bulk_store(dst, row, WORDS * 4);
		report(stale, count_global(dst, round + 1));
	}
}

KERNEL(a2_warp)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));
	uint32_t *dst = out + blockIdx.x * BLOCK_WORDS + threadIdx.x * WORDS;

	ROUNDS(round, 0, rounds) {
		write_row(row, round + 1);
		fence_shared();
		__syncwarp();
		if (threadIdx.x % 32 == 0)
			bulk_store(dst, row, 32 * WORDS * 4);
		__syncwarp();
		report(stale, count_global(dst, round + 1));
	}
}

/* Write by all threads, bar.sync, bulk store by thread 0. The writers' way of writing varies. */
template <typename Write>
DEVICE void block_test(ARGS, uint32_t *shared, Write write)
{
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	ROUNDS(round, 0, rounds) {
		write(round + 1);
		fence_shared();
		__syncthreads();
		if (threadIdx.x == 0)
			bulk_store(block, smem_address(shared), BLOCK_BYTES);
		__syncthreads();
		report(stale, count_global(block + threadIdx.x * WORDS, round + 1));
	}
}

KERNEL(a3_block)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));

	block_test(out, src, flags, stale, rounds, shared,
		[=](uint32_t value) { write_row(row, value); });
}

KERNEL(a4_no_conflict)
{
	BUFFER;
	uint32_t column = smem_address(shared) + threadIdx.x * 4;

	block_test(out, src, flags, stale, rounds, shared, [=](uint32_t value) {
#pragma unroll
		for (int i = 0; i < WORDS; i++)
			store_shared(column + i * THREADS * 4, value);
	});
}

KERNEL(i_stmatrix)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));

	block_test(out, src, flags, stale, rounds, shared, [=](uint32_t value) {
#pragma unroll
		for (int i = 0; i < WORDS; i += 4)
			stmatrix_x4(row + i * 4, value, value, value, value);
	});
}

KERNEL(j_atom)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));

	block_test(out, src, flags, stale, rounds, shared, [=](uint32_t value) {
#pragma unroll
		for (int i = 0; i < WORDS; i++)
			asm volatile("{\n\t.reg .b32 old;\n\tatom.shared.exch.b32 old, [%0], %1;\n\t}"
				:: "r"(row + i * 4), "r"(value) : "memory");
	});
}

KERNEL(j_red)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));

	write_row(row, 0);
	block_test(out, src, flags, stale, rounds, shared, [=](uint32_t value) {
#pragma unroll
		for (int i = 0; i < WORDS; i++)
			asm volatile("red.shared.max.u32 [%0], %1;"
				:: "r"(row + i * 4), "r"(value) : "memory");
	});
}

KERNEL(j_vector)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));

	block_test(out, src, flags, stale, rounds, shared, [=](uint32_t value) {
#pragma unroll
		for (int i = 0; i < WORDS; i += 4)
			store_shared_v4(row + i * 4, make_uint4(value, value, value, value));
	});
}

KERNEL(j_generic)
{
	BUFFER;
	uint32_t *row = shared + threadIdx.x * WORDS;

	block_test(out, src, flags, stale, rounds, shared, [=](uint32_t value) {
#pragma unroll
		for (int i = 0; i < WORDS; i++)
			asm volatile("st.b32 [%0], %1;" :: "l"(row + i), "r"(value) : "memory");
	});
}

/* Written at the end of a round, stored at the start of the next: the edge is the loop's own. */
KERNEL(t_next_round)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	ROUNDS(round, 0, rounds + 1) {
		if (round > 0) {
			if (threadIdx.x == 0)
				bulk_store(block, smem_address(shared), BLOCK_BYTES);
			__syncthreads();
			report(stale, count_global(block + threadIdx.x * WORDS, round));
		}
		write_row(row, round + 1);
		fence_shared();
		__syncthreads();
	}
}

/* The reduction takes the larger word, so a stale one shows as the round before. */
KERNEL(r_reduce)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	ROUNDS(round, 0, rounds) {
		write_row(row, round + 1);
		fence_shared();
		__syncthreads();
		if (threadIdx.x == 0) {
			asm volatile(
				"cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], %2;"
				:: "l"(__cvta_generic_to_global(block)), "r"(smem_address(shared)),
				"r"(BLOCK_BYTES) : "memory");
			bulk_commit();
			bulk_wait();
		}
		__syncthreads();
		report(stale, count_global(block + threadIdx.x * WORDS, round + 1));
	}
}

/* The fence is there, but only some writers run it: it covers their own writes and no others'. */
template <typename Chosen>
DEVICE void misplaced_test(ARGS, uint32_t *shared, Chosen chosen)
{
	block_test(out, src, flags, stale, rounds, shared, [=](uint32_t value) {
		write_row(own_row(smem_address(shared)), value);
		if (chosen())
			asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	});
}

KERNEL(q_thread0)
{
	BUFFER;
	misplaced_test(out, src, flags, stale, rounds, shared, [] { return threadIdx.x == 0; });
}

KERNEL(q_warp0)
{
	BUFFER;
	misplaced_test(out, src, flags, stale, rounds, shared, [] { return threadIdx.x < 32; });
}

KERNEL(q_lane0)
{
	BUFFER;
	misplaced_test(out, src, flags, stale, rounds, shared, [] { return threadIdx.x % 32 == 0; });
}

/* Warps 1 to 3 write, warp 0 stores: no path of the program leads from one to the other. */
KERNEL(g_roles)
{
	BUFFER;
	__shared__ uint64_t barriers[2];
	uint32_t full = smem_address(&barriers[0]), empty = smem_address(&barriers[1]);
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	if (threadIdx.x == 0) {
		mbarrier_init(full, THREADS - 32);
		mbarrier_init(empty, 1);
	}
	__syncthreads();
	if (threadIdx.x >= 32) {
		uint32_t row = own_row(smem_address(shared));
		ROUNDS(round, 0, rounds) {
			write_row(row, round + 1);
			fence_shared();
			mbarrier_arrive(full);
			mbarrier_wait(empty, round & 1);
			report(stale, count_global(block + threadIdx.x * WORDS, round + 1));
		}
	} else if (threadIdx.x == 0) {
		ROUNDS(round, 0, rounds) {
			mbarrier_wait(full, round & 1);
			bulk_store(block + 32 * WORDS, smem_address(shared) + 32 * WORDS * 4,
				BLOCK_BYTES - 32 * WORDS * 4);
			mbarrier_arrive(empty);
		}
	}
}

/* Cleared, then filled by a bulk load: zeros that arrive late are stale. */
KERNEL(w_clear)
{
	BUFFER;
	__shared__ uint64_t barrier;
	uint32_t row = own_row(smem_address(shared));
	uint32_t full = smem_address(&barrier);

	if (threadIdx.x == 0)
		mbarrier_init(full, 1);
	__syncthreads();
	ROUNDS(round, 0, rounds) {
		write_row(row, 0);
		fence_shared();
		__syncthreads();
		if (threadIdx.x == 0)
			load_block(smem_address(shared), src, full);
		mbarrier_wait(full, round & 1);
		report(stale, count_row(row, round_word(0)));
	}
}

/* Two buffers: the one that is stored was filled and fenced once, the other is written every round. */
KERNEL(u_other_buffer)
{
	BUFFER;
	__shared__ __align__(1024) uint32_t scratch[BLOCK_WORDS];
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	write_row(own_row(smem_address(shared)), 1);
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	ROUNDS(round, 0, rounds) {
		write_row(own_row(smem_address(scratch)), round);
		__syncthreads();
		if (threadIdx.x == 0)
			bulk_store(block, smem_address(shared), BLOCK_BYTES);
		__syncthreads();
		report(stale, count_global(block + threadIdx.x * WORDS, 1));
		report(stale, count_row(own_row(smem_address(scratch)), round));
	}
}

/* Things that are no fence for this edge: one of another space, and one of the generic proxy. */
KERNEL(y_global_fence)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));

	block_test(out, src, flags, stale, rounds, shared, [=](uint32_t value) {
		write_row(row, value);
		asm volatile("fence.proxy.async.global;" ::: "memory");
	});
}

KERNEL(y_membar)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));

	block_test(out, src, flags, stale, rounds, shared, [=](uint32_t value) {
		write_row(row, value);
		asm volatile("membar.cta;" ::: "memory");
	});
}

/* The issuing thread fences, after the barrier: accepted within a CTA. */
KERNEL(p_issuer)
{
	BUFFER;
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	ROUNDS(round, 0, rounds) {
		write_row(own_row(smem_address(shared)), round + 1);
		__syncthreads();
		if (threadIdx.x == 0) {
			asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
			bulk_store(block, smem_address(shared), BLOCK_BYTES);
		}
		__syncthreads();
		report(stale, count_global(block + threadIdx.x * WORDS, round + 1));
	}
}

extern "C" __device__ __noinline__ void write_row_called(uint32_t row, uint32_t value)
{
	write_row(row, value);
}

KERNEL(v_callee)
{
	BUFFER;
	uint32_t row = own_row(smem_address(shared));

	block_test(out, src, flags, stale, rounds, shared,
		[=](uint32_t value) { write_row_called(row, value); });
}

/* Named barriers: warps 1 to 3 write and only arrive, warp 0 waits and stores; 2 leads back. */
KERNEL(h_named)
{
	BUFFER;
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	if (threadIdx.x >= 32) {
		uint32_t row = own_row(smem_address(shared));
		ROUNDS(round, 0, rounds) {
			write_row(row, round + 1);
			fence_shared();
			asm volatile("bar.arrive 1, 128;" ::: "memory");
			asm volatile("bar.sync 2, 128;" ::: "memory");
			report(stale, count_global(block + threadIdx.x * WORDS, round + 1));
		}
	} else {
		ROUNDS(round, 0, rounds) {
			asm volatile("bar.sync 1, 128;" ::: "memory");
			if (threadIdx.x == 0)
				bulk_store(block + 32 * WORDS, smem_address(shared) + 32 * WORDS * 4,
					BLOCK_BYTES - 32 * WORDS * 4);
			__syncwarp();
			asm volatile("bar.arrive 2, 128;" ::: "memory");
		}
	}
}
