"""Every number of a certificate is changed: it must be refused, or still prove what it says.

What a mutant says is compared with expectations that are computed without any of our code.
"""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest

from tollens.checker.compiling import compile_text
from tollens.checker.errors import CertificateError
from tollens.checker.martingale import bounds, read_witness
from tollens.refutation.martingale import Settings, prove

HEAD = "from tollens import noise\n"
WALK = """
def f(x):
    t = 0
    while x >= 1:
        x += -1 if noise.flip(3/4) else 1
        t += 1
    return t
"""
GEOMETRIC = """
def f(x):
    g = x
    while noise.flip(1/2):
        g += 1
    return g
"""
LAPLACE = """
def f(x):
    t = 0
    while x >= 0:
        x += -1 + noise.laplace(1/2)
        t += 1
    return t
"""
BIT = """
def f(x):
    b = x
    while noise.flip(1/4):
        b = 1 - b
    return b
"""


def law_of_the_walk(x, rounds=400):
    """Outputs and their chances: a table of states."""
    at, found = {x: 1.0}, {}
    for t in range(rounds):
        found[t] = at.pop(0, 0.0)
        after = {}
        for state, mass in at.items():
            after[state - 1] = after.get(state - 1, 0.0) + 0.75 * mass
            after[state + 1] = after.get(state + 1, 0.0) + 0.25 * mass
        at = after
    return found


def law_of_the_laplace_walk(x, count=40, high=16.0, h=0.01):
    """The same, with a density on a grid."""
    grid = np.arange(0, high, h) + h / 2
    kernel = np.exp(-np.abs(grid[:, None] - grid[None, :] + 1) / 0.5)
    leave = np.where(grid < 1, 1 - np.exp(-np.abs(grid - 1) / 0.5) / 2,
                     np.exp(-(grid - 1) / 0.5) / 2)  # fmt: skip
    density = np.exp(-np.abs(grid - (x - 1)) / 0.5)
    found = {1: math.exp(-(x - 1) / 0.5) / 2}
    for t in range(2, count):
        found[t] = float(density @ leave * h)
        density = kernel @ density * h
    return found


LAWS = {
    WALK: law_of_the_walk,
    GEOMETRIC: lambda x: {x + k: 2.0 ** -(k + 1) for k in range(200)},
    LAPLACE: law_of_the_laplace_walk,
    BIT: lambda x: {x: 0.8, 1 - x: 0.2},
}
CASES = {
    "walk": (WALK, 2, 1, Settings(2), None),
    "geometric": (GEOMETRIC, 1, 0, Settings(2), None),
    "geometric, infinite": (GEOMETRIC, 0, 1, Settings(3), None),
    "laplace walk": (LAPLACE, 2, 1, Settings(1), None),
    "bit": (BIT, 1, 0, Settings(2), Fraction(3, 2)),
}


def numbers(data, path=()):
    """The places of all numbers, in texts and plain."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in ("opened", "kept", "kind"):
                yield from numbers(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from numbers(value, (*path, i))
    elif isinstance(data, int | str) and not isinstance(data, bool):
        yield path, data


def mutants(value):
    if isinstance(value, int):
        return [value + 1, value - 1]
    q = Fraction(value)
    return [
        str(q + Fraction(1, 10**9)),
        str(-q if q else Fraction(-1)),
        str(q * Fraction(999, 1000)),
    ]


def replaced(data, path, value):
    made = copy.deepcopy(data)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


def expectation(law, witness):
    f = read_witness(witness)
    found = 0.0
    for output, chance in law.items():
        p = sum(float(c) * float(output) ** len(m) for m, c in f.polynomial.terms.items())
        found += chance * min(max(p, 0.0), 1.0 if f.unit else math.inf)
    return found


@pytest.mark.parametrize("case", CASES)
def test_every_number(case):
    text, x, other, settings, factor = CASES[case]
    program = compile_text(HEAD + text, "f")
    found = prove(program, x, other, settings, factor=factor)
    laws = {data: LAWS[text](data) for data in (x, other)}
    whole = {"witness": found.witness, "proof": found.proof}
    seen = survivors = 0
    for path, value in numbers(whole):
        for mutant in mutants(value):
            if mutant == value:
                continue
            seen += 1
            made = replaced(whole, path, mutant)
            try:
                lower, upper = bounds(program, x, other, made["witness"], made["proof"], 60)
            except CertificateError:
                continue
            survivors += 1
            assert float(lower) <= expectation(laws[x], made["witness"]) * 1.001 + 1e-9, path
            assert float(upper) >= expectation(laws[other], made["witness"]) * 0.999 - 1e-9, path
    assert seen > 50
    assert survivors <= seen // 20


@pytest.mark.parametrize("case", CASES)
def test_other_inputs(case):
    text, x, other, settings, factor = CASES[case]
    program = compile_text(HEAD + text, "f")
    found = prove(program, x, other, settings, factor=factor)
    for likely, rest in ((x + 1, other), (x, other + 1), (x - 1, other), (other, x)):
        try:
            lower, upper = bounds(program, likely, rest, found.witness, found.proof, 60)
        except CertificateError:
            continue
        if min(likely, rest) >= (1 if text == LAPLACE else 0):
            law = LAWS[text]
            assert float(lower) <= expectation(law(likely), found.witness) * 1.001 + 1e-9
            assert float(upper) >= expectation(law(rest), found.witness) * 0.999 - 1e-9


@pytest.mark.parametrize("case", CASES)
def test_other_programs(case):
    """The same proof for a program with another number in its text."""
    text, x, other, settings, factor = CASES[case]
    found = prove(compile_text(HEAD + text, "f"), x, other, settings, factor=factor)
    for old, new in (("3/4", "2/3"), ("1/2", "51/100"), ("1/4", "1/5"), (">= 1", ">= 2")):
        if old in text:
            changed = compile_text(HEAD + text.replace(old, new), "f")
            with pytest.raises(CertificateError):
                bounds(changed, x, other, found.witness, found.proof, 60)
