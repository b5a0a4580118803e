# SPDX-License-Identifier: Apache-2.0
"""Compiles a matrix product with Triton for sm_ARGUMENT, without a GPU, and says what came out."""

import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    left = a + rows[:, None] * k + inner[None, :]
    right = b + inner[:, None] * n + columns[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, k, K):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += K
        right += K * n
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


kernel = triton.compile(
    ASTSource(
        fn=product,
        signature={"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32",
                   "M": "constexpr", "N": "constexpr", "K": "constexpr"},
        constexprs={"M": 128, "N": 128, "K": 64},
    ),
    target=GPUTarget("cuda", int(sys.argv[1]), 32),
    options={"num_warps": 4, "num_stages": 1},
)
ptx = kernel.asm["ptx"]
print(kernel.asm["cubin"][:4], ptx.count("fence.proxy.async"), ptx.count("wgmma.mma_async"), ptx.count("tcgen05.mma"))
