"""The last inequality: whether two bounds contradict a claim.

With p = E f on the likely side and q = E f on the other, a claim is a convex region of (p, q). The
parameters are rationals or logarithms of rationals; of an irrational e^epsilon an upper bound is
used.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tollens.checker.documents import entries, rational, text
from tollens.checker.enclosures import exp_bounds, ln_bounds, phi_bounds
from tollens.checker.errors import CertificateError

BITS = 128
LARGEST = 1000
ONE = Fraction(1)

_PARAMETERS = {
    "pure": ("epsilon",),
    "approx": ("epsilon", "delta"),
    "gaussian": ("mu",),
    "zcdp": ("rho",),
    "renyi": ("order", "epsilon"),
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A parameter of a claim: a rational, or the logarithm of one."""

    number: Fraction
    logarithm: bool = False

    def upper(self) -> Fraction:
        """A rational that is not below it."""
        return ln_bounds(self.number, BITS)[1] if self.logarithm else self.number

    def exp_upper(self) -> Fraction:
        """A rational that is not below its exponential; that itself for a logarithm.

        >>> read_quantity("ln 3", "epsilon").exp_upper()
        Fraction(3, 1)
        """
        return self.number if self.logarithm else exp_bounds(self.number, BITS)[1]


def read_quantity(data: object, where: str) -> Quantity:
    """A parameter of a claim: "1/2" or "ln 3/2"."""
    written = text(data, where)
    logarithm = written.startswith("ln ")
    number = rational(written.removeprefix("ln "), where)
    if number < int(logarithm):
        raise CertificateError(f"{where} is negative")
    if not logarithm and number > LARGEST:
        raise CertificateError(f"{where} is above {LARGEST}")
    return Quantity(number, logarithm)


@dataclass(frozen=True, slots=True)
class Claim:
    """A promise with exact parameters; `ordered` binds one order of the pair only."""

    kind: str
    parameters: dict[str, Quantity]
    ordered: bool


def read_claim(data: object) -> Claim:
    """The claim of a certificate."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _PARAMETERS:
        raise CertificateError(f"the claim is none of {', '.join(_PARAMETERS)}")
    names = _PARAMETERS[kind]
    given = entries(data, "the claim", allowed=("kind", "ordered", *names))
    if not isinstance(given["ordered"], bool):
        raise CertificateError("ordered is neither true nor false")
    parameters = {name: read_quantity(given[name], name) for name in names}
    if kind == "approx" and parameters["delta"].upper() > 1:
        raise CertificateError("delta is above 1")
    if kind == "renyi" and (parameters["order"].logarithm or parameters["order"].number <= 1):
        raise CertificateError("the order must be a rational above 1")
    return Claim(kind, parameters, given["ordered"])


def contradict(claim: Claim, hint: object, lower: Fraction, upper: Fraction, unit: bool) -> None:
    """Raise `CertificateError` unless p >= lower, q <= upper break the claim.

    `hint` is the number that shows it for curved claims: for "gaussian" a z with Phi(z) >= upper,
    for "zcdp" the order. `unit` says whether the witness has values in [0, 1]; else the claim must
    be pure.
    """
    if lower <= 0 or upper < 0:
        raise CertificateError("the bounds are no expectations that differ")
    if not unit and claim.kind != "pure":
        raise CertificateError("a witness above 1 speaks against pure claims only")
    if (hint is not None) != (claim.kind in ("gaussian", "zcdp") and upper > 0):
        raise CertificateError("the hint does not fit the claim")
    quantities = claim.parameters
    if claim.kind in ("pure", "approx"):
        slack = quantities["delta"].upper() if claim.kind == "approx" else Fraction(0)
        broken = lower > quantities["epsilon"].exp_upper() * upper + slack
    elif upper == 0:
        broken = True
    elif claim.kind == "gaussian":
        z = rational(hint, "the hint")
        if phi_bounds(z, BITS)[0] < upper:
            raise CertificateError("Phi of the hint is below the upper bound")
        broken = lower > phi_bounds(z + quantities["mu"].upper(), BITS)[1]
    else:
        zcdp = claim.kind == "zcdp"
        order = rational(hint, "the hint") if zcdp else quantities["order"].upper()
        if not 1 < order <= 10_000:
            raise CertificateError("the order must lie above 1 and not above 10000")
        bound = quantities["rho"].upper() * order if zcdp else quantities["epsilon"].upper()
        broken = (
            lower > upper
            and _moment(lower, upper, order) > exp_bounds((order - 1) * bound, BITS)[1]
        )
    if not broken:
        raise CertificateError("the two bounds do not contradict the claim")


def _moment(p: Fraction, q: Fraction, order: Fraction) -> Fraction:
    """A lower bound of p^a q^(1-a) + (1-p)^a (1-q)^(1-a), which grows with p and falls with q."""

    def term(top: Fraction, bottom: Fraction) -> Fraction:
        if top == 0:
            return Fraction(0)
        if order.denominator == 1 and order < 64:
            return Fraction(top**order.numerator * bottom ** (1 - order.numerator))
        log = order * ln_bounds(top, BITS)[0] + (1 - order) * ln_bounds(bottom, BITS)[1]
        return exp_bounds(log, BITS)[0]

    if p > 1 or q >= 1:
        raise CertificateError("the bounds are no probabilities")
    return term(p, q) + term(1 - p, 1 - q)


def certified(claim: Claim, epsilon: object, lower: Fraction, upper: Fraction) -> None:
    """Check the stated epsilon: lower >= e^epsilon upper + delta; "Infinity" where upper is 0."""
    slack = claim.parameters["delta"].upper() if claim.kind == "approx" else Fraction(0)
    if epsilon == "Infinity":
        if upper != 0 or lower <= slack:
            raise CertificateError("epsilon is not infinite")
        return
    stated = rational(epsilon, "epsilon")
    if not -1000 <= stated <= 1000 or lower < exp_bounds(stated, BITS)[1] * upper + slack:
        raise CertificateError("epsilon is more than the bounds show")
