"""What expressions mean: every path is a run of CPython, and every run is one path."""

from __future__ import annotations

import random
import textwrap
from fractions import Fraction

import pytest

F = Fraction
TEXTS = """
# decimal
return (0.1 + 0.2 == 0.3, 1e-3, 1_000, 1_0.5_0, .5, 5., 2E2, 0x10, 0b11)

# quotients
return (7 / 2, 1 / 3 * 3, x / 7, (x + 1) / (x - 10))

# floors
return (7 // 2, -7 // 2, 7 // -2, -7 // -2, 7.5 // 2, -0.5 // 0.2, x // 3)

# modulo
return (7 % 3, -7 % 3, 7 % -3, -7 % -3, 7.5 % 2, -0.5 % 0.3, x % 3)

# powers
return (2 ** 3, 2 ** -2, -2 ** 2, (-2) ** 3, 0.5 ** 2, 2 ** 3 ** 2, x ** 0)

# rounds
return (round(0.5), round(1.5), round(2.5), round(-0.5), round(-1.5), round(7 / 3),
        round(2.675, 2), round(1234, -2), round(0.125, 2), round(True))

# integers
return (int(2.7), int(-2.7), int(True), float(3), bool(0), bool(0.5), bool(''))

# signs
return (+x, -x, +True, -True, - - x, +0.5, abs(-x), abs(True), abs(False))

# order
return (1 + 2 * 3 - 4 / 2, (1 + 2) * 3, 2 * 3 % 4, -3 ** 2, 1 - 2 - 3, 2 / 2 / 2)

# truth values
return (True + True, True * 3, sum([True, False, True]), True == 1, 1 / True)

# booleans as places
a = [5, 6]
return (a[True], a[x > 0], (1, 2)[False])

# chains
return (1 < 2 < 3, 1 < 3 < 2, 3 > 2 > 1, 1 < 2 > 0, 1 == 1.0 == True, 1 != 2 != 1)

# chain of draws
z = noise.laplace(1)
return 0 <= z < 1 or z < -2

# chains evaluate once
def g(a):
    a.append(1)
    return len(a)

def f(x):
    a = []
    b = 0 < g(a) < 2
    c = 5 < g(a) < g(a)
    return (b, c, len(a))

# and or
return (0 or 5, 0 and 5, 3 and 5, 3 or 5, None or '', [] or (), not 0, not [0])

# short circuits
return (x > 100 and 1 / 0 > 1, x < 100 or 1 / 0 > 1, False and 1 / 0)

# short circuits draw
return noise.flip(1/3) and noise.flip(1/4) or noise.laplace(1) > x

# ands in a row
return 1 and 2 and 0 and 1 / 0 or 7 or 1 / 0

# conditional
return (1 if x > 0 else 1 / 0, 1 / 0 if x > 100 else 2, 1 if x else 2)

# conditional draws
return noise.exponential(2) if noise.flip(1/2) else -noise.exponential(1)

# nested conditional
return 1 if x > 5 else 2 if x > 2 else 3 if x > 0 else 4

# texts
return ('a' < 'b', 'a' + 'b', 'ab' == 'a' 'b', len('abc'), 'b' >= 'b', 'B' <= 'a')

# none
y = None
return (y is None, y is not None, y == 0, y != 0, None == None, not y)

# membership
return (1 in [1, 2], 3 in (1, 2), 3 not in [1], [1] in [[1]], 1 in range(2), None in [0],
        True in [1], 2 not in range(0, 9, 3))

# draws are members of nothing
z = noise.laplace(1)
return (z in [1, 2], z in [z], z == 2)

# equal
return ([1] == [1], [1] == (1,), (1, 2) == (1, 2), [1] != [2], 'a' == 1, [] == [], [[1],
        2] == [[1], 2], None == [], 0 == False, (1, [2]) != (1, [2]))

# equal draws
z = noise.laplace(1)
y = z + 1
return (z == y, z == y - 1, [z] == [z])

# comparisons of draws
z = noise.laplace(1)
y = noise.uniform(-1, x)
return (z > y, z >= y, y < 2 * z, (z - z) > 0, 0 <= z - z)

# the same comparison
z = noise.laplace(1)
a = z > 0
b = z > 0
c = 0 >= z
return (a, b, c, z - 1 > -1)

# arithmetic of draws
z = noise.gauss(1)
return (2 * z - z / 2 + 1, -z, z * True, +z - 0)

# affine
z = noise.laplace(2)
y = noise.uniform(0, 1)
w = 3 * (z - y) / 2 - z * 1.5
return (w, w + 1.5 * y, sum([z, y, w]), z + y - z)

# abs of draws
z = noise.laplace(2)
return abs(z - 1)

# clamp
z = noise.laplace(2)
return max(0, min(z, x))

# max of draws
return max([noise.laplace(1), noise.exponential(2), 0])

# ties
return (max(1, 1.0), max((1, 2)), min([3, True, 2]), max(True, 1), max(1, True), min(0, False))

# quantifiers
return (any([]), all([]), any([0, 1]), all([1, 0]), any([noise.flip(1/2), 0]))

# sums
return (sum([]), sum([1, 2], 10), sum((0.1, 0.2)), sum([[1], [2]], []), sum(range(x)))

# scales
return noise.laplace(1 / (x + 1)) + noise.uniform(a=-x - 1, b=x) + noise.laplace(scale=2)

# discrete
return noise.discrete({'no': 0.25, 'yes': 0.5, None: 1/4})

# discrete numbers
return noise.discrete({-1: x / 100, 0: 0, 2: 1 - x / 100}) * 2

# flips
return (noise.flip(0), noise.flip(1), noise.flip(0.3), noise.flip(x / 100))

# geometric
return x + noise.geometric(1/3) - noise.geometric(p=1)

# fractions
return Fraction(1, 3) + Fraction(2) - Fraction(x, 7)

# lengths
return (len([1, 2]), len(()), len({1: 2}), len('ab'), len(range(3)), len([[]]))

# copies
a = [1]
b = list(a)
c = tuple(a)
a.append(2)
return (a, b, c, list(), tuple())

# ranges
return (list(range(3)), list(range(1, 3)), list(range(3, 0, -2)), tuple(range(0)),
        list(range(x, -1, -2)), list(range(3, 3)))
"""
PROGRAMS = {
    name: body
    for name, _, body in (part.partition("\n") for part in TEXTS.strip("# \n").split("\n\n# "))
}


def text_of(body):
    if "def f(" not in body:
        body = "def f(x):\n" + textwrap.indent(body, "    ")
    head = "from fractions import Fraction\n" if "Fraction(" in body else ""
    return f"from tollens import noise\n{head}\n\n{body}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(oracle, name):
    rng = random.Random(name)
    for x in (F(4), F(1)):
        oracle.agree(rng, text_of(PROGRAMS[name]), x)


def test_a_wrong_meaning_is_noticed(oracle, monkeypatch):
    from tollens.checker import values

    wrong = values.arithmetic
    monkeypatch.setattr(
        "tollens.checker.operations.arithmetic",
        lambda op, a, b: F(int(a / b)) if op == "//" else wrong(op, a, b),
    )
    with pytest.raises(AssertionError):
        oracle.agree(random.Random(1), text_of(PROGRAMS["floors"]), F(4))
