# SPDX-License-Identifier: Apache-2.0
"""Changes of how values are computed and accesses spelled; see changes.py."""
import re

from changes import ADDRESS, WIDTH, declared, insn, decl, label, places, put, some
from ptx import NAME, Statement

TYPE = re.compile(r"\.[busf](8|16|32|64)$")
PLAIN = re.compile(r"[%$_A-Za-z][\w$]*$")


def operands_of(text):
    """Split at commas that are in no brackets."""
    found, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "[{(") - (c in "]})")
        if c == "," and not depth:
            found.append(text[start:i].strip())
            start = i + 1
    return found + [text[start:].strip()]


def each(module, declarations, change):
    """change(function, statement, number): what stands instead, or None; new registers are declared."""
    done = False
    for f in module.functions():
        body, any_here = [], False
        for i, s in enumerate(f.body):
            new = change(f, s, i) if s.kind == "insn" else None
            body += [s] if new is None else new
            any_here = any_here or new is not None
        if any_here:
            f.body = [decl(d) for d in declarations] + body
            done = True
    return done


def halves(module, rng):
    """Registers of 64 bits taken apart and put together in front of what reads them."""
    def change(f, s, i):
        if i not in free:
            return None
        guard, _, operands = s.parts()
        names = [n for n in NAME.findall(operands) if WIDTH.get(f.type_of(n)) == 64]
        if not names or rng.random() < .3:
            return None
        name = rng.choice(names)
        back = ["mov.b64 %s, {%%zqlo, %%zqhi};" % name] if rng.random() < .5 else [
            "cvt.u64.u32 %s, %%zqhi;" % name, "shl.b64 %s, %s, 32;" % (name, name), "cvt.u64.u32 %zqd, %zqlo;",
            "or.b64 %s, %%zqd, %s;" % (name, name)]
        return [insn("mov.b64 {%%zqlo, %%zqhi}, %s;" % name)] + [insn(b) for b in back] + [s]
    done = False
    for f in module.functions():
        free = set(some(rng, places(f), 40)) if f.registers else set()
        only = type("One", (), {"functions": lambda self: [f]})()
        done = each(only, [".reg .b32 %zqlo, %zqhi;", ".reg .b64 %zqd;"], change) or done
    return done


def round_trips(module, rng):
    """Addresses of shared memory by way of generic ones; and accesses by those."""
    def change(f, s, i):
        guard, opcode, operands = s.parts()
        if not re.match(r"(ld|st|atom|red)\.", opcode) or not re.search(r"\.shared(::cta)?(?![:\w])", opcode) or ".async" in opcode:
            return None
        m = ADDRESS.search(operands)
        if not m or WIDTH.get(f.type_of(m.group(1))) not in (32, 64):
            return None
        register = m.group(1)
        front = [insn("cvt.u64.u32 %%zqd, %s;" % register)] if WIDTH[f.type_of(register)] == 32 else [insn("mov.u64 %%zqd, %s;" % register)]
        front += [insn("cvta.shared.u64 %zqd, %zqd;")]
        if rng.random() < .5:
            front += [insn("cvta.to.shared.u64 %zqd, %zqd;"), insn("cvt.u32.u64 %zqw, %zqd;")]
            new = "%zqw"
        else:
            opcode = re.sub(r"\.shared(::cta)?(?![:\w])", "", opcode)
            new = "%zqd"
        s.text = "%s %s %s;" % (guard, opcode, operands[:m.start(1)] + new + operands[m.end(1):])
        return front + [s]
    return each(module, [".reg .b32 %zqw;", ".reg .b64 %zqd;"], change)


def arithmetic(module, rng):
    """Sums in two steps, shifts as products, products as sums, differences as sums."""
    def change(f, s, i):
        guard, opcode, operands = s.parts()
        o = operands_of(operands)
        m = re.match(r"(add|sub|shl|mul\.lo|mad\.lo)\.([bsu])(32|64)$", opcode)
        if not m or len(o) < 3 or not all(PLAIN.match(x) for x in o[:2]):
            return None
        op, kind, bits = m.groups()
        number = re.match(r"-?\d+$", o[2]) and int(o[2])
        t = "%zqw" if bits == "32" else "%zqd"
        if op == "add" and number is not None and o[2] and not o[2].startswith("0"):
            a = rng.randrange(-300, 300)
            new = ["add.%s%s %s, %s, %d;" % (kind, bits, t, o[1], a), "add.%s%s %s, %s, %d;" % (kind, bits, o[0], t, number - a)]
        elif op == "sub" and PLAIN.match(o[2]) and o[1] != o[2]:  # which needs no value: tracked.h knows no other form
            new = ["neg.s%s %s, %s;" % (bits, t, o[2]), "add.s%s %s, %s, %s;" % (bits, o[0], o[1], t)]
        elif op == "shl" and bits == "32" and number is not None and o[2] and 0 <= number < 31 and not (number and o[2].startswith("0")):
            new = ["mul.lo.s%s %s, %s, %d;" % (bits, o[0], o[1], 1 << number)]
        elif op == "mul.lo":
            new = ["mad.lo.%s%s %s, %s, %s, 0;" % (kind, bits, o[0], o[1], o[2])]
        elif op == "mad.lo" and len(o) == 4:
            new = ["mul.lo.%s%s %s, %s, %s;" % (kind, bits, t, o[1], o[2]), "add.%s%s %s, %s, %s;" % (kind, bits, o[0], t, o[3])]
        else:
            return None
        return [Statement("insn", "%s %s" % (guard, n), s.id) for n in new]
    return each(module, [".reg .b32 %zqw;", ".reg .b64 %zqd;"], change)


def choices(module, rng):
    """selp as a branch, a guarded move as selp."""
    def change(f, s, i):
        guard, opcode, operands = s.parts()
        o = operands_of(operands)
        m = re.match(r"(selp|mov)(\.[busf](32|64))$", opcode)
        if not m or not all(PLAIN.match(x) or re.match(r"-?\d+$", x) for x in o):
            return None
        op, type_ = m.group(1), m.group(2)
        if op == "selp" and not guard and len(o) == 4:
            return [insn("@%s bra zqC%d;" % (o[3], i)), insn("mov%s %s, %s;" % (type_, o[0], o[2])), insn("bra zqD%d;" % i), label("zqC%d" % i),
                    insn("mov%s %s, %s;" % (type_, o[0], o[1])), label("zqD%d" % i)]
        if op == "mov" and guard and f.type_of(o[1]):
            name = re.sub(r"[@!\s]", "", guard)
            pair = [o[0], o[1]] if "!" in guard else [o[1], o[0]]
            return [insn("selp%s %s, %s, %s, %s;" % (type_, o[0], pair[0], pair[1], name))]
        return None
    return each(module, [], change)


def scalars(module, rng):
    """Vectors of loads and stores one by one, or by halves."""
    def change(f, s, i):
        guard, opcode, operands = s.parts()
        m = re.match(r"(ld|st)\b.*\.v([24])\b", opcode)
        size = TYPE.search(opcode)
        if not m or not size or re.search(r"\.(param|b128|L2|volatile|relaxed|acquire|release|mmio)", opcode):
            return None
        o = operands_of(operands)
        listed = [x for x in o if x.startswith("{")]
        at = [x for x in o if x.startswith("[")]
        if len(o) != 2 or len(listed) != 1 or len(at) != 1:
            return None
        values = operands_of(listed[0].strip("{} "))
        place = re.match(r"\[\s*([%$_A-Za-z][\w$]*)\s*(?:\+\s*(-?\d+))?\s*\]$", at[0])
        if not place or len(values) != int(m.group(2)) or place.group(1) in values or (guard and guard.strip("@! ") in values):
            return None
        by = 2 if len(values) == 4 and rng.random() < .5 else 1
        new = []
        for k in range(0, len(values), by):
            where = "[%s+%d]" % (place.group(1), int(place.group(2) or 0) + k * int(size.group(1)) // 8)
            what = values[k] if by == 1 else "{%s}" % ", ".join(values[k:k + by])
            op = re.sub(r"\.v4\b", ".v2", opcode) if by == 2 else re.sub(r"\.v[24]\b", "", opcode)
            if what == "_":
                continue
            new.append(Statement("insn", "%s %s %s, %s;" % ((guard, op) + ((what, where) if m.group(1) == "ld" else (where, what))), s.id))
        return new
    return each(module, [], change)


SPELLINGS = [
    (r"(ld|st)(?!.*\.(weak|volatile|relaxed|acquire|release|mmio|param|const|nc|async|bulk|local)\b)\.(.*)$", r"\1.weak.\3"),
    (r"bar\.(sync|arrive)$", r"barrier.cta.\1.aligned"),
    (r"barrier\.(sync|arrive)((?:\.aligned)?)$", r"barrier.cta.\1\2"),
    (r"barrier\.cluster\.arrive((?:\.aligned)?)$", r"barrier.cluster.arrive.release\1"),
    (r"barrier\.cluster\.wait((?:\.aligned)?)$", r"barrier.cluster.wait.acquire\1"),
    (r"mbarrier\.arrive((?:\.expect_tx|\.noComplete)?)\.shared(?:::cta)?\.b64$", r"mbarrier.arrive\1.release.cta.shared::cta.b64"),
    (r"mbarrier\.(test_wait|try_wait)((?:\.parity)?)\.shared(?:::cta)?\.b64$", r"mbarrier.\1\2.acquire.cta.shared::cta.b64"),
    (r"(atom|red)((?:\.shared|\.shared::cta|\.global)?)\.(add|min|max|and|or|xor|exch|cas|inc|dec)(.*)$", r"\1.relaxed.gpu\2.\3\4"),
    (r"(cp\.async\.bulk\.tensor\.\dd\.(?:shared::cluster|shared::cta)\.global)\.mbarrier(.*)$", r"\1.tile.mbarrier\2"),
    (r"(cp\.async\.bulk\.tensor\.\dd\.global\.shared::cta)\.bulk_group(.*)$", r"\1.tile.bulk_group\2"),
]


def defaults_said(module, rng):
    """What an opcode means without saying so; leaving a kernel by either word."""
    def change(f, s, i):
        guard, opcode, operands = s.parts()
        new = opcode
        for pattern, instead in SPELLINGS:
            if re.match(pattern, opcode):
                new = re.sub("^(?:%s)" % pattern, instead, opcode)
                break
        if f.is_entry and opcode in ("ret", "exit"):
            new = {"ret": "exit", "exit": "ret"}[opcode]
        if new == opcode:
            return None
        s.text = "%s %s %s;" % (guard, new, operands)
        return [s]
    return each(module, [], change)


MEANING = {"halves": halves, "round trips": round_trips, "arithmetic": arithmetic, "choices": choices, "scalars": scalars,
           "defaults said": defaults_said}
