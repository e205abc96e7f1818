"""What paths and events weigh, by the exact integrals of the search."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tollens.checker.draws import Draw, Path
from tollens.checker.errors import CertificateError
from tollens.checker.events import ends
from tollens.checker.form import Form, groups
from tollens.checker.patterns import Pattern
from tollens.refutation import balls, quadrature
from tollens.refutation.exact import KINDS, Exact, NotAForest

Bounds = tuple[Fraction, Fraction]

BITS = 90
ONE = Fraction(1)


class NoIntegral(Exception):  # noqa: N818 - the program is not at fault
    """No engine of the search can integrate over these draws; the message says why."""


class Measure:
    """Probabilities as rational bounds; what was integrated once is remembered.

    `normal` says whether normal draws may occur.
    """

    def __init__(self, *, normal: bool = False) -> None:
        self._exact, self.normal = Exact(), normal
        self._known: dict[object, Bounds] = {}

    def path(self, path: Path, patterns: Sequence[Pattern]) -> Bounds:
        """The probability to take a path and to end in an event."""
        low = high = Fraction(0)
        for constraints in ends(path, patterns):
            least, most = self.probability(path.draws, (*path.constraints, *constraints))
            below, above = self.weight(path)
            low, high = low + least * below, high + most * above
        return low, high

    def about(self, path: Path, patterns: Sequence[Pattern]) -> float:
        """As `path`, but in floats where normal draws would take long to enclose."""
        if not any(draw.kind == "gauss" for draw in path.draws):
            return float(self.path(path, patterns)[0])
        total = 0.0
        for constraints in ends(path, patterns):
            try:
                every = (*path.constraints, *constraints)
                chance = quadrature.estimate(path.draws, every, self._exact)
            except (CertificateError, NotAForest):
                chance = 0.0
            if chance == 0:  # unknown, none, or below all floats
                chance = float(self.probability(path.draws, every)[0])
            total += chance * float(self.weight(path)[0])
        return total

    def weight(self, path: Path) -> Bounds:
        """The probability of all draws of a path on which its end does not depend."""
        low = high = Fraction(0)
        for share, spent in path.spent:
            least = most = path.mass * share
            for draws, constraints in spent:
                below, above = self.probability(draws, constraints)
                least, most = least * below, most * above
            low, high = low + least, high + most
        return low, high

    def probability(self, draws: Sequence[Draw], constraints: Sequence[Form]) -> Bounds:
        """P(all constraints >= 0), group by group of draws that depend on each other."""
        low = high = ONE
        for symbols, forms in groups(constraints):
            place = {i: k for k, i in enumerate(sorted(symbols))}
            own = tuple(draws[i] for i in place)
            key = (
                own,
                tuple(
                    Form(form.constant, tuple((place[i], c) for i, c in form.terms))
                    for form in forms
                ),
            )
            if key not in self._known:
                self._known[key] = self._integral(*key)
            low, high = low * self._known[key][0], high * self._known[key][1]
        return low, high

    def _integral(self, draws: tuple[Draw, ...], constraints: tuple[Form, ...]) -> Bounds:
        if any(draw.kind not in KINDS for draw in draws):
            if not self.normal:
                raise NoIntegral("a normal draw has no exact integral")
            try:
                return balls.enclosure(draws, constraints)
            except balls.Hard as error:
                raise NoIntegral(str(error)) from None
        found = self._exact.probability(draws, constraints).enclosure(BITS)
        return max(found[0], Fraction(0)), min(found[1], ONE)
