"""What a series watches, and with which error: fixed for its whole life."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tollens.claim import Claim, claim_from_json, parse_claim
from tollens.errors import UsageError
from tollens.monitoring.events import Event, as_events
from tollens.monitoring.weights import ARL, Horizon, checked_horizon
from tollens.neighbours import Pair
from tollens.serial import to_jsonable

METHODS = ("exact", "brownian")
DEFAULT_DELTA = 1e-5
FEWEST_PAIRS, MOST_PAIRS = 20, 10_000_000

_LONGEST_WAIT = 1e12
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


@dataclass(frozen=True)
class Plan:
    """The settings of a series; others under the same name are another series.

    `delta` is where the leak is stated if the claim has none of its own.
    """

    claim: Claim
    method: str = "exact"
    alpha: float = 0.05
    horizon: Horizon = None
    beta: float = 0.25
    pairs: int = 750
    events: tuple[Event, ...] = field(default=(), compare=False)
    delta: float = DEFAULT_DELTA

    def settings(self, pair: Pair | None) -> dict[str, object]:
        """What identifies the series, as plain JSON."""
        inputs = None if pair is None else {"x": pair.x, "x_prime": pair.x_prime}
        found = {
            "claim": self.claim.to_json(),
            "method": self.method,
            "alpha": self.alpha,
            "horizon": self.horizon,
            "pairs": self.pairs,
            "events": [event.name for event in self.events],
            "delta": self.delta,
            "neighbours": inputs,
        }
        if self.method == "brownian":
            found["beta"] = self.beta
        return {key: to_jsonable(value) for key, value in found.items()}

    def digest(self, pair: Pair | None) -> str:
        """A digest of the settings, equal for equal ones."""
        text = json.dumps(self.settings(pair), sort_keys=True)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def make_plan(
    claim: Claim | str,
    *,
    method: str,
    alpha: float,
    horizon: object,
    beta: float,
    events: object,
    pairs: int,
    delta: float | None,
) -> Plan:
    """A plan that can be kept; `UsageError` lists all that is wrong with it.

    >>> make_plan("epsilon=1", method="brownian", alpha=0.05, horizon=None, beta=0.25, events=None,
    ...           pairs=750, delta=None)
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: 2 problems:
      - method "brownian" needs a horizon: the number of steps for which alpha is to hold
      - method "brownian" needs events: such as events=["output <= 0"]
    """
    findings: list[str] = []
    made: Claim | None = None
    named: tuple[Event, ...] = ()
    try:
        made = parse_claim(claim) if isinstance(claim, str) else claim
        if not isinstance(made, Claim):
            findings.append(f"the claim is a {type(made).__name__}; give one such as pure(1)")
    except UsageError as error:
        findings.extend(error.findings)
    try:
        named = as_events(events)
    except UsageError as error:
        findings.extend(error.findings)
    kept: Horizon = None
    try:
        kept = checked_horizon(horizon)
    except UsageError as error:
        findings.extend(error.findings)
    if method not in METHODS:
        findings.append(f"method is {method!r}; it must be one of {', '.join(METHODS)}")
    if not _real(alpha) or not 0 < alpha < 1:
        findings.append(f"alpha is {alpha}; it must lie strictly between 0 and 1")
    if not _real(beta) or not 0 <= beta < 0.5:
        findings.append(f"beta is {beta}; it must lie in [0, 0.5)")
    if (
        isinstance(pairs, bool)
        or not isinstance(pairs, int)
        or not (FEWEST_PAIRS <= pairs <= MOST_PAIRS)
    ):
        findings.append(
            f"pairs is {str(pairs)[:40]}; use {FEWEST_PAIRS} to {MOST_PAIRS:,} pairs of runs a step"
        )
    if delta is not None and not (_real(delta) and 0 <= delta <= 1):
        findings.append(f"delta is {delta}; it must lie in [0, 1]")
    if method == "brownian":
        if not isinstance(horizon, int):
            findings.append(
                'method "brownian" needs a horizon: the number of steps for which alpha is to hold'
            )
        if events is None or not events:
            findings.append('method "brownian" needs events: such as events=["output <= 0"]')
    if findings or made is None:
        raise UsageError(findings)
    own = made.leak_delta
    at = delta if delta is not None else own if own is not None else DEFAULT_DELTA
    return Plan(made, method, float(alpha), kept, float(beta), pairs, named, float(at))


def plan_from_settings(settings: object) -> Plan:
    """The plan of a stored series; its events are names only."""
    if not isinstance(settings, dict):
        raise UsageError("the settings of a stored series are no object")
    try:
        return Plan(
            claim=claim_from_json(settings["claim"]),
            method=str(settings["method"]),
            alpha=float(settings["alpha"]),
            horizon=checked_horizon(settings["horizon"]),
            beta=float(settings.get("beta", 0.25)),
            pairs=int(settings["pairs"]),
            events=tuple(Event(str(to_jsonable(name))) for name in settings["events"]),
            delta=float(settings["delta"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"the settings of a stored series cannot be read: {error!r}") from None


def seconds_of(text: object) -> float | None:
    """A length of time such as `36h` or `2d` in seconds; numbers are seconds.

    >>> seconds_of("36h"), seconds_of("2 d"), seconds_of(None)
    (129600.0, 172800.0, None)
    """
    if text is None:
        return None
    if _real(text) and 0 < text < _LONGEST_WAIT:  # type: ignore[operator]
        return float(text)  # type: ignore[arg-type]
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", str(text))
    if match is None or float(match[1]) == 0:
        raise UsageError(f"stale_after is {text!r}; write a time such as 36h, 2d or 1w")
    return float(match[1]) * _UNITS[match[2]]


def horizon_words(horizon: Horizon) -> str:
    """For how long alpha holds, in words.

    >>> horizon_words(None), horizon_words(100)
    ('for all time', 'for 100 steps')
    """
    if horizon == ARL:
        return "as 1 over the mean number of steps to a false alarm"
    return "for all time" if horizon is None else f"for {horizon} steps"


def names(events: Sequence[Event]) -> list[str]:
    """The names of events."""
    return [event.name for event in events]


def _real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
