"""Where optional stopping fails, nothing may be proved: the classical counterexamples."""

import copy
import math
import operator
import random
from fractions import Fraction

import pytest

from tollens.checker.compiling import compile_text
from tollens.checker.errors import CertificateError
from tollens.checker.martingale import bounds, read_witness
from tollens.refutation.martingale import Settings, prove

HEAD = "from tollens import noise\n"

SYMMETRIC = """
def f(x):
    a = x
    while a >= 1:
        a += -1 if noise.flip(1/2) else 1
    return a
"""
SYMMETRIC_COUNTED = """
def f(x):
    a = x
    t = 0
    while a >= 1:
        a += -1 if noise.flip(1/2) else 1
        t += 1
    return t
"""
UPWARD = """
def f(x):
    a = x
    while a >= 1:
        a += -1 if noise.flip(1/4) else 1
    return a + 1
"""
NEVER = """
def f(x):
    a = x
    while a >= 1:
        a += 1
    return a
"""
DOUBLED = """
def f(x):
    w = x
    stake = 1
    while noise.flip(1/2):
        w += stake
        stake = 2 * stake
    return w - stake
"""
DOUBLED_UNTIL_WON = """
def f(x):
    w = x
    stake = 1
    while w <= x:
        w += stake if noise.flip(1/2) else -stake
        stake = 2 * stake
    return w
"""
NORMAL = """
def f(x):
    a = x
    while a >= 0:
        a += noise.gauss(1)
    return a
"""
LAPLACE = """
def f(x):
    a = x
    while a >= 0:
        a += noise.laplace(1)
    return a
"""
SOMETIMES = """
def f(x):
    a = 1
    if noise.flip(1/2):
        while a >= 1:
            a += 1
    return x
"""


def compiled(text):
    return compile_text(HEAD + text, "f")


def value(found, output):
    f = read_witness(found.witness)
    p = sum((c * Fraction(output) ** len(m) for m, c in f.polynomial.terms.items()), Fraction(0))
    return max(Fraction(0), min(p, Fraction(1)) if f.unit else p)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("pieces", [True, False])
@pytest.mark.parametrize(
    ("text", "x", "other"),
    [
        (SYMMETRIC, 2, 1),
        (SYMMETRIC_COUNTED, 2, 1),
        (UPWARD, 2, 1),
        (NEVER, 2, 1),
        (NORMAL, 2, 1),
        (LAPLACE, 2, 1),
    ],
)
def test_no_lower_bound_where_none_can_be_proved(text, x, other, degree, pieces):
    """These stop never, or not surely, or after a time without a mean."""
    assert prove(compiled(text), x, other, Settings(degree, pieces=pieces)) is None


@pytest.mark.parametrize("degree", [1, 2])
def test_doubled_stakes_show_the_true_value_only(degree):
    """The wealth is a martingale, but it always ends at x - 1: the stake has no mean at the end."""
    for likely, other in ((3, 2), (2, 3)):
        found = prove(compiled(DOUBLED), likely, other, Settings(degree))
        if found is not None:
            assert found.lower <= value(found, likely - 1)
            assert found.upper >= value(found, other - 1)


@pytest.mark.parametrize("degree", [1, 2])
def test_doubled_stakes_until_won(degree):
    """w is a martingale that starts at x and surely ends at x + 1."""
    for likely, other in ((1, 0), (0, 1)):
        found = prove(compiled(DOUBLED_UNTIL_WON), likely, other, Settings(degree))
        if found is not None:
            assert found.lower <= value(found, likely + 1)
            assert found.upper >= value(found, other + 1)


def test_a_run_that_never_ends_counts_nothing():
    found = prove(compiled(SOMETIMES), 2, 1, Settings(1))
    if found is not None:
        assert found.lower <= value(found, 2) / 2
        assert found.upper >= value(found, 1) / 2


@pytest.mark.parametrize("chance", ["1/2", "49/100", "1/4"])
def test_a_walk_that_may_escape(chance):
    """From 1, with chance p down: it ends with probability p/(1-p) < 1, or without a mean time."""
    text = UPWARD.replace("1/4", chance)
    for factor in (None, Fraction(1)):
        assert prove(compiled(text), 2, 1, Settings(2), factor=factor) is None


def certificate(text, *, lower, upper, invariants, potential):
    """The pieces of a proof about `a`, with all proofs left to be made up."""
    start = {"invariants": [], "integers": [], "potential": []}
    one = {"opened": {"0": ["a"]}, "kept": {"0": []}, "cuts": {}, "output": {"output": "1"}}
    return {
        "kind": "martingale",
        "lower": {
            **one,
            "locations": [
                {**start, "bound": [{"1": lower}]},
                {
                    "invariants": invariants, "integers": [],
                    "bound": [{"a": "1"}], "potential": [potential],
                },
            ],
            "proofs": [],
        },
        "upper": {
            **one,
            "locations": [
                {**start, "bound": [{"1": upper}]},
                {"invariants": invariants, "integers": [], "bound": [{"a": "1"}], "potential": []},
            ],
            "proofs": [],
        },
    }  # fmt: skip


def test_the_martingale_of_the_symmetric_walk_alone_is_no_proof():
    """L = a is a martingale, f = a at the end: E f = 0, not 2. Only R is missing, for each try."""
    witness = {"kind": "polynomial", "items": None, "unit": False, "terms": {"output": "1"}}
    at_least_zero = [["1", [0], None]]
    for potential, pays in (
        ({}, []),
        ({"1": "1000000"}, [["1000000", [], None]]),
        ({"a": "1"}, at_least_zero),
        ({"a^2": "1"}, [["1", [0, 0], None]]),
    ):
        made = certificate(
            SYMMETRIC, lower="2", upper="1", invariants=[{"a": "1"}], potential=potential
        )
        made["lower"]["proofs"] = [
            [["2", [], None]],
            [["1", [0], None]], [["1", [0], None], ["1", [], None]],
            [], [], pays, [], [],
        ]  # fmt: skip
        for wrong in (made, drop_last(made)):
            with pytest.raises(CertificateError):
                bounds(compiled(SYMMETRIC), 2, 1, witness, wrong, 10)


def drop_last(made):
    less = copy.deepcopy(made)
    less["lower"]["locations"][1]["potential"] = []
    return less


def test_the_upper_bound_of_the_symmetric_walk_holds_without_any():
    """E f = 0 from both, U = a is an upper bound, and the constant 1 is no lower bound."""
    ending = SYMMETRIC.replace("return a", "return 1")
    for degree in (1, 2):
        assert prove(compiled(ending), 2, 1, Settings(degree)) is None


def test_biased_walks_are_proved_up_to_the_border():
    text = SYMMETRIC_COUNTED.replace("1/2", "51/100")
    found = prove(compiled(text), 2, 1, Settings(1))
    assert found.epsilon == pytest.approx(math.log((100 - 1) / (50 - 1)), abs=1e-6)


COMPARED = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
COUNTED = {
    "b += 1": lambda a, b: b + 1,
    "b += 2": lambda a, b: b + 2,
    "b = a": lambda a, b: a,
    "b = -b": lambda a, b: -b,
    "pass": lambda a, b: b,
}
OUTPUTS = {
    "a": lambda a, b: (a,),
    "a + b": lambda a, b: (a + b,),
    "(a, b)": lambda a, b: (a, b),
    "2*b - a": lambda a, b: (2 * b - a,),
}


class RandomWalk:
    """A walk with two kinds of steps, a counter, and comparisons that may be ties."""

    def __init__(self, seed):
        chosen = random.Random(seed)
        self.degree = chosen.choice([1, 2, 3])
        self.guard = chosen.choice([">", ">="]), chosen.choice([1, 0, 0.5])
        self.inner = chosen.choice(list(COMPARED)), chosen.choice([1, 2, 1.5])
        self.steps = [self.step(chosen) for _ in range(2)]
        self.counted = [chosen.choice(list(COUNTED)) for _ in range(2)]
        self.output = chosen.choice(list(OUTPUTS))

    @staticmethod
    def step(chosen):
        down = Fraction(chosen.choice(["3/4", "2/3", "9/10"]))
        first, *rest = chosen.sample([-2, -1.5, -1], 1) + chosen.sample([-0.5, 0, 1, 0.5], 2)
        return {first: down, **dict.fromkeys(rest, (1 - down) / 2)}

    @property
    def text(self):
        draws = [
            "noise.discrete({" + ", ".join(f"{v}: {m}" for v, m in step.items()) + "})"
            for step in self.steps
        ]
        return (
            f"def f(x):\n    a = x\n    b = 0\n    while a {self.guard[0]} {self.guard[1]}:\n"
            f"        if a {self.inner[0]} {self.inner[1]}:\n"
            f"            a += {draws[0]}\n            {self.counted[0]}\n"
            f"        else:\n            a += {draws[1]}\n            {self.counted[1]}\n"
            f"    return {self.output}\n"
        )

    def expectation(self, x, witness, rounds=300):
        """E f by a table of states; a chance below 1e-13 is left out."""
        f = read_witness(witness)
        names = ["output"] if f.shape is None else [f"output{i}" for i in range(f.shape)]
        at, total = {(float(x), 0.0): 1.0}, 0.0
        for _ in range(rounds):
            after = {}
            for (a, b), mass in at.items():
                if not COMPARED[self.guard[0]](a, self.guard[1]):
                    point = dict(zip(names, OUTPUTS[self.output](a, b), strict=True))
                    p = sum(
                        float(c) * math.prod(point[name] for name in m)
                        for m, c in f.polynomial.terms.items()
                    )
                    total += mass * max(p, 0.0)
                    continue
                kind = 0 if COMPARED[self.inner[0]](a, self.inner[1]) else 1
                for value, chance in self.steps[kind].items():
                    there = a + value
                    state = there, COUNTED[self.counted[kind]](there, b)
                    after[state] = after.get(state, 0.0) + mass * float(chance)
            at = {state: mass for state, mass in after.items() if mass > 1e-13}
        return total


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed):
    walk = RandomWalk(seed)
    program = compiled(walk.text)
    for likely, other in ((Fraction(2), Fraction(1)), (Fraction(1), Fraction(3, 2))):
        found = prove(program, likely, other, Settings(walk.degree))
        if found is not None:
            assert float(found.lower) <= walk.expectation(likely, found.witness) + 1e-6, walk.text
            assert float(found.upper) >= walk.expectation(other, found.witness) - 1e-6, walk.text
