"""What certificates prove: read from anywhere, gone through by the checker, said in words."""

from __future__ import annotations

import functools
import html
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
from tollens.errors import CertificateError
from tollens.event import exact_words
from tollens.exact import claim_words
from tollens.rounding import exact_down
from tollens.serial import parse_json
from tollens.witness import ProvedWitness
from tollens.witness_words import witness_words

Json = dict[str, object]

MEANING = "ideal reals with exact rational literals (0.1 is 1/10); not floating point"
"""What the text of a program means in a proof, printed with each."""

_REMEMBERED = 64


@dataclass(frozen=True)
class Verified:
    """What a certificate proves; it exists only where the checker has confirmed it.

    `claim` and `relation` are texts, `program` is the text that the proof is about and `mechanism`
    the name of its function. On `x` and `x_prime`, in exact form, the `witness` has the bounds that
    it states. `epsilon` is the proved lower bound, at the delta of the claim (None: no epsilon,
    however large, holds). `document` is the certificate.
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
    document: Json = field(repr=False)

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
            ("proof", proof_words(self.engine)),
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
            "schema": _AROUND[1],
            "claim": self.claim,
            "mechanism": self.mechanism,
            "grade": "proof",
            "engine": self.engine,
            "witness": self.witness.to_json(),
            "epsilon": "Infinity" if self.epsilon is None else str(self.epsilon),
            "neighbours": {
                "x": documents.plain(self.x),
                "x_prime": documents.plain(self.x_prime),
                "relation": self.relation,
            },
            "program": {"name": self.mechanism, "text": self.program, "digest": self.digest},
            "certificate": self.document,
        }

    def to_json(self) -> str:
        """One JSON document, which `verify` reads too."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Verified:
        """What the certificate in the text proves, checked anew: `verify` of the text."""
        return verify(text)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def verify(certificate: object) -> Verified:
    """Check a certificate by itself: exact arithmetic on the program's text, nothing is run.

    `certificate` is a path, a JSON text, the object that JSON gives, a `Certificate`, or a verdict
    with one (as object or as JSON). Only the Python standard library does the work.

    Raises `CertificateError` with the first fault found where it proves nothing, and where it is
    too large to look at.
    """
    known = getattr(getattr(certificate, "evidence", certificate), "verified", None)
    return known if isinstance(known, Verified) else checked(read_document(certificate))


def read_document(given: object) -> Json:
    """The certificate as JSON data, from a path, a text, an object or a verdict; unchecked."""
    if isinstance(given, Path):
        return _parsed(_file(given))
    if isinstance(given, str):
        is_json = given.lstrip()[:1] in ("{", "[", "")
        return _parsed(given if is_json else _file(Path(given)))
    if isinstance(given, Mapping):
        return _proof_in(dict(given))
    if hasattr(given, "evidence") or hasattr(given, "refutes"):
        raise CertificateError(_NO_PROOF)
    raise CertificateError(
        f"a {type(given).__name__} is no certificate; give a path, a JSON text or its object"
    )


def checked(document: Json) -> Verified:
    """What the checker confirms of a certificate, `CertificateError` if that is nothing."""
    try:
        text = json.dumps(document, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise CertificateError("not a certificate: it is no JSON") from None
    return _checked(text)


def leak_words(epsilon: Fraction | None) -> str:
    """A proved bound in words; None is infinity.

    >>> leak_words(Fraction(3, 2))
    'epsilon >= 1.5, proved'
    """
    if epsilon is None:
        return "no epsilon, however large, holds: proved"
    return f"epsilon >= {exact_down(max(epsilon, Fraction(0)))}, proved"


def proof_words(engine: str) -> str:
    """What a proof is worth, in words."""
    return f"a proof by the engine {engine}, confirmed in rational arithmetic by the checker"


_AROUND = ("tollens/verdict/1", "tollens/verified/1")
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
        document=document,
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
    """The object of a JSON text, or the certificate in one of the documents that hold one."""
    if any(f'"{schema}"' in text for schema in _AROUND):
        data = parse_json(text, "the certificate")
        return _proof_in(data) if isinstance(data, dict) else {}
    try:
        return documents.parse(text)
    except Fault as fault:
        raise CertificateError(str(fault)) from None


def _proof_in(data: Json) -> Json:
    """The certificate in the data of a verdict or of what was verified; other data as they are."""
    if data.get("schema") not in _AROUND:
        return data
    around = data.get("evidence") if data["schema"] == _AROUND[0] else data
    document = around.get("certificate") if isinstance(around, dict) else None
    if not isinstance(document, dict):
        raise CertificateError(_NO_PROOF)
    return document


def _float_below(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)
