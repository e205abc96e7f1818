"""The exact probability that affine constraints on independent draws hold.

Laplace, exponential and uniform densities and the indicator of a constraint are piecewise sums of
`c s^k e^(rate s + q)` in an affine form s of the draws. Draws are eliminated one at a time: the
factors that contain z are `f_j(a_j z + b_j r + c_j)` with one and the same remaining form r, and
`G(r) = integral of their product over z` is piecewise of the same kind, on the intervals between
the crossings of the lines `a_j z + b_j r + c_j = cut`. What is left in the end is a sum
`c_1 e^(q_1) + ...` with rational c and q. Source: Gehr, Misailovic, Vechev, PSI, CAV 2016, for
integration by pieces; the elimination along a forest is that of belief propagation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb, factorial

from tollens.checker.clock import tick
from tollens.checker.draws import Draw
from tollens.checker.enclosures import exp_bounds
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form, groups, make, scaled

Term = tuple[int, Fraction, Fraction]
"""(k, rate, q) stands for s^k e^(rate s + q)."""
Terms = tuple[tuple[Term, Fraction], ...]
Sum = dict[Fraction, Fraction]
"""{q: c} stands for the sum of c e^q."""
Plane = dict[tuple[int, int, Fraction, Fraction, Fraction], Fraction]
"""{(i, j, a, b, q): c} stands for the sum of c z^i r^j e^(a z + b r + q)."""

MAX_TERMS = 200_000
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Piecewise:
    """A function of one real variable: `parts[i]` holds between `cuts[i - 1]` and `cuts[i]`."""

    cuts: tuple[Fraction, ...]
    parts: tuple[Terms, ...]


Factor = tuple[Form, Piecewise]


def _constant(value: Fraction) -> Terms:
    return (((0, ZERO, ZERO), value),) if value else ()


STEP = Piecewise((ZERO,), ((), _constant(ONE)))


def density(draw: Draw) -> Piecewise:
    """The density of a draw."""
    if draw.kind == "uniform":
        a, b = draw.parameters
        return Piecewise((a, b), ((), _constant(1 / (b - a)), ()))
    rate = 1 / draw.parameters[0]
    if draw.kind == "laplace":
        left, right = (0, rate, ZERO), (0, -rate, ZERO)
        return Piecewise((ZERO,), (((left, rate / 2),), ((right, rate / 2),)))
    if draw.kind == "exponential":
        return Piecewise((ZERO,), ((), (((0, -rate, ZERO), rate),)))
    raise CertificateError(f"no exact integral over a {draw.kind} draw")


class Integrator:
    """Computes probabilities; what is eliminated once is remembered."""

    def __init__(self) -> None:
        self._memory: dict[object, Piecewise] = {}
        self._parts: dict[object, Sum] = {}
        self._terms = 0

    def probability(self, draws: Sequence[Draw], constraints: Iterable[Form]) -> Sum:
        """P(all constraints >= 0), as a sum of c e^q.

        Raises `CertificateError` where the constraints are no forest, or too many.

        >>> two = (Draw("laplace", (ONE,)), Draw("laplace", (ONE,)))
        >>> z_above_1 = Form(-ONE, ((0, ONE),))
        >>> Integrator().probability(two, [z_above_1])     # one half of e^-1
        {Fraction(-1, 1): Fraction(1, 2)}
        """
        total: Sum = {ZERO: ONE}
        for symbols, part in groups(constraints):
            names = {i: k for k, i in enumerate(sorted(symbols))}
            own = tuple(draws[i] for i in names)
            forms = tuple(Form(c.constant, tuple((names[i], v) for i, v in c.terms)) for c in part)
            if (own, forms) not in self._parts:
                self._parts[own, forms] = self._connected(own, forms)
            total = _times(total, self._parts[own, forms])
            if not total:
                break
        return total

    def _connected(self, draws: Sequence[Draw], constraints: Sequence[Form]) -> Sum:
        """The probability where the draws depend on each other by the constraints."""
        factors = [(constraint, STEP) for constraint in constraints]
        factors += [(Form(ZERO, ((i, ONE),)), density(draw)) for i, draw in enumerate(draws)]
        live = set(range(len(draws)))
        while live:
            z = self.next_of(factors, live)
            live.remove(z)
            factors = self.without(factors, z)
        total: Sum = {ZERO: ONE}
        for _, function in factors:  # of no draw any more: constants
            total = _times(total, {q: c for (_, _, q), c in function.parts[0]})
        return total

    def next_of(self, factors: list[Factor], live: set[int]) -> int:
        """A draw whose factors share one remaining form, in the fewest factors."""
        best: tuple[int, int] | None = None
        for z in sorted(live):
            tick()
            forms = [form for form, _ in factors if _coefficient(form, z)]
            if _direction(forms, z) is not None and (best is None or len(forms) < best[0]):
                best = (len(forms), z)
        if best is None:
            raise CertificateError("constraints that no order of the draws takes apart")
        return best[1]

    def without(self, factors: list[Factor], z: int) -> list[Factor]:
        """The factors after the integral over the draw z."""
        inside = [factor for factor in factors if _coefficient(factor[0], z)]
        outside = [factor for factor in factors if not _coefficient(factor[0], z)]
        return [*outside, self._eliminate(z, inside)]

    def _eliminate(self, z: int, inside: list[Factor]) -> tuple[Form, Piecewise]:
        direction = _direction([form for form, _ in inside], z)
        assert direction is not None  # noqa: S101 - `_next` chose z by it
        lead = direction.terms[0][0] if direction.terms else -1
        shapes = []
        for form, function in inside:
            shapes.append(
                (_coefficient(form, z), _coefficient(form, lead), form.constant, function)
            )
        key = tuple(shapes)
        if key not in self._memory:
            self._memory[key] = self._integrate(shapes)
        return direction, self._memory[key]

    def _integrate(self, shapes: list[tuple[Fraction, Fraction, Fraction, Piecewise]]) -> Piecewise:
        """`G(r)`: the integral over z of the product of `f(a z + b r + c)`, by (a, b, c, f)."""
        lines = sorted(
            {((t - c) / a, -b / a) for a, b, c, function in shapes for t in function.cuts}
        )
        cuts = sorted({(p[0] - q[0]) / (q[1] - p[1]) for p in lines for q in lines if p[1] != q[1]})
        parts: list[Terms] = []
        for r in _inside(cuts):
            tick()
            ordered = sorted(lines, key=lambda line: line[0] + line[1] * r)
            heights = [line[0] + line[1] * r for line in ordered]
            sums: dict[Term, Fraction] = {}
            for i, z in enumerate(_inside(heights)):
                product: Plane = {(0, 0, ZERO, ZERO, ZERO): ONE}
                for a, b, c, function in shapes:
                    part = _part(function, a * z + b * r + c)
                    product = self._product(product, _composed(part, a, b, c)) if part else {}
                    if not product:
                        break
                if not product:
                    continue
                lower = ordered[i - 1] if i > 0 else None
                upper = ordered[i] if i < len(ordered) else None
                _integral(product, lower, upper, sums)
            parts.append(tuple(sorted((t, c) for t, c in sums.items() if c)))
        return _joined(cuts, parts)

    def _product(self, left: Plane, right: Plane) -> Plane:
        made: Plane = {}
        self._terms += len(left) * len(right)
        if self._terms > 100 * MAX_TERMS or len(left) * len(right) > MAX_TERMS:
            raise CertificateError("an integral with too many terms")
        for (i, j, a, b, q), c in left.items():
            tick()
            for (k, m, d, e, p), f in right.items():
                key = (i + k, j + m, a + d, b + e, q + p)
                made[key] = made.get(key, ZERO) + c * f
        return {key: c for key, c in made.items() if c}


def enclosure(total: Sum, bits: int = 96) -> tuple[Fraction, Fraction]:
    """Rational bounds of a sum of c e^q."""
    low = high = ZERO
    for q, c in total.items():
        below, above = exp_bounds(q, bits) if q else (ONE, ONE)
        low += c * (below if c > 0 else above)
        high += c * (above if c > 0 else below)
    return low, high


def _times(left: Sum, right: Sum) -> Sum:
    made: Sum = {}
    for q, c in left.items():
        for p, d in right.items():
            made[q + p] = made.get(q + p, ZERO) + c * d
    return {q: c for q, c in made.items() if c}


def _coefficient(form: Form, z: int) -> Fraction:
    return next((c for i, c in form.terms if i == z), ZERO)


def _direction(forms: list[Form], z: int) -> Form | None:
    """The one form, but for a factor, that z shares its forms with; None if there are several."""
    found = Form(ZERO, ())
    for form in forms:
        rest = [(i, c) for i, c in form.terms if i != z]
        if not rest:
            continue
        unit = scaled(make(ZERO, rest), 1 / rest[0][1])
        assert isinstance(unit, Form)  # noqa: S101 - a multiple of a form that is not constant
        if found.terms and unit != found:
            return None
        found = unit
    return found


def _inside(cuts: list[Fraction]) -> list[Fraction]:
    """A point in each of the intervals that sorted cuts leave; None of them where two are equal."""
    if not cuts:
        return [ZERO]
    middles = [(a + b) / 2 for a, b in pairwise(cuts)]
    return [cuts[0] - 1, *middles, cuts[-1] + 1]


def _part(function: Piecewise, at: Fraction) -> Terms:
    for cut, part in zip(function.cuts, function.parts, strict=False):
        if at < cut:
            return part
    return function.parts[-1]


def _composed(part: Terms, a: Fraction, b: Fraction, c: Fraction) -> Plane:
    """A part at s = a z + b r + c."""
    made: Plane = {}
    for (k, rate, q), factor in part:
        tick()
        for i in range(k + 1):
            for j in range(k - i + 1):
                value = factor * comb(k, i) * comb(k - i, j) * a**i * b**j * c ** (k - i - j)
                if value:
                    key = (i, j, rate * a, rate * b, q + rate * c)
                    made[key] = made.get(key, ZERO) + value
    return made


def _integral(
    product: Plane,
    lower: tuple[Fraction, Fraction] | None,
    upper: tuple[Fraction, Fraction] | None,
    sums: dict[Term, Fraction],
) -> None:
    """Add the integral over z between two lines `z = alpha + beta r` (None: without end)."""
    for (i, j, a, b, q), c in product.items():
        tick()
        for power, weight in _antiderivative(i, a):
            for line, sign in ((upper, 1), (lower, -1)):
                if line is None:
                    if (a >= 0) if sign > 0 else (a <= 0):
                        raise CertificateError("an integral without a bound")
                    continue
                alpha, beta = line
                for k in range(power + 1):
                    value = sign * c * weight * comb(power, k) * beta**k * alpha ** (power - k)
                    if value:
                        key = (j + k, b + a * beta, q + a * alpha)
                        sums[key] = sums.get(key, ZERO) + value


def _antiderivative(k: int, rate: Fraction) -> list[tuple[int, Fraction]]:
    """The (power, weight) of an integral of z^k e^(rate z), each times e^(rate z)."""
    if rate == 0:
        return [(k + 1, Fraction(1, k + 1))]
    return [
        (k - i, Fraction((-1) ** i * factorial(k), factorial(k - i)) / rate ** (i + 1))
        for i in range(k + 1)
    ]


def _joined(cuts: list[Fraction], parts: list[Terms]) -> Piecewise:
    """The same function without cuts between equal parts."""
    kept_cuts: list[Fraction] = []
    kept = [parts[0]]
    for cut, part in zip(cuts, parts[1:], strict=True):
        if part != kept[-1]:
            kept_cuts.append(cut)
            kept.append(part)
    return Piecewise(tuple(kept_cuts), tuple(kept))
