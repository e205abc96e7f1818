"""The sequential audit: bet against the claim, pair of runs by pair of runs.

`Audit` is the algorithm, as a stream that the caller feeds; `tollens.auditing.run` feeds it from
a mechanism. The order of things is owned here: cells and bets are fixed at times that depend on
nothing but the number of past pairs, before the pairs that they score are looked at.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import pull_of
from tollens.auditing.leak import LeakBound
from tollens.auditing.lenses import fit_lenses
from tollens.auditing.notes import Constant, Notes
from tollens.auditing.paired import LinearBets
from tollens.auditing.product import ProductBets, Ratio, pairs_a_round
from tollens.auditing.tally import TALLIED, tally_of
from tollens.auditing.ville import Bankroll
from tollens.auditing.witnesses import Shown, linear_witness, product_witness
from tollens.claim import Claim
from tollens.evidence import Wealth
from tollens.outputs import Encoder, Outputs, concatenate
from tollens.streams import SearchStream
from tollens.tally import Tally

Array = NDArray[np.float64]

BURN_IN = 6
"""Pairs that are only looked at, before the first bet."""

REFIT = 1.5
"""Cells are learned anew when the number of pairs has grown by this factor."""

REBET = 1.05
"""Bets are made anew when the number of pairs has grown by this factor."""

MEMORY = 131_072
"""Pairs after which cells stay as they are; from there on only counts are kept."""

MOST_NUMBERS = 2**23
"""Numbers a side that are kept at most: for wide outputs cells stay as they are earlier."""

TRIED, EXPLORED = 10, 0.08
"""Coupled pairs at first, and their least share later, before the better kind is preferred."""

PRODUCT_COST, LINEAR_COST = 3.0, 2.0
"""Log wealth that a kind of bet loses to learning, roughly; measured, see docs/decisions."""

LEAK_SHARE = 1 / 50
"""The part of alpha that pays for the lower bound on the leak; the claim gets the rest."""

DEFAULT_DELTA = 1e-5
"""The delta at which a leak is stated for claims that have none of their own."""

_NEVER = 2**62
_CHUNK = 8192
_COUPLED_CHUNK = 256


class _Part(NamedTuple):
    """Past pairs that came together."""

    x: Outputs
    y: Outputs
    coupled: bool


class Gambler:
    """Bets against one claim on one stream of pairs of runs; the algorithm is `update`.

    Pairs are independent, or *coupled* (run with the same random draws). Which of the two comes
    next is part of the strategy: `next_coupled`. Independent runs may come in rounds of unequal
    numbers of runs on x and on x': `next_ratio`; half of the runs counts as pairs. Everything that
    a bet depends on is a function of the pairs before it: the result does not depend on how the
    stream is cut into pieces.
    """

    method = "projection"
    burn_in = BURN_IN

    def __init__(
        self,
        claim: Claim,
        *,
        alpha: float,
        delta: float | None,
        seed: int,
        coupling: str = "independent",
        encoder: Encoder | None = None,
        share: float = 1.0,
        unequal: bool = False,
        given: str | None = None,
        exact: bool = False,
    ) -> None:
        """A gambler with `share` of the starting wealth; one without any only looks.

        `unequal` allows rounds of unequal numbers of runs. `given` are the words of an event that
        was given beforehand, by which the encoder marks outputs. With `exact` bets may look at the
        bits of numbers.
        """
        self.claim = claim
        self.alpha = alpha
        self.coupling = coupling
        self.promises = claim.promises()
        self.encoder = Encoder(exact=exact) if encoder is None else encoder
        self.pairs = 0
        self.coupled_pairs = 0
        self.next_coupled = coupling != "independent"
        own = claim.leak_delta
        self.delta = delta if delta is not None else own if own is not None else DEFAULT_DELTA
        self.product = ProductBets(
            self.promises, pull=pull_of(claim.support(1.0, 1.0)), unequal=unequal,
            given=given, exact=exact,
        )  # fmt: skip
        self.linear = LinearBets(self.promises)
        self.bankroll = Bankroll(
            self.product.log_weights,
            *(() if coupling == "independent" else (self.linear.log_weights,)),
            threshold=-math.log(alpha * (1 - LEAK_SHARE)),
        )
        self.leak = LeakBound(claim, alpha=alpha, share=LEAK_SHARE, delta=self.delta)
        self.notes = Notes()
        self._share = share
        self._search = SearchStream(seed)
        self._past: list[_Part] = []
        self._drawn = (0, 0)
        self._next_fit = self._next_bet = BURN_IN
        self._bet_at = -1

    @property
    def constants(self) -> tuple[Constant, Constant]:
        """Whether each side returned one and the same value in all runs."""
        return self.notes.constants

    @property
    def refuted(self) -> bool:
        """Whether the wealth has ever reached its threshold."""
        return self.bankroll.crossed_at is not None

    def until_next_bet(self) -> int:
        """The number of pairs that the current bets will still score (at least one round)."""
        return self._next_bet - self.pairs

    @property
    def next_ratio(self) -> Ratio:
        """The numbers of runs on x and on x' that make the next rounds."""
        return (1, 1) if self.next_coupled else self.product.ratio

    def update(self, x: Outputs, y: Outputs) -> None:
        """Score rounds of runs, in their order: bet, look, learn, bet again.

        They must be coupled or not, and in the numbers, that `next_coupled` and `next_ratio` said
        when they were drawn.
        """
        while len(x):
            n, m = self.next_ratio
            longest = _COUPLED_CHUNK if self.next_coupled else _CHUNK
            rounds = min(longest, self.until_next_bet()) // pairs_a_round((n, m))
            rounds = min(rounds, len(x) // n)
            if not rounds or len(y) < rounds * m:
                raise AssertionError(f"runs must come in rounds of {n} on x and {m} on x'")
            self._score_and_count(x[: rounds * n], y[: rounds * m])
            x, y = x[rounds * n :], y[rounds * m :]
            if self.pairs == self._next_bet:
                new_cells = self.pairs >= self._next_fit
                if new_cells:
                    self._learn()
                self._bet(new_cells=new_cells)

    def _score_and_count(self, x: Outputs, y: Outputs) -> None:
        """Pay the standing bets on these rounds, then add the runs to the past."""
        coupled, each = self.next_coupled, pairs_a_round(self.next_ratio)
        pairs = (len(x) + len(y)) // 2
        self.pairs += pairs
        self.coupled_pairs += pairs * coupled
        cells = self.product.cells(x, y) if self.product.ready else None
        joint = self.linear.joint(x, y) if cells is not None and coupled else None
        if cells is None or not self._share:
            self.bankroll.sit_out(pairs)
        elif joint is not None:
            self.bankroll.pay(self.linear.log_returns(joint), group=1)
            self.leak.count_coupled(joint)
        else:
            self.bankroll.pay(self.product.log_returns(*cells), pairs_a_round=each)
            self.leak.count(*cells)
        if cells is not None:
            self.product.count(*cells)
        if joint is not None:
            self.linear.count(joint)
        if self._next_fit < _NEVER:
            self._past.append(self._numbered(x, y, coupled))
        self.notes.take(x, y, self.pairs, self.bankroll.log_value)

    def _numbered(self, x: Outputs, y: Outputs, coupled: bool) -> _Part:
        """These runs with numbers of their draws, which both sides of coupled ones share.

        The numbers do not depend on how the stream is cut: x has even ones, x' odd ones of its own.
        """
        n, m = self._drawn
        first = 2 * (n + np.arange(len(x)))
        second = first if coupled else 2 * (m + np.arange(len(y))) + 1
        self._drawn = n + len(x), m + (0 if coupled else len(y))
        return _Part(replace(x, draws=first), replace(y, draws=second), coupled)

    def _learn(self) -> None:
        """Learn cells, events and their counts from the whole past."""
        x = concatenate([part.x for part in self._past])
        y = concatenate([part.y for part in self._past])
        seen = fit_lenses(x, y, self._search.generator(self.pairs))
        first = not self.product.ready
        self.product.learn(x, y, seen)
        if first:
            self.bankroll.share_out(0, self.product.log_weights)
        if self.coupling != "independent":
            in_x = np.concatenate([np.full(len(part.x), part.coupled) for part in self._past])
            in_y = np.concatenate([np.full(len(part.y), part.coupled) for part in self._past])
            self.linear.learn(x, y, (in_x, in_y), seen)
            if first:
                self.bankroll.share_out(1, self.linear.log_weights)
        grown = max(self.pairs + 1, int(self.pairs * REFIT))
        width = max(1, x.numbers.shape[1])
        self._next_fit = grown if grown <= min(MEMORY, MOST_NUMBERS // width) else _NEVER
        if self._next_fit == _NEVER:
            kept = np.arange(TALLIED)  # an index copies, so the rest is let go
            self._past = [_Part(x[kept[: len(x)]], y[kept[: len(y)]], coupled=False)]

    def _bet(self, *, new_cells: bool) -> None:
        """Fix the bets for the coming pairs, and whether those are to be coupled."""
        self.product.bet()
        if self.coupling != "independent":
            self.linear.bet()
        self.next_coupled = self._prefer_coupled()
        if self.product.experts is not None:
            self.leak.open(
                self.product.experts, self.pairs, new_cells=new_cells, ratio=self.product.ratio
            )
        grown = min(max(self.pairs + 1, int(self.pairs * REBET)), self._next_fit)
        if not self._share and self._next_fit < _NEVER:  # who only looks need not adjust bets
            grown = self._next_fit
        each = pairs_a_round(self.next_ratio)
        self._next_bet = self.pairs + -(-(grown - self.pairs) // each) * each
        self._bet_at = self.pairs

    def back(self, share: float) -> None:
        """Let a gambler who has only looked bet from now on, with `share` of the wealth.

        Its lower bound for the leak gets the same share of alpha.
        """
        self._share = share
        self.leak = LeakBound(
            self.claim, alpha=self.alpha * share, share=LEAK_SHARE, delta=self.delta
        )
        if self.product.experts is not None:
            self.leak.open(
                self.product.experts, self.pairs, new_cells=True, ratio=self.product.ratio
            )

    @property
    def learned_share(self) -> float:
        """The part of the wealth of the bets of `SLOTS`, which are always there."""
        return self.product.learned_share

    @property
    def bets_are_new(self) -> bool:
        """Whether the standing bets have not scored a pair yet."""
        return self.pairs == self._bet_at

    @property
    def growth(self) -> float:
        """The estimated growth of the log wealth for a pair; may be negative."""
        if self.coupling == "independent":
            return self.product.growth
        if self.coupling == "common":
            return self.linear.growth
        return max(self.product.growth, self.linear.growth)

    def _prefer_coupled(self) -> bool:
        """Coupled or independent next, by what would refute sooner if the estimates are right.

        Coupled pairs teach both kinds of bets, so they come first and keep a small share.
        """
        if self.coupling != "auto":
            return self.coupling == "common"
        if self.coupled_pairs < max(TRIED, EXPLORED * self.pairs):
            return True
        missing = max(self.bankroll.threshold - self.bankroll.log_value, 1.0)
        coupled = self.linear.growth / (missing + LINEAR_COST)
        return coupled >= self.product.growth / (missing + PRODUCT_COST)

    @property
    def log_e_value(self) -> float:
        """The log wealth now; once refuted, at least what it was when it crossed."""
        return max(self.bankroll.log_value, self.bankroll.crossed_value)

    @property
    def epsilon_lower(self) -> float:
        """The certified lower bound for epsilon at `delta`."""
        return self.lower(refuted=self.refuted)

    def lower(self, *, refuted: bool) -> float:
        """The certified lower bound, given whether the claim is refuted by whatever pair."""
        return self.leak.lower(pairs=self.pairs, refuted=refuted)

    def shown(self) -> Shown | None:
        """The event behind the richest bettor, of the kind of bet that earned most."""
        if self.coupling != "independent" and self.bankroll.log_of_group(
            1
        ) > self.bankroll.log_of_group(0):
            found = linear_witness(self.linear, self.bankroll.log_shares(1), self.encoder)
            if found is not None:
                return found
        return product_witness(self.product, self.bankroll.log_shares(0), self.encoder)

    def tally(self, shown: Shown | None) -> Tally | None:
        """Where the first outputs of both sides fell, and which of them are in the event."""
        if not self._past:
            return None
        x = concatenate([part.x for part in self._past])[:TALLIED]
        y = concatenate([part.y for part in self._past])[:TALLIED]
        return tally_of(x, y, shown, self.encoder)

    def shares(self) -> dict[str, float]:
        """What part of the wealth each kind of bet has made, for people."""
        found = np.exp(self.bankroll.log_shares(0))
        slots = self.product.slots
        by_slot = found[:-1].reshape(len(slots), -1).sum(axis=1)
        shares = {name: float(share) for name, share in zip(slots, by_slot, strict=True)}
        return {**shares, "favourite": float(found[-1])}

    def evidence(self, *, at_crossing: bool = False) -> Wealth:
        """What a verdict keeps of the bets: now, or as it was when the claim was refuted."""
        end, value = self.pairs, self.log_e_value
        if at_crossing and self.bankroll.crossed_at is not None:
            end, value = self.bankroll.crossed_at, self.bankroll.crossed_value
        return Wealth(
            log_e_value=value,
            threshold=self.bankroll.threshold,
            crossed_at=self.bankroll.crossed_at,
            burn_in=self.burn_in,
            curve=self.notes.curve_to(end, value),
            shares=self.shares(),
            digest=self.notes.digest,
            level=self.alpha,
            method=self.method,
        )
