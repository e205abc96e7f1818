"""Evidence: what a verdict rests on, with a check of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tollens.errors import UsageError
from tollens.serial import number_from_json

Json = dict[str, object]


@dataclass(frozen=True)
class Wealth:
    """The wealth of a gambler who bet against the claim; grade "wager".

    `log_e_value` and `threshold` are natural logs, `crossed_at` is the pair at which the wealth
    reached the threshold (None if it did not), `curve` holds (pairs, log wealth) at geometric
    times, `shares` what part of the wealth each kind of bet holds, `digest` a digest of all
    outputs in order, by which two runs are compared, and `level` the part of alpha that these
    bets were given.
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

    def refutes(self, alpha: float) -> bool:
        """Whether the wealth reached 1/alpha, which a true claim allows with probability alpha.

        >>> Wealth(3.1, 3.0, 40, 6, (), {}, "", 0.05).refutes(0.05)
        True
        """
        return (
            self.crossed_at is not None
            and min(self.threshold, self.log_e_value) >= -math.log(alpha) - 1e-9
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
        }


def wealth_from_json(data: object) -> Wealth:
    """The evidence of `Wealth.to_json`; `UsageError` if it is none."""
    if not isinstance(data, dict) or data.get("grade") != "wager":
        raise UsageError('evidence: expected an object with grade "wager"')
    try:
        crossed = data["crossed_at"]
        return Wealth(
            log_e_value=number_from_json(data["log_e_value"], "log_e_value"),
            threshold=number_from_json(data["threshold"], "threshold"),
            crossed_at=None if crossed is None else int(crossed),
            burn_in=int(data["burn_in"]),
            curve=tuple((int(n), number_from_json(w, "curve")) for n, w in data["curve"]),
            shares={str(k): number_from_json(v, "share") for k, v in data["shares"].items()},
            digest=str(data["digest"]),
            level=number_from_json(data["level"], "level"),
            method=str(data["method"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"evidence: not of a wager ({error!r})") from None
