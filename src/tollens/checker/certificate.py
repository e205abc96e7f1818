"""Certificates: what a refutation says, and the check of all of it.

A certificate names a program by its text, a claim, two neighbouring inputs, a witness and two
bounds. The check reads the program anew, computes both expectations of the witness from it, and
compares: nothing that a certificate says about its own proof is believed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tollens.checker import claims, documents, events, martingale, moments, relations
from tollens.checker.clock import within
from tollens.checker.compiling import compile_text
from tollens.checker.errors import CertificateError, Refused
from tollens.checker.program import Program

SCHEMA = "tollens/certificate/1"
SECONDS = 60.0

_KEYS = (
    "schema", "engine", "program", "claim", "relation", "x", "x_prime", "likely_under", "witness",
    "proof", "hint", "lower", "upper", "epsilon",
)  # fmt: skip
Check = Callable[[Program, object, object, object, object, float], tuple[Fraction, Fraction]]
_KINDS: dict[str, Check] = {
    "events": events.bounds,
    "balls": events.bounds,
    "moments": moments.bounds,
    "martingale": martingale.bounds,
}


@dataclass(frozen=True, slots=True)
class Verified:
    """What a valid certificate proves, exactly.

    The witness has an expectation of at least `lower` on the input named by `likely_under` and of
    at most `upper` on the other, which the claim forbids; `epsilon` (None: infinite) is a lower
    bound for the epsilon that holds at the claim's delta.
    """

    program: str
    claim: dict[str, object]
    relation: str
    x: object
    x_prime: object
    likely_under: str
    engine: str
    lower: Fraction
    upper: Fraction
    epsilon: Fraction | None

    def lines(self) -> tuple[str, ...]:
        """The statement in words, a line each."""
        likely, other = ("x", "x'") if self.likely_under == "x" else ("x'", "x")
        shown = "infinity" if self.epsilon is None else _decimal(self.epsilon, up=False)
        parameters = ", ".join(f"{k}={v}" for k, v in self.claim.items() if k not in _UNSAID)
        return (
            f"{self.program} breaks {parameters}",
            f"x = {_data(self.x)}, x' = {_data(self.x_prime)} (neighbours: {self.relation})",
            f"the witness has expectation >= {_decimal(self.lower, up=False)} on {likely}",
            f"and <= {_decimal(self.upper, up=True)} on {other}",
            f"epsilon >= {shown}, in exact arithmetic over the reals",
        )


_UNSAID = ("kind", "ordered")


def verify(certificate: str | Path | dict[str, object], *, seconds: float = SECONDS) -> Verified:
    """Check a certificate: a path, a JSON text, or its object.

    Raises `CertificateError` with the first fault if it proves nothing.
    """
    data = documents.parse(_read(certificate))
    given = documents.entries(data, "the certificate", allowed=_KEYS)
    try:
        with within(seconds):
            return _verified(given, seconds)
    except Refused as refusal:
        raise CertificateError(f"the program: {refusal}") from None
    except RecursionError:
        raise CertificateError("the certificate is nested too deeply") from None


def _verified(given: dict[str, object], seconds: float) -> Verified:
    if given["schema"] != SCHEMA:
        raise CertificateError(f"the schema is not {SCHEMA}")
    engine = documents.text(given["engine"], "engine")
    if engine not in _KINDS:
        raise CertificateError(f"the engine is none of {', '.join(_KINDS)}")
    claim = claims.read_claim(given["claim"])
    x = documents.value(given["x"], "x")
    x_prime = documents.value(given["x_prime"], "x_prime")
    relations.check(given["relation"], x, x_prime)
    side = given["likely_under"]
    if side not in ("x", "x_prime") or (claim.ordered and side != "x"):
        raise CertificateError("likely_under is not a side that the claim binds")
    likely, other = (x, x_prime) if side == "x" else (x_prime, x)
    lower = documents.rational(given["lower"], "lower")
    upper = documents.rational(given["upper"], "upper")
    witness = given["witness"]
    unit = engine in ("events", "balls") or (
        isinstance(witness, dict) and witness.get("unit") is True
    )
    claims.contradict(claim, given["hint"], lower, upper, unit)
    claims.certified(claim, given["epsilon"], lower, upper)
    program, name = _program(given["program"])
    low, high = _KINDS[engine](program, likely, other, witness, given["proof"], seconds)
    if low < lower:
        raise CertificateError("the witness has no expectation as large as the lower bound")
    if high > upper:
        raise CertificateError("the witness may have a larger expectation than the upper bound")
    epsilon = given["epsilon"]
    relation = given["relation"]
    assert isinstance(relation, dict) and isinstance(given["claim"], dict)  # noqa: S101 - checked
    return Verified(
        name, given["claim"], str(relation["kind"]), x, x_prime, side, engine, lower, upper,
        None if epsilon == "Infinity" else documents.rational(epsilon, "epsilon"),
    )  # fmt: skip


def _read(certificate: str | Path | dict[str, object]) -> str:
    if isinstance(certificate, dict):
        import json

        try:
            return json.dumps(certificate)
        except (TypeError, ValueError, RecursionError):
            raise CertificateError("the certificate is no JSON") from None
    if isinstance(certificate, str) and certificate.lstrip().startswith("{"):
        return certificate
    try:
        with Path(certificate).open("rb") as file:
            found = file.read(documents.MAX_BYTES + 1)
        if len(found) > documents.MAX_BYTES:
            raise CertificateError(f"the certificate has more than {documents.MAX_BYTES} bytes")
        return found.decode()
    except (OSError, ValueError) as error:
        raise CertificateError(f"the certificate cannot be read: {error}") from None


def _program(data: object) -> tuple[Program, str]:
    given = documents.entries(data, "the program", allowed=("text", "name", "digest", "canonical"))
    written = documents.text(given["text"], "the text of the program")
    name = documents.text(given["name"], "the name of the program")
    encoded = written.encode(errors="surrogatepass")
    if hashlib.sha256(encoded).hexdigest() != given["digest"]:
        raise CertificateError("the digest is not that of the program's text")
    program = compile_text(written, name)
    if program.digest() != given["canonical"]:
        raise CertificateError("the canonical digest is not that of the program")
    return program, name


def _decimal(value: Fraction, *, up: bool) -> str:
    """Six significant digits, rounded on the safe side."""
    if value == 0:
        return "0"
    shift = 0
    size = abs(value)
    while size < 100_000 and shift < 400:
        size, shift = size * 10, shift + 1
    scaled = value * 10**shift
    digits = -((-scaled) // 1) if up else scaled // 1
    whole = Fraction(int(digits), 10**shift)
    if shift <= 12:
        left, right = divmod(abs(whole.numerator) * 10**shift // whole.denominator, 10**shift)
        sign = "-" if whole < 0 else ""
        return (
            f"{sign}{left}.{right:0{shift}d}".rstrip("0").rstrip(".") if shift else f"{sign}{left}"
        )
    return f"{int(digits)}e-{shift}"


def _data(value: object) -> str:
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_data, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return repr(value) if isinstance(value, str) else str(value)
