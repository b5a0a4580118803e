/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wgmma on bf16 with float accumulators. In: accumulators of one thread and matrix descriptors. Out:
 * inline PTX. Invariant: operands are K-major tiles of 64 columns (128 bytes) with the 128-byte
 * swizzle, 1024-byte aligned; columns are stepped by moving the descriptor.
 */
#pragma once

#include "ptx.cuh"

#define ACC4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define ACC16(d, i) ACC4(d, i), ACC4(d, i + 4), ACC4(d, i + 8), ACC4(d, i + 12)
#define ACC64(d, i) ACC16(d, i), ACC16(d, i + 16), ACC16(d, i + 32), ACC16(d, i + 48)

/* Start address / 16; 8 rows are 1024 bytes apart; swizzle mode 1 (PTX ISA, matrix descriptor). */
DEVICE uint64_t wgmma_descriptor(uint32_t tile)
{
	return (uint64_t)((tile & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

DEVICE void wgmma_fence()
{
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

DEVICE void wgmma_commit()
{
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int N> DEVICE void wgmma_wait()
{
	asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
}

/* D[64][128] += A[64][16] * B[128][16]^T, both operands K-major in shared memory. */
DEVICE void wgmma_n128(float (&d)[64], uint64_t a, uint64_t b, int add)
{
	asm volatile(
		"{\n\t"
		".reg .pred p;\n\t"
		"setp.ne.b32 p, %66, 0;\n\t"
		"wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
		"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
		"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
		"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
		"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
		"%64, %65, p, 1, 1, 0, 0;\n\t"
		"}"
		: ACC64(d, 0)
		: "l"(a), "l"(b), "r"(add));
}

/* D[64][256] += A[64][16] * B[256][16]^T, both operands K-major in shared memory. */
DEVICE void wgmma_n256(float (&d)[128], uint64_t a, uint64_t b, int add)
{
	asm volatile(
		"{\n\t"
		".reg .pred p;\n\t"
		"setp.ne.b32 p, %130, 0;\n\t"
		"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
		"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
		"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
		"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
		"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
		"%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
		"%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
		"%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
		"%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
		"%128, %129, p, 1, 1, 0, 0;\n\t"
		"}"
		: ACC64(d, 0), ACC64(d, 64)
		: "l"(a), "l"(b), "r"(add));
}

DEVICE void wgmma_step(float (&d)[64], uint64_t a, uint64_t b, int add)
{
	wgmma_n128(d, a, b, add);
}

DEVICE void wgmma_step(float (&d)[128], uint64_t a, uint64_t b, int add)
{
	wgmma_n256(d, a, b, add);
}

/* One pipeline stage: 64 columns of K in four steps of 16 (32 bytes, 2 in descriptor units). */
template <int REGS> DEVICE void wgmma_stage(float (&d)[REGS], uint32_t a, uint32_t b, int add)
{
	uint64_t desc_a = wgmma_descriptor(a);
	uint64_t desc_b = wgmma_descriptor(b);

	wgmma_fence();
#pragma unroll
	for (int k = 0; k < 4; k++)
		wgmma_step(d, desc_a + 2 * k, desc_b + 2 * k, add || k > 0);
	wgmma_commit();
}
