# SPDX-License-Identifier: Apache-2.0
"""Compiles a matrix product with TileLang for sm_90a, without a GPU.

B is int8: its tiles become bf16 in registers and are written to shared memory for wgmma, which
needs a proxy fence. Out: the number of fences that TileLang put into its CUDA source.
"""
import tilelang
import tilelang.language as T
from tilelang import tvm

SIZE, TILE, DEPTH = 512, 128, 64


@T.prim_func
def product(a: T.Tensor((SIZE, SIZE), T.bfloat16), b: T.Tensor((SIZE, SIZE), T.int8),
            c: T.Tensor((SIZE, SIZE), T.bfloat16)):
    with T.Kernel(SIZE // TILE, SIZE // TILE, threads=128) as (x, y):
        left = T.alloc_shared((TILE, DEPTH), T.bfloat16)
        narrow = T.alloc_shared((TILE, DEPTH), T.int8)
        wide = T.alloc_fragment((TILE, DEPTH), T.bfloat16)
        right = T.alloc_shared((TILE, DEPTH), T.bfloat16)
        total = T.alloc_fragment((TILE, TILE), T.float32)
        T.clear(total)
        for i in T.Pipelined(SIZE // DEPTH, num_stages=2):
            T.copy(a[y * TILE, i * DEPTH], left)
            T.copy(b[x * TILE, i * DEPTH], narrow)
            T.copy(narrow, wide)
            T.copy(wide, right)
            T.gemm(left, right, total, transpose_B=True)
        T.copy(total, c[y * TILE, x * TILE])


target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
with target:
    built = tilelang.lower(product, target=target, enable_device_compile=True)
print(built.kernel_source.count("fence_proxy_async"))
