# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels for sm_90a without a GPU and writes FOLDER/NAME.ptx."""
import pathlib
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels

BF16 = "tensordesc<bf16[%d, %d]>"


def sources():
    yield kernels.gemm, {"a": BF16 % (128, 64), "b": BF16 % (256, 64), "c": BF16 % (128, 256),
                         "m": "i32", "n": "i32", "k": "i32"}, {
        "tile_m": 128, "tile_n": 256, "tile_k": 64, "programs": 132}
    yield kernels.gemm_int8, {"a": "*bf16", "b": "*i8", "c": "*bf16", "n": "i32", "k": "i32"}, {
        "tile_m": 128, "tile_n": 128, "tile_k": 64}
    yield kernels.attention, {"q": BF16 % (128, 128), "k": BF16 % (64, 128),
                              "v": BF16 % (64, 128), "o": BF16 % (128, 128), "length": "i32",
                              "scale": "fp32"}, {"tile_q": 128, "tile_k": 64, "width": 128}


def main(folder):
    for kernel, signature, constants in sources():
        signature = signature | {name: "constexpr" for name in constants}
        attributes = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(signature.values())
                      if kind in ("i32", "*bf16", "*i8")}
        source = ASTSource(kernel, signature, constants, attributes)
        built = triton.compile(source, target=GPUTarget("cuda", 90, 32),
                               options={"num_warps": 8, "num_stages": 3})
        name = kernel.fn.__name__
        pathlib.Path(folder, name + ".ptx").write_text(built.asm["ptx"])


main(sys.argv[1])
