"""Random programs of the subset, against runs of CPython."""

from __future__ import annotations

import random
from fractions import Fraction

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tollens.checker.errors import Refused

F = Fraction

HELPERS = """
from tollens import noise

K = [1, -2, 3]
E = 0.5

def first(a, b=2):
    if a > b:
        return b
    return a - b / 4

def grow(v, a=1):
    v.append(a)
    for w in v:
        if w == 2:
            return len(v)
    return -len(v)

def coin(p=0.5):
    return 1 if noise.flip(p) else 0
"""


REASONS = (
    "has no value yet", "0 items", "would raise", "depends on a continuous draw", "whole number",
    "division by 0", "values for", "a draw as a condition",
)  # fmt: skip


class Writer:
    """Writes one program: whole numbers i, j, n, numbers a, b, z, lists u, v."""

    def __init__(self, rng):
        self.rng, self.lines, self.draws, self.loops = rng, [], 0, 0

    def text(self):
        self.line(1, "i, j, n, a, b, z = 1, 0, 2, x, 1 / 2, -x")
        self.line(1, "u, v = [1, 2], [x]")
        for name in self.rng.sample(("a", "b", "z"), 2):
            self.line(1, f"{name} = {self.draw()}")
        self.block(1, 6, within=False)
        self.block(1, 6, within=False)
        self.line(1, f"return ({self.number(2)}, {self.number(1)}, i, j, a, b, z, u, v, n)")
        return HELPERS + "\ndef f(x):\n" + "\n".join(self.lines) + "\n"

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def block(self, depth, size, within):
        for _ in range(self.rng.randint(1, size)):
            self.statement(depth, within)

    def one(self, *choices):
        return self.rng.choice(choices)

    def whole(self, depth=1):
        r = self.one
        if depth == 0:
            return r("i", "j", "n", "0", "1", "2", "-1", "len(u)", "len(v)", "len(K)")
        a, b = self.whole(depth - 1), self.whole(depth - 1)
        return r(a, f"({a} + {b})", f"({a} - {b})", f"{a} * {b}", f"{a} // 2", f"{a} % 3", f"-{a}",
                 f"abs({a})", f"max({a}, {b})", f"({a} if {self.test(0)} else {b})")  # fmt: skip

    def number(self, depth=1):
        r = self.one
        if depth == 0:
            return r("i", "n", "a", "b", "z", "0.1", "2", "E", "x")
        a, b = self.number(depth - 1), self.number(depth - 1)
        return r(a, a, f"({a} + {b})", f"({a} - {b})", f"2 * ({a})", f"({a}) / 3", f"-({a})",
                 f"first({a}, b={b})", f"first({a})", f"min({a}, {b})", f"+({a})",
                 f"({a} if {self.test(1)} else {b})", f"sum([{a}, {b}])", f"K[{self.place('K')}]",
                 f"sum(s * 2 for s in u if s != {self.whole(0)})")  # fmt: skip

    def place(self, name):
        return self.one("0", "-1", "1", f"{self.whole(0)} % len({name})")

    def test(self, depth=1):
        r = self.one
        if depth == 0:
            return r("i > j", "n % 2 == 0", "j != 2", "len(u) < 4", "i in v", "not u", "0 <= i < n")
        a, b = self.number(depth - 1), self.number(depth - 1)
        return r(f"{a} > {b}", f"{a} <= {b}", f"{a} < {b} < {self.number(0)}", self.test(0),
                 f"{self.test(0)} and {self.test(0)}", f"{self.test(0)} or {a} > {b}",
                 f"not {self.test(0)}", f"any(s == {self.whole(0)} for s in u)",
                 f"all(s > {a} for s in K[1:])", "u == v", "u is None", f"{a} == {b}")  # fmt: skip

    def draw(self):
        self.draws += 1
        return self.one("noise.laplace(1)", "noise.exponential(2)", "noise.uniform(-1, 2)",
                        "coin()", "noise.flip(1/3) + 0", "coin(p=0.25)",
                        "noise.discrete({1: 1/2, -2: 0.5})",
                        "noise.laplace(scale=1/2)")  # fmt: skip

    def statement(self, depth, within):
        kind = self.rng.random()
        names = ("i", "j", "n")
        if kind < 0.35 and self.draws < 4:
            self.line(depth, f"{self.one('a', 'b', 'z')} {self.one('=', '+=', '-=')} {self.draw()}")
        elif kind < 0.6:
            self.line(depth, self.simple(names))
        elif kind < 0.85 and depth < 4:
            self.compound(depth, within)
        elif within and kind < 0.95:
            self.line(depth, f"if {self.test()}:")
            self.line(depth + 1, self.one("break", "continue", "return a", "return (i, u)"))
        else:
            self.line(depth, self.simple(names))

    def simple(self, names):
        r, w = self.one, self.one("u", "v")
        return r(
            f"{r(*names)} = {self.whole()}", f"{r('a', 'b', 'z')} = {self.number(2)}",
            f"{r(*names)} += {self.whole(0)}", f"{r('a', 'b')} *= {r('2', '1/2', '-1')}",
            "a, b = b, a", "i, (j, n) = n, [i, j]", "u, v = v, u", "u = v", "u = v[:]",
            "v = list(u)", "d = {0: i, 'k': u}", f"b = max({self.number(0)}, {self.number(0)})",
            f"{w}.append({self.whole()})", f"{w} += [{self.number(0)}]", f"{w} = {w} + [1]",
            f"{w}[{self.place(w)}] = {self.number(0)}", f"{w}[{self.place(w)}] += 1",
            f"i = grow({w}, a={self.whole(0)})", f"u = [s + {self.whole(0)} for s in {w}]",
            f"v = [i * s for i, s in enumerate({w}) if s != 1]",
            f"{w} = {w}[{r('1:', ':1', '-2:')}]",
        )  # fmt: skip

    def compound(self, depth, within):
        kind = self.rng.randint(0, 3)
        if kind == 0 or self.loops == 2:
            self.line(depth, f"if {self.test(2)}:")
            self.block(depth + 1, 2, within)
            if self.rng.random() < 0.6:
                self.line(depth, self.one("else:", f"elif {self.test()}:"))
                self.block(depth + 1, 2, within)
            return
        self.loops += 1
        if kind == 1:
            loop = self.one("for i in range(2):", "for s in u:", "for j, s in enumerate(v[:2]):",
                            "for s, n in zip(u, K):", "for i in (2, 0, 1):")  # fmt: skip
            self.line(depth, loop)
            self.line(depth + 1, "if len(u) > 4: break")
        else:
            self.line(depth, self.one("while True:", f"while {self.test()}:"))
            self.line(depth + 1, "n += 1")
            self.line(depth + 1, "if n > 3: break")
        self.block(depth + 1, 3, within=True)


@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.sampled_from([F(1), F(3, 2), F(-2)]))
def test_random_programs(oracle, rng, x):
    text = Writer(rng).text()
    try:
        if len(oracle.agree(random.Random(text), text, x, rounds=12, tries=60)) < 100:
            oracle.same_law(text, x)
    except Refused as refused:  # it would raise, or a draw is where only numbers may be
        assert any(reason in str(refused) for reason in REASONS), (text, refused)
    except oracle.Many:
        pass
