"""No output lies outside of what a run that was cut is said to reach."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollens.checker.compiling import compile_text
from tollens.checker.events import ends, total
from tollens.checker.form import Form
from tollens.checker.integration import Integrator
from tollens.checker.machine import RUNNING, Explorer, Limits, explore
from tollens.checker.patterns import Anything, Between, Equals, Items, matched

F = Fraction
HEAD = "from tollens import noise\n\nK = [1, 2]\n\n"


def later(explorer, state, rounds):
    """What a run returns within so many more heads, with the constraints of each way."""
    waiting, found = [(state.copy(), 0)], []
    while waiting:
        current, passed = waiting.pop()
        for stopped, output in explorer._machine.run(current, lambda _: True):
            if output is not RUNNING:
                found.append((stopped, output))
            elif passed < rounds:
                waiting.append((stopped, passed + 1))
        assert len(waiting) + len(found) < 4000
    return found


def sound(oracle, text, data, rounds=(0, 1, 2, 3, 4), more=5):
    """Check all runs that are cut; the reaches that say something are returned."""
    rng = random.Random(text)
    said = []
    for r in rounds:
        explorer = Explorer(compile_text(text, "f"), data, Limits())
        explorer.to(r)
        for state in list(explorer._frontier.values()):
            reach = explorer._reach.of(state)
            if isinstance(reach, str):
                continue
            said.append(reach)
            low, high = reach
            for stopped, output in later(explorer, state, more):
                assert isinstance(output, F | Form), (text, reach, output)
                for value in _values(oracle, rng, stopped, output):
                    assert low is None or value >= low, (text, r, reach, value)
                    assert high is None or value <= high, (text, r, reach, value)
    return said


def _values(oracle, rng, state, output):
    if isinstance(output, F):
        return [output]
    found = []
    for _ in range(60):
        values = [oracle.random_value(rng, d.kind, d.parameters) for d in state.draws]
        if all(oracle.at(c, values) >= 0 for c in state.constraints):
            found.append(oracle.at(output, values))
    return found


# loop bodies in which t is tempting, but other things happen; and those that can be bounded
ADVERSARIAL = """
t += 1; t = True if noise.flip(1/4) else t
t += 1; t = None if noise.flip(1/4) else t
t += 1; t = 'a' if noise.flip(1/4) else t
t += 1; t = [t] if noise.flip(1/4) else t
t += 1 if noise.flip(1/2) else -1
t = 0 if noise.flip(1/2) else t + 1
t += u; u -= 1
t = u; u += 1
t, u = u, t + 1
t, u = u + 1, t - 1
t = -t
t = 2 * t - 3
t = t / 2
t = t + t
t += 1; v[0] -= 1; t = t + 0 * v[0]
v[0] -= 1; w = v; t = w[0]
t += v[0]; v[0] -= 1
v.append(t); t = v[-1] - len(v)
t += noise.laplace(1)
t += noise.exponential(1)
t += 1; u = noise.laplace(1); t = t if u > 0 else t - 5
t += 1 if t < 3 else -2
t += 1; t = -9 if t > 4 else t
t += noise.discrete({1: 1/2, -3: 1/2})
t += noise.geometric(1/2)
t += abs(u); u -= 1
t = max(t, u); u += 1
t = min(t, u); u -= 1
d[0] -= 1; t = d[0]
u = 5 - t; t = u
flag = not flag; t = t + 1 if flag else t - 4
best = t if best is None else best; t -= 1
t += 1; x -= 7; t = t if noise.flip(1/2) else x
t += K[0]; u -= K[1]
t = t + (z > 0); u = u - (z > 0)
""".strip().splitlines()

RETURNS = ["t", "-t", "t - u", "u", "5 - 2 * t", "t if z > 0 else -1 - t", "t + z", "x + t / 3",
           "t if t < 2 else -t", "t * x", "max(t, 1)", "g(t)", "len(v)", "v[0] + t"]  # fmt: skip

TEXT = """
def g(t):
    return 7 - t

def h(x):
    t, u, v, d, flag, best = 0, 1, [3], {{0: 2}}, True, None
    p = [noise.laplace(1)]
    z = p[0]
    if p[0] > 0:
        u = 1
    while {test}:
        {body}
    z = p[0]
    return {output}

def f(x):
    t, u = x, -x
    return {called}
"""
CALLED = ("h(x)", "7 - h(x)", "h(x) + h(x)", "h(u) / 2 - t")


@pytest.mark.parametrize("body", ADVERSARIAL)
def test_adversarial_loops(oracle, body):
    for i, output in enumerate(RETURNS):
        test = ("noise.flip(2/3)", "t < 4 and noise.flip(2/3)", "x > t + noise.laplace(1)")[i % 3]
        called = CALLED[i % len(CALLED)]
        text = HEAD + TEXT.format(test=test, body=body, output=output, called=called)
        sound(oracle, text, F(2), rounds=(1, 2), more=3)


BOUNDED = {
    ("t += 1", "t", "noise.flip(2/3)"): [(F(2), None)],
    ("t -= 1/2", "t", "noise.flip(2/3)"): [(None, F(-1))],
    ("t += 1", "5 - 2 * t", "noise.flip(2/3)"): [(None, F(1))],
    ("t += 1", "t", "x > noise.laplace(1)"): [(F(2), None)],
    ("t += noise.flip(1/3)", "t", "noise.flip(2/3)"): [(F(0), None), (F(1), None), (F(2), None)],
    ("t += 1; u -= 1", "t - u", "noise.flip(2/3)"): [(F(3), None)],
    ("t += 1; u += 1", "t - u", "noise.flip(2/3)"): [(None, None)],
    ("x = x + noise.laplace(1); t += 1", "t", "x > 0"): [(F(2), None)],
    ("t += 0", "t", "noise.flip(2/3)"): [(F(0), F(0))],
}


def test_a_loop_that_is_called(oracle):
    text = HEAD + (
        "def h(x):\n    t = 5\n    while noise.flip(2/3):\n        t += x\n    return 2 * t\n\n"
        "def f(x):\n    t = 1\n    return t - h(x)\n"
    )
    assert set(sound(oracle, text, F(2), rounds=(3,))) == {(None, F(-17))}


@pytest.mark.parametrize(("body", "output", "test"), BOUNDED)
def test_loops_that_are_bounded(oracle, body, output, test):
    text = (
        HEAD + f"def f(x):\n    t, u = 0, 1\n    while {test}:\n        {body}\n    return {output}"
    )
    found = sound(oracle, text, F(2), rounds=(3,))
    assert sorted(set(found), key=repr) == BOUNDED[body, output, test]


STEPS = ["t += 1", "t -= 2", "u += t", "u -= 1", "t = u", "t = 1", "u = t - 1", "t, u = u, t",
         "x -= 1",
         "if noise.flip(1/2): t += 2", "if noise.flip(1/3): u -= 3", "if t > u: t += 1",
         "if u < 0: return t", "if t > 3: return -u", "if x < t: continue", "if x + u > 6: break",
         "z = noise.laplace(1)", "if z > t: u += 1", "v = v + [1]", "v[0] += 1", "t += v[0]",
         "if noise.laplace(1) > 0: t += 1", "t += 1/2", "u = -u", "x = t"]  # fmt: skip


@settings(max_examples=250)
@given(
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=4),
    st.sampled_from(["noise.flip(1/2)", "t < x", "x > noise.laplace(1)", "True", "u + t < 6"]),
    st.sampled_from(["t", "u", "t - u", "-t", "t + 2 * u", "x", "z", "t if u > 0 else u"]),
    st.sampled_from([F(3), F(-1)]),
)
def test_random_loops(oracle, steps, test, output, x):
    body = "\n        ".join(steps)
    text = HEAD + "def f(x):\n    t, u, v, z = 0, 1, [0], 0\n"
    text += f"    while {test}:\n        {body}\n    return {output}\n"
    sound(oracle, text, x, rounds=(1, 3), more=3)
    program, integrator = compile_text(text, "f"), Integrator()
    short, long = (explore(program, x, Limits(r, paths=400)).paths for r in (2, 6))
    for pattern in (Equals(F(2)), Between(F(-3), F(0)), Between(F(4), None), Items(())):
        above = total(short, [pattern], integrator)[1]
        below = total([p for p in long if p.finished], [pattern], integrator)[0]
        assert above >= below, (text, pattern)


def test_runs_at_the_same_place_that_know_something_else():
    """Bounds of the first must not serve the second, of which z is known to be negative."""
    text = HEAD + (
        "def f(x):\n    p = [noise.laplace(1)]\n    t = 0\n    if p[0] > 0:\n        t = 0\n"
        "    while noise.flip(1/2):\n        t += 1\n    return t if p[0] > 0 else -1 - t\n"
    )
    paths = explore(compile_text(text, "f"), F(0), Limits(3)).paths
    assert total(paths, [Equals(F(-5))], Integrator())[1] >= F(1, 64)
    assert total(paths, [Equals(F(5))], Integrator())[1] >= F(1, 64)


def test_closed_runs_end_like_finished_ones():
    text = HEAD + (
        "def f(x):\n    while True:\n        x = 3 - x\n        if noise.flip(1/3):\n"
        "            return x if noise.flip(1/2) else 7\n"
    )
    for rounds in range(1, 9):
        paths = explore(compile_text(text, "f"), F(1), Limits(rounds)).paths
        for value, possible in ((1, True), (2, True), (7, True), (3, False)):
            upper = total(paths, [Equals(F(value))], Integrator())[1]
            deep = [
                p for p in explore(compile_text(text, "f"), F(1), Limits(40)).paths if p.finished
            ]
            assert upper >= total(deep, [Equals(F(value))], Integrator())[0]
            if rounds > 4:
                assert (upper > 0) == possible


def test_a_cut_run_counts_for_anything_that_it_may_reach():
    text = HEAD + "def f(x):\n    while noise.flip(1/2):\n        x += 1\n    return x\n"
    paths = explore(compile_text(text, "f"), F(0), Limits(3)).paths
    (cut,) = [p for p in paths if not p.finished]
    assert cut.reach == (2, None)
    for pattern, may in (
        (Equals(F(1)), False), (Equals(F(2)), True), (Equals(True), False), (Equals(None), False),
        (Between(None, F(1)), False), (Between(F(3, 2), None), True), (Between(F(0), F(2)), True),
        (Items((Equals(F(5)),)), False), (Anything(), True),
    ):  # fmt: skip
        assert bool(ends(cut, [pattern])) == may
        assert matched(pattern, F(1)) is None or pattern != Equals(F(2))
