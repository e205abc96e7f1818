"""What Opacus writes down about a run: its accountant, and the batch size that it divides by."""

from __future__ import annotations

from typing import Any

from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer

from tollens.training.part import Finding, Level

ACCOUNTANT = "nothing: two numbers are compared"


class OpacusAccount:
    """An Opacus accountant as a `RunAccount`: the same kind is asked about other multipliers."""

    def __init__(self, accountant: Any, rate: float | None) -> None:
        self._accountant = accountant
        self._rate = 1.0 if rate is None else rate

    @property
    def name(self) -> str:
        """The accountant's class."""
        return type(self._accountant).__name__

    def epsilon(self, noise_multiplier: float, steps: int, delta: float) -> float:
        """The epsilon of a run of so many steps at a noise multiplier, at the run's own rate."""
        fresh = type(self._accountant)()
        fresh.history = [(noise_multiplier, self._rate, steps)]
        return float(fresh.get_epsilon(delta))

    def printed(self, delta: float) -> float:
        """The epsilon of the run so far."""
        return float(self._accountant.get_epsilon(delta)) if len(self._accountant.history) else 0.0


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
