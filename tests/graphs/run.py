#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random control flow with branches that part threads, against the tool: no edge that a run has may be missed.

usage: run.py [-n PROGRAMS] [-s SEED] [-k FOLDER] [-x OPTION] TOOL

A program (program.py) is a kernel of four warps: blocks that change variables, part warps and pass barriers of all threads, either with
loops of which each warp makes rounds of its own and cycles with several ways in, or in one loop that is left from within; then a branch on a variable, with a write and a
barrier behind it in one arm, a barrier and an async copy behind it in the other; now and then a fence and another round of that.
Whether the two meet at these barriers, of all threads or of half of them, depends on what the warps have taken along.

Its edges are those of its runs, with each first parameter below 4 and each second one below 2 (larger ones are odd or even as well, or
make more rounds). A warp goes on up to a barrier; those who meet there know of each other's writes, and which of these are fenced;
who has ended counts as arrived at a barrier of all threads. A copy has an edge from each write that its warp knows of and that is
not fenced. Programs of which a run waits for ever, or goes on for long, are left out.

The tool must report all of these edges; more are counted alone. -n and -s: that many programs from that seed on, many of them in
one text; -k keeps the texts of those with a missed edge, -x passes an option to each run of the tool. Exits 1 for a missed
edge. Status 99: it could not run.
"""
import getopt
import itertools
import json
import os
import subprocess
import sys
import tempfile
import traceback

import program
from program import BAR, COPY, FENCE, SET_BAR, WARPS, WRITE

STEPS = 120  # blocks; who comes to more of them goes on for long
BATCH = 500  # kernels in one text


class Warp:
    def __init__(self, does):
        self.does, self.at, self.over = does, None, False
        self.known, self.fenced = set(), set()  # writes: (line, which of all that were made)

    def advance(self, made, edges):
        """Goes on to the next barrier, or the end; `made` counts writes. False: it goes on for long."""
        for what in self.does:
            if what is None:
                return False
            if what[0] in (BAR, SET_BAR):
                self.at = what
                return True
            if what[0] == FENCE:
                self.fenced |= self.known
            elif what[0] == WRITE:
                self.known.add((what[1], next(made)))
            elif what[0] == COPY:
                edges |= {(line, what[1]) for line, _ in self.known - self.fenced}
        self.over = True
        return True


def meet(warps):
    """These pass a barrier."""
    known = set().union(*(w.known for w in warps))
    fenced = set().union(*(w.fenced for w in warps))
    for w in warps:
        w.known, w.fenced, w.at = set(known), set(fenced), None


def run_once(kernel, n, m, edges):
    """Adds the edges of one run; False: it waits for ever, or goes on for long."""
    warps = [Warp(kernel.warp(w, n, m, STEPS)) for w in range(WARPS)]
    sets = [[w for i, w in enumerate(warps) if kernel.set_of(i) == s] for s in range(2)]
    made = itertools.count()
    while True:
        for w in warps:
            if w.at is None and not w.over and not w.advance(made, edges):
                return False
        if all(w.over for w in warps):
            return True
        met = False
        if all(w.over or w.at == (BAR,) for w in warps):
            meet(warps)
            met = True
        for s, members in enumerate(sets):
            if all(w.at == (SET_BAR, s) for w in members):
                meet(members)
                met = True
        if not met:
            return False


def edges_of(kernel):
    """(write, copy), by lines of the kernel; None: a program to leave out."""
    edges = set()
    return edges if all(run_once(kernel, n, m, edges) for n in range(4) for m in range(2)) else None


def reported(tool, path):
    """What the tool misses on the way from a write to a copy: {kernel: {(line, line)}}."""
    done = subprocess.run(tool + ["--check", "-j", "1", "--format=json", "--fail-on=none", path], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("%s: status %d: %s" % (" ".join(tool), done.returncode, done.stderr[-500:]))
    report = json.loads(done.stdout)["files"][0]
    if report["error"]:
        raise RuntimeError(report["error"])
    pairs = {}
    for finding in report["findings"]:
        if "unlisted" in finding:
            raise RuntimeError("not all pairs are listed")
        if finding["rule"].startswith("missing-"):
            pairs.setdefault(finding["kernel"], set()).update(map(tuple, finding["pairs"]))
    return pairs


def write(path, lines):
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


class Tally:
    def __init__(self, tool, keep):
        self.tool, self.keep = tool, keep
        self.programs = self.edges = self.missed = self.beyond = 0

    def batch(self, seeds, path):
        """These programs as one text at `path`."""
        lines, programs = list(program.HEADER), []
        for seed in seeds:
            kernel = program.Program(seed)
            text = kernel.text()
            edges = edges_of(kernel)
            if edges is not None:
                programs.append((seed, kernel.name, len(lines), text, edges))
                lines += text
        write(path, lines)
        pairs = reported(self.tool, path)
        for seed, name, first, text, edges in programs:
            have = {(g - first, a - first) for g, a in pairs.get(name, ())}
            self.programs += 1
            self.edges += len(edges)
            self.beyond += len(have - edges)
            self.miss(seed, text, edges - have)

    def miss(self, seed, text, edges):
        if not edges:
            return
        self.missed += 1
        first = len(program.HEADER)
        print("seed %d: missed %s" % (seed, ", ".join("%d -> %d" % (g + first, a + first) for g, a in sorted(edges))))
        if self.keep:
            write(os.path.join(self.keep, "seed%d.ptx" % seed), program.HEADER + text)


def main():
    options, arguments = getopt.getopt(sys.argv[1:], "n:s:k:x:")
    given = dict(options)
    first, count = int(given.get("-s", 1)), int(given.get("-n", 1000))
    tally = Tally(arguments + [v for k, v in options if k == "-x"], given.get("-k"))
    with tempfile.TemporaryDirectory() as folder:
        for start in range(first, first + count, BATCH):
            tally.batch(range(start, min(start + BATCH, first + count)), os.path.join(folder, "graphs.ptx"))
    print("%d programs, %d edges, %d programs with a missed edge, %d more edges reported"
          % (tally.programs, tally.edges, tally.missed, tally.beyond))
    return 1 if tally.missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:  # no answer, be it expected to fail
        traceback.print_exc()
        sys.exit(99)
