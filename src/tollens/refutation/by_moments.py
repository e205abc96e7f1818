"""The engine of moments: programs without branches on continuous draws, against pure claims."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import fmpq, fmpq_mat

from tollens.checker.draws import Path
from tollens.checker.errors import CertificateError
from tollens.checker.machine import Limits, explore
from tollens.checker.moments import MOST_NUMBERS, MOST_PATHS, mixture, moments, numbers
from tollens.refutation.moments import best_square, witness
from tollens.refutation.task import Attempt, Task

PAIRS = 4
"""So many pairs are looked at."""

ROUNDS = 64
"""Heads of loops that are passed: where draws decide how many there are, paths never all end."""

DEGREES = (1, 2, 4, 8, 12, 16)
"""Of the polynomials; a higher one is tried while it gains."""

_GAIN = 1e-3
_NUMBERS_ALONE = 12
_NAME = "moments"

Weights = tuple[Fraction, ...]


def by_moments(task: Task) -> Attempt:
    """Squares of polynomials in a number of the output, by the moments of the draws."""
    if task.claim["kind"] != "pure":
        return Attempt(_NAME, "the square of a polynomial is above 1: for pure claims only")
    best = Attempt(_NAME, "no square of a polynomial is larger on one side")

    def value() -> float:
        return best.value

    for i, pair in task.each_pair(_NAME, value):
        if i >= PAIRS:
            break
        seconds = max(0.0, task.deadline - time.monotonic())
        limits = Limits(rounds=ROUNDS, paths=MOST_PATHS, seconds=seconds)
        try:
            sides = [_all_paths(task, data, limits) for data in (pair.x, pair.x_prime)]
            for swapped in task.orders:
                likely, other = sides[swapped], sides[not swapped]
                for weights in _functionals(likely, other):
                    for made in _attempts(task, i, swapped, (likely, other), weights):
                        if made.document is not None:
                            return made
                        best = max(best, made, key=lambda attempt: attempt.value)
        except CertificateError as error:
            return Attempt(_NAME, str(error))
    return best


def _all_paths(task: Task, data: object, limits: Limits) -> Sequence[Path]:
    """The paths on one input, all of which must end: the other one need not be looked at then."""
    found = explore(task.program, data, limits)
    if not found.complete:
        raise CertificateError("moments need every path to end")
    return found.paths


def _attempts(
    task: Task, i: int, swapped: bool, sides: tuple[Sequence[Path], Sequence[Path]],
    weights: Weights,
) -> Iterator[Attempt]:  # fmt: skip
    """What one number of the output shows with polynomials of rising degree."""
    likely, other = (mixture(side, weights) for side in sides)
    before = 0.0
    for degree in DEGREES:
        if task.late:
            return
        p, lower, upper = best_square(likely, other, degree)
        value = math.inf if upper == 0 else math.log(lower / upper) if lower > upper else 0.0
        document = task.document(
            task.pairs[i], swapped, _NAME, witness(weights, p), {"kind": _NAME}, lower, upper
        )
        yield Attempt(_NAME, "", value, value, task.pairs[i], document)
        if value - before < _GAIN or value == math.inf:
            return
        before = value


def _functionals(likely: Sequence[Path], other: Sequence[Path]) -> Iterator[Weights]:
    """Weighted sums of the output's numbers whose laws differ: the best in the mean, then each."""
    outputs = [numbers(side[0].output) for side in (likely, other)]
    n = len(outputs[0])
    if n != len(outputs[1]) or n > MOST_NUMBERS:
        raise CertificateError("moments need outputs with as many numbers on both sides")
    units = [tuple(Fraction(int(i == j)) for j in range(n)) for i in range(n)]
    if 1 < n <= _NUMBERS_ALONE:
        yield from _discriminant(likely, other, units)
    differing = (
        unit for unit in units
        if moments(mixture(likely, unit), 4) != moments(mixture(other, unit), 4)
    )  # fmt: skip
    for found, unit in enumerate(differing):
        if found >= _NUMBERS_ALONE:
            return
        yield unit


def _discriminant(
    likely: Sequence[Path], other: Sequence[Path], units: Sequence[Weights]
) -> Iterator[Weights]:
    """The sum with the largest difference of means in standard deviations (Fisher), if any."""
    n = len(units)
    firsts = [[moments(mixture(side, u), 1)[1] for u in units] for side in (likely, other)]
    shift = [a - b for a, b in zip(*firsts, strict=True)]

    def covariance(i: int, j: int) -> Fraction:
        both = tuple(a + b for a, b in zip(units[i], units[j], strict=True))
        second = [moments(mixture(other, w), 2)[2] for w in (both, units[i], units[j])]
        return (second[0] - second[1] - second[2]) / 2 - firsts[1][i] * firsts[1][j]

    flat = [covariance(i, j) for i in range(n) for j in range(n)]
    matrix = fmpq_mat(n, n, [_flint(c) for c in flat])
    if not any(shift):
        return
    if matrix.det() != 0:
        solved = matrix.solve(fmpq_mat(n, 1, [_flint(s) for s in shift]))
        found = [[solved[i, 0] for i in range(n)]]
    else:
        found = _kernel(matrix)
    for vector in found:
        weights = tuple(Fraction(int(c.p), int(c.q)) for c in vector)
        moved = sum((w * s for w, s in zip(weights, shift, strict=True)), Fraction(0))
        if moved and sum(1 for w in weights if w) > 1:
            yield weights
            return


def _kernel(matrix: fmpq_mat) -> list[list[fmpq]]:
    """A basis of the vectors that a square matrix maps to 0."""
    n = matrix.nrows()
    reduced, rank = matrix.rref()
    leads = [next(j for j in range(n) if reduced[i, j] != 0) for i in range(rank)]
    basis = []
    for free in set(range(n)) - set(leads):
        vector = [fmpq(int(j == free)) for j in range(n)]
        for i, lead in enumerate(leads):
            vector[lead] = -reduced[i, free]
        basis.append(vector)
    return basis


def _flint(c: Fraction) -> fmpq:
    return fmpq(c.numerator, c.denominator)
