"""JSON without surprises: exact numbers as texts, bounded sizes, every fault named by its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from fractions import Fraction

from tollens.checker.errors import CertificateError

MAX_BYTES = 4_000_000
MAX_DIGITS = 4_000
MAX_DEPTH = 40

_RATIONAL = re.compile(r"-?\d+(?:/\d+)?")


def parse(text: str) -> dict[str, object]:
    """The object of a JSON text; no numbers but whole ones, no key twice.

    >>> parse('{"rounds": 3}')
    {'rounds': 3}
    """
    if len(text) > MAX_BYTES:
        raise CertificateError(f"the certificate has more than {MAX_BYTES} characters")
    try:
        data = json.loads(
            text, parse_float=_no_number, parse_constant=_no_number, object_pairs_hook=_object
        )
    except RecursionError:
        raise CertificateError("the certificate is nested too deeply") from None
    except ValueError as error:
        raise CertificateError(f"the certificate is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise CertificateError("a certificate is a JSON object")
    return data


def _no_number(text: str) -> object:
    raise CertificateError(f"the number {text[:40]}: exact numbers are texts such as '1/3'")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise CertificateError("an object of the certificate has a key twice")
    return made


def entries(data: object, where: str, *, allowed: Iterable[str]) -> dict[str, object]:
    """An object with these keys and no others."""
    if not isinstance(data, dict):
        raise CertificateError(f"{where} is no object")
    wrong = sorted(set(data) ^ set(allowed))
    if wrong:
        missing = [key for key in wrong if key not in data]
        what = f"has no {missing[0]!r}" if missing else f"has a key {wrong[0][:40]!r} without use"
        raise CertificateError(f"{where} {what}")
    return data


def text(data: object, where: str) -> str:
    """A text."""
    if not isinstance(data, str):
        raise CertificateError(f"{where} is no text")
    return data


def rational(data: object, where: str) -> Fraction:
    """An exact number, written "p" or "p/q"."""
    if not isinstance(data, str) or len(data) > MAX_DIGITS or not _RATIONAL.fullmatch(data):
        raise CertificateError(f"{where} is no exact number such as '1/3'")
    try:
        return Fraction(data)
    except ZeroDivisionError:
        raise CertificateError(f"{where} divides by 0") from None


def whole(data: object, where: str, largest: int) -> int:
    """A whole number from 0 to `largest`."""
    if not isinstance(data, int) or isinstance(data, bool) or not 0 <= data <= largest:
        raise CertificateError(f"{where} is no whole number from 0 to {largest}")
    return data


def value(data: object, where: str, depth: int = 0) -> object:
    """Input data or an output: numbers are texts, texts are {"text": ...}, tuples are marked.

    >>> value(["1/2", {"text": "yes"}, True, {"tuple": []}], "x")
    [Fraction(1, 2), 'yes', True, ()]
    """
    if depth > MAX_DEPTH:
        raise CertificateError(f"{where} is nested too deeply")
    match data:
        case bool() | None:
            return data
        case str():
            return rational(data, where)
        case list():
            return [value(item, where, depth + 1) for item in data]
        case {"text": str(inner), **rest} if not rest:
            return inner
        case {"tuple": list(items), **rest} if not rest:
            return tuple(value(item, where, depth + 1) for item in items)
        case {"dict": list(items), **rest} if not rest:
            made = {}
            for item in items:
                if not isinstance(item, list) or len(item) != 2:
                    raise CertificateError(f"{where}: a dictionary is a list of pairs")
                key = value(item[0], where, depth + 1)
                if not _is_key(key):
                    raise CertificateError(f"{where}: a key of a dictionary is a plain value")
                if key in made:
                    raise CertificateError(f"{where}: a dictionary has a key twice")
                made[key] = value(item[1], where, depth + 1)
            return made
    raise CertificateError(f"{where} holds something that is no exact value")


def _is_key(data: object) -> bool:
    if isinstance(data, tuple):
        return all(map(_is_key, data))
    return not isinstance(data, list | dict)


def plain(data: object) -> object:
    """The JSON of exact data; `value` is its inverse.

    >>> plain([Fraction(1, 2), "yes", ()])
    ['1/2', {'text': 'yes'}, {'tuple': []}]
    """
    match data:
        case bool() | None:
            return data
        case Fraction() | int():
            return str(Fraction(data))
        case str():
            return {"text": data}
        case list():
            return [plain(item) for item in data]
        case tuple():
            return {"tuple": [plain(item) for item in data]}
        case dict():
            return {"dict": [[plain(key), plain(item)] for key, item in data.items()]}
    raise TypeError(f"no exact value: {type(data).__name__}")
