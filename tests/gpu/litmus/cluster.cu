/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row L and more: clusters of two CTAs. Generic writes of the peer's shared memory, then a bulk store
 * there; bulk copies to the peer; multicast loads over what both CTAs read (war).
 */
#include "litmus.cuh"

#define KERNEL(name) \
	extern "C" __global__ void __launch_bounds__(THREADS) __cluster_dims__(2, 1, 1) name(ARGS)
#define BUFFER __shared__ __align__(1024) uint32_t shared[BLOCK_WORDS]

/* In the CTA of the async access, after the acquire, for the bytes of both CTAs. */
DEVICE void fence_cluster()
{
#ifndef NO_FENCES
	asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
#endif
}

DEVICE uint32_t cluster_rank()
{
	uint32_t rank;
	asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	return rank;
}

DEVICE uint32_t peer_address(uint32_t address, uint32_t rank)
{
	uint32_t peer;
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(address), "r"(rank));
	return peer;
}

DEVICE void cluster_barrier()
{
	asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;"
		::: "memory");
}

DEVICE void peer_arrive(uint32_t bar)
{
	asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
		:: "r"(bar) : "memory");
}

DEVICE void wait_cluster(uint32_t bar, int phase)
{
	asm volatile(
		"{\n\t"
		".reg .pred done;\n\t"
		"WAIT:\n\t"
		"mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n\t"
		"@!done bra WAIT;\n\t"
		"}"
		:: "r"(bar), "r"(phase) : "memory");
}

DEVICE void write_peer_row(uint32_t row, uint32_t value)
{
#pragma unroll
	for (int i = 0; i < WORDS; i++)
		asm volatile("st.shared::cluster.b32 [%0], %1;"
			:: "r"(row + i * 4), "r"(value) : "memory");
}

/* CTA 0 writes into CTA 1, which stores it; the cluster barrier hands over and back. */
KERNEL(l_barrier)
{
	BUFFER;
	uint32_t rank = cluster_rank();
	uint32_t row = peer_address(own_row(smem_address(shared)), 1);
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	cluster_barrier();
	ROUNDS(round, 0, rounds) {
		if (rank == 0)
			write_peer_row(row, round + 1);
		cluster_barrier();
		if (rank == 1 && threadIdx.x == 0) {
			fence_shared();
			bulk_store(block, smem_address(shared), BLOCK_BYTES);
		}
		cluster_barrier();
		if (rank == 1)
			report(stale, count_global(block + threadIdx.x * WORDS, round + 1));
	}
}

/* As before, handed over by an mbarrier of CTA 1. */
template <typename Write, typename Arm>
DEVICE void peer_test(ARGS, uint32_t *shared, uint64_t *barrier, int arrivals, Write write, Arm arm)
{
	uint32_t full = smem_address(barrier);
	uint32_t rank = cluster_rank();
	uint32_t row = peer_address(own_row(smem_address(shared)), 1);
	uint32_t peer_full = peer_address(full, 1);
	uint32_t *block = out + blockIdx.x * BLOCK_WORDS;

	if (threadIdx.x == 0)
		mbarrier_init(full, arrivals);
	cluster_barrier();
	ROUNDS(round, 0, rounds) {
		if (rank == 0) {
			write(row, peer_full, round + 1);
		} else if (threadIdx.x == 0) {
			arm(full);
			wait_cluster(full, round & 1);
			fence_shared();
			bulk_store(block, smem_address(shared), BLOCK_BYTES);
		}
		cluster_barrier();
		if (rank == 1)
			report(stale, count_global(block + threadIdx.x * WORDS, round + 1));
	}
}

KERNEL(l2_mbarrier)
{
	BUFFER;
	__shared__ uint64_t barrier;

	peer_test(out, src, flags, stale, rounds, shared, &barrier, THREADS,
		[](uint32_t row, uint32_t full, uint32_t value) {
			write_peer_row(row, value);
			peer_arrive(full);
		},
		[](uint32_t) {});
}

KERNEL(l3_st_async)
{
	BUFFER;
	__shared__ uint64_t barrier;

	peer_test(out, src, flags, stale, rounds, shared, &barrier, 1,
		[](uint32_t row, uint32_t full, uint32_t value) {
#pragma unroll
			for (int i = 0; i < WORDS; i++)
				asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 "
					     "[%0], %1, [%2];"
					:: "r"(row + i * 4), "r"(value), "r"(full) : "memory");
		},
		[](uint32_t full) { mbarrier_expect(full, BLOCK_BYTES); });
}

/* Written by the CTA itself, copied to the peer by the async proxy, looked at there. */
KERNEL(k_peer_copy)
{
	BUFFER;
	__shared__ __align__(1024) uint32_t received[BLOCK_WORDS];
	__shared__ uint64_t barrier;
	uint32_t full = smem_address(&barrier);
	uint32_t peer = cluster_rank() ^ 1;

	if (threadIdx.x == 0)
		mbarrier_init(full, 1);
	cluster_barrier();
	ROUNDS(round, 0, rounds) {
		write_row(own_row(smem_address(shared)), round + 1);
		fence_shared();
		__syncthreads();
		if (threadIdx.x == 0) {
			mbarrier_expect(full, BLOCK_BYTES);
			asm volatile(
				"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
				"[%0], [%1], %2, [%3];"
				:: "r"(peer_address(smem_address(received), peer)),
				"r"(smem_address(shared)), "r"(BLOCK_BYTES),
				"r"(peer_address(full, peer)) : "memory");
		}
		wait_cluster(full, round & 1);
		report(stale, count_row(own_row(smem_address(received)), round + 1));
		cluster_barrier();
	}
}

/* CTA 0 loads into both CTAs over what the threads of both have read, handed back by its mbarrier. */
KERNEL(x_multicast)
{
	BUFFER;
	__shared__ uint64_t barriers[2];
	uint32_t full = smem_address(&barriers[0]);
	uint32_t empty = smem_address(&barriers[1]);
	uint32_t loader_empty = peer_address(empty, 0);
	uint32_t row = own_row(smem_address(shared));
	bool loader = cluster_rank() == 0 && threadIdx.x == 0;

	if (threadIdx.x == 0) {
		mbarrier_init(full, 1);
		mbarrier_init(empty, 2 * THREADS);
		mbarrier_expect(full, BLOCK_BYTES);
	}
	cluster_barrier();
	ROUNDS(round, 0, rounds) {
		if (loader) {
			if (round > 0) {
				wait_cluster(empty, round - 1 & 1);
				fence_cluster();
			}
			asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
				     ".multicast::cluster [%0], [%1], %2, [%3], %4;"
				:: "r"(smem_address(shared)),
				"l"(__cvta_generic_to_global(round_block(src, round))),
				"r"(BLOCK_BYTES), "r"(full), "h"((uint16_t)3) : "memory");
		}
		wait_cluster(full, round & 1);
		uint32_t word[WORDS];
#pragma unroll
		for (int i = 0; i < WORDS; i++)
			word[i] = load_shared(row + i * 4);
		if (threadIdx.x == 0 && round + 1 < rounds)
			mbarrier_expect(full, BLOCK_BYTES);
		peer_arrive(loader_empty);
		unsigned wrong = 0;
#pragma unroll
		for (int i = 0; i < WORDS; i++)
			wrong += word[i] != round_word(round);
		report(stale, wrong);
	}
	cluster_barrier();
}
