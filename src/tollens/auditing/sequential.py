"""The sequential audit: bet against the claim, pair of runs by pair of runs.

`Audit` is the algorithm, as a stream that the caller feeds; `tollens.auditing.run` feeds it from
a mechanism. The order of things is owned here: cells and bets are fixed at times that depend on
nothing but the number of past pairs, before the pairs that they score are looked at.
"""

from __future__ import annotations

import hashlib
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import SLOTS, pull_of
from tollens.auditing.leak import LeakBound
from tollens.auditing.paired import LinearBets
from tollens.auditing.product import ProductBets
from tollens.auditing.ville import Bankroll
from tollens.auditing.witnesses import linear_witness, product_witness
from tollens.claim import Claim
from tollens.evidence import Wealth
from tollens.outputs import Encoder, Outputs, concatenate
from tollens.streams import SearchStream
from tollens.witness import Witness

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
_CURVE_GROWTH = 1.05


class _Part(NamedTuple):
    """Past pairs that came together."""

    x: Outputs
    y: Outputs
    coupled: bool


class Gambler:
    """Bets against one claim on one stream of pairs of runs; the algorithm is `update`.

    Pairs are independent, or *coupled* (run with the same random draws). Which of the two comes
    next is part of the strategy: `next_coupled`. Everything that a bet depends on is a function
    of the pairs before it: the result does not depend on how the stream is cut into pieces.
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
    ) -> None:
        self.claim = claim
        self.alpha = alpha
        self.coupling = coupling
        self.promises = claim.promises()
        self.encoder = Encoder()
        self.pairs = 0
        self.coupled_pairs = 0
        self.next_coupled = coupling != "independent"
        own = claim.leak_delta
        self.delta = delta if delta is not None else own if own is not None else DEFAULT_DELTA
        self.product = ProductBets(self.promises, pull=pull_of(claim.support(1.0, 1.0)))
        self.linear = LinearBets(self.promises)
        self.bankroll = Bankroll(
            bettors=self.product.bettors,
            threshold=-math.log(alpha * (1 - LEAK_SHARE)),
            more=() if coupling == "independent" else (self.linear.log_weights,),
        )
        self.leak = LeakBound(claim, alpha=alpha, share=LEAK_SHARE, delta=self.delta)
        self.curve: list[tuple[int, float]] = []
        self.constants = (_Constant(), _Constant())
        self._digests = (hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16))
        self._search = SearchStream(seed)
        self._past: list[_Part] = []
        self._next_fit = self._next_bet = BURN_IN
        self._next_mark = 0.0

    @property
    def refuted(self) -> bool:
        """Whether the wealth has ever reached its threshold."""
        return self.bankroll.crossed_at is not None

    def until_next_bet(self) -> int:
        """The number of pairs that the current bets will still score (at least 1)."""
        return self._next_bet - self.pairs

    def update(self, x: Outputs, y: Outputs) -> None:
        """Score n pairs, in their order: bet, look, learn, bet again.

        The pairs must be coupled or not as `next_coupled` said when they were drawn.
        """
        start = 0
        while start < len(x):
            longest = _COUPLED_CHUNK if self.next_coupled else _CHUNK
            stop = min(len(x), start + self.until_next_bet(), start + longest)
            self._score_and_count(x[start:stop], y[start:stop])
            start = stop
            if self.pairs == self._next_bet:
                new_cells = self.pairs >= self._next_fit
                if new_cells:
                    self._learn()
                self._bet(new_cells=new_cells)

    def _score_and_count(self, x: Outputs, y: Outputs) -> None:
        """Pay the standing bets on these pairs, then add the pairs to the past."""
        coupled = self.next_coupled
        self.pairs += len(x)
        self.coupled_pairs += len(x) * coupled
        if not self.product.ready:
            self.bankroll.sit_out(len(x))
        else:
            cells = self.product.cells(x, y)
            if coupled:
                joint = self.linear.joint(x, y)
                self.bankroll.pay(self.linear.log_returns(joint), group=1)
                self.linear.count(joint)
                self.leak.count_coupled(joint)
            else:
                self.bankroll.pay(self.product.log_returns(*cells))
                self.leak.count(*cells)
            self.product.count(*cells)
        if self._next_fit < _NEVER:
            self._past.append(_Part(x, y, coupled))
        self._take_notes(x, y)

    def _learn(self) -> None:
        """Learn cells, events and their counts from the whole past."""
        x = concatenate([part.x for part in self._past])
        y = concatenate([part.y for part in self._past])
        rng = self._search.generator(self.pairs)
        self.product.learn(x, y, rng)
        if self.coupling != "independent":
            coupled = np.concatenate([np.full(len(part.x), part.coupled) for part in self._past])
            self.linear.learn(x, y, coupled, rng)
        grown = max(self.pairs + 1, int(self.pairs * REFIT))
        width = max(1, x.numbers.shape[1])
        self._next_fit = grown if grown <= min(MEMORY, MOST_NUMBERS // width) else _NEVER
        if self._next_fit == _NEVER:
            self._past = []

    def _bet(self, *, new_cells: bool) -> None:
        """Fix the bets for the coming pairs, and whether those are to be coupled."""
        self.product.bet()
        if self.coupling != "independent":
            self.linear.bet()
        self.next_coupled = self._prefer_coupled()
        if self.product.experts is not None:
            self.leak.open(self.product.experts, self.pairs, new_cells=new_cells)
        grown = max(self.pairs + 1, int(self.pairs * REBET))
        self._next_bet = min(grown, self._next_fit)

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

    def _take_notes(self, x: Outputs, y: Outputs) -> None:
        for constant, digest, part in zip(self.constants, self._digests, (x, y), strict=True):
            constant.look(part)
            digest.update(np.ascontiguousarray(part.keys).tobytes())
        if self.pairs >= self._next_mark:
            self.curve.append((self.pairs, self.bankroll.log_value))
            self._next_mark = self.pairs * _CURVE_GROWTH

    @property
    def log_e_value(self) -> float:
        """The log wealth now; once refuted, at least what it was when it crossed."""
        return max(self.bankroll.log_value, self.bankroll.crossed_value)

    @property
    def epsilon_lower(self) -> float:
        """The certified lower bound for epsilon at `delta`."""
        return self.leak.lower(pairs=self.pairs, refuted=self.refuted)

    def witness(self) -> Witness | None:
        """The event behind the richest bettor, of the kind of bet that earned most."""
        if self.coupling != "independent" and self.bankroll.log_of_group(
            1
        ) > self.bankroll.log_of_group(0):
            found = linear_witness(self.linear, self.bankroll.log_shares(1), self.encoder)
            if found is not None:
                return found
        return product_witness(self.product, self.bankroll.log_shares(0), self.encoder)

    def shares(self) -> dict[str, float]:
        """What part of the wealth each kind of bet has made, for people."""
        found = np.exp(self.bankroll.log_shares(0)).reshape(len(SLOTS), -1).sum(axis=1)
        return {name: float(share) for name, share in zip(SLOTS, found, strict=True)}

    def evidence(self, *, at_crossing: bool = False) -> Wealth:
        """What a verdict keeps of the bets: now, or as it was when the claim was refuted."""
        end, value = self.pairs, self.log_e_value
        if at_crossing and self.bankroll.crossed_at is not None:
            end, value = self.bankroll.crossed_at, self.bankroll.crossed_value
        earlier = tuple(point for point in self.curve if point[0] < end)
        return Wealth(
            log_e_value=value,
            threshold=self.bankroll.threshold,
            crossed_at=self.bankroll.crossed_at,
            burn_in=self.burn_in,
            curve=(*earlier, (end, value)),
            shares=self.shares(),
            digest="-".join(digest.hexdigest() for digest in self._digests),
            level=self.alpha,
            method=self.method,
        )


class _Constant:
    """Whether all outputs of a side were one and the same value."""

    def __init__(self) -> None:
        self.key: int | None = None
        self.holds = True
        self.shape = -1

    def look(self, part: Outputs) -> None:
        if not len(part):
            return
        if self.key is None:
            self.key, self.shape = int(part.keys[0]), int(part.shapes[0])
        if self.holds:
            self.holds = bool(np.all(part.keys == np.uint64(self.key)))
