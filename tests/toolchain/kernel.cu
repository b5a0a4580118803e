// SPDX-License-Identifier: Apache-2.0
// A kernel whose only fault is a missing proxy fence between a store to shared memory and a bulk copy.
#include <cstdint>

__global__ void publish(uint32_t *out)
{
	__shared__ alignas(128) uint32_t tile[32];
	tile[threadIdx.x] = threadIdx.x;
	__syncthreads();
	if (threadIdx.x == 0) {
		uint32_t from = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(out),
			"r"(from) : "memory");
		asm volatile("cp.async.bulk.commit_group;" ::: "memory");
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
	}
}
