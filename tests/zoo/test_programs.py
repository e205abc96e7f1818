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
    sizes = {"S2": (2, 4, 6, 8, 10), "S3": (4, 6, 10), "S4": (4, 5, 10), "S7-bug": (5, 6, 8)}
    sizes |= {"N1": (8,), "N2": (8,), "N3": (2, 3, 5), "N5": (5,), "L4-all": ()}
    for key in (f"{row}-n{n}" for row, ns in sizes.items() for n in ns):
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


CURVED = [program.id for program in entries() if program.claim.leak_delta is None]


@pytest.mark.parametrize("program", of(*(p.id for p in entries() if p.id not in CURVED)))
def test_what_is_broken_leaks_more_than_claimed(program):
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


def test_the_gaussian_sparse_vector_composes_to_its_mu():
    assert math.sqrt(8) / 2 < get("G1-ok-n8").claim.mu.value < 1.001 * math.sqrt(8) / 2


@pytest.mark.parametrize("program", of(*(key for key in CURVED if key != "G1-ok-n8")))
def test_curved_claims_are_broken_or_kept_as_a_whole(program):
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

STATEMENTS = {
    "Module", "ImportFrom", "alias", "FunctionDef", "arguments", "arg", "Return", "Assign",
    "AugAssign", "Expr", "If", "For", "While", "Break", "Continue", "Yield",
}  # fmt: skip
EXPRESSIONS = {
    "Call", "Attribute", "Name", "Constant", "List", "Tuple", "Dict", "Subscript", "Slice",
    "BinOp", "UnaryOp", "Compare", "BoolOp", "IfExp", "ListComp", "GeneratorExp", "comprehension",
    "Load", "Store", "And", "Or", "Not", "USub", "Add", "Sub", "Mult", "Div", "Mod", "Eq", "Lt",
    "LtE", "Gt", "GtE",
}  # fmt: skip
CALLS = frozenset({"range", "enumerate", "zip", "len", "min", "max", "sum", "abs", "any", "all"})
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
        calls = {node.func.id for node in ast.walk(function) if calls_name(node)} - CALLS
        assert calls <= earlier, "functions call earlier ones only: no recursion"
        earlier |= {function.name} if isinstance(function, ast.FunctionDef) else set()
    for node in ast.walk(tree):
        assert type(node).__name__ in STATEMENTS | EXPRESSIONS, (node.lineno, type(node).__name__)
        if isinstance(node, ast.Attribute):
            assert node.attr == "append" or ast.unparse(node.value) == "noise"


def calls_name(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


# discrete programs: every run enumerated


class CutError(Exception):
    pass


class Script:
    """Draws taken from a list of choices; what comes after them is the first option each time."""

    def __init__(self, choices, most):
        self.choices, self.most, self.mass, self.open = list(choices), most, 1.0, []
        self.at = 0

    def draw(self, options):
        if self.at == self.most:
            raise CutError
        if self.at == len(self.choices):
            self.open += [[*self.choices, i] for i in range(1, len(options))]
            self.choices.append(0)
        value, mass = options[self.choices[self.at]]
        self.at += 1
        self.mass *= mass
        if self.mass <= 1e-13:
            raise CutError
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
            except CutError:
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


# continuous programs: quadrature


def lap(z, scale):
    return math.exp(z / scale) / 2 if z < 0 else 1 - math.exp(-z / scale) / 2


def expo(z, scale):
    return -math.expm1(-z / scale) if z > 0 else 0.0


def normal(z, sigma):
    return math.erfc(-z / (sigma * math.sqrt(2))) / 2


def bare(z, _):
    return float(z >= 0)


def density(noise_cdf, z, scale):
    if noise_cdf is normal:
        return math.exp(-z * z / (2 * scale**2)) / (scale * math.sqrt(2 * math.pi))
    if noise_cdf is expo:
        return math.exp(-z / scale) / scale if z >= 0 else 0.0
    return math.exp(-abs(z) / scale) / (2 * scale)


def over(function, scale, breaks):
    """Integral over the line of what decays at the given scale beyond its breaks."""
    breaks = sorted({0.0, *map(float, breaks)})
    far = [scale * k for k in (-60, -25, -8, -2)]
    ends = [*(breaks[0] + z for z in far), *breaks, *(breaks[-1] - z for z in reversed(far))]
    return sum(
        integrate.quad(function, a, b, epsabs=0, epsrel=1e-10, limit=200)[0]
        for a, b in itertools.pairwise(ends)
    )


def answers_mass(data, answers, level, rho, nu):
    """Probability of answers above and below a threshold at `level` with noise rho."""

    def integrand(t):
        value = density(*rho[:1], t, *rho[1:])
        for query, above in zip(data, answers, strict=False):
            gap = level + t - query
            value *= (
                (nu[0](-gap, nu[1]) if above else nu[0](gap, nu[1]))
                if nu[1]
                else (float((gap <= 0) is above))
            )
        return value

    return over(integrand, rho[1], [query - level for query in data])


def outcomes(n, cutoff):
    found = set()
    for bits in itertools.product((False, True), repeat=n):
        end = next((i + 1 for i in range(n) if sum(bits[: i + 1]) == cutoff), n)
        found.add(bits[:end])
    return sorted(found)


SVT = {  # level, noise of the threshold, noise of the queries, stop after so many
    "S0-n5": (1, (lap, 2), (lap, 4), 1),
    "S0-yield-n5": (1, (lap, 2), (lap, 8), 2),
    "S1-n4": (1, (lap, 2), (bare, 0), None),
    **{f"S2-n{n}": (1, (lap, 2), (lap, 2), None) for n in (2, 4, 6, 8, 10)},
    **{f"S3-n{n}": (0, (lap, 4), (lap, 4 / 3), 1) for n in (4, 6, 10)},
    "S8-n4": (1, (lap, 4), (lap, 8), 2),
    "S9-n4": (1, (lap, 2), (lap, 2), 1),
    "G1-n8": (1, (normal, 2), (normal, 2), None),
    **{f"S4-n{n}": (0, (lap, 2), (lap, 4), 1) for n in (4, 5, 10)},
    "S5-n4": (0, (lap, 2), (lap, 4), 1),
    "S6-n4": (0, (lap, 3), (lap, 6), 1),
}


@cache
def svt_law(key, side):
    """Masses of all answers; of one of them where there are very many."""
    data = get(key).pair[side]
    level, rho, nu, cutoff = SVT[key]
    n = len(data)
    if n == 10 and cutoff is None:
        half = (True,) * (n // 2) + (False,) * (n // 2)
        return {half: answers_mass(data, half, level, rho, nu)}
    masses = {}
    for answers in outcomes(n, cutoff):
        starts = [0, n]
        if key.startswith("S8"):  # each positive answer starts anew
            starts = [0, *(i + 1 for i, above in enumerate(answers) if above), n]
        masses[answers] = math.prod(
            answers_mass(data[a:b], answers[a:b], level, rho, nu)
            for a, b in itertools.pairwise(starts)
            if answers[a:b]
        )
    assert sum(masses.values()) == pytest.approx(1, abs=1e-9)
    return masses


@pytest.mark.parametrize("program", of(*(key for key in SVT if key[:2] not in ("S4", "S5", "S6"))))
def test_sparse_vector_truths_by_quadrature(program):
    p, q = svt_law(program.id, 0), svt_law(program.id, 1)
    if program.id == "S1-n4":
        event = (True, True, False, False)
        assert (p[event], q[event]) == (pytest.approx(-math.expm1(-0.5) / 2), 0)
        assert math.isinf(program.epsilon)
        return
    losses = [abs(math.log(p[answers] / q[answers])) for answers in p]
    assert max(losses) == pytest.approx(program.epsilon, abs=1e-8)


def test_the_gaussian_sparse_vector_at_its_delta_by_quadrature():
    program = get("G1-ok-n8")
    laws = [svt_law("G1-n8", side) for side in (0, 1)]
    assert least_epsilon(*laws, 1e-5) == pytest.approx(program.epsilon, abs=1e-8)


def test_the_limits_of_far_queries():
    far = 60
    for n in (2, 4, 6):
        h = n // 2
        x, x_prime = [-far] * h + [far] * h, [-far - 1] * h + [far + 1] * h
        answers = (True,) * h + (False,) * h
        masses = [answers_mass(data, answers, 1, (lap, 2), (lap, 2)) for data in (x, x_prime)]
        assert math.log(masses[0] / masses[1]) == pytest.approx(get(f"S2-n{n}").supremum, abs=1e-3)
    limits = {4: get("S3-n4"), 5: get("S0-n5")}
    for n, program in limits.items():
        x, x_prime = [far] * (n - 1) + [1], [far + 1] * (n - 1) + [0]
        answers = (False,) * (n - 1) + (True,)
        masses = [answers_mass(data, answers, *SVT[program.id][:3]) for data in (x, x_prime)]
        assert math.log(masses[0] / masses[1]) == pytest.approx(program.supremum, abs=0.02)
    raised = [far] * 3 + [0], [far + 1] * 3 + [0]
    masses = [answers_mass(x, (False,) * 3 + (True,), *SVT["S9-n4"][:3]) for x in raised]
    assert math.log(masses[0] / masses[1]) == pytest.approx(get("S9-n4").supremum, abs=0.02)


# sparse vectors with values: densities of the gap by quadrature


def gap_density(data, k, g, branch):
    """k zeros and then the gap g; a branch is (cdf scale of the gap, scale that must stay low)."""
    scale, low = branch

    def integrand(t):
        value = density(lap, t, 2) * density(lap, g + t - data[k], scale)
        for query in data[:k]:
            value *= lap(t - query, 4)
            value *= lap(t + 2 - query, low) if low else 1
        return value * (lap(t + 2 - data[k], low) if low and scale == 4 else 1)

    return over(integrand, 2, [*data, *(q - 2 for q in data), data[k] - g])


@pytest.mark.parametrize(("key", "branches"), [("S5-n4", [(4, None)]), ("S7-n4", [(4, 8), (8, 8)])])
def test_gap_truths_by_quadrature(key, branches):
    program = get(key)
    x, x_prime = program.pair
    losses = []
    for k, branch in itertools.product(range(4), branches):
        for g in (0, 0.3, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50):
            if g >= 2 or branch[0] == 4:
                both = [gap_density(data, k, g, branch) for data in (x, x_prime)]
                losses.append(abs(math.log(both[0] / both[1])))
    assert max(losses) == pytest.approx(program.epsilon, abs=1e-6)
    assert program.epsilon <= 1


def test_fresh_value_truth_by_quadrature():
    program = get("S6-n4")
    p, q = svt_law("S6-n4", 0), svt_law("S6-n4", 1)
    losses = [
        abs(math.log(p[a] / q[a]))
        + (abs(program.pair[0][len(a) - 1] - program.pair[1][len(a) - 1]) / 3 if a[-1] else 0)
        for a in p
    ]
    assert max(losses) == pytest.approx(program.epsilon, abs=1e-8)


def noisy_query_low(data):
    """S4: zeros, and at the last query a noisy one of at most 0."""

    def integrand(t):
        last = lap(-data[-1], 4) - lap(t - data[-1], 4) if t < 0 else 0.0
        return density(lap, t, 2) * math.prod(lap(t - q, 4) for q in data[:-1]) * last

    return over(integrand, 2, data)


def cheap_query_low(data):
    """S7: zeros, and at the last query a cheap noisy one of at most 0."""

    def integrand(t):
        value = density(lap, t, 2) * max(0.0, lap(-data[-1], 8) - lap(t + 2 - data[-1], 8))
        for query in data[:-1]:
            value *= lap(t + 2 - query, 8) * lap(t - query, 4)
        return value

    return over(integrand, 2, [*data, *(q - 2 for q in data)])


def winner(counts, i, cdf, scale):
    def integrand(v):
        value = density(cdf, v - counts[i], scale)
        for j, count in enumerate(counts):
            value *= 1 if j == i else cdf(v - count, scale)
        return value

    return over(integrand, scale, counts)


WINNERS = {
    "N1-n8": (lap, 2),
    "N1-far-n5": (lap, 2),
    "N2-n8": (expo, 2),
    "N5-n5": (lap, 1),
    "N5-far-n5": (lap, 1),
}


@cache
def winners(key, side):
    counts = get(key).pair[side]
    return {i: winner(counts, i, *WINNERS[key]) for i in range(len(counts))}


@pytest.mark.parametrize("program", of(*WINNERS))
def test_winners_by_quadrature(program):
    p, q = winners(program.id, 0), winners(program.id, 1)
    assert sum(p.values()) == pytest.approx(1, abs=1e-8)
    assert max(abs(math.log(p[i] / q[i])) for i in p) == pytest.approx(program.epsilon, abs=1e-7)


# the event that pays, with its probability on both sides


def halves(n, scale):
    """n numbers with Laplace noise beyond their place, for x and one step off."""
    return 0.5**n, (0.5 * math.exp(-1 / scale)) ** n


def gauss_event(key, sigma):
    """y above 1/2 + epsilon sigma^2, where the densities differ by e^epsilon."""
    end = 0.5 + get(key).epsilon * sigma**2
    return lambda y: y > end, normal((1 - end) / sigma, 1), normal(-end / sigma, 1)


def laplace_event(key):
    """The same for Laplace noise of scale 1/2, whose loss within [0, 1] is 2 (2y - 1)."""
    end = 0.5 + get(key).epsilon / 4
    return lambda y: y > end, lap(1 - end, 0.5), lap(-end, 0.5)


def steps_at_least_one(sums):
    return all(b - a >= 1 for a, b in itertools.pairwise([0, *sums]))


FIRST = 1 / (1 + 0.36787945)

EVENTS = {
    "A2": (lambda y: y is not None, math.exp(-3.91203) / 2, 0),
    "A2-bug": (lambda y: y is not None, math.exp(-2.91203) / 2, 0),
    "A3": laplace_event("A3"),
    "A3-bug": laplace_event("A3-bug"),
    "U1": (lambda y: y > 5, 0.1, 0),
    "U1-bug": (lambda y: y > 5, 0.1, 0),
    "L1-ok": (lambda y: y >= 1, *halves(1, 1)),
    "L1": (lambda y: y >= 1, *halves(1, 0.5)),
    "L2-ok": (lambda y: y[0] >= 1, *halves(1, 5)),
    "L2-eps0.2": (lambda y: y[0] >= 1, *halves(1, 0.2)),
    "L2-eps0.7": (lambda y: y[0] >= 1, *halves(1, 0.7)),
    "L2-eps1.5": (lambda y: y[0] >= 1, *halves(1, 1.5)),
    "L3-ok": (lambda y: y >= 1, *halves(1, 1)),
    "L3": (lambda y: y >= 1, *halves(1, 0.5)),
    "L4-one": (lambda y: y[0] >= 1, *halves(1, 1)),
    "L4-all": (steps_at_least_one, *halves(4, 1)[::-1]),
    "L5": (lambda y: y[0] >= 1 and y[1] >= 1, *halves(2, 1)),
    "L5-bug": (lambda y: y[1] == 1, 1, 0),
    "L7": (lambda y: y == 0, *halves(1, 1)),
    "L8": (
        lambda y: y < 0.01,
        (1 - math.exp(-0.01)) / (1 - math.exp(-2)),
        (math.exp(-0.99) - math.exp(-1)) / (2 - 2 * math.exp(-1)),
    ),
    "D13": (lambda steps: steps % 2 == 0, 1, 0),
    "D13-ok": (lambda steps: steps == 0, 1 - FIRST, FIRST),
    "P1-ok": (lambda steps: steps == 1, *halves(1, 1)),
    "P1": (lambda steps: steps == 1, *halves(1, 0.5)),
    "G2": gauss_event("G2", 3.7307),
    "G2-classic": gauss_event("G2-classic", 4.8449),
    "G2-bug": gauss_event("G2-bug", 3.4258),
    "G3": gauss_event("G3", 1),
    "G3-bug": gauss_event("G3-bug", 0.5),
    "G4": gauss_event("G4", 1),
    "G4-bug": gauss_event("G4-bug", 0.8),
    "N4-n3": (lambda y: y < 1, (1 - math.exp(-0.5)) ** 3, 0),
    **{f"N3-n{n}": (lambda y: y <= 0, *halves(n, 2)) for n in (2, 3, 5)},
    **{
        f"S4-n{n}": (
            lambda y, n=n: len(y) == n and y[-1] < 0,
            *(noisy_query_low(data) for data in get(f"S4-n{n}").pair),
        )
        for n in (4, 5, 10)
    },
    **{
        f"S7-bug-n{n}": (
            lambda y, n=n: len(y) == n and y[-1] < 0,
            *(cheap_query_low(data) for data in get(f"S7-bug-n{n}").pair),
        )
        for n in (5, 6, 8)
    },
}


@pytest.mark.parametrize("program", of(*EVENTS))
def test_paying_events_have_the_stated_loss(program):
    _, p, q = EVENTS[program.id]
    found = (
        max(
            math.inf if b == 0 else math.log((a - program.delta) / b)
            for a, b in ((p, q), (q, p))
            if a > program.delta
        )
        if max(p, q) > program.delta
        else 0.0
    )
    if program.id == "L8":  # a limit of short intervals
        assert 0.98 * program.epsilon < found < program.epsilon
    else:
        assert found == pytest.approx(program.epsilon, abs=1e-7)


def test_normal_noise_has_no_bound():
    assert stats.norm.logsf(40) - stats.norm.logsf(41) > 40
    assert math.isinf(get("L6").epsilon)


# runs


@cache
def runs(function, data):
    """Outputs of 20 000 runs; what is yielded is gathered in a tuple."""
    rng = np.random.default_rng(zlib.crc32(f"{function.__name__}{data}".encode()))
    many = inspect.isgeneratorfunction(function)
    value = json.loads(data)
    with noise.drawing(rng):
        return [tuple(function(value)) if many else function(value) for _ in range(RUNS)]


def p_value(observed, masses):
    """Chi-square of counts against masses; what expects few, and what is not named, is pooled."""
    expected = {key: mass * RUNS for key, mass in masses.items() if mass * RUNS >= 20}
    counts = [observed.get(key, 0) for key in expected]
    cells = [*expected.values(), RUNS - sum(expected.values())]
    counts.append(RUNS - sum(counts))
    if cells[-1] < 1e-6 * RUNS:
        assert counts.pop() <= 5
        cells.pop()
    elif cells[-1] < 5:
        return 2 * stats.poisson.sf(counts[-1] - 1, cells[-1]) if counts[-1] else 1.0
    if len(cells) < 2:
        return 1.0
    return stats.chisquare(counts, np.array(cells) * (sum(counts) / sum(cells))).pvalue


@pytest.mark.parametrize("program", of(*EVENTS))
def test_runs_show_the_paying_event_as_often_as_stated(program):
    event, *stated = EVENTS[program.id]
    for data, p in zip(program.pair, stated, strict=True):
        seen = sum(map(event, runs(program.function, json.dumps(data))))
        if p in (0, 1):
            assert seen == p * RUNS
        else:
            assert stats.binomtest(seen, RUNS, p).pvalue > LEVEL


@pytest.mark.parametrize("program", of(*SVT, *WINNERS))
def test_runs_follow_the_laws_by_quadrature(program):
    for side, data in enumerate(program.pair):
        outputs = runs(program.function, json.dumps(data))
        if program.id in WINNERS:
            assert p_value(Counter(outputs), winners(program.id, side)) > LEVEL
            continue
        if program.id[:2] in ("S4", "S5", "S6"):  # zeros, then a value with probability one not 0
            outputs = [tuple(answer != 0 for answer in output) for output in outputs]
        assert p_value(Counter(map(tuple, outputs)), svt_law(program.id, side)) > LEVEL


@pytest.mark.parametrize("program", of(*DISCRETE))
def test_runs_follow_the_laws_by_enumeration(program, law):
    for data in program.pair:
        masses, lost = law(program.function, data, ROUND.get(program.id, 10**6))
        masses = {output: mass / (1 - lost) for output, mass in masses.items()}
        outputs = Counter(map(repr, runs(program.function, json.dumps(data))))
        assert p_value(outputs, masses) > LEVEL


@pytest.mark.parametrize("side", [0, 1])
def test_runs_of_the_adaptive_form_stop_as_often_as_its_gaps_say(side):
    program, data = get("S7-n4"), get("S7-n4").pair[side]

    def stopped(g, k):
        cheap = gap_density(data, k, g, (8, 8)) if g >= 2 else 0.0
        return cheap + gap_density(data, k, g, (4, 8))

    masses = {}
    for k in range(2):
        ends = (0, 1, 2, 4, 16, 120)
        parts = [
            integrate.quad(stopped, a, b, args=(k,), epsrel=1e-4)[0]
            for a, b in itertools.pairwise(ends)
        ]
        masses[k + 1] = sum(parts)
    outputs = runs(program.function, json.dumps(data))
    assert p_value(Counter(len(y) if y[-1] else 0 for y in outputs), masses) > LEVEL


def test_a_wrong_constant_would_be_seen():
    wrong = {key: winner([1] + [0] * 7, key, lap, 3) for key in range(8)}
    assert p_value(Counter(runs(get("N1-n8").function, "[1, 0, 0, 0, 0, 0, 0, 0]")), wrong) < LEVEL


def test_normal_runs_are_normal():
    for data in (1, 0):
        outputs = runs(get("L6").function, json.dumps(data))
        assert stats.kstest(outputs, stats.norm(data, 1).cdf).pvalue > LEVEL


def test_every_program_is_checked_by_a_second_way():
    checked = {*DISCRETE, *EVENTS, *SVT, *WINNERS, "S7-n4", "G1-ok-n8", "L6"}
    assert checked == {program.id for program in entries()}
