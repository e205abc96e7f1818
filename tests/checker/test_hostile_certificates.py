"""Certificates that are false, or made to break the checker: all of them must be turned away."""

import hashlib
import json
from fractions import Fraction

import pytest

from tollens.checker import CertificateError, relations, verify
from tollens.checker.compiling import compile_text

PURE = {"kind": "pure", "epsilon": "1", "ordered": False}
FLIP = "from tollens import noise\n\n\ndef f(x):\n    return noise.flip(1/2) if x == 0 else True\n"


def certificate(text, x, x_prime, patterns, **changes):
    """One that says that an event is likely on x and impossible on x'."""
    made = {
        "schema": "tollens/certificate/1",
        "engine": "events",
        "program": {
            "text": text,
            "name": "f",
            "digest": hashlib.sha256(text.encode()).hexdigest(),
            "canonical": compile_text(text, "f").digest(),
        },
        "claim": PURE,
        "relation": {"kind": "given", "whole": False},
        "x": x,
        "x_prime": x_prime,
        "likely_under": "x",
        "witness": {"kind": "event", "patterns": patterns},
        "proof": {"kind": "paths", "rounds": 200, "rounds_other": 200, "small": 10_000},
        "hint": None,
        "lower": "1/4",
        "upper": "0",
        "epsilon": "Infinity",
    }
    return made | changes


def test_the_kind_of_certificate_that_is_meant_here_can_be_right():
    assert verify(certificate(FLIP, "0", "1", [{"equals": False}])).epsilon is None


# A constant law, whatever the input; runs at the head of the loop differ in what is known of z.
TIED = """
from tollens import noise

def g(z):
    k = 0
    if z >= 0:
        k = 0
    while k < 1000:
        k = k + 1
        if noise.flip(1/2):
            return 0 if z >= 0 else 100
    return 0

def f(x):
    return g(noise.laplace(1))
"""


def test_texts_among_the_inputs_cannot_pass_for_other_lines():
    forged = {"text": "0\nx' is a neighbour of x"}
    text = "def f(x):\n    return 1 if x == 2 else 0\n"
    lines = verify(certificate(text, "2", [forged], [{"equals": "1"}])).lines()
    assert "\n" not in "".join(lines)


def test_bounds_of_cut_runs_are_not_those_of_runs_that_know_something_else():
    proof = {"kind": "paths", "rounds": 200, "rounds_other": 1, "small": 10_000}
    made = certificate(TIED, "0", "1", [{"between": ["50", "150"]}], proof=proof)
    with pytest.raises(CertificateError, match="upper bound"):
        verify(made)


@pytest.mark.parametrize("order", ["0", "1/2", "1", "ln 3"])
def test_orders_at_which_impossible_events_show_nothing(order):
    claim = {"kind": "renyi", "order": order, "epsilon": "1", "ordered": False}
    with pytest.raises(CertificateError, match="order must be a rational above 1"):
        verify(certificate(FLIP, "0", "1", [{"equals": False}], claim=claim))


class TestRelations:
    FIRST = "def f(x):\n    return x[0]\n"

    @pytest.mark.parametrize(
        ("kind", "x", "x_prime"),
        [
            ("add_remove", [True, "5"], ["1"]),
            ("add_remove", ["1"], ["2", True]),
            ("add_remove", ["1", "2", "3"], ["2", "1"]),
            ("add_remove", ["1", "2"], ["1", "2"]),
            ("add_remove", ["1", "2", "3"], ["1"]),
            ("substitute", [True, "2"], ["1", "3"]),
            ("substitute", [[True], "2"], [["1"], "3"]),
            ("substitute", [{"tuple": ["1"]}, "2"], [["1"], "3"]),
            ("substitute", [{"dict": [[True, "1"]]}, "2"], [{"dict": [["1", "1"]]}, "3"]),
        ],
    )
    def test_pairs_that_are_no_neighbours(self, kind, x, x_prime):
        relation = {"kind": kind, "whole": False}
        made = certificate(self.FIRST, x, x_prime, [{"any": True}], relation=relation)
        with pytest.raises(CertificateError, match=f"no neighbours by {kind}|are equal"):
            verify(made)

    @pytest.mark.parametrize(
        ("x", "x_prime"),
        [
            (["1", "2"], ["2"]),
            (["1", "2"], ["1"]),
            (["1", "1", "1"], ["1", "1"]),
            (["5"], []),
            ([["1"], {"tuple": ["1"]}, True], [["1"], True]),
        ],
    )
    def test_pairs_that_differ_by_one_item(self, x, x_prime):
        relation = {"kind": "add_remove", "whole": False}
        text = "def f(x):\n    return len(x)\n"
        for one, other in ((x, x_prime), (x_prime, x)):
            found = verify(
                certificate(text, one, other, [{"equals": str(len(one))}], relation=relation)
            )
            assert found.relation == "add_remove"

    def test_long_lists_are_compared_in_one_pass(self):
        long = [Fraction(1)] * 60_000
        relations.check({"kind": "add_remove", "whole": False}, [*long, Fraction(2)], long)


class TestOddDocuments:
    ONE = "def f(x):\n    return 1\n"

    @pytest.mark.parametrize(
        "x",
        [
            {"dict": [[{"tuple": [["1"]]}, "1"]]},
            {"dict": [[["1"], "1"]]},
            {"dict": [["1", "1"], [True, "2"]]},
            {"dict": [["1"]]},
            {"tuple": "1"},
            "1.5",
            1,
            "1" * 5000,
            "1/0",
        ],
    )
    def test_inputs(self, x):
        with pytest.raises(CertificateError):
            verify(certificate(self.ONE, x, "0", [{"any": True}]))

    def test_texts_that_are_no_unicode(self):
        made = certificate(self.ONE, "0", "1", [{"any": True}])
        made["program"]["text"] = "def f(x):\n    return '\ud800'\n"
        with pytest.raises(CertificateError, match="digest"):
            verify(made)
        with pytest.raises(CertificateError, match="digest"):
            verify(json.dumps(made))

    @pytest.mark.parametrize("key", sorted({*certificate(ONE, "0", "1", [])} - {"x_prime"}))
    def test_any_part_may_be_anything(self, key):
        made = certificate(FLIP, "0", "1", [{"equals": False}])
        for value in (None, True, 0, -1, "", "x", [], [[]], {}, {"kind": []}, {"kind": "event"}):
            if made[key] is not value:
                with pytest.raises(CertificateError):
                    verify(made | {key: value})

    def test_devices_without_an_end_are_not_read(self):
        with pytest.raises(CertificateError):
            verify("/dev/zero")
