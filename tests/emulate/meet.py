# SPDX-License-Identifier: Apache-2.0
"""Where threads meet: barriers, what the lanes of a warp do together, mbarriers."""
from alu import mask
from machine import ASKS, Ended, Mbarrier, Unsupported


def unmet():
    raise Ended("a wait of the cluster without an arrive")


class Meetings:
    def op_bar(self, line, w, ops, *_):
        m = self.m
        if w[1] == "warp":
            members, here = self.value(ops[0]), _[2]
            return (lambda t: m.gather(t, here, members(t) & mask(32), None, lambda v: v, True)), None
        def heard(t, result):
            t.clock.join(result[0])
        if "cluster" in w:
            if "wait" in w:
                return (lambda t: t.met or unmet()), heard

            def run(t):
                t.met = m.come(t, (None, 0), None, "relaxed" in w)
            return run
        if "red" in w:
            number, count = self.value(ops[1]), self.value(ops[2]) if len(ops) > 3 else None
            vote, dst = self.value(ops[-1]), ops[0]
            of = {"popc": sum, "and": lambda v: int(all(v)), "or": lambda v: int(any(v))}[next(x for x in w if x in ("popc", "and", "or"))]

            def voted(t, result):
                heard(t, result)
                t.regs[dst] = of(result[1])
            return (lambda t: m.come(t, (t.rank, number(t) & 15), count(t) if count else None, False, vote(t) & 1)), voted
        number, count = self.value(ops[0]), self.value(ops[1]) if len(ops) > 1 else None

        def run(t):
            token = m.come(t, (t.rank, number(t) & 15), count(t) if count else None)
            return None if "arrive" in w else token
        return run, heard

    op_barrier = op_bar

    def collective(self, ops, mask_op, value, finish, pc):
        m, members, dsts = self.m, self.value(mask_op), [x.strip() for x in ops[0].split("|")]

        def run(t):
            return m.gather(t, pc, members(t) & mask(32), (value(t), t.lane), finish, False)

        def done(t, result):
            for d, v in zip(dsts, result[t.lane]):
                if d != "_":
                    t.regs[d] = v
        return run, done

    def op_shfl(self, line, w, ops, labels, tables, pc):
        a, b, c, kind = self.value(ops[1]), self.value(ops[2]), self.value(ops[3]), w[2]

        def finish(here):
            out = {}
            for lane, ((v, by, clamp), _) in here.items():
                segment, limit = clamp >> 8 & 31, clamp & 31
                low, high = lane & segment, (lane & segment) | (limit & ~segment & 31)
                by &= 31
                j = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": low | (by & ~segment & 31)}[kind]
                fits = j >= high if kind == "up" else j <= high
                out[lane] = (here[j][0][0], 1) if fits and j in here else (v, 0)
            return out
        return self.collective(ops, ops[4], lambda t: (a(t), b(t), c(t)), finish, pc)

    def op_vote(self, line, w, ops, labels, tables, pc):
        p, kind = self.value(ops[1]), w[2]

        def finish(here):
            yes = {lane for lane, (v, _) in here.items() if v}
            r = {"ballot": sum(1 << k for k in yes), "any": int(bool(yes)), "all": int(len(yes) == len(here)),
                 "uni": int(len(yes) in (0, len(here)))}[kind]
            return {lane: (r,) for lane in here}
        return self.collective(ops, ops[2], p, finish, pc)

    def op_redux(self, line, w, ops, labels, tables, pc):
        v, kind = self.value(ops[1]), w[2]
        f = {"add": lambda a, b: a + b, "min": min, "max": max, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
             "xor": lambda a, b: a ^ b}[kind]

        def finish(here):
            r = None
            for x, _ in here.values():
                r = x if r is None else f(r, x)
            return {lane: (r & mask(32),) for lane in here}
        return self.collective(ops, ops[2], v, finish, pc)

    def op_elect(self, line, w, ops, labels, tables, pc):
        def finish(here):
            return {lane: (min(here), int(lane == min(here))) for lane in here}
        return self.collective(ops, ops[1], lambda t: None, finish, pc)

    def op_activemask(self, line, w, ops, labels, tables, pc):
        raise Unsupported("activemask")

    # ---- mbarriers ----

    def op_mbarrier(self, line, w, ops, *_):
        m, what = self.m, w[1]
        space = self.space(w)
        at_op = next(o for o in ops if o.startswith("["))
        at, rest = self.place(at_op, space), ops[ops.index(at_op) + 1:]
        dst = ops[0] if not ops[0].startswith("[") else None
        vs = [self.value(v) for v in rest]
        if what == "init":
            def run(t):
                m.mbarriers[at(t)] = Mbarrier(vs[0](t), m.size)
                m.changes += 1
            return run
        if what == "inval":
            return lambda t: None
        if what in ("expect_tx", "complete_tx"):
            sign = 1 if what == "expect_tx" else -1

            def run(t):
                b = m.mbarrier(at(t))
                b.tx += sign * vs[0](t)
                b.coming.join(m.handed_over(t, True))
                m.changes += 1
                b.step()
            return run
        if what in ("arrive", "arrive_drop"):
            expect, relaxed = "expect_tx" in w, "relaxed" in w

            def run(t):
                b = m.mbarrier(at(t))
                if dst and dst != "_":
                    t.regs[dst] = b.phase
                b.tx += vs[0](t) if expect else 0
                b.pending -= 1 if expect or not vs else vs[0](t)
                b.count -= what == "arrive_drop"
                b.coming.join(m.handed_over(t, relaxed))
                m.changes += 1
                b.step()
            return run
        if what in ("test_wait", "try_wait"):
            parity = "parity" in w

            def run(t):
                b, v = m.mbarrier(at(t)), vs[0](t)
                over = (b.phase & 1) != (v & 1) if parity else b.phase > v
                t.regs[dst] = int(over)
                if not over:
                    return ASKS
                m.changes += 1
                m.hear(t, b.last, "relaxed" in w)
            return run
        raise Unsupported("mbarrier." + what)
