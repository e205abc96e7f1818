"""Proofs as evidence: certificates that the checker has confirmed, and searches that found none."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tollens.errors import UsageError
from tollens.serial import number_from_json
from tollens.verified import Verified, checked, proof_words

Json = dict[str, object]


@dataclass(frozen=True)
class Certificate:
    """A proof that a claim is false; grade "proof".

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
        object.__setattr__(self, "verified", checked(self.document))

    @property
    def grade(self) -> str:
        """The kind: there is no lower one, as the checker redoes every proof in rationals."""
        return "proof"

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
        return proof_words(self.method)

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
