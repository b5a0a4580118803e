# SPDX-License-Identifier: Apache-2.0
"""Runs the Triton kernels with the assembler that TRITON_PTXAS_PATH names.

In: a label. Out: one line of a Markdown table per kernel: median speed, runs with a wrong result.
Small integers make every sum of the GEMMs exact, so right is equal; attention has a tolerance.
"""
import sys

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

import kernels

RUNS = 20


def describe(matrix, rows, columns):
    return TensorDescriptor.from_tensor(matrix, [rows, columns])


def eighths(*shape):
    return (torch.randint(-8, 9, shape, device="cuda") / 8).to(torch.bfloat16)


def gemm():
    n = 8192
    a, b, c = eighths(n, n), eighths(n, n), torch.empty(n, n, device="cuda", dtype=torch.bfloat16)

    def start():
        kernels.gemm[(132,)](describe(a, 128, 64), describe(b, 256, 64), describe(c, 128, 256),
                             n, n, n, 128, 256, 64, 132, num_warps=8, num_stages=3)
    return start, c, a @ b.T, 0, 2 * n ** 3


def gemm_int8():
    n = 4096
    a, c = eighths(n, n), torch.empty(n, n, device="cuda", dtype=torch.bfloat16)
    b = torch.randint(-8, 9, (n, n), device="cuda", dtype=torch.int8)

    def start():
        kernels.gemm_int8[(n // 128, n // 128)](a, b, c, n, n, 128, 128, 64, num_warps=8,
                                                num_stages=3)
    return start, c, a @ b.to(torch.bfloat16).T, 0, 2 * n ** 3


def attention():
    heads, length, width = 32, 4096, 128
    q, k, v = (torch.randn(heads, length, width, device="cuda").to(torch.bfloat16)
               for _ in range(3))
    o = torch.empty_like(q)
    flat = [t.view(heads * length, width) for t in (q, k, v, o)]
    want = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]

    def start():
        kernels.attention[(length // 128, heads)](
            describe(flat[0], 128, 128), describe(flat[1], 64, 128), describe(flat[2], 64, 128),
            describe(flat[3], 128, 128), length, width ** -0.5 * 1.4426950408889634, 128, 64,
            width, num_warps=8, num_stages=3)
    return start, o, want, 2e-2, 4 * heads * length ** 2 * width


def measure(label, make):
    torch.manual_seed(0)
    start, got, want, tolerance, work = make()
    times, wrong = [], 0
    for run in range(RUNS + 2):
        got.fill_(float("nan"))
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        start()
        after.record()
        torch.cuda.synchronize()
        difference = (got.float() - want.float()).abs()
        wrong += not bool((difference <= tolerance).all())
        if run >= 2:
            times.append(before.elapsed_time(after))
    speed = work / sorted(times)[RUNS // 2] / 1e9
    print(f"| Triton {triton.__version__} `{make.__name__}` | {label} | {speed:.1f} | "
          f"{wrong} of {RUNS + 2} |", flush=True)


for kernel in gemm, gemm_int8, attention:
    measure(sys.argv[1], kernel)
