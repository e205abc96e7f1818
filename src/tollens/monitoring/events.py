"""Given events: a name for people and a test of outputs.

An event is a text that is read, never executed, or a name with a function of one output.

    output <= -1          output > 0.5          output = [0, 0, 1]          output != "yes"
    output in [1, 2]      output[3] >= 2        len(output) = 7
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tollens.errors import UsageError
from tollens.outputs import Raised
from tollens.serial import data_from_json

Test = Callable[[object], bool]

_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip
_TEXT = re.compile(
    r"\s*(?P<what>output(?:\[(?P<item>\d+)\])?|len\(output\))\s*"
    r"(?P<how><=|>=|!=|==|=|<|>|in\b)\s*(?P<value>.+?)\s*",
    re.DOTALL,
)


@dataclass(frozen=True)
class Event:
    """A named test of one output; `test` is None for events that are only counted elsewhere."""

    name: str
    test: Test | None = None

    def of(self, outputs: Sequence[object]) -> NDArray[np.bool_]:
        """Whether each output is in the event, (n,)."""
        if self.test is None:
            raise UsageError(
                f"event {self.name!r} is only a name; write it as a test such as 'output <= 0', "
                "or give the counts with step_counts"
            )
        found = np.zeros(len(outputs), dtype=bool)
        for i, output in enumerate(outputs):
            try:
                found[i] = _truth(self.test(output))
            except Exception as error:  # noqa: BLE001 - a test of the caller's
                raise UsageError(
                    f"event {self.name!r} fails on the output {output!r}: "
                    f"{type(error).__name__}: {error}"
                ) from None
        return found


def _truth(result: object) -> bool:
    if isinstance(result, bool | np.bool_):
        return bool(result)
    raise TypeError(f"it returned {result!r}; it must return True or False")


def as_events(events: object) -> tuple[Event, ...]:
    """Events of a text, of a list of texts, or of a dictionary from names to functions.

    A text that is no test is the name of an event that is counted elsewhere.

    >>> as_events(["output <= 0"])[0].of([-1.0, 2.0]).tolist()
    [True, False]
    """
    if events is None:
        return ()
    if isinstance(events, str):
        events = [events]
    if isinstance(events, Mapping):
        found = [Event(str(name), _callable(str(name), test)) for name, test in events.items()]
    elif isinstance(events, Sequence):
        found = [
            event if isinstance(event, Event) else Event(str(event), parse_event(str(event)))
            for event in events
        ]
    else:
        raise UsageError(f"events is a {type(events).__name__}; give texts or named functions")
    names = [event.name for event in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"event {twice[0]!r} is given twice")
    return tuple(found)


def _callable(name: str, test: object) -> Test | None:
    if test is None or callable(test):
        return test
    if isinstance(test, str):
        parsed = parse_event(test)
        if parsed is not None:
            return parsed
    raise UsageError(f"event {name!r}: expected a function of one output or a text, not {test!r}")


def parse_event(text: str) -> Test | None:
    """The test of a text; None where the text has not the form of one.

    Raises `UsageError` where the form is right but the value is no JSON.

    >>> parse_event("len(output) = 2")([1, 2]), parse_event("output in [1, 2]")(3)
    (True, False)
    >>> parse_event("answer is yes") is None
    True
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    try:
        value = data_from_json(json.loads(match["value"]))
    except ValueError:
        raise UsageError(
            f"event {text!r}: {match['value']!r} is not JSON; write a number, true, a text in "
            "double quotes, or a list such as [0, 1]"
        ) from None
    how = match["how"]
    if how in _ORDERED and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise UsageError(f"event {text!r}: {how} needs a number, not {match['value']}")
    if how == "in" and not isinstance(value, list):
        raise UsageError(f"event {text!r}: 'in' needs a list such as [1, 2]")
    item = int(match["item"]) if match["item"] else None
    length = match["what"] == "len(output)"
    return partial(_test, how=how, value=value, item=item, length=length)


def _test(output: object, *, how: str, value: object, item: int | None, length: bool) -> bool:
    plain = _plain(output)
    if length:
        if not isinstance(plain, list | str | bytes | dict):
            return False
        plain = len(plain)
    elif item is not None:
        if not isinstance(plain, list) or len(plain) <= item:
            return False
        plain = plain[item]
    if how in _ORDERED:
        number = isinstance(plain, int | float) and not math.isnan(plain)
        return number and _ORDERED[how](plain, value)  # type: ignore[arg-type]
    if how == "in":
        return any(_same(plain, option) for option in value)  # type: ignore[attr-defined]
    return _same(plain, value) is (how != "!=")


def _plain(output: object) -> object:
    """Arrays and tuples as lists, numpy numbers as plain ones."""
    if isinstance(output, np.ndarray | np.generic):
        return output.tolist()
    if isinstance(output, tuple | list):
        return [_plain(item) for item in output]
    if isinstance(output, Raised):
        return f"raised {output.type}"
    return output


def _same(plain: object, value: object) -> bool:
    """Equality in which NaN equals NaN; true equals 1, as in Python."""
    both = isinstance(plain, float) and isinstance(value, float)
    if both and math.isnan(plain) and math.isnan(value):  # type: ignore[arg-type]
        return True
    return bool(plain == value)
