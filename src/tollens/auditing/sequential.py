"""The sequential audit: bet against the claim, pair of runs by pair of runs.

`Audit` is the algorithm, as a stream that the caller feeds; `tollens.auditing.run` feeds it from
a mechanism. The order of things is owned here: cells and bets are fixed at times that depend on
nothing but the number of past pairs, before the pairs that they score are looked at.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import SLOTS, Experts, bets, fit_experts, pull_of
from tollens.auditing.leak import LeakBound
from tollens.auditing.ville import Bankroll
from tollens.auditing.witnesses import event_of
from tollens.claim import Claim
from tollens.evidence import Wealth
from tollens.outputs import Encoder, Outputs, concatenate
from tollens.streams import SearchStream
from tollens.witness import Witness

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BURN_IN = 6
"""Pairs that are only looked at, before the first bet."""

REFIT = 1.5
"""Cells are learned anew when the number of pairs has grown by this factor."""

REBET = 1.05
"""Bets are made anew when the number of pairs has grown by this factor."""

MEMORY = 131_072
"""Pairs after which cells stay as they are; from there on only counts are kept."""

LEAK_SHARE = 1 / 50
"""The part of alpha that pays for the lower bound on the leak; the claim gets the rest."""

DEFAULT_DELTA = 1e-5
"""The delta at which a leak is stated for claims that have none of their own."""

_NEVER = 2**62
_CHUNK = 8192
_CURVE_GROWTH = 1.05


class Gambler:
    """Bets against one claim on one stream of independent pairs; the algorithm is `update`.

    Everything that a bet depends on is a function of the pairs before it: the result does not
    depend on how the caller cuts the stream into pieces.
    """

    def __init__(self, claim: Claim, *, alpha: float, delta: float | None, seed: int) -> None:
        self.claim = claim
        self.promises = claim.promises()
        self.encoder = Encoder()
        self.pairs = 0
        own = claim.leak_delta
        self.delta = delta if delta is not None else own if own is not None else DEFAULT_DELTA
        self.bankroll = Bankroll(
            bettors=len(SLOTS) * len(self.promises),
            threshold=-math.log(alpha * (1 - LEAK_SHARE)),
        )
        self.leak = LeakBound(claim, alpha=alpha, share=LEAK_SHARE, delta=self.delta)
        self.curve: list[tuple[int, float]] = []
        self.constants = (_Constant(), _Constant())
        self._digest = hashlib.blake2b(digest_size=16)
        self._pull = pull_of(claim.support(1.0, 1.0))
        self._search = SearchStream(seed)
        self._past: list[tuple[Outputs, Outputs]] = []
        self._experts: Experts | None = None
        self._log_bets: tuple[Array, Array] | None = None
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
        """Score n pairs, in their order: bet, look, learn, bet again."""
        start = 0
        while start < len(x):
            stop = min(len(x), start + self.until_next_bet(), start + _CHUNK)
            self._score_and_learn(x[start:stop], y[start:stop])
            start = stop
            if self.pairs == self._next_bet:
                new_cells = self.pairs >= self._next_fit
                if new_cells:
                    self._learn_cells()
                self._make_bets(new_cells=new_cells)

    def _score_and_learn(self, x: Outputs, y: Outputs) -> None:
        """Pay the standing bets on these pairs, then add the pairs to the past."""
        self.pairs += len(x)
        if self._experts is None or self._log_bets is None:
            self.bankroll.sit_out(len(x))
        else:
            cells_x = [view.cells.index(x) for view in self._experts.views]
            cells_y = [view.cells.index(y) for view in self._experts.views]
            self.bankroll.pay(_log_returns(self._experts, self._log_bets, cells_x, cells_y))
            for view, cell_x, cell_y in zip(self._experts.views, cells_x, cells_y, strict=True):
                view.count(cell_x, cell_y)
            self.leak.count(cells_x, cells_y)
        if self._next_fit < _NEVER:
            self._past.append((x, y))
        self._take_notes(x, y)

    def _learn_cells(self) -> None:
        """Learn cells and their counts from the whole past."""
        x = concatenate([part[0] for part in self._past])
        y = concatenate([part[1] for part in self._past])
        self._past = [(x, y)]
        self._experts = fit_experts(x, y, self._search.generator(self.pairs), pull=self._pull)
        grown = max(self.pairs + 1, int(self.pairs * REFIT))
        if grown <= MEMORY:
            self._next_fit = grown
        else:
            self._next_fit, self._past = _NEVER, []

    def _make_bets(self, *, new_cells: bool) -> None:
        """Fix the bets for the coming pairs, from the estimated laws."""
        experts = self._experts
        if experts is None:
            raise AssertionError("bets need cells")
        p, q, real = experts.laws()
        factors = bets(p, q, real, self.promises)
        with np.errstate(divide="ignore"):
            self._log_bets = (np.log(factors.a), np.log(factors.b))
        self.leak.open(experts, self.pairs, new_cells=new_cells)
        grown = max(self.pairs + 1, int(self.pairs * REBET))
        self._next_bet = min(grown, self._next_fit)

    def _take_notes(self, x: Outputs, y: Outputs) -> None:
        for constant, part in zip(self.constants, (x, y), strict=True):
            constant.look(part)
            self._digest.update(np.ascontiguousarray(part.keys).tobytes())
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
        """The event behind the richest bettor, among those whose cells a person can read."""
        if self._experts is None:
            return None
        smooth = np.array(
            [self._experts.views[view].kernel is not None for view in self._experts.slots.tolist()]
        ).repeat(len(self.promises))
        richest = np.lexsort((-self.bankroll.log_shares, smooth))
        for bettor in richest.tolist():
            slot, promise = divmod(bettor, len(self.promises))
            view = self._experts.views[int(self._experts.slots[slot])]
            found = event_of(view, self.promises[promise], self.encoder)
            if found is not None:
                return found
        return None

    def evidence(self, *, at_crossing: bool = False) -> Wealth:
        """What a verdict keeps of the bets: now, or as it was when the claim was refuted."""
        end, value = self.pairs, self.log_e_value
        if at_crossing and self.bankroll.crossed_at is not None:
            end, value = self.bankroll.crossed_at, self.bankroll.crossed_value
        earlier = tuple(point for point in self.curve if point[0] < end)
        shares = np.exp(self.bankroll.log_shares).reshape(len(SLOTS), -1).sum(axis=1)
        return Wealth(
            log_e_value=value,
            threshold=self.bankroll.threshold,
            crossed_at=self.bankroll.crossed_at,
            burn_in=BURN_IN,
            curve=(*earlier, (end, value)),
            shares={name: float(share) for name, share in zip(SLOTS, shares, strict=True)},
            digest=self._digest.hexdigest(),
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


def _log_returns(
    experts: Experts, log_bets: tuple[Array, Array], cells_x: list[Index], cells_y: list[Index]
) -> Array:
    """Log returns (slots x promises, pairs) of the standing bets."""
    log_a, log_b = log_bets
    by_view = np.stack(
        [
            log_a[view][:, cell_x] + log_b[view][:, cell_y]
            for view, (cell_x, cell_y) in enumerate(zip(cells_x, cells_y, strict=True))
        ]
    )
    by_slot = by_view[experts.slots]
    return by_slot.reshape(-1, by_slot.shape[-1])
