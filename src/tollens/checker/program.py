"""Programs: a text of Python, read into instructions of a small stack machine.

Nothing of the text is ever executed as Python. `Program.canonical()` is the form that the digest
of a certificate covers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

NOISE = {
    "laplace": ("scale",),
    "gauss": ("sigma",),
    "exponential": ("scale",),
    "uniform": ("a", "b"),
    "geometric": ("p",),
    "flip": ("p",),
    "discrete": ("masses",),
}
"""The primitives that draw, with the names of their parameters."""

BUILTINS = ("bool", "enumerate", "float", "int", "len", "list", "range", "round", "tuple", "zip")
"""Functions of Python that the machine computes on exact values."""

REDUCERS = ("abs", "all", "any", "max", "min", "sum")
"""Functions of Python that the prelude has."""

PRELUDE = """
from tollens import noise

def geometric(p):
    failures = 0
    while not noise.flip(p):
        failures = failures + 1
    return failures

def abs(value):
    return +value if value >= 0 else -value

def max(values):
    best = values[0]
    for value in values[1:]:
        if value > best:
            best = value
    return best

def min(values):
    best = values[0]
    for value in values[1:]:
        if value < best:
            best = value
    return best

def sum(values, start=0):
    total = start
    for value in values:
        total = total + value
    return total

def any(values):
    for value in values:
        if value:
            return True
    return False

def all(values):
    for value in values:
        if not value:
            return False
    return True
"""
"""What branches, written in the subset itself: functions of Python and the geometric draw."""

LIBRARY = "library."
"""What the names of these functions begin with in a program: no text can define such a name."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of the machine; `line` is where it stands in the text."""

    op: str
    arg: object
    line: int


@dataclass(frozen=True, slots=True)
class Code:
    """A function: its parameters, the defaults of the last of them, and its instructions."""

    name: str
    parameters: tuple[str, ...]
    defaults: tuple[object, ...]
    instructions: tuple[Instruction, ...]
    yields: bool


@dataclass(frozen=True, slots=True)
class Program:
    """A program of one argument: the function `name` and all that it calls.

    `constants` are the instructions that make the names of the module that are used, in order;
    `heads` counts the `while` loops, those of the library among them.
    """

    name: str
    functions: Mapping[str, Code]
    constants: tuple[tuple[str, tuple[Instruction, ...]], ...]
    heads: int

    @property
    def loops(self) -> bool:
        """Whether it has loops that may go on for ever."""
        return self.heads > 0

    def canonical(self) -> str:
        """Every instruction, one a line: equal programs have equal texts, whatever their layout."""
        lines = [f"program {self.name}"]
        for name, made in self.constants:
            lines.append(f"constant {name}")
            lines += [f"{i.op} {_plain(i.arg)}" for i in made]
        for name, code in sorted(self.functions.items()):
            lines.append(f"function {name}{code.parameters}{_plain(code.defaults)}")
            lines += [f"{i.op} {_plain(i.arg)}" for i in code.instructions]
        return "\n".join(lines)

    def digest(self) -> str:
        """The SHA-256 of the canonical form, in hexadecimal."""
        text = self.canonical().encode(errors="surrogatepass")
        return hashlib.sha256(text).hexdigest()


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return "(" + " ".join(map(_plain, value)) + ")"
    return f"{type(value).__name__}:{value}"
