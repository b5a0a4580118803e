/* SPDX-License-Identifier: Apache-2.0 */
/*
 * (a) C = A * B^T in bf16: persistent, warp-specialised. One producer thread loads A and B by TMA into
 * a ring, two warpgroups multiply with wgmma and hand their part of C through shared memory
 * (stmatrix) to a TMA store. The one edge of the generic to the async proxy is stmatrix -> TMA store.
 */
#include "ring.cuh"

enum { TILE_N = 256, STAGES = 4, STAGING = 64 * 128 * 2 };

using MainRing = Ring<TILE_N, STAGES>;

[[maybe_unused]] static constexpr int SHARED_BYTES = MainRing::bytes + 2 * STAGING + 2 * STAGES * 8;

/* Half of the warpgroup's accumulators, 64 x 128, as two swizzled tiles of 64 columns. */
DEVICE void stage_half(uint32_t staging, const float (&acc)[128], int half)
{
	int lane = threadIdx.x % 32;
	int warp = threadIdx.x / 32 % 4;
	int row = warp * 16 + lane % 16;

#pragma unroll
	for (int j = 0; j < 8; j++) {
		const float *d = &acc[half * 64 + j * 8];
		int column = j % 4 * 16 + lane / 16 * 8;
		stmatrix_x4(staging + j / 4 * (STAGING / 2) + swizzled(row, column),
			pack_bf16(d[0], d[1]), pack_bf16(d[2], d[3]), pack_bf16(d[4], d[5]),
			pack_bf16(d[6], d[7]));
	}
}

DEVICE void store_tile(
	uint32_t staging, const float (&acc)[128], int group, const CUtensorMap *map_c, int x, int y)
{
	bool leader = threadIdx.x % 128 == 0;

#pragma unroll
	for (int half = 0; half < 2; half++) {
		if (leader)
			bulk_wait_read();
		named_barrier(1 + group, 128);
		stage_half(staging, acc, half);
		fence_shared();
		named_barrier(1 + group, 128);
		if (leader) {
			tma_store(map_c, x + half * 128, y, staging);
			tma_store(map_c, x + half * 128 + 64, y, staging + STAGING / 2);
			bulk_commit();
		}
	}
}

extern "C" __global__ void __launch_bounds__(384, 1)
	gemm_ws(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
		const __grid_constant__ CUtensorMap map_c, int m, int n, int k)
{
	extern __shared__ __align__(1024) uint8_t shared[];
	uint32_t base = smem_address(shared);
	MainRing ring(base, base + MainRing::bytes + 2 * STAGING);
	int group = threadIdx.x / 128;
	int tiles_n = n / TILE_N;
	int tiles = m / TILE_M * tiles_n;
	int steps = k / TILE_K;

	if (threadIdx.x == 0)
		ring.init(1);
	__syncthreads();

	if (group == 2) {
		registers_shrink<40>();
		if (threadIdx.x == 256) {
			for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
				TileXY at = tile_xy(tile, tiles_n);
				ring.produce(&map_a, &map_b, 0, at.m * TILE_M, at.n * TILE_N, steps);
			}
		}
	} else {
		registers_grow<232>();
		uint32_t staging = base + MainRing::bytes + group * STAGING;
		for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
			TileXY at = tile_xy(tile, tiles_n);
			float acc[128];
			ring.consume(acc, group, steps, false);
			store_tile(staging, acc, group, &map_c, at.n * TILE_N,
				at.m * TILE_M + group * 64);
		}
		if (threadIdx.x % 128 == 0)
			bulk_wait();
	}
}

#ifdef HOST
#include "host.cuh"

int main(int argc, char **argv)
{
	Bench bench("gemm_ws", reinterpret_cast<const void *>(gemm_ws), argc, argv);
	int n = bench.size;
	__nv_bfloat16 *a = matrix_bf16(n, n, 1), *b = matrix_bf16(n, n, 2);
	__nv_bfloat16 *c = matrix_bf16(n, n, 3), *want = matrix_bf16(n, n, 4);
	CUtensorMap map_a = tensor_map(a, n, n, TILE_M), map_b = tensor_map(b, n, n, TILE_N);
	CUtensorMap map_c = tensor_map(c, n, n, 64);

	reference_gemm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(
		a, b, nullptr, nullptr, 0, want, n, n);
	return bench.compare(
		[&](CUfunction kernel) {
			allow_shared(kernel, SHARED_BYTES);
			launch(kernel, multiprocessors(), 384, SHARED_BYTES,
				{&map_a, &map_b, &map_c, &n, &n, &n});
		},
		c, want);
}
#endif
