# SPDX-License-Identifier: Apache-2.0
"""Compiles JAX kernels for an H100 without a GPU.

In: names of kernels; COUNT_LOG, which count_ptxas appends to. Out: a line per kernel: its name, PTX
texts, fences before, fences after. Pallas's Triton is not among them: it asks a device what it is.
"""
import sys

import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

import kernels
import run

TARGET = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_block_optin: 232448 shared_memory_per_core: 233472
  registers_per_core_limit: 65536 registers_per_block_limit: 65536 core_count: 132 fpus_per_core: 128
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: 84942979072 cuda_compute_capability { major: 9 }
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""


def main(*names):
    topology = topologies.get_topology_desc(platform="cuda", topology_name="h100",
                                            target_config=TARGET, topology="1x1x1")
    place = SingleDeviceSharding(topology.devices[0])
    for name in names:
        kernel, kind = kernels.KERNELS[name]
        shapes = (jax.ShapeDtypeStruct((1024, 1024), k, sharding=place)
                  for k in (jnp.bfloat16, kind))
        run.begin(name)
        jax.jit(kernel).lower(*shapes).compile()
        print(name, *run.count(name), flush=True)


main(*sys.argv[1:])
