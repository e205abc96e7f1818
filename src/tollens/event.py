"""Events of proofs, for people and for runs: their words, and whether an output is in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tollens.checker.errors import CertificateError
from tollens.checker.patterns import Anything, Between, Equals, Items, Pattern, read_event
from tollens.errors import UsageError

_MOST_WORDS = 6
_LONGEST = 12


@dataclass(frozen=True, slots=True)
class Event:
    """A set of outputs, as a function that tells whether an output is in it.

    An output of a run is a float where the proof has a real number; it is looked at as it is.

    >>> event = event_of({"kind": "event", "patterns": [{"items": [{"equals": True},
    ...     {"between": ["1/2", None]}]}]})
    >>> print(event)
    output[0] = True and output[1] >= 0.5
    >>> event((True, 0.75)), event([True, 0.25]), event(None)
    (True, False, False)
    """

    patterns: tuple[Pattern, ...]

    def __call__(self, output: object) -> bool:
        """Whether an output is in the event."""
        return any(_matches(pattern, output) for pattern in self.patterns)

    def __str__(self) -> str:
        said = [_words(pattern, "output") for pattern in self.patterns[:_MOST_WORDS]]
        more = len(self.patterns) - len(said)
        return " or ".join([*said, *([f"{more} more"] if more else [])])


def event_of(witness: object) -> Event:
    """The event of a certificate's witness; `UsageError` if it is none."""
    try:
        return Event(read_event(witness))
    except CertificateError as error:
        raise UsageError(f"not an event: {error}") from None


def _matches(pattern: Pattern, output: object) -> bool:
    if isinstance(output, np.generic | np.ndarray):
        output = output.tolist()
    match pattern:
        case Anything():
            return True
        case Equals(value):
            return _same(value, output)
        case Between(low, high):
            if isinstance(output, bool) or not isinstance(output, int | float | Fraction):
                return False
            if isinstance(output, float) and not math.isfinite(output):
                return (high is None and output > 0) or (low is None and output < 0)
            return (low is None or output >= low) and (high is None or output <= high)
        case Items(items):
            if not isinstance(output, list | tuple) or len(output) != len(items):
                return False
            return all(map(_matches, items, output))


def _same(value: object, output: object) -> bool:
    """Whether an output is this exact value, or the float next to it; no number is a truth."""
    if isinstance(output, np.generic | np.ndarray):
        output = output.tolist()
    if isinstance(value, tuple):
        fits = isinstance(output, list | tuple) and len(output) == len(value)
        return fits and all(map(_same, value, output))  # type: ignore[call-overload]
    if isinstance(value, Mapping):
        fits = isinstance(output, Mapping) and len(output) == len(value)
        return fits and all(_same(item, output.get(key)) for key, item in value.items())  # type: ignore[attr-defined]
    if isinstance(value, bool | str) or value is None:
        return type(output) is type(value) and output == value
    if isinstance(output, bool) or not isinstance(output, int | float | Fraction):
        return False
    return output == value or (isinstance(output, float) and output == float(value))  # type: ignore[arg-type]


def _words(pattern: Pattern, name: str) -> str:
    match pattern:
        case Anything():
            return f"any {name}"
        case Equals(value):
            return f"{name} = {exact_words(value)}"
        case Between(None, None):
            return f"{name} is a number"
        case Between(None, high):
            return f"{name} <= {exact_words(high)}"
        case Between(low, None):
            return f"{name} >= {exact_words(low)}"
        case Between(low, high):
            return f"{exact_words(low)} <= {name} <= {exact_words(high)}"
        case Items(items):
            if items and all(isinstance(item, Equals) for item in items):
                values = [item.value for item in items if isinstance(item, Equals)]
                return f"{name} = {exact_words(values)}"
            said = [
                _words(item, f"{name}[{i}]")
                for i, item in enumerate(items)
                if not isinstance(item, Anything)
            ]
            many = f"{len(items)} item" + ("" if len(items) == 1 else "s")
            return " and ".join(said) or f"{name} has {many}"


def exact_words(value: object) -> str:
    """An exact value as people write it: decimals where they are exact, fractions, texts.

    >>> exact_words([Fraction(1, 4), Fraction(1, 3), True, "yes"])
    "[0.25, 1/3, True, 'yes']"
    """
    if isinstance(value, Mapping):
        said = [f"{exact_words(key)}: {exact_words(item)}" for key, item in value.items()]
        return "{" + ", ".join(said) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        inner = ", ".join(map(exact_words, value))
        if isinstance(value, tuple):
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        return f"[{inner}]"
    if isinstance(value, Fraction):
        return _number(value)
    return repr(value)


def _number(value: Fraction) -> str:
    if value.denominator == 1 and abs(value.numerator) < 10**_LONGEST:
        return str(value.numerator)
    text = f"{float(value):.{_LONGEST}g}" if abs(value) < Fraction(10) ** 300 else ""
    if text and Fraction(text) == value:
        return text
    quotient = f"{value.numerator}/{value.denominator}" if value.denominator < 10**6 else ""
    return (
        quotient if quotient and len(quotient) <= _LONGEST else f"about {text or 'a huge number'}"
    )
