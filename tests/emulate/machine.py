# SPDX-License-Identifier: Apache-2.0
"""One cluster that runs: threads, memory, barriers, and what each thread has heard.

Each thread has two vector clocks, arrays with an entry a thread. `heard[t]`: accesses of thread t in epochs up to it happen before
what this thread does now (ISA 8.9, causality). `fenced[t]`: of these, what stands in front of a proxy fence on the way,
so that the async proxy sees it. A release hands both on, an acquire joins them, `fence.proxy.async` lets `fenced`
catch up. An async access that meets bytes of a generic one that its thread has heard of and that is not fenced is an edge.
"""
import random

SHARED, PARAM, LOCAL, GLOBAL = 0x7000_0000_0000, 0x6000_0000_0000, 0x5000_0000_0000, 0x1000_0000_0000
STORES = 16  # mbarriers at which stores of the kind st.async end, at most
LEAST = 16  # bytes that a tensor copy of unknown size certainly touches, at the least


class Unsupported(Exception):
    pass


class Ended(Exception):
    """The run goes no further; what was seen holds."""


ASKS = "asks"  # a wait that has not been answered yet


class Token:
    """What a thread waits for."""

    def __init__(self):
        self.done = False
        self.result = None


class Clock:
    def __init__(self, n):
        self.heard, self.fenced = [0] * n, {"shared": [0] * n, "global": [0] * n}

    def copy(self):
        c = Clock(0)
        c.heard, c.fenced = self.heard[:], {space: f[:] for space, f in self.fenced.items()}
        return c

    def join(self, other):
        self.heard = list(map(max, self.heard, other.heard))
        for space, f in other.fenced.items():
            self.fenced[space] = list(map(max, self.fenced[space], f))


class Thread:
    def __init__(self, number, rank, within, shape, size):
        self.number, self.rank = number, rank
        self.tid = within % shape[0], within // shape[0] % shape[1], within // (shape[0] * shape[1])
        self.lane, self.warp = within % 32, (rank, within // 32)
        self.pc, self.regs, self.wait, self.alive, self.asked = 0, {}, None, True, False
        self.clock = Clock(size)
        self.clock.heard[number] = 1
        self.met = None  # the token of its arrive at the cluster's barrier
        self.copies, self.groups = [], []  # cp.async: of the open group; groups that are committed
        self.local = {}
        self.published, self.read = {}, {}  # by scope: clock at its last fence; what its strong reads met

    def release(self):
        c = self.clock.copy()
        self.clock.heard[self.number] += 1
        return c

    def fence(self, spaces):
        for space in spaces:
            self.clock.fenced[space] = self.clock.heard[:]
        self.clock.heard[self.number] += 1


class History:
    """Generic accesses of one line: (address, end, thread, epoch) of each, by pieces of 128 bytes."""

    def __init__(self, writes):
        self.rows, self.writes = {}, writes

    def add(self, address, size, thread, epoch):
        row = (address, address + size, thread, epoch)
        for piece in range(address >> 7, (address + size - 1 >> 7) + 1):
            self.rows.setdefault(piece, set()).add(row)

    def meets(self, address, end, clock):
        """Whether an access that the thread has heard of and that is not fenced touches bytes of them."""
        heard, fenced = clock.heard, clock.fenced["shared" if address >= SHARED else "global"]
        for piece in range(address >> 7, (end - 1 >> 7) + 1):
            for low, high, thread, epoch in self.rows.get(piece, ()):
                if low < end and high > address and fenced[thread] < epoch <= heard[thread]:
                    return True
        return False


class Mbarrier:
    def __init__(self, count, size):
        self.count = self.pending = count
        self.phase, self.tx, self.size = 0, 0, size
        self.coming, self.last = Clock(size), Clock(size)
        self.copies = []  # of unknown size, of this phase

    def step(self):
        if self.pending == 0 and self.tx == 0:
            self.complete()

    def complete(self):
        self.last, self.coming = self.coming, Clock(self.size)
        self.phase, self.pending, self.tx, self.copies = self.phase + 1, self.count, 0, []


class Meeting:
    """One round of a named barrier."""

    def __init__(self, size):
        self.came, self.clock, self.token, self.votes = 0, Clock(size), Token(), []


class Machine:
    def __init__(self, shape, cluster, most_steps, seed=0, stores=STORES):
        within = shape[0] * shape[1] * shape[2]
        self.shape, self.cluster, self.within = shape, cluster, within
        self.ranks = cluster[0] * cluster[1] * cluster[2]
        self.n = within * self.ranks
        self.size = self.n + stores  # of a clock: a store that ends at an mbarrier is in no thread's program order
        self.threads = [Thread(i, i // within, i % within, shape, self.size) for i in range(self.n)]
        self.of_warp = {}
        for t in self.threads:
            self.of_warp.setdefault(t.warp, []).append(t)
        self.bytes, self.mbarriers, self.meetings, self.warps = {}, {}, {}, {}
        self.variables = []  # (begin, end) of those in a CTA's shared memory
        self.flags, self.slots = {}, {}  # address: what its last strong write carries; mbarrier: its place in a clock
        self.random, self.rounds, self.pace = random.Random(seed) if seed else None, 0, {}
        self.history, self.edges, self.steps, self.changes, self.most = {}, set(), 0, 0, most_steps

    # ---- memory: bytes by address, 0 where nothing was written ----

    def bytes_of(self, thread, address):
        return thread.local if LOCAL <= address < PARAM else self.bytes

    def load(self, thread, address, size):
        b = self.bytes_of(thread, address)
        value = 0
        for i in range(size):
            value |= b.get(address + i, 0) << (8 * i)
        return value

    def store(self, thread, address, size, value):
        b = self.bytes_of(thread, address)
        for i in range(size):
            b[address + i] = value >> (8 * i) & 255

    def generic(self, thread, line, address, size, writes):
        if LOCAL <= address < PARAM:
            return
        h = self.history.get(line)
        if h is None:
            h = self.history[line] = History(writes)
        h.add(address, size, thread.number, thread.clock.heard[thread.number])

    def is_async(self, clock, line, address, size, reads, writes):
        for other, h in self.history.items():
            if (writes or (reads and h.writes)) and (other, line) not in self.edges and h.meets(address, address + size, clock):
                self.edges.add((other, line))

    def end_of_variable(self, address):
        """An access never leaves the variable that it is based on."""
        rank, offset = address & ~0xffffff, address & 0xffffff
        return next((rank + end for begin, end in self.variables if begin <= offset < end), address)

    # ---- flags in memory: release and acquire patterns (ISA 8.8) ----

    def reaches(self, scope, writer, reader):
        return scope != "cta" or writer.rank == reader.rank

    def publish(self, thread, scope):
        self.changes += 1
        thread.published[scope] = thread.release()

    def strong_write(self, thread, address, release, more):
        """release: its scope or None. more: an atomic carries on what is there."""
        here = self.flags.get(address, []) if more else []
        out = [(s, thread, c) for s, c in thread.published.items()]
        if release:
            out.append((release, thread, thread.release()))
        self.flags[address] = here + out

    def strong_read(self, thread, address, acquire):
        for scope, writer, clock in self.flags.get(address, ()):
            if self.reaches(scope, writer, thread):
                if acquire and self.reaches(acquire, writer, thread):
                    thread.clock.join(clock)
                thread.read[id(clock)] = (writer, clock)

    def fence_of_memory(self, thread, scope):
        for key, (writer, clock) in list(thread.read.items()):
            if self.reaches(scope, writer, thread):
                thread.clock.join(clock)
                del thread.read[key]
        self.publish(thread, scope)

    def handed_over(self, thread, relaxed):
        """By an arrive: a relaxed one hands over what its thread's last fences have, towards other CTAs not that of the CTA alone."""
        if not relaxed:
            return thread.release()
        c = Clock(self.size)
        for scope, published in thread.published.items():
            if scope != "cta" or self.ranks == 1:
                c.join(published)
        return c

    def hear(self, thread, clock, relaxed):
        """By a wait: behind a relaxed one a fence of this CTA acquires it, if that is the only CTA."""
        if not relaxed:
            thread.clock.join(clock)
        elif self.ranks == 1:
            thread.read[id(clock)] = (thread, clock)

    def ends_at(self, line, address, size, mbarrier):
        """A generic store that is seen by those who wait for the mbarrier, and by nobody before."""
        b = self.mbarrier(mbarrier)
        slot = self.slots.setdefault(mbarrier, self.n + len(self.slots))
        if slot >= self.size:
            raise Ended("more mbarriers of stores than places in a clock")
        self.history.setdefault(line, History(True)).add(address, size, slot, b.phase + 1)
        b.coming.heard[slot] = b.phase + 1
        b.tx -= size
        self.changes += 1
        b.step()

    # ---- copies whose size only the mbarrier tells ----

    def tensor_copy(self, thread, line, address, mbarrier):
        self.mbarrier(mbarrier).copies.append((address, line, thread.clock.copy()))

    def settle(self, m):
        """All copies of the phase were issued: their bytes are those that the phase expects."""
        copies = sorted(m.copies, key=lambda c: c[0])
        gaps = [b[0] - a[0] for a, b in zip(copies, copies[1:])]
        close = all(gap > 0 for gap in gaps) and sum(gaps) < m.tx
        sizes = gaps + [m.tx - sum(gaps)] if close else [LEAST] * len(copies)
        for (address, line, clock), size in zip(copies, sizes):
            self.is_async(clock, line, address, size, False, True)
        m.complete()

    def mbarrier(self, address):
        if address not in self.mbarriers:
            self.mbarriers[address] = Mbarrier(1, self.size)  # the text shows a part of a kernel
        return self.mbarriers[address]

    # ---- barriers ----

    def alive(self, rank):
        """Threads that have not ended, of a CTA or (None) of all."""
        return sum(t.alive for t in self.threads if rank is None or t.rank == rank)

    def come(self, thread, name, count, relaxed=False, vote=None):
        """name: (rank or None for the cluster, number). The token's result is what all have released."""
        m = self.meetings.setdefault(name, Meeting(self.size))
        m.came, m.need = m.came + 1, count
        m.votes.append(vote)
        m.clock.join(self.handed_over(thread, relaxed))
        self.changes += 1
        self.try_meeting(name)
        return m.token

    def try_meeting(self, name):
        m = self.meetings[name]
        if m.came >= (m.need if m.need is not None else self.alive(name[0])):
            m.token.result, m.token.done = (m.clock, m.votes), True
            del self.meetings[name]

    def gather(self, thread, pc, mask, value, finish, meets):
        """Lanes of `mask` come to one place; then finish({lane: value}) gives {lane: result}."""
        key = thread.warp, pc, mask
        here, token = self.warps.setdefault(key, ({}, Token()))
        here[thread.lane] = (thread, value)
        lanes = {t.lane for t in self.of_warp[thread.warp] if t.alive and mask >> t.lane & 1}
        if lanes <= set(here):
            token.result = finish({lane: v for lane, (_, v) in here.items()})
            if meets:
                clock = Clock(self.size)
                for t, _ in here.values():
                    clock.join(t.release())
                for t, _ in here.values():
                    t.clock.join(clock)
            token.done = True
            del self.warps[key]
        return token

    # ---- the run ----

    def run(self, code):
        still = False  # the last round changed nothing: the next one is of all threads
        while any(t.alive for t in self.threads):
            before = self.changes
            for t in self.threads:
                t.asked = False
            whole = still or not self.random
            for t, length in [(t, 256) for t in self.threads] if whole else self.turns():
                if t.alive:
                    self.run_thread(t, code, length)
            still = before == self.changes
            quiet = whole and all(t.asked or t.wait and not t.wait.done for t in self.threads if t.alive)
            if before == self.changes and quiet and not self.help():
                raise Ended("all threads wait")

    def help(self):
        """What else can happen: copies end, those who have ended come to no barrier."""
        ripe = [m for m in self.mbarriers.values() if m.pending == 0 and m.copies and m.tx > 0]
        for m in ripe:
            self.settle(m)
        if ripe:
            return True
        for name in list(self.meetings):
            self.try_meeting(name)
        return any(t.wait and t.wait.done for t in self.threads)

    def turns(self):
        """Threads of one round and how far each goes: warps hurry or lag for some rounds, lanes in any order."""
        if self.rounds % 16 == 0:
            self.pace = {warp: self.random.choice((0.1, 0.5, 1)) for warp in self.of_warp}
        self.rounds += 1
        length, warps = self.random.choice((4, 32, 256)), list(self.of_warp)
        self.random.shuffle(warps)
        turns = []
        for warp in warps:
            if self.random.random() < self.pace[warp]:
                lanes = self.of_warp[warp][:]
                self.random.shuffle(lanes)
                turns += [(t, length) for t in lanes]
        return turns

    def run_thread(self, t, code, length):
        for _ in range(length):
            if t.wait:
                if not t.wait.done:
                    return
                token, t.wait = t.wait, None
                if code[t.pc][1]:
                    code[t.pc][1](t, token.result)
                t.pc += 1
                continue
            if t.pc >= len(code):
                return self.end(t)
            self.steps += 1
            if self.steps > self.most:
                raise Ended("too many steps")
            went = code[t.pc][0](t)
            if went is None:
                t.pc += 1
            elif went is ASKS:
                t.pc += 1
                t.asked = True
                return
            elif isinstance(went, Token):
                self.changes += 1
                t.wait = went
            elif went < 0:
                return self.end(t)
            else:
                t.pc = went

    def end(self, t):
        t.alive = False
        self.changes += 1
