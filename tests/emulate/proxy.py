# SPDX-License-Identifier: Apache-2.0
"""Proxy fences, and what the async proxy does: bulk copies, products of matrices; cp.async beside them."""
import re

from alu import mask
from machine import LEAST, SHARED, Ended, Unsupported


class Proxies:
    def op_fence(self, line, w, ops, *_):
        if not w[2].startswith("async"):
            return lambda t: None
        if w[2] == "async::generic" and "read" not in w[-2].split("::"):
            # what the first half covers waits for the second; as much is believed of it as of a whole fence
            return (lambda t: t.fence(("shared",))) if w[3] == "release" else lambda t: None
        if w[2] != "async":
            raise Unsupported("a fence of one direction")
        spaces = ("shared", "global") if len(w) == 3 else (w[3].split("::")[0],)
        return lambda t: t.fence(spaces)

    def op_cp(self, line, w, ops, *_):
        m = self.m
        if w[1:3] == ["async", "bulk"] or w[1:4] == ["reduce", "async", "bulk"]:
            return self.bulk(line, w, ops)
        if w[2] in ("commit_group",):
            def run(t):
                t.groups.append(t.copies)
                t.copies = []
            return run
        if w[2] in ("wait_group", "wait_all"):
            left = self.value(ops[0]) if w[2] == "wait_group" else None

            def run(t):
                if left is None:
                    t.groups.append(t.copies)
                    t.copies = []
                n = left(t) if left else 0
                done, t.groups = (t.groups[:-n], t.groups[-n:]) if n else (t.groups, [])
                for address, size, at_line in [c for g in done for c in g]:
                    m.generic(t, at_line, address, size, True)
            return run
        if w[2] == "mbarrier":
            bar, counted = self.place(ops[0], "shared"), "noinc" in w

            def run(t):
                b = m.mbarrier(bar(t))
                for address, size, at_line in [c for g in t.groups for c in g] + t.copies:
                    m.generic(t, at_line, address, size, True)
                b.coming.join(t.release())
                b.pending -= counted
                m.changes += 1
                b.step()
            return run
        at, size = self.place(ops[0], "shared"), self.value(ops[2])
        return lambda t: t.copies.append((at(t), size(t), line))

    def bulk(self, line, w, ops):
        m = self.m
        rest = w[4:] if w[1] == "reduce" else w[3:]
        if rest[0] in ("commit_group", "wait_group", "prefetch"):
            return lambda t: None
        tensor, many = rest[0] == "tensor", any("multicast" in x for x in w)
        spaces = [x.split("::")[0] for x in rest if x.split("::")[0] in ("shared", "global")]
        into_shared = spaces[0] == "shared"
        if tensor and not into_shared:
            at = self.place(ops[1], "shared")
            return lambda t: m.is_async(t.clock, line, at(t), LEAST, True, False)
        to = self.place(ops[0], spaces[0])
        of, size = (None, None) if tensor else (self.place(ops[1], spaces[1]), self.value(ops[2]))
        bar = self.place(ops[2 if tensor else 3], "shared") if into_shared else None
        peers = self.value(next(o for o in ops[3 if tensor else 4:] if not o.startswith("{"))) if many else None

        def copies(t):
            """(where to, mbarrier) of each CTA that the copy goes to"""
            if not many:
                return [(to(t), bar(t) if bar else None)]
            return [(SHARED + (to(t) & 0xffffff) + (r << 24), SHARED + (bar(t) & 0xffffff) + (r << 24))
                    for r in range(m.ranks) if peers(t) >> r & 1]

        def run(t):
            m.changes += 1
            if tensor:
                for at, b in copies(t):
                    m.tensor_copy(t, line, at, b)
                return
            n = size(t) & mask(32)
            if n > 1 << 20:
                raise Ended("a copy of %d bytes" % n)
            m.is_async(t.clock, line, of(t), n, True, False)
            for at, b in copies(t):
                m.is_async(t.clock, line, at, n, w[1] == "reduce", True)
                if b is not None:
                    b = m.mbarrier(b)
                    b.tx -= n
                    b.step()
        return run

    def op_tensormap(self, line, w, ops, *_):
        return lambda t: None

    def op_wgmma(self, line, w, ops, *_):
        m = self.m
        if w[1] != "mma_async":
            return lambda t: None
        shape = next(re.fullmatch(r"m64n(\d+)k(\d+)", x) for x in w if re.fullmatch(r"m64n(\d+)k(\d+)", x))
        columns = int(shape.group(1))
        matrices = []
        a_in_registers = ops[1].startswith("{")
        if not a_in_registers:
            matrices.append((self.value(ops[1]), 8))
        matrices.append((self.value(ops[2]), columns // 8))
        turned = [o for o in ops[-2:] if o not in ("0",)] if w[-1] in ("f16", "bf16") else []
        dst = self.vector(ops[0])

        def run(t):
            for d in dst:
                t.regs[d] = 0
            if t.lane:
                return
            for matrix, groups in matrices:
                d = matrix(t)
                start, stride = SHARED + (t.rank << 24) + ((d & 0x3fff) << 4), (d >> 32 & 0x3fff) << 4
                end = m.end_of_variable(start)
                for i in range(1 if turned else groups):
                    if start + i * stride < end:
                        m.is_async(t.clock, line, start + i * stride, 16, True, False)
        return run

    def op_mapa(self, line, w, ops, *_):
        v, rank, dst, is_generic = self.address("[" + ops[1] + "]"), self.value(ops[2]), ops[0], "shared::cluster" not in w

        def run(t):
            t.regs[dst] = (v(t) & 0xffffff) + (rank(t) << 24) + (SHARED if is_generic else 0)
        return run

    def op_getctarank(self, line, w, ops, *_):
        v, dst = self.value(ops[1]), ops[0]

        def run(t):
            t.regs[dst] = v(t) >> 24 & 0xff
        return run

    def op_tcgen05(self, line, w, ops, *_):
        m, what = self.m, w[1]
        if what == "commit":
            bar, many = self.place(ops[0], "shared"), self.value(ops[1]) if any("multicast" in x for x in w) else None

            def run(t):
                for r in [r for r in range(m.ranks) if many(t) >> r & 1] if many else [None]:
                    b = m.mbarrier(bar(t) if r is None else SHARED + (bar(t) & 0xffffff) + (r << 24))
                    b.pending -= 1
                    m.changes += 1
                    b.step()
            return run
        if what in ("mma", "cp"):
            matrices = [self.value(o) for o in (ops[1:3] if what == "mma" else ops[1:2]) if not o.startswith("[")]

            def run(t):
                for matrix in matrices:
                    m.is_async(t.clock, line, SHARED + (t.rank << 24) + ((matrix(t) & 0x3fff) << 4), 16, True, False)
            return run
        return self.zero(ops[0]) if what == "ld" else lambda t: None

    def op_createpolicy(self, line, w, ops, *_):
        return self.zero(ops[0])
