#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strip and restore: takes every proxy fence out of real kernels, lets the tool put fences back,
and compares with what the authors had.

usage: restore.py [-t SECONDS] [-x OPTION] TOOL PATH...

-t limits each run of the tool, -x passes an option to its rewrite.


PATH is a .ptx file or a folder of them, and so is FENCEPOST_CORPUS where it is set; files without a proxy fence and an async access are passed
over. Per kernel: fences of the authors, those that the audit needs, those put back, spare ones among
them, the sum of 10^loop depth of the needed ones and of those put back, pairs that the audit misses in
the authors' text (a file that is not clean needs more fences than it had), pairs left.

A kernel fails if an edge is left that the tool does not call unfixable, if a fence that was put back
is spare, or if a kernel that was clean comes back with fences in deeper loops than its needed ones.
Loop depth comes from a control flow graph of its own. Depths are not compared where the authors
fence in the issuing thread after the hand-off, which the tool accepts and does not do, nor where their
fences stand in functions that the kernel calls.
"""
import getopt
import json
import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r'(@!?[\w$%]+\s+)?fence\.proxy\.async[\w.:]*\s*;')
ENTRY = re.compile(r'\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$%]+)')
LABEL = re.compile(r'^\s*([\w$%]+)\s*:')
JUMP = re.compile(r'(@!?\s*[\w$%]+\s+)?\b(?:(bra|brx)(?:\.idx)?(?:\.uni)?\s+([\w$%]+)|ret|exit|trap)\b')


def strip(text):
    """The text without its fences; a line that held nothing else goes as a whole."""
    out = []
    for line in text.split('\n'):
        if 'fence.proxy.async' in line and not line.lstrip().startswith('//'):
            line = FENCE.sub('', line)
            if not line.strip():
                continue
        out.append(line)
    return '\n'.join(out)


def kernel_of_lines(lines):
    """For each line the name of the function that it stands in, or None."""
    owner, name, depth = [], None, 0
    for line in lines:
        code = line.split('//')[0]
        if depth == 0:
            m = ENTRY.search(code)
            if m:
                name = m.group(1)
        owner.append(name)
        depth += code.count('{') - code.count('}')
    return owner


def blocks_of(lines, first, last):
    """Basic blocks of one function: first line of each, and the successors by number."""
    starts, labels, ends, scopes = [first], {}, {}, {}
    path, opened = (0,), 0
    for i in range(first, last):
        code = lines[i].split('//')[0]
        for brace in re.findall('[{}]', re.sub(r'\{[^{}]*\}', '', code)):
            if brace == '{':
                opened += 1
                path += (opened,)
            else:
                path = path[:-1]
        scopes[i] = path
        m = LABEL.match(code)
        if m:
            labels[path[-1:], m.group(1)] = i
            starts.append(i)
        m = JUMP.search(code)
        if m:
            ends[i] = m
            starts.append(i + 1)
    starts = sorted(set(x for x in starts if x < last))
    number = {line: n for n, line in enumerate(starts)}

    def find(scope, name):
        while scope and (scope[-1:], name) not in labels:
            scope = scope[:-1]
        return labels.get((scope[-1:], name))

    succ = []
    for n in range(len(starts)):
        stop = starts[n + 1] if n + 1 < len(starts) else last
        jump = ends.get(stop - 1)
        goes = set()
        falls = n + 1 < len(starts)
        if jump:
            falls = falls and jump.group(1) is not None
            if jump.group(2) == 'bra':
                target = find(scopes[stop - 1], jump.group(3))
                if target is not None:
                    goes.add(number[target])
            elif jump.group(2) == 'brx':
                for i in range(first, last):
                    if '.branchtargets' in lines[i]:
                        found = (find(scopes[i], t) for t in
                                 re.findall(r'[\w$%]+', lines[i].split('.branchtargets')[1]))
                        goes.update(number[t] for t in found if t is not None)
        if falls:
            goes.add(n + 1)
        succ.append(sorted(goes))
    return starts, succ


def order_of(succ):
    """Reverse postorder from block 0."""
    seen, post, stack = {0}, [], [(0, iter(succ[0]))]
    while stack:
        n, it = stack[-1]
        for s in it:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(succ[s])))
                break
        else:
            post.append(n)
            stack.pop()
    return post[::-1]


def loop_depths(succ):
    """How many natural loops each block stands in."""
    order = order_of(succ)
    rank = {n: i for i, n in enumerate(order)}
    pred = {n: [] for n in order}
    for n in order:
        for s in succ[n]:
            pred[s].append(n)
    idom = {0: 0}

    def meet(x, y):
        while x != y:
            while rank[x] > rank[y]:
                x = idom[x]
            while rank[y] > rank[x]:
                y = idom[y]
        return x

    changed = True
    while changed:
        changed = False
        for n in order[1:]:
            new = None
            for p in pred[n]:
                if p in idom:
                    new = p if new is None else meet(new, p)
            if idom.get(n) != new:
                idom[n], changed = new, True

    bodies = {}
    for n in order:
        for head in succ[n]:
            if meet(n, head) == head:
                body = bodies.setdefault(head, {head})
                work = [n]
                while work:
                    x = work.pop()
                    if x not in body:
                        body.add(x)
                        work.extend(pred[x])
    depth = [0] * len(succ)
    for body in bodies.values():
        for n in body:
            depth[n] += 1
    return depth


def depths(lines, owner):
    """The loop depth of each line."""
    result = [0] * len(lines)
    first = 0
    while first < len(lines):
        last = first
        while last < len(lines) and owner[last] == owner[first]:
            last += 1
        if owner[first] is not None:
            starts, succ = blocks_of(lines, first, last)
            for n, depth in enumerate(loop_depths(succ)):
                stop = starts[n + 1] if n + 1 < len(starts) else last
                result[starts[n]:stop] = [depth] * (stop - starts[n])
        first = last
    return result


class Tool:
    def __init__(self, path, seconds, extra):
        self.path, self.seconds, self.extra = path, seconds, extra

    def run(self, *args):
        return subprocess.run([self.path, *args], capture_output=True, text=True,
                              timeout=self.seconds)

    def audit(self, path):
        """The report of one file, with the losses of its fences."""
        r = self.run('--check', '--mutate', '--fail-on=none', '--format=json', path)
        if r.returncode != 0:
            raise RuntimeError(f'status {r.returncode}: {r.stderr.strip()[:200]}')
        return json.loads(r.stdout)['files'][0]


class Kernel:
    def __init__(self):
        self.had = self.needed = self.back = self.spare = 0
        self.weight = self.back_weight = self.missing = self.left = self.unfixable = 0
        self.verdict, self.entry, self.elsewhere = '-', False, False


def count_fences(report, lines, kernels, which):
    """Adds the fences of a report to the kernels they stand in."""
    owner = kernel_of_lines(lines)
    depth = depths(lines, owner)
    for fence in (report['mutation'] or {'fences': []})['fences']:
        i = fence['line'] - 1
        k = kernels.setdefault(owner[i], Kernel())
        needed = fence['verdict'] != 'spare'
        weight = 10 ** min(depth[i], 8)
        if which == 'had':
            k.had += 1
            k.needed += needed
            k.weight += weight if needed else 0
        else:
            k.back += 1
            k.spare += not needed
            k.back_weight += weight


def restore(tool, path, scratch):
    with open(path, encoding='latin-1', newline='') as f:
        text = f.read()
    bare, back = os.path.join(scratch, 'bare.ptx'), os.path.join(scratch, 'back.ptx')
    with open(bare, 'w', encoding='latin-1', newline='') as f:
        f.write(strip(text))
    kernels = {}
    first = tool.audit(path)
    count_fences(first, text.split('\n'), kernels, 'had')
    for finding in first['findings']:
        if finding['rule'].startswith('missing-'):
            kernels.setdefault(finding['kernel'], Kernel()).missing += finding['count']
    names = {k['name'] for k in first['kernels']}
    called = any(name not in names for name in kernels)
    for finding in first['findings']:
        if finding['rule'] == 'fence-issuer-side' or called:
            kernels.setdefault(finding['kernel'], Kernel()).elsewhere = True
    r = tool.run('-q', *tool.extra, '-o', back, bare)
    if r.returncode > 1:
        raise RuntimeError(f'status {r.returncode}: {r.stderr.strip()[:200]}')
    second = tool.audit(back)
    with open(back, encoding='latin-1', newline='') as f:
        count_fences(second, f.read().split('\n'), kernels, 'back')
    for finding in second['findings']:
        if finding['rule'].startswith('missing-'):
            k = kernels.setdefault(finding['kernel'], Kernel())
            if finding['unfixable'] is None:
                k.left += finding['count']
            else:
                k.unfixable += finding['count']
    for k in second['kernels']:
        if k['name'] in kernels:
            kernels[k['name']].verdict = k['verdict']
            kernels[k['name']].entry = True
    return kernels


def judge(k):
    wrong = []
    if k.left:
        wrong.append('left')
    if k.spare:
        wrong.append('spare')
    if k.entry and not k.missing and not k.elsewhere and k.back_weight > k.weight:
        wrong.append('deeper')
    return ' '.join(wrong) or 'ok'


def files_of(paths):
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                for name in sorted(names):
                    if name.endswith('.ptx'):
                        yield os.path.join(folder, name)
        else:
            yield path


def worth_it(path):
    """Only text with a fence to lose and an async access is of interest."""
    with open(path, encoding='latin-1') as f:
        text = f.read()
    return 'fence.proxy.async' in text and ('async.bulk' in text or 'mma_async' in text
                                            or 'tcgen05' in text)


def main():
    opts, args = getopt.getopt(sys.argv[1:], 't:x:')
    opts = dict(opts)
    if len(args) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    tool = Tool(args[0], float(opts.get('-t', 120)), [opts['-x']] if '-x' in opts else [])
    sums, failed, kernels_seen = Kernel(), 0, 0
    clean_needed = clean_back = clean_weight = clean_back_weight = 0
    print('had need back spare  weight/back  missed left unfix verdict     result  kernel')
    with tempfile.TemporaryDirectory() as scratch:
        corpus = os.environ.get('FENCEPOST_CORPUS')
        for path in files_of(args[1:] + ([corpus] if corpus else [])):
            if not worth_it(path):
                continue
            try:
                kernels = restore(tool, path, scratch)
            except (RuntimeError, subprocess.TimeoutExpired, ValueError) as e:
                print(f'error: {path}: {e}')
                failed += 1
                continue
            for name, k in kernels.items():
                result = judge(k)
                failed += result != 'ok'
                kernels_seen += 1
                for field in ('had', 'needed', 'back', 'spare', 'missing', 'left', 'unfixable'):
                    setattr(sums, field, getattr(sums, field) + getattr(k, field))
                if k.entry and not k.missing and not k.elsewhere:
                    clean_needed += k.needed
                    clean_back += k.back
                    clean_weight += k.weight
                    clean_back_weight += k.back_weight
                short = name if not name or len(name) <= 40 else name[:37] + '...'
                where = os.path.join(os.path.basename(os.path.dirname(path)), os.path.basename(path))
                print(f'{k.had:3} {k.needed:4} {k.back:4} {k.spare:5} {k.weight:7}/{k.back_weight:<7}'
                      f'{k.missing:5} {k.left:4} {k.unfixable:5} {k.verdict:10} {result:8} '
                      f'{where}: {short}')
                sys.stdout.flush()
    print(f'{kernels_seen} kernels: {sums.had} fences, {sums.needed} needed, {sums.back} put back, '
          f'{sums.spare} spare, {sums.left} pairs left')
    print(f'where nothing was missing: {clean_needed} needed, {clean_back} put back, '
          f'weight {clean_weight} and {clean_back_weight}')
    print(f'{kernels_seen - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
