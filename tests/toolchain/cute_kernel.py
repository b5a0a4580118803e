# SPDX-License-Identifier: Apache-2.0
"""Compiles a kernel of the CuTe DSL for CUTE_DSL_ARCH, without a GPU: threads write a row to shared memory, and a bulk
copy takes it to global memory. The DSL leaves its PTX in CUTE_DSL_DUMP_DIR."""

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync

WIDTH = 1024
THREADS = 128


@cute.kernel
def rows(out: cute.Tensor, scale: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    memory = cutlass.utils.SmemAllocator()
    staged = memory.allocate_tensor(cutlass.Float32, cute.make_layout(WIDTH), 128)
    for k in cutlass.range_constexpr(WIDTH // THREADS):
        staged[thread + k * THREADS] = scale * cutlass.Float32(thread + k)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if thread == 0:
        copy = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), cutlass.Float32)
        cute.copy(copy, staged, out[row, None])
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def launch(out: cute.Tensor, scale: cutlass.Float32):
    rows(out, scale).launch(grid=[64, 1, 1], block=[THREADS, 1, 1])


cute.compile(launch, cute.runtime.make_fake_compact_tensor(cutlass.Float32, (64, WIDTH), stride_order=(1, 0), assumed_align=16), 1.0)
