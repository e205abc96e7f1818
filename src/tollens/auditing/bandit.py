"""Many pairs of inputs under one wealth: which pair to run next is chosen from the past.

Every pair that is run has a gambler of its own, who at first only looks. Once the estimates say
that a bet would gain, the pair gets a *stake*, a share of the starting wealth: the k-th pair to
get one gets w_k = 1/(2 k (k + 1)) + 1/(2 N) of it, of N pairs, and what no pair has got is kept
as it is. The shares sum to at most 1, so the wealth

    sum over staked pairs of w_k W_k  +  what is kept

is a nonnegative supermartingale where the claim holds on every pair: pairs, stakes and bets are
chosen before the runs that they concern. It refutes at 1/alpha like that of a single pair, with no
further correction for having searched. One pair alone has the whole stake from the start.

Which pair comes next: a universal search (Levin 1973) with evidence. The i-th pair of the relation
has the prior weight 1/i, mixed with an equal weight for all: likely worst pairs come first, but the
order may be wrong. A pair is worth its prior times e^L, where L is what its best bet would have
gained on its past runs, less what it learned from them; the next runs go to the pair that has had
the fewest for its worth, a pair that was never run among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.notes import Constant, Notes
from tollens.auditing.product import Ratio, pairs_a_round
from tollens.auditing.sequential import Gambler
from tollens.auditing.witnesses import Shown
from tollens.evidence import Wealth
from tollens.neighbours import Pair
from tollens.outputs import Encoder, Outputs
from tollens.relations import Relation
from tollens.tally import Tally

Array = NDArray[np.float64]

EQUAL = 1 / 4
"""The part of the prior that is equal for all pairs, whatever their order."""

BACKED = 1.0
"""Log wealth that a pair must seem to gain on its past runs before it gets a stake."""

_MOST_EVIDENCE = 30.0
_LOOKED_AT = 8
"""Pairs, the richest ones, whose lower bounds for the leak are worked out."""


def stake(k: int, pairs: int) -> float:
    """The share of the k-th pair (from 1) to get one, of so many pairs.

    >>> stake(1, 1), stake(1, 100), sum(stake(k, 100) for k in range(1, 101)) <= 1
    (1.0, 0.255, True)
    """
    return 1.0 if pairs == 1 else 0.5 / (k * (k + 1)) + 0.5 / pairs


def prior(pairs: int) -> Array:
    """The weights of pairs before anything was seen, (pairs,): 1/i, mixed with equal weights.

    >>> prior(4).round(3).tolist()
    [0.88, 0.505, 0.38, 0.318]
    """
    by_order = 1.0 / np.arange(1, pairs + 1)
    return np.asarray((1 - EQUAL) * by_order + EQUAL * by_order.mean())


class Bandit:
    """Bets against one claim on the pairs of a relation; what `Gambler` is for one pair.

    The next runs are to be made on `next_pair`, coupled or not as `next_coupled` says, and given
    to `update`. The result does not depend on how the runs are cut into pieces.
    """

    def __init__(
        self,
        relation: Relation,
        gambler: Callable[[Encoder, float], Gambler],
        witness: Callable[[object], bool] | None = None,
        *,
        outputs: str = "numeric",
    ) -> None:
        """`gambler` makes a gambler that shares an encoder, with a share of the wealth.

        `witness` is an event that was given beforehand; the encoder marks outputs by it.
        `outputs` says what is looked at: "numeric", "exact" (the bits of numbers too), or "timed".
        """
        self.relation = relation
        self._outputs = outputs
        self.encoder = Encoder(witness, exact=outputs == "exact")
        self.notes = Notes()
        self.pairs = 0
        self.crossed_at: int | None = None
        self._prior = prior(len(relation))
        self._make = gambler
        self._gamblers: list[Gambler] = []
        self._inputs: list[Pair] = []
        self._staked: list[int] = []
        self._log_stakes: list[float] = []
        self._log_values: list[float] = []
        self._growth = np.zeros(0)
        self._crossed_value = -math.inf
        self._winner: int | None = None
        self._arm = self._open()
        if len(relation) == 1:
            self._back(0)
        first = self._gamblers[0]
        self.claim, self.method, self.alpha = first.claim, first.method, first.alpha
        self.coupling, self.delta, self.burn_in = first.coupling, first.delta, first.burn_in
        self.threshold = first.bankroll.threshold

    @property
    def next_pair(self) -> Pair:
        """The pair of inputs to run next."""
        return self._inputs[self._arm]

    @property
    def next_coupled(self) -> bool:
        """Whether the next runs are to share their draws."""
        return self._gamblers[self._arm].next_coupled

    def until_next_bet(self) -> int:
        """The number of pairs of runs for which this choice of inputs and its bets stand."""
        return self._gamblers[self._arm].until_next_bet()

    @property
    def next_ratio(self) -> Ratio:
        """The numbers of runs on x and on x' that make the next rounds."""
        return self._gamblers[self._arm].next_ratio

    def update(self, x: Outputs, y: Outputs) -> None:
        """Score rounds of runs on the chosen inputs, in their order, choosing between bets."""
        while len(x):
            n, m = self.next_ratio
            rounds = min(len(x) // n, self.until_next_bet() // pairs_a_round((n, m)))
            if not rounds:
                raise AssertionError(f"runs must come in rounds of {n} on x and {m} on x'")
            self._score(x[: rounds * n], y[: rounds * m])
            x, y = x[rounds * n :], y[rounds * m :]

    def _score(self, x: Outputs, y: Outputs) -> None:
        """Pay the bets on the chosen inputs; once they have been made anew, choose again."""
        arm, gambler = self._arm, self._gamblers[self._arm]
        before = gambler.pairs
        if arm in self._staked and self.crossed_at is None:
            k = self._staked.index(arm)
            others = self._log_wealth(without=k)
            room = math.log1p(-math.exp(min(others - self.threshold, -1e-300)))
            gambler.bankroll.threshold = self.threshold + room - self._log_stakes[k]
            gambler.update(x, y)
            crossed = gambler.bankroll.crossed_at
            if crossed is not None:
                self.crossed_at, self._winner = self.pairs + crossed - before, arm
                own = self._log_stakes[k] + gambler.bankroll.crossed_value
                self._crossed_value = float(np.logaddexp(others, own))
        else:
            gambler.update(x, y)
        if arm in self._staked:
            k = self._staked.index(arm)
            self._log_values[k] = self._log_stakes[k] + gambler.bankroll.log_value
        self.pairs += (len(x) + len(y)) // 2
        self._growth[arm] = gambler.growth
        self.notes.take(x, y, self.pairs, self._log_wealth())
        if gambler.bets_are_new and len(self.relation) > 1:
            self._arm = self._choose()

    def _choose(self) -> int:
        """The inputs to run next, by what is known now."""
        opened = len(self._gamblers)
        runs = np.array([gambler.pairs for gambler in self._gamblers])
        evidence = np.clip(self._growth * runs, -_MOST_EVIDENCE, _MOST_EVIDENCE)
        shares = runs / (self._prior[:opened] * np.exp(evidence))
        arm = int(np.argmin(shares))
        if opened < len(self.relation) and self.burn_in / self._prior[opened] <= shares[arm]:
            return self._open()
        if evidence[arm] >= BACKED and arm not in self._staked:
            self._back(arm)
        return arm

    def _open(self) -> int:
        """Begin to look at the next pair of the relation."""
        number = len(self._gamblers)
        self._inputs.append(self.relation[number])
        self._gamblers.append(self._make(self.encoder, 0.0 if len(self.relation) > 1 else 1.0))
        self._growth = np.append(self._growth, 0.0)
        return number

    def _back(self, arm: int) -> None:
        """Give a pair its stake; it bets from now on."""
        self._staked.append(arm)
        share = stake(len(self._staked), len(self.relation))
        self._log_stakes.append(math.log(share))
        if len(self.relation) > 1:
            self._gamblers[arm].back(share)
        self._log_values.append(math.log(share) + self._gamblers[arm].bankroll.log_value)

    def _log_wealth(self, without: int = -1) -> float:
        """The log of the wealth, without what the k-th stake has become."""
        kept = max(1.0 - sum(map(math.exp, self._log_stakes)), 0.0)
        logs = [math.log(kept) if kept > 1e-12 else -math.inf, *self._log_values]
        if without >= 0:
            del logs[without + 1]
        return float(np.logaddexp.reduce(logs))

    @property
    def refuted(self) -> bool:
        """Whether the wealth has ever reached its threshold."""
        return self.crossed_at is not None

    @property
    def log_e_value(self) -> float:
        """The log wealth now; once refuted, at least what it was when it crossed."""
        return max(self._log_wealth(), self._crossed_value)

    @property
    def _best(self) -> int:
        """The inputs that paid; before that, those that were run most, the first of them."""
        if self._winner is not None:
            return self._winner
        return int(np.argmax([gambler.pairs for gambler in self._gamblers]))

    def _by_wealth(self) -> list[int]:
        """The staked inputs, the richest first."""
        wealth = dict(zip(self._staked, self._log_values, strict=True))
        return sorted(self._staked, key=lambda arm: -wealth[arm])

    @property
    def best_pair(self) -> Pair:
        """The inputs that paid, or that were run most so far."""
        return self._inputs[self._best]

    @property
    def best_number(self) -> int:
        """The place of those inputs in the relation."""
        return self._best

    @property
    def opened(self) -> int:
        """The number of pairs of inputs that were run."""
        return len(self._gamblers)

    @property
    def best_runs(self) -> tuple[int, float]:
        """The pairs of runs made on the best inputs, and the share of alpha of their bets.

        The share is that of the bets which learn what to look at.
        """
        best = self._best
        place = self._staked.index(best) if best in self._staked else len(self._staked)
        learned = self._gamblers[best].learned_share
        return self._gamblers[best].pairs, learned * stake(place + 1, len(self.relation))

    @property
    def constants(self) -> tuple[Constant, Constant]:
        """Whether sides returned one value: on the inputs that paid, or else on all."""
        if self._winner is not None:
            return self._gamblers[self._winner].constants
        return self.notes.constants

    @property
    def epsilon_lower(self) -> float:
        """The certified lower bound for epsilon: the largest over pairs of inputs.

        The k-th staked pair spends w_k of what the bound may spend of alpha, so all hold at once.
        """
        looked_at = self._by_wealth()[:_LOOKED_AT]
        bounds = [self._gamblers[arm].lower(refuted=self.refuted) for arm in looked_at]
        return max(bounds, default=0.0)

    def shown(self) -> Shown | None:
        """The event behind the richest bettor on the inputs that paid."""
        return self._gamblers[self._best].shown()

    def tally(self, shown: Shown | None) -> Tally | None:
        """Where the first outputs of both sides fell, on the inputs that paid."""
        return self._gamblers[self._best].tally(shown)

    def evidence(self, *, at_crossing: bool = False) -> Wealth:
        """What a verdict keeps of the bets: now, or as it was when the claim was refuted."""
        end, value = self.pairs, self.log_e_value
        if at_crossing and self.crossed_at is not None:
            end, value = self.crossed_at, self._crossed_value
        return Wealth(
            log_e_value=value,
            threshold=self.threshold,
            crossed_at=self.crossed_at,
            burn_in=self.burn_in,
            curve=self.notes.curve_to(end, value),
            shares=self._gamblers[self._best].shares(),
            digest=self.notes.digest,
            level=self.alpha,
            method=self.method,
            outputs=self._outputs,
        )
