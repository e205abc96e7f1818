"""The suite of programs: its form, and its truths against enumeration, quadrature and runs.

Nothing here uses an engine of tollens, nor the quadrature that the suite computes its truths with.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import math
import re
import zlib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from tollens import noise
from tollens.claim import claim_from_json
from tollens.errors import UsageError
from tollens.zoo import programs as package
from tollens.zoo.programs import entries, get
from tollens.zoo.programs.suite.noises import Noise
from tollens.zoo.programs.suite.thresholds import Comparison

PROGRAMS = [pytest.param(program, id=program.id) for program in entries()]
RUNS = 20_000
LEVEL = 1e-7


def of(*ids):
    return [pytest.param(get(key), id=key) for key in ids]


def starting(*prefixes):
    return [p.id for p in entries() if p.id.split("-")[0] in prefixes]


# the form of the suite


def test_the_rows_with_their_sizes():
    rows = {program.id.split("-")[0] for program in entries()}
    named = [f"D{i}" for i in range(1, 14)] + [f"L{i}" for i in range(1, 9)]
    named += [f"S{i}" for i in range(10)] + [f"N{i}" for i in range(1, 6)] + ["P1"]
    assert set(named) <= rows
    for key in "S2-n2 S2-n10 S3-n4 S3-n6 S3-n10 S4-n4 S4-n5 S4-n10 N3-n2 N3-n3 N3-n5".split():
        assert len(get(key).pair[0]) == int(key.rpartition("n")[2])


def test_ids_names_and_titles_are_unique_and_short():
    for texts in ([getattr(p, field) for p in entries()] for field in ("id", "name", "title")):
        assert len(set(texts)) == len(texts)
    assert all(re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*", p.name) for p in entries())
    assert all(len(p.title) <= 60 for p in entries())
    assert all(get(p.id) is get(p.name) is p for p in entries())


def test_get_suggests_or_lists():
    with pytest.raises(UsageError, match="did you mean 'S2-n10'"):
        get("S2-n100")
    with pytest.raises(UsageError, match="its ids are D1, D1-bug, "):
        get("zzzzzzzz")


@pytest.mark.parametrize("program", PROGRAMS)
def test_functions_are_top_level_functions_of_the_data(program):
    function = program.function
    assert inspect.isfunction(function)
    assert function.__closure__ is None
    assert list(inspect.signature(function).parameters) == ["data"]
    assert getattr(inspect.getmodule(function), function.__name__) is function
    assert Path(inspect.getsourcefile(function)).parent == Path(package.__file__).parent
    assert inspect.getsource(function).startswith(f"def {function.__name__}(data: ")


@pytest.mark.parametrize("program", PROGRAMS)
def test_pairs_lie_in_their_relation_and_are_plain(program):
    x, x_prime = program.pair
    assert x != x_prime
    json.dumps(program.pair)
    if program.relation is not None:
        found = [(pair.x, pair.x_prime) for pair in program.relation]
        assert (x, x_prime) in found or (x_prime, x) in found


@pytest.mark.parametrize("program", PROGRAMS)
def test_claims_round_trip_through_json(program):
    assert claim_from_json(json.loads(json.dumps(program.claim.to_json()))) == program.claim
    assert program.source


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_broken_leaks_more_than_claimed(program):
    if program.claim.leak_delta is None:
        pytest.skip("a curved claim: compared as a whole below")
    claimed = program.claim.epsilon(program.delta)
    largest = program.epsilon if program.supremum is None else program.supremum
    assert program.supremum is None or program.supremum >= program.epsilon
    assert program.epsilon <= largest
    if program.broken:
        assert program.epsilon > claimed * 1.05
    else:
        assert largest <= claimed + 1e-15
        near = claimed - largest < 1e-4 * max(claimed, 1) or program.id == "A2"
        assert program.tight is near


@pytest.mark.parametrize("program", of(*starting("R1", "G3", "G4", "G1")))
def test_curved_claims_are_broken_or_kept_as_a_whole(program):
    if program.id.startswith("G1"):  # composition: the deviation of eight answers together
        assert math.sqrt(8) / 2 < program.claim.mu.value if not program.broken else True
        return
    excess = []
    for epsilon in np.linspace(0, 12, 241):
        ratio = math.exp(epsilon)
        if program.id.startswith("R1"):
            spent = max(0.0, 0.75 - ratio * 0.25)
        else:
            mu = {"G3": 1, "G3-bug": 2, "G4": 1, "G4-bug": 1.25}[program.id]
            spent = stats.norm.cdf(mu / 2 - epsilon / mu)
            spent -= ratio * stats.norm.cdf(-mu / 2 - epsilon / mu)
        excess.append(spent - program.claim.delta(float(epsilon)))
    assert max(excess) > 0.01 if program.broken else max(excess) < 1e-9


# the subset of Python

NODES = """Module ImportFrom alias FunctionDef arguments arg Return Assign AugAssign Expr If For While
Break Continue Yield Call Attribute Name Constant List Tuple Dict Subscript Slice BinOp UnaryOp
Compare BoolOp IfExp ListComp GeneratorExp comprehension Load Store And Or Not USub Add Sub Mult Div
Mod Eq Lt LtE Gt GtE""".split()
CALLS = "range list enumerate zip len min max sum abs round any all".split()
FILES = sorted(Path(package.__file__).parent.glob("*.py"))


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem) for p in FILES if p.stem not in ("__init__", "entry")]
)
def test_files_hold_programs_in_the_subset_only(path):
    tree = ast.parse(path.read_text())
    defined = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            defined[statement.name] = statement
        elif isinstance(statement, ast.ImportFrom):
            names = [alias.name for alias in statement.names]
            assert (statement.module, names) in [
                ("__future__", ["annotations"]),
                ("tollens", ["noise"]),
            ]
        else:
            assert isinstance(statement, ast.Assign | ast.Expr)
    for function in defined.values():
        for part in (function.returns, *(argument.annotation for argument in function.args.args)):
            assert part is not None
        function.returns = None
        for argument in function.args.args:
            argument.annotation = None
    earlier = set()
    for function in tree.body:
        calls = {node.func.id for node in ast.walk(function) if calls_name(node)} - set(CALLS)
        assert calls <= earlier, "functions call earlier ones only: no recursion"
        earlier |= {function.name} if isinstance(function, ast.FunctionDef) else set()
    for node in ast.walk(tree):
        assert type(node).__name__ in NODES, (node.lineno, type(node).__name__)
        if isinstance(node, ast.Attribute):
            assert node.attr == "append" or ast.unparse(node.value) == "noise"


def calls_name(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


# discrete programs: every run enumerated


class Cut(Exception):
    pass


class Script:
    """Draws taken from a list of choices; what comes after them is the first option each time."""

    def __init__(self, choices, most):
        self.choices, self.most, self.mass, self.open = list(choices), most, 1.0, []
        self.at = 0

    def draw(self, options):
        if self.at == self.most:
            raise Cut
        if self.at == len(self.choices):
            self.open += [[*self.choices, i] for i in range(1, len(options))]
            self.choices.append(0)
        value, mass = options[self.choices[self.at]]
        self.at += 1
        self.mass *= mass
        if self.mass <= 1e-13:
            raise Cut
        return value


@pytest.fixture
def law(monkeypatch):
    """The outputs of a discrete program with their masses, and the mass of the runs cut short."""

    def enumerate_runs(function, data, most):
        script = None

        def flip(p):
            return script.draw([(True, p), (False, 1 - p)])

        def geometric(p):
            return script.draw([(k, p * (1 - p) ** k) for k in range(60)])

        def discrete(masses):
            return script.draw(list(masses.items()))

        for draw in (flip, geometric, discrete):
            monkeypatch.setattr(noise, draw.__name__, draw)
        waiting, masses = [[]], defaultdict(float)
        while waiting:
            script = Script(waiting.pop(), most)
            try:
                output = function(data)
            except Cut:
                pass
            else:
                masses[repr(output)] += script.mass
            waiting += script.open
        monkeypatch.undo()
        return masses, 1 - sum(masses.values())

    return enumerate_runs


def least_epsilon(p, q, delta=0.0):
    """The largest ln((P(S) - delta)/Q(S)), both orders, for laws as dictionaries."""
    worst = 0.0
    for a, b in ((p, q), (q, p)):
        outputs = sorted(a, key=lambda o: -a[o] / b[o] if b.get(o) else -math.inf)
        top, bottom = -delta, 0.0
        for output in outputs:
            top, bottom = top + a[output], bottom + b.get(output, 0.0)
            if top > 1e-18:
                worst = max(worst, math.log(top / bottom) if bottom else math.inf)
    return worst


DISCRETE = [*starting(*(f"D{i}" for i in range(1, 13)), "A1", "R1")]
ROUND = {"D7-redraw-n2": 2, "D8": 6, "D8-bug": 6, "D8-bug-high": 6}
"""Draws of one round of those that draw again: what comes out of each round has the same law."""


@pytest.mark.parametrize("program", of(*DISCRETE))
def test_discrete_truths_by_enumeration(program, law):
    laws = []
    for data in program.pair:
        masses, lost = law(program.function, data, ROUND.get(program.id, 10**6))
        if program.id in ROUND:
            masses = {output: mass / (1 - lost) for output, mass in masses.items()}
        else:
            assert lost < 1e-10
        laws.append(masses)
    if lost > 1e-15:
        likely = {output for masses in laws for output in masses if masses[output] > 1e-3}
        laws = [{o: m for o, m in masses.items() if o in likely} for masses in laws]
    if program.id == "D9-delta":
        assert laws[0]["1"] == program.claim.delta(0)
    found = least_epsilon(*laws, program.delta)
    assert found == pytest.approx(program.epsilon, rel=1e-7, abs=1e-7)
