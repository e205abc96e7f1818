"""The kernel audit in the place of the projection bet, for `method="mmd"`.

It is there for comparison with the literature; the projection bet refutes what it refutes with
fewer pairs, and has no ceiling (see `tollens.auditing.kernel.ceiling`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.kernel import BURN_IN, KernelBettor
from tollens.auditing.sequential import Gambler
from tollens.auditing.ville import Bankroll
from tollens.auditing.witnesses import Shown
from tollens.claim import Claim
from tollens.outputs import Encoder, Outputs

LONG = 10_000
"""Budgets above which random features replace the exact kernel, whose cost a pair grows."""

_BLOCK = 64


def kernel_setting(budget: int) -> str:
    """The setting of the kernel audit for a budget: exact where that is cheap.

    >>> kernel_setting(2_000), kernel_setting(50_000)
    ('better', 'features')
    """
    return "better" if budget <= LONG else "features"


class KernelGambler(Gambler):
    """A gambler whose one bettor is the kernel audit; it certifies no leak beyond the claim."""

    method = "mmd"
    burn_in = BURN_IN

    def __init__(
        self,
        claim: Claim,
        *,
        alpha: float,
        delta: float | None,
        seed: int,
        setting: str,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__(claim, alpha=alpha, delta=delta, seed=seed, encoder=encoder)
        self.bankroll = Bankroll(np.zeros(1), threshold=-math.log(alpha))
        self.setting = setting
        self._bettor = KernelBettor(claim, setting=setting, seed=seed)
        self._width: int | None = None

    def until_next_bet(self) -> int:
        """Bets are made anew for each pair; blocks only save calls."""
        return _BLOCK

    def update(self, x: Outputs, y: Outputs) -> None:
        """Score n pairs, in their order."""
        if self._width is None:
            self._width = max(1, x.numbers.shape[1], y.numbers.shape[1])
        before = self._bettor.log_value
        path = self._bettor.update(self._numbers(x), self._numbers(y))
        self.pairs += len(x)
        self.bankroll.pay(np.diff(path, prepend=before)[None, :])
        self.notes.take(x, y, self.pairs, self.bankroll.log_value)

    def _numbers(self, outputs: Outputs) -> NDArray[np.float64]:
        """The numbers of each output in as many columns as the first ones had; NaN for none."""
        width = self._width or 1
        numbers = outputs.numbers[:, :width]
        missing = width - numbers.shape[1]
        return np.pad(numbers, ((0, 0), (0, missing)), constant_values=np.nan)

    def lower(self, *, refuted: bool) -> float:
        """The claim's own epsilon once it is refuted, where it has one."""
        if refuted and self.claim.leak_delta is not None:
            return self.promises[0].epsilon
        return 0.0

    def shown(self) -> None:
        """None: the bet is one smooth function, not an event that can be named."""

    def tally(self, shown: Shown | None) -> None:
        """None: no outputs are kept."""

    def shares(self) -> dict[str, float]:
        """All of the wealth is the kernel bettor's."""
        return {f"kernel ({self.setting})": 1.0}
