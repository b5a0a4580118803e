/* SPDX-License-Identifier: Apache-2.0 */
/*
 * (e) C = A * B^T in bf16, K split over several CTAs. Each writes its partial tile with st.global;
 * the last one to finish a tile brings all partials back with bulk loads and adds them. Edges:
 * st.global -> bulk load within the CTA (a fence by the writers) and from the other CTAs (a fence by
 * the loading thread, after its acquire), and ld.shared -> bulk load into the same buffer (war).
 */
#include "ring.cuh"

enum { TILE_N = 128, STAGES = 4, PARTIAL_BYTES = TILE_M * TILE_N * 4, CONSUMERS = 256 };

using MainRing = Ring<TILE_N, STAGES>;

static_assert(2 * PARTIAL_BYTES <= MainRing::bytes, "the ring's bytes serve the reduction as well");
[[maybe_unused]] static constexpr int SHARED_BYTES = MainRing::bytes;

DEVICE unsigned take_ticket(unsigned *counter)
{
	unsigned ticket;
	asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
		: "=r"(ticket) : "l"(__cvta_generic_to_global(counter)) : "memory");
	return ticket;
}

/* Accumulators in the order in which the same thread will read them back: 16 bytes per thread. */
DEVICE void write_partial(float4 *partial, const float (&acc)[64])
{
#pragma unroll
	for (int j = 0; j < 16; j++)
		partial[j * CONSUMERS + threadIdx.x] =
			make_float4(acc[j * 4], acc[j * 4 + 1], acc[j * 4 + 2], acc[j * 4 + 3]);
}

DEVICE void add_partial(float (&acc)[64], uint32_t buffer)
{
#pragma unroll
	for (int j = 0; j < 16; j++) {
		float4 v = load_shared_v4(buffer + (j * CONSUMERS + threadIdx.x) * 16);
		acc[j * 4] += v.x;
		acc[j * 4 + 1] += v.y;
		acc[j * 4 + 2] += v.z;
		acc[j * 4 + 3] += v.w;
	}
}

DEVICE void load_partial(uint32_t buffer, const float4 *partials, int split, uint32_t full)
{
	mbarrier_expect(full, PARTIAL_BYTES);
	bulk_load(buffer, partials + (size_t)split * (PARTIAL_BYTES / 16), PARTIAL_BYTES, full);
}

/* Sum of all partials in a fixed order, two buffers deep. The first two loads are under way. */
DEVICE void reduce(
	float (&acc)[64], uint32_t buffers, const float4 *partials, int splits, uint32_t full)
{
#pragma unroll
	for (int j = 0; j < 64; j++)
		acc[j] = 0;
	for (int i = 0; i < splits; i++) {
		uint32_t buffer = buffers + i % 2 * PARTIAL_BYTES;
		mbarrier_wait(full + i % 2 * 8, i / 2 & 1);
		add_partial(acc, buffer);
		if (i + 2 < splits) {
			fence_shared();
			named_barrier(1, CONSUMERS);
			if (threadIdx.x == 0)
				load_partial(buffer, partials, i + 2, full + i % 2 * 8);
		}
	}
}

DEVICE void write_tile(__nv_bfloat16 *c, const float (&acc)[64], int n)
{
	int lane = threadIdx.x % 32;
	__nv_bfloat16 *p = c + (size_t)(threadIdx.x / 32 * 16 + lane / 4) * n + lane % 4 * 2;

#pragma unroll
	for (int j = 0; j < 16; j++) {
		*reinterpret_cast<uint32_t *>(p + j * 8) = pack_bf16(acc[j * 4], acc[j * 4 + 1]);
		*reinterpret_cast<uint32_t *>(p + (size_t)8 * n + j * 8) =
			pack_bf16(acc[j * 4 + 2], acc[j * 4 + 3]);
	}
}

extern "C" __global__ void __launch_bounds__(384, 1)
	splitk(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
		float4 *workspace, unsigned *counters, __nv_bfloat16 *c, int m, int n, int k)
{
	extern __shared__ __align__(1024) uint8_t shared[];
	__shared__ uint64_t barriers[2 * STAGES];
	__shared__ uint64_t partial_full[2];
	__shared__ bool last;
	MainRing ring(smem_address(shared), smem_address(barriers));
	int group = threadIdx.x / 128;
	int split = blockIdx.y, splits = gridDim.y;
	int steps = k / TILE_K / splits;
	TileXY at = tile_xy(blockIdx.x, n / TILE_N);
	float4 *partials = workspace + (size_t)blockIdx.x * splits * (PARTIAL_BYTES / 16);

	if (threadIdx.x == 0) {
		ring.init(1);
		mbarrier_init(smem_address(&partial_full[0]), 1);
		mbarrier_init(smem_address(&partial_full[1]), 1);
	}
	__syncthreads();

	if (group == 2) {
		registers_shrink<40>();
		if (threadIdx.x == CONSUMERS)
			ring.produce(&map_a, &map_b, split * steps * TILE_K, at.m * TILE_M,
				at.n * TILE_N, steps);
		return;
	}
	registers_grow<232>();
	float acc[64];
	ring.consume(acc, group, steps, false);
	write_partial(partials + (size_t)split * (PARTIAL_BYTES / 16), acc);
	fence_global();
	named_barrier(1, CONSUMERS);
	if (threadIdx.x == 0) {
		last = take_ticket(&counters[blockIdx.x]) == splits - 1;
		fence_global();
		if (last) {
			uint32_t full = smem_address(partial_full);
			counters[blockIdx.x] = 0;
			load_partial(smem_address(shared), partials, 0, full);
			load_partial(smem_address(shared) + PARTIAL_BYTES, partials, 1, full + 8);
		}
	}
	named_barrier(1, CONSUMERS);
	if (!last)
		return;
	reduce(acc, smem_address(shared), partials, splits, smem_address(partial_full));
	write_tile(c + (size_t)at.m * TILE_M * n + at.n * TILE_N, acc, n);
}

#ifdef HOST
#include "host.cuh"

int main(int argc, char **argv)
{
	Bench bench("splitk", reinterpret_cast<const void *>(splitk), argc, argv);
	int n = bench.size, splits = 4, tiles = n / TILE_M * (n / TILE_N);
	__nv_bfloat16 *a = matrix_bf16(n, n, 1), *b = matrix_bf16(n, n, 2);
	__nv_bfloat16 *c = matrix_bf16(n, n, 3), *want = matrix_bf16(n, n, 4);
	float *workspace = device_array<float>((size_t)n * n * splits);
	unsigned *counters = device_array<unsigned>(tiles);
	CUtensorMap map_a = tensor_map(a, n, n, TILE_M), map_b = tensor_map(b, n, n, TILE_N);

	reference_gemm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(
		a, b, nullptr, nullptr, 0, want, n, n);
	return bench.compare(
		[&](CUfunction kernel) {
			allow_shared(kernel, SHARED_BYTES);
			launch(kernel, dim3(tiles, splits), 384, SHARED_BYTES,
				{&map_a, &map_b, &workspace, &counters, &c, &n, &n, &n});
		},
		c, want);
}
#endif
