# SPDX-License-Identifier: Apache-2.0
"""Compiles a kernel of Triton's Gluon for sm_ARGUMENT, without a GPU, with its two fences, and says what came out. One
role loads tiles, one negates them, one stores them; the fences are written by hand, as everywhere in Gluon."""

import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

ROWS, COLUMNS, STAGES, WARPS = 32, 64, 2, 4


@gluon.jit
def load(desc, into, empty, full, tiles):
    stages: gl.constexpr = into.type.shape[0]
    for i in range(tiles):
        s = i % stages
        mbarrier.wait(empty.index(s), i // stages & 1 ^ 1)
        mbarrier.expect(full.index(s), desc.block_type.nbytes)
        tma.async_load(desc, [gl.program_id(0) * desc.block_type.shape[0], i * desc.block_type.shape[1]],
                       full.index(s), into.index(s))


@gluon.jit
def store(desc, ready, done, out, tiles):
    for i in range(tiles):
        mbarrier.wait(ready, i & 1)
        tma.async_store(desc, [gl.program_id(0) * desc.block_type.shape[0], i * desc.block_type.shape[1]], out)
        tma.store_wait(0)
        mbarrier.arrive(done, count=1)


@gluon.jit
def negate(into, empty, full, ready, done, out, tiles, layout: gl.constexpr):
    stages: gl.constexpr = into.type.shape[0]
    for i in range(tiles):
        s = i % stages
        mbarrier.wait(full.index(s), i // stages & 1)
        tile = into.index(s).load(layout)
        fence_async_shared()
        mbarrier.arrive(empty.index(s), count=1)
        mbarrier.wait(done, i & 1 ^ 1)
        out.store(-tile)
        fence_async_shared()
        mbarrier.arrive(ready, count=1)


@gluon.jit
def negated(source, target, tiles, stages: gl.constexpr, warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, warps], [1, 0])
    into = gl.allocate_shared_memory(source.dtype, [stages] + source.block_type.shape, source.layout)
    out = gl.allocate_shared_memory(target.dtype, target.block_type.shape, target.layout)
    empty = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    full = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    for i in gl.static_range(stages):
        mbarrier.init(empty.index(i), count=1)
        mbarrier.init(full.index(i), count=1)
    mbarrier.init(ready, count=1)
    mbarrier.init(done, count=1)
    gl.warp_specialize([
        (negate, (into, empty, full, ready, done, out, tiles, layout)),
        (load, (source, into, empty, full, tiles)),
        (store, (target, ready, done, out, tiles)),
    ], [1, 1], [24, 24])


tile = "tensordesc<fp32[%d, %d],%r>" % (
    ROWS, COLUMNS, gl.NVMMASharedLayout.get_default_for([ROWS, COLUMNS], gl.float32))
constants = {"stages": STAGES, "warps": WARPS}
signature = {"source": tile, "target": tile, "tiles": "i32"} | {name: "constexpr" for name in constants}
built = triton.compile(GluonASTSource(negated, signature, constants),
                       target=GPUTarget("cuda", int(sys.argv[1]), 32), options={"num_warps": WARPS})
print(built.asm["cubin"][:4], built.asm["ptx"].count("fence.proxy.async"))
if len(sys.argv) > 2:
    with open(sys.argv[2], "w") as file:
        file.write(built.asm["ptx"])
