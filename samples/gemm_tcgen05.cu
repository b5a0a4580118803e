/* SPDX-License-Identifier: Apache-2.0 */
/*
 * (f) C = A * B^T on Blackwell (sm_100a), A in float, B in bf16. A warpgroup turns A into bf16 on the
 * way into shared memory, B comes by TMA, one thread issues tcgen05.mma into tensor memory, and the
 * warpgroup hands the result through shared memory to a TMA store. Edges: st.shared ->
 * tcgen05.mma through an mbarrier, st.shared -> TMA store. Assembled only: it was never run.
 */
#include "ptx.cuh"

enum {
	TILE_M = 128,
	TILE_N = 128,
	TILE_K = 64,
	STAGES = 4,
	WORKERS = 128,
	A_BYTES = TILE_M * TILE_K * 2,
	B_BYTES = TILE_N * TILE_K * 2
};

struct Shared {
	uint8_t a[STAGES][A_BYTES];
	uint8_t b[STAGES][B_BYTES];
	uint8_t c[TILE_M * TILE_N * 2];
	uint64_t full[STAGES];
	uint64_t empty[STAGES];
	uint64_t done;
	uint32_t tensor_memory;
};

/* 128-byte swizzle (mode 2 on this architecture), 8 rows every 1024 bytes, version bit 46. */
DEVICE uint64_t mma_descriptor(uint32_t tile)
{
	return (uint64_t)(tile >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
}

DEVICE void mma(uint32_t d, uint64_t a, uint64_t b, int add)
{
	/* float result (4), bf16 operands (7, 10), N / 8 (17), M / 16 (24) */
	constexpr uint32_t kind =
		1u << 4 | 1u << 7 | 1u << 10 | (TILE_N / 8) << 17 | (TILE_M / 16) << 24;

	asm volatile(
		"{\n\t"
		".reg .pred p;\n\t"
		"setp.ne.b32 p, %4, 0;\n\t"
		"tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n\t"
		"}"
		:: "r"(d), "l"(a), "l"(b), "r"(kind), "r"(add) : "memory");
}

/* An arrival at the barrier when all earlier tcgen05.mma of this thread are done. */
DEVICE void mma_commit(uint32_t bar)
{
	asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
		:: "r"(bar) : "memory");
}

/* 16 columns of the lane of tensor memory that belongs to this thread. */
DEVICE void tensor_load(float (&d)[16], uint32_t address)
{
	asm volatile(
		"tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, "
		"%8, %9, %10, %11, %12, %13, %14, %15}, [%16];\n\t"
		"tcgen05.wait::ld.sync.aligned;"
		: "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]),
		"=f"(d[7]), "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]),
		"=f"(d[13]), "=f"(d[14]), "=f"(d[15])
		: "r"(address) : "memory");
}

/* One row of A per two threads, 32 columns each. */
DEVICE void convert_a(uint32_t stage, const float *a, int k)
{
#pragma unroll
	for (int i = 0; i < 16; i++) {
		int row = i * 8 + threadIdx.x / 16;
		int column = threadIdx.x % 16 * 4;
		float4 v = __ldg(reinterpret_cast<const float4 *>(a + (size_t)row * k + column));
		uint32_t at = stage + swizzled(row, column);
		store_shared(at, pack_bf16(v.x, v.y));
		store_shared(at + 4, pack_bf16(v.z, v.w));
	}
}

DEVICE void worker(Shared *shared, const float *a, int k, int steps)
{
	for (int i = 0; i < steps; i++) {
		int stage = i % STAGES;
		mbarrier_wait(smem_address(&shared->empty[stage]), (i / STAGES & 1) ^ 1);
		convert_a(smem_address(shared->a[stage]), a + i * TILE_K, k);
		fence_shared();
		mbarrier_arrive(smem_address(&shared->full[stage]));
	}
}

DEVICE void load_b(Shared *shared, const CUtensorMap *map_b, int y, int steps)
{
	for (int i = 0; i < steps; i++) {
		int stage = i % STAGES;
		uint32_t full = smem_address(&shared->full[stage]);
		mbarrier_wait(smem_address(&shared->empty[stage]), (i / STAGES & 1) ^ 1);
		mbarrier_expect(full, B_BYTES);
		tma_load(smem_address(shared->b[stage]), map_b, i * TILE_K, y, full);
	}
}

DEVICE void multiply(Shared *shared, uint32_t d, int steps)
{
	for (int i = 0; i < steps; i++) {
		int stage = i % STAGES;
		uint64_t a = mma_descriptor(smem_address(shared->a[stage]));
		uint64_t b = mma_descriptor(smem_address(shared->b[stage]));
		mbarrier_wait(smem_address(&shared->full[stage]), i / STAGES & 1);
		asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
#pragma unroll
		for (int step = 0; step < 4; step++)
			mma(d, a + 2 * step, b + 2 * step, i > 0 || step > 0);
		mma_commit(smem_address(&shared->empty[stage]));
	}
	mma_commit(smem_address(&shared->done));
}

DEVICE void store_tile(Shared *shared, uint32_t d, const CUtensorMap *map_c, int x, int y)
{
	uint32_t c = smem_address(shared->c);

	mbarrier_wait(smem_address(&shared->done), 0);
	asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
	for (int column = 0; column < TILE_N; column += 16) {
		float v[16];
		tensor_load(v, d + (threadIdx.x / 32 << 21) + column);
#pragma unroll
		for (int i = 0; i < 16; i += 8) {
			uint32_t half = c + (column + i) / 64 * (TILE_M * 128);
			store_shared_v4(half + swizzled(threadIdx.x, (column + i) % 64),
				make_uint4(pack_bf16(v[i], v[i + 1]), pack_bf16(v[i + 2], v[i + 3]),
					pack_bf16(v[i + 4], v[i + 5]), pack_bf16(v[i + 6], v[i + 7])));
		}
	}
	fence_shared();
	named_barrier(1, WORKERS);
	if (threadIdx.x == 0) {
		tma_store(map_c, x, y, c);
		tma_store(map_c, x + 64, y, c + TILE_M * 128);
		bulk_commit();
		bulk_wait();
	}
}

extern "C" __global__ void __launch_bounds__(192, 1) gemm_tcgen05(const float *a,
	const __grid_constant__ CUtensorMap map_b, const __grid_constant__ CUtensorMap map_c, int k)
{
	extern __shared__ __align__(1024) uint8_t dynamic_shared[];
	Shared *shared = reinterpret_cast<Shared *>(dynamic_shared);
	int warp = threadIdx.x / 32;
	int steps = k / TILE_K;
	int x = blockIdx.x * TILE_N, y = blockIdx.y * TILE_M;

	if (threadIdx.x == 0) {
		for (int i = 0; i < STAGES; i++) {
			mbarrier_init(smem_address(&shared->full[i]), WORKERS + 1);
			mbarrier_init(smem_address(&shared->empty[i]), 1);
		}
		mbarrier_init(smem_address(&shared->done), 1);
	}
	if (warp == 5)
		asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;"
			:: "r"(smem_address(&shared->tensor_memory)), "r"(TILE_N) : "memory");
	__syncthreads();
	uint32_t d = shared->tensor_memory;

	if (warp < 4) {
		worker(shared, a + (size_t)y * k, k, steps);
		store_tile(shared, d, &map_c, x, y);
	} else if (warp == 4) {
		if (elect_one())
			load_b(shared, &map_b, x, steps);
	} else {
		if (elect_one())
			multiply(shared, d, steps);
	}
	asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
	__syncthreads();
	if (warp == 5)
		asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;"
			:: "r"(d), "r"(TILE_N) : "memory");
}
