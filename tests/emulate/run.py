#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs kernels, one cluster of each, and holds every edge that came up against the tool's report.

usage: run.py [-av] [-n STEPS] [-s SEEDS] [-e EDGES] [-x OPTION] TOOL PATH...

The run shows an edge where an async access met bytes of a generic one that happens before it, with no proxy fence between, in
that very run. Each must be in the report of `--check`. Texts are run as they are, without their proxy fences, and with
the fences that the tool then puts in, where no edge is left that it does not report. One that is in the report of `--strict` alone
is called believed and printed: an assumption ruled it out. Instructions that the emulator does not have end a run,
what was seen until then counts. Parameters are made up: pointers to memory of zeros, small numbers. It under-counts
where it does not know: a tensor copy's bytes, a product's rows; -n ends a run after so many instructions; -s runs the text without fences (-a: each text) by
so many further schedules, seed 1 and up, the same each time; -e asks
for so many edges in all, no more and no less; -x passes an option to the tool.
"""
import getopt
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "metamorphic"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ptx  # noqa: E402
from insn import Compiler  # noqa: E402
from machine import GLOBAL, STORES, Ended, Machine, Unsupported  # noqa: E402

LOADS_STAY = ["--assume=-consumed-loads"]  # the run does not ask whether the value of a load was used
FENCE = re.compile(r"(@!?[\w$%]+\s+)?fence\.proxy\.async(::generic)?(\.[\w:]+)*\s*;")
ASYNC = re.compile(r"cp\.(reduce\.)?async\.bulk|wgmma\.mma_async|tcgen05\.(mma|cp)")
STORE = re.compile(r"(st|red)\.async\b")
SIZE = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4, "b64": 8, "u64": 8, "s64": 8,
        "f64": 8, "b128": 16, "pred": 1}
VARIABLE = re.compile(r"\.(shared|global|const|local)\b(.*)$", re.S)


class Layout:
    """Where variables of shared and global memory lie."""

    def __init__(self):
        self.shared, self.other, self.local, self.dynamic, self.variables = 1024, GLOBAL + (1 << 40), 64, [], []

    def declare(self, text, names, scope_name):
        m = VARIABLE.search(text)
        if not m:
            return
        align = re.search(r"\.align\s+(\d+)", text)
        kind = next((k for k in re.findall(r"\.(\w+)", m.group(2)) if k in SIZE), "b8")
        body = re.sub(r"\.align\s+\d+|\.v\d|\.\w+", "", m.group(2)).split("=")[0].rstrip(";")
        for one in body.split(","):
            n = re.match(r"\s*([%$\w]+)\s*((?:\[\s*\d*\s*\])*)", one)
            if not n or not n.group(1):
                continue
            size = SIZE[kind]
            for d in re.findall(r"\[\s*(\d*)\s*\]", n.group(2)):
                size *= int(d or 0)
            self.put(m.group(1), scope_name(n.group(1)), max(int(align.group(1)) if align else 0, SIZE[kind]), size, names)

    def put(self, space, name, align, size, names):
        if space == "shared" and size == 0:
            self.dynamic.append((name, align))
            return
        if space == "shared":
            self.shared = -(-self.shared // align) * align
            names[name] = "shared", self.shared
            self.variables.append((self.shared, self.shared + size))
            self.shared += size
        elif space == "local":
            self.local = -(-self.local // align) * align
            names[name] = "local", self.local
            self.local += size
        else:
            self.other = -(-self.other // align) * align
            names[name] = "global", self.other
            self.other += size

    def end(self, names):
        for name, align in self.dynamic:
            begin = -(-self.shared // max(align, 1024)) * max(align, 1024)
            names[name] = "shared", begin
            self.variables.append((begin, 227 << 10))


def parameters(header, names):
    """Bytes of the kernel's parameters by offset: pointers of their own, small numbers."""
    inner = header[header.index("(") + 1:header.rindex(")")] if "(" in header else ""
    offset, table, pointers = 0, {}, 0
    for one in inner.split(","):
        m = re.search(r"\.param\s+(.*?)([%$\w]+)\s*(\[\s*(\d+)\s*\])?\s*$", one.strip(), re.S)
        if not m:
            continue
        kind = next((k for k in re.findall(r"\.(\w+)", m.group(1)) if k in SIZE), "b8")
        align = re.search(r"\.align\s+(\d+)", m.group(1))
        align = max(int(align.group(1)) if align and ".ptr" not in m.group(1) else 1, SIZE[kind])
        offset = -(-offset // align) * align
        names[m.group(2)] = "param", offset
        size = SIZE[kind] * int(m.group(4) or 1)
        if m.group(4):
            value = sum(256 << 32 * k for k in range(size // 4))
        elif SIZE[kind] == 8:
            pointers += 1
            value = GLOBAL + (pointers << 32)
        else:
            value = 0 if kind[0] == "f" else min(256, (1 << 8 * SIZE[kind] - 1) - 1)
        for i in range(size):
            table[offset + i] = value >> (8 * i) & 255
        offset += size
    return lambda at, size: sum(table.get(at + i, 0) << (8 * i) for i in range(size))


def threads_of(header):
    m = re.search(r"\.(?:reqntid|maxntid)\s+([\d\s,]+)", header)
    shape = [int(x) for x in m.group(1).split(",") if x.strip()] if m else [128]
    shape = (shape + [1, 1])[:3]
    return tuple(shape) if shape[0] * shape[1] * shape[2] <= 1024 else (128, 1, 1)


def cluster_of(header):
    m = re.search(r"\.reqnctapercluster\s+([\d\s,]+)", header)
    return tuple(([int(x) for x in m.group(1).split(",") if x.strip()] + [1, 1])[:3]) if m else (1, 1, 1)


class Scopes:
    """Names of nested scopes, each made one of its own."""

    def __init__(self):
        self.stack, self.count = [(0, {})], 0

    def open(self):
        self.count += 1
        self.stack.append((self.count, {}))

    def close(self):
        self.stack.pop()

    def add(self, name):
        number, table = self.stack[-1]
        table[name] = name if not number else "%s_zqs%d" % (name, number)
        return table[name]

    def find(self, name):
        for _, table in reversed(self.stack):
            if name in table:
                return table[name]
            m = re.fullmatch(r"(.*?)(\d+)", name)
            if m and m.group(1) + "<" in table:
                return table[m.group(1) + "<"].replace("<", "") + "zq" * ("_zqs" in table[m.group(1) + "<"]) + m.group(2)
        return name

    def rename(self, text):
        return ptx.NAME.sub(lambda m: self.find(m.group(0)), text)


def labels_first(body):
    """(scope number, label) of each scope, as branches may go to what is further down."""
    found, stack, count = {}, [0], 0
    for s in body:
        if s.kind == "open":
            count += 1
            stack.append(count)
        elif s.kind == "close":
            stack.pop()
        elif s.kind == "label":
            found.setdefault(stack[-1], set()).add(s.text[:-1])
    return found


def compile_kernel(machine, function, names, layout):
    scopes, code, places, tables, labels = Scopes(), [], {}, {}, labels_first(function.body)
    params = parameters(function.header, names)
    todo = []

    def declare_labels():
        for name in labels.get(scopes.stack[-1][0], ()):
            scopes.add(name)
    declare_labels()
    last_label = None
    for s in function.body:
        if s.kind == "open":
            scopes.open()
            declare_labels()
        elif s.kind == "close":
            scopes.close()
        elif s.kind == "label":
            last_label = scopes.find(s.text[:-1])
            places[last_label] = len(todo)
        elif s.kind == "decl":
            if s.text.startswith(".reg"):
                for name in re.sub(r"^\.reg\s+(\.\w+\s+)*", "", s.text.rstrip(";")).split(","):
                    name = name.strip()
                    scopes.add(re.sub(r"<\s*\d+\s*>", "<", name))
            else:
                layout.declare(s.text, names, scopes.add)
        elif s.kind == "table":
            if ".branchtargets" in s.text:
                tables[last_label] = [scopes.find(x.strip()) for x in s.text.split(".branchtargets")[1].rstrip(";").split(",")]
        elif s.kind == "insn":
            guard, opcode, operands = s.parts()
            todo.append((s.id, scopes.rename(guard), opcode, scopes.rename(operands)))
    layout.end(names)
    compiler = Compiler(machine, names, params)

    def label(name):
        if name not in places:
            raise Unsupported("a branch to " + name)
        return places[name]

    for pc, (line, guard, opcode, operands) in enumerate(todo):
        try:
            code.append(compiler.compile(line, guard, opcode, operands, label, lambda name: tables[name], pc))
        except (Unsupported, IndexError, KeyError, StopIteration, ValueError) as e:
            code.append((unsupported(str(e) if isinstance(e, Unsupported) else opcode), None))
    return code


def unsupported(what):
    def run(thread):
        raise Ended("no " + what)
    return run


def edges_of(module, function, steps, seed=0):
    """The edges that a run shows as pairs of lines, and why it ended."""
    names, layout = {}, Layout()
    machine = Machine(threads_of(function.header), cluster_of(function.header), steps, seed,
                      STORES if any(STORE.match(s.opcode()) for s in function.body) else 0)
    try:
        for item in module.items:
            if isinstance(item, str):
                layout.declare(item, names, lambda name: name)
        code = compile_kernel(machine, function, names, layout)
        machine.variables = layout.variables
        machine.run(code)
        why = "it is over"
    except (Ended, Unsupported) as e:
        why = str(e)
    return machine.edges, why


def report(tool, path, options):
    p = subprocess.run([tool, "--check", "-j", "1", "--format=json", "--fail-on=none", "-q"] + options + [path], capture_output=True)
    if p.returncode > 2:
        raise RuntimeError(p.stderr.decode()[-300:])
    return json.loads(p.stdout)["files"][0]


def rewritten(tool, text, options):
    p = subprocess.run([tool, "-q"] + LOADS_STAY + options + ["-"], input=text.encode("latin-1"), capture_output=True)
    return p.stdout.decode("latin-1") if p.returncode < 2 else text


def pairs_of(found):
    return {tuple(pair) for f in found["findings"] for pair in f["pairs"]}


class Tally:
    def __init__(self):
        self.kernels = self.edges = self.more = self.gone = self.believed = self.over = 0
        self.ends = {}


def try_text(tool, name, text, options, steps, tally, verbose, seeds=()):
    try:
        module = ptx.read(text)
    except (ptx.Unreadable, ValueError):
        return
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
        f.write(text)
        f.flush()
        plain = report(tool, f.name, LOADS_STAY + options)
        if plain["error"] or not plain["kernels"] or any("unlisted" in x for x in plain["findings"]):
            return
        strict = None
        unmodelled = {k["name"] for k in plain["kernels"] if k["verdict"] == "incomplete"}
        for function in module.functions():
            if not function.is_entry or function.name in unmodelled or not any(ASYNC.match(s.opcode()) for s in function.body):
                continue
            edges, why = edges_of(module, function, steps)
            for seed in seeds:
                more, _ = edges_of(module, function, steps, seed)
                tally.more += len(more - edges)
                edges |= more
            tally.kernels += 1
            tally.over += why == "it is over"
            tally.ends[why] = tally.ends.get(why, 0) + 1
            tally.edges += len(edges)
            if verbose:
                print("%s, %s: %d edges; %s" % (name, function.name, len(edges), why), flush=True)
            gone = edges - pairs_of(plain)
            if not gone:
                continue
            strict = strict or pairs_of(report(tool, f.name, ["--strict"] + options))
            for pair in sorted(gone):
                believed = pair in strict
                tally.believed += believed
                tally.gone += not believed
                print("%s, %s: %d -> %d %s" % (name, function.name, *pair, "believed away" if believed else "NOT REPORTED"), flush=True)


def main():
    options, paths = getopt.getopt(sys.argv[1:], "ae:vn:s:x:")
    given = dict(options)
    extra = [v for k, v in options if k == "-x"]
    tally = Tally()
    for path in ptx.files(paths[1:]):
        with open(path, encoding="latin-1") as f:
            text = f.read()
        if "fencepost:" in text:
            continue
        bare = FENCE.sub("", text)
        steps, verbose = int(given.get("-n", 2000000)), "-v" in given
        seeds = range(1, 1 + int(given.get("-s", 0)))
        texts = {text: path, bare: path + " without fences", rewritten(paths[0], bare, extra): path + " rewritten"}
        for t, name in texts.items():
            try_text(paths[0], name, t, extra, steps, tally, verbose, seeds if t == bare or "-a" in given else ())
    print("%d kernels run, %d to their end: %d edges (%d of them by other schedules alone), %d not reported, %d believed away"
          % (tally.kernels, tally.over, tally.edges, tally.more, tally.gone, tally.believed))
    if "-v" in given:
        for why, n in sorted(tally.ends.items(), key=lambda x: -x[1])[:40]:
            print("%6d %s" % (n, why))
    return 1 if tally.gone or tally.edges != int(given.get("-e", tally.edges)) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        sys.exit(99)
