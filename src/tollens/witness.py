"""Witnesses: a test of outputs and a direction in which its two means break the claim."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tollens.errors import UsageError
from tollens.rounding import exact_down, exact_up
from tollens.serial import fraction_from_json, number_from_json

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Witness:
    """An event that is too likely on one side, as the bets saw it.

    Of kind "event" it is about outputs, of kind "canaries" about the scores of canaries of one run.
    `likely_under` is "x" or "x_prime"; the frequencies are those of all pairs looked at, and
    (`epsilon`, `delta`) is the inequality of the claim that the event speaks against. The
    certified statement is the verdict's, not the difference of these frequencies.

    >>> w = Witness("output <= 0.5", "x_prime", 0.1, 0.4, 1.0, 0.0)
    >>> print(w.describe())
    output <= 0.5: 10.0 % of runs on x, 40.0 % on x'
    """

    text: str
    likely_under: str
    frequency_x: float
    frequency_x_prime: float
    epsilon: float
    delta: float
    kind: str = "event"

    def describe(self) -> str:
        """The event and how often it was seen on both sides."""
        if self.kind == "canaries":
            return (
                f"{self.text}: {_percent(self.frequency_x)} of the canaries that were in, "
                f"{_percent(self.frequency_x_prime)} of those that were out"
            )
        return (
            f"{self.text}: {_percent(self.frequency_x)} of runs on x, "
            f"{_percent(self.frequency_x_prime)} on x'"
        )

    def to_json(self) -> Json:
        """A plain dictionary."""
        return {
            "kind": self.kind,
            "text": self.text,
            "likely_under": self.likely_under,
            "frequency_x": self.frequency_x,
            "frequency_x_prime": self.frequency_x_prime,
            "epsilon": self.epsilon,
            "delta": self.delta,
        }


@dataclass(frozen=True, slots=True)
class ProvedWitness:
    """A test of outputs with proved bounds on its means: nothing was counted.

    `lower` bounds the mean from below on the input `likely_under`, `upper` bounds it from above on
    the other input. The mean of an event is its probability.

    >>> print(ProvedWitness("output > 2", "x", Fraction(3, 4), Fraction(1, 7)).describe())
    output > 2: P is at least 0.75 on x and at most 0.142858 on x'
    """

    text: str
    likely_under: str
    lower: Fraction
    upper: Fraction
    kind: str = "proved event"

    def describe(self) -> str:
        """The test, and what is proved of its means on both sides."""
        return f"{self.text}: {self.bounds()}"

    def bounds(self) -> str:
        """What is proved of the means on both sides, in words."""
        mean = "P" if self.kind == "proved event" else "E f"
        likely, other = ("x", "x'") if self.likely_under == "x" else ("x'", "x")
        low, high = exact_down(self.lower), exact_up(self.upper)
        return f"{mean} is at least {low} on {likely} and at most {high} on {other}"

    def to_json(self) -> Json:
        """A plain dictionary; the bounds are exact texts."""
        return {
            "kind": self.kind,
            "text": self.text,
            "likely_under": self.likely_under,
            "lower": str(self.lower),
            "upper": str(self.upper),
        }


def any_witness_from_json(data: object) -> Witness | ProvedWitness:
    """The witness of `to_json` of either class; `UsageError` if it is none."""
    if isinstance(data, dict) and str(data.get("kind")).startswith("proved"):
        return _proved_from_json(data)
    return witness_from_json(data)


def witness_from_json(data: object) -> Witness:
    """The witness of `Witness.to_json`; `UsageError` if it is none."""
    if not isinstance(data, dict):
        raise UsageError("a witness is a JSON object")
    try:
        return Witness(
            text=str(data["text"]),
            likely_under=str(data["likely_under"]),
            frequency_x=number_from_json(data["frequency_x"], "frequency_x"),
            frequency_x_prime=number_from_json(data["frequency_x_prime"], "frequency_x_prime"),
            epsilon=number_from_json(data["epsilon"], "epsilon"),
            delta=number_from_json(data["delta"], "delta"),
            kind=str(data["kind"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"not a witness: {error!r}") from None


def _proved_from_json(data: Json) -> ProvedWitness:
    try:
        return ProvedWitness(
            text=str(data["text"]),
            likely_under=str(data["likely_under"]),
            lower=fraction_from_json(data["lower"], "lower"),
            upper=fraction_from_json(data["upper"], "upper"),
            kind=str(data["kind"]),
        )
    except KeyError as error:
        raise UsageError(f"not a witness: {error!r}") from None


def _percent(frequency: float) -> str:
    if 0 < frequency < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if 0.999 < frequency < 1 else f"{100 * frequency:.1f} %"
