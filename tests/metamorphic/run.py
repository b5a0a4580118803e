#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Metamorphic tests: changes a text so that its meaning stays and asks whether the answer does.

usage: run.py [-v] [-k FOLDER] [-n PROGRAMS] [-s SEED] [-o ORACLE] [-c CHANGE] [-t TIMES] [-r WORD] [-x OPTION] [-b OPTION] TOOL PATH...

PATH is a .ptx file or a folder of them; -n takes that many programs of the oracle besides. For each text:

* each change of changes.py, data.py and ways.py: no edge may be gone (rule, generic access and async operation, by the statements that they
  were), nor may the verdict be better, unless an assumption believes what it can no longer count; after mere renamings
  everything is the same;
* the rewrite is the text and inserted fences, its own rewrite is itself, and with line ends of two bytes both are the
  same again;
* without any one of the inserted fences an edge of the rewrite is missing, or on the issuer's side;
* a copy of a write, put behind the fence that follows it, has the edges that the write has without the fence;
* with those assumptions alone that a kernel names, it has the same edges.

Of an oracle's program the edges are known: there only those may not be gone. -v lists answers that got stronger,
-k keeps the texts of what failed, -c runs one change alone (`-c text`, `-c less`, `-c late`, `-c assumptions`: the points behind the first), another -r makes other
changes, -t some that are several one behind the other, -x passes an option to each run of the tool. -b passes one to the runs on changed texts alone, so that
the tool is another one there, which must be noticed. The last lines count texts, changed texts, and answers. Status 99: it could not run.
"""
import getopt
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import traceback
import zlib

import changes
import data
import ptx
import ways

# Fences that are spare, as documented: kernels are planned apart, and what one puts into a function does for another.
MEANING = {**changes.MEANING, **data.MEANING, **ways.MEANING}
SPARE = {"fix/new_fence_goes.ptx"}
# Edges that are not there, which is seen after a change: who passes by the meeting makes one round.
BETTER = {("addresses/next_stage_of_round.ptx", "unroll", "meeting_passed_by")}
EDGES = ("missing-", "bulk-store-unwaited", "tensormap-unfenced", "mbarrier-init-unfenced")
RANK = {"clean": 0, "review": 1, "findings": 2, "incomplete": 2}
OPTIONS = re.compile(r"^//: (.*)$", re.M)


class Text:
    def __init__(self, name, text, known=None):
        self.name, self.text, self.known = name, text, known  # known: edges by lines, None where they are not
        words = [w for line in OPTIONS.findall(text) for w in line.split()]
        self.options = [w for w in words if w.startswith("--") and not w.startswith(("--fix", "--placement"))]


class Run:
    def __init__(self, tool, keep, verbose, word, extra, blind):
        self.tool, self.keep, self.verbose, self.word, self.extra, self.blind = tool, keep, verbose, word, extra, blind
        self.changed = self.stronger = self.weaker = self.believed = self.unsure = 0
        self.kinds = {}

    def weak(self, text, change, what, *others):
        self.weaker += 1
        print("%s, %s: %s" % (text.name, change, what))
        if self.keep:
            stem = os.path.join(self.keep, re.sub(r"\W+", "_", text.name + " " + change))
            for i, other in enumerate(others):
                with open("%s.%d.ptx" % (stem, i), "w") as f:
                    f.write(other)

    def less_sure(self, text, change, what):
        """The address is not known any more: said as a note, and fenced all the same."""
        self.unsure += 1
        if self.verbose:
            print("less sure: %s, %s: %s" % (text.name, change, what))

    def strong(self, text, change, what):
        self.stronger += 1
        self.kinds[change] = self.kinds.get(change, 0) + 1
        if self.verbose:
            print("stronger: %s, %s: %s" % (text.name, change, what))

    def call(self, arguments, input=None, most=1):
        done = subprocess.run(self.tool + self.extra + arguments, input=input, capture_output=True)
        if done.returncode not in range(most + 1):
            raise RuntimeError("%s: %s" % (" ".join(arguments), done.stderr.decode()[-500:]))
        return done.stdout

    def check(self, paths, options):
        """The reports on `paths`, in that order."""
        out = self.call(["--check", "-j", "1", "--format=json", "--fail-on=none"] + options + paths, most=2)
        by_name = {f["file"]: f for f in json.loads(out)["files"]}
        return [by_name[p] for p in paths]


def with_ids(report, ids):
    """The findings and kernels with the ids of lines: {(rule, kernel, generic, async): (level, confidence)}, whole."""
    def of(line):
        return ids[line] if line is not None and line < len(ids) else None
    edges, whole = {}, []
    for f in report["findings"]:
        if f["state"] == "suppressed":
            continue
        pairs = f["pairs"] or [[(f[k] or {}).get("line") for k in ("generic", "async")]]
        if f["fence_line"] and not f["pairs"]:
            pairs = [[f["fence_line"], None]]
        key = (f["rule"], f["kernel"])
        for g, a in pairs:
            if f["rule"] == "bulk-store-unwaited":
                g = None  # one of the ways to the end
            if f["rule"].startswith(EDGES):
                edges[key + (of(g), of(a))] = (f["level"], f["confidence"])
        whole.append(key + (f["level"], f["confidence"], tuple(sorted(((of(g), of(a)) for g, a in pairs), key=repr)), of(f["fence_line"]),
                            tuple(map(of, f["path"])), f["unfixable"]))
    return edges, sorted(whole, key=repr)


def kernels(report):
    return {k["name"]: k for k in report["kernels"]}


def compare(run, text, change, names, same, before, after, texts):
    """before, after: report and ids"""
    edges, whole = with_ids(*before)
    edges_after, whole_after = with_ids(*after)
    back = {new: old for old, new in names.items()}
    edges_after = {(r, back.get(k, k), g, a): v for (r, k, g, a), v in edges_after.items()}
    if any("unlisted" in f for f in before[0]["findings"] + after[0]["findings"]):
        return
    if same:
        whole_after = sorted(((w[0], back.get(w[1], w[1])) + w[2:] for w in whole_after), key=repr)
        verdicts, verdicts_after = ({(n if r is before[0] else back.get(n, n)):
                                     (k["verdict"], k["pairs_ruled_out"], sorted(k["assumptions"]))
                                     for n, k in kernels(r).items()} for r in (before[0], after[0]))
        if whole != whole_after or verdicts != verdicts_after:
            lost = [w for w in whole if w not in whole_after] or verdicts
            won = [w for w in whole_after if w not in whole] or verdicts_after
            run.weak(text, change, "not the same: %s, now %s" % (lost, won), *texts)
        return
    believed = set()
    for key in sorted(edges, key=repr):
        known = text.known is None or key[2:] in text.known
        if key not in edges_after and known:
            if believes(run, text, change, after, texts[1], key):
                believed.add(key[1])
                run.believed += 1
            else:
                run.weak(text, change, "gone: %s in %s, %s -> %s" % key, *texts)
        elif known and edges[key][0] == "error" != edges_after[key][0]:
            run.less_sure(text, change, "%s in %s, %s -> %s" % key)
            believed.add(key[1])
    for key in sorted(edges_after, key=repr):
        if key not in edges and key[1] in kernels(before[0]):
            run.strong(text, change, "%s in %s, %s -> %s" % key)
    for name, k in kernels(before[0]).items():
        now = kernels(after[0]).get(names.get(name, name))
        if text.known is None and name not in believed and (not now or RANK[now["verdict"]] < RANK[k["verdict"]]):
            run.weak(text, change, "%s was %s, is %s" % (name, k["verdict"], now and now["verdict"]), *texts)


def believes(run, text, change, after, changed, key):
    """Without a belief the edge is there: `own-stage', of what it cannot count any more; `consumed-loads', where each
    way of a branch has got its own copy of the hand-off, so that it stands in front of them; `map-gap' and
    `stage-stride', where two rounds of a loop are one, so that copies of both go to places of their own, twice as far on each round. Where maps are acquired, `tensormap-unfenced' is
    only said of one that is certainly the same."""
    report, ids = after
    if key[0] == "tensormap-unfenced" and "halves" in change and "fence.proxy.tensormap::generic.acquire" in changed:
        return True
    if any(text.name.endswith(name) and c in change and key[1] == kernel for name, c, kernel in BETTER):
        return True
    beliefs = {a for k in report["kernels"] for a in k["assumptions"]} & {
        "own-stage", "consumed-loads" if "copy tails" in change or "unroll" in change else ""} | ({"map-gap", "stage-stride"} if "unroll" in change else set())
    if not beliefs or any(o.startswith("--assume") for o in text.options):
        return False
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
        f.write(changed)
        f.flush()
        return key in with_ids(run.check([f.name], text.options + ["--assume=" + ",".join("-" + b for b in sorted(beliefs))])[0], ids)[0]


def chains(run, text, times):
    """Changes that keep the meaning, `times` of them one behind the other, by name."""
    rng = random.Random(zlib.crc32((os.path.basename(text.name) + run.word).encode()))

    def all_of(names):
        def apply(module, rng):
            done = 0
            for name in names:
                done += bool(MEANING[name](module, rng))
                module.settle()
            return done > 1
        return apply
    for _ in range(8):
        names = rng.sample(sorted(MEANING), times)
        yield ", ".join(names), all_of(names)


def try_changes(run, text, only, times, folder):
    try:
        module = ptx.read(text.text)
        base, ids = ptx.write(module)
    except (ptx.Unreadable, ValueError) as e:
        if run.verbose:
            print("%s: not read: %s" % (text.name, e))
        return False
    variants = [("base", {}, False, base, ids)]
    single = list(changes.NAMES.items()) + list(MEANING.items())
    for change, apply in list(chains(run, text, times)) if times else single:
        if only and change != only:
            continue
        copy = module.copy()
        try:
            names = apply(copy, random.Random(zlib.crc32((os.path.basename(text.name) + change + run.word).encode())))
        except ptx.Unreadable as e:
            print("%s, %s: not read: %s" % (text.name, change, e))
            continue
        if names:
            variants.append((change, names if isinstance(names, dict) else {}, change in changes.NAMES) + ptx.write(copy))
    given = os.path.join(folder, "given.ptx")
    paths = [given]
    with open(given, "w") as f:
        f.write(text.text)
    for i, v in enumerate(variants):
        paths.append(os.path.join(folder, "%d.ptx" % i))
        with open(paths[-1], "w") as f:
            f.write(v[3])
    reports = run.check(paths[:2], text.options)
    reports += run.check(paths[2:], text.options + run.blind) if paths[2:] else []
    first = reports[1]
    lines = [None] + list(range(1, text.text.count("\n") + 2))
    compare(run, text, "layout", {}, False, (reports[0], lines), (first, ids), (text.text, base))
    for v, report in zip(variants[1:], reports[2:]):
        run.changed += 1
        if report["error"]:
            run.weak(text, v[0], "error: %s" % report["error"], base, v[3])
            continue
        compare(run, text, v[0], v[1], v[2], (first, ids), (report, v[4]), (base, v[3]))
    return True


def try_assumptions(run, text, folder):
    if any(o.startswith(("--assume", "--strict")) for o in text.options):
        return
    path = os.path.join(folder, "assumed.ptx")
    with open(path, "w", newline="") as f:
        f.write(text.text)
    lines = [None] + list(range(1, text.text.count("\n") + 2))
    first = run.check([path], text.options)[0]
    edges = set(with_ids(first, lines)[0])
    named = {k["name"]: ",".join(k["assumptions"]) or "none" for k in first["kernels"]}
    for names in sorted(set(named.values())):
        run.changed += 1
        again = with_ids(run.check([path], text.options + ["--assume=" + names] + run.blind)[0], lines)[0]
        more = {e for e in set(again) - edges if named.get(e[1]) == names}
        for edge in sorted(more, key=repr):
            run.weak(text, "assumptions", "an assumption beside %s rules out %s in %s, %s -> %s" % ((names,) + edge), text.text)


def inserted_lines(before, after):
    """Indices of the lines of `after` that `before` lacks, or None where a line holds more than a new fence."""
    old, new, found = before.split("\n"), after.split("\n"), []
    i = 0
    for j, line in enumerate(new):
        if i < len(old) and line == old[i]:
            i += 1
        elif line.strip().startswith("fence.proxy.async"):
            found.append(j)
        else:
            return None
    return found if i == len(old) else None


def try_text(run, text):
    data = text.text.encode()
    options = text.options
    out = run.call(["-q"] + options + ["-"], data)
    if run.call(options + run.blind + ["-"], data) != out:
        run.weak(text, "text", "what is told changes the text", text.text, out.decode())
    if run.call(["-q"] + options + run.blind + ["-"], out) != out:
        run.weak(text, "text", "the second rewrite changes something", text.text, out.decode())
    if b"\r" not in data and run.call(["-q"] + options + run.blind + ["-"], data.replace(b"\n", b"\r\n")) != out.replace(b"\n", b"\r\n"):
        run.weak(text, "text", "with line ends of two bytes it comes out otherwise", text.text)
    after = out.decode()
    if inserted_lines(text.text, after) is None:
        if not all(c.isspace() for c in difference(text.text, after)):
            run.weak(text, "text", "more has changed than fences", text.text, after)


class Rewritten:
    """The rewrite of a text, its inserted fences (indices of lines), and a report without each of them."""

    def __init__(self, run, text, folder, blind):
        self.text = run.call(["-q"] + text.options + ["-"], text.text.encode()).decode()
        self.lines = self.text.split("\n")
        self.fences = (inserted_lines(text.text, self.text) or [])[:12]
        self.whole = os.path.join(folder, "whole.ptx")
        self.paths = []
        for n, j in enumerate(self.fences):
            self.paths.append(os.path.join(folder, "less%d.ptx" % n))
            put_text(self.paths[-1], self.lines[:j] + self.lines[j + 1:])
        put_text(self.whole, self.lines)
        self.reports = run.check(self.paths, text.options + blind) if self.paths else []
        self.have = open_pairs(run.check([self.whole], text.options)[0], len(self.lines)) if self.paths else set()


def put_text(path, lines):
    with open(path, "w", newline="") as f:
        f.write("\n".join(lines))


def try_less(run, text, after):
    needed = None
    for j, report, path in zip(after.fences, after.reports, after.paths):
        run.changed += 1
        if open_pairs(report, j) <= after.have and not text.name.endswith(tuple(SPARE)):
            # a fence that is on the writer's side for one access may be on the issuer's for another, unsaid
            needed = needed or needed_lines(run, after.whole, text.options + run.blind)
            if j + 1 in needed:
                continue
            with open(path) as f:
                run.weak(text, "less", "nothing is missing without the fence in line %d of the output" % (j + 1),
                         after.text, f.read())


WRITE = re.compile(r"\s*(@!?\s*[\w$%]+\s+)?(st|stmatrix|red)\.[\w.:]+\s[^;]*;\s*$")
BLOCK_ENDS = re.compile(r"[:{}]\s*$|^\s*[$%\w]+:|\b(bra|brx|call|ret|exit|trap)\b|^\s*\.")


def writes_before(lines, fence):
    """Indices of the writes of a straight line that leads to the fence whose registers stay as they are."""
    changed, found = set(), []
    for i in range(fence - 1, -1, -1):
        code = lines[i].split("//")[0]
        if BLOCK_ENDS.search(code) or code.count(";") > 1:
            break
        names = re.findall(r"[%$\w]+", code)
        if not WRITE.match(code):
            changed.update(names)  # more than it sets: fewer writes are tried
        elif not changed & set(names):
            found.append(i)
    return found


def try_late(run, text, after, folder):
    tries = []
    for j, report in zip(after.fences, after.reports):
        pairs = {pair for pair in open_pairs(report, j) - after.have if pair[0]}
        for i in writes_before(after.lines, j)[:3]:
            want = {(kernel, j + 2, a + (a > j + 1)) for _, kernel, g, a in pairs if g == i + 1}
            if want:
                path = os.path.join(folder, "late%d.ptx" % len(tries))
                put_text(path, after.lines[:j + 1] + [after.lines[i]] + after.lines[j + 1:])
                tries.append((path, i, want))
    reports = run.check([path for path, _, _ in tries], text.options + run.blind) if tries else []
    for (path, i, want), report in zip(tries, reports):
        run.changed += 1
        gone = want - {pair[1:] for pair in open_pairs(report, len(after.lines) + 1)}  # the issuer may run the fence as well
        if gone:
            with open(path) as f:
                run.weak(text, "late %d" % (i + 1), "the write once more behind its fence: gone %s" % sorted(gone), f.read())


def needed_lines(run, path, options):
    out = run.call(["--check", "--mutate", "-j", "1", "--format=json", "--fail-on=none"] + options + [path])
    return {f["line"] for f in json.loads(out)["files"][0]["mutation"]["fences"] if f["verdict"] == "needed"}


def open_pairs(report, without):
    """What is missing, or covered by the issuer alone; of a text without the line behind line `without`."""
    return {(f["rule"].startswith("missing-"), f["kernel"]) + tuple(line + (line > without) for line in pair)
            for f in report["findings"] if f["rule"].startswith(("missing-", "fence-issuer-side")) for pair in f["pairs"]}


def difference(before, after):
    """What stands in `after` beside the fences that `before` lacks."""
    return re.sub(r"\s|fence\.proxy\.async[\w:.]*;", "", after).replace(re.sub(r"\s|fence\.proxy\.async[\w:.]*;", "", before), "")


def texts(paths, oracle, first, count):
    for path in ptx.files(paths):
        with open(path, newline="") as f:
            text = f.read()
        if "fencepost:" not in text:
            yield Text(path, text)
    for seed in range(first, first + count):
        text = subprocess.run([oracle, "-p", "-s", str(seed)], capture_output=True, text=True, check=True).stdout
        known = {(int(g), int(a)) for g, a in re.findall(r"^// (\d+) -> (\d+)$", text, re.M)}
        if "fencepost:" not in text:
            yield Text("seed %d" % seed, text, known)


def main():
    options, paths = getopt.getopt(sys.argv[1:], "vk:n:s:o:c:t:r:x:b:")
    given = dict(options)
    extra, blind = ([v for k, v in options if k == which] for which in ("-x", "-b"))
    run = Run([paths[0]], given.get("-k"), "-v" in given, given.get("-r", ""), extra, blind)
    only, read = given.get("-c"), 0
    with tempfile.TemporaryDirectory() as folder:
        for text in texts(paths[1:], given.get("-o"), int(given.get("-s", 1)), int(given.get("-n", 0))):
            if only not in ("text", "less", "late", "assumptions"):
                read += try_changes(run, text, only, int(given.get("-t", 0)), folder)
            if only in (None, "text"):
                try_text(run, text)
            if only in (None, "less", "late"):
                after = Rewritten(run, text, folder, run.blind if only == "less" else [])
            if only in (None, "less"):
                try_less(run, text, after)
            if only in (None, "late"):
                try_late(run, text, after, folder)
            if only in (None, "assumptions"):
                try_assumptions(run, text, folder)
    print("%d texts, %d changed, %d weaker, %d believed, %d less sure, %d stronger"
          % (read, run.changed, run.weaker, run.believed, run.unsure, run.stronger))
    for change, n in sorted(run.kinds.items()):
        print("  %5d stronger by %s" % (n, change))
    return 1 if run.weaker else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:  # no answer, be it expected to fail
        traceback.print_exc()
        sys.exit(99)
