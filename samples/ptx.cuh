/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PTX instructions that the samples use, one small function each. In: shared-memory addresses as
 * 32-bit numbers (smem_address). Out: inline PTX, in the spelling that nvcc users write. Invariant:
 * a proxy fence comes from here only, from fence_shared() and fence_global(), so that -DNO_FENCES
 * takes all of them away and nothing else.
 */
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <stdint.h>

#define DEVICE static __device__ __forceinline__

DEVICE uint32_t smem_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

/* Between this thread's generic accesses to its CTA's shared memory and a later async access. */
DEVICE void fence_shared()
{
#ifndef NO_FENCES
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* The same for global memory. */
DEVICE void fence_global()
{
#ifndef NO_FENCES
	asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
}

DEVICE bool elect_one()
{
	uint32_t elected;
	asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}"
		: "=r"(elected));
	return elected;
}

/* A barrier of some warps of the CTA; id 0 is __syncthreads. */
DEVICE void named_barrier(int id, int threads)
{
	asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory");
}

DEVICE void mbarrier_init(uint32_t bar, int arrivals)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(arrivals) : "memory");
}

DEVICE void mbarrier_arrive(uint32_t bar)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar) : "memory");
}

DEVICE void mbarrier_expect(uint32_t bar, int bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
		:: "r"(bar), "r"(bytes) : "memory");
}

DEVICE void mbarrier_wait(uint32_t bar, int phase)
{
	asm volatile(
		"{\n\t"
		".reg .pred done;\n\t"
		"WAIT:\n\t"
		"mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
		"@done bra DONE;\n\t"
		"bra WAIT;\n\t"
		"DONE:\n\t"
		"}"
		:: "r"(bar), "r"(phase) : "memory");
}

DEVICE void tma_prefetch_map(const CUtensorMap *map)
{
	asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}

DEVICE void tma_load(uint32_t dst, const CUtensorMap *map, int x, int y, uint32_t bar)
{
	asm volatile(
		"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
		" [%0], [%1, {%2, %3}], [%4];"
		:: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(bar) : "memory");
}

DEVICE void tma_store(const CUtensorMap *map, int x, int y, uint32_t src)
{
	asm volatile(
		"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
		:: "l"(map), "r"(x), "r"(y), "r"(src) : "memory");
}

DEVICE void bulk_load(uint32_t dst, const void *src, int bytes, uint32_t bar)
{
	asm volatile(
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
		:: "r"(dst), "l"(__cvta_generic_to_global(src)), "r"(bytes), "r"(bar) : "memory");
}

DEVICE void bulk_commit()
{
	asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Until the sources of all stores committed by this thread were read. */
DEVICE void bulk_wait_read()
{
	asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

DEVICE void bulk_wait()
{
	asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

DEVICE void cp_async16(uint32_t dst, const void *src)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
		:: "r"(dst), "l"(__cvta_generic_to_global(src)) : "memory");
}

DEVICE void cp_async_commit()
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> DEVICE void cp_async_wait()
{
	asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}

DEVICE void stmatrix_x4(uint32_t dst, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
		:: "r"(dst), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

DEVICE void store_shared(uint32_t dst, uint32_t value)
{
	asm volatile("st.shared.b32 [%0], %1;" :: "r"(dst), "r"(value) : "memory");
}

DEVICE void store_shared_v4(uint32_t dst, uint4 v)
{
	asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
		:: "r"(dst), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

DEVICE uint32_t load_shared(uint32_t src)
{
	uint32_t value;
	asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(src) : "memory");
	return value;
}

DEVICE float4 load_shared_v4(uint32_t src)
{
	float4 v;
	asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
		: "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(src) : "memory");
	return v;
}

template <int N> DEVICE void registers_grow()
{
	asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N));
}

template <int N> DEVICE void registers_shrink()
{
	asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N));
}

/* Two floats as a pair of bf16, the first in the low half. */
DEVICE uint32_t pack_bf16(float low, float high)
{
	__nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
	return *reinterpret_cast<uint32_t *>(&pair);
}

/*
 * Byte offset of element (row, column) in a tile of bf16 whose rows are 128 bytes, as the 128-byte
 * swizzle of TMA, wgmma and tcgen05 lays it out: 16-byte pieces are exchanged within a row.
 */
DEVICE uint32_t swizzled(uint32_t row, uint32_t column)
{
	return row * 128 + ((column * 2) ^ ((row & 7) << 4));
}
