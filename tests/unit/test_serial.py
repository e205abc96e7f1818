"""JSON for what JSON lacks: round trips of plain data, strict reading, hostile documents."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollens.errors import UsageError
from tollens.serial import data_from_json, number_from_json, parse_json, to_jsonable

SPECIAL = ("NaN", "Infinity", "-Infinity")
TEXTS = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda t: t not in SPECIAL)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary()
DATA = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
).filter(lambda data: not (isinstance(data, dict) and set(data) == {"bytes"}))


def same(a, b):
    """Equality that holds for NaN and tells 1 from 1.0 and True."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float) and math.isnan(a):
        return isinstance(b, float) and math.isnan(b)
    return type(a) is type(b) and a == b


def through_json(data):
    text = json.dumps(to_jsonable(data), allow_nan=False, ensure_ascii=False)
    return data_from_json(parse_json(text, "data"))


@given(DATA)
def test_plain_data_come_back(data):
    assert same(through_json(data), data)


@given(st.floats())
def test_numbers_come_back(number):
    value = to_jsonable(number)
    again = number_from_json(json.loads(json.dumps(value, allow_nan=False)), "number")
    assert same(again, number)


@pytest.mark.parametrize(
    "value, expected",
    [
        ((1, 2), [1, 2]),
        (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (np.array([math.inf, math.nan]), ["Infinity", "NaN"]),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (Fraction(1, 3), "1/3"),
        (bytearray(b"\0"), {"bytes": "AA=="}),
        ({1: 2}, {"1": 2}),
        (range(3), [0, 1, 2]),
    ],
)
def test_other_data_become_plain(value, expected):
    assert to_jsonable(value) == expected


def test_an_unknown_object_becomes_its_repr():
    assert to_jsonable({1, 2}) == {"repr": "{1, 2}"}

    class Long:
        def __repr__(self):
            return "x" * 1000

    assert len(to_jsonable(Long())["repr"]) == 500


@pytest.mark.parametrize(
    "text, problem",
    [
        ("", "line 1, column 1"),
        ("{", "not JSON"),
        ("[1,]", "not JSON"),
        ("NaN", 'write "NaN" in quotes'),
        ("[Infinity]", 'write "Infinity" in quotes'),
        ("[-Infinity]", 'write "-Infinity" in quotes'),
        ("[" * 100_000, "nested too deeply"),
        ("[1]\n\n]", "line 3"),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_not_json(text, problem):
    with pytest.raises(UsageError, match=problem):
        parse_json(text, "--x")


def test_a_number_of_too_many_digits():
    with pytest.raises(UsageError):
        parse_json("1" * 5000, "--x")


@given(st.text())
def test_any_text_is_json_or_a_usage_error(text):
    try:
        parse_json(text, "--x")
    except UsageError as error:
        assert "--x" in str(error)


def test_bytes_must_be_base64():
    with pytest.raises(UsageError, match="base64"):
        data_from_json({"bytes": "*"})
    assert data_from_json({"bytes": 3}) == {"bytes": 3}
    assert data_from_json({"bytes": "AA==", "more": 1}) == {"bytes": "AA==", "more": 1}


@pytest.mark.parametrize("value", [None, True, "1", "nan", [], {}])
def test_what_is_no_number(value):
    with pytest.raises(UsageError, match="expected a number"):
        number_from_json(value, "alpha")
