"""Patterns match what they say, and those that are called disjoint share no output."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollens.checker.errors import CertificateError
from tollens.checker.form import Form
from tollens.checker.patterns import (
    Anything,
    Between,
    Equals,
    Items,
    disjoint,
    matched,
    read_event,
    write,
)

F = Fraction
NUMBERS = tuple(F(n, 2) for n in range(-3, 4))
PLAIN = (*NUMBERS, True, False, None, "a", "b", "")
OUTPUTS = (
    *PLAIN,
    (),
    *((a,) for a in PLAIN),
    *product(PLAIN[::2], PLAIN[1::3]),
    *(((a,), b) for a, b in product(PLAIN[::3], PLAIN[::3])),
    ((), ()),
    (F(0), F(0), F(0)),
)

ends = st.one_of(st.none(), st.sampled_from(NUMBERS))
intervals = st.builds(Between, ends, ends).filter(
    lambda b: b.low is None or b.high is None or b.low < b.high
)
simple = st.one_of(st.just(Anything()), st.sampled_from(OUTPUTS).map(Equals), intervals)
patterns = st.recursive(
    simple, lambda inner: st.lists(inner, max_size=3).map(lambda x: Items(tuple(x))), max_leaves=4
)


def same(a, b):
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def matches(pattern, output):
    """What a pattern says, for outputs without draws."""
    match pattern:
        case Anything():
            return True
        case Equals(value):
            return same(value, output)
        case Between(low, high):
            number = isinstance(output, F)
            return number and (low is None or low <= output) and (high is None or output <= high)
        case Items(items):
            alike = isinstance(output, tuple) and len(output) == len(items)
            return alike and all(map(matches, items, output))
    raise AssertionError


@settings(max_examples=400)
@given(patterns)
def test_matched(pattern):
    for output in OUTPUTS:
        assert matched(pattern, output) == ([] if matches(pattern, output) else None)


@settings(max_examples=1500)
@given(patterns, patterns)
def test_disjoint_patterns_share_no_output(one, other):
    apart = disjoint(one, other)
    assert disjoint(other, one) == apart
    if apart:
        assert not any(matches(one, out) and matches(other, out) for out in OUTPUTS)


@given(patterns)
def test_a_pattern_overlaps_itself(pattern):
    if any(matches(pattern, out) for out in OUTPUTS):
        assert not disjoint(pattern, pattern)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (Equals(F(1)), Equals(True), True),
        (Equals(F(0)), Between(F(0), None), False),
        (Equals(True), Between(F(0), None), True),
        (Equals((F(1), F(2))), Items((Anything(), Between(None, F(1)))), True),
        (Equals((F(1), F(2))), Items((Anything(), Between(None, F(2)))), False),
        (Equals((F(1),)), Items((Anything(), Anything())), True),
        (Between(F(0), F(1)), Between(F(1), F(2)), False),
        (Between(F(0), F(1)), Between(F(3, 2), F(2)), True),
        (Between(None, F(1)), Between(None, F(0)), False),
        (Between(None, F(0)), Between(F(1), None), True),
        (Between(None, None), Items(()), True),
        (Items((Anything(),)), Items((Anything(), Anything())), True),
        (Items((Equals(F(1)), Anything())), Items((Equals(F(2)), Anything())), True),
        (Items((Equals(F(1)), Anything())), Items((Anything(), Equals(F(2)))), False),
        (Anything(), Equals(F(1)), False),
        (Anything(), Items(()), False),
    ],
)
def test_known_pairs(one, other, apart):
    assert disjoint(one, other) == disjoint(other, one) == apart


fine = st.fractions(-3, 3, max_denominator=997)


@settings(max_examples=300)
@given(patterns, st.lists(fine, min_size=2, max_size=2))
def test_outputs_that_depend_on_draws(pattern, values):
    """Where draws have values that are equal to nothing, constraints hold where outputs match."""
    z, y = (Form(F(1, 2), ((0, F(2)),)), Form(F(0), ((0, F(1)), (1, F(-1)))))
    at = {z: F(1, 2) + 2 * values[0], y: values[0] - values[1]}
    for output in (z, y, (z,), (z, y), (F(1), z), ((z,), F(0)), (True, z)):

        def real(part):
            return tuple(map(real, part)) if isinstance(part, tuple) else at.get(part, part)

        constraints = matched(pattern, output)
        value = real(output)
        if any(v in NUMBERS for v in at.values()):
            continue
        holds = constraints is not None and all(
            c.constant + sum(a * values[i] for i, a in c.terms) >= 0 for c in constraints
        )
        assert holds == matches(pattern, value)


@given(patterns)
def test_json_and_back(pattern):
    assert read_event({"kind": "event", "patterns": [write(pattern)]}) == (pattern,)


ANY = {"any": True}


@pytest.mark.parametrize(
    ("witness", "message"),
    [
        (None, "is no object"),
        ({"kind": "event"}, "has no 'patterns'"),
        ({"kind": "event", "patterns": [ANY], "more": 1}, "without use"),
        ({"kind": "events", "patterns": [ANY]}, "no event"),
        ({"kind": "event", "patterns": []}, "no event"),
        ({"kind": "event", "patterns": ANY}, "no event"),
        ({"kind": "event", "patterns": [ANY] * 1001}, "more than 1000"),
        ({"kind": "event", "patterns": [ANY, ANY]}, "pattern 2 of the event overlaps"),
        ({"kind": "event", "patterns": [{"any": False}]}, "one of any"),
        ({"kind": "event", "patterns": [{"any": True, "equals": "1"}]}, "one of any"),
        ({"kind": "event", "patterns": [{"equals": 1}]}, "no exact value"),
        ({"kind": "event", "patterns": [{"equals": "a"}]}, "no exact number"),
        ({"kind": "event", "patterns": [{"between": ["1", "1"]}]}, "is empty"),
        ({"kind": "event", "patterns": [{"between": ["1", "1/2"]}]}, "is empty"),
        ({"kind": "event", "patterns": [{"between": ["1"]}]}, "one of any"),
        ({"kind": "event", "patterns": [{"between": ["1", "2", "3"]}]}, "one of any"),
        ({"kind": "event", "patterns": [{"between": [1, None]}]}, "no exact number"),
        ({"kind": "event", "patterns": [{"items": ANY}]}, "one of any"),
        ({"kind": "event", "patterns": [{"items": [1]}]}, "one of any"),
        ({"kind": "event", "patterns": [{}]}, "one of any"),
        ({"kind": "event", "patterns": ["any"]}, "one of any"),
    ],
)
def test_bad_events(witness, message):
    with pytest.raises(CertificateError, match=message):
        read_event(witness)


def test_deep_patterns_are_refused():
    deep = ANY
    for _ in range(30):
        deep = {"items": [deep]}
    with pytest.raises(CertificateError, match="nested too deeply"):
        read_event({"kind": "event", "patterns": [deep]})
