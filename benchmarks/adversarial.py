# SPDX-License-Identifier: Apache-2.0
"""Functions, and modules of many, made to be dear: each takes a size, and its cost should grow with it and no faster.

usage: adversarial.py NAME SIZE >FILE.ptx
"""

import sys

HEADER = ".version 8.3\n.target sm_90a\n.address_size 64\n\n"
REGISTERS = "\t.reg .pred %p<4>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<8>;\n"
START = ("\t.shared .align 128 .b8 s[131072];\n\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [n];\n"
         "\tsetp.eq.u32 %p1, %r1, 0;\n\tmov.u32 %r2, s;\n")
STORE = "\tst.shared.u32 [s+{}], %r1;\n"
LOAD = "\tld.shared.u32 %r4, [s+{}];\n"
COPY = "\tcp.async.bulk.global.shared::cta.bulk_group [%rd1], [s+{}], 16;\n"
FETCH = "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+{}], [%rd1], 16, [s+131000];\n"
ARRIVE = "\tmbarrier.arrive.shared.b64 %rd2, [s+{}];\n"
WAIT = "W{0}:\n\tmbarrier.try_wait.parity.shared.b64 %p2, [s+{1}], 0;\n\t@!%p2 bra W{0};\n"


def random_branches(n):
    """Blocks that branch to anywhere, every 16th with a store."""
    for i in range(n):
        yield f"L{i}:\n"
        yield STORE.format(i * 4 % 4096) if i % 16 == 0 else "\tadd.u32 %r3, %r3, 1;\n"
        yield f"\t@%p1 bra L{(i * 7919) % n};\n"
    yield COPY.format(0)


def diamonds(n):
    """A ladder of n blocks, four to a diamond, one arm of each with a store."""
    for i in range(n // 4):
        yield f"\tsetp.eq.u32 %p2, %r1, {i};\n\t@%p2 bra A{i};\n" + STORE.format(i * 4 % 4096)
        yield f"\tbra B{i};\nA{i}:\n\tadd.u32 %r3, %r3, 1;\nB{i}:\n"
    yield COPY.format(0)


def apart(n):
    """n stores, then n copies, of which each meets a few stores."""
    yield from (STORE.format(i * 4 % 131072) for i in range(n))
    yield from (COPY.format(i * 16 % 131072) for i in range(n))


def together(n):
    """n stores and then n copies of the same bytes."""
    yield from (STORE.format(0) for _ in range(n))
    yield from (COPY.format(0) for _ in range(n))


def in_turns(n):
    """Store and copy, n times, of bytes that come back."""
    for i in range(n):
        yield STORE.format(i * 16 % 4096) + COPY.format(i * 16 % 4096)


def unknown(n):
    """n stores and n copies through addresses that nobody knows."""
    for i in range(n):
        yield f"\tld.global.u32 %r5, [%rd1+{i * 4}];\n\tst.shared.u32 [%r5], %r1;\n"
    yield from (COPY.format(i * 16 % 131072) for i in range(n))


def pointers(n):
    """n global stores at their own offsets behind one pointer, then n reduces that read others."""
    yield "\tcvta.to.global.u64 %rd3, %rd1;\n"
    yield from (f"\tst.global.u32 [%rd3+{i * 4}], %r1;\n" for i in range(n))
    for i in range(n):
        yield (f"\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+{i * 16 % 65536}], "
               f"[%rd3+{i * 16}], 16, [s+131000];\n")


def loads(n):
    """n loads, then n copies into the same bytes."""
    yield from (LOAD.format(i * 4 % 65536) for i in range(n))
    yield from (FETCH.format(i * 16 % 65536) for i in range(n))


def barriers(n):
    """n stores handed over by an mbarrier each, n waits with a copy behind each."""
    for i in range(n):
        yield STORE.format(i * 16 % 65536) + ARRIVE.format(65536 + i * 8 % 65000)
    for i in range(n):
        yield WAIT.format(i, 65536 + i * 8 % 65000) + COPY.format(i * 16 % 65536)


def one_barrier(n):
    """The same with one mbarrier for all: every arrive may be the one that a wait observes."""
    for i in range(n):
        yield STORE.format(i * 16 % 65536) + ARRIVE.format(65536)
    for i in range(n):
        yield WAIT.format(i, 65536) + COPY.format(i * 16 % 65536)


def bar_sync(n):
    """n barriers of the CTA, a store before each and a copy behind."""
    for i in range(n):
        yield STORE.format(i * 16 % 65536) + f"\tbar.sync {i % 16};\n\t@%p1 bra M{i};\n" + COPY.format(i * 16 % 65536)
        yield f"M{i}:\n"


def indirect_branch(n):
    yield "T: .branchtargets " + ", ".join(f"B{i}" for i in range(n)) + ";\n\tbrx.idx %r1, T;\n"
    for i in range(n):
        yield f"B{i}:\n" + STORE.format(i * 4 % 4096) + "\tbra E;\n"
    yield "E:\n" + COPY.format(0)


def initialiser(n):
    """n bytes of numbers in one initialiser."""
    yield ".global .align 4 .u32 big[] = {"
    numbers = [str(i * 7919 % 100000) for i in range(100000)]
    text = ", ".join(numbers)
    for _ in range(n // (len(text) + 2)):
        yield text + ", "
    yield "0};\n"


def labels(n):
    yield STORE.format(0)
    yield from (f"L{i}:\n" for i in range(n))
    yield COPY.format(0)


def chain(n):
    """n blocks one after the other, and an expression as deep as they are many."""
    yield STORE.format(0)
    for i in range(n):
        yield f"\tadd.u32 %r2, %r2, 16;\n\tbra C{i};\nC{i}:\n"
    yield "\tcp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;\n"


def scopes(n):
    """n scopes, each inside the one before."""
    yield STORE.format(0)
    yield from ("{\n\t.reg .b32 %q;\n" for _ in range(n))
    yield COPY.format(0)
    yield "}\n" * n


def loops(n):
    """n loops, each inside the one before."""
    yield from (f"L{i}:\n\tadd.u32 %r3, %r3, 1;\n" for i in range(n))
    yield STORE.format(0) + COPY.format(0)
    yield from (f"\tsetp.lt.u32 %p2, %r3, {i};\n\t@%p2 bra L{i};\n" for i in reversed(range(n)))


def compares(n):
    """A loop of n comparisons with a number each: where counters may stop."""
    yield "L:\n"
    yield from (f"\tsetp.lt.s32 %p2, %r3, {(n - i) * 5 + 7};\n\t@%p2 add.s32 %r3, %r3, 4;\n" for i in range(n))
    yield STORE.format(0) + COPY.format(0) + "\t@%p2 bra L;\n"


def dominators(n):
    """n registers with two definitions each, read behind n branches that all of them stand before."""
    yield f"\t.reg .b32 %x<{n}>;\n"
    yield from (f"\tmov.u32 %x{i}, {i % 1024 * 4};\n\t@%p1 mov.u32 %x{i}, {i % 1024 * 4 + 4096};\n" for i in range(n))
    yield from (f"\tsetp.eq.u32 %p2, %r1, {i + 7};\n\t@%p2 bra E;\n" for i in range(n))
    yield from (f"\tadd.u32 %r3, %r2, %x{i};\n\tst.shared.u32 [%r3], %r1;\n" for i in range(n))
    yield "E:\n" + COPY.format(0)


def slots(n):
    """n places of one local variable, each written and read."""
    yield f"\t.local .align 8 .b8 d[{4 * n}];\n\t.reg .b32 %x<{n}>;\n"
    yield from (f"\tst.local.u32 [d+{4 * i}], %r1;\n\tld.local.u32 %x{i}, [d+{4 * i}];\n" for i in range(n))
    yield STORE.format(0) + COPY.format(0)


def indexed(n):
    """n stores and loads of a large local variable, at a place that nobody knows."""
    yield "\t.local .align 8 .b8 d[1000000];\n\tmov.u64 %rd3, d;\n\tadd.u64 %rd3, %rd3, %rd1;\n"
    yield "\tst.local.u32 [%rd3], %r1;\n\tld.local.u32 %r3, [%rd3];\n" * n
    yield STORE.format(0) + COPY.format(0)


def backwards(n):
    """The address of a local variable goes through n registers, against the order of the text."""
    yield f"\t.local .align 8 .b8 d[16];\n\t.reg .b64 %x<{n + 1}>;\n\tmov.u64 %x0, d;\n\tbra L0;\n"
    yield from (f"L{i}:\n\tadd.u64 %x{i + 1}, %x{i}, 0;\n\tbra L{i + 1};\n" for i in reversed(range(n)))
    yield f"L{n}:\n\tst.local.u32 [%x{n}], %r1;\n" + STORE.format(0) + COPY.format(0)


def prints(n):
    """n calls of vprintf, each with a buffer in local memory."""
    yield "\t.local .align 8 .b8 d[16];\n\tmov.u64 %rd2, d;\n\tcvta.local.u64 %rd3, %rd2;\n"
    for _ in range(n):
        yield "\tst.local.u32 [%rd2], %r1;\n\t{\n\t.param .b64 a;\n\tst.param.b64 [a], %rd1;\n\t.param .b64 b;\n"
        yield "\tst.param.b64 [b], %rd3;\n\t.param .b32 c;\n\tcall.uni (c), vprintf, (a, b);\n\t}\n"
    yield STORE.format(0) + COPY.format(0)


def hints(n):
    """n comments before a label, and as many pairs of stores: one ignored, one switched off."""
    yield "// fencepost: ignore it\n" * n + "L:\n"
    for _ in range(n):
        yield "// fencepost: ignore it\n" + STORE.format(0) + "// fencepost: off it\n" + STORE.format(0) + "// fencepost: on\n"
    yield COPY.format(0)


BODY = ("\n{\n\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<3>;\n\t.shared .align 128 .b8 s[256];\n\tld.param.u64 %rd1, [p];\n"
        "\tmov.u32 %r1, 1;\n" + STORE.format(0) + COPY.format(0) + "\tfence.proxy.async;\n\tret;\n}\n")
CALL = ("\n{{\n\t.reg .b64 %rd<3>;\n\tld.param.u64 %rd1, [p];\n\t{{\n\t.param .b64 a;\n\tst.param.b64 [a], %rd1;\n"
        "\tcall.uni f{}, (a);\n\t}}\n\tret;\n}}\n")


def kernels(n):
    """n kernels that lack a fence and have a spare one."""
    yield from (f".visible .entry k{i}(.param .u64 p)" + BODY for i in range(n))


def functions(n):
    """The same as functions that nobody calls."""
    yield from (f".func f{i}(.param .u64 p)" + BODY for i in range(n))


def callers(n):
    """n of these functions, each with a kernel that calls it."""
    for i in range(n):
        yield f".func f{i}(.param .b64 p)" + BODY + f".visible .entry k{i}(.param .u64 p)" + CALL.format(i)


def callers_of_one(n):
    """n kernels that call one function."""
    yield ".func f0(.param .b64 p)" + BODY
    yield from (f".visible .entry k{i}(.param .u64 p)" + CALL.format(0) for i in range(n))


MODULES = kernels, functions, callers, callers_of_one

# By name: the size of issue, and whether the text stands before the kernel.
SIZES = {random_branches: 100000, diamonds: 100000, apart: 20000, together: 20000, in_turns: 20000, unknown: 20000,
         pointers: 20000, loads: 20000, barriers: 1000, one_barrier: 1000, bar_sync: 1000, indirect_branch: 10000,
         initialiser: 50000000, labels: 1000000, chain: 1000000, scopes: 100000, loops: 1000, hints: 100000,
         compares: 50000, dominators: 20000, slots: 20000, indexed: 10000, backwards: 100000, prints: 20000,
         kernels: 20000, functions: 20000, callers: 20000, callers_of_one: 20000}


def write(file, make, n):
    file.write(HEADER)
    if make in MODULES:
        file.writelines(make(n))
        return
    if make is initialiser:
        file.writelines(make(n))
    if make is prints:
        file.write(".extern .func (.param .b32 c) vprintf (.param .b64 a, .param .b64 b);\n")
    file.write(".visible .entry k(.param .u64 p, .param .u32 n)\n{\n" + REGISTERS + START)
    file.writelines(make(n) if make is not initialiser else (STORE.format(0), COPY.format(0)))
    file.write("\tret;\n}\n")


if __name__ == "__main__":
    write(sys.stdout, {make.__name__: make for make in SIZES}[sys.argv[1]], int(sys.argv[2]))
