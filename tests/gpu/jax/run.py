# SPDX-License-Identifier: Apache-2.0
"""Compiles the JAX kernels with the assembler that the environment leads to, and runs them.

In: `ways` or `results`, a label; COUNT_LOG, which count_ptxas appends to. Out: a line of a Markdown
table per kernel. Status 1: a kernel did not run, or a result was wrong. The factors are small integers,
so a right result is equal to the reference in every bit.
"""
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np

import kernels

RUNS, SIZE = 20, 2048


def begin(name):
    with open(os.environ["COUNT_LOG"], "a") as log:
        log.write(f"kernel {name}\n")


def count(name):
    """PTX texts, fences in them as ptxas got them first, fences in what the real one got."""
    texts, before, after = 0, 0, 0
    with open(os.environ["COUNT_LOG"]) as log:
        lines = log.read().split(f"kernel {name}\n")[-1].splitlines()
    for stage, fences in (line.split() for line in lines):
        texts += stage == "in"
        before += int(fences) if stage == "in" else 0
        after += int(fences) if stage == "out" else 0
    return texts, before, after


def factors(kind):
    random = np.random.default_rng(0)
    a, b = (random.integers(-2, 3, (SIZE, SIZE)) for _ in range(2))
    want = (a.astype(np.float32) @ b.astype(np.float32)).astype(jnp.bfloat16) * jnp.bfloat16(2)
    return jax.device_put(a.astype(jnp.bfloat16)), jax.device_put(b.astype(kind)), want


def wrong_runs(kernel, kind):
    a, b, want = factors(kind)
    program = jax.jit(kernel).lower(a, b).compile()
    return sum(not np.array_equal(np.asarray(program(a, b)), want) for _ in range(RUNS))


def main(mode, label):
    status, row = 0, []
    for name, (kernel, kind) in kernels.KERNELS.items():
        begin(name)
        try:
            wrong = wrong_runs(kernel, kind)
            result = f"{wrong} of {RUNS}"
        except Exception as error:  # whatever it is, the other kernels still have their turn
            print(error, file=sys.stderr)
            wrong, result = 1, type(error).__name__
        status |= wrong > 0
        texts, before, after = count(name)
        row.append("called" if texts else "not called")
        if mode == "results":
            print(f"| JAX {jax.__version__} `{name}` | {label} | {texts} | {before} | {after} | "
                  f"{result} |", flush=True)
    if mode == "ways":
        print(f"| {label} | " + " | ".join(row) + " |", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
