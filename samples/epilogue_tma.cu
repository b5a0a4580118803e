/* SPDX-License-Identifier: Apache-2.0 */
/*
 * (d) D = A * B^T + beta * C in bf16: persistent, warp-specialised. The producer also loads the tile of C;
 * consumers read it with ld.shared into their accumulators and give its buffer back at once, to be
 * loaded again for the next tile. Edges: ld.shared -> TMA load of the next C (war), and
 * st.shared of D -> TMA store (raw).
 */
#include "ring.cuh"

enum { TILE_N = 128, STAGES = 4, TILE_BYTES = TILE_M * TILE_N * 2, CONSUMERS = 256 };

using MainRing = Ring<TILE_N, STAGES>;

struct Shared {
	uint8_t ring[MainRing::bytes];
	uint8_t c[TILE_BYTES];
	uint8_t d[TILE_BYTES];
	uint64_t barriers[2 * STAGES];
	uint64_t c_full;
	uint64_t c_empty;
};

[[maybe_unused]] static constexpr int SHARED_BYTES = sizeof(Shared);

/* Offset of accumulator pair (row lane / 4, 8-column group j) in two swizzled 64-column tiles. */
DEVICE uint32_t pair_offset(int j, int group, int row)
{
	return j / 8 * (TILE_BYTES / 2) + group * (TILE_BYTES / 4) +
	       swizzled(row, j % 8 * 8 + threadIdx.x % 4 * 2);
}

DEVICE void read_c(float (&acc)[64], uint32_t c, int group, float beta)
{
	int row = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;

#pragma unroll
	for (int j = 0; j < 16; j++) {
		uint32_t low = load_shared(c + pair_offset(j, group, row));
		uint32_t high = load_shared(c + pair_offset(j, group, row + 8));
		acc[j * 4] = beta * __uint_as_float(low << 16);
		acc[j * 4 + 1] = beta * __uint_as_float(low & 0xffff0000);
		acc[j * 4 + 2] = beta * __uint_as_float(high << 16);
		acc[j * 4 + 3] = beta * __uint_as_float(high & 0xffff0000);
	}
}

DEVICE void write_d(uint32_t d, const float (&acc)[64], int group)
{
	int row = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;

#pragma unroll
	for (int j = 0; j < 16; j++) {
		store_shared(d + pair_offset(j, group, row), pack_bf16(acc[j * 4], acc[j * 4 + 1]));
		store_shared(
			d + pair_offset(j, group, row + 8), pack_bf16(acc[j * 4 + 2], acc[j * 4 + 3]));
	}
}

DEVICE void produce_c(const Shared *shared, const CUtensorMap *map_c, int x, int y, int phase)
{
	uint32_t full = smem_address(&shared->c_full);
	uint32_t c = smem_address(shared->c);

	mbarrier_wait(smem_address(&shared->c_empty), phase ^ 1);
	mbarrier_expect(full, TILE_BYTES);
	tma_load(c, map_c, x, y, full);
	tma_load(c + TILE_BYTES / 2, map_c, x + 64, y, full);
}

extern "C" __global__ void __launch_bounds__(384, 1)
	epilogue_tma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
		const __grid_constant__ CUtensorMap map_c, const __grid_constant__ CUtensorMap map_d,
		float beta, int m, int n, int k)
{
	extern __shared__ __align__(1024) uint8_t dynamic_shared[];
	Shared *shared = reinterpret_cast<Shared *>(dynamic_shared);
	MainRing ring(smem_address(shared->ring), smem_address(shared->barriers));
	int group = threadIdx.x / 128;
	int tiles_n = n / TILE_N;
	int tiles = m / TILE_M * tiles_n;
	int steps = k / TILE_K;
	int phase = 0;

	if (threadIdx.x == 0) {
		ring.init(1);
		mbarrier_init(smem_address(&shared->c_full), 1);
		mbarrier_init(smem_address(&shared->c_empty), CONSUMERS);
	}
	__syncthreads();

	if (group == 2) {
		registers_shrink<40>();
		if (threadIdx.x == CONSUMERS) {
			for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, phase ^= 1) {
				TileXY at = tile_xy(tile, tiles_n);
				produce_c(shared, &map_c, at.n * TILE_N, at.m * TILE_M, phase);
				ring.produce(&map_a, &map_b, 0, at.m * TILE_M, at.n * TILE_N, steps);
			}
		}
		return;
	}
	registers_grow<232>();
	bool leader = threadIdx.x % 128 == 0;
	uint32_t d = smem_address(shared->d);
	for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, phase ^= 1) {
		TileXY at = tile_xy(tile, tiles_n);
		float acc[64];
		mbarrier_wait(smem_address(&shared->c_full), phase);
		read_c(acc, smem_address(shared->c), group, beta);
		fence_shared();
		mbarrier_arrive(smem_address(&shared->c_empty));
		ring.consume(acc, group, steps, true);
		if (leader)
			bulk_wait_read();
		named_barrier(1 + group, 128);
		write_d(d, acc, group);
		fence_shared();
		named_barrier(1 + group, 128);
		if (leader) {
			uint32_t part = d + group * (TILE_BYTES / 4);
			tma_store(&map_d, at.n * TILE_N, at.m * TILE_M + group * 64, part);
			tma_store(&map_d, at.n * TILE_N + 64, at.m * TILE_M + group * 64,
				part + TILE_BYTES / 2);
			bulk_commit();
		}
	}
	if (leader)
		bulk_wait();
}

#ifdef HOST
#include "host.cuh"

int main(int argc, char **argv)
{
	Bench bench("epilogue_tma", reinterpret_cast<const void *>(epilogue_tma), argc, argv);
	int n = bench.size;
	float beta = 0.5f;
	__nv_bfloat16 *a = matrix_bf16(n, n, 1), *b = matrix_bf16(n, n, 2), *c = matrix_bf16(n, n, 3);
	__nv_bfloat16 *d = matrix_bf16(n, n, 4), *want = matrix_bf16(n, n, 5);
	CUtensorMap map_a = tensor_map(a, n, n, TILE_M), map_b = tensor_map(b, n, n, TILE_N);
	CUtensorMap map_c = tensor_map(c, n, n, TILE_M), map_d = tensor_map(d, n, n, 64);

	reference_gemm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, b, nullptr, c, beta, want, n, n);
	return bench.compare(
		[&](CUfunction kernel) {
			allow_shared(kernel, SHARED_BYTES);
			launch(kernel, multiprocessors(), 384, SHARED_BYTES,
				{&map_a, &map_b, &map_c, &map_d, &beta, &n, &n, &n});
		},
		d, want);
}
#endif
