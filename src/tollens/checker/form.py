"""Affine forms: a rational constant and rational multiples of symbols.

A symbol from 0 up stands for a draw of the run, one below 0 for a variable that is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

Terms = tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """`constant + sum of coefficient * symbol`; terms are sorted, no coefficient is 0.

    >>> z = symbol(0)
    >>> print(plus(scaled(z, Fraction(2)), Fraction(1, 3)))
    1/3 + 2*s0
    >>> plus(z, scaled(z, Fraction(-1)))
    Fraction(0, 1)
    """

    constant: Fraction
    terms: Terms
    _hash: int | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """A hash of whole numbers, made once: that of a rational is a power modulo a prime."""
        if self._hash is None:
            top, bottom = self.constant.numerator, self.constant.denominator
            found = hash((top, bottom, *((i, c.numerator, c.denominator) for i, c in self.terms)))
            object.__setattr__(self, "_hash", found)
            return found
        return self._hash

    def __str__(self) -> str:
        parts = [] if self.constant == 0 else [str(self.constant)]
        parts += [f"{'' if c == 1 else f'{c}*'}s{i}" for i, c in self.terms]
        return " + ".join(parts)


Number = Fraction | Form


def symbol(index: int) -> Form:
    """The form that is one symbol."""
    return Form(Fraction(0), ((index, Fraction(1)),))


def make(constant: Fraction, terms: Iterable[tuple[int, Fraction]]) -> Number:
    """A form in its one normal shape; a rational if no symbol is left."""
    kept = tuple(sorted((i, c) for i, c in terms if c != 0))
    return Form(constant, kept) if kept else constant


def plus(a: Number, b: Number) -> Number:
    """The sum."""
    if isinstance(a, Fraction):
        a, b = b, a
    if isinstance(a, Fraction):
        assert isinstance(b, Fraction)  # noqa: S101 - of two rationals, both are
        return a + b
    if isinstance(b, Fraction):
        return Form(a.constant + b, a.terms)
    sums = dict(a.terms)
    for i, c in b.terms:
        sums[i] = sums.get(i, Fraction(0)) + c
    return make(a.constant + b.constant, sums.items())


def scaled(a: Number, factor: Fraction) -> Number:
    """The multiple by a rational."""
    if isinstance(a, Fraction):
        return a * factor
    return make(a.constant * factor, ((i, c * factor) for i, c in a.terms))


def renamed(a: Number, rename: Callable[[int], int]) -> Number:
    """The same form of other symbols."""
    if isinstance(a, Fraction):
        return a
    return make(a.constant, ((rename(i), c) for i, c in a.terms))


def groups(forms: Iterable[Form]) -> list[tuple[set[int], list[Form]]]:
    """Forms in groups that share no symbol, each with its symbols; a form comes once.

    >>> [sorted(symbols) for symbols, _ in groups([symbol(0), symbol(1)])]
    [[0], [1]]
    """
    found: list[tuple[set[int], list[Form]]] = []
    for form in dict.fromkeys(forms):
        symbols, held = {i for i, _ in form.terms}, [form]
        apart = []
        for others, inside in found:
            if symbols & others:
                symbols, held = symbols | others, inside + held
            else:
                apart.append((others, inside))
        found = [*apart, (symbols, held)]
    return found
