# SPDX-License-Identifier: Apache-2.0
"""Changes of the order of the text and of the ways through it; see changes.py."""
import re

from changes import copies, decl, depths, has_nested_declarations, insn, label, loops_of, straight_runs
from ptx import NAME, Statement


def pieces_of(f):
    """The declarations and tables of the body's own scope, and its pieces: from one label or branch to the next."""
    front, pieces, piece = [], [], []
    d = depths(f)
    i = 0
    while i < len(f.body):
        s = f.body[i]
        table = i + 1 < len(f.body) and f.body[i + 1].kind == "table"
        if not d[i] and s.kind == "label" and table:
            front += f.body[i:i + 2]
            i += 2
            continue
        if not d[i] and s.kind == "decl":
            front.append(s)
        elif not d[i] and s.kind == "label" and piece and piece[-1].kind not in ("label", "pragma"):
            pieces.append(piece)
            piece = [s]
        else:
            piece.append(s)
            if not d[i] and s.kind == "insn" and re.match(r"(bra|brx|ret|exit)\b", s.opcode()):
                pieces.append(piece)
                piece = []
        i += 1
    return front, pieces + ([piece] if piece else [])


def goes_on(piece):
    last = piece[-1]
    return last.kind != "insn" or bool(last.parts()[0]) or not re.match(r"(bra|brx|ret|exit)\b", last.opcode())


def shuffle(module, rng):
    """The pieces of the body in another order, with a branch from each to its next one."""
    done = False
    for f in module.functions():
        if any(s.kind == "decl" and s.text.startswith(".param") for s in f.body) and has_outer_param(f):
            continue
        front, pieces = pieces_of(f)
        if len(pieces) < 3:
            continue
        for k, piece in enumerate(pieces):
            piece.insert(0, label("zqO%d" % k))
            if goes_on(piece):
                piece.append(insn("bra zqO%d;" % (k + 1) if k + 1 < len(pieces) else "ret;"))
        rest = pieces[1:]
        rng.shuffle(rest)
        f.body = front + pieces[0] + [s for piece in rest for s in piece]
        done = True
    return done


def has_outer_param(f):
    d = depths(f)
    return any(not d[i] and s.kind == "decl" and s.text.startswith(".param") for i, s in enumerate(f.body))


def empty_blocks(module, rng):
    """Branches by way of blocks that do nothing but branch, at the end of the body."""
    done = False
    for f in module.functions():
        d = depths(f)
        outer = {s.text[:-1] for i, s in enumerate(f.body) if s.kind == "label" and not d[i]}
        inner = {s.text[:-1] for i, s in enumerate(f.body) if s.kind == "label" and d[i]}
        tail = []
        for i, s in enumerate(f.body):
            if s.kind != "insn" or not re.match(r"bra\b", s.opcode()):
                continue
            guard, opcode, target = s.parts()
            if target not in outer or target in inner:
                continue
            s.text = "%s %s zqE%d;" % (guard, opcode, i)
            tail += [label("zqE%d" % i), insn("bra %s;" % target)]
        if tail:
            f.body += [insn("ret;")] + tail
            done = True
    return done


def unroll(module, rng):
    """Two rounds of a loop in one."""
    done = False
    for f in module.functions():
        loops = loops_of(f)
        if not loops:
            continue
        i, j = rng.choice(loops)
        if has_nested_declarations(f, range(i, j)) or any(s.kind == "table" for s in f.body[i:j]):
            continue
        copy = copies(f.body[i + 1:j], "zqu")
        guard, _, start = f.body[j].parts()
        leave = []
        if guard:
            name = re.sub(r"[@!\s]", "", guard)
            leave = [insn("@%s%s bra zqU;" % ("" if "!" in guard else "!", name))]
        f.body = f.body[:j] + leave + copy + f.body[j:j + 1] + [label("zqU")] + f.body[j + 1:]
        done = True
    return done


def shadows(module, rng):
    """Scopes with registers and variables of the names of others, which nothing in them reads."""
    done = False
    for f in module.functions():
        if not f.registers:
            continue
        names = [n for s in f.body if s.kind == "insn" for n in NAME.findall(s.parts()[2]) if f.type_of(n)]
        runs = straight_runs(f, 1, 8)
        for i, j in sorted(rng.sample(runs, min(len(runs), 6)), reverse=True):
            used = {n for s in f.body[i:j] for n in NAME.findall(s.text)}
            free = sorted(set(names) - used)
            if not free:
                continue
            name = rng.choice(free)
            f.body[i:j] = [Statement("open", "{"), decl(".reg .b16 %s;" % name), insn("mov.b16 %s, 3;" % name)] + f.body[i:j] + [Statement("close", "}")]
            done = True
    return done


MEANING = {"shuffle": shuffle, "empty blocks": empty_blocks, "unroll": unroll, "shadows": shadows}
