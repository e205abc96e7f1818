"""Branches, loops, calls, yields and constants of the file, against runs of CPython."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

F = Fraction
PROGRAMS = {
    "elif": """
def f(x):
    if x > 5:
        return 1
    elif x > 2:
        y = 2
    elif x > 1:
        y = 0
        pass
    else:
        y = 4
    return y
""",
    "a return ends nested loops": """
def f(x):
    for i in range(3):
        for j in range(3):
            while True:
                if i * j == 2:
                    return (i, j)
                break
            if j > i:
                continue
    return None
""",
    "break and continue": """
def f(x):
    seen = []
    for i in range(5):
        if i == 1:
            continue
        for j in range(5):
            if j == 2:
                break
            if noise.flip(1/2):
                continue
            seen.append((i, j))
        if i == 3:
            break
    return seen
""",
    "while": """
def f(x):
    n = 0
    while x > 1:
        x = x / 2 if x % 2 == 0 else 3 * x + 1
        n += 1
    return n
""",
    "while true": """
def f(x):
    while True:
        x -= 1
        if x < 0:
            break
        if x == 2:
            continue
        if noise.flip(1/3):
            return x
    return 'end'
""",
    "a loop without turns": """
def f(x):
    for i in []:
        return 1
    while x < 0:
        x = 1 / 0
    return x
""",
    "the target stays": """
def f(x):
    for i in range(3):
        i = i + 10
    return i
""",
    "coins until one": """
def f(x):
    n = 0
    while noise.flip(2/3):
        n += 1
    return n
""",
    "a walk with noise": """
def f(x):
    n = 0
    while x >= 0 and n < 3:
        x += -1 + noise.laplace(1/2)
        n += 1
    return n
""",
    "sparse vector": """
def f(x):
    out = []
    bound = noise.laplace(2)
    for q in [x, x + 1, 0]:
        if q + noise.laplace(4) >= bound:
            out.append(True)
            break
        out.append(False)
    return out
""",
    "noisy max": """
def f(x):
    best, where = None, -1
    for i, q in enumerate([x, 1, 2]):
        noisy = q + noise.exponential(2)
        if best is None or noisy > best:
            best, where = noisy, i
    return where
""",
    "yields": """
def f(x):
    yield x
    for i in range(2):
        z = noise.laplace(1)
        if z > i:
            yield (i, z)
            return
        yield
    yield [x, i]
""",
    "a yield keeps what it saw": """
def f(x):
    a = (1, x)
    yield a
    a = a + (2,)
    yield a
""",
    "a generator without yields on the way": """
def f(x):
    if x < 0:
        yield 1
""",
    "calls": """
def f(x):
    return g(x, 2) + g(y=1, x=5) + g(x)

def g(x, y=10):
    return h(x) - y

def h(x):
    if x > 3:
        return x
    return 2 * x
""",
    "a call that returns nothing": """
def f(x):
    return (g(x), 1)

def g(x):
    if x > 100:
        return 3
""",
    "a return from loops of a call": """
def f(x):
    return [g(i) for i in range(3)]

def g(n):
    for i in range(n):
        for j in [1, 2]:
            if i + j == 2:
                return (i, j)
    return n
""",
    "arguments are evaluated as written": """
def f(x):
    a = []
    b = h(y=g(a), x=len(a), z=g(a))
    return (a, b)

def g(a):
    a.append(len(a))
    return a[-1]

def h(x, y, z):
    return (x, y, z)
""",
    "defaults": """
def f(x=7, y=0.25, z='no', w=-1, v=None, u=True):
    return (x, y, z, w, v, u)
""",
    "all arguments have defaults": """
def f(x=5, k=7):
    return g() + g(1) + g(b=1) + x + k

def g(a=100, b=10):
    return a - b
""",
    "constants": """
A = 1
B, C = A + 1, 'c'
D: float = B / 3
E = [A, (B, [C])]
F = {1: 'a', 'k': E}
G = [i * i for i in (1, 2, 3) if i > A]
H = None if A > 0 else 5

def f(x):
    return (A, B, C, D, E, F, F[1], F['k'][1], G, H, len(F), E == [1, (2, ['c'])], G[-1] + x)
""",
    "constants are not changed by names of the same kind": """
A = 1
B = [1, 2]

def f(x):
    return (g(5), A, [B for B in (1, 2)][0], h())

def g(A):
    A = A + 1
    return A

def h():
    C = B + [A]
    return C
""",
    "one list of the file": """
A = [1, 2]
B = A

def f(x):
    C = A[:]
    C.append(g(B))
    return (C, A == B, A)

def g(D):
    return len(D)
""",
    "a function with a name of Python": """
def max(a, b):
    return a - b

def len(a):
    return 7

def f(x):
    return (max(1, 2), len([]), min(1, 2), sum([1]))
""",
    "names of noise": """
from tollens.noise import laplace as lap, flip
import tollens.noise as n
import tollens
from tollens import noise as m

def f(x):
    return (lap(1) > 0, flip(1/4), n.flip(p=1/5), tollens.noise.flip(1/6), m.exponential(scale=x))
""",
    "a promise": """
import tollens

@tollens.promise(epsilon=1)
def f(x: int) -> float:
    '''Says what it does.'''
    return x + noise.laplace(1)
""",
    "a main block": """
A = 3

def f(x):
    return A

if __name__ == "__main__":
    print(f(1))
""",
    "draws in calls": """
def f(x):
    return g(g(x)) > 0

def g(x):
    z = noise.laplace(1)
    return z if z > x else x - 1
""",
    "draws that decide twice": """
def f(x):
    z = noise.uniform(-1, 1)
    a = 1 if z > 0 else 2
    b = 1 if z > 1/2 else 2
    c = 1 if z > -1/2 else 2
    return 100 * a + 10 * b + c
""",
    "a draw thrown away": """
def f(x):
    noise.laplace(1)
    noise.flip(1/2)
    return noise.geometric(1/2) > 1
""",
    "chance from a draw": """
def f(x):
    p = noise.discrete({0.25: 1/2, 0.75: 1/2})
    return (p, noise.flip(p), noise.laplace(p) > 0)
""",
    "several heads": """
def f(x):
    a = b = 0
    while noise.flip(1/2):
        a += 1
        while noise.flip(1/3):
            b += a
    return (a, b)
""",
    "redraw": """
def f(x):
    while True:
        z = noise.uniform(-1, 2)
        if 0 <= z <= x:
            return z
""",
    "loops in a call": """
def f(x):
    return up(0.5) - up(0.25) + x

def up(p):
    n = 0
    while noise.flip(p):
        n += 1
    return n
""",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(oracle, name):
    rounds = 24 if "while" not in PROGRAMS[name] else 7
    for x in (F(3), F(2)):
        oracle.agree(random.Random(name), "from tollens import noise\n" + PROGRAMS[name], x, rounds)
