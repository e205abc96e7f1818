"""The text and JSON forms of claims: round trips, exact numbers, and hostile input."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tollens
from tollens import Claim, ClaimError, claim_from_json, parse_claim
from tollens.quantity import quantity

KINDS = [
    tollens.pure(1),
    tollens.pure(0.25, ordered=True),
    tollens.pure("ln 3"),
    tollens.pure(Fraction(1, 3)),
    tollens.pure("2 ln 5/4"),
    tollens.approx(1, 1e-6),
    tollens.approx("ln 3", "1/1000", ordered=True),
    tollens.gaussian(0.5),
    tollens.gaussian("1/2", ordered=True),
    tollens.zcdp(0.5),
    tollens.zcdp("1/8", ordered=True),
    tollens.renyi(8, 0.3),
    tollens.renyi(1.5, "ln 2", ordered=True),
    tollens.tradeoff(lambda a: (1 - a) ** 2),
    tollens.tradeoff(lambda a: (1 - a) ** 3, ordered=True),
    tollens.profile(tollens.gaussian(1).delta),
    tollens.profile(tollens.gaussian(1).delta, ordered=True),
]


@pytest.mark.parametrize("claim", KINDS, ids=str)
def test_json_round_trip(claim):
    text = json.dumps(claim.to_json(), allow_nan=False)
    again = claim_from_json(json.loads(text))
    assert again == claim
    assert hash(again) == hash(claim)
    assert again.support(1, 2) == claim.support(1, 2)


@pytest.mark.parametrize(
    "claim",
    [tollens.pure("1.0"), tollens.approx(1, "1e-6"), tollens.zcdp("0.50"), tollens.gaussian("٣")],
    ids=str,
)
def test_json_round_trip_keeps_how_numbers_were_written(claim):
    assert claim_from_json(json.loads(json.dumps(claim.to_json()))) == claim


@given(st.floats(0, 700), st.floats(0, 1), st.booleans())
def test_json_round_trip_of_any_number(epsilon, delta, ordered):
    for claim in (
        tollens.pure(epsilon, ordered=ordered),
        tollens.approx(epsilon, delta, ordered=ordered),
        tollens.gaussian(epsilon, ordered=ordered),
    ):
        assert claim_from_json(json.loads(json.dumps(claim.to_json()))) == claim


@given(st.floats(0, 700), st.floats(0, 1))
def test_numbers_written_as_text_are_the_same_numbers(epsilon, delta):
    claim = parse_claim(f"epsilon={epsilon!r}, delta={delta!r}")
    assert claim.promises()[0][:2] == tollens.approx(epsilon, delta).promises()[0][:2]


@pytest.mark.parametrize(
    "text, claim",
    [
        ("epsilon=1", tollens.pure(1)),
        ("  epsilon =  1 ", tollens.pure("1")),
        ("ε=1", tollens.pure("1")),
        ("EPS=1", tollens.pure("1")),
        ("epsilon=ln 3", tollens.pure("ln 3")),
        ("epsilon=ln 3, delta=1e-6", tollens.approx("ln 3", "1e-6")),
        ("delta=1e-6, epsilon=ln 3", tollens.approx("ln 3", "1e-6")),
        ("ε=1/3, δ=0", tollens.approx("1/3", "0")),
        ("mu=1", tollens.gaussian("1")),
        ("μ=.5", tollens.gaussian(".5")),
        ("rho=0.5", tollens.zcdp("0.5")),
        ("order=8, epsilon=0.3", tollens.renyi("8", "0.3")),
        ("alpha=8, epsilon=0.3", tollens.renyi("8", "0.3")),
        ("epsilon=1, ordered", tollens.pure("1", ordered=True)),
        ("ordered, mu=1", tollens.gaussian("1", ordered=True)),
    ],
)
def test_parse_claim(text, claim):
    assert parse_claim(text) == claim


@pytest.mark.parametrize("claim", [c for c in KINDS if c.kind not in ("tradeoff", "profile")])
def test_str_is_read_back(claim):
    assert parse_claim(str(claim)) == claim


@pytest.mark.parametrize(
    "text, problem",
    [
        ("", "form name=value"),
        (",", "form name=value"),
        ("1", "form name=value"),
        ("epsilon", "form name=value"),
        ("epsilon=", "form name=value"),
        ("epsilon: 1", "form name=value"),
        ("epsilon=1,", "form name=value"),
        ("=1", "no kind of claim"),
        ("delta=1e-6", "no kind of claim"),
        ("ordered", "no kind of claim"),
        ("epsilon=1, mu=1", "no kind of claim"),
        ("epsilon=1, epsilon=2", "given twice"),
        ("epsilon=1, ε=2", "given twice"),
        ("epsilon=-1", "at least 0"),
        ("epsilon=1e9", "above 700"),
        ("epsilon=inf", "write a number"),
        ("epsilon=nan", "write a number"),
        ("epsilon=1/0", "write a number"),
        ("epsilon=ln 0", "write a number"),
        ("epsilon=ln -3", "write a number"),
        ("epsilon=three", "write a number"),
        ("epsilon=1e-6 delta=1", "write a number"),
        ("epsilon=__import__('os')", "write a number"),
        ("epsilon=1, delta=1.5", r"\[0, 1\]"),
        ("epsilon=1, delta=-0.1", r"\[0, 1\]"),
        ("order=1, epsilon=1", "greater than 1"),
    ],
)
def test_parse_claim_refuses(text, problem):
    with pytest.raises(ClaimError, match=problem):
        parse_claim(text)


def test_all_problems_of_a_claim_at_once():
    with pytest.raises(ClaimError) as caught:
        tollens.approx(-1, 2)
    assert len(caught.value.findings) == 2
    assert "epsilon is -1" in str(caught.value)
    assert "delta is 2" in str(caught.value)


def only_a_claim_or_a_claim_error(text):
    try:
        claim = parse_claim(text)
    except ClaimError as error:
        assert error.findings
        return
    assert isinstance(claim, Claim)
    assert math.isfinite(claim.support(1, 1))


PIECES = st.sampled_from(
    [
        *"=,/103-+.e()*½²ε \n\0",
        "epsilon",
        "delta",
        "mu",
        "rho",
        "order",
        "ordered",
        "ln",
        "inf",
        "1e-6",
    ]
)


@given(st.text())
@example("epsilon=\ud800")
@example("epsilon=²")
@example("epsilon=1_000")
@example("epsilon=1e300 ln 3")
@example("epsilon=0x1")
@example("epsilon=1e5000/1e4999")
@example("epsilon=1e400 ln 2")
@settings(max_examples=300)
def test_any_text_is_a_claim_or_a_claim_error(text):
    only_a_claim_or_a_claim_error(text)


@given(st.lists(PIECES, max_size=14).map("".join))
@settings(max_examples=500)
def test_any_almost_claim_is_a_claim_or_a_claim_error(text):
    only_a_claim_or_a_claim_error(text)


@given(st.sampled_from(["epsilon=", "mu=", "rho=", "order=2, epsilon="]), st.text())
@settings(max_examples=300)
def test_any_value_is_a_claim_or_a_claim_error(name, text):
    only_a_claim_or_a_claim_error(name + text)


@pytest.mark.parametrize(
    "text",
    [
        "epsilon=1e400",
        "epsilon=" + "1" * 5000,
        "epsilon=ln 1e400",
        "epsilon=ln 1e-400",
        "epsilon=-1e400",
        "epsilon=1, delta=1e400",
    ],
    ids=lambda text: text[:24],
)
def test_numbers_beyond_floats_are_a_claim_error(text):
    only_a_claim_or_a_claim_error(text)


def test_huge_exponents_are_refused_before_they_are_computed(monkeypatch):
    import tollens.quantity

    def too_large(text):
        assert "e99999999" not in text, "this would fill the memory"
        return Fraction(text)

    monkeypatch.setattr(tollens.quantity, "Fraction", too_large)
    with pytest.raises(ClaimError):
        parse_claim("epsilon=1e999999999")


class TestQuantity:
    @given(st.fractions(min_value=0, max_value=600))
    def test_fractions_are_kept_exactly(self, fraction):
        q = quantity(fraction, "epsilon")
        assert q.value == float(fraction)
        assert Fraction(q.text) == fraction
        assert quantity(q.text, "epsilon") == q

    @given(st.integers(1, 10**6), st.integers(1, 10**6))
    def test_logarithms_are_exact(self, numerator, denominator):
        ratio = Fraction(numerator, denominator)
        q = quantity(f"ln {numerator}/{denominator}", "epsilon")
        assert q.value == math.log(ratio)
        assert q.text == f"ln {numerator}/{denominator}"

    @pytest.mark.parametrize("text", ["ln 3", "ln3", "ln(3)", "log 3", "1 ln 3", "1*ln 3"])
    def test_ways_to_write_a_logarithm(self, text):
        assert quantity(text, "epsilon").value == math.log(3)

    def test_a_third_is_not_a_decimal(self):
        assert quantity("1/3", "epsilon").value == 1 / 3
        assert quantity("0.1/0.3", "epsilon").value == float(Fraction(1, 3))

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_floats_are_read_back(self, number):
        q = quantity(number, "mu")
        assert float(q) == q.value == number
        assert quantity(q.text, "mu").value == number

    @pytest.mark.parametrize("number", [True, None, [1], {}, object(), 1j])
    def test_what_is_no_number(self, number):
        with pytest.raises(ClaimError, match=r"epsilon is .*write a number"):
            quantity(number, "epsilon")

    def test_numbers_of_numpy(self):
        import numpy as np

        assert quantity(np.float64(0.5), "mu") == quantity(0.5, "mu")
        assert quantity(np.int64(2), "mu") == quantity(2, "mu")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NUMBERS = st.lists(st.floats(0, 1), min_size=1, max_size=4)


@given(JSON)
@settings(max_examples=200)
def test_any_json_is_a_claim_or_a_claim_error(data):
    try:
        assert isinstance(claim_from_json(data), Claim)
    except ClaimError as error:
        assert error.findings


SCALARS = st.none() | st.booleans() | st.integers(-9, 9**9) | st.floats() | st.text(max_size=4)


@given(
    st.sampled_from(["pure", "approx", "gaussian", "zcdp", "renyi", "tradeoff", "profile", "x"]),
    st.dictionaries(
        st.sampled_from(
            [
                "epsilon",
                "delta",
                "mu",
                "rho",
                "order",
                "alpha",
                "beta",
                "epsilons",
                "deltas",
                "source",
            ]
        ),
        SCALARS | NUMBERS,
    ),
)
@settings(max_examples=300)
def test_any_almost_claim_in_json_is_a_claim_or_a_claim_error(kind, fields):
    try:
        assert isinstance(claim_from_json({"kind": kind, **fields}), Claim)
    except ClaimError as error:
        assert error.findings


@pytest.mark.parametrize(
    "data, problem",
    [
        ([], "JSON object"),
        ({}, "kind is None"),
        ({"kind": "secret"}, "kind is 'secret'"),
        ({"kind": "pure"}, "epsilon missing"),
        ({"kind": "approx", "epsilon": 1}, "delta missing"),
        ({"kind": "pure", "epsilon": 1, "ordered": "yes"}, "true or false"),
        ({"kind": "tradeoff", "alpha": [0, 1], "beta": [1]}, "differ in length"),
        ({"kind": "tradeoff", "alpha": [0, 0.5], "beta": [1, 0]}, "rise from 0 to 1"),
        ({"kind": "tradeoff", "alpha": [0, 1], "beta": [0, 1]}, "beta must not increase"),
        ({"kind": "tradeoff", "alpha": 3, "beta": [1, 0]}, "list of numbers"),
        ({"kind": "profile", "epsilons": [0], "deltas": [2], "source": ""}, "delta must lie"),
        ({"kind": "profile", "epsilons": [0], "deltas": [], "source": ""}, "list of numbers"),
        ({"kind": "profile", "epsilons": [-1], "deltas": [0.1], "source": ""}, "epsilon must lie"),
    ],
)
def test_claim_from_json_refuses(data, problem):
    with pytest.raises(ClaimError, match=problem):
        claim_from_json(data)


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "profile", "epsilons": [math.inf], "deltas": [0.1], "source": ""},
        {"kind": "profile", "epsilons": [math.nan], "deltas": [0.1], "source": ""},
        {"kind": "profile", "epsilons": [10**400], "deltas": [0.1], "source": ""},
        {"kind": "profile", "epsilons": [800.0], "deltas": [0.1], "source": ""},
        {"kind": "tradeoff", "alpha": [0, 1], "beta": [1, 1]},
        {"kind": "tradeoff", "alpha": [0, 0.5, 1], "beta": [0.5, 0.5, 0]},
    ],
    ids=["infinite", "nan", "huge", "beyond 700", "above 1 - a", "not convex"],
)
def test_claim_from_json_refuses_impossible_tables(data):
    with pytest.raises(ClaimError):
        claim_from_json(data)
