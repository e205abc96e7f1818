"""Exact forms: claims, inputs, rounding, and events in words and on outputs."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tollens
from tollens.checker.claims import read_claim
from tollens.errors import ClaimError, UsageError
from tollens.event import event_of, exact_words
from tollens.exact import claim_words, exact_claim, plain_data
from tollens.refutation.inputs import exact_data, exact_relation
from tollens.rounding import exact_down, exact_up
from tollens.witness_words import witness_words

RATIONALS = st.fractions(min_value=0)


class TestClaims:
    @pytest.mark.parametrize(
        ("claim", "exact"),
        [
            (tollens.pure(0.1), {"kind": "pure", "epsilon": "1/10"}),
            (tollens.pure("ln 3"), {"kind": "pure", "epsilon": "ln 3"}),
            (tollens.pure("2 ln 5/4"), {"kind": "pure", "epsilon": "ln 25/16"}),
            (tollens.pure("-1 ln 1/3"), {"kind": "pure", "epsilon": "ln 3"}),
            (tollens.pure(Fraction(1, 3)), {"kind": "pure", "epsilon": "1/3"}),
            (tollens.approx(1, 1e-6), {"kind": "approx", "epsilon": "1", "delta": "1/1000000"}),
            (tollens.gaussian("1/2"), {"kind": "gaussian", "mu": "1/2"}),
            (tollens.zcdp(0.5), {"kind": "zcdp", "rho": "1/2"}),
            (tollens.renyi(8, "ln 2"), {"kind": "renyi", "order": "8", "epsilon": "ln 2"}),
        ],
    )
    def test_the_exact_form_is_one_that_the_checker_reads(self, claim, exact):
        assert exact_claim(claim) == {**exact, "ordered": False}
        assert read_claim(exact_claim(claim)).kind == exact["kind"]

    def test_a_float_counts_as_the_decimal_that_it_prints(self):
        assert exact_claim(tollens.pure(math.log(3)))["epsilon"] == str(
            Fraction("1.0986122886681098")
        )

    def test_ordered_claims_stay_ordered(self):
        assert exact_claim(tollens.pure(1, ordered=True))["ordered"] is True
        assert claim_words(exact_claim(tollens.pure(1, ordered=True))) == "epsilon=1, ordered"

    def test_all_findings_at_once(self):
        with pytest.raises(ClaimError) as caught:
            exact_claim(tollens.approx("0.5 ln 2", "ln 2"))
        assert len(caught.value.findings) == 2

    @pytest.mark.parametrize(
        "claim",
        [tollens.tradeoff(lambda a: (1 - a) ** 2), tollens.profile(tollens.gaussian(1).delta)],
    )
    def test_tables_of_floats_have_no_exact_form(self, claim):
        with pytest.raises(ClaimError, match="table of floats"):
            exact_claim(claim)

    def test_powers_that_are_too_long(self):
        with pytest.raises(ClaimError, match="too long"):
            exact_claim(tollens.pure("10000 ln 1000001/1000000"))

    @pytest.mark.parametrize("data", [None, [], {}, {"kind": 3}, {"kind": "pure"}])
    def test_words_of_anything(self, data):
        assert isinstance(claim_words(data), str)


class TestRounding:
    @given(RATIONALS, st.integers(1, 12))
    def test_never_on_the_wrong_side(self, value, digits):
        assert Fraction(exact_down(value, digits)) <= value <= Fraction(exact_up(value, digits))

    @given(RATIONALS.filter(bool))
    def test_and_near(self, value):
        assert Fraction(exact_up(value)) <= value * (1 + Fraction(1, 10**5))
        assert Fraction(exact_down(value)) >= value * (1 - Fraction(1, 10**5))


class TestInputs:
    @pytest.mark.parametrize(
        ("value", "exact"),
        [
            (1, Fraction(1)),
            (0.1, Fraction(1, 10)),
            (1e-7, Fraction(1, 10**7)),
            (Decimal("0.30"), Fraction(3, 10)),
            (np.float64(0.5), Fraction(1, 2)),
            (np.array([1, 2]), [Fraction(1), Fraction(2)]),
            (True, True),
            ("yes", "yes"),
            ((1, [None]), (Fraction(1), [None])),
            ({"a": 1}, {"a": Fraction(1)}),
        ],
    )
    def test_exact_and_back(self, value, exact):
        found = exact_data(value)
        assert found == exact
        assert type(found) is type(exact)
        assert exact_data(plain_data(found)) == found

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (math.inf, "x is inf; a proof needs finite numbers"),
            ([1, [math.nan]], r"x\[1\]\[0\] is nan"),
            ({"a": object()}, r"x\['a'\] is of type object"),
            ({1, 2}, "x is of type set"),
            (b"ab", "x is of type bytes"),
        ],
    )
    def test_what_has_no_exact_form(self, value, message):
        with pytest.raises(UsageError, match=message):
            exact_data(value)

    def test_data_that_are_nested_too_deeply(self):
        value: list[object] = []
        for _ in range(100):
            value = [value]
        with pytest.raises(UsageError, match="more than 50 deep"):
            exact_data(value)

    def test_rounded_vectors_of_queries_are_made_exact(self):
        """In floats 0.1 + 0.2 lies above 0.3, and would be no neighbour."""
        relation = exact_relation(tollens.queries(2, by=0.2, center=0.1))
        values = {v for pair in relation for side in (pair.x, pair.x_prime) for v in side}
        assert values == {Fraction(1, 10), Fraction(3, 10), Fraction(-1, 10)}

    def test_findings_name_the_pair(self):
        pairs = [(0, 1), (0, math.inf), (math.nan, 1)]
        with pytest.raises(UsageError) as caught:
            exact_relation(tollens.relations.as_relation(pairs))
        assert len(caught.value.findings) == 2
        assert "x_prime of pair 2 is inf" in str(caught.value)

    def test_slices_keep_what_the_relation_is(self):
        relation = tollens.queries(3)
        assert relation[2:4].exact == relation.exact
        assert relation.exact["kind"] == "queries"
        assert tollens.relations.as_relation((0, 1)).exact == {"kind": "given"}


def event(*patterns):
    return event_of({"kind": "event", "patterns": list(patterns)})


class TestEvents:
    @pytest.mark.parametrize(
        ("patterns", "words", "inside", "outside"),
        [
            (
                [{"equals": "3"}],
                "output = 3",
                [3, 3.0, np.int64(3), Fraction(3)],
                [True, "3", 4, None, [3]],
            ),
            ([{"equals": "1/10"}], "output = 0.1", [0.1, Fraction(1, 10)], [0.1001]),
            ([{"equals": True}], "output = True", [True, np.bool_(True)], [1, 1.0]),
            ([{"equals": {"text": "a"}}], "output = 'a'", ["a"], ["b", None]),
            ([{"equals": None}], "output = None", [None], [0, False]),
            (
                [{"between": ["1/2", "1"]}],
                "0.5 <= output <= 1",
                [0.5, 1, np.float32(0.75)],
                [0.4, True, math.nan, math.inf, "0.7"],
            ),
            ([{"between": [None, "0"]}], "output <= 0", [-1, -math.inf], [1e-9, math.inf]),
            ([{"between": ["0", None]}], "output >= 0", [0, math.inf], [-1]),
            ([{"between": [None, None]}], "output is a number", [0], [True, None]),
            (
                [{"items": [{"equals": True}, {"any": True}, {"between": ["2", None]}]}],
                "output[0] = True and output[2] >= 2",
                [(True, "x", 3), [True, None, 2]],
                [(True, "x", 1), (True, "x"), 3, "abc"],
            ),
            (
                [{"items": [{"equals": "1"}, {"equals": "2"}]}],
                "output = [1, 2]",
                [(1, 2), np.array([1.0, 2.0])],
                [(1, 3)],
            ),
            ([{"items": [{"any": True}]}], "output has 1 item", [[1]], [[]]),
            (
                [{"equals": "1"}, {"equals": {"tuple": [True, "2"]}}],
                "output = 1 or output = (True, 2)",
                [1, (True, 2)],
                [2],
            ),
            ([{"any": True}], "any output", [None, 3], []),
        ],
    )
    def test_words_and_outputs(self, patterns, words, inside, outside):
        found = event(*patterns)
        assert str(found) == words
        assert all(map(found, inside))
        assert not any(map(found, outside))

    def test_long_events_are_shortened(self):
        found = event(*({"equals": str(i)} for i in range(20)))
        assert str(found).endswith("output = 5 or 14 more")

    @pytest.mark.parametrize("witness", [None, {}, {"kind": "event", "patterns": []}, []])
    def test_what_is_no_event(self, witness):
        with pytest.raises(UsageError, match="not an event"):
            event_of(witness)

    def test_numbers_in_words(self):
        assert exact_words(Fraction(123456789123456789, 10**9)) == "about 123456789.123"
        assert exact_words(Fraction(10**400)) == "about a huge number"
        assert exact_words({"a": (Fraction(1),)}) == "{'a': (1,)}"


@pytest.mark.parametrize(
    ("witness", "words"),
    [
        ({"kind": "square", "weights": ["1"], "coefficients": ["0", "1/3"]}, "f = (1/3 output)^2"),
        (
            {"kind": "square", "weights": ["2"], "coefficients": ["1"]},
            "f = (1)^2, where y = 2 output",
        ),
        (
            {
                "kind": "polynomial",
                "items": None,
                "terms": {"1": "-1", "output": "1"},
                "unit": True,
            },
            "f = min(1, max(0, -1 + output))",
        ),
        (
            {"kind": "square", "weights": ["1"], "coefficients": ["19304195/67108864"]},
            "f = (~0.287655)^2",
        ),
        ({"kind": "square", "weights": ["1"], "coefficients": ["0"]}, "f = (0)^2"),
        ({"kind": "of another age"}, "a function f >= 0 of the output, in the certificate"),
    ],
)
def test_witnesses_that_are_functions_in_words(witness, words):
    assert witness_words(witness) == ("proved mean", words)


def test_sums_of_many_terms_are_shortened():
    square = {"kind": "square", "weights": ["1"], "coefficients": ["1"] * 20}
    assert witness_words(square)[1].endswith(" + 12 more terms)^2")
