"""Lists, tuples, dictionaries, comprehensions and assignments, against runs of CPython."""

from __future__ import annotations

import random
import textwrap
from fractions import Fraction

import pytest

F = Fraction
TEXTS = """
# an alias sees an append
b = x
b.append(9)
return (x, b == x, len(x))

# a copy does not
b = x[:]
b.append(9)
c = list(x)
c[0] = 8
return (x, b, c)

# += changes the list
b = x
b += [9]
return (x, b)

# + makes another
b = x
b = b + [9]
return (x, b)

# *= changes the list
b = x
b *= 2
return (x, b)

# * makes another
b = x * 2
b[0] = 7
return (x, b, [0] * 3, (1, 2) * 2, [1] * 0, [1] * -1)

# += of tuples
t = (1,)
u = t
u += (2,)
u *= 2
return (t, u)

# += on an item
a = [x, 1]
a[0] += [5]
a[-1] += 2
a[1] *= 3
a[1] -= 1
a[1] /= 4
return (a, x)

# the index is evaluated once
def f(x):
    i = []
    a = [1, 2, 3]
    a[g(i)] += 10
    return (a, i)

def g(i):
    i.append(0)
    return len(i)

# rows share
row = [0]
rows = [row] * 2
rows[0][0] = 5
rows[1].append(1)
return rows

# rows apart
rows = [[0] for _ in range(2)]
rows[0][0] = 5
return rows

# a list in two lists
a = []
b = [a, a]
c = (a, b)
b[0].append(b[1] == a)
return c

# swap
x[0], x[1] = x[1], x[0]
a, b = 1, 2
a, b = b, a
return (x, a, b)

# swap with an index that moves
i = 0
i, x[i] = 1, 7
return (i, x)

# several targets
a = b = []
a.append(1)
c = d, e = 1, 2
return (b, c, d, e)

# nested targets
(a, b), [c, (d,)] = (1, 2), [3, (4,)]
return (a, b, c, d)

# unpacking
a, b, c = x
[d, e] = (a, b)
return (c, e, d)

# negative places
return (x[-1], x[-3], x[0], (1, 2)[-2], x[1 - 2])

# slices
return (x[1:], x[:1], x[:], x[-2:], x[:-1], x[1:1], x[5:], x[-9:2], x[2:1], (1, 2)[:1],
        x[None:2], x[True:])

# dictionaries
d = {'a': 1, 2: x, None: 0, True: 'one', -1.5: 3}
d['b'] = d['a'] + 1
d[2].append(9)
d['a'] += 5
return (d, x, d[True], d[1.0], len(d), d[-3 / 2])

# keys that are equal
d = {1: 'a', True: 'b'}
d[1.0] = 'c'
return d

# an alias of a dictionary
d = {}
e = d
e[0] = 1
return (d, len(e), not d, bool(e))

# comprehensions
y = 5
a = [y * y for y in x if y > 1 if y < 3]
return (a, y)

# their items are outside
y = [1, 2]
return ([y for y in y], [y for x in x], y)

# nested comprehensions
return [[a * b for a in x] for b in x] + [[x for x in x] for _ in (1, 2)]

# a comprehension within a test
return [a for a in x if a in [b + 1 for b in x]]

# tuples as targets
return [a + b for a, (b, c) in [(1, (2, 3)), (4, (5, 6))] if c > 3]

# comprehensions draw
return [noise.flip(a / 10) for a in x]

# comprehensions branch
z = [noise.laplace(a) for a in x[:2]]
return [v > 0 for v in z if v > -1]

# generators
return (sum(a * a for a in x), max(a for a in x), list(a for a in x), tuple(-a for a in x),
        sum((a for a in x), 3), min(a - 2 for a in x), all(a for a in x))

# any stops
def f(x):
    seen = []
    y = any(g(seen, a) for a in x)
    return (y, seen)

def g(seen, a):
    seen.append(a)
    return a == 2

# all stops
def f(x):
    seen = []
    y = all(g(seen, a) for a in x if a != 1)
    return (y, seen)

def g(seen, a):
    seen.append(a)
    return a != 2

# any with draws
return any(noise.laplace(1) > a for a in x)

# any within all
return all(any(a == b for b in x) for a in x)

# enumerate
return [(i, a) for i, a in enumerate(x)] + [i * a for i, a in enumerate(x, 5)]

# enumerate sees changes
seen = []
for i, a in enumerate(x):
    seen.append((i, a))
    if i == 0:
        x[2] = 10
        x.append(11)
return (seen, x)

# zip sees changes
seen = []
y = [1]
for a, b in zip(x, y):
    seen.append((a, b))
    if len(y) < 6:
        y.append(a * 10)
return (seen, y)

# zip of several
return [p for p in zip(x, (1, 2), range(9))] + [p for p in zip(x)]

# enumerate of zip
return [i + a * b for i, (a, b) in enumerate(zip(x, x[1:]), start_)]

# lists of them
return (list(zip(x, x)), tuple(enumerate(x)), list(enumerate(zip(x, x))), sum(a for a,
        b in zip(x, x)), len(list(zip(x, [1]))))

# a loop sees changes
n = 0
for a in x:
    n += 1
    if len(x) < 6:
        x.append(a)
return (n, x)

# a loop over a copy does not
for a in x[:]:
    x.append(a)
return x

# a loop over a name set anew
y = x
for a in y:
    y = []
return (x, y, a)

# targets in items
d = {0: 0}
for d[0] in x:
    pass
return d

# appended draws
a = []
for s in x:
    a.append(noise.laplace(s))
    a[0] += 1
return (a[0] > 0, len(a), a[-1])

# tuples of draws
t = (noise.uniform(0, 1), [noise.laplace(1)])
t[1][0] = t[0] + 1
return t

# append is nothing
return (x.append(4), x)

# an argument is the same list
def f(x):
    g(x)
    return x

def g(y):
    y.append(1)
    y = []
    y.append(2)

# a default is not kept
def f(x):
    return (g(1), g(2))

def g(y, z=0):
    z += y
    return z

# annotations
a: list = []
b: int
a.append(1)
x[0]: int = 4
return (a, x)
"""
PROGRAMS = {
    name: body
    for name, _, body in (part.partition("\n") for part in TEXTS.strip("# \n").split("\n\n# "))
}
PROGRAMS["enumerate of zip"] = PROGRAMS["enumerate of zip"].replace("start_", "2")


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(oracle, name):
    body = PROGRAMS[name]
    if "def f(" not in body:
        body = "def f(x):\n" + textwrap.indent(body, "    ")
    text = f"from tollens import noise\n\n\n{body}\n"
    oracle.agree(random.Random(name), text, [F(1), F(2), F(3)])
