# SPDX-License-Identifier: Apache-2.0
"""Instructions as functions of a thread: operands, memory and branches here, the rest in the classes it is made of."""
import re

from alu import BITS, FLOATS, Arithmetic, mask, signed
from machine import LOCAL, PARAM, SHARED, Ended, Unsupported
from meet import Meetings
from proxy import Proxies

NEUTRAL = {"setmaxnreg", "nanosleep", "prefetch", "griddepcontrol", "pmevent", "discard", "applypriority", "prefetchu", "brkpt"}
SCOPES = ("cta", "cluster", "gpu", "sys", "gl")
FLOAT_ONLY = {"ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh", "fma", "copysign", "testp", "mma", "wmma"}


class Compiler(Arithmetic, Meetings, Proxies):
    """One function: code is a list of (run, finish); run(thread) gives None, a place, -1 (it ends), ASKS or a Token."""

    def __init__(self, machine, names, params):
        self.m, self.names, self.params = machine, names, params

    # ---- operands ----

    def value(self, text):
        """A function of the thread that gives the operand's bits."""
        text = text.strip()
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?", text):
            v = int(text.rstrip("U"), 0 if not re.fullmatch(r"-?0\d+", text) else 8)
            return lambda t: v
        if re.fullmatch(r"0[fFdD][0-9a-fA-F]+|-?\d+\.\d*(e[+-]?\d+)?", text):
            return lambda t: 0
        if text.startswith("%"):
            special = self.special(text)
            if special:
                return special
        if text.startswith("!"):
            inner = self.value(text[1:])
            return lambda t: 1 - inner(t)
        if text.startswith("-"):
            inner = self.value(text[1:])
            return lambda t: -inner(t)
        if text in self.names:
            space, v = self.names[text]
            return (lambda t: t.rank << 24 | v) if space == "shared" else lambda t: v
        if text == "WARP_SZ":
            return lambda t: 32
        if not re.fullmatch(r"[%$\w]+(\|[%$\w]+)?", text):
            raise Unsupported("operand " + text)
        return lambda t: t.regs.get(text, 0)

    def special(self, text):
        m = self.m
        axis = {"x": 0, "y": 1, "z": 2}.get(text[-1])
        base = text[:-2] if axis is not None and text[-2:-1] == "." else text
        if axis is not None and base == "%tid":
            return lambda t: t.tid[axis]
        if axis is not None and base in ("%cluster_ctaid", "%ctaid"):
            below = [1, m.cluster[0], m.cluster[0] * m.cluster[1]][axis]
            return lambda t: t.rank // below % m.cluster[axis]
        fixed = {"%ntid": m.shape, "%nctaid": m.cluster, "%cluster_nctaid": m.cluster, "%clusterid": (0, 0, 0), "%nclusterid": (1, 1, 1)}
        if axis is not None and base in fixed:
            v = fixed[base][axis]
            return lambda t: v
        plain = {"%laneid": lambda t: t.lane, "%warpid": lambda t: t.warp[1], "%nwarpid": lambda t: (m.within + 31) // 32,
                 "%lanemask_lt": lambda t: (1 << t.lane) - 1, "%lanemask_eq": lambda t: 1 << t.lane, "%smid": lambda t: 0, "%nsmid": lambda t: 132,
                 "%cluster_ctarank": lambda t: t.rank, "%cluster_nctarank": lambda t: m.ranks, "%gridid": lambda t: 0, "%clock": lambda t: 0,
                 "%clock64": lambda t: 0, "%globaltimer": lambda t: 0, "%is_explicit_cluster": lambda t: 0,
                 "%dynamic_smem_size": lambda t: 200 << 10, "%total_smem_size": lambda t: 227 << 10}
        return plain.get(text)

    def address(self, text):
        """[a+b]"""
        inner = text.strip()[1:-1].split(",")[0]
        m = re.fullmatch(r"\s*([%$\w]+)\s*(?:([+-])\s*(-?\w+))?\s*", inner)
        if not m:
            raise Unsupported("address " + text)
        base, off = self.value(m.group(1)), int(m.group(3), 0) if m.group(3) else 0
        off = -off if m.group(2) == "-" else off
        return lambda t: base(t) + off

    def place(self, text, space):
        """The generic address of a memory operand."""
        address = self.address(text)
        if space == "shared":
            return lambda t: SHARED + (address(t) & 0xffffffff)
        if space in ("param", "local"):
            base = PARAM if space == "param" else LOCAL
            return lambda t: address(t) if address(t) >= base else base + address(t)
        return lambda t: address(t) & mask(64)

    @staticmethod
    def operands(text):
        out, depth, now = [], 0, ""
        for c in text:
            depth += (c in "{[(") - (c in "}])")
            if c == "," and not depth:
                out.append(now.strip())
                now = ""
            else:
                now += c
        return out + [now.strip()] if now.strip() else out

    @staticmethod
    def vector(text):
        text = text.strip()
        return [x.strip() for x in text[1:-1].split(",")] if text.startswith("{") else [text]

    # ---- instructions ----

    def compile(self, line, guard, opcode, text, labels, tables, pc):
        words = opcode.split(".")
        ops = self.operands(text)
        run, finish = self.make(line, words, ops, labels, tables, pc)
        if guard:
            name = guard.strip()[1:].strip()
            wanted = 0 if name.startswith("!") else 1
            name = name.lstrip("! ")
            inner = run

            def run(t):
                if t.regs.get(name, 0) == wanted:
                    return inner(t)
        return run, finish

    def make(self, line, w, ops, labels, tables, pc):
        if w[0] in NEUTRAL or (w[0] in ("fence", "membar") and w[1] in ("mbarrier_init", "acquire", "release")):
            return (lambda t: None), None
        if w[0] in ("fence", "membar") and w[1] != "proxy":
            scope, m = next((x for x in w if x in SCOPES), "sys"), self.m
            return (lambda t: m.fence_of_memory(t, "cta" if scope == "cta" else "gpu")), None
        if w[0] in FLOAT_ONLY or (w[-1] in FLOATS and w[0] not in ("ld", "st", "mov", "selp", "atom", "red", "cp", "setp", "wgmma")):
            return self.zero(ops[0]), None
        make = getattr(self, "op_" + w[0], None)
        if not make:
            raise Unsupported(w[0])
        made = make(line, w, ops, labels, tables, pc)
        return made if isinstance(made, tuple) else (made, None)

    # ---- memory ----

    @staticmethod
    def space(w):
        for x in w[1:]:
            s = x.split("::")[0]
            if s in ("shared", "global", "local", "param", "const"):
                return s
        return ""

    @staticmethod
    def lanes(w):
        return next((int(x[1:]) for x in w if x in ("v2", "v4", "v8")), 1)

    @staticmethod
    def strength(w):
        """(strong, scope if it releases, scope if it acquires)"""
        scope = "cta" if "cta" in w else "gpu"
        strong = any(x in ("relaxed", "volatile", "acquire", "release", "acq_rel", "mmio") for x in w) or w[0] in ("atom", "red")
        return strong, scope if "release" in w or "acq_rel" in w else None, scope if "acquire" in w or "acq_rel" in w else None

    def op_ld(self, line, w, ops, *_):
        space, n = self.space(w), BITS[w[-1]]
        dst, at, size = self.vector(ops[0]), self.place(ops[1], space), BITS[w[-1]] // 8
        m, sign = self.m, w[-1][0] == "s"
        strong, _, acquire = self.strength(w)
        if space in ("param", "const"):
            params = self.params

            def run(t):
                a = at(t) - PARAM
                for i, d in enumerate(dst):
                    t.regs[d] = params(a + i * size, size)
            return run

        def run(t):
            a = at(t)
            if "nc" not in w:
                m.generic(t, line, a, size * len(dst), False)
            if strong:
                m.strong_read(t, a, acquire)
            for i, d in enumerate(dst):
                v = m.load(t, a + i * size, size)
                if d != "_":
                    t.regs[d] = signed(v, n) & mask(max(n, 32)) if sign and n < 32 else v
        return run

    op_ldu = op_ld

    def op_st(self, line, w, ops, *_):
        if "bulk" in w or "async" in w and len(ops) < 3:
            raise Unsupported(".".join(w[:2]))
        space, size = self.space(w), BITS[w[-1]] // 8
        src, at, m = [self.value(v) for v in self.vector(ops[1])], self.place(ops[0], space), self.m
        if space == "param":
            raise Unsupported("call")
        if "async" in w:
            bar = self.place(ops[2], "shared")

            def asynchronous(t):
                for i, v in enumerate(src):
                    m.store(t, at(t) + i * size, size, v(t))
                m.ends_at(line, at(t), size * len(src), bar(t))
            return asynchronous
        strong, release, _ = self.strength(w)

        def run(t):
            a = at(t)
            m.generic(t, line, a, size * len(src), True)
            if strong:
                m.strong_write(t, a, release, False)
            else:
                m.flags.pop(a, None)
            for i, v in enumerate(src):
                m.store(t, a + i * size, size, v(t))
            m.changes += 1
        return run

    def op_atom(self, line, w, ops, *_):
        dst = ops[0] if w[0] == "atom" else "zqunused"
        at_op, rest = (ops[1], ops[2:]) if w[0] == "atom" else (ops[0], ops[1:])
        ends = self.place(rest.pop(), "shared") if "async" in w and len(rest) > 1 else None
        if "async" in w and not ends or at_op[:1] != "[" or self.lanes(w) > 1:
            raise Unsupported(".".join(w))
        _, release, acquire = self.strength(w)
        kind = w[-1]
        n = BITS.get(kind, 0)
        if not n:
            raise Unsupported(".".join(w))
        at, size, m = self.place(at_op, self.space(w)), n // 8, self.m
        vs = [self.value(v) for v in rest]
        name = next((x for x in w[1:] if x in ("add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas")), None)
        if not name:
            raise Unsupported(".".join(w))
        fs = {"add": lambda o, v: o + v, "min": min, "max": max, "and": lambda o, v: o & v, "or": lambda o, v: o | v,
              "xor": lambda o, v: o ^ v, "exch": lambda o, v: v, "inc": lambda o, v: 0 if o >= v else o + 1,
              "dec": lambda o, v: v if not o or o > v else o - 1}

        def run(t):
            a = at(t)
            if ends:
                m.ends_at(line, a, size, ends(t))
            else:
                m.generic(t, line, a, size, True)
                if w[0] == "atom":
                    m.strong_read(t, a, acquire)
                m.strong_write(t, a, release, True)
            old = m.load(t, a, size)
            v = vs[0](t) & mask(n)
            if name == "cas":
                new = vs[1](t) if old == v else old
            elif kind[0] == "s":
                new = fs[name](signed(old, n), signed(v, n))
            else:
                new = 0 if kind in FLOATS else fs[name](old, v)
            m.store(t, a, size, new & mask(n))
            m.changes += 1
            t.regs[dst] = old
        return run

    op_red = op_atom

    def op_ldmatrix(self, line, w, ops, *_):
        dst, at, m, count = self.vector(ops[0]), self.place(ops[1], self.space(w)), self.m, 1
        count = next((int(x[1:]) for x in w if x in ("x1", "x2", "x4")), 1)

        def run(t):
            if t.lane < 8 * count:
                m.generic(t, line, at(t), 16, False)
            for d in dst:
                t.regs[d] = 0
        return run

    def op_stmatrix(self, line, w, ops, *_):
        at, m = self.place(ops[0], self.space(w)), self.m
        count = next((int(x[1:]) for x in w if x in ("x1", "x2", "x4")), 1)

        def run(t):
            if t.lane < 8 * count:
                m.generic(t, line, at(t), 16, True)
        return run

    # ---- control ----

    def op_bra(self, line, w, ops, labels, *_):
        to = labels(ops[0])
        return lambda t: to

    def op_brx(self, line, w, ops, labels, tables, pc):
        v, targets = self.value(ops[0]), [labels(x) for x in tables(ops[1])]

        def run(t):
            i = v(t)
            if i >= len(targets):
                raise Ended("a branch to nowhere")
            return targets[i]
        return run

    def op_ret(self, *_):
        return lambda t: -1

    op_exit = op_ret

    def op_trap(self, *_):
        def run(t):
            raise Ended("a trap")
        return run
