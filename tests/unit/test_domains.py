"""Domains: every value is one of the domain, telling ones differ, simpler ones are simpler."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tollens import domains
from tollens.domains.values import LONGEST_TEXT, MOST_TELLING, Domain, complexity
from tollens.errors import UsageError

FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5).map(float)
WHOLES = st.integers(-5, 5) | st.integers()


def plain(value):
    """A value in a form of its own for what counts as equal; -0.0 is 0.0, True is not 1."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int | float):
        return Fraction(value) if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return type(value).__name__, *map(plain, value)
    if isinstance(value, dict):
        return "dict", *((key, plain(inner)) for key, inner in value.items())
    return type(value).__name__, value


# Domains with a test of their own for what belongs to them


@st.composite
def reals(draw):
    low, high = sorted([draw(FLOATS), draw(FLOATS)])
    low = draw(st.sampled_from([low, -math.inf]))
    high = draw(st.sampled_from([high, math.inf]))
    inside = st.floats(low, high, allow_infinity=False, allow_nan=False)
    at = draw(st.lists(inside, max_size=3))
    nan, missing = draw(st.booleans()), draw(st.booleans())
    infinite = draw(st.booleans()) and math.inf in (high, -low)
    made = domains.reals(low, high, at=at, nan=nan, infinite=infinite, missing=missing)

    def holds(value):
        if value is None:
            return missing
        if type(value) is not float:
            return False
        if math.isnan(value):
            return nan
        return low <= value <= high and (infinite or math.isfinite(value))

    return made, holds


@st.composite
def integers(draw):
    low, high = sorted([draw(WHOLES), draw(WHOLES)])
    low, high = draw(st.sampled_from([low, None])), draw(st.sampled_from([high, None]))
    at, missing = draw(st.lists(st.integers(low, high), max_size=3)), draw(st.booleans())
    made = domains.integers(low, high, at=at, missing=missing)

    def holds(value):
        if value is None:
            return missing
        return (
            type(value) is int and (low is None or low <= value) and (high is None or value <= high)
        )

    return made, holds


@st.composite
def choices(draw):
    anything = (
        st.none() | st.booleans() | FLOATS | WHOLES | st.text(max_size=3) | st.binary(max_size=2)
    )
    options = draw(
        st.lists(anything | st.tuples(WHOLES, st.text(max_size=2)), min_size=1, max_size=30)
    )
    known = {plain(option) for option in options}
    return domains.choices(options), lambda value: plain(value) in known


@st.composite
def texts(draw):
    longest, missing = draw(st.integers(1, 200)), draw(st.booleans())
    return domains.texts(
        longest, missing=missing
    ), lambda value: missing if value is None else isinstance(value, str) and len(value) <= longest


@st.composite
def bit_vectors(draw):
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=3))
    most = draw(st.none() | st.integers(0, 20))

    def holds(value):
        ones = sum(bin(byte).count("1") for byte in value)
        return type(value) is bytes and len(value) in sizes and (most is None or ones <= most)

    return domains.bit_vectors(sizes, most_ones=most), holds


SINGLE = reals() | integers() | choices() | texts() | bit_vectors()


@st.composite
def records(draw):
    parts = draw(st.lists(SINGLE, min_size=1, max_size=3))
    kind = draw(st.sampled_from(["rows", "tuples", "vectors"]))
    holds = [part[1] for part in parts]

    def all_hold(values):
        return len(values) == len(parts) and all(h(v) for h, v in zip(holds, values, strict=True))

    if kind == "rows":
        made = domains.rows({f"f{i}": part[0] for i, part in enumerate(parts)})
        names = [f"f{i}" for i in range(len(parts))]
        return made, lambda value: list(value) == names and all_hold(list(value.values()))
    if kind == "tuples":
        made = domains.tuples(*(part[0] for part in parts))
        return made, lambda value: type(value) is tuple and all_hold(value)
    n = draw(st.integers(1, 5))
    return domains.vectors(
        parts[0][0], n
    ), lambda value: type(value) is list and len(value) == n and all(map(holds[0], value))


ANY = SINGLE | records()


@given(ANY)
@settings(max_examples=300)
def test_telling_values_are_of_the_domain_and_differ(made):
    domain, holds = made
    telling = domain.telling()
    assert isinstance(domain, Domain)
    assert 1 <= len(telling) <= MOST_TELLING
    assert all(map(holds, telling))
    assert len(set(map(plain, telling))) == len(telling)
    assert list(map(plain, domain.telling())) == list(map(plain, telling))


@given(ANY)
@settings(max_examples=100)
def test_simpler_values_are_of_the_domain_and_simpler_without_end(made):
    """Every value that steps lead to, breadth first; each is a strictly simpler one."""
    domain, holds = made
    waiting, seen = domain.telling(), set()
    while waiting and len(seen) < 300:
        value = waiting.pop()
        if plain(value) in seen:
            continue
        seen.add(plain(value))
        found = domain.simpler(value)
        assert all(map(holds, found))
        assert all(complexity(each) < complexity(value) for each in found)
        assert sorted(map(complexity, found)) == list(map(complexity, found))
        waiting += found


@given(ANY, st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_whatever_step_is_taken_they_end_soon(made, random):
    domain, _ = made
    for start in domain.telling():
        value, steps = start, 0
        while found := domain.simpler(value):
            value, steps = random.choice(found), steps + 1
            assert steps < 200


@given(FLOATS, FLOATS)
@example(-1.7e308, 1.7e308)
@example(0.0, 5e-324)
@example(5.0, 5.0)
def test_the_ends_of_an_interval_come_first(a, b):
    low, high = min(a, b), max(a, b)
    telling = domains.reals(low, high).telling()
    assert telling[: 1 + (low < high)] == ([high, low] if low < high else [low])


def test_what_telling_values_there_are():
    everything = domains.reals(nan=True, infinite=True, missing=True).telling()
    known = set(map(plain, everything))
    for value in (0.0, 1.0, -1.0, math.nan, None, math.inf, -math.inf, 1e300, 5e-324, 2.0**53 + 2):
        assert plain(value) in known
    assert domains.reals(0, 1, at=[0.25]).telling()[:3] == [1.0, 0.0, 0.25]
    assert math.nextafter(0.0, 1.0) in domains.reals(0, 1).telling()
    assert math.nextafter(1.0, 0.0) in domains.reals(0, 1).telling()
    whole = domains.integers().telling()
    for value in (0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, 2**63 - 1, -(2**63)):
        assert value in whole
    assert domains.integers(2**63).telling() == [2**63, 2**63 + 1]
    assert domains.integers(high=-(2**64)).telling() == [-(2**64), -(2**64) - 1]
    assert domains.texts(5).telling()[-1] == "aaaaa"
    assert len(domains.texts(10**12).telling()[-1]) == LONGEST_TEXT
    assert domains.texts(missing=True).telling()[2] is None
    assert domains.choices(np.array([3, 1])).telling() == [3, 1]
    assert domains.choices([1, 1.0, True]).telling() == [1, True]
    assert domains.bit_vectors([0]).telling() == [b""]
    row = domains.rows({"a": domains.integers(0, 1), "b": domains.booleans()})
    assert row.telling() == [
        {"a": 1, "b": False}, {"a": 0, "b": True}, {"a": 0, "b": False}, {"a": 1, "b": True}
    ]  # fmt: skip


def test_complexity_is_what_there_is_to_read():
    growing = [0, None, True, 1, -7, 0.125, 1e-300, math.nan]
    ordered = sorted(growing, key=complexity)
    assert ordered[0] == 0
    assert ordered[-1] is growing[-1]
    assert complexity([0, 0]) > complexity([0]) > complexity([])
    assert complexity({"a": "xyz"}) > complexity({"a": ""})
    assert complexity("b") > complexity("a") > complexity("")
    assert complexity(frozenset()) == len("frozenset()")


# Data sets


def test_lists_and_tables_hold_their_records():
    made = domains.lists(domains.reals(0, 1, nan=True), sizes=range(3))
    assert made.sizes == (0, 1, 2)
    kept = [1.0, 0.0]
    assert made.build(kept) == kept
    assert made.build(kept) is not kept
    table = domains.tables({"age": domains.integers(0, 99), "city": domains.texts()})
    assert table.build([{"age": 1, "city": ""}]) == [{"age": 1, "city": ""}]
    assert domains.lists(domains.booleans(), sizes=[4, 4, 1]).sizes == (4, 1)


@pytest.mark.parametrize(
    "record, kind, row",
    [
        (domains.reals(0, 1, nan=True, missing=False), "f", ()),
        (domains.integers(0, 5), "i", ()),
        (domains.integers(), "i", ()),
        (domains.booleans(), "b", ()),
        (domains.texts(7), "U", ()),
        (domains.vectors(domains.reals(0, 1), 2), "f", (2,)),
        (domains.vectors(domains.vectors(domains.integers(0, 1), 2), 3), "i", (3, 2)),
        (domains.tuples(domains.booleans(), domains.reals(0, 1)), "f", (2,)),
        (domains.reals(0, 1, missing=True), "O", ()),
        (domains.integers(0, 2**64), "O", ()),
        (domains.integers(-1, 2**64 - 1), "O", ()),
        (domains.bit_vectors([1, 2]), "O", ()),
        (domains.choices([1, "1"]), "O", ()),
        (domains.choices([[1], [1, 2]]), "O", ()),
        (domains.tuples(domains.texts(3), domains.integers(0, 1)), "O", (2,)),
        (domains.rows({"a": domains.integers(0, 1)}), "O", ()),
    ],
)
def test_all_arrays_of_a_domain_are_of_one_type_and_keep_values(record, kind, row):
    """Neighbours must differ in their records, and not in a type that shows which those are."""
    made = domains.arrays(record)
    telling = record.telling()
    parts = [[], telling, *([value] for value in telling), telling[::-1]]
    parts += [[each] for value in telling for each in record.simpler(value)]
    for records_ in parts:
        array = made.build(records_)
        assert array.shape == (len(records_), *row)
        assert array.dtype == made.build([]).dtype
        assert array.dtype.kind == kind
        for i, value in enumerate(records_):
            held = array[i].tolist() if isinstance(array[i], np.ndarray | np.generic) else array[i]
            flat = [*value] if isinstance(value, tuple) else value
            assert held == flat or (held != held and flat != flat)
    assert made.build(telling) is not made.build(telling)


def test_pandas_frames():
    pandas = pytest.importorskip("pandas")
    fields = {
        "age": domains.integers(0, 99),
        "income": domains.reals(0, 1, nan=True),
        "city": domains.texts(5, missing=True),
        "here": domains.booleans(),
    }
    made = domains.frames(fields)
    telling = made.record.telling()
    types = made.build(telling).dtypes
    assert [types[name].kind for name in ("age", "income", "here")] == ["i", "f", "b"]
    for records_ in ([], telling, telling[:1], telling[-1:]):
        frame = made.build(records_)
        assert isinstance(frame, pandas.DataFrame)
        assert list(frame.columns) == list(fields)
        assert (frame.dtypes == types).all()
        assert len(frame) == len(records_)
        for name in fields:
            for held, record in zip(frame[name].tolist(), records_, strict=True):
                wanted = record[name]
                if wanted is None or wanted != wanted:
                    assert pandas.isna(held)
                else:
                    assert held == wanted
    missing = domains.frames({"n": domains.integers(0, 9, missing=True)})
    assert missing.build([{"n": None}]).dtypes["n"] == missing.build([{"n": 5}]).dtypes["n"]


def test_polars_frames():
    polars = pytest.importorskip("polars")
    made = domains.frames(
        {"age": domains.integers(0, 99, missing=True), "city": domains.texts(5)}, library="polars"
    )
    empty, full = made.build([]), made.build(made.record.telling())
    assert isinstance(full, polars.DataFrame)
    assert empty.schema == full.schema == made.build(made.record.telling()[-1:]).schema
    assert len(empty) == 0
    assert full["age"].to_list() == [record["age"] for record in made.record.telling()]


# What is no domain


@pytest.mark.parametrize(
    "make, problem",
    [
        (lambda: domains.reals(2, 1), "low is 2 and high is 1; low must be at most high"),
        (lambda: domains.reals(math.nan, 1), "low is nan; it must be a number"),
        (lambda: domains.reals("a", None), "2 problems"),
        (lambda: domains.reals(high=10**400), "it must be a number"),
        (lambda: domains.reals(True), "low is True; it must be a number"),
        (lambda: domains.reals(math.inf, math.inf), "low must be at most high"),
        (lambda: domains.reals(0, 1, infinite=True), "there are no infinities from 0 to 1"),
        (lambda: domains.reals(0, 1, at=[2]), "at holds 2, which does not lie between 0 and 1"),
        (lambda: domains.reals(at=[math.inf]), "at holds inf"),
        (lambda: domains.reals(at=[math.nan]), "give a list of numbers"),
        (lambda: domains.reals(at=3), "at is 3; give a list of numbers"),
        (lambda: domains.integers(0.5), "low is 0.5; it must be a whole number or None"),
        (lambda: domains.integers(False, "1"), "2 problems"),
        (lambda: domains.integers(3, 2), "low must be at most high"),
        (lambda: domains.integers(at=[0.5]), "give a list of whole numbers"),
        (lambda: domains.integers(0, 1, at=[7]), "at holds 7"),
        (lambda: domains.choices([]), "there are no options"),
        (lambda: domains.choices(3), "the options are a int; give a list"),
        (lambda: domains.choices("red"), "the options are a str"),
        (lambda: domains.choices({1, 2}), "the options are a set"),
        (lambda: domains.texts(0), "longest is 0"),
        (lambda: domains.texts(1.5), "longest is 1.5"),
        (lambda: domains.bit_vectors(8), "sizes is 8; give lengths in bytes"),
        (lambda: domains.bit_vectors([]), "give lengths"),
        (lambda: domains.bit_vectors([-1]), "give lengths"),
        (lambda: domains.bit_vectors([10**9]), "at most 10000 bytes"),
        (lambda: domains.bit_vectors([1], most_ones=-1), "most_ones is -1"),
        (lambda: domains.bit_vectors([1], most_ones=0.5), "most_ones is 0.5"),
        (lambda: domains.rows({}), "there are no fields"),
        (lambda: domains.rows([1]), "the fields are a list; give a dictionary"),
        (lambda: domains.rows({"a": 1, "b": "x"}), "the field 'a' is a int; give a domain"),
        (domains.tuples, "at least one place"),
        (lambda: domains.tuples(domains.booleans(), 3), "place 1 is a int; give a domain"),
        (lambda: domains.vectors(3, 0), "n is 0; it must be a whole number"),
        (lambda: domains.lists(3), "the record is a int; give the domain of one record"),
        (lambda: domains.lists(domains.lists(domains.booleans())), "the record is a Datasets"),
        (lambda: domains.lists(domains.booleans(), sizes=5), "lists: sizes is 5; give numbers"),
        (lambda: domains.lists(domains.booleans(), sizes=[]), "give numbers of records"),
        (lambda: domains.arrays(domains.booleans(), sizes=[1, -1]), "arrays: sizes is [1, -1]"),
        (lambda: domains.arrays(domains.booleans(), sizes=[True]), "arrays: sizes is [True]"),
        (lambda: domains.lists(domains.booleans(), sizes=[10**8]), "at most 1,000,000 records"),
        (lambda: domains.tables({}), "there are no fields"),
        (lambda: domains.frames({"a": domains.booleans()}, library="spark"), "use 'pandas' or"),
    ],
)
def test_what_is_refused(make, problem):
    with pytest.raises(UsageError) as caught:
        make()
    assert problem in str(caught.value)
