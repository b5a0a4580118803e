# SPDX-License-Identifier: Apache-2.0
"""JAX programs whose code crosses from the generic to the async proxy.

In: JAX arrays (or shapes, for `compile.py`). Out: what run.py compares. Invariant: shapes divide by
the tiles.
"""
import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import triton as pltriton

TILE, DEPTH = 128, 64


def fused(a, b):
    """A matrix product that XLA fuses: int8 becomes bf16 in registers, then goes to shared memory."""
    return (a @ b.astype(jnp.bfloat16)) * jnp.bfloat16(2)


def triton_body(a, b, c):
    row, column = pl.program_id(0) * TILE, pl.program_id(1) * TILE

    def step(i, total):
        inner = pl.ds(i * DEPTH, DEPTH)
        left, right = a[pl.ds(row, TILE), inner], b[inner, pl.ds(column, TILE)]
        return total + jnp.dot(left, right.astype(jnp.bfloat16), preferred_element_type=jnp.float32)

    total = lax.fori_loop(0, a.shape[1] // DEPTH, step, jnp.zeros((TILE, TILE), jnp.float32))
    c[pl.ds(row, TILE), pl.ds(column, TILE)] = (total * 2).astype(jnp.bfloat16)


def triton(a, b):
    """The same by Pallas's Triton, with the tile that makes it use wgmma."""
    rows, columns = a.shape[0], b.shape[1]
    return pl.pallas_call(
        triton_body,
        out_shape=jax.ShapeDtypeStruct((rows, columns), jnp.bfloat16),
        grid=(rows // TILE, columns // TILE),
        compiler_params=pltriton.CompilerParams(num_warps=8, num_stages=2),
    )(a, b)


def mosaic_body(a, b, c, a_tile, a_ready, b_tile, c_tile, a_full, b_full):
    row, column = lax.axis_index("row") * TILE, lax.axis_index("column") * TILE

    def sum_up(total):
        def step(i, state):
            plgpu.copy_gmem_to_smem(a.at[pl.ds(row, TILE), pl.ds(i * DEPTH, DEPTH)], a_tile, a_full)
            plgpu.copy_gmem_to_smem(b.at[pl.ds(i * DEPTH, DEPTH), pl.ds(column, TILE)], b_tile,
                                    b_full)
            plgpu.barrier_wait(a_full)
            plgpu.barrier_wait(b_full)
            a_ready[...] = a_tile[...] * jnp.bfloat16(2)
            plgpu.commit_smem()
            plgpu.wgmma(total, a_ready, b_tile)
            plgpu.wgmma_wait(0)
            return state

        lax.fori_loop(0, a.shape[1] // DEPTH, step, ())
        return total[...]

    c_tile[...] = pl.run_scoped(sum_up, plgpu.ACC((TILE, TILE), jnp.float32)).astype(jnp.bfloat16)
    plgpu.commit_smem()
    plgpu.copy_smem_to_gmem(c_tile, c.at[pl.ds(row, TILE), pl.ds(column, TILE)])
    plgpu.wait_smem_to_gmem(0)


def mosaic(a, b):
    """2 * A * B by TMA and wgmma: A is doubled by hand on its way, C leaves by TMA."""
    layout = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
    tile = functools.partial(plgpu.SMEM, dtype=jnp.bfloat16, transforms=layout)
    rows, columns = a.shape[0], b.shape[1]
    return plgpu.kernel(
        mosaic_body,
        out_type=jax.ShapeDtypeStruct((rows, columns), jnp.bfloat16),
        scratch_types=[tile((TILE, DEPTH)), tile((TILE, DEPTH)), tile((DEPTH, TILE)),
                       tile((TILE, TILE)), plgpu.Barrier(), plgpu.Barrier()],
        grid=(rows // TILE, columns // TILE),
        grid_names=("row", "column"),
    )(a, b)


KERNELS = {"fused": (fused, jnp.int8), "triton": (triton, jnp.int8),
           "mosaic": (mosaic, jnp.bfloat16)}
