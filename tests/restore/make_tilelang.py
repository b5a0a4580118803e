# SPDX-License-Identifier: Apache-2.0
"""Writes PTX of matrix products in several tile shapes, made by TileLang and nvcc for sm_90a without a GPU.

usage: make_tilelang.py FOLDER
"""
import itertools
import os
import subprocess
import sys

import tilelang
import tilelang.language as T
from tvm.target import Target

SHAPES = [(128, 128, 64, 128), (128, 256, 64, 256), (64, 128, 32, 128)]


def product(m, n, k, threads, stages):
    size = 1024

    @T.prim_func
    def main(a: T.Tensor((size, size), 'float16'), b: T.Tensor((size, size), 'float16'),
             c: T.Tensor((size, size), 'float16')):
        with T.Kernel(T.ceildiv(size, n), T.ceildiv(size, m), threads=threads) as (x, y):
            left = T.alloc_shared((m, k), 'float16')
            right = T.alloc_shared((k, n), 'float16')
            total = T.alloc_fragment((m, n), 'float32')
            out = T.alloc_shared((m, n), 'float16')
            T.clear(total)
            for i in T.Pipelined(T.ceildiv(size, k), num_stages=stages):
                T.copy(a[y * m, i * k], left)
                T.copy(b[i * k, x * n], right)
                T.gemm(left, right, total)
            T.copy(total, out)
            T.copy(out, c[y * m, x * n])

    return main


def make(place, shape, stages):
    target = Target({'kind': 'cuda', 'arch': 'sm_90a'})
    with target:
        source = tilelang.lower(product(*shape, stages), target=target).kernel_source
    with open(place + '.cu', 'w', encoding='utf-8') as f:
        f.write(source)
    base = os.path.dirname(tilelang.__file__)
    subprocess.run(['nvcc', '-ptx', '-w', '-O3', '-std=c++20', '-arch=sm_90a', f'-I{base}/src',
                    f'-I{base}/3rdparty/cutlass/include', place + '.cu', '-o', place + '.ptx'],
                   check=True, capture_output=True, text=True)


def main():
    made = 0
    for shape, stages in itertools.product(SHAPES, (1, 3)):
        label = f'tilelang_product_{"x".join(map(str, shape[:3]))}_stages{stages}'
        try:
            make(os.path.join(sys.argv[1], label), shape, stages)
        except Exception as e:  # a version that lacks the feature, or a shape that does not fit
            print(f'{label}: {getattr(e, "stderr", None) or e}'[:400], file=sys.stderr)
            continue
        made += 1
    print(f'TileLang {tilelang.__version__}: {made} kernels')
    return 0 if made else 1


if __name__ == '__main__':
    sys.exit(main())
