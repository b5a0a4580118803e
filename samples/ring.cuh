/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of shared-memory stages that the warp-specialised samples have in common. In: tensor maps
 * of K-major bf16 matrices. Out: stages filled by TMA and consumed by wgmma. Invariant: a stage is
 * written after its `empty` barrier completed and read after its `full` barrier did; TMA and wgmma
 * both belong to the async proxy, so the ring itself needs no proxy fence.
 */
#pragma once

#include "wgmma.cuh"

enum { TILE_M = 128, TILE_K = 64, A_BYTES = TILE_M * TILE_K * 2, CONSUMER_WARPS = 8 };

template <int TILE_N, int STAGES> struct Ring {
	static constexpr int b_bytes = TILE_N * TILE_K * 2;
	static constexpr int bytes = STAGES * (A_BYTES + b_bytes);

	uint32_t tiles;    /* STAGES tiles of A, then STAGES tiles of B */
	uint32_t barriers; /* STAGES times full, then STAGES times empty */
	int stage = 0;
	int phase = 0;

	__device__ Ring(uint32_t tiles, uint32_t barriers) : tiles(tiles), barriers(barriers)
	{
	}

	__device__ uint32_t a() const
	{
		return tiles + stage * A_BYTES;
	}

	__device__ uint32_t b() const
	{
		return tiles + STAGES * A_BYTES + stage * b_bytes;
	}

	__device__ uint32_t full(int stage) const
	{
		return barriers + 8 * stage;
	}

	__device__ uint32_t empty(int stage) const
	{
		return barriers + 8 * (STAGES + stage);
	}

	__device__ void init(int fillers) const
	{
		for (int i = 0; i < STAGES; i++) {
			mbarrier_init(full(i), fillers);
			mbarrier_init(empty(i), CONSUMER_WARPS);
		}
	}

	__device__ void advance()
	{
		if (++stage == STAGES) {
			stage = 0;
			phase ^= 1;
		}
	}

	/* One thread: bring steps of A from row y_a and of B from row y_b, first column x. */
	__device__ void produce(const CUtensorMap *map_a, const CUtensorMap *map_b, int x, int y_a,
		int y_b, int steps)
	{
		for (int i = 0; i < steps; i++) {
			mbarrier_wait(empty(stage), phase ^ 1);
			mbarrier_expect(full(stage), A_BYTES + b_bytes);
			tma_load(a(), map_a, x + i * TILE_K, y_a, full(stage));
			tma_load(b(), map_b, x + i * TILE_K, y_b, full(stage));
			advance();
		}
	}

	/* A warpgroup: multiply its 64 rows of A. A stage is given back one step late, so that two
	 * steps of wgmma are always in flight. */
	template <int REGS>
	__device__ void consume(float (&acc)[REGS], int group, int steps, bool keep)
	{
		bool lane0 = threadIdx.x % 32 == 0;
		int previous = 0;

		for (int i = 0; i < steps; i++) {
			mbarrier_wait(full(stage), phase);
			wgmma_stage(acc, a() + group * (A_BYTES / 2), b(), keep || i > 0);
			wgmma_wait<1>();
			if (i > 0 && lane0)
				mbarrier_arrive(empty(previous));
			previous = stage;
			advance();
		}
		wgmma_wait<0>();
		if (lane0)
			mbarrier_arrive(empty(previous));
	}
};

/* Tiles are numbered down columns of eight, so that tiles worked on together share A and B in L2. */
struct TileXY {
	int m, n;
};

DEVICE TileXY tile_xy(int tile, int tiles_n)
{
	return {tile / (8 * tiles_n) * 8 + tile % 8, tile / 8 % tiles_n};
}
