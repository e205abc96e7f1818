"""The square of a polynomial whose expectations differ most on two laws.

E[p(out)^2] is a quadratic form in the coefficients of p, with the moments of the output as its
matrix. So the largest ratio of two such expectations, over all p of a degree, is the largest
eigenvalue of one moment matrix relative to the other. The second is factored exactly; in the basis
of its orthogonal polynomials the first is well conditioned, and floats find the eigenvector. Its
coefficients are rounded to rationals, and the ratio they give is exact again.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat

from tollens.checker.draws import Draw
from tollens.checker.form import Number
from tollens.checker.moments import Mixture, mean_square, moments
from tollens.refutation.found import Json

_DIGITS = (24, 40, 64, 96, 160, 256)
_NEAR = Fraction(1, 10**6)


def prove(
    draws: Sequence[Draw], likely: Number, other: Number, degree: int
) -> tuple[Json, Fraction, Fraction]:
    """The best square of a polynomial of a degree for two affine forms of the same draws.

    The witness in JSON, and its expectation on each side.

    >>> from tollens.checker.form import Form
    >>> laplace = Draw("laplace", (Fraction(1, 2),))
    >>> at = [Form(Fraction(x), ((0, Fraction(1)),)) for x in (1, 0)]
    >>> _, lower, upper = prove([laplace], *at, degree=4)
    >>> round(float(lower / upper), 3)                         # e^1.995
    7.35
    """
    one = Fraction(1)
    p, lower, upper = best_square(
        [(one, tuple(draws), likely)], [(one, tuple(draws), other)], degree
    )
    return witness([one], p), lower, upper


def witness(weights: Sequence[Fraction], p: Sequence[Fraction]) -> Json:
    """The square of p at the weighted sum of the numbers of an output, in JSON."""
    return {
        "kind": "square",
        "weights": [str(weight) for weight in weights],
        "coefficients": [str(c) for c in p],
    }


def best_square(
    likely: Mixture, other: Mixture, degree: int
) -> tuple[tuple[Fraction, ...], Fraction, Fraction]:
    """The polynomial p for which E[p^2] on the likely law is most times that on the other.

    Also the two expectations, exact; the second is 0 where p vanishes on the other law.
    """
    first, second = (_matrix(moments(law, 2 * degree), degree) for law in (likely, other))
    basis, norms = _orthogonal(second)
    if norms[-1] == 0:  # the last polynomial vanishes on the other law
        p = tuple(_fraction(c) for c in basis[-1])
        above = mean_square(likely, p)
        if above > 0:
            return p, above, Fraction(0)
        basis, norms = basis[:-1], norms[:-1]
    n, size = len(basis), degree + 1
    rows = fmpq_mat(n, size, [c for row in basis for c in row])
    inner = rows * first * rows.transpose()
    with ctx.workprec(128):
        lengths = [arb(norm).sqrt() for norm in norms]
        form = np.array(
            [
                [float(arb(inner[i, j]) / (lengths[i] * lengths[j])) for j in range(n)]
                for i in range(n)
            ]
        )
        if not np.isfinite(form).all():
            raise OverflowError("moments beyond floats")
        values, vectors = np.linalg.eigh(form)
        weights = [
            Fraction(float(v)) / _fraction_of(length)
            for v, length in zip(vectors[:, -1], lengths, strict=True)
        ]
    exact = [
        sum((w * _fraction(row[k]) for w, row in zip(weights, basis, strict=True)), Fraction(0))
        for k in range(size)
    ]
    wanted = Fraction(float(values[-1])) * (1 - _NEAR)
    for bits in _DIGITS:
        p = tuple(_rounded(c, bits) for c in exact)
        above, below = mean_square(likely, p), mean_square(other, p)
        if below > 0 and above >= wanted * below:
            break
    return p, above, below


def _matrix(known: Sequence[Fraction], degree: int) -> fmpq_mat:
    """The Hankel matrix of moments: entry (i, j) is E[number^(i + j)]."""
    size = degree + 1
    flat = [known[i + j] for i in range(size) for j in range(size)]
    return fmpq_mat(size, size, [fmpq(m.numerator, m.denominator) for m in flat])


def _orthogonal(matrix: fmpq_mat) -> tuple[list[list[fmpq]], list[fmpq]]:
    """Monic polynomials, orthogonal for a moment matrix, up to the first of norm 0; the norms."""
    size = matrix.nrows()
    basis: list[list[fmpq]] = []
    norms: list[fmpq] = []
    images: list[list[fmpq]] = []
    for k in range(size):
        row = [fmpq(int(i == k)) for i in range(size)]
        for other, image, norm in zip(basis, images, norms, strict=True):
            share = image[k] / norm
            row = [a - share * b for a, b in zip(row, other, strict=True)]
        image = [sum((row[i] * matrix[i, j] for i in range(k + 1)), fmpq(0)) for j in range(size)]
        basis.append(row)
        images.append(image)
        norms.append(image[k])
        if norms[-1] == 0:
            break
    return basis, norms


def _rounded(c: Fraction, bits: int) -> Fraction:
    """A rational of so many binary digits near to c."""
    if c == 0:
        return c
    shift = bits - (abs(c.numerator).bit_length() - c.denominator.bit_length())
    if shift >= 0:
        return Fraction(round(c * (1 << shift)), 1 << shift)
    return Fraction(round(c / (1 << -shift)) << -shift)


def _fraction(q: fmpq) -> Fraction:
    return Fraction(int(q.p), int(q.q))


def _fraction_of(ball: arb) -> Fraction:
    return Fraction(float(ball)) or Fraction(1)
