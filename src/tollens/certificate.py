"""Proofs as evidence: certificates that the checker has confirmed, and searches that found none."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from tollens.checker import documents
from tollens.checker.certificate import verify as check
from tollens.checker.enclosures import ln_bounds
from tollens.checker.errors import CertificateError as Fault
from tollens.errors import CertificateError, UsageError
from tollens.event import exact_words
from tollens.exact import claim_words
from tollens.rounding import exact_down
from tollens.serial import number_from_json, parse_json
from tollens.witness import ProvedWitness
from tollens.witness_words import witness_words

Json = dict[str, object]

GRADES = ("proof", "enclosure")
"""What a certificate may be worth: redone in rationals, or only enclosed by them."""

MEANING = "ideal reals with exact rational literals (0.1 is 1/10); not floating point"
"""What the text of a program means in a proof, printed with each."""

_REMEMBERED = 64


@dataclass(frozen=True)
class Verified:
    """What a certificate proves; it exists only where the checker has confirmed it.

    `claim` and `relation` are texts, `program` is the text that the proof is about and `mechanism`
    the name of its function. On `x` and `x_prime`, in exact form, the `witness` has the bounds that
    it states. `epsilon` is the proved lower bound, at the delta of the claim (None: no epsilon,
    however large, holds).
    """

    claim: str
    mechanism: str
    program: str = field(repr=False)
    digest: str = field(repr=False)
    relation: str
    x: object
    x_prime: object
    witness: ProvedWitness
    engine: str
    epsilon: Fraction | None
    grade: str = "proof"

    def epsilon_at(self, delta: float) -> float:
        """The lower bound for epsilon that the two bounds prove at a delta; may be infinite.

        It is `ln((lower - delta) / upper)`, rounded down, and 0 where that is negative.
        """
        rest, upper = self.witness.lower - Fraction(str(delta)), self.witness.upper
        if rest <= 0:
            return 0.0
        return math.inf if upper == 0 else max(0.0, _float_below(ln_bounds(rest / upper, 96)[0]))

    def lines(self) -> list[tuple[str, str]]:
        """(label, text) pairs that say everything a reviewer needs but the program's text."""
        return [
            ("VERIFIED", f"{self.mechanism} breaks {self.claim}"),
            ("witness", self.witness.text),
            ("bounds", self.witness.bounds()),
            ("leak", leak_words(self.epsilon)),
            ("pair", f"x = {exact_words(self.x)}, x' = {exact_words(self.x_prime)}"),
            ("relation", _RELATIONS.get(self.relation, self.relation)),
            ("proof", grade_words(self.grade, self.engine)),
            ("meaning", MEANING),
            ("program", f"the text below, of SHA-256 {self.digest}; compare it with your own"),
        ]

    def __str__(self) -> str:
        width = max(len(label) for label, _ in self.lines())
        rows = [f"{label:<{width}}  {text}" for label, text in self.lines()]
        return "\n".join([*rows, *(f"    {line}" for line in self.program.split("\n"))])

    def to_dict(self) -> Json:
        """A plain dictionary of schema "tollens/verified/1"; rationals are texts."""
        return {
            "schema": "tollens/verified/1",
            "claim": self.claim,
            "mechanism": self.mechanism,
            "grade": self.grade,
            "engine": self.engine,
            "witness": self.witness.to_json(),
            "epsilon": "Infinity" if self.epsilon is None else str(self.epsilon),
            "neighbours": {
                "x": documents.plain(self.x),
                "x_prime": documents.plain(self.x_prime),
                "relation": self.relation,
            },
            "program": {"name": self.mechanism, "text": self.program, "digest": self.digest},
        }


@dataclass(frozen=True)
class Certificate:
    """A proof that a claim is false; grade "proof", or "enclosure".

    `document` is the certificate itself, as JSON data. The checker goes through it when the object
    is made, so that one which proves nothing cannot be evidence: `CertificateError` says why.

    >>> Certificate({"schema": "tollens/certificate/1"})
    Traceback (most recent call last):
    ...
    tollens.errors.CertificateError: the certificate has no 'claim'
    """

    document: Json = field(repr=False)
    verified: Verified = field(init=False, compare=False)

    def __post_init__(self) -> None:
        try:
            text = json.dumps(self.document, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise CertificateError("not a certificate: it is no JSON") from None
        object.__setattr__(self, "verified", _checked(text))

    @property
    def grade(self) -> str:
        """The kind: "proof", or "enclosure" where the checker cannot redo it in rationals."""
        return self.verified.grade

    @property
    def method(self) -> str:
        """The engine that found it."""
        return self.verified.engine

    @property
    def log_e_value(self) -> float:
        """Infinite: where the claim holds there is no such proof."""
        return math.inf

    def refutes(self, alpha: float) -> bool:
        """True for every alpha: a proof has no error probability."""
        return True

    def words(self, pairs: int) -> str:
        """What it is; no runs were made."""
        return grade_words(self.grade, self.method)

    def to_json(self) -> Json:
        """A plain dictionary with the document in it; rationals are texts."""
        found = self.verified
        return {
            "grade": self.grade,
            "engine": found.engine,
            "lower": str(found.witness.lower),
            "upper": str(found.witness.upper),
            "epsilon": "Infinity" if found.epsilon is None else str(found.epsilon),
            "witness": found.witness.text,
            "certificate": self.document,
        }


@dataclass(frozen=True, slots=True)
class Search:
    """A search for a proof that found none: it shows nothing; grade "search".

    `best_epsilon` is the largest epsilon of any candidate, in floats, and so no bound. `engine` is
    the one that came so far; None where no engine applied.
    """

    best_epsilon: float
    engine: str | None
    grade: str = "search"

    @property
    def method(self) -> str:
        """The engine."""
        return self.engine or "none"

    @property
    def log_e_value(self) -> float:
        """Zero: nothing was shown."""
        return 0.0

    def refutes(self, alpha: float) -> bool:
        """Never.

        >>> Search(2.5, "events").refutes(0.05)
        False
        """
        return False

    def words(self, pairs: int) -> str:
        """What it came to."""
        if self.engine is None or self.best_epsilon <= 0:
            return "no proof was found, and no candidate for one"
        best = "infinite" if math.isinf(self.best_epsilon) else f"about {self.best_epsilon:.4g}"
        return (
            f"no proof was found; the best candidate of the engine {self.engine} has an epsilon "
            f"that is {best} (in floats, not proved)"
        )

    def to_json(self) -> Json:
        """A plain dictionary."""
        return {"grade": self.grade, "engine": self.engine, "best_epsilon": self.best_epsilon}


def verify(certificate: object) -> Verified:
    """Check a certificate by itself: exact arithmetic on the program's text, nothing is run.

    `certificate` is a path, a JSON text, the object that JSON gives, a `Certificate`, or a verdict
    with one (as object or as JSON). Only the Python standard library does the work.

    Raises `CertificateError` with the first fault found where it proves nothing, and where it is
    too large to look at.
    """
    return certificate_of(certificate).verified


def certificate_of(given: object) -> Certificate:
    """The certificate that a path, a text, an object or a verdict holds, checked."""
    given = getattr(given, "evidence", given)  # of a verdict
    if isinstance(given, Certificate):
        return given
    if isinstance(given, Path):
        return Certificate(_parsed(_file(given)))
    if isinstance(given, str):
        is_json = given.lstrip()[:1] in ("{", "[", "")
        return Certificate(_parsed(given if is_json else _file(Path(given))))
    if isinstance(given, Mapping):
        return Certificate(_proof_in(dict(given)))
    if isinstance(getattr(given, "grade", None), str):
        raise CertificateError(_NO_PROOF)
    raise CertificateError(
        f"a {type(given).__name__} is no certificate; give a path, a JSON text or its object"
    )


def certificate_from_json(data: Json) -> Certificate:
    """The evidence of `Certificate.to_json`, checked anew; `UsageError` if it proves nothing."""
    document = data.get("certificate")
    if not isinstance(document, dict):
        raise UsageError("evidence: a proof needs its certificate")
    return Certificate(document)


def search_from_json(data: Json) -> Search:
    """The evidence of `Search.to_json`; `UsageError` if it is none."""
    engine = data.get("engine")
    if engine is not None and not isinstance(engine, str):
        raise UsageError("evidence: the engine of a search is a text or null")
    return Search(number_from_json(data.get("best_epsilon"), "best_epsilon"), engine)


def leak_words(epsilon: Fraction | None) -> str:
    """A proved bound in words; None is infinity.

    >>> leak_words(Fraction(3, 2))
    'epsilon >= 1.5, proved'
    """
    if epsilon is None:
        return "no epsilon, however large, holds: proved"
    return f"epsilon >= {exact_down(max(epsilon, Fraction(0)))}, proved"


def grade_words(grade: str, engine: str) -> str:
    """What a proof is worth, in words."""
    if grade == "enclosure":
        return (
            f"an enclosure by the engine {engine}: its integrals were enclosed by ball arithmetic, "
            "which the checker cannot redo in rationals"
        )
    return f"a proof by the engine {engine}, confirmed in rational arithmetic by the checker"


_NO_PROOF = "the verdict rests on no proof: it has no certificate"
_RELATIONS = {
    "given": "given: that x and x' are neighbours is taken on the word of who claims it",
    "queries": "queries: the answers differ by no more than the certificate says; checked",
    "numbers": "numbers: the two differ by no more than the certificate says; checked",
    "add_remove": "add_remove: one list has one record more; checked",
    "substitute": "substitute: the lists differ in one record; checked",
}


@functools.lru_cache(maxsize=_REMEMBERED)
def _checked(text: str) -> Verified:
    """What the checker confirms of a JSON text, remembered: the same text is checked once."""
    try:
        found = check(text)
        document = documents.parse(text)
    except Fault as fault:
        raise CertificateError(str(fault)) from None
    except Exception as error:
        raise CertificateError(
            f"the certificate cannot be gone through: {type(error).__name__}"
        ) from error
    program = document["program"]
    likely, other = found.lower, found.upper
    witness = document["witness"]
    kind, said = witness_words(witness)
    return Verified(
        claim=claim_words(found.claim),
        mechanism=found.program,
        program=str(program["text"]) if isinstance(program, dict) else "",
        digest=str(program["digest"]) if isinstance(program, dict) else "",
        relation=found.relation,
        x=found.x,
        x_prime=found.x_prime,
        witness=ProvedWitness(said, found.likely_under, likely, other, kind),
        engine=found.engine,
        epsilon=found.epsilon,
        grade=str(getattr(found, "grade", GRADES[0])),
    )


def _file(path: Path) -> str:
    """The text of a file that is not too large."""
    try:
        with path.open("rb") as stream:
            content = stream.read(documents.MAX_BYTES + 1)
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise CertificateError(f"{str(path)[:60]!r} is no path") from None
    if len(content) > documents.MAX_BYTES:
        raise CertificateError(
            f"{path} has more than {documents.MAX_BYTES:,} bytes; no certificate is that large"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise CertificateError(f"{path} is no text in UTF-8") from None


def _parsed(text: str) -> Json:
    """The object of a JSON text, or the certificate in that of a verdict."""
    if '"tollens/verdict/1"' in text:
        data = parse_json(text, "the verdict")
        return _proof_in(data) if isinstance(data, dict) else {}
    try:
        return documents.parse(text)
    except Fault as fault:
        raise CertificateError(str(fault)) from None


def _proof_in(data: Json) -> Json:
    """The certificate in the data of a verdict; other data as they are."""
    if data.get("schema") != "tollens/verdict/1":
        return data
    evidence = data.get("evidence")
    document = evidence.get("certificate") if isinstance(evidence, dict) else None
    if not isinstance(document, dict):
        raise CertificateError(_NO_PROOF)
    return document


def _float_below(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)
