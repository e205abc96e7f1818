"""Evidence: what a verdict rests on, with a check of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tollens.certificate import (
    Certificate,
    Search,
    certificate_from_json,
    search_from_json,
)
from tollens.errors import UsageError
from tollens.rounding import down, up
from tollens.serial import number_from_json, whole_from_json

Json = dict[str, object]

_COUNTED = {"scores": "pairs of scores", "one-run": "canaries of one run"}


class Evidence(Protocol):
    """What every kind of evidence says; `grade` names the kind."""

    @property
    def grade(self) -> str:
        """The kind: "wager", "watch", "proof" or "search"."""

    @property
    def method(self) -> str:
        """How it was found."""

    @property
    def log_e_value(self) -> float:
        """The natural log of the evidence against the claim."""

    def refutes(self, alpha: float) -> bool:
        """Whether it refutes the claim with error probability alpha."""

    def words(self, pairs: int) -> str:
        """What it came to on so many pairs of runs."""

    def to_json(self) -> Json:
        """A plain dictionary."""


@dataclass(frozen=True)
class Wealth:
    """The wealth of a gambler who bet against the claim; grade "wager".

    `log_e_value` and `threshold` are natural logs, `crossed_at` is the pair at which the wealth
    reached the threshold (None if it did not), `curve` holds (pairs, log wealth) at geometric
    times, `shares` what part of the wealth each kind of bet holds, `digest` a digest of all
    outputs in order, by which two runs are compared, and `level` the part of alpha that these
    bets were given. `outputs` says what was looked at: "exact" with the bits of numbers.
    """

    log_e_value: float
    threshold: float
    crossed_at: int | None
    burn_in: int
    curve: tuple[tuple[int, float], ...] = field(repr=False)
    shares: dict[str, float] = field(repr=False)
    digest: str
    level: float = 1.0
    method: str = "projection"
    grade: str = "wager"
    outputs: str = "numeric"

    def refutes(self, alpha: float) -> bool:
        """Whether the wealth reached 1/alpha, which a true claim allows with probability alpha.

        >>> Wealth(3.1, 3.0, 40, 6, (), {}, "", 0.05).refutes(0.05)
        True
        """
        least = -math.log(alpha) - 1e-9
        crossed = self.crossed_at is not None and self.crossed_at >= 1
        return crossed and self.threshold >= least and self.log_e_value >= least

    def words(self, pairs: int) -> str:
        """What it came to on so many pairs of runs (of scores, or canaries, where those count)."""
        seen = pairs if self.method != "one-run" or not self.curve else self.curve[-1][0]
        return (
            f"wealth x {_times(self.log_e_value)} after {seen:,} "
            f"{_COUNTED.get(self.method, 'pairs of runs')} "
            f"(refuted at x {up(math.exp(min(self.threshold, 700.0)))})"
        )

    def to_json(self) -> Json:
        """A plain dictionary."""
        return {
            "grade": self.grade,
            "method": self.method,
            "log_e_value": self.log_e_value,
            "threshold": self.threshold,
            "crossed_at": self.crossed_at,
            "burn_in": self.burn_in,
            "curve": [list(point) for point in self.curve],
            "shares": dict(self.shares),
            "digest": self.digest,
            "level": self.level,
            **({} if self.outputs == "numeric" else {"outputs": self.outputs}),
        }


@dataclass(frozen=True)
class Alarm:
    """The evidence of a monitor over the versions of a mechanism; grade "watch".

    `log_e_value` and `threshold` are natural logs for the exact method, the statistic and its
    quantile for the Brownian one. `raised_at` is the step that raised the alarm (None: none did),
    `likely`, `earliest` and `latest` the steps between which the claim was broken, `level` the
    part of alpha that it was given.
    """

    log_e_value: float
    threshold: float
    raised_at: int | None
    steps: int
    likely: int | None = None
    earliest: int | None = None
    latest: int | None = None
    version: str | None = None
    version_before: str | None = None
    level: float = 1.0
    method: str = "exact"
    grade: str = "watch"

    def refutes(self, alpha: float) -> bool:
        """Whether an alarm was raised, at a threshold that alpha allows.

        >>> Alarm(4.0, 3.1, 7, 7, level=0.05).refutes(0.05)
        True
        >>> Alarm(2.0, 3.1, None, 7, level=0.05).refutes(0.05)
        False
        """
        least = -math.log(alpha) - 1e-9
        enough = self.threshold >= least if self.method == "exact" else self.method == "brownian"
        known = not math.isnan(self.log_e_value) and not math.isnan(self.threshold)
        raised = self.raised_at is not None and self.raised_at >= 1
        return raised and known and enough and self.level <= alpha * (1 + 1e-9)

    def words(self, pairs: int) -> str:
        """What it came to on so many pairs of runs."""
        raised = "no alarm" if self.raised_at is None else f"alarm at step {self.raised_at}"
        if self.method != "exact":
            return f"{raised}: statistic {self.log_e_value:.3g}, alarm above {self.threshold:.3g}"
        return (
            f"{raised}: x {_times(self.log_e_value)} after {self.steps:,} steps with {pairs:,} "
            f"pairs of runs (alarm at x {up(math.exp(min(self.threshold, 700.0)))})"
        )

    def to_json(self) -> Json:
        """A plain dictionary."""
        return {
            "grade": self.grade,
            "method": self.method,
            "log_e_value": self.log_e_value,
            "threshold": self.threshold,
            "raised_at": self.raised_at,
            "steps": self.steps,
            "likely": self.likely,
            "earliest": self.earliest,
            "latest": self.latest,
            "version": self.version,
            "version_before": self.version_before,
            "level": self.level,
        }


def _times(log_value: float) -> str:
    """exp of a log as a text that does not overflow, rounded down."""
    if log_value < 300:
        return down(math.exp(log_value))
    return f"10^{log_value / math.log(10):.0f}"


AnyEvidence = Wealth | Alarm | Certificate | Search
"""What a verdict may rest on."""


def evidence_from_json(data: object) -> AnyEvidence:
    """The evidence of any kind; `UsageError` if it is none, or a proof that proves nothing."""
    grade = data.get("grade") if isinstance(data, dict) else None
    if isinstance(data, dict) and grade == "watch":
        return _alarm_from_json(data)
    if isinstance(data, dict) and grade == "proof":
        return certificate_from_json(data)
    if isinstance(data, dict) and grade == "search":
        return search_from_json(data)
    return wealth_from_json(data)


def _alarm_from_json(data: dict[str, object]) -> Alarm:
    def optional(name: str, read: Callable[[object, str], int]) -> int | None:
        value = data.get(name)
        return None if value is None else read(value, name)

    def text(name: str) -> str | None:
        value = data.get(name)
        return None if value is None else str(value)

    try:
        return Alarm(
            log_e_value=number_from_json(data["log_e_value"], "log_e_value"),
            threshold=number_from_json(data["threshold"], "threshold"),
            raised_at=optional("raised_at", whole_from_json),
            steps=whole_from_json(data["steps"], "steps"),
            likely=optional("likely", whole_from_json),
            earliest=optional("earliest", whole_from_json),
            latest=optional("latest", whole_from_json),
            version=text("version"),
            version_before=text("version_before"),
            level=number_from_json(data["level"], "level"),
            method=str(data["method"]),
        )
    except KeyError as error:
        raise UsageError(f"evidence: not of a watch ({error!r})") from None


def wealth_from_json(data: object) -> Wealth:
    """The evidence of `Wealth.to_json`; `UsageError` if it is none."""
    if not isinstance(data, dict) or data.get("grade") != "wager":
        raise UsageError('evidence: expected an object with grade "wager"')
    try:
        crossed = data["crossed_at"]
        return Wealth(
            log_e_value=_known(data["log_e_value"], "log_e_value"),
            threshold=_known(data["threshold"], "threshold"),
            crossed_at=None if crossed is None else whole_from_json(crossed, "crossed_at"),
            burn_in=whole_from_json(data["burn_in"], "burn_in"),
            curve=tuple(
                (whole_from_json(n, "curve"), _known(w, "curve")) for n, w in data["curve"]
            ),
            shares={str(k): _known(v, "share") for k, v in data["shares"].items()},
            digest=str(data["digest"]),
            level=_known(data["level"], "level"),
            outputs=str(data.get("outputs", "numeric")),
            method=str(data["method"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"evidence: not of a wager ({error!r})") from None


def _known(value: object, name: str) -> float:
    number = number_from_json(value, name)
    if math.isnan(number):
        raise UsageError(f"{name} is not a number")
    return number
