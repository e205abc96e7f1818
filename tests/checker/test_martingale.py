"""Proofs by martingales written by hand: what holds is accepted, what does not is refused."""

import copy
import time
from fractions import Fraction

import pytest

from tollens.checker.compiling import compile_text
from tollens.checker.errors import CertificateError
from tollens.checker.martingale import bounds

GEOMETRIC = """
from tollens import noise
def f(x):
    g = x
    while noise.flip(1/2):
        g += 1
    return g
"""


def program(text):
    return compile_text(text, "f")


def witness(**terms):
    return {"kind": "polynomial", "items": None, "unit": False, "terms": dict(terms)}


def side(**changes):
    return {"opened": {"0": ["g"]}, "kept": {"0": []}, "cuts": {}, **changes}


@pytest.fixture
def certificate():
    """f = g, from 1 and from 0: E f is 2 and 1, as U = L = g + 1; R = 2 g + 4."""
    start = {"invariants": [], "integers": [], "potential": []}
    lower = side(
        output={"output": "1"},
        locations=[
            {**start, "bound": [{"1": "2"}]},
            {
                "invariants": [{"g": "1", "1": "-1"}], "integers": [],
                "bound": [{"g": "1", "1": "1"}], "potential": [{"g": "2", "1": "4"}],
            },
        ],
        proofs=[
            [],  # g - 1 >= 0 at first
            [["1", [0], None], ["1", [], None]],  # g + 1 - 1 >= 0
            [],  # output = p
            [],  # L at the start is 2
            [["2", [0], None], ["6", [], None]],  # R >= 0
            [],  # L = 1/2 g + 1/2 (g + 2)
            [["1", [0], None], ["2", [], None]],  # R - 1/2 (2 (g + 1) + 4) = g + 1
            [],  # ... - L = 0
        ],
    )  # fmt: skip
    upper = side(
        output={"output": "1"},
        locations=[
            {**start, "bound": [{"1": "1"}]},
            {
                "invariants": [{"g": "1"}], "integers": [],
                "bound": [{"g": "1", "1": "1"}], "potential": [],
            },
        ],
        proofs=[
            [],
            [["1", [0], None], ["1", [], None]],
            [],
            [["1", [0], None]],  # output >= 0
            [],
            [["1", [0], None], ["1", [], None]],  # U >= 0
            [],
        ],
    )  # fmt: skip
    return {"kind": "martingale", "lower": lower, "upper": upper}


def test_a_proof_by_hand(certificate):
    found = bounds(program(GEOMETRIC), 1, 0, witness(output="1"), certificate, 60)
    assert found == (2, 1)


def changed(certificate, path, value):
    made = copy.deepcopy(certificate)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


LIES = [
    ("upper is too small", ("upper", "locations", 0, "bound"), [{"1": "9/10"}]),
    ("U is too small", ("upper", "locations", 1, "bound"), [{"g": "1", "1": "9/10"}]),
    ("U may be negative", ("upper", "locations", 1, "bound"), [{"g": "1", "1": "-1"}]),
    ("U falls", ("upper", "locations", 1, "bound"), [{"1": "1"}]),
    ("false at first", ("lower", "locations", 1, "invariants"), [{"g": "1", "1": "-2"}]),
    ("the invariant is not inductive", ("upper", "locations", 1, "invariants"), [{"g": "-1"}]),
    ("an invariant is missing", ("upper", "locations", 1, "invariants"), []),
    ("the start has an invariant", ("lower", "locations", 0, "invariants"), [{"1": "-1"}]),
    ("lower is too large", ("lower", "locations", 0, "bound"), [{"1": "21/10"}]),
    ("L is too large", ("lower", "locations", 1, "bound"), [{"g": "1", "1": "11/10"}]),
    ("R does not pay", ("lower", "locations", 1, "potential"), [{"g": "1", "1": "4"}]),
    ("R is negative", ("lower", "locations", 1, "potential"), [{"g": "2", "1": "-1"}]),
    ("R is missing", ("lower", "locations", 1, "potential"), []),
    ("R is too much", ("upper", "locations", 1, "potential"), [{"1": "1"}]),
    ("R at the start", ("lower", "locations", 0, "potential"), [{"1": "1"}]),
    ("L is missing", ("lower", "locations", 1, "bound"), []),
    ("a location is missing", ("lower", "locations"), []),
    ("the output is too large", ("lower", "output"), {"output": "2"}),
    ("the output is too small", ("upper", "output"), {"output": "1/2"}),
    ("the output is negative", ("upper", "output"), {"output": "1", "1": "-1"}),
    ("no proofs", ("upper", "proofs"), []),
    ("a proof too many", ("upper", "proofs", 7), None),
    ("a negative weight", ("upper", "proofs", 3), [["-1", [0], None]]),
    ("no such fact", ("upper", "proofs", 3), [["1", [1], None]]),
    ("a fact from the end", ("upper", "proofs", 3), [["1", [-1], None]]),
    ("another identity", ("upper", "proofs", 3), [["1", [0, 0], None]]),
    ("contradiction", ("upper", "proofs", 3), [["1", [], None]]),
    ("integers", ("upper", "locations", 1, "integers"), [{"g": "1/2"}]),
    ("an unknown name", ("upper", "opened"), {"0": ["g", "h"]}),
    ("no name", ("upper", "opened"), {}),
    ("kept instead of open", ("upper", "kept"), {"0": ["g"]}),
    ("no such head", ("upper", "cuts"), {"1": []}),
    ("a cut", ("upper", "cuts"), {"0": [{"g": "1"}]}),
    ("another kind", ("kind",), "paths"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), [lie[1:] for lie in LIES], ids=[lie[0] for lie in LIES])
def test_lies(certificate, path, value):
    made = copy.deepcopy(certificate)
    at = made
    for key in path[:-1]:
        at = at[key]
    if path[-1] == 7:
        at.append([])
    else:
        at[path[-1]] = value
    if path[0] == "upper" and path[-1] == "kept":
        made["upper"]["opened"] = {}
    with pytest.raises(CertificateError):
        bounds(program(GEOMETRIC), 1, 0, witness(output="1"), made, 60)


def test_the_inputs_count(certificate):
    f = witness(output="1")
    with pytest.raises(CertificateError):
        bounds(program(GEOMETRIC), 0, 0, f, certificate, 60)
    with pytest.raises(CertificateError):
        bounds(program(GEOMETRIC), 1, 1, f, certificate, 60)


def test_the_program_counts(certificate):
    with pytest.raises(CertificateError):
        bounds(program(GEOMETRIC.replace("1/2", "2/3")), 1, 0, witness(output="1"), certificate, 60)


def test_the_witness_counts(certificate):
    for f in (
        witness(output="2"), witness(), witness(output="1", **{"1": "1"}), witness(g="1"),
        {**witness(output="1"), "unit": True}, {**witness(output="1"), "items": 1},
        {**witness(output="1"), "kind": "event"}, {**witness(output="1"), "unit": 1},
    ):  # fmt: skip
        with pytest.raises(CertificateError):
            bounds(program(GEOMETRIC), 1, 0, f, certificate, 60)


def test_sides_cannot_be_exchanged(certificate):
    swapped = {**certificate, "lower": certificate["upper"], "upper": certificate["lower"]}
    with pytest.raises(CertificateError):
        bounds(program(GEOMETRIC), 0, 1, witness(output="1"), swapped, 60)


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, [[]], [["1", [0]]], [["1", 0, None]],
                                   [["1", ["0"], None]], [["1", [True], None]], [[1, [0], None]],
                                   [["1", [0], {"x": 1}]], [["1", [0] * 30, None]]])  # fmt: skip
def test_shapeless_proofs(certificate, value):
    with pytest.raises(CertificateError):
        bounds(
            program(GEOMETRIC), 1, 0, witness(output="1"),
            changed(certificate, ("upper", "proofs", 3), value), 60,
        )  # fmt: skip
    for key in ("opened", "kept", "cuts", "output", "locations", "proofs"):
        with pytest.raises(CertificateError):
            bounds(
                program(GEOMETRIC), 1, 0, witness(output="1"),
                changed(certificate, ("lower", key), value if value not in ([], {}) else 1), 60,
            )  # fmt: skip


def test_squares_prove_what_is_not_bounded():
    """s = x + sum of normal steps: f = s^2 has E f = 1 + 2 from 1, and E f <= 3 from 1."""
    text = GEOMETRIC.replace("g += 1", "g += noise.gauss(1)")
    start = {"invariants": [], "integers": [], "potential": []}
    square = [["1", [], {"g": "1"}]]
    upper = side(
        output={"output^2": "1"},
        locations=[
            {**start, "bound": [{"1": "2"}]},
            {**start, "bound": [{"g^2": "1", "1": "1"}]},
        ],
        proofs=[[], square, [], [*square, ["1", [], None]], []],
    )
    lower = copy.deepcopy(upper)
    lower["locations"][1]["potential"] = [{"g^2": "2", "1": "4"}]
    lower["proofs"] = [
        [], [], [["2", [], {"g": "1"}], ["4", [], None]], [],
        [*square, ["1", [], None]], [],
    ]  # fmt: skip
    proof = {"kind": "martingale", "lower": lower, "upper": upper}
    f = witness(**{"output^2": "1"})
    assert bounds(program(text), 1, 1, f, proof, 60) == (2, 2)
    for weight in ("-1", "9/10"):
        wrong = changed(proof, ("upper", "proofs", 1), [[weight, [], {"g": "1"}]])
        with pytest.raises(CertificateError):
            bounds(program(text), 1, 1, f, wrong, 60)


def test_other_outputs_count_nothing():
    text = GEOMETRIC.replace("return g", "return 'none' if noise.flip(1/2) else g")
    start = {"invariants": [], "integers": [], "potential": []}
    upper = side(
        output={"1": "1"},
        locations=[{**start, "bound": [{"1": "1/2"}]}, {**start, "bound": [{"1": "1/2"}]}],
        proofs=[[], [["1", [], None]], [], [["1/2", [], None]], []],
    )
    lower = copy.deepcopy(upper)
    lower["locations"][1]["potential"] = [{"1": "1"}]
    lower["proofs"] = [[], [], [["1", [], None]], [], [["1/2", [], None]], []]
    proof = {"kind": "martingale", "lower": lower, "upper": upper}
    f = {**witness(), "terms": {"1": "1"}}
    assert bounds(program(text), 1, 0, f, proof, 60) == (Fraction(1, 2), Fraction(1, 2))


def test_hostile_sizes(certificate):
    begun = time.monotonic()
    f = witness(output="1")
    hostile = [
        (("lower", "locations", 1, "bound"), [{f"g^{k}": "9" * 3000 for k in range(1, 40)}]),
        (("lower", "locations", 1, "potential"), [{"g^40": "1"}]),
        (("upper", "proofs", 3), [["1", [0] * 24, {"g^20": "1"}]]),
        (("upper", "proofs", 3), [["1", [0], None]] * 60_000),
        (("upper", "locations", 1, "invariants"), [{"g^30": "1", "1": "9" * 3000}] * 300),
        (("upper", "cuts"), {"0": [{"g": "1", "1": f"{k}"} for k in range(2000)]}),
    ]
    for path, value in hostile:
        with pytest.raises(CertificateError):
            bounds(program(GEOMETRIC), 1, 0, f, changed(certificate, path, value), 5)
    assert time.monotonic() - begun < 20


def test_the_time_is_limited(certificate):
    with pytest.raises(CertificateError, match="too long"):
        bounds(program(GEOMETRIC), 1, 0, witness(output="1"), certificate, -1.0)
