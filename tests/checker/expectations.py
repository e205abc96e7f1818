"""Expectations of witnesses, computed without the checker's integrals, and what claims forbid."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import mpmath
import runs
from scipy.integrate import quad

from tollens.checker.form import Form, groups, plus, scaled  # noqa: F401 - for tests
from tollens.refutation.exact import Exact

F = Fraction


def above(one, x):
    """P(draw > x), in floats."""
    p = [float(q) for q in one.parameters]
    if one.kind == "gauss":
        return math.erfc(x / p[0] / math.sqrt(2)) / 2
    if one.kind == "uniform":
        return min(1.0, max(0.0, (p[1] - x) / (p[1] - p[0])))
    if one.kind == "exponential":
        return min(1.0, math.exp(-x / p[0]))
    return math.exp(-x / p[0]) / 2 if x > 0 else 1 - math.exp(x / p[0]) / 2


def density(one, x):
    p = [float(q) for q in one.parameters]
    if one.kind == "gauss":
        return math.exp(-((x / p[0]) ** 2) / 2) / p[0] / math.sqrt(2 * math.pi)
    if one.kind == "uniform":
        return (p[0] <= x <= p[1]) / (p[1] - p[0])
    if one.kind == "exponential":
        return (x >= 0) * math.exp(-x / p[0]) / p[0]
    return math.exp(-abs(x) / p[0]) / (2 * p[0])


def between(one, sides):
    """P(a z + c >= 0 for all (a, c))."""
    low = max((-c / a for a, c in sides if a > 0), default=-math.inf)
    high = min((-c / a for a, c in sides if a < 0), default=math.inf)
    if low >= high:
        return 0.0
    if high <= 0 and one.kind in ("gauss", "laplace"):  # by its small tails
        low, high = -high, -low
    tail = above(one, high) if high < math.inf else 0.0
    return (1.0 if low == -math.inf else above(one, low)) - tail


def quadrature(draws, constraints, root=0):
    """The probability of constraints along a tree of draws, by an integral for each inner draw."""

    def below(i, came, given):
        """P(the constraints of draw i and of those behind it), given the draw that it came from."""
        own, behind = [], {}
        for c in constraints:
            terms = dict(c.terms)
            if i not in terms:
                continue
            others = [j for j in terms if j not in (i, came)]
            if others:
                behind[others[0]] = True
            elif came in terms:
                own.append((float(terms[i]), float(c.constant) + float(terms[came]) * given))
            elif len(terms) == 1:
                own.append((float(terms[i]), float(c.constant)))
        if not behind:
            return between(draws[i], own)
        size = 30 * max(float(abs(p)) for p in draws[i].parameters)
        low = max((-c / a for a, c in own if a > 0), default=-size)
        high = min((-c / a for a, c in own if a < 0), default=size)
        if draws[i].kind == "uniform":
            a, b = map(float, draws[i].parameters)
            low, high = max(low, a), min(high, b)
        if low >= high:
            return 0.0

        def inside(x):
            found = density(draws[i], x)
            for j in behind:
                found *= below(j, i, x)
            return found

        marks = [m for m in map(float, range(-6, 7)) if low < m < high]
        return quad(inside, low, high, points=marks or None, limit=60, epsabs=1e-9)[0]

    return below(root, None, 0.0)


class Chances:
    """Bounds of the probability of constraints: exact, or by quadrature for normal draws."""

    def __init__(self):
        self._exact = Exact()
        self.of = lru_cache(None)(self._of)

    def _of(self, draws, constraints):
        low, high = F(1), F(1)
        for symbols, forms in groups(constraints):
            names = {i: k for k, i in enumerate(sorted(symbols))}
            own = [draws[i] for i in names]
            moved = [Form(f.constant, tuple((names[i], c) for i, c in f.terms)) for f in forms]
            if any(draw.kind == "gauss" for draw in own):
                value = quadrature(own, moved)
                room = 1e-7 * value + (1e-10 if len(own) > 1 else 0.0)
                low, high = low * F(max(0.0, value - room)), high * F(value + room)
            else:
                a, b = self._exact.probability(own, moved).enclosure(150)
                low, high = low * max(a, F(0)), high * b
        return low, high

    def path(self, path, constraints):
        low = high = F(0)
        a, b = self.of(path.draws, (*path.constraints, *constraints))
        for share, parts in path.spent:
            least, most = path.mass * share * a, path.mass * share * b
            for draws, forms in parts:
                c, d = self.of(draws, tuple(forms))
                least, most = least * c, most * d
            low, high = low + least, high + most
        return low, high


def enumerated(real, data, value, draws=40, most=1200):
    """(E[value; ended], what did not end): every way through discrete draws, run by CPython."""
    waiting, found, rest, tried = [((), F(1))], F(0), F(0), 0
    while waiting:
        script, mass = waiting.pop()
        tried += 1
        if tried > most:
            rest += mass
            continue
        split = []

        def source(i, kind, parameters, script=script, split=split):
            if i < len(script):
                return script[i]
            if i >= draws or split:
                raise runs.Cut
            assert kind in ("flip", "discrete"), kind
            chances = [(True, parameters[0]), (False, 1 - parameters[0])]
            split += [(v, F(p)) for v, p in (parameters if kind == "discrete" else chances) if p]
            raise runs.Cut

        output, _ = real.run(data, source)
        if split:
            waiting += [((*script, v), mass * p) for v, p in split]
        elif isinstance(output, BaseException):
            rest += mass
        else:
            found += mass * value(output)
    return found, rest


def raw_moment(draw, k):
    p = draw.parameters
    if draw.kind == "uniform":
        return (p[1] ** (k + 1) - p[0] ** (k + 1)) / (p[1] - p[0]) / (k + 1)
    if draw.kind == "exponential":
        return math.factorial(k) * p[0] ** k
    if k % 2:
        return F(0)
    if draw.kind == "gauss":
        return p[0] ** k * math.factorial(k) / (2 ** (k // 2) * math.factorial(k // 2))
    return math.factorial(k) * p[0] ** k


def mean_power(form, draws, k):
    """E[form^k], one draw after the other."""
    if isinstance(form, F) or not form.terms:
        return (form if isinstance(form, F) else form.constant) ** k
    (i, c), rest = form.terms[0], Form(form.constant, form.terms[1:])
    return sum(
        math.comb(k, j) * c**j * raw_moment(draws[i], j) * mean_power(rest, draws, k - j)
        for j in range(k + 1)
    )


def quantity(text):
    """A parameter of a claim, in many digits."""
    number = F(text.removeprefix("ln "))
    found = mpmath.mpf(number.numerator) / number.denominator
    return mpmath.log(found) if text.startswith("ln ") else found


def contradicts(claim, hint, lower, upper):
    """Whether E f >= lower on one side and E f <= upper on the other break a claim."""
    with mpmath.workdps(80):
        p, q = (mpmath.mpf(x.numerator) / x.denominator for x in (lower, upper))
        numbers = {k: quantity(v) for k, v in claim.items() if k not in ("kind", "ordered")}
        kind = claim["kind"]
        if kind in ("pure", "approx"):
            return p > mpmath.exp(numbers["epsilon"]) * q + numbers.get("delta", 0)
        if q == 0:
            return p > 0
        if kind == "gaussian":
            z = quantity(hint)
            return mpmath.ncdf(z) >= q and p > mpmath.ncdf(z + numbers["mu"])
        a = quantity(hint) if kind == "zcdp" else numbers["order"]
        bound = numbers["rho"] * a if kind == "zcdp" else numbers["epsilon"]
        if not p > q or not a > 1 or p > 1:
            return False
        power = p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)
        return mpmath.log(power) > (a - 1) * bound
