# SPDX-License-Identifier: Apache-2.0
"""Triton kernels whose code crosses from the generic to the async proxy.

In: tensors or descriptors of them. Out: results for run.py to compare. Invariant: shapes divide by
the tiles, so no kernel needs a mask.
"""
import triton
import triton.language as tl


@triton.jit
def gemm(a, b, c, m, n, k, tile_m: tl.constexpr, tile_n: tl.constexpr, tile_k: tl.constexpr,
         programs: tl.constexpr):
    """Persistent C = A * B^T through tensor descriptors: the result goes by shared memory."""
    tiles_n = n // tile_n
    for tile in tl.range(tl.program_id(0), (m // tile_m) * tiles_n, programs):
        y = tile // tiles_n * tile_m
        x = tile % tiles_n * tile_n
        sum = tl.zeros((tile_m, tile_n), dtype=tl.float32)
        for i in range(0, k, tile_k):
            sum = tl.dot(a.load([y, i]), b.load([x, i]).T, sum)
        c.store([y, x], sum.to(tl.bfloat16))


@triton.jit
def gemm_int8(a, b, c, n, k, tile_m: tl.constexpr, tile_n: tl.constexpr, tile_k: tl.constexpr):
    """C = A * B^T with B in int8: converted in registers, written to shared memory for wgmma."""
    rows = tl.program_id(0) * tile_m + tl.arange(0, tile_m)
    columns = tl.program_id(1) * tile_n + tl.arange(0, tile_n)
    inner = tl.arange(0, tile_k)
    at_a = a + rows[:, None] * k + inner[None, :]
    at_b = b + columns[None, :] * k + inner[:, None]
    sum = tl.zeros((tile_m, tile_n), dtype=tl.float32)
    for i in range(0, k, tile_k):
        sum = tl.dot(tl.load(at_a + i), tl.load(at_b + i).to(tl.bfloat16), sum)
    tl.store(c + rows[:, None] * n + columns[None, :], sum.to(tl.bfloat16))


@triton.jit
def attention(q, k, v, o, length, scale, tile_q: tl.constexpr, tile_k: tl.constexpr,
              width: tl.constexpr):
    """One head per program_id(1), all of them stacked in rows of the four descriptors."""
    head = tl.program_id(1) * length
    first = head + tl.program_id(0) * tile_q
    tile = q.load([first, 0])
    top = tl.full((tile_q,), float("-inf"), dtype=tl.float32)
    norm = tl.zeros((tile_q,), dtype=tl.float32)
    sum = tl.zeros((tile_q, width), dtype=tl.float32)
    for i in range(0, length, tile_k):
        score = tl.dot(tile, k.load([head + i, 0]).T) * scale
        new_top = tl.maximum(top, tl.max(score, 1))
        weight = tl.math.exp2(score - new_top[:, None])
        shrink = tl.math.exp2(top - new_top)
        norm = norm * shrink + tl.sum(weight, 1)
        sum = tl.dot(weight.to(tl.bfloat16), v.load([head + i, 0]), sum * shrink[:, None])
        top = new_top
    o.store([first, 0], (sum / norm[:, None]).to(tl.bfloat16))
