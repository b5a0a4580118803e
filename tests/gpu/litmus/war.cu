/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows C, N, F to F3: generic reads of shared memory, then a bulk load over it (war). A read that is still
 * under way when the buffer is handed back sees the words of the next round.
 */
#include "litmus.cuh"

#define KERNEL(name) extern "C" __global__ void __launch_bounds__(THREADS) name(ARGS)
#define BUFFER __shared__ __align__(1024) uint32_t shared[BLOCK_WORDS]

struct Words {
	uint32_t word[WORDS];
};

DEVICE Words read_row(uint32_t row)
{
	Words words;

#pragma unroll
	for (int i = 0; i < WORDS; i++)
		words.word[i] = load_shared(row + i * 4);
	return words;
}

DEVICE Words read_matrices(uint32_t row)
{
	Words words;

#pragma unroll
	for (int i = 0; i < WORDS; i += 4)
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
			: "=r"(words.word[i]), "=r"(words.word[i + 1]), "=r"(words.word[i + 2]),
			"=r"(words.word[i + 3])
			: "r"(row + i * 4) : "memory");
	return words;
}

DEVICE unsigned count_words(const Words &words, uint32_t want)
{
	unsigned wrong = 0;

#pragma unroll
	for (int i = 0; i < WORDS; i++)
		wrong += words.word[i] != want;
	return wrong;
}

/* Read, bar.sync, load over it by thread 0; the values are looked at afterwards. */
template <typename Read>
DEVICE void block_test(ARGS, uint32_t *shared, uint64_t *barrier, Read read)
{
	uint32_t full = smem_address(barrier);

	if (threadIdx.x == 0) {
		mbarrier_init(full, 1);
		load_block(smem_address(shared), src, full);
	}
	__syncthreads();
	ROUNDS(round, 0, rounds) {
		mbarrier_wait(full, round & 1);
		Words words = read(own_row(smem_address(shared)));
		fence_shared();
		__syncthreads();
		if (threadIdx.x == 0 && round + 1 < rounds)
			load_block(smem_address(shared), round_block(src, round + 1), full);
		report(stale, count_words(words, round_word(round)));
	}
}

KERNEL(c_ld)
{
	BUFFER;
	__shared__ uint64_t barrier;

	block_test(out, src, flags, stale, rounds, shared, &barrier,
		[](uint32_t row) { return read_row(row); });
}

KERNEL(n_ldmatrix)
{
	BUFFER;
	__shared__ uint64_t barrier;

	block_test(out, src, flags, stale, rounds, shared, &barrier,
		[](uint32_t row) { return read_matrices(row); });
}

/* Warps 1 to 3 read and give the buffer back by an mbarrier, warp 0 loads. */
template <typename Read, typename Before, typename After>
DEVICE void roles_test(
	ARGS, uint32_t *shared, uint64_t *barriers, Read read, Before before, After after)
{
	uint32_t full = smem_address(&barriers[0]), empty = smem_address(&barriers[1]);

	if (threadIdx.x == 0) {
		mbarrier_init(full, 1);
		mbarrier_init(empty, THREADS - 32);
	}
	__syncthreads();
	if (threadIdx.x >= 32) {
		ROUNDS(round, 0, rounds) {
			mbarrier_wait(full, round & 1);
			Words words = read(own_row(smem_address(shared)));
			auto between = before(words, round);
			mbarrier_arrive(empty);
			after(words, between, round);
		}
	} else if (threadIdx.x == 0) {
		ROUNDS(round, 0, rounds) {
			mbarrier_wait(empty, round & 1 ^ 1);
			load_block(smem_address(shared), round_block(src, round), full);
		}
	}
}

KERNEL(n2_roles)
{
	BUFFER;
	__shared__ uint64_t barriers[2];

	roles_test(out, src, flags, stale, rounds, shared, barriers,
		[](uint32_t row) { return read_matrices(row); },
		[](const Words &, int) {
			fence_shared();
			return 0;
		},
		[=](const Words &words, int, int round) {
			report(stale, count_words(words, round_word(round)));
		});
}

/* A branch needs the values before the hand-off: they have arrived, no fence is needed. */
KERNEL(f_branch)
{
	BUFFER;
	__shared__ uint64_t barriers[2];

	roles_test(out, src, flags, stale, rounds, shared, barriers,
		[](uint32_t row) { return read_row(row); },
		[=](const Words &words, int round) {
			report(stale, count_words(words, round_word(round)));
			return 0;
		},
		[](const Words &, int, int) {});
}

/* Only arithmetic before the hand-off: the assembler may move it below. */
KERNEL(f2_sum)
{
	BUFFER;
	__shared__ uint64_t barriers[2];

	roles_test(out, src, flags, stale, rounds, shared, barriers,
		[](uint32_t row) { return read_matrices(row); },
		[](const Words &words, int) {
			uint32_t sum = 0;
#pragma unroll
			for (int i = 0; i < WORDS; i++)
				asm volatile("add.u32 %0, %0, %1;" : "+r"(sum) : "r"(words.word[i]));
			fence_shared();
			return sum;
		},
		[=](const Words &, uint32_t sum, int round) {
			report(stale, sum != round_word(round) * WORDS);
		});
}

/* As f_branch, but what the branch jumps over is a sum only: the assembler may do without the branch. */
KERNEL(f3_short_branch)
{
	BUFFER;
	__shared__ uint64_t barriers[2];

	roles_test(out, src, flags, stale, rounds, shared, barriers,
		[](uint32_t row) { return read_matrices(row); },
		[](const Words &words, int round) {
			unsigned wrong = 0;
#pragma unroll
			for (int i = 0; i < WORDS; i++)
				asm volatile(
					"{\n\t"
					".reg .pred same;\n\t"
					"setp.eq.u32 same, %1, %2;\n\t"
					"@same bra SAME;\n\t"
					"add.u32 %0, %0, 1;\n"
					"SAME:\n\t"
					"}"
					: "+r"(wrong) : "r"(words.word[i]), "r"(round_word(round)));
			fence_shared();
			return wrong;
		},
		[=](const Words &, unsigned wrong, int) { report(stale, wrong); });
}

/* The warp sums up what it has read, and lane 0 stores the sum before the hand-off: all of them have read by then. */
KERNEL(f4_warp_sum)
{
	BUFFER;
	__shared__ uint64_t barriers[2];
	__shared__ uint32_t sums[THREADS / 32];

	roles_test(out, src, flags, stale, rounds, shared, barriers,
		[](uint32_t row) { return read_matrices(row); },
		[&](const Words &words, int) {
			uint32_t sum = 0;
#pragma unroll
			for (int i = 0; i < WORDS; i++)
				asm volatile("add.u32 %0, %0, %1;" : "+r"(sum) : "r"(words.word[i]));
#pragma unroll
			for (int apart = 16; apart; apart /= 2)
				sum += __shfl_xor_sync(0xffffffff, sum, apart);
			if (threadIdx.x % 32 == 0)
				asm volatile("st.shared.u32 [%0], %1;" ::"r"(
						     smem_address(sums) + threadIdx.x / 32 * 4),
					"r"(sum) : "memory");
			return sum;
		},
		[=](const Words &words, uint32_t, int round) {
			report(stale, count_words(words, round_word(round)));
		});
}

/* As c_ld, fenced by the loading thread after the barrier: accepted within a CTA. */
KERNEL(p_war)
{
	BUFFER;
	__shared__ uint64_t barrier;
	uint32_t full = smem_address(&barrier);

	if (threadIdx.x == 0) {
		mbarrier_init(full, 1);
		load_block(smem_address(shared), src, full);
	}
	__syncthreads();
	ROUNDS(round, 0, rounds) {
		mbarrier_wait(full, round & 1);
		Words words = read_row(own_row(smem_address(shared)));
		__syncthreads();
		if (threadIdx.x == 0 && round + 1 < rounds) {
			asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
			load_block(smem_address(shared), round_block(src, round + 1), full);
		}
		report(stale, count_words(words, round_word(round)));
	}
}
