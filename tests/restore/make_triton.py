# SPDX-License-Identifier: Apache-2.0
"""Writes PTX of a few matrix kernels in several tile shapes, made by Triton for sm_90a without a GPU.

usage: make_triton.py FOLDER
"""
import itertools
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Pointers: cp.async or plain stores into shared memory, then wgmma."""
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


@triton.jit
def described(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Tensor maps: TMA loads, wgmma, and a TMA store of the result."""
    left = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    right = tl.make_tensor_descriptor(b, shape=[k, n], strides=[n, 1], block_shape=[K, N])
    out = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), dtype=tl.float32)
    for i in range(0, k, K):
        total = tl.dot(left.load([row, i]), right.load([i, column]), total)
    out.store([row, column], total.to(tl.float16))


@triton.jit
def chained(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """As in attention: the result of one product, changed, is an operand of the next."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.arange(0, N)
    inner = tl.arange(0, K)
    left = tl.load(a + rows[:, None] * K + inner[None, :])
    total = tl.zeros((M, K), dtype=tl.float32)
    for i in range(0, n, N):
        right = tl.load(b + (i + columns)[:, None] * K + inner[None, :])
        scores = tl.exp2(tl.dot(left, tl.trans(right)))
        values = tl.load(c + (i + columns)[:, None] * K + inner[None, :])
        total = tl.dot(scores.to(tl.float16), values, total)
    tl.store(a + rows[:, None] * K + inner[None, :], total.to(tl.float16))


KERNELS = {'product': product, 'described': described, 'chained': chained}
SHAPES = [(128, 128, 64, 4), (128, 256, 64, 8), (64, 64, 128, 4), (64, 128, 32, 4)]


def compile_kernel(name, shape, stages, sm=90):
    """What Triton makes of a kernel: its texts are in `.asm`."""
    m, n, k, warps = shape
    constants = {'M': m, 'N': n, 'K': k}
    kinds = {'a': '*fp16', 'b': '*fp16', 'c': '*fp16', 'm': 'i32', 'n': 'i32', 'k': 'i32'}
    kinds.update((c, 'constexpr') for c in constants)
    source = ASTSource(fn=KERNELS[name], signature=kinds, constexprs=constants)
    return triton.compile(source, target=GPUTarget('cuda', sm, 32),
                          options={'num_warps': warps, 'num_stages': stages})


def main():
    folder, made = sys.argv[1], 0
    for name, shape, stages in itertools.product(KERNELS, SHAPES, (1, 3)):
        label = f'triton_{name}_{"x".join(map(str, shape[:3]))}_stages{stages}'
        try:
            text = compile_kernel(name, shape, stages).asm['ptx']
        except Exception as e:  # a version that lacks the feature, or a shape that does not fit
            print(f'{label}: {str(e).strip().splitlines()[-1:] or type(e)}', file=sys.stderr)
            continue
        with open(os.path.join(folder, label + '.ptx'), 'w', encoding='utf-8') as f:
            f.write(text)
        made += 1
    print(f'Triton {triton.__version__}: {made} kernels')
    return 0 if made else 1


if __name__ == '__main__':
    sys.exit(main())
