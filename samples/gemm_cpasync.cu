/* SPDX-License-Identifier: Apache-2.0 */
/*
 * (c) C = A * B^T in bf16: multistage, no roles. All 256 threads copy with cp.async (a generic-proxy
 * write, whatever its name says) and multiply with wgmma. The edge is cp.async -> wgmma; the fence
 * stands after the wait that completes the copies and before the barrier that publishes them.
 */
#include "wgmma.cuh"

enum {
	TILE_M = 128,
	TILE_N = 256,
	TILE_K = 64,
	STAGES = 4,
	THREADS = 256,
	A_BYTES = TILE_M * TILE_K * 2,
	B_BYTES = TILE_N * TILE_K * 2,
	STAGE_BYTES = A_BYTES + B_BYTES,
	AHEAD = STAGES - 2
};

[[maybe_unused]] static constexpr int SHARED_BYTES = STAGES * STAGE_BYTES + 1024;

/* ROWS rows of 128 bytes; consecutive threads copy consecutive 16-byte pieces of a row. */
template <int ROWS>
DEVICE void copy_tile(uint32_t dst, const __nv_bfloat16 *src, int k)
{
	int row = threadIdx.x / 8;
	int column = threadIdx.x % 8 * 8;

#pragma unroll
	for (int i = 0; i < ROWS / 32; i++, row += 32)
		cp_async16(dst + swizzled(row, column), src + (size_t)row * k + column);
}

DEVICE void copy_stage(
	uint32_t base, const __nv_bfloat16 *a, const __nv_bfloat16 *b, int k, int step)
{
	uint32_t stage = base + step % STAGES * STAGE_BYTES;

	copy_tile<TILE_M>(stage, a + step * TILE_K, k);
	copy_tile<TILE_N>(stage + A_BYTES, b + step * TILE_K, k);
}

DEVICE void write_tile(__nv_bfloat16 *c, const float (&acc)[128], int n)
{
	int lane = threadIdx.x % 32;
	__nv_bfloat16 *p = c + (size_t)(threadIdx.x / 32 * 16 + lane / 4) * n + lane % 4 * 2;

#pragma unroll
	for (int j = 0; j < TILE_N / 8; j++) {
		const float *d = &acc[j * 4];
		*reinterpret_cast<uint32_t *>(p + j * 8) = pack_bf16(d[0], d[1]);
		*reinterpret_cast<uint32_t *>(p + (size_t)8 * n + j * 8) = pack_bf16(d[2], d[3]);
	}
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemm_cpasync(
	const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, int m, int n, int k)
{
	extern __shared__ uint8_t shared[];
	uint32_t base = (smem_address(shared) + 1023) & ~1023u;
	int steps = k / TILE_K;
	int tiles_n = n / TILE_N;
	int tile_m = blockIdx.x / (8 * tiles_n) * 8 + blockIdx.x % 8;
	int tile_n = blockIdx.x / 8 % tiles_n;
	int group = threadIdx.x / 128;
	float acc[128];

	a += (size_t)tile_m * TILE_M * k;
	b += (size_t)tile_n * TILE_N * k;
	for (int i = 0; i < AHEAD; i++) {
		if (i < steps)
			copy_stage(base, a, b, k, i);
		cp_async_commit();
	}
	for (int i = 0; i < steps; i++) {
		uint32_t stage = base + i % STAGES * STAGE_BYTES;

		cp_async_wait<AHEAD - 1>();
		fence_shared();
		__syncthreads();
		wgmma_stage(acc, stage + group * (A_BYTES / 2), stage + A_BYTES, i > 0);
		if (i + AHEAD < steps)
			copy_stage(base, a, b, k, i + AHEAD);
		cp_async_commit();
		wgmma_wait<1>();
	}
	wgmma_wait<0>();
	write_tile(c + (size_t)tile_m * TILE_M * n + tile_n * TILE_N, acc, n);
}

#ifdef HOST
#include "host.cuh"

int main(int argc, char **argv)
{
	Bench bench("gemm_cpasync", reinterpret_cast<const void *>(gemm_cpasync), argc, argv);
	int n = bench.size;
	__nv_bfloat16 *a = matrix_bf16(n, n, 1), *b = matrix_bf16(n, n, 2);
	__nv_bfloat16 *c = matrix_bf16(n, n, 3), *want = matrix_bf16(n, n, 4);

	reference_gemm<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(
		a, b, nullptr, nullptr, 0, want, n, n);
	return bench.compare(
		[&](CUfunction kernel) {
			allow_shared(kernel, SHARED_BYTES);
			launch(kernel, n / TILE_M * (n / TILE_N), THREADS, SHARED_BYTES,
				{&a, &b, &c, &n, &n, &n});
		},
		c, want);
}
#endif
