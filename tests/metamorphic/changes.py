# SPDX-License-Identifier: Apache-2.0
"""Changes of a module that keep its meaning. Each takes a copy of a module and a generator of random numbers, changes
the copy, and returns whether there was anything to change; those of NAMES return the new names of functions.
New names begin with `zq`.
"""
import re

from ptx import NAME, Function, Statement, Unreadable


def insn(text):
    return Statement("insn", text)


def label(name):
    return Statement("label", name + ":")


def decl(text):
    return Statement("decl", text)


def in_operands(statement, new_name):
    """Renames by the function `new_name`, the guard and what comes behind the opcode alone."""
    def one(m):
        return new_name(m.group(0))
    if statement.kind == "insn":
        guard, opcode, operands = statement.parts()
        statement.text = "%s %s %s;" % (NAME.sub(one, guard), opcode, NAME.sub(one, operands))
    elif statement.kind in ("label", "table", "decl"):
        statement.text = NAME.sub(one, statement.text)


def declared(f):
    """Names that the function declares: plain ones and prefixes of ranges."""
    plain, prefixes = set(), set()
    header = re.search(r"\b(?:entry|func)\b(.*)", f.header).group(1)
    for group in re.findall(r"\(([^()]*)\)", header):
        for one in group.split(","):
            plain.update(re.findall(r"([\w$%]+)\s*(?:\[[^\]]*\])?\s*$", one))
    for s in f.body:
        if s.kind == "label":
            plain.add(s.text[:-1])
        elif s.kind == "decl":
            text = re.sub(r"=.*", "", s.text[:-1])
            text = re.sub(r"^(\s*\.\w+(\s+\d+(?=\s))?)+", "", text)
            for name, many in re.findall(r"([\w$%]+)\s*(<)?[^,]*(?:,|$)", text):
                (prefixes if many else plain).add(name)
    return plain, prefixes


def new_names(plain, prefixes, functions):
    def renamed(name):
        return re.sub(r"^([%$]?)", r"\1zq_", name)

    def new_name(name):
        m = re.match(r"(.*?)\d+$", name)
        if name in functions:
            return functions[name]
        return renamed(name) if name in plain or (m and m.group(1) in prefixes) else name
    return new_name


def rename(module, rng):
    """Functions, registers, labels, parameters, variables of functions and of the module."""
    functions = {f.name: "zq_" + f.name for f in module.functions()}
    variables = set()
    for item in module.items:
        if isinstance(item, str) and not re.search(r"\.(extern|func|entry|alias)\b", item):
            m = re.match(r".*?\.(shared|global|const)\b[^=]*?([\w$%]+)\s*(\[[^=]*)?(=|;)", item)
            if m and "," not in item.split("=")[0]:
                variables.add(m.group(2))
    outer = new_names(variables, set(), functions)
    for i, item in enumerate(module.items):
        if not isinstance(item, Function):
            if re.search(r"\.(shared|global|const|func|entry|alias)\b", item):
                module.items[i] = NAME.sub(lambda m: outer(m.group(0)), item)
            continue
        plain, prefixes = declared(item)
        inner = new_names(plain, prefixes, {})

        def new_name(name):
            return inner(name) if inner(name) != name else outer(name)
        item.header = NAME.sub(lambda m: new_name(m.group(0)), item.header)
        for s in item.body:
            if s.kind == "decl":  # sizes of ranges stay
                s.text = re.sub(r"([\w$%]+)(?=\s*<)", lambda m: re.sub(r"^([%$]?)", r"\1zq_", m.group(1)), s.text)
                s.text = NAME.sub(lambda m: m.group(0) if "zq_" in m.group(0) else new_name(m.group(0)), s.text)
            else:
                in_operands(s, new_name)
    return functions


def reorder(module, rng):
    functions = module.functions()
    prototypes = [f.header + ";" for f in functions if not f.is_entry]
    rest = [i for i in module.items if not isinstance(i, Function) and not i.startswith(".alias")]
    aliases = [i for i in module.items if not isinstance(i, Function) and i.startswith(".alias")]
    head = [i for i in rest if re.match(r"\.(version|target|address_size)\b", i)]
    module.items = head + prototypes + [i for i in rest if i not in head] + functions[::-1] + aliases
    return {f.name: f.name for f in functions} if len(functions) > 1 else None


def places(f):
    """Indices of statements before which new ones may stand: not in call sequences, nor between a pragma and what it is for."""
    found = []
    for i, s in enumerate(f.body):
        before = f.body[i - 1] if i else None
        if before and before.kind == "pragma" or s.kind in ("table", "pragma"):
            continue
        if any(re.search(r"\.param\b|\bcall\b", t.text) for t in (s, before) if t):
            continue
        if before and before.kind == "label" and (s.kind == "table"):
            continue
        found.append(i)
    return found


def put(f, additions):
    """additions: {index: statements before it}; registers of the change are declared at the start."""
    body = []
    for i, s in enumerate(f.body):
        body += additions.get(i, []) + [s]
    f.body = body + additions.get(len(f.body), [])


def some(rng, values, most):
    values = list(values)
    return sorted(rng.sample(values, min(len(values), most)))


def split_blocks(module, rng):
    done = False
    for f in module.functions():
        at = {}
        for i in some(rng, places(f), 30):
            name = "zqB%d" % i
            at[i] = [insn(rng.choice(["bra %s;", "bra.uni %s;"]) % name), label(name)]
        put(f, at)
        done = done or bool(at)
    return done


def nops(module, rng):
    forms = ["mov.b32 %zqn1, %zqn2;", "mov.b32 %zqn2, %zqn2;", "add.u32 %zqn3, %zqn1, %zqn2;", "mov.b64 %zqd1, %zqd2;",
             "setp.eq.u32 %zqp1, %zqn1, 3;", "@%zqp1 mov.b32 %zqn1, %zqn2;"]
    for f in module.functions():
        put(f, {i: [insn(rng.choice(forms))] for i in some(rng, places(f), 60)})
        f.body[:0] = [decl(".reg .b32 %zqn<4>;"), decl(".reg .b64 %zqd<4>;"), decl(".reg .pred %zqp<4>;")]
    return True


def depths(f):
    """The scope before each statement; 0: that of the body."""
    depth, found = 0, []
    for s in f.body:
        found.append(depth)
        depth += (s.kind == "open") - (s.kind == "close")
    return found


def copies(statements, mark):
    """The statements again without declarations, labels of their own made new."""
    own = {s.text[:-1] for s in statements if s.kind == "label"}
    result = []
    for s in statements:
        if s.kind == "decl" and not re.match(r"\.(param)\b", s.text):
            continue
        c = Statement(s.kind, s.text, s.id)
        in_operands(c, lambda name: name + mark if name in own else name)
        result.append(c)
    return result


def has_nested_declarations(f, statements_at):
    d = depths(f)
    return any(d[i] and f.body[i].kind == "decl" and not f.body[i].text.startswith(".param") for i in statements_at)


def copy_tails(module, rng):
    """A tail of the body once more, behind a branch that differs between launches, CTAs or threads."""
    done = False
    for f in module.functions():
        d = depths(f)
        free = [i for i in places(f) if not d[i] and i and not has_nested_declarations(f, range(i, len(f.body)))]
        if not free:
            continue
        i = rng.choice(free)
        register = rng.choice(["%ctaid.x", "%nctaid.y", "%laneid"])
        tail = copies(f.body[i:], "zqt")
        last = tail and tail[-1].kind == "insn" and tail[-1].parts()
        if not (last and not last[0] and re.match(r"(ret|exit|bra)\b", last[1])):
            tail.append(insn("ret;"))
        declarations = [decl(s.text) for s in f.body[i:] if s.kind == "decl" and not s.text.startswith(".param")]
        rest = [s for s in f.body[i:] if s.kind != "decl" or s.text.startswith(".param")]
        if rest[-1].kind != "insn" or rest[-1].parts()[0] or not re.match(r"(ret|exit|bra)\b", rest[-1].opcode()):
            rest.append(insn("ret;"))
        f.body = (declarations and f.body[:i] + declarations or f.body[:i]) + [
            insn("mov.u32 %%zqt, %s;" % register), insn("setp.eq.u32 %zqp, %zqt, 3;"), insn("@%zqp bra zqTAIL;"),
        ] + rest + [label("zqTAIL")] + tail
        f.body[:0] = [decl(".reg .b32 %zqt;"), decl(".reg .pred %zqp;")]
        done = True
    return done


def back_edges(f):
    """(label, branch) of loops: indices of statements of one scope, nothing but calls nested within."""
    at = {s.text[:-1]: i for i, s in enumerate(f.body) if s.kind == "label"}
    d = depths(f)
    for j, s in enumerate(f.body):
        if s.kind == "insn" and s.opcode().split(".")[0] == "bra":
            i = at.get(s.parts()[2])
            if i is not None and i < j and d[i] == d[j] == 0 and min(d[i:j + 1]) == 0:
                yield i, j


def loops_of(f):
    """Its back edges; none where a label stands twice, in scopes of its own each."""
    labels = [s.text for s in f.body if s.kind == "label"]
    return list(back_edges(f)) if len(set(labels)) == len(labels) else []


def peel_loops(module, rng):
    """One round of a loop in front of it."""
    done = False
    for f in module.functions():
        loops = loops_of(f)
        if not loops:
            continue
        i, j = rng.choice(loops)
        if has_nested_declarations(f, range(i, j)):
            continue
        copy = copies(f.body[i + 1:j], "zql")
        jump = f.body[j]
        start = f.body[i].text[:-1]
        for s in copy:
            if s.kind == "insn":
                in_operands(s, lambda name: name)
        copy.append(insn("%s bra %s;" % (jump.parts()[0], start)))
        if jump.parts()[0]:
            copy.append(insn("bra zqOUT;"))
        f.body = f.body[:i] + copy + f.body[i:j + 1] + [label("zqOUT")] + f.body[j + 1:]
        done = True
    return done


def wrap(module, rng):
    """The whole body in a scope, and some of its straight pieces."""
    for f in module.functions():
        runs = straight_runs(f, 2, 12)
        for i, j in sorted(rng.sample(runs, min(len(runs), 3)), reverse=True):
            f.body[i:j] = [Statement("open", "{")] + f.body[i:j] + [Statement("close", "}")]
        f.body = [Statement("open", "{")] + f.body + [Statement("close", "}")]
    return True


def straight_runs(f, least, most):
    """(begin, end) of pieces of plain instructions, none within another."""
    d, ok = depths(f), []
    good = set(places(f))
    for i, s in enumerate(f.body):
        ok.append(s.kind == "insn" and not d[i] and i in good and
                  not re.match(r"(bra|brx|ret|exit|trap|call)\b", s.opcode()))
    runs, i = [], 0
    while i < len(ok):
        j = i
        while j < len(ok) and ok[j] and j - i < most:
            j += 1
        if j - i >= least:
            runs.append((i, j))
        i = max(j, i + 1)
    return runs


WIDTH = {".b16": 16, ".u16": 16, ".s16": 16, ".f16": 16, ".b32": 32, ".u32": 32, ".s32": 32, ".f32": 32, ".f16x2": 32,
         ".b64": 64, ".u64": 64, ".s64": 64, ".f64": 64, ".pred": 1}


def call_pieces(module, rng):
    """A straight piece of the body as a function of its own: registers that it names go in, those that it sets come out."""
    made = []
    for f in module.functions():
        if not f.is_entry or not f.registers:
            continue
        plain, _ = declared(f)
        runs = straight_runs(f, 1, 6)
        rng.shuffle(runs)
        for i, j in runs:
            piece = f.body[i:j]
            names = []
            for s in piece:
                guard, _, operands = s.parts()
                names += [n for n in NAME.findall(guard + " " + operands) if n not in names]
            types = {n: WIDTH.get(f.type_of(n), 0) for n in names if f.type_of(n)}
            own = [n for n in names if not f.type_of(n) and n in plain]
            if own or not all(types.values()) or len(types) > 12 or any(re.search(r"\.(sync|aligned)\b", s.opcode()) for s in piece):
                continue
            made.append((f, i, piece, types))
            break
    for number, (f, i, piece, types) in enumerate(made):
        name = "zqf%d" % number
        # a function may change any of them: all go in and come back
        ins = [".param .b%d zqi%d" % (max(w, 32), k) for k, w in enumerate(types.values())]
        outs = [".param .b%d zqo%d" % (max(w, 32), k) for k, w in enumerate(types.values())]
        g = Function(".func (%s) %s(%s)" % (", ".join(outs), name, ", ".join(ins)) if ins else ".func %s()" % name, None)
        kinds = {n: f.type_of(n) for n in types}
        g.body = [decl(".reg %s %s;" % (t, n)) for n, t in kinds.items()]
        call = [Statement("open", "{")]
        back = []
        g.body += [decl(".reg .b32 %zqw;")]
        leave = []
        for k, (n, w) in enumerate(types.items()):
            width = max(w, 32)
            call += [decl(".param .b%d zqa%d;" % (width, k)), decl(".param .b%d zqr%d;" % (width, k))]
            if w == 1:
                call += [insn("selp.b32 %%zqw, 1, 0, %s;" % n), insn("st.param.b32 [zqa%d], %%zqw;" % k)]
                g.body += [insn("ld.param.b32 %%zqw, [zqi%d];" % k), insn("setp.ne.b32 %s, %%zqw, 0;" % n)]
                leave += [insn("selp.b32 %%zqw, 1, 0, %s;" % n), insn("st.param.b32 [zqo%d], %%zqw;" % k)]
                back += [insn("ld.param.b32 %%zqw, [zqr%d];" % k), insn("setp.ne.b32 %s, %%zqw, 0;" % n)]
            elif w == 16:
                call += [insn("cvt.u32.u16 %%zqw, %s;" % n), insn("st.param.b32 [zqa%d], %%zqw;" % k)]
                g.body += [insn("ld.param.b32 %%zqw, [zqi%d];" % k), insn("cvt.u16.u32 %s, %%zqw;" % n)]
                leave += [insn("cvt.u32.u16 %%zqw, %s;" % n), insn("st.param.b32 [zqo%d], %%zqw;" % k)]
                back += [insn("ld.param.b32 %%zqw, [zqr%d];" % k), insn("cvt.u16.u32 %s, %%zqw;" % n)]
            else:
                call += [insn("st.param.b%d [zqa%d], %s;" % (width, k, n))]
                g.body += [insn("ld.param.b%d %s, [zqi%d];" % (width, n, k))]
                leave += [insn("st.param.b%d [zqo%d], %s;" % (width, k, n))]
                back += [insn("ld.param.b%d %s, [zqr%d];" % (width, n, k))]
        count = len(types)
        results = "(%s), " % ", ".join("zqr%d" % k for k in range(count)) if count else ""
        arguments = ", (%s)" % ", ".join("zqa%d" % k for k in range(count)) if count else ""
        call += [insn("call %s%s%s;" % (results, name, arguments))] + back + [Statement("close", "}")]
        g.body += piece + leave + [insn("ret;")]
        f.body[i:i + len(piece)] = call
        f.body[:0] = [decl(".reg .b32 %zqw;")]
        module.items.insert(module.items.index(f), g)
    return bool(made)


def indexed_branches(module, rng):
    """bra by brx.idx with one target."""
    done = False
    for f in module.functions():
        d = depths(f)
        labels = [s.text[:-1] for s in f.body if s.kind == "label"]
        outer = {s.text[:-1] for i, s in enumerate(f.body) if s.kind == "label" and not d[i]}
        jumps = [i for i, s in enumerate(f.body) if s.kind == "insn" and s.opcode() in ("bra", "bra.uni") and not d[i]
                 and s.parts()[2] in outer and labels.count(s.parts()[2]) == 1]
        tables = []
        for i in some(rng, jumps, 4):
            guard, _, target = f.body[i].parts()
            tables += [label("zqT%d" % i), Statement("table", ".branchtargets %s;" % target)]
            f.body[i].text = "%s brx.idx %%zqx, zqT%d;" % (guard, i)
        if tables:
            f.body[:0] = [decl(".reg .u32 %zqx;"), insn("mov.u32 %zqx, 0;")] + tables
            done = True
    return done


def guards_as_branches(module, rng):
    done = False
    for f in module.functions():
        body = []
        for i, s in enumerate(f.body):
            guard = s.kind == "insn" and s.parts()[0]
            if not guard or re.match(r"(bra|brx)\b", s.opcode()):
                body.append(s)
                continue
            _, opcode, operands = s.parts()
            name = re.sub(r"[@!\s]", "", guard)
            body += [insn("@%s%s bra zqG%d;" % ("" if "!" in guard else "!", name, i)),
                     Statement("insn", "%s %s;" % (opcode, operands), s.id), label("zqG%d" % i)]
            done = True
        f.body = body
    return done


def guards_inverted(module, rng):
    """Each guard through the negation of its predicate."""
    done = False
    for f in module.functions():
        body = []
        for s in f.body:
            guard = s.kind == "insn" and s.parts()[0]
            if guard:
                _, opcode, operands = s.parts()
                name = re.sub(r"[@!\s]", "", guard)
                body += [insn("not.pred %%zqp, %s;" % name)]
                s.text = "@%s%%zqp %s %s;" % ("" if "!" in guard else "!", opcode, operands)
                done = True
            body.append(s)
        f.body = [decl(".reg .pred %zqp;")] + body
    return done


def branches_inverted(module, rng):
    """@p bra A: @!p bra B; bra A; B:"""
    done = False
    for f in module.functions():
        body = []
        for i, s in enumerate(f.body):
            guard = s.kind == "insn" and s.opcode() == "bra" and s.parts()[0]
            if not guard:
                body.append(s)
                continue
            name = re.sub(r"[@!\s]", "", guard)
            body += [insn("@%s%s bra zqI%d;" % ("" if "!" in guard else "!", name, i)),
                     insn("bra %s;" % s.parts()[2]), label("zqI%d" % i)]
            done = True
        f.body = body
    return done


ADDRESS = re.compile(r"\[\s*([%$_A-Za-z][\w$]*)\s*(?:\+\s*(-?\w+)\s*)?(?=[\],])")


def addresses(module, rng):
    """[r+8] by an addition in front, [r] by a copy, [variable+8] by both."""
    return on_addresses(module, rng, True)


def address_copies(module, rng):
    """[r] by another register, made in one of the ways that change nothing."""
    return on_addresses(module, rng, False)


def on_addresses(module, rng, added):
    done = False
    for f in module.functions():
        if f.registers is None:
            continue
        plain, _ = declared(f)
        body = []
        for s in f.body:
            if s.kind == "insn" and not re.search(r"\.param\b|^(call|tex|suld|sust)\b", s.opcode()):
                guard, opcode, operands = s.parts()
                front, count = [], 0

                def one(m):
                    nonlocal count
                    base, offset = m.group(1), m.group(2) or "0"
                    width = WIDTH.get(f.type_of(base), 0)
                    if width not in (32, 64) or count > 2:
                        return m.group(0)
                    count += 1
                    reg = "%%zq%s%d" % ("w" if width == 32 else "d", count)
                    if not added:
                        front.append(insn(rng.choice(["mov.b%d %s, %s;", "or.b%d %s, %s, 0;", "add.u%d %s, %s, 0;",
                                                      "sub.s%d %s, %s, 0;", "and.b%d %s, %s, -1;", "shl.b%d %s, %s, 0;"])
                                          % (width, reg, base)))
                        return "[" + reg + ("+" + m.group(2) if m.group(2) else "")
                    number = int(offset, 0) if not re.match(r"0\d", offset) else int(offset, 8)
                    front.append(insn(rng.choice(["add.s%d %s, %s, %d;", "add.u%d %s, %s, %d;"]) % (width, reg, base, number)
                                      if rng.random() < .6 else "sub.s%d %s, %s, %d;" % (width, reg, base, -number)))
                    return "[" + reg
                changed = ADDRESS.sub(one, operands)
                if front:
                    s.text = "%s %s %s;" % (guard, opcode, changed)
                    body += front
                    done = True
            body.append(s)
        f.body = [decl(".reg .b32 %zqw<4>;"), decl(".reg .b64 %zqd<4>;")] + body
    return done


def other_spelling(module, rng):
    """.shared is .shared::cta, bar.sync is barrier.sync.aligned, sums and products the other way round."""
    done = False
    for f in module.functions():
        for s in f.body:
            if s.kind != "insn":
                continue
            guard, opcode, operands = s.parts()
            if re.match(r"(ld|st|atom|red)\.", opcode):
                opcode = re.sub(r"\.shared(?![:\w])", ".shared::cta", opcode)
            elif m := re.match(r"bar\.(sync|arrive|red\b.*)", opcode):
                opcode = "barrier.%s.aligned%s" % (m.group(1).split(".")[0], m.group(1)[len(m.group(1).split(".")[0]):])
            elif re.match(r"(add|mul\.lo|mul\.wide|and|or|xor)\.[bsu](16|32|64)$", opcode):
                parts = [o.strip() for o in operands.split(",")]
                if len(parts) == 3 and "{" not in operands:
                    operands = ", ".join([parts[0], parts[2], parts[1]])
            elif m := re.match(r"setp\.(lt|le|gt|ge)\.([bsu]\d+)$", opcode):
                parts = [o.strip() for o in operands.split(",")]
                if len(parts) == 3:
                    opcode = "setp.%s.%s" % ({"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}[m.group(1)], m.group(2))
                    operands = ", ".join([parts[0], parts[2], parts[1]])
            text = "%s %s %s;" % (guard, opcode, operands)
            done = done or text.split() != s.text.split()
            s.text = text
    return done


# After these the findings are the very same, but for the names of functions.
NAMES = {"rename": rename, "reorder": reorder}
# After these every edge is there still.
MEANING = {"split blocks": split_blocks, "nops": nops, "copy tails": copy_tails, "peel loops": peel_loops, "wrap": wrap,
           "call pieces": call_pieces, "indexed branches": indexed_branches, "guards as branches": guards_as_branches,
           "guards inverted": guards_inverted, "branches inverted": branches_inverted, "addresses": addresses,
           "address copies": address_copies, "other spelling": other_spelling}
