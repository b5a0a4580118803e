# SPDX-License-Identifier: Apache-2.0
"""Compiles a matrix product with Triton for sm_ARGUMENT, without a GPU, and says what came out. The kernel is one of
tests/restore, which has to be on PYTHONPATH."""

import sys

import make_triton

kernel = make_triton.compile_kernel("product", (128, 128, 64, 4), 1, int(sys.argv[1]))
ptx = kernel.asm["ptx"]
print(kernel.asm["cubin"][:4], ptx.count("fence.proxy.async"), ptx.count("wgmma.mma_async"), ptx.count("tcgen05.mma"))
