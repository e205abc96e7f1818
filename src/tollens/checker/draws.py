"""Draws, and the paths of a program through them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tollens.checker.form import Form


@dataclass(frozen=True, slots=True)
class Draw:
    """An independent continuous draw.

    `kind` and `parameters`: "laplace" (scale), "gauss" (sigma), "exponential" (scale), "uniform"
    (a, b); the parameters are positive, and a < b.
    """

    kind: str
    parameters: tuple[Fraction, ...]

    def __hash__(self) -> int:
        return hash((self.kind, *((p.numerator, p.denominator) for p in self.parameters)))


Group = tuple[tuple[Draw, ...], tuple[Form, ...]]
"""Draws and constraints on them: the probability that all of these are >= 0."""

Spent = tuple[tuple[Fraction, tuple[Group, ...]], ...]
"""(share, groups): the sum of the shares, each times the probabilities of its groups."""


@dataclass(frozen=True, slots=True)
class Path:
    """One way through a program, or several with one end.

    It is taken with probability `mass * spent * P(all constraints >= 0)`: `mass` is the product of
    the probabilities of its discrete draws, `spent` stands for draws on which its end does not
    depend, and symbol i of the forms is `draws[i]`. `output` is what it returns.

    A path that was cut has no output and is not `finished`. Its `reach` is an interval that holds
    whatever it may still return, or "closed" if that is nothing that no finished path returns, or
    "anything".
    """

    mass: Fraction
    draws: tuple[Draw, ...]
    constraints: tuple[Form, ...]
    output: object
    finished: bool
    reach: tuple[Fraction | None, Fraction | None] | str | None = None
    spent: Spent = ((Fraction(1), ()),)


@dataclass(frozen=True, slots=True)
class Segment:
    """One way from a place in a program to the next head of a loop, or to its end.

    As a path, but symbols below 0 stand for the variables at the start: -1 for the first of the
    names asked for, and so on. `strict` says for each constraint whether it holds strictly, and
    a draw may also be "geometric" (the chance of success). `head` is the number of the loop
    reached (None: the program returned `output`), `values` what the variables hold there.
    """

    mass: Fraction
    draws: tuple[Draw, ...]
    constraints: tuple[Form, ...]
    strict: tuple[bool, ...]
    head: int | None
    values: tuple[tuple[str, object], ...]
    output: object
