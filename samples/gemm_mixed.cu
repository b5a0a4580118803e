/* SPDX-License-Identifier: Apache-2.0 */
/*
 * (b) C = scale * (A * B^T) with A in int8 and B in bf16. A producer warpgroup turns int8 into bf16 on
 * the way into shared memory and hands it, by an mbarrier, to two warpgroups that multiply with
 * wgmma. The edge is st.shared -> wgmma, between roles that share no path of the program.
 */
#include "ring.cuh"

enum { TILE_N = 256, STAGES = 4, PRODUCERS = 128 };

using MainRing = Ring<TILE_N, STAGES>;

[[maybe_unused]] static constexpr int SHARED_BYTES = MainRing::bytes + 2 * STAGES * 8;

struct Int8Tile {
	uint4 part[4]; /* 16 columns of rows r, r + 32, r + 64, r + 96 */
};

DEVICE Int8Tile load_int8(const int8_t *a, int k)
{
	Int8Tile tile;
	const int8_t *p = a + (size_t)(threadIdx.x % PRODUCERS / 4) * k + threadIdx.x % 4 * 16;

#pragma unroll
	for (int i = 0; i < 4; i++)
		tile.part[i] = __ldg(reinterpret_cast<const uint4 *>(p + (size_t)i * 32 * k));
	return tile;
}

/* Byte i of a word of biased int8 as a float: it becomes the low mantissa bits of 2^23. */
DEVICE float int8_float(uint32_t biased, int i)
{
	return __uint_as_float(__byte_perm(biased, 0x4b000000, 0x7440 + i)) - 8388736.0f;
}

/* Four int8 as four bf16; exact, so the upper halves of the floats are all there is. */
DEVICE uint2 int8_bf16(uint32_t four)
{
	uint32_t biased = four ^ 0x80808080;
	return make_uint2(__byte_perm(__float_as_uint(int8_float(biased, 0)),
				  __float_as_uint(int8_float(biased, 1)), 0x7632),
		__byte_perm(__float_as_uint(int8_float(biased, 2)),
			__float_as_uint(int8_float(biased, 3)), 0x7632));
}

DEVICE void store_bf16(uint32_t stage, const Int8Tile &tile)
{
	int row = threadIdx.x % PRODUCERS / 4;
	int column = threadIdx.x % 4 * 16;

#pragma unroll
	for (int i = 0; i < 4; i++) {
		uint4 v = tile.part[i];
		uint2 x = int8_bf16(v.x), y = int8_bf16(v.y), z = int8_bf16(v.z), w = int8_bf16(v.w);
		store_shared_v4(stage + swizzled(row + i * 32, column), make_uint4(x.x, x.y, y.x, y.y));
		store_shared_v4(
			stage + swizzled(row + i * 32, column + 8), make_uint4(z.x, z.y, w.x, w.y));
	}
}

DEVICE void produce_tile(
	MainRing &ring, const int8_t *a, const CUtensorMap *map_b, int k, int y_b, int steps)
{
	Int8Tile next = load_int8(a, k);

	for (int i = 0; i < steps; i++) {
		Int8Tile tile = next;
		if (i + 1 < steps)
			next = load_int8(a + (i + 1) * TILE_K, k);
		mbarrier_wait(ring.empty(ring.stage), ring.phase ^ 1);
		if (threadIdx.x % PRODUCERS == 0) {
			mbarrier_expect(ring.full(ring.stage), MainRing::b_bytes);
			tma_load(ring.b(), map_b, i * TILE_K, y_b, ring.full(ring.stage));
		}
		store_bf16(ring.a(), tile);
		fence_shared();
		mbarrier_arrive(ring.full(ring.stage));
		ring.advance();
	}
}

DEVICE void write_tile(
	__nv_bfloat16 *c, const float (&acc)[128], const float *scale, int n, int row, int column)
{
	int lane = threadIdx.x % 32;
	int r = row + threadIdx.x / 32 % 4 * 16 + lane / 4;
	float low = scale[r], high = scale[r + 8];
	__nv_bfloat16 *p = c + (size_t)r * n + column + lane % 4 * 2;

#pragma unroll
	for (int j = 0; j < TILE_N / 8; j++) {
		const float *d = &acc[j * 4];
		*reinterpret_cast<uint32_t *>(p + j * 8) = pack_bf16(d[0] * low, d[1] * low);
		*reinterpret_cast<uint32_t *>(p + (size_t)8 * n + j * 8) =
			pack_bf16(d[2] * high, d[3] * high);
	}
}

extern "C" __global__ void __launch_bounds__(384, 1)
	gemm_mixed(const int8_t *a, const __grid_constant__ CUtensorMap map_b, const float *scale,
		__nv_bfloat16 *c, int m, int n, int k)
{
	extern __shared__ __align__(1024) uint8_t shared[];
	uint32_t base = smem_address(shared);
	MainRing ring(base, base + MainRing::bytes);
	int group = threadIdx.x / 128;
	int tiles_n = n / TILE_N;
	int tiles = m / TILE_M * tiles_n;
	int steps = k / TILE_K;

	if (threadIdx.x == 0)
		ring.init(PRODUCERS + 1);
	__syncthreads();

	if (group == 2) {
		/* 88 + 2 * 208 is all of the CTA's 3 * 168 registers; more would wait for ever. */
		registers_shrink<88>();
		for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
			TileXY at = tile_xy(tile, tiles_n);
			produce_tile(ring, a + (size_t)at.m * TILE_M * k, &map_b, k, at.n * TILE_N, steps);
		}
	} else {
		registers_grow<208>();
		for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
			TileXY at = tile_xy(tile, tiles_n);
			float acc[128];
			ring.consume(acc, group, steps, false);
			write_tile(c, acc, scale, n, at.m * TILE_M + group * 64, at.n * TILE_N);
		}
	}
}

#ifdef HOST
#include "host.cuh"

int main(int argc, char **argv)
{
	Bench bench("gemm_mixed", reinterpret_cast<const void *>(gemm_mixed), argc, argv);
	int n = bench.size;
	int8_t *a = device_array<int8_t>((size_t)n * n);
	float *scale = device_array<float>(n);
	__nv_bfloat16 *b = matrix_bf16(n, n, 2);
	__nv_bfloat16 *c = matrix_bf16(n, n, 3), *want = matrix_bf16(n, n, 4);
	CUtensorMap map_b = tensor_map(b, n, n, TILE_N);

	fill_int8<<<1024, 256>>>(a, (size_t)n * n, 1);
	fill_scale<<<8, 256>>>(scale, n);
	reference_gemm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(
		a, b, scale, nullptr, 0, want, n, n);
	return bench.compare(
		[&](CUfunction kernel) {
			allow_shared(kernel, SHARED_BYTES);
			launch(kernel, multiprocessors(), 384, SHARED_BYTES,
				{&a, &map_b, &scale, &c, &n, &n, &n});
		},
		c, want);
}
#endif
