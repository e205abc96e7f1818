"""Proofs by moments: the expectation of a square of a polynomial in a number of the output.

For programs that do not branch on continuous draws: each path ends in numbers that are affine in
its draws, and all moments of those are rationals. The witness is `f = p(weights . output)^2 >= 0`,
and both of its expectations are exact. It is not bounded, so it speaks against pure claims only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from tollens.checker.clock import tick
from tollens.checker.documents import entries, rational
from tollens.checker.draws import Draw, Path
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form, Number, plus, scaled
from tollens.checker.machine import Limits, explore
from tollens.checker.program import Program
from tollens.checker.tails import moment

MOST_DEGREE = 40
"""Of the polynomial p."""

MOST_NUMBERS, MOST_PATHS = 200, 2_000
_MOST_WORK = 2_000_000

Bounds = tuple[Fraction, Fraction]
Mixture = Sequence[tuple[Fraction, tuple[Draw, ...], Number]]
"""(mass, draws, number): with probability `mass` the output is this form of independent draws."""


def bounds(
    program: Program, likely: object, other: object, witness: object, proof: object, seconds: float
) -> Bounds:
    """The expectations of the witness on likely data and on the other."""
    weights, p = read(witness)
    given = entries(proof, "the proof", allowed=("kind",))
    if given["kind"] != "moments":
        raise CertificateError("squares of polynomials are proved by moments")
    limits = Limits(paths=MOST_PATHS, seconds=seconds)
    first, second = (
        mean_square(mixture(explore(program, data, limits).paths, weights), p)
        for data in (likely, other)
    )
    return first, second


def read(witness: object) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The weights of the numbers of the output, and the coefficients of p from the constant on."""
    given = entries(witness, "the witness", allowed=("kind", "weights", "coefficients"))
    if given["kind"] != "square":
        raise CertificateError("the witness is no square of a polynomial")
    read_lists = []
    for name, most in (("weights", MOST_NUMBERS), ("coefficients", MOST_DEGREE + 1)):
        items = given[name]
        if not isinstance(items, list) or not 1 <= len(items) <= most:
            raise CertificateError(f"{name} is no list of 1 to {most} numbers")
        read_lists.append(tuple(rational(item, name) for item in items))
    return read_lists[0], read_lists[1]


def mixture(paths: Iterable[Path], weights: Sequence[Fraction]) -> Mixture:
    """The weighted sum of the numbers of the output, path by path."""
    made = []
    for path in paths:
        if not path.finished:
            raise CertificateError("moments need every path to end")
        if path.constraints or any(groups for _, groups in path.spent):
            raise CertificateError("moments need a program without branches on continuous draws")
        mass = path.mass * sum((share for share, _ in path.spent), Fraction(0))
        made.append((mass, path.draws, _weighted(numbers(path.output), weights)))
    return made


def numbers(output: object) -> list[Number]:
    """The numbers of an output, in order.

    >>> numbers((Fraction(1), (Fraction(2),)))
    [Fraction(1, 1), Fraction(2, 1)]
    """
    if isinstance(output, bool) or not isinstance(output, Fraction | Form | tuple | list):
        raise CertificateError("moments need an output of numbers")
    if isinstance(output, Fraction | Form):
        return [output]
    return [number for item in output for number in numbers(item)]


def _weighted(found: Sequence[Number], weights: Sequence[Fraction]) -> Number:
    if len(found) != len(weights):
        raise CertificateError("the weights are not as many as the numbers of the output")
    total: Number = Fraction(0)
    for number, weight in zip(found, weights, strict=True):
        total = plus(total, scaled(number, weight))
    return total


def mean_square(law: Mixture, p: Sequence[Fraction]) -> Fraction:
    """E[p(number)^2]; p is given by its coefficients from the constant on.

    >>> laplace = Draw("laplace", (Fraction(1),))
    >>> x = Form(Fraction(0), ((0, Fraction(1)),))
    >>> mean_square([(Fraction(1), (laplace,), x)], [Fraction(1), Fraction(1)])   # (1 + x)^2
    Fraction(3, 1)
    """
    square = [Fraction(0)] * (2 * len(p) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(p):
            square[i + j] += a * b
    known = moments(law, len(square) - 1)
    return sum((c * m for c, m in zip(square, known, strict=True)), Fraction(0))


def moments(law: Mixture, n: int) -> list[Fraction]:
    """E[number^k] for k = 0 ... n: E[(a + c z)^k] = sum of binom(k, j) E[a^(k-j)] c^j E[z^j]."""
    terms = sum(1 + len(form.terms) for _, _, form in law if isinstance(form, Form))
    if terms * (n + 1) ** 2 > _MOST_WORK:
        raise CertificateError("an output with too many draws for so high moments")
    total = [Fraction(0)] * (n + 1)
    for mass, draws, number in law:
        constant, parts = (
            (number.constant, number.terms) if isinstance(number, Form) else (number, ())
        )
        known = [_within_time(constant**k) for k in range(n + 1)]
        for i, c in parts:
            own = [_within_time(c**k * moment(draws[i], k)) for k in range(n + 1)]
            known = [
                sum(
                    (
                        _within_time(math.comb(k, j) * known[k - j] * own[j])
                        for j in range(k + 1)
                        if own[j]
                    ),
                    Fraction(0),
                )
                for k in range(n + 1)
            ]
        total = [t + mass * m for t, m in zip(total, known, strict=True)]
    return total


def _within_time(value: Fraction) -> Fraction:
    tick()
    return value
