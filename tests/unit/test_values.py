"""Values that cross to a program and back: nothing of them is lost, and nothing else is read."""

from __future__ import annotations

import datetime
import json
import math
import struct
import sys
from collections import OrderedDict, deque, namedtuple
from enum import Enum, IntEnum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens.errors import UsageError
from tollens.serial import data_from_json, data_to_json
from tollens.values import ValueFault, from_json, to_json

FLOATS = st.floats() | st.integers(0, 2**64 - 1).map(
    lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0]
)
TEXTS = st.text() | st.sampled_from(["NaN", "Infinity", "-Infinity", "$tuple", "bytes"])
DATES = st.dates() | st.datetimes().map(lambda d: d.replace(fold=0)) | st.timedeltas()
HASHABLE = (
    st.none() | st.booleans() | st.integers() | FLOATS | TEXTS | st.binary() | DATES
    | st.complex_numbers() | st.fractions() | st.decimals(allow_nan=False)
)  # fmt: skip
KEYS = HASHABLE | st.tuples(HASHABLE, HASHABLE)
LEAVES = HASHABLE | st.sets(KEYS, max_size=3) | st.frozensets(KEYS, max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.dictionaries(TEXTS, inner, max_size=4)
        | st.builds(lambda key, item: {key: item}, TEXTS, inner)
    ),
    max_leaves=12,
)


def same(a: object, b: object) -> bool:
    """Equality of values and types, which tells -0.0 from 0.0 and holds for NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, set | frozenset):
        return sorted(map(repr, a)) == sorted(map(repr, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return repr(a) == repr(b)


def through_json(value: object) -> object:
    return from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))


@given(VALUES)
def test_they_come_back_through_json(value):
    assert same(through_json(value), value)


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    file = tmp_path_factory.mktemp("values") / "echo.py"
    file.write_text("def echo(data): return data\n")
    mechanism = tollens.in_environment(sys.executable, f"{file}::echo")
    yield lambda value: mechanism.sample(value, 1, np.random.default_rng(0))[0]
    mechanism.sampler.close()


@settings(max_examples=200, deadline=None)
@given(value=VALUES)
def test_they_come_back_through_a_process(echo, value):
    assert same(echo(value), value)


DTYPES = ["<f8", ">f8", "<f4", "<f2", "|b1", "|i1", "<u8", "<i8", ">i4", "<u2"]


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), min_size=1, max_size=3), st.data())
def test_arrays_come_back_bit_for_bit(dtype, shape, data):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = data.draw(st.binary(min_size=size, max_size=size))
    array = np.frombuffer(raw, dtype=dtype).reshape(shape)
    if dtype == "|b1":
        array = np.frombuffer(bytes(byte % 2 for byte in raw), dtype=bool).reshape(shape)
    array = np.where(np.isnan(array), 0, array).astype(dtype)  # NaN has one form
    assert same(through_json(array), array)


class Level(IntEnum):
    HIGH = 2


class Colour(Enum):
    RED = 1


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value, expected",
    [
        (np.float64(1.5), 1.5),
        (np.int8(-3), -3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (np.array(2.5), 2.5),
        (np.array(["a", None], dtype=object), ["a", None]),
        (np.ma.masked, None),
        (np.ma.array([1, 2], mask=[0, 1]), [1, None]),
        (np.datetime64("2020-01-02"), datetime.date(2020, 1, 2)),
        (np.longdouble(0.5), 0.5),
        (bytearray(b"x"), b"x"),
        (Point(1, 2), (1, 2)),
        (OrderedDict(a=1), {"a": 1}),
        (deque([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
        (Level.HIGH, 2),
    ],
)
def test_what_is_like_a_plain_value_becomes_one(value, expected):
    assert same(through_json(value), expected)


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_frames_come_back(name):
    library = pytest.importorskip(name)
    frame = library.DataFrame({"a": [1, 2], "b": [0.5, math.nan], "c": ["x", None]})
    again = through_json(frame)
    assert type(again) is type(frame)
    assert again["a"].to_list() == [1, 2]
    first, second = again["c"].to_list()
    assert first == "x"
    assert second is None or math.isnan(second)  # pandas 3 has NaN where texts are missing
    assert math.isnan(again["b"].to_list()[1])


def test_a_frame_of_a_library_that_is_not_here_becomes_columns():
    document = {"$frame": {"library": "os", "columns": [["a", [1]], [2, ["NaN"]]]}}
    assert same(from_json(document), {"a": [1], 2: [math.nan]})


@pytest.mark.parametrize(
    "value, message",
    [
        (object(), "a value of type object cannot be written"),
        ([Colour.RED], "of type Colour"),
        (len, "of type builtin_function_or_method"),
    ],
)
def test_what_cannot_be_written_is_refused(value, message):
    with pytest.raises(UsageError, match=message):
        data_to_json(value)


def test_deep_values_are_refused_both_ways():
    deep: list[object] = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(ValueFault, match="nested more than 200 deep"):
        to_json(deep)
    with pytest.raises(ValueFault, match="nested more than 200 deep"):
        from_json(deep)


@pytest.mark.parametrize(
    "document, value",
    [
        ({"$float": "0x1.8p+1"}, 3.0),
        ({"$float": 1}, 1.0),
        ({"$float": "-0"}, -0.0),
        ({"$int": "12"}, 12),
        ({"bytes": 12}, {"bytes": 12}),
        ({"bytes": "AA==", "more": 1}, {"bytes": "AA==", "more": 1}),
        ({"$new": [1]}, {"$new": [1]}),
        ({"$text": "Infinity"}, "Infinity"),
        ({"a": "NaN"}, {"a": math.nan}),
    ],
)
def test_what_a_program_may_write(document, value):
    assert same(data_from_json(document), value)


@pytest.mark.parametrize(
    "document",
    [
        {"bytes": "?"},
        {"$tuple": 1},
        {"$int": "one"},
        {"$int": 1},
        {"$float": True},
        {"$float": "x"},
        {"$float": "0x1p99999"},
        {"$set": [[1]]},
        {"$dict": [[1]]},
        {"$dict": [[[1], 2]]},
        {"$complex": [1]},
        {"$complex": [1, 2, 3]},
        {"$fraction": "1/0"},
        {"$decimal": "a"},
        {"$date": "today"},
        {"$datetime": 5},
        {"$timedelta": ["a"]},
        {"$timedelta": [10**12]},
        {"$array": [1]},
        {"$array": {"dtype": "O", "shape": [1], "values": [1]}},
        {"$array": {"dtype": "<f8", "shape": [2], "values": [1]}},
        {"$array": {"dtype": "<f8", "shape": ["a"], "values": [1]}},
        {"$array": {"dtype": "<i1", "shape": [1], "values": ["a"]}},
        {"$array": {"dtype": 5, "shape": [1], "values": [1]}},
        {"$frame": {"library": "pandas"}},
        {"$frame": {"library": ["os"], "columns": [1]}},
    ],
)
def test_tags_that_hold_what_they_cannot_are_refused(document):
    with pytest.raises(UsageError, match=r"cannot be read|not base64"):
        data_from_json([document])
