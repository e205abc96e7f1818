"""The check of a whole certificate: each part is checked, and the words say what is proved."""

from __future__ import annotations

import copy
import hashlib
import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollens.checker import CertificateError, verify
from tollens.checker.certificate import SCHEMA, _decimal
from tollens.checker.compiling import compile_text

F = Fraction
TEXT = """from tollens import noise

SCALE = 1/2  # for epsilon = 2


def f(x):
    return x + noise.laplace(SCALE)
"""
# P(output >= 1) is 1/2 on 1 and e^-2/2 = 0.0676676... on 0
GOOD = {
    "schema": SCHEMA,
    "engine": "events",
    "program": {
        "text": TEXT,
        "name": "f",
        "digest": hashlib.sha256(TEXT.encode()).hexdigest(),
        "canonical": compile_text(TEXT, "f").digest(),
    },
    "claim": {"kind": "pure", "epsilon": "1", "ordered": False},
    "relation": {"kind": "numbers", "whole": True, "by": "1"},
    "x": "1",
    "x_prime": "0",
    "likely_under": "x",
    "witness": {"kind": "event", "patterns": [{"between": ["1", None]}]},
    "proof": {"kind": "paths", "rounds": 1, "rounds_other": 1, "small": 100},
    "hint": None,
    "lower": "1/2",
    "upper": "67668/1000000",
    "epsilon": "199/100",
}


def changed(**parts):
    """The certificate with other parts; `a__b` is the part b of the part a."""
    made = copy.deepcopy(GOOD)
    for name, part in parts.items():
        *above, last = name.split("__")
        inner = made
        for step in above:
            inner = inner[step]
        inner[last] = part
    return made


def with_text(text, name="f", **parts):
    program = {
        "text": text,
        "name": name,
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "canonical": compile_text(text, name).digest(),
    }
    return changed(program=program, **parts)


def test_a_good_one(tmp_path):
    path = tmp_path / "good.json"
    path.write_text(json.dumps(GOOD))
    for given_as in (GOOD, json.dumps(GOOD), path, str(path), "  \n" + json.dumps(GOOD)):
        found = verify(given_as)
        assert (found.program, found.relation, found.engine) == ("f", "numbers", "events")
        assert (found.x, found.x_prime, found.likely_under) == (1, 0, "x")
        assert (found.lower, found.upper) == (F(1, 2), F(67668, 10**6))
        assert found.epsilon == F(199, 100)
    assert found.lines() == (
        "f breaks epsilon=1",
        "x = 1, x' = 0 (neighbours: numbers)",
        "the witness has expectation >= 0.5 on x",
        "and <= 0.067668 on x'",
        "epsilon >= 1.99, in exact arithmetic over the reals",
    )


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"schema": "tollens/certificate/2"}, "the schema is not"),
        ({"engine": "magic"}, "the engine is none of"),
        ({"engine": "martingale"}, "witness|proof"),
        ({"engine": "moments"}, "witness|proof|pure"),
        ({"claim__epsilon": "2"}, "do not contradict"),
        ({"claim__epsilon": "ln 8"}, "do not contradict"),
        ({"claim": {"kind": "approx", "epsilon": "1", "delta": "1/2", "ordered": False}}, "contra"),
        ({"relation__by": "99/100"}, "no neighbours by numbers"),
        ({"relation": {"kind": "given"}}, "has no 'whole'"),
        ({"x": "0"}, "are equal"),
        ({"x": "3/2", "relation__by": "2"}, "not whole"),
        ({"x": "2"}, "no neighbours"),
        ({"x": "-1"}, "no expectation as large as the lower bound"),
        ({"x_prime": "2"}, "larger expectation than the upper bound"),
        ({"likely_under": "x_prime"}, "no expectation as large"),
        ({"likely_under": "y"}, "not a side"),
        ({"likely_under": None}, "not a side"),
        ({"witness__patterns": [{"between": ["1", "5"]}]}, "no expectation as large"),
        ({"witness__patterns": [{"between": ["9/10", None]}]}, "larger expectation"),
        ({"witness__patterns": [{"any": True}]}, "larger expectation"),
        ({"witness__patterns": [{"equals": "1"}]}, "no expectation as large"),
        ({"proof__kind": "table"}, "proved by paths"),
        ({"proof__rounds": 0}, "no expectation as large"),
        ({"proof__rounds_other": 0}, "larger expectation"),
        ({"hint": "2"}, "hint does not fit"),
        ({"lower": "500001/1000000"}, "no expectation as large"),
        ({"upper": "67667/1000000", "epsilon": "1"}, "larger expectation"),
        ({"lower": "0"}, "no expectations that differ"),
        ({"epsilon": "2"}, "epsilon is more than the bounds show"),
        ({"epsilon": "Infinity"}, "epsilon is not infinite"),
        ({"program__name": "g"}, "no function g"),
        ({"program__text": TEXT + "\n"}, "the digest is not that of the program"),
        ({"program__digest": "0" * 64}, "the digest is not that of the program"),
        ({"program__canonical": "0" * 64}, "canonical digest"),
        ({"extra": 1}, "a key 'extra' without use"),
        ({"program__extra": 1}, "a key 'extra' without use"),
    ],
)
def test_one_thing_is_wrong(parts, message):
    with pytest.raises(CertificateError, match=message):
        verify(changed(**parts))


@pytest.mark.parametrize(
    "parts",
    [
        {"claim__epsilon": "199/100"},
        {"claim__epsilon": "ln 7"},
        {"claim__ordered": True},
        {"claim": {"kind": "approx", "epsilon": "1", "delta": "3/10", "ordered": False},
         "epsilon": "1"},
        {"relation": {"kind": "given", "whole": False}},
        {"relation__by": "7"},
        {"lower": "1/3", "epsilon": "3/2"},
        {"upper": "1/10", "epsilon": "3/2"},
        {"epsilon": "-5"},
        {"proof__rounds": 7},
    ],
)  # fmt: skip
def test_weaker_statements_are_true_too(parts):
    assert verify(changed(**parts)).program == "f"


def test_a_claim_may_bind_one_order_only():
    other = {"x": "0", "x_prime": "1", "likely_under": "x_prime"}
    assert verify(changed(**other)).likely_under == "x_prime"
    with pytest.raises(CertificateError, match="not a side that the claim binds"):
        verify(changed(claim__ordered=True, **other))


def test_another_text_is_another_program():
    for old, new in (("1/2", "3/5"), ("laplace(SCALE)", "laplace(SCALE) + 1"), ("x +", "x / 2 +")):
        with pytest.raises(CertificateError, match="expectation"):
            verify(with_text(TEXT.replace(old, new)))
    assert verify(with_text(TEXT.replace("# for epsilon = 2", ""))).program == "f"
    odd = TEXT.replace("laplace", "cauchy")
    digest = hashlib.sha256(odd.encode()).hexdigest()
    with pytest.raises(CertificateError, match=r"the program: line 7: a call of noise\.cauchy"):
        verify(changed(program__text=odd, program__digest=digest))


def test_the_canonical_form_covers_the_meaning_and_not_the_layout():
    def digest(text):
        return compile_text(text, "f").digest()

    same = TEXT.replace("x + noise", "(x   +   noise").replace("(SCALE)", "(SCALE))  # so")
    assert digest(same) == digest(TEXT) == digest(TEXT.replace("\n\n\n", "\n'why'\n\n"))
    others = [
        ("1/2", "1/3"), ("1/2", "2/1"), ("x +", "x -"), ("laplace", "exponential"),
        ("SCALE)", "1/2)"),
        ("return x", "return 1 * x"), ("return", "yield"), ("(x)", "(x, y=1)"), ("1/2", "True"),
    ]  # fmt: skip
    digests = {digest(TEXT.replace(*other)) for other in others} | {digest(TEXT)}
    assert len(digests) == len(others) + 1
    assert digest("def f(x):\n    return 1\n") != digest("def f(x):\n    return True\n")
    assert digest("def f(x):\n    return 1\n") != digest("def f(x):\n    return '1'\n")


@given(st.fractions(), st.integers(-30, 30))
def test_decimals_are_rounded_to_the_safe_side(number, power):
    exact = number * F(10) ** power
    down, up = F(_decimal(exact, up=False)), F(_decimal(exact, up=True))
    assert down <= exact <= up
    assert up - down <= abs(exact) / 10**4
