"""Values as JSON, without loss: what crosses between tollens and the programs that it audits.

Plain JSON stands for itself. The numbers that JSON lacks are the texts "NaN", "Infinity" and
"-Infinity", bytes are {"bytes": base64}, and everything else is an object with one key, its tag:
{"$tuple": [...]}, {"$int": "0x20000000000001"}, {"$array": ...}. An object that only looks like
one of these is written as {"$dict": [[key, value], ...]}.

This file needs the standard library of Python 3.6 only: the agent of `tollens.external` loads it
in old interpreters. numpy, pandas and polars are used where they are.
"""

import base64
import datetime
import decimal
import fractions
import importlib
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Dict, List

SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class ValueFault(ValueError):  # noqa: N818 - it is about a value
    """A value that cannot be written, or JSON that stands for none."""


DEEPEST = 200
"""How deep values may be nested."""

_EXACT = 2**53
"""Whole numbers up to this are exact in every language that reads JSON numbers as floats."""

_NUMERIC = re.compile(r"[<>|=]?[biuf][1248]\Z")
_FRAMES = ("pandas", "polars")


def to_json(value: object, _depth: int = 0) -> object:
    r"""What `json` can write, such that `from_json` makes an equal value of the same type of it.

    Arrays and frames keep their numbers and columns; other sequences and mappings become lists and
    dictionaries. Raises `ValueFault` for a value of another type, or nested too deeply.

    >>> to_json([float("nan"), (1, b"\x00"), {2: "NaN"}])
    ['NaN', {'$tuple': [1, {'bytes': 'AA=='}]}, {'$dict': [[2, {'$text': 'NaN'}]]}]
    """
    kind = type(value)
    write = _WRITERS.get(kind)
    if write is None:
        value = _plain(value)
        write = _WRITERS.get(type(value))
        if write is None:
            raise ValueFault(
                "a value of type {} cannot be written; use numbers, texts, bytes, None, or tuples, "
                "lists, sets, dictionaries or arrays of these".format(kind.__name__)
            )
    if _depth > DEEPEST:
        raise ValueFault("a value is nested more than {} deep".format(DEEPEST))
    return write(value, _depth + 1)


def from_json(value: object, _depth: int = 0) -> object:
    r"""The value that some JSON stands for; `ValueFault` where a tag holds what it cannot.

    >>> from_json(["NaN", {"$tuple": [1, {"bytes": "AA=="}]}, {"$dict": [[2, {"$text": "NaN"}]]}])
    [nan, (1, b'\x00'), {2: 'NaN'}]
    """
    if _depth > DEEPEST:
        raise ValueFault("data nested more than {} deep cannot be read".format(DEEPEST))
    if isinstance(value, str):
        return SPECIAL.get(value, value)
    if isinstance(value, list):
        return _read_list(value, _depth + 1)
    if isinstance(value, dict):
        if len(value) == 1:
            ((tag, content),) = value.items()
            read = _READERS.get(tag)
            if read is not None and (tag != "bytes" or isinstance(content, str)):
                return _tagged(tag, read, content, _depth + 1)
        return {key: from_json(item, _depth + 1) for key, item in value.items()}
    return value


# Writing


def _float(value: float, _: int) -> object:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _int(value: int, _: int) -> object:
    return value if -_EXACT <= value <= _EXACT else {"$int": hex(value)}


def _text(value: str, _: int) -> object:
    return {"$text": value} if value in SPECIAL else value


def _list(value: Any, depth: int) -> List[object]:
    kinds = set(map(type, value))
    if len(kinds) == 1:  # long lists of numbers are what data mostly is
        kind = kinds.pop()
        if kind is float and math.isfinite(sum(value)):
            return list(value)
        if kind is int and min(value) >= -_EXACT and max(value) <= _EXACT:
            return list(value)
    return [to_json(item, depth) for item in value]


def _dict(value: Dict[object, object], depth: int) -> object:
    plain = all(type(key) is str for key in value)
    if plain and not (len(value) == 1 and next(iter(value)) in _READERS):
        return {key: to_json(item, depth) for key, item in value.items()}
    pairs = [[to_json(key, depth), to_json(item, depth)] for key, item in value.items()]
    return {"$dict": pairs}


def _tag(tag: str, write: Callable[[Any], object]) -> Callable[[Any, int], object]:
    return lambda value, _: {tag: write(value)}


def _items(tag: str) -> Callable[[Any, int], object]:
    return lambda value, depth: {tag: _list(value, depth)}


def _span(value: datetime.timedelta) -> object:
    return [value.days, value.seconds, value.microseconds]


_WRITERS = {
    type(None): lambda value, _: value,
    bool: lambda value, _: value,
    float: _float,
    int: _int,
    str: _text,
    list: _list,
    dict: _dict,
    tuple: _items("$tuple"),
    set: _items("$set"),
    frozenset: _items("$frozenset"),
    bytes: _tag("bytes", lambda value: base64.b64encode(value).decode("ascii")),
    complex: _tag("$complex", lambda value: [_float(value.real, 0), _float(value.imag, 0)]),
    decimal.Decimal: _tag("$decimal", str),
    fractions.Fraction: _tag("$fraction", str),
    datetime.date: _tag("$date", lambda value: value.isoformat()),
    datetime.datetime: _tag("$datetime", lambda value: value.isoformat()),
    datetime.timedelta: _tag("$timedelta", _span),
}  # type: Dict[type, Callable[[Any, int], object]]


class _Tagged(object):
    """A value that is written as a tag with this content."""

    def __init__(self, tag: str, content: object) -> None:
        self.tag, self.content = tag, content


_WRITERS[_Tagged] = lambda value, depth: {value.tag: to_json(value.content, depth)}


def _plain(value: object) -> object:
    """The value of a plain type that an object stands for; the object itself where there is none.

    Subclasses count as what they extend, and numpy's scalars as Python's.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if value is numpy.ma.masked:
            return None
        if isinstance(value, numpy.generic):
            item = value.item()
            return float(item) if isinstance(item, numpy.floating) else item
        if isinstance(value, numpy.ndarray):
            return _array(value)
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    if hasattr(value, "to_numpy"):
        return _frame(value) if hasattr(value, "columns") else _array(value.to_numpy())
    for kind in (*_SUBCLASSED, *_READ_AS):
        if isinstance(value, kind):
            return _READ_AS.get(kind, kind)(value)
    return value


def _array(array: Any) -> object:
    numpy = sys.modules["numpy"]
    if not array.ndim:
        return array.item()
    if array.dtype.kind not in "biuf" or isinstance(array, numpy.ma.MaskedArray):
        return array.tolist()
    if array.dtype.itemsize > 8:
        array = array.astype(numpy.float64)
    numbers = array.ravel().tolist()
    return _Tagged(
        "$array", {"dtype": array.dtype.str, "shape": list(array.shape), "values": numbers}
    )


def _frame(frame: Any) -> object:
    library = type(frame).__module__.partition(".")[0]
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise ValueFault("a frame has several columns of the same name")
    columns = [[name, list(frame[name].to_list())] for name in names]
    return _Tagged("$frame", {"library": library, "columns": columns})


_SUBCLASSED = (bool, int, float, str, bytes, tuple, list, set, frozenset, complex)
_READ_AS = {bytearray: bytes, Mapping: dict, Sequence: list}  # type: Dict[type, Any]


# Reading


def _read_list(items: List[object], depth: int) -> List[object]:
    if set(map(type, items)) <= _AS_THEY_ARE:
        return items
    return [from_json(item, depth) for item in items]


_AS_THEY_ARE = {float, int, bool, type(None)}


def _tagged(tag: str, read: Callable[[Any, int], object], content: object, depth: int) -> object:
    try:
        return read(content, depth)
    except ValueFault:
        raise
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        if tag == "bytes":
            raise ValueFault("a {'bytes': ...} value is not base64") from None
        raise ValueFault("a {{'{}': ...}} value cannot be read: {}".format(tag, error)) from None


def _of_text(make: Callable[[str], object]) -> Callable[[Any, int], object]:
    def read(content: object, _: int) -> object:
        if not isinstance(content, str):
            raise TypeError("it must hold a text")
        return make(content)

    return read


def _of_list(make: Callable[[List[Any]], object]) -> Callable[[Any, int], object]:
    def read(content: object, depth: int) -> object:
        if not isinstance(content, list):
            raise TypeError("it must hold a list")
        return make(_read_list(content, depth))

    return read


def _read_float(content: object, _: int) -> float:
    if isinstance(content, str):
        return float.fromhex(content) if "x" in content.lower() else float(content)
    if isinstance(content, bool) or not isinstance(content, (int, float)):
        raise TypeError("it must hold a number or a text")
    return float(content)


def _read_array(content: Any, depth: int) -> object:
    dtype, shape, values = content["dtype"], content["shape"], content["values"]
    if not _NUMERIC.match(dtype):
        raise ValueError("its dtype is {!r}".format(dtype))
    numbers = _read_list(values, depth)
    try:
        import numpy
    except ImportError:
        return _nested(numbers, list(shape))
    return numpy.array(numbers, dtype=dtype).reshape(shape)


def _nested(numbers: List[object], shape: List[int]) -> List[object]:
    """A flat list as lists of lists, as an array of this shape is printed."""
    if len(shape) <= 1:
        return numbers
    size = len(numbers) // shape[0] if shape[0] else 0
    rows = range(shape[0])
    return [_nested(numbers[row * size : (row + 1) * size], shape[1:]) for row in rows]


def _read_frame(content: Any, depth: int) -> object:
    pairs = _read_list(content["columns"], depth)  # type: Any
    columns = dict(pairs)
    if content["library"] in _FRAMES:
        try:
            return importlib.import_module(content["library"]).DataFrame(columns)
        except ImportError:
            pass
    return columns


def _read_complex(parts: List[Any]) -> complex:
    real, imaginary = parts
    return complex(float(real), float(imaginary))


def _read_datetime(text: str) -> datetime.datetime:
    if hasattr(datetime.datetime, "fromisoformat"):
        return datetime.datetime.fromisoformat(text)
    form = "%Y-%m-%dT%H:%M:%S.%f" if "." in text else "%Y-%m-%dT%H:%M:%S"  # Python 3.6
    return datetime.datetime.strptime(text, form)


_READERS = {
    "bytes": _of_text(lambda text: base64.b64decode(text, validate=True)),
    "$text": _of_text(str),
    "$int": _of_text(lambda text: int(text, 0)),
    "$float": _read_float,
    "$tuple": _of_list(tuple),
    "$set": _of_list(set),
    "$frozenset": _of_list(frozenset),
    "$dict": _of_list(dict),
    "$complex": _of_list(_read_complex),
    "$decimal": _of_text(decimal.Decimal),
    "$fraction": _of_text(fractions.Fraction),
    "$date": _of_text(lambda text: _read_datetime(text + "T00:00:00").date()),
    "$datetime": _of_text(_read_datetime),
    "$timedelta": _of_list(lambda parts: datetime.timedelta(*parts)),
    "$array": _read_array,
    "$frame": _read_frame,
}  # type: Dict[str, Callable[[Any, int], object]]
