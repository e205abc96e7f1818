"""Positive polynomials as sums of products of facts (Handelman's theorem), by linear programs.

D. Handelman, Representing polynomials by positive linear functions on compact convex polyhedra,
Pacific Journal of Mathematics 132 (1988): a polynomial that is positive where affine forms are
>= 0, on a compact set, is a sum of positive multiples of products of these forms. Which products
are needed is not known, so all up to a degree are tried; their multiples are unknowns of a linear
program, as are the coefficients of a polynomial that is to be found: the symbols ?0, ?1, ...
Where variables have no bounds, a product may have a square as a further factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tollens.checker.martingale import Obligation
from tollens.checker.polynomials import Monomial, Polynomial, written
from tollens.refutation.linear import LinearProgram

Term = tuple[str, tuple[int, ...], dict[str, str] | None]
"""Of a proof, as in a certificate: a weight, numbers of facts, the root of a square."""
Proof = list[Term]


@dataclass(frozen=True, slots=True)
class Product:
    """A product of facts, given by their numbers, and of the square of `root`, if there is one."""

    factors: tuple[int, ...]
    root: Polynomial | None
    value: Polynomial


@dataclass(frozen=True, slots=True)
class Multiples:
    """The columns of the products that may prove one obligation."""

    columns: tuple[tuple[int, Product], ...]

    def proof(self, values: Sequence[Fraction]) -> Proof:
        """The identity as it stands in a certificate."""
        return [
            (str(values[i]), p.factors, None if p.root is None else written(p.root))
            for i, p in self.columns
            if values[i]
        ]


def unknown(column: int) -> Polynomial:
    """The symbol for a column of the linear program."""
    return Polynomial.variable(f"?{column}")


def require(
    program: LinearProgram,
    obligation: Obligation,
    degree: int,
    roots: Sequence[Polynomial] = (),
    unused: frozenset[Polynomial] = frozenset(),
) -> Multiples:
    """Add the equations: the goal is a sum of multiples of products up to this degree."""
    rows: dict[Monomial, dict[int, Fraction]] = {}
    right: dict[Monomial, Fraction] = {}
    for monomial, c in obligation.goal.terms.items():
        known = tuple(name for name in monomial if name[0] != "?")
        row = rows.setdefault(known, {})
        if known == monomial:
            right[known] = c
        else:
            (sought,) = set(monomial) - set(known)
            row[int(sought[1:])] = -c
    columns = []
    for product in products(obligation.facts, degree, roots, unused):
        column = program.column()
        columns.append((column, product))
        for monomial, c in product.value.terms.items():
            rows.setdefault(monomial, {})[column] = c
    for monomial, row in rows.items():
        program.row(row, right.get(monomial, Fraction(0)))
    return Multiples(tuple(columns))


def products(
    facts: Sequence[Polynomial],
    degree: int,
    roots: Sequence[Polynomial] = (),
    unused: frozenset[Polynomial] = frozenset(),
) -> Iterator[Product]:
    """All products up to a degree, with at most one factor that contains an exponential.

    >>> x = Polynomial.variable("x")
    >>> [p.factors for p in products([x, x + Polynomial.constant(1)], 2)]
    [(), (0,), (0, 0)]
    """
    plain: list[int] = []
    special: list[int] = []
    for i in _strongest(facts):
        if facts[i] not in unused:
            mixed = any(name.startswith("exp(") for name in facts[i].symbols)
            (special if mixed else plain).append(i)
    for found in _powers(facts, plain, Product((), None, Polynomial.constant(1)), degree):
        yield found
        for i in special:
            if found.value.degree + facts[i].degree <= degree:
                yield Product((*found.factors, i), None, found.value * facts[i])
        for root in roots:
            if found.value.degree + 2 * root.degree <= degree:
                yield Product(found.factors, root, found.value * root * root)


def _powers(
    facts: Sequence[Polynomial], left: Sequence[int], product: Product, degree: int
) -> Iterator[Product]:
    yield product
    for at, i in enumerate(left):
        if product.value.degree + facts[i].degree <= degree:
            longer = Product((*product.factors, i), None, product.value * facts[i])
            yield from _powers(facts, left[at:], longer, degree)


def _strongest(facts: Sequence[Polynomial]) -> list[int]:
    """The facts but those that follow from a parallel one, and those about numbers."""
    best: dict[Polynomial, tuple[Fraction, int]] = {}
    for i, fact in enumerate(facts):
        direction = Polynomial({m: c for m, c in fact.terms.items() if m})
        if not direction.terms:
            continue
        scale = 1 / abs(min(direction.terms.items())[1])
        constant = fact.terms.get((), Fraction(0)) * scale
        direction = direction.scaled(scale)
        if direction not in best or constant < best[direction][0]:
            best[direction] = (constant, i)
    return sorted(i for _, i in best.values())
