# SPDX-License-Identifier: Apache-2.0
"""Random control flow: kernels of four warps in which all lanes of a warp do the same, as text and as what each warp does.

A kernel is a list of blocks, each with operations and an end. A number is "n" or "m" (parameters), "warp", "half" (warp / 2),
"set" (half, or the lowest bit of the warp), "x0", "x1" (variables), "x0 & 3", "x0 + warp & 3" and so on, or "c3": how often the warp has
come to the end of block 3, if that ends in a loop. A condition is (number, test, constant or number) with a test of TESTS.
"""
import random

WARPS = 4
TESTS = {"even": lambda a, b: a % 2 == 0, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b}
# Conditions of branches, and how many rounds a loop makes; what stands there twice is drawn twice as often.
BRANCHES = ("warp even", "half even", "half even", "half even", "warp lt", "n even", "m even", "x even", "x even", "x even")
ROUNDS_FOR_ALL = ("one or two", "n", "x & 3")
ROUNDS = ("one or two", "warp", "n", "x & 3", "x + warp & 3", "set", "set", "set")
BAR, SET_BAR, FENCE, WRITE, COPY, MOV, ADD = "bar", "set bar", "fence", "write", "copy", "mov", "add"
LINES = {
    FENCE: "fence.proxy.async;",
    WRITE: "st.shared.u32 [tile], %thread;",
    COPY: "cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 1024;",
}
HEADER = [".version 8.3", ".target sm_90a", ".address_size 64"]


class Block:
    """operations: (name, ...); end: (condition, block where it holds, block otherwise), a block's index, or None: the warp ends."""

    def __init__(self, operations, end, loops=False):
        self.operations, self.end, self.loops = operations, end, loops


class Program:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.name = "k%d" % seed
        self.by_half = self.rng.random() < .67  # which warps make a set
        self.id_first = self.rng.random() < .5  # the id of a set's barrier is found once, or at each barrier
        self.guards = (None,) if self.rng.random() < .6 else (None, None, None, "n even", "half even", "warp even")
        self.one_loop = self.rng.random() < .5  # around all that stands in front of the last branch, left from within
        self.blocks = []
        self.make()

    def make(self):
        """Blocks that change variables and part the warps; then a branch on a variable between a write with a barrier behind it
        and a copy with one in front; then the end, or another round of that branch."""
        rng = self.rng
        head = rng.randint(2, 5) if self.one_loop else rng.randint(4, 8)
        for index in range(head):
            self.blocks.append(self.block(index, head))
        last = head + 3
        self.blocks.append(Block([], (self.condition("x even"), head + 1, head + 2)))
        bar = (rng.choice((BAR, SET_BAR)), None)
        self.blocks.append(Block([(WRITE,), bar], last))
        self.blocks.append(Block([bar, (COPY,)], last))
        operations = [(FENCE,)] if rng.random() < .75 else []
        if rng.random() < .7:
            operations.append((BAR, None))
        if rng.random() < .2:
            self.blocks.append(Block(operations, (self.rounds(last, ("one or two", "n")), head, last + 1), True))
        else:
            self.blocks.append(Block(operations, None))

    def block(self, index, after):
        """One of the blocks in front of `after`: its end leads there, further in them, or round. What one loop carries is mostly
        added to."""
        rng = self.rng
        operations = [self.operation() for _ in range(rng.choice((0, 1, 1, 2)))]
        behind = list(range(index + 1, after + 1))
        if self.one_loop:
            if index == after - 1:
                return Block(operations, (self.rounds(index, ROUNDS_FOR_ALL), 0, after), True)
            where, otherwise = rng.sample(behind[:2] + [after], 2)
            return Block(operations, (self.condition(rng.choice(BRANCHES)), where, otherwise))
        kind = rng.random()
        if kind < (.35 if index == after - 1 else .15):
            return Block(operations, rng.choice(behind[:2]))
        if kind < .6:
            where, otherwise = rng.sample(behind[:3], 2) if len(behind) > 1 else behind * 2
            return Block(operations, (self.condition(rng.choice(BRANCHES)), where, otherwise))
        return Block(operations, (self.rounds(index, ROUNDS), rng.randint(max(0, index - 3), index), rng.choice(behind[:2])), True)

    def operation(self):
        kind = self.rng.random()
        if kind < .1:
            guard = self.rng.choice(self.guards)
            return (BAR, guard and self.condition(guard))
        x = self.variable("x")
        return (MOV, x, self.rng.randrange(3)) if kind < (.2 if self.one_loop else .53) else (ADD, x, 1)

    def variable(self, words):
        """`words' with one of the variables for x."""
        return words.replace("x", self.rng.choice(("x0", "x1")))

    def condition(self, words):
        number, test = self.variable(words).split()
        return number, test, self.rng.randrange(WARPS) if test == "lt" else 2

    def rounds(self, index, choices):
        """The condition of another round of the loop that ends with block `index`."""
        rounds = self.rng.choice(choices)
        return "c%d" % index, "le", str(self.rng.randint(1, 2)) if rounds == "one or two" else self.variable(rounds)

    @staticmethod
    def number(state, words):
        """What `words` mean to a warp with these variables."""
        if words.endswith(" & 3"):
            return sum(state[word] for word in words[:-4].split(" + ")) % 4
        return int(words) if words.isdigit() else state[words]

    def set_of(self, warp):
        return warp // 2 if self.by_half else warp % 2

    def warp(self, warp, n, m, steps):
        """What a warp does: yields (WRITE or COPY, its line), (FENCE, None), (BAR,), (SET_BAR, set); None after so many blocks."""
        state = {"warp": warp, "half": warp // 2, "set": self.set_of(warp), "n": n, "m": m, "x0": 0, "x1": 0}

        def holds(condition):
            number, test, other = condition
            return TESTS[test](self.number(state, number), self.number(state, str(other)))
        at = 0
        for _ in range(steps):
            block = self.blocks[at]
            for operation, *values in block.operations:
                if operation in (BAR, SET_BAR):
                    if values[0] is None or holds(values[0]):
                        yield (BAR,) if operation == BAR else (SET_BAR, state["set"])
                elif operation == MOV:
                    state[values[0]] = values[1]
                elif operation == ADD:
                    state[values[0]] += values[1]
                else:
                    yield operation, self.lines.get((at, operation))
            if block.loops:
                state["c%d" % at] = state.get("c%d" % at, 0) + 1
            at = block.end
            if isinstance(at, tuple):
                at = at[1] if holds(at[0]) else at[2]
            if at in (None, len(self.blocks)):
                return
        yield None

    def text(self):
        """The kernel's lines. Sets `lines`: where, from 1 for its first, each write and copy stands."""
        self.temporaries = 0
        self.lines = {}
        self.out = [
            ".visible .entry %s(.param .u64 out, .param .u32 n, .param .u32 m)" % self.name, ".reqntid %d, 1, 1" % (32 * WARPS), "{",
            ".reg .pred %p<200>;", ".reg .b32 %t<200>, %x<2>, %c<20>, %n, %m, %thread, %warp, %set, %id;", ".reg .b64 %out;",
            ".shared .align 128 .b8 tile[1024];", "ld.param.u64 %out, [out];", "ld.param.u32 %n, [n];", "ld.param.u32 %m, [m];",
            "mov.u32 %thread, %tid.x;", "shr.u32 %warp, %thread, 5;", "shr.u32 %set, %thread, 6;" if self.by_half else "and.b32 %set, %warp, 1;",
            "add.u32 %id, %set, 1;", "mov.u32 %x0, 0;", "mov.u32 %x1, 0;"]
        self.out += ["mov.u32 %%c%d, 0;" % i for i, block in enumerate(self.blocks) if block.loops]
        for index, block in enumerate(self.blocks):
            self.out.append("L%d:" % index)
            for operation in block.operations:
                self.put_operation(index, *operation)
            self.put_end(index, block)
        self.out += ["L%d:" % len(self.blocks), "ret;", "}"]
        return self.out

    def put_operation(self, index, operation, *values):
        if operation in (BAR, SET_BAR):
            guard = "@%s " % self.put_condition(values[0]) if values[0] else ""
            if operation == BAR:
                which = "0"
            else:
                which = "%s, %d" % ("%id" if self.id_first else self.put("add.u32 {}, %set, 1;"), 16 * WARPS)
            self.out.append("%sbar.sync %s;" % (guard, which))
        elif operation == MOV:
            self.out.append("mov.u32 %%%s, %d;" % values)
        elif operation == ADD:
            self.out.append("add.u32 %%%s, %%%s, %d;" % (values[0], values[0], values[1]))
        else:
            self.out.append(LINES[operation])
            self.lines[index, operation] = len(self.out)

    def put_end(self, index, block):
        if block.loops:
            self.out.append("add.u32 %%c%d, %%c%d, 1;" % (index, index))
        if block.end is None:
            self.out.append("ret;")
        elif isinstance(block.end, tuple):
            condition, where, otherwise = block.end
            self.out += ["@%s bra L%d;" % (self.put_condition(condition), where), "bra L%d;" % otherwise]
        else:
            self.out.append("bra L%d;" % block.end)

    def put(self, line):
        """Puts a line that sets a new register, which it names."""
        self.temporaries += 1
        register = "%%%s%d" % ("p" if line.startswith("setp") else "t", self.temporaries)
        self.out.append(line.format(register))
        return register

    def put_number(self, words):
        if words.endswith(" & 3"):
            first, *second = ["%" + word for word in words[:-4].split(" + ")]
            return self.put("and.b32 {}, %s, 3;" % (self.put("add.u32 {}, %s, %s;" % (first, second[0])) if second else first))
        if words == "half":
            return self.put("shr.u32 {}, %warp, 1;")
        return words if words.isdigit() else "%" + words

    def put_condition(self, condition):
        number, test, other = condition
        if test == "even":
            return self.put("setp.eq.u32 {}, %s, 0;" % self.put("and.b32 {}, %s, 1;" % self.put_number(number)))
        return self.put("setp.%s.u32 {}, %s, %s;" % (test, self.put_number(number), self.put_number(str(other))))
