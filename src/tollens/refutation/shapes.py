"""The shapes of outputs: what is left of an output without the values of its draws."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from tollens.checker.form import Form
from tollens.checker.patterns import Anything, Between, Equals, Items, Pattern

Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """In place of a number that depends on continuous draws."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One value; `kind` tells truth values from numbers."""

    kind: str
    value: Hashable


@dataclass(frozen=True, slots=True)
class Several:
    """The shapes of the items of a list or tuple."""

    items: tuple[Shape, ...]


Shape = Number | Constant | Several


def shape_of(output: object) -> Shape:
    """The shape of an output.

    >>> shape_of((True, Form(1, ((0, 1),))))
    Several(items=(Constant(kind='bool', value=True), Number()))
    """
    if isinstance(output, tuple):
        return Several(tuple(map(shape_of, output)))
    if isinstance(output, Form):
        return Number()
    return Constant(type(output).__name__, output)


def pattern_of(shape: Shape) -> Pattern:
    """The pattern of all outputs of a shape; a draw may be any number."""
    match shape:
        case Several(items):
            return Items(tuple(map(pattern_of, items)))
        case Constant(_, value):
            return Equals(value)
    return Between(None, None)


def numbers(shape: Shape, at: Place = ()) -> list[Place]:
    """The places of the numbers that depend on draws, as indices."""
    match shape:
        case Several(items):
            return [place for i, item in enumerate(items) for place in numbers(item, (*at, i))]
        case Number():
            return [at]
    return []


def placed(pattern: Pattern, at: Place, inner: Pattern) -> Pattern:
    """A pattern with another one at a place."""
    if not at or not isinstance(pattern, Items):
        return inner
    items = list(pattern.items)
    items[at[0]] = placed(items[at[0]], at[1:], inner)
    return Items(tuple(items))


def found_at(output: object, at: Place) -> object:
    """The part of an output at a place; None where there is none."""
    for i in at:
        if not isinstance(output, tuple) or i >= len(output):
            return None
        output = output[i]
    return output


def may_match(pattern: Pattern, shape: Shape) -> bool:
    """Whether an output of this shape may match."""
    match pattern, shape:
        case Anything(), _:
            return True
        case Between(), (Number() | Constant("Fraction")):
            return True
        case Equals(value), _:
            return shape_of(value) == shape
        case Items(items), Several(shapes):
            return len(items) == len(shapes) and all(map(may_match, items, shapes))
    return False
