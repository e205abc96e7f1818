"""What Opacus writes down about a run: its accountant, and the batch size that it divides by."""

from __future__ import annotations

import warnings
from typing import Any

from opacus import PrivacyEngine
from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant
from opacus.optimizers import DPOptimizer

from tollens.training.parts.part import Finding, Level

_PRV_FROM = 0.4
"""Noise multipliers below this are left to the RDP accountant, in the place of PRV."""

ACCOUNTANT = "nothing: two numbers are compared"


class OpacusAccount:
    """An Opacus accountant as a `RunAccount`.

    Comparisons are made by Opacus' RDP accountant (by its own kind for a Gaussian one): the PRV
    accountant needs minutes at a noise multiplier of 0.1, and more memory than there is below.
    """

    def __init__(self, accountant: Any, rate: float | None) -> None:
        self._accountant = accountant
        self._rate = 1.0 if rate is None else rate
        own = type(accountant)
        self._compare = own if own is GaussianAccountant else RDPAccountant

    @property
    def name(self) -> str:
        """The class of the run's own accountant, and of the one asked in its place if so."""
        own = type(self._accountant).__name__
        return f"{self.compared_by} (in the place of {own})" if self._too_slow else own

    @property
    def _too_slow(self) -> bool:
        history = self._accountant.history
        slow = isinstance(self._accountant, PRVAccountant)
        return slow and len(history) > 0 and float(history[-1][0]) < _PRV_FROM

    @property
    def compared_by(self) -> str:
        """The class of the one that comparisons are made by."""
        return str(self._compare.__name__)

    def epsilon(self, noise_multiplier: float, steps: int, delta: float) -> float:
        """The epsilon of a run of so many steps at a noise multiplier, at the run's own rate."""
        fresh = self._compare()
        fresh.history = [(noise_multiplier, self._rate, steps)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the orders that it tries
            return float(fresh.get_epsilon(delta))

    def printed(self, delta: float) -> float:
        """The epsilon of the run so far, by its own accountant."""
        history = self._accountant.history
        if not len(history):
            return 0.0
        if self._too_slow:
            return self.epsilon(history[-1][0], sum(entry[2] for entry in history), delta)
        return float(self._accountant.get_epsilon(delta))


def counted(engine: PrivacyEngine | None) -> int:
    """How many steps the engine's accountant has counted."""
    return 0 if engine is None else sum(int(entry[2]) for entry in engine.accountant.history)


def batch_size_finding(
    optimizer: DPOptimizer, records: int | None, rate: float | None, *, private: bool
) -> Finding | None:
    """Whether the number that gradients are divided by depends on the number of records.

    Opacus computes `expected_batch_size = int(records * rate)`. Where one record more or less
    changes it, all of the released gradient changes its scale with it, noise and all.
    """
    if records is None or rate is None or optimizer.loss_reduction != "mean":
        return None
    now = optimizer.expected_batch_size
    if now is None or int(records * rate) != now:
        return None
    for other in (records - 1, records + 1):
        then = int(other * rate)
        if then != now:
            change = "more" if other > records else "fewer"
            text = (
                f"gradients are divided by {now}, computed from the {records:,} records; with one "
                f"record {change} it would be {then}, which scales signal and noise alike by "
                f"{now}/{then}: where the number of records is private, that gives it away; set "
                "optimizer.expected_batch_size to a public number"
            )
            level: Level = "fault" if private else "warning"
            return Finding("batch size", level, 0, text, "the number of records is private")
    return None
