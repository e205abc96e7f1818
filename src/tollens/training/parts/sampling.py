"""Are the batches Poisson samples: bets on their sizes and on the records that two of them share.

With N records, each of them in a batch with probability q, the size of a batch is Binomial(N, q)
whatever went before, and given the sizes a and b of two successive batches the number of records
that both hold is hypergeometric. Each bet below is a probability mass function, fixed before the
batch, divided by the promised one: its expectation is 1. Mixed with fixed weights are products of

* "constant": nineteen times in twenty the size is q N rounded, otherwise as promised;
* "learned": the size is one of those seen before, as often as it was seen, with the weight of one
  batch for the promise (the method of Krichevsky and Trofimov, 1981);
* "rate": the size is Binomial(N, k q), for k on a grid and from each first step on;
* "apart" and "same": two successive batches share no record (records are shuffled and dealt out),
  or as many as they can, mixed with the promise, from each first step on;
* "shared": the number of shared records is learned as the sizes are.

A batch that cannot occur (a record twice, a position outside of the data) is infinite evidence.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

from tollens.errors import UsageError
from tollens.training.parts.part import Level
from tollens.training.parts.reading import Reading
from tollens.training.parts.starts import LateStarts, log_sum

Array = NDArray[np.float64]

RATES = np.array([0.1, 0.25, 0.5, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0])
"""Wrong rates that are bet on, in units of the promised one."""

TRUST = np.array([0.3, 0.9, 0.99])
"""How far the bets on shared records leave the promise behind."""

LOG_WEIGHTS = {
    kind: math.log(eighths / 8.0)
    for kind, eighths in {
        "constant": 1.5, "learned": 1.5, "rate": 2.0, "apart": 1.0, "same": 1.0, "shared": 1.0,
    }.items()
}  # fmt: skip

TELLING = math.log(20.0)
"""Words say nothing is off below this evidence."""

_CONSTANT = 0.95


class Sampling:
    """Evidence that batches are no Poisson samples of `records` records at a rate.

    Sizes and positions of records are looked at where a step tells them. The counts of sizes are
    kept: at most as many as different sizes have been seen.

    >>> sampling = Sampling(records=1797, rate=8 / 1797)
    >>> for step in range(4):
    ...     sampling.update(Reading(batch_size=8))
    >>> round(math.exp(sampling.log_e_value))
    433
    >>> sampling.words()
    'batch sizes are always 8 (shuffled? reseeded?), accounted as Poisson sampling at rate 0.00445'
    """

    name = "sampling"
    assumes = "nothing"

    def __init__(self, records: int, rate: float) -> None:
        """`rate` is the probability q of each record to be in a batch."""
        _check(records, rate)
        self.records, self.rate = records, float(rate)
        self.steps = 0
        self.impossible = ""
        self._usual = round(records * rate)
        self._rates = RATES[RATES * rate < 1.0]
        self._log_rates = np.log(self._rates)
        self._log_rest = np.log1p(-self._rates * rate) - (math.log1p(-rate) if rate < 1 else 0.0)
        self._constant = 0.0
        self._records = 0
        self._sizes, self._shares = Learned(), Learned()
        self._rate = LateStarts(np.full(len(self._rates), -math.log(len(self._rates))))
        self._apart, self._same = (LateStarts(np.log(np.full(len(TRUST), 1 / 3))) for _ in "ab")
        self._last: NDArray[np.intp] | None = None
        self._always_apart = self._always_same = True

    @property
    def log_e_value(self) -> float:
        """The log of the evidence that batches are no Poisson samples."""
        if self.impossible:
            return math.inf
        return log_sum(*self._weighed().values())

    @property
    def level(self) -> Level:
        """A warning where batches are only too small: then the privacy is better than promised."""
        small = self._winner() == "rate" and self._wrong_rate() < 1.0
        return "warning" if small and not self.impossible else "fault"

    def update(self, reading: Reading) -> None:
        """Bet on the size of a batch and on the records that it shares with the last one."""
        self.steps += 1
        records = None
        if reading.records is not None:
            records = np.sort(np.asarray(reading.records, dtype=np.intp).ravel())
        size = reading.batch_size
        if size is None and records is not None:
            size = len(records)
        self.impossible = self.impossible or self._fault(size, records)
        if self.impossible:
            return
        if size is not None:
            self._bet_on_size(int(size))
        if records is not None and self._last is not None:
            shared = len(np.intersect1d(records, self._last, assume_unique=True))
            self._bet_on_shared(shared, len(self._last), len(records))
        self._last = records

    def words(self) -> str:
        """What is off, by the bet that won most."""
        if self.impossible:
            return self.impossible
        if self.log_e_value < TELLING:
            return "batches look like Poisson samples"
        kind = self._winner()
        if kind in ("constant", "learned"):
            return self._words_of_sizes()
        if kind == "rate":
            return self._words_of_rate()
        if kind == "apart":
            often = "never" if self._always_apart else "hardly ever"
            return f"successive batches {often} share a record"
        if kind == "same":
            often = "always" if self._always_same else "nearly always"
            return f"successive batches {often} hold the same records"
        return "successive batches do not share as many records as independent samples do"

    def _words_of_sizes(self) -> str:
        promise = f"accounted as Poisson sampling at rate {self.rate:.3g}"
        size, times = self._sizes.most_frequent()
        if times == self._sizes.total > 2:
            return f"batch sizes are always {size} (shuffled? reseeded?), {promise}"
        if 2 * times > self._sizes.total > 2:
            return (
                f"{times} of {self._sizes.total} batches are of size {size} (shuffled? "
                f"reseeded?), {promise}"
            )
        return f"the sizes of batches do not vary as they should, {promise}"

    def _words_of_rate(self) -> str:
        k = self._wrong_rate()
        mean = self._records / (self.records * self.rate * self._sizes.total)
        off = abs(math.log(max(mean, 1e-300) / k))
        late = self._sizes.total > 20 and off > abs(math.log(k)) / 2.0
        size = f"became about {k:g}" if late else f"are {mean:.2g}"
        size = f"batches {size} times as large as promised"
        return f"{size}: this costs accuracy, not privacy" if k < 1.0 else size

    def _weighed(self) -> dict[str, float]:
        """The logs of the shares of each kind of bet in the evidence."""
        values = {
            "constant": self._constant,
            "learned": self._sizes.log_value,
            "rate": self._rate.log_value,
            "apart": self._apart.log_value,
            "same": self._same.log_value,
            "shared": self._shares.log_value,
        }
        return {kind: LOG_WEIGHTS[kind] + value for kind, value in values.items()}

    def _winner(self) -> str:
        return max(self._weighed().items(), key=lambda item: item[1])[0]

    def _wrong_rate(self) -> float:
        return float(self._rates[int(np.argmax(self._rate.log_wealth))])

    def _fault(self, size: int | None, records: NDArray[np.intp] | None) -> str:
        """What no Poisson sample can be; nothing if it can."""
        if records is not None and len(records):
            outside = records[0] if records[0] < 0 else records[-1]
            if not 0 <= outside < self.records:
                return f"a batch held record {outside} of {self.records} (counted from 0)"
            if np.any(records[1:] == records[:-1]):
                return "a batch held a record twice, which Poisson sampling cannot"
        if size is not None and not math.isfinite(log_binomial(size, self.records, self.rate)):
            return f"a batch held {size} of {self.records} records at rate {self.rate:.3g}"
        return ""

    def _bet_on_size(self, size: int) -> None:
        promised = log_binomial(size, self.records, self.rate)
        rest = self.records - size
        self._records += size
        self._constant += _trusting(size == self._usual, promised, _CONSTANT)
        self._sizes.pay(size, promised)
        self._rate.pay(size * self._log_rates + (rest * self._log_rest if rest else 0.0))

    def _bet_on_shared(self, shared: int, before: int, now: int) -> None:
        promised = log_hypergeometric(shared, self.records, before, now)
        apart = shared == max(0, before + now - self.records)
        same = shared == min(before, now)
        self._apart.pay(np.array([_trusting(apart, promised, trust) for trust in TRUST]))
        self._same.pay(np.array([_trusting(same, promised, trust) for trust in TRUST]))
        self._shares.pay(shared, promised)
        self._always_apart &= shared == 0
        self._always_same &= same


class Learned:
    """A bet on the numbers seen before, `(count(b) + p(b)) / (t + 1)` against the promised p(b).

    >>> learned = Learned()
    >>> for value in (8, 8, 8):
    ...     learned.pay(value, log_promised=math.log(0.1))
    >>> round(math.exp(learned.log_value), 9)                      # 1 * 11/2 * 21/3
    38.5
    """

    def __init__(self) -> None:
        self.log_value = 0.0
        self.total = 0
        self._counts: Counter[int] = Counter()

    def pay(self, value: int, log_promised: float) -> None:
        """Bet on one number, then learn it."""
        count = self._counts[value]
        seen = math.log(count) - log_promised if count else -math.inf
        self.log_value += log_sum(seen, 0.0) - math.log(self.total + 1)
        self._counts[value] += 1
        self.total += 1

    def most_frequent(self) -> tuple[int, int]:
        """The number seen most often, and how often."""
        return self._counts.most_common(1)[0]


@lru_cache(maxsize=4096)
def log_binomial(size: int, records: int, rate: float) -> float:
    """The log of the probability of a size of a Poisson sample.

    >>> round(math.exp(log_binomial(1, 2, 0.25)), 9), log_binomial(3, 2, 0.25)
    (0.375, -inf)
    """
    if not 0 <= size <= records:
        return -math.inf
    ways = -math.log(records + 1) - float(betaln(size + 1, records - size + 1))
    return ways + float(xlogy(size, rate)) + float(xlog1py(records - size, -rate))


def log_hypergeometric(shared: int, records: int, before: int, now: int) -> float:
    """The log of the probability that samples of two sizes share so many of the records.

    >>> round(math.exp(log_hypergeometric(1, 4, 2, 2)), 9)
    0.666666667
    """
    return (
        _log_ways(before, shared)
        + _log_ways(records - before, now - shared)
        - _log_ways(records, now)
    )


def _log_ways(n: int, k: int) -> float:
    """The log of the binomial coefficient."""
    return -math.log(n + 1) - float(betaln(k + 1, n - k + 1))


def _trusting(hit: bool, log_promised: float, trust: float) -> float:
    """The log return of `trust` times one value plus the rest times the promise."""
    rest = math.log1p(-trust)
    return float(np.logaddexp(rest, math.log(trust) - log_promised)) if hit else rest


def _check(records: object, rate: object) -> None:
    findings = []
    if isinstance(records, bool) or not isinstance(records, int | np.integer) or records < 1:
        findings.append(
            f"records is {records!r}; give the number of records in the data, an integer of at "
            "least 1"
        )
    number = isinstance(rate, int | float | np.number) and not isinstance(rate, bool)
    if not number or not 0.0 < rate <= 1.0:  # type: ignore[operator]
        findings.append(
            f"rate is {rate!r}; give the probability of a record to be in a batch, more than 0 "
            "and at most 1, such as the batch size divided by the number of records"
        )
    if findings:
        raise UsageError(findings)
