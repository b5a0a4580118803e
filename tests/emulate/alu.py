# SPDX-License-Identifier: Apache-2.0
"""Integer arithmetic, predicates, moves and conversions as functions of a thread. Floating point gives 0: no address is
made of it."""
from machine import LOCAL, PARAM, SHARED, Unsupported

BITS = {"b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "b32": 32, "u32": 32, "s32": 32, "b64": 64, "u64": 64, "s64": 64,
        "b128": 128, "pred": 1, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f16x2": 32, "bf16x2": 32, "tf32": 32, "u16x2": 32, "s16x2": 32}
FLOATS = {"f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "tf32"}


def signed(v, bits):
    return v - (1 << bits) if v >> (bits - 1) & 1 else v


def mask(bits):
    return (1 << bits) - 1


class Arithmetic:
    def zero(self, dst):
        names = [n for v in self.vector(dst) for n in v.split("|")]

        def run(t):
            for n in names:
                t.regs[n] = 0
        return run

    def arithmetic(self, w, ops, f, bits=None, out=None):
        kind = w[-1]
        n = bits or BITS[kind]
        keep, dst = mask(out or n), ops[0]
        src = [self.value(o) for o in ops[1:]]
        if kind == "pred":
            src = [self.value("1" if v.lstrip("-").isdigit() and int(v) else v) for v in ops[1:]]
        sign = kind[0] == "s"

        def read(t):
            vs = [s(t) & mask(n) for s in src]
            return [signed(v, n) for v in vs] if sign else vs
        if len(src) == 2:
            a, b = src
            k = mask(n)
            if sign:
                def run(t):
                    t.regs[dst] = f(signed(a(t) & k, n), signed(b(t) & k, n)) & keep
            else:
                def run(t):
                    t.regs[dst] = f(a(t) & k, b(t) & k) & keep
            return run

        def run(t):
            t.regs[dst] = f(*read(t)) & keep
        return run

    def op_add(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a, b: a + b)

    def op_sub(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a, b: a - b)

    def op_mul(self, line, w, ops, *_):
        n = BITS[w[-1]]
        if "wide" in w:
            return self.arithmetic(w, ops, lambda a, b: a * b, out=2 * n)
        return self.arithmetic(w, ops, (lambda a, b: (a * b) >> n) if "hi" in w else (lambda a, b: a * b))

    op_mul24 = op_mul

    def op_mad(self, line, w, ops, *_):
        n = BITS[w[-1]]
        product = self.arithmetic(w, ["zqproduct"] + ops[1:3], (lambda a, b: (a * b) >> n) if "hi" in w else (lambda a, b: a * b),
                                  out=2 * n if "wide" in w else n)
        c, dst, keep = self.value(ops[3]), ops[0], mask(2 * n if "wide" in w else n)

        def run(t):
            product(t)
            t.regs[dst] = (t.regs["zqproduct"] + c(t)) & keep
        return run

    op_mad24 = op_mad

    def op_div(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a, b: 0 if not b else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))

    def op_rem(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a, b: 0 if not b else abs(a) % abs(b) * (-1 if a < 0 else 1))

    def op_min(self, line, w, ops, *_):
        return self.arithmetic(w, ops, (lambda a, b: max(min(a, b), 0)) if "relu" in w else min)

    def op_max(self, line, w, ops, *_):
        return self.arithmetic(w, ops, (lambda a, b: max(a, b, 0)) if "relu" in w else max)

    def op_and(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a, b: a & b)

    def op_or(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a, b: a | b)

    def op_xor(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a, b: a ^ b)

    def op_not(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a: ~a)

    def op_cnot(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a: not a)

    def op_neg(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a: -a)

    def op_abs(self, line, w, ops, *_):
        return self.arithmetic(w, ops, abs)

    def op_popc(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a: bin(a).count("1"))

    def op_clz(self, line, w, ops, *_):
        n = BITS[w[-1]]
        return self.arithmetic(w, ops, lambda a: n - a.bit_length())

    def op_brev(self, line, w, ops, *_):
        n = BITS[w[-1]]
        return self.arithmetic(w, ops, lambda a: int(format(a, "0%db" % n)[::-1], 2))

    def op_shl(self, line, w, ops, *_):
        n = BITS[w[-1]]
        a, b, dst = self.value(ops[1]), self.value(ops[2]), ops[0]

        def run(t):
            t.regs[dst] = (a(t) << min(b(t) & 0xffffffff, n)) & mask(n)
        return run

    def op_shr(self, line, w, ops, *_):
        n, sign = BITS[w[-1]], w[-1][0] == "s"
        a, b, dst = self.value(ops[1]), self.value(ops[2]), ops[0]

        def run(t):
            v = a(t) & mask(n)
            t.regs[dst] = ((signed(v, n) if sign else v) >> min(b(t) & 0xffffffff, n)) & mask(n)
        return run

    def op_shf(self, line, w, ops, *_):
        left, clamp = "l" in w, "clamp" in w

        def f(a, b, c):
            c = min(c, 32) if clamp else c & 31
            both = b << 32 | a
            return (both << c) >> 32 if left else both >> c
        return self.arithmetic(w, ops, f)

    def op_bfe(self, line, w, ops, *_):
        n, sign = BITS[w[-1]], w[-1][0] == "s"
        a, p, c, dst = self.value(ops[1]), self.value(ops[2]), self.value(ops[3]), ops[0]

        def run(t):
            pos, length = p(t) & 255, c(t) & 255
            v = a(t) & mask(n)
            if not length or pos >= n:
                r = 0 if not sign or not length else -(v >> (n - 1))
            else:
                length = min(length, n - pos)
                r = v >> pos & mask(length)
                r = signed(r, length) if sign else r
            t.regs[dst] = r & mask(n)
        return run

    def op_bfi(self, line, w, ops, *_):
        def f(a, b, c, d):
            field = mask(d & 255) << (c & 255)
            return (b & ~field) | (a << (c & 255) & field)
        return self.arithmetic(w, ops, f)

    def op_bfind(self, line, w, ops, *_):
        return self.arithmetic(w, ops, lambda a: a.bit_length() - 1, out=32)

    def op_lop3(self, line, w, ops, *_):
        def f(a, b, c, table):
            r = 0
            for i in range(8):
                if table >> i & 1:
                    r |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
            return r
        if len(ops) < 6:
            return self.arithmetic(w, ops, f)
        # d|p, a, b, c, table, q: p is whether the result is not 0, joined with q
        both, src = [x.strip() for x in ops[0].split("|")], [self.value(o) for o in ops[1:]]

        def run(t):
            *vs, q = [s(t) for s in src]
            r = f(*[v & mask(32) for v in vs]) & mask(32)
            p = int(bool(r) and q) if "and" in w else int(bool(r) or q)
            for d, v in zip(both, (r, p)):
                if d != "_":
                    t.regs[d] = v
        return run

    def op_prmt(self, line, w, ops, *_):
        if w[-2:-1] != ["prmt"]:
            raise Unsupported("prmt mode")

        def f(a, b, c):
            both, r = b << 32 | a, 0
            for i in range(4):
                k = c >> (4 * i) & 15
                byte = both >> (8 * (k & 7)) & 255
                r |= (byte if not k & 8 else (255 if byte & 128 else 0)) << (8 * i)
            return r
        return self.arithmetic(w, ops, f)

    def op_selp(self, line, w, ops, *_):
        a, b, p, dst = self.value(ops[1]), self.value(ops[2]), self.value(ops[3]), ops[0]
        keep = mask(BITS[w[-1]])

        def run(t):
            t.regs[dst] = (a(t) if p(t) else b(t)) & keep
        return run

    def op_setp(self, line, w, ops, *_):
        kind, compare = w[-1], w[1]
        dsts = ops[0].split("|")
        n, sign = BITS[kind], kind[0] == "s"
        a, b = self.value(ops[1]), self.value(ops[2])
        how = w[2] if w[2] in ("and", "or", "xor") else None
        c = self.value(ops[3]) if how else None
        tests = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
                 "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y, "lo": lambda x, y: x < y, "ls": lambda x, y: x <= y,
                 "hi": lambda x, y: x > y, "hs": lambda x, y: x >= y}
        test = (lambda x, y: False) if kind in FLOATS else tests.get(compare)
        if not test:
            raise Unsupported("setp." + compare)

        def run(t):
            x, y = a(t) & mask(n), b(t) & mask(n)
            r = int(test(signed(x, n), signed(y, n)) if sign else test(x, y))
            both = (r, 1 - r)
            for name, v in zip(dsts, both):
                if how:
                    k = c(t)
                    v = v & k if how == "and" else v | k if how == "or" else v ^ k
                t.regs[name] = v
        return run

    def op_mov(self, line, w, ops, *_):
        dst, src = self.vector(ops[0]), self.vector(ops[1])
        n = BITS[w[-1]]
        if len(dst) == len(src) == 1:
            v, d = self.value(src[0]), dst[0]
            if w[-1] in FLOATS and not src[0].startswith("%"):
                return self.zero(d)
            if w[-1] == "pred":  # a constant that is not zero is true

                def truth(t):
                    t.regs[d] = int(v(t) != 0)
                return truth

            def run(t):
                t.regs[d] = v(t) & mask(n)
            return run
        if len(src) == 1:
            v, part = self.value(src[0]), n // len(dst)

            def run(t):
                x = v(t)
                for i, d in enumerate(dst):
                    t.regs[d] = x >> (i * part) & mask(part)
            return run
        vs, part, d = [self.value(s) for s in src], n // len(src), dst[0]

        def run(t):
            t.regs[d] = sum((v(t) & mask(part)) << (i * part) for i, v in enumerate(vs))
        return run

    def op_cvt(self, line, w, ops, *_):
        kinds = [k for k in w if k in BITS]
        if len(kinds) < 2 or set(kinds) & FLOATS or len(ops) != 2:
            return self.zero(ops[0])
        to, of = kinds[0], kinds[1]
        v, dst, n = self.value(ops[1]), ops[0], BITS[of]
        sat = "sat" in w

        def run(t):
            x = v(t) & mask(n)
            x = signed(x, n) if of[0] == "s" else x
            if sat:
                low, high = (-(1 << (BITS[to] - 1)), mask(BITS[to] - 1)) if to[0] == "s" else (0, mask(BITS[to]))
                x = max(low, min(high, x))
            t.regs[dst] = x & mask(64 if BITS[to] == 64 else 32 if to[0] == "s" and BITS[to] < 32 else BITS[to])
        return run

    def op_cvta(self, line, w, ops, *_):
        space = {"shared": SHARED, "param": PARAM, "local": LOCAL}.get(next((x.split("::")[0] for x in w[1:] if x.split("::")[0] in (
            "shared", "param", "local", "global", "const")), ""), 0)
        v, dst = self.address("[" + ops[1] + "]"), ops[0]
        to = "to" in w

        def run(t):
            x = v(t)
            t.regs[dst] = (x - space if to else x if x >= space else x + space) & mask(64)
        return run

    def op_isspacep(self, line, w, ops, *_):
        low, high = {"shared": (SHARED, SHARED + (1 << 32)), "local": (LOCAL, PARAM), "param": (PARAM, SHARED), "global": (0, LOCAL)}[
            w[1].split("::")[0]]
        v, dst = self.value(ops[1]), ops[0]

        def run(t):
            t.regs[dst] = int(low <= v(t) < high)
        return run
