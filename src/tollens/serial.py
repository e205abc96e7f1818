"""JSON for what JSON lacks: infinities and NaN as texts, bytes as base64, arrays as lists."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from tollens.errors import UsageError
from tollens.values import SPECIAL, ValueFault, from_json, to_json

_RATIONAL = re.compile(r"\d+(/\d+)?", re.ASCII)


def to_jsonable(value: object, _depth: int = 0) -> object:
    r"""Plain data that `json` can write; an object it does not know becomes {"repr": text}.

    >>> to_jsonable({"a": float("inf"), "b": b"\x00", "c": np.arange(2), "d": Fraction(1, 3)})
    {'a': 'Infinity', 'b': {'bytes': 'AA=='}, 'c': [0, 1], 'd': '1/3'}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, bytes | bytearray):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, np.ndarray):
        return to_jsonable(value.tolist())
    if isinstance(value, Mapping):
        if _depth < 200:
            return {str(key): to_jsonable(item, _depth + 1) for key, item in value.items()}
    elif isinstance(value, Sequence) and _depth < 200:
        return [to_jsonable(item, _depth + 1) for item in value]
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - an object of the caller's misbehaves
        text = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return {"repr": text if len(text) <= 500 else text[:497] + "..."}


def _float_text(value: float) -> object:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def data_from_json(value: object) -> object:
    r"""Data as a mechanism takes it: the special texts and the tags of `tollens.values` undone.

    >>> data_from_json([1, "NaN", {"bytes": "AA=="}, {"$tuple": [1, 2]}])
    [1, nan, b'\x00', (1, 2)]
    """
    try:
        return from_json(value)
    except ValueFault as error:
        raise UsageError(str(error)) from None


def data_to_json(value: object) -> object:
    """JSON of which `data_from_json` makes equal data of the same types; no value is lost.

    `UsageError` for data that cannot be written, such as an object of a class of one's own.

    >>> data_to_json([(1, 2), {3: float("inf")}])
    [{'$tuple': [1, 2]}, {'$dict': [[3, 'Infinity']]}]
    """
    try:
        return to_json(value)
    except ValueFault as error:
        raise UsageError(str(error)) from None


def number_from_json(value: object, name: str) -> float:
    """A float of a JSON number or of one of the texts Infinity, -Infinity, NaN."""
    if isinstance(value, str) and value in SPECIAL:
        return SPECIAL[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{name} is {value!r}; expected a number")
    try:
        return float(value)
    except OverflowError:
        raise UsageError(f"{name} is too large for a number") from None


def whole_from_json(value: object, name: str) -> int:
    """A whole number of at least 0 and below 2^63."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise UsageError(f"{name} must be a whole number of at least 0")
    return value


def fraction_from_json(value: object, name: str) -> Fraction:
    """A rational of at least 0 from a text such as "3/4".

    >>> fraction_from_json("3/4", "lower")
    Fraction(3, 4)
    """
    if isinstance(value, str) and _RATIONAL.fullmatch(value):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            pass
    raise UsageError(f'{name} is {str(value)[:60]!r}; expected a rational such as "3/4"')


def parse_json(text: str, name: str) -> object:
    """Strict JSON, or a `UsageError` that says where it is wrong."""

    def refuse(constant: str) -> object:
        raise UsageError(f'{name}: write "{constant}" in quotes, bare {constant} is not JSON')

    try:
        parsed: object = json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{name} is not JSON (line {error.lineno}, column {error.colno}: {error.msg})"
        ) from None
    except RecursionError:
        raise UsageError(f"{name} is nested too deeply") from None
    except ValueError:  # a number of thousands of digits
        raise UsageError(f"{name} holds a number that is too long") from None
    return parsed
