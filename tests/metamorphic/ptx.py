# SPDX-License-Identifier: Apache-2.0
"""PTX as a list of statements, each with the number that it has in the text as given.

A module is read with a scanner of its own, shares nothing with lexer/ or parser/, and is written one statement a
line; comments, `.loc`, `.file` and sections are left out. `Unreadable` is raised for what it does not know.
"""
import copy
import functools
import os
import re

NAME = re.compile(r"(?<![\w$%.])[%$_A-Za-z][\w$]*")
INSN = re.compile(r"^(@\s*!?\s*[\w$%]+)?\s*([a-z]\w*)((?:\s*\.[\w:]+)*)\s*(.*?)\s*;$", re.S)
DIRECTIVE_ONLY = re.compile(r"\.(version\s+\d+\.\d+|target\s+\w+(\s*,\s*\w+)*|address_size\s+\d+)")
FILE = re.compile(r"\.file\s+\d+\s+\"[^\"]*\"(\s*,\s*\d+)*")
LOC = re.compile(r"\.loc\s+\d+\s+\d+\s+\d+(\s*,\s*function_name\s+[\w$+]+\s*,\s*inlined_at\s+\d+\s+\d+\s+\d+)?")
LABEL = re.compile(r"([%$_A-Za-z][\w$]*)\s*:(?!:)")
STATEMENT = re.compile(r"(?:\"[^\"]*\"|[^;\"])*;")


class Unreadable(Exception):
    pass


class Statement:
    """kind: label, insn, decl, open, close, pragma, table (what a label names). id: of the text as given, None if new."""

    def __init__(self, kind, text, id=None):
        self.kind, self.text, self.id = kind, text, id

    def parts(self):
        """guard, opcode with modifiers, operands"""
        m = INSN.match(self.text)
        if not m:
            raise Unreadable(self.text)
        return m.group(1) or "", m.group(2) + re.sub(r"\s", "", m.group(3)), m.group(4)

    def opcode(self):
        return self.parts()[1] if self.kind == "insn" else ""


class Function:
    def __init__(self, header, id):
        self.header, self.id, self.body = header, id, []
        m = re.search(r"\.(entry|func)\b\s*(?:\([^)]*\)\s*)?([\w$%]+)", header)
        if not m:
            raise Unreadable(header)
        self.is_entry, self.name = m.group(1) == "entry", m.group(2)

    @functools.cached_property
    def registers(self):
        """Type by name and by prefix of a range, as given; None where a name is declared twice (in scopes)."""
        types = {}
        for s in self.body:
            m = s.kind == "decl" and re.match(r"\.reg\s+(?:\.align\s+\d+\s+)?((?:\.v\d\s*)?\.\w+)\s+(.*);$", s.text, re.S)
            for name in m.group(2).split(",") if m else []:
                name = re.sub(r"\s", "", name)
                if name in types:
                    return None
                types[name] = m.group(1)
        ranges = {re.match(r"(.*?)<", n).group(1): t for n, t in types.items() if "<" in n}
        plain = {n: t for n, t in types.items() if "<" not in n}
        return plain, ranges

    def type_of(self, name):
        if self.registers:
            plain, ranges = self.registers
            m = re.match(r"(.*?)(\d+)$", name)
            return plain.get(name) or (m and ranges.get(m.group(1))) or None
        return None


class Module:
    """items: texts of declarations, and functions"""

    def __init__(self):
        self.items = []

    def functions(self):
        return [f for f in self.items if isinstance(f, Function)]

    def copy(self):
        return copy.deepcopy(self)

    def settle(self):
        """What a change has put in is text like any other now, and its names (zq...) are free again."""
        for i, item in enumerate(self.items):
            if isinstance(item, str):
                self.items[i] = item.replace("zq", "zqa")
                continue
            item.header = item.header.replace("zq", "zqa")
            item.name = item.name.replace("zq", "zqa")
            item.__dict__.pop("registers", None)
            for s in item.body:
                s.text = s.text.replace("zq", "zqa")


def without_comments(text):
    def blank(m):
        s = m.group(0)
        return s if s[0] == '"' else " " + "\n" * s.count("\n")
    text = re.sub(r"\"[^\"\n]*\"|//[^\n]*|/\*.*?\*/", blank, text, flags=re.S)
    return re.sub(r"^#[^\n]*", "", text, flags=re.M)


def kind_of(text):
    if text.startswith(".pragma"):
        return "pragma"
    if re.match(r"\.(branchtargets|calltargets|callprototype)\b", text):
        return "table"
    return "decl" if text.startswith(".") else "insn"


def read_body(text, at, line_of, f):
    depth = 1
    while True:
        m = re.compile(r"\s*").match(text, at)
        at = m.end()
        if at >= len(text):
            raise Unreadable("no end of a body")
        if m := LOC.match(text, at):
            at = m.end()
            continue
        if text[at] in "{}":
            depth += 1 if text[at] == "{" else -1
            if not depth:
                return at + 1
            f.body.append(Statement("open" if text[at] == "{" else "close", text[at], line_of(at)))
            at += 1
            continue
        m = LABEL.match(text, at)
        if m:
            f.body.append(Statement("label", m.group(1) + ":", line_of(at)))
        elif m := STATEMENT.match(text, at):
            s = " ".join(m.group(0).split())
            f.body.append(Statement(kind_of(s), s, line_of(at)))
        else:
            raise Unreadable(text[at:at + 40])
        at = m.end()


def read_header(text, at):
    """The end of an item: (position, is it a body that begins there)."""
    depth = 0
    is_function = None
    for i in range(at, len(text)):
        c = text[i]
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "{" and not depth:
            head = text[at:i]
            is_function = re.search(r"\.(entry|func)\b", head) is not None
            if is_function or ".section" in head:
                return i + 1, True
            depth += 1
        elif c == "}":
            depth -= 1
        elif c == ";" and not depth:
            if re.search(r"\.pragma\s+\"[^\"]*\"\s*$", text[at:i]):
                continue
            return i + 1, False
    raise Unreadable(text[at:at + 40])


def read(text):
    """Ids are lines of `text`; two statements of a line have one, and a change of either is seen as one of both."""
    text = without_comments(text)
    starts = [m.end() for m in re.finditer("^|\n", text)]
    module, line = Module(), 1

    def line_of(at):
        nonlocal line
        while line < len(starts) and starts[line] <= at:
            line += 1
        return line
    at = 0
    while True:
        at = re.compile(r"\s*").match(text, at).end()
        if at >= len(text):
            return module
        if m := DIRECTIVE_ONLY.match(text, at):
            module.items.append(" ".join(m.group(0).split()))
        elif m := FILE.match(text, at):
            pass
        else:
            end, body = read_header(text, at)
            item = " ".join(text[at:end - 1 if body else end].split())
            if not body:
                module.items.append(item)
            elif ".section" in item:
                end = text.index("}", end) + 1
            else:
                f = Function(item, line_of(at))
                end = read_body(text, end, line_of, f)
                module.items.append(f)
            at = end
            continue
        at = m.end()


def write(module):
    """The text, and the id of each line (the first is line 1)."""
    lines, ids = [], [None]

    def put(text, id):
        lines.append(text)
        ids.append(id)
    for item in module.items:
        if not isinstance(item, Function):
            put(item, None)
            continue
        put(item.header, item.id)
        put("{", None)
        for s in item.body:
            put(s.text if s.kind == "label" else "\t" + s.text, s.id)
        put("}", None)
    return "\n".join(lines) + "\n", ids


def files(paths):
    """The .ptx files among paths and below those that are folders, in order of their names."""
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, names in sorted(os.walk(path)):
            yield from (os.path.join(folder, n) for n in sorted(names) if n.endswith(".ptx"))
