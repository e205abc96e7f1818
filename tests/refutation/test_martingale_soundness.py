"""Where optional stopping fails, nothing may be proved: the classical counterexamples."""

import copy
import math
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
