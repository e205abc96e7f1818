"""Joined runs and spent draws change no probability."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tollens.checker.compiling import compile_text
from tollens.checker.draws import Draw
from tollens.checker.form import Form
from tollens.checker.machine import Limits, explore
from tollens.checker.retiring import retire
from tollens.checker.state import State

F = Fraction

TEXTS = """
# coins
    n = 0
    for i in range(8):
        n += noise.flip(1/3)
    return n

# a walk
    for i in range(4):
        if noise.flip((x + 6) / 20):
            x += 1
        elif noise.flip(1/2):
            x -= 1
    return x

# draws that decide and are forgotten
    n = 0
    for i in range(5):
        if noise.laplace(1) > i - x:
            n += 1
    return n

# draws with different scales to the same end
    n = 0
    for i in range(4):
        if noise.flip(1/4):
            n = n + (noise.laplace(2) > 0)
        else:
            n = n + (noise.exponential(1) > x)
    return n

# one draw is kept
    bound = noise.laplace(2)
    n = 0
    for i in range(4):
        if x - i + noise.laplace(4) > bound:
            n += 1
    return n

# a kept draw is tied to spent ones
    a = noise.laplace(1)
    b = noise.laplace(1)
    if a > b:
        b = 0
    else:
        b = 1
    for i in range(2):
        x += noise.flip(1/2)
    return (a, b, x)

# a spent draw is tied to a kept one by another
    a, b, c = noise.laplace(1), noise.laplace(2), noise.uniform(-1, 1)
    n = 0
    if a > b:
        n += 1
    if b > c:
        n += 1
    b = None
    a = None
    for i in range(2):
        n += noise.flip(1/2)
    return (n, c)

# chains
    while x > 0:
        x += -1 + noise.laplace(1/2)
    return 'below'

# steps of a chain
    n = 0
    while x >= 0:
        x += -1 + noise.laplace(1/2)
        n += 1
    return n

# redraw
    while True:
        z = noise.laplace(1)
        if -1 <= z <= x:
            return z

# draws in lists
    kept = []
    for i in range(3):
        z = noise.exponential(1)
        if z > 1:
            kept = [z]
    for i in range(2):
        x += noise.flip(1/2)
    return (x, kept)

# lists that are the same list
    a = [noise.flip(1/2)]
    b = a if noise.flip(1/2) else [a[0]]
    for i in range(2):
        x += noise.flip(1/2)
    a.append(1)
    return (len(b), x)

# lists of the file and of the run
    a = K if noise.flip(1/2) else [1, 2]
    b = K
    for i in range(2):
        x += noise.flip(1/2)
    return (a == b, a + [x])

# true and 1 are not the same
    a = noise.flip(1/2)
    if not a:
        a = noise.discrete({0: 1/2, 1: 1/2})
    for i in range(2):
        x += noise.flip(1/2)
    return (a, x)

# outputs so far
    for i in range(3):
        yield noise.flip(1/3)
    z = noise.laplace(1)
    yield z
    for i in range(2):
        yield z > noise.laplace(1)

# calls
    n = 0
    for i in range(3):
        n += g(n)
    return n

# what is on the stack while a call loops
    return x + g(g(0)) * 10

# dead after the loop
    z = noise.laplace(1)
    n = 0
    while noise.flip(1/2):
        n += z > 0
        z = noise.laplace(1)
    return n

# a later draw is kept
    n = noise.laplace(1) > 0
    z = noise.exponential(1)
    for i in range(2):
        x += noise.flip(1/2)
    return (n, x, z)

# a later draw is kept in a list
    n = noise.laplace(1) > 0
    z = [noise.exponential(1), [noise.uniform(0, 1)]]
    for i in range(2):
        x += noise.flip(1/2)
    return (n, x, z)

# a later draw is kept in a tuple and a dictionary
    n = noise.laplace(1) > 0
    z = ({'a': noise.exponential(1)}, noise.uniform(0, 2))
    for i in range(2):
        x += noise.flip(1/2)
    return (n, x, z)

# a later draw waits for a call
    n = noise.laplace(1) > 0
    return (n, noise.exponential(1) + g(0))

# a later draw was an output
    n = noise.laplace(1) > 0
    yield noise.exponential(1)
    for i in range(2):
        yield (noise.flip(1/2), n)

# later draws are tied
    n = noise.laplace(1) > 0
    z, y, w = noise.uniform(-1, 1), noise.exponential(1), noise.laplace(2)
    m = y > z
    k = w > 1
    for i in range(2):
        x += noise.flip(1/2)
    return (n, m, k, y)

# variables of the function that calls
    n = noise.laplace(1) > 0
    z = noise.exponential(1)
    m = g(0)
    return (n, m, z)

# live only on one way
    z = noise.laplace(1)
    n = noise.flip(1/2)
    for i in range(2):
        x += noise.flip(1/2)
    if n:
        return (x, z)
    return x
"""
PROGRAMS = {
    name: f"from tollens import noise\nK = [1, 2]\n\ndef g(n):\n    while noise.flip(1/3):\n"
    f"        n += 1\n    return n + (noise.laplace(1) > n)\n\ndef f(x):\n{body}\n"
    for name, _, body in (part.partition("\n") for part in TEXTS.strip("# \n").split("\n\n# "))
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_laws(oracle, name):
    rounds = 5 if "while" in PROGRAMS[name].partition("def f(")[2] or "g(" in name else 12
    if "call" in name:
        rounds = 6
    oracle.same_law(PROGRAMS[name], F(2), rounds)


def test_runs_are_joined():
    paths = explore(compile_text(PROGRAMS["coins"], "f"), F(2)).paths
    assert len(paths) == 9
    paths = explore(compile_text(PROGRAMS["draws that decide and are forgotten"], "f"), F(2)).paths
    assert sorted(path.output for path in paths) == [0, 1, 2, 3, 4, 5]
    assert all(path.draws == () for path in paths)


def test_a_loop_of_coins_stays_small():
    text = PROGRAMS["coins"].replace("range(8)", "range(60)")
    paths = explore(compile_text(text, "f"), F(2)).paths
    assert len(paths) == 61
    assert sum(p.mass * sum(s for s, _ in p.spent) for p in paths) == 1


def test_what_is_live_keeps_all_that_is_tied_to_it():
    draws = tuple(Draw("laplace", (F(i + 1),)) for i in range(6))
    ties = ((0, 1), (1, 2), (3, 4))
    forms = tuple(Form(F(k), ((a, F(1)), (b, F(-1)))) for k, (a, b) in enumerate(ties))
    state = State([], draws=draws, constraints=forms, strict=(True, False, True))
    state.stack.append((F(1), Form(F(7), ((2, F(1)), (5, F(2))))))
    retire(state)
    assert state.draws == (draws[0], draws[1], draws[2], draws[5])
    assert state.constraints == forms[:2]
    assert state.strict == (True, False)
    assert state.stack == [(F(1), Form(F(7), ((2, F(1)), (3, F(2)))))]
    ((groups, share),) = state.spent.items()
    assert (groups, share) == (((draws[3:5], (Form(F(2), ((0, F(1)), (1, F(-1)))),)),), 1)


def test_a_closed_exploration_keeps_every_mass():
    text = """
from tollens import noise

def f(x):
    while True:
        if noise.flip(1/2):
            return x
        x = 3 - x
"""
    program = compile_text(text, "f")
    for rounds in range(1, 12):
        paths = explore(program, F(1), Limits(rounds)).paths
        masses = {True: F(0), False: F(0)}
        for path in paths:
            masses[path.finished] += path.mass * sum(share for share, _ in path.spent)
        assert masses[False] == F(1, 2 ** max(0, rounds - 1))
        assert masses[True] == 1 - masses[False]
