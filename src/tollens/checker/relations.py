"""Whether two inputs are neighbours, as the certificate says."""

from __future__ import annotations

from fractions import Fraction

from tollens.checker.documents import entries, rational
from tollens.checker.errors import CertificateError

_KEYS = {
    "given": (),
    "queries": ("change", "by"),
    "numbers": ("by",),
    "add_remove": (),
    "substitute": (),
}


def check(relation: object, x: object, x_prime: object) -> None:
    """Raise `CertificateError` unless x and x' stand in the relation.

    "given": any two different inputs, on the word of who claims it. "queries": vectors of equal
    length, where one or all answers change by at most `by`, or all changes add up to it at most.
    "numbers": two numbers at most `by` apart. "add_remove": one list has one item more.
    "substitute": one item differs.

    `whole` says that all numbers of both inputs are whole.
    """
    kind = relation.get("kind") if isinstance(relation, dict) else None
    if not isinstance(kind, str) or kind not in _KEYS:
        raise CertificateError(f"the relation is none of {', '.join(_KEYS)}")
    given = entries(relation, "the relation", allowed=("kind", "whole", *_KEYS[kind]))
    if x == x_prime:
        raise CertificateError("x and x' are equal")
    if not isinstance(given["whole"], bool):
        raise CertificateError("whole is neither true nor false")
    if given["whole"] and not (_whole(x) and _whole(x_prime)):
        raise CertificateError("an input has a number that is not whole")
    by = rational(given["by"], "by") if "by" in given else Fraction(0)
    if not _HOLDS[kind](x, x_prime, by, given.get("change")):
        raise CertificateError(f"x and x' are no neighbours by {kind}")


def _whole(data: object) -> bool:
    if isinstance(data, list | tuple):
        return all(map(_whole, data))
    if isinstance(data, dict):
        return all(map(_whole, data.values()))
    return not isinstance(data, Fraction) or data.denominator == 1


def _queries(x: object, x_prime: object, by: Fraction, change: object) -> bool:
    if not isinstance(x, list | tuple) or type(x) is not type(x_prime) or change not in _CHANGES:
        return False
    assert isinstance(x_prime, list | tuple)  # noqa: S101 - of the type of x
    if len(x) != len(x_prime) or not all(isinstance(v, Fraction) for v in (*x, *x_prime)):
        return False
    moved = [abs(Fraction(a - b)) for a, b in zip(x, x_prime, strict=True) if a != b]
    if change == "sum":
        return sum(moved) <= by
    return bool(max(moved) <= by and (change == "all" or len(moved) == 1))


def _numbers(x: object, x_prime: object, by: Fraction, change: object) -> bool:
    if not isinstance(x, Fraction) or not isinstance(x_prime, Fraction):
        return False
    return bool(abs(x - x_prime) <= by)


def _add_remove(x: object, x_prime: object, by: Fraction, change: object) -> bool:
    if not isinstance(x, list) or not isinstance(x_prime, list):
        return False
    longer, shorter = (x, x_prime) if len(x) > len(x_prime) else (x_prime, x)
    if len(longer) != len(shorter) + 1:
        return False
    pairs = enumerate(zip(longer, shorter, strict=False))
    first = next((i for i, (a, b) in pairs if not _same(a, b)), len(shorter))
    return _same(longer[first + 1 :], shorter[first:])


def _substitute(x: object, x_prime: object, by: Fraction, change: object) -> bool:
    if not isinstance(x, list) or not isinstance(x_prime, list) or len(x) != len(x_prime):
        return False
    return len([a for a, b in zip(x, x_prime, strict=True) if not _same(a, b)]) == 1


def _same(a: object, b: object) -> bool:
    """Equality that tells truth values from numbers, all the way down."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return _same(list(a.items()), list(b.items()))
    return type(a) is type(b) and a == b


_CHANGES = ("all", "one", "sum")
_HOLDS = {
    "given": lambda *_: True,
    "queries": _queries,
    "numbers": _numbers,
    "add_remove": _add_remove,
    "substitute": _substitute,
}
