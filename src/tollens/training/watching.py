"""What a watch of training is told, whatever the framework, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tollens.claim import Claim
from tollens.errors import TollensError, UsageError
from tollens.training.run_leak import RunAccount
from tollens.training.step_audit import StepAudit


class StopTraining(TollensError):  # noqa: N818 - it is no error of anyone
    """Raised within a step once something is broken; the `with` block of the watch ends quietly."""


@dataclass(frozen=True)
class WatchSettings:
    """Settings of a watch; see `tollens.opacus.watch` and `tollens.jax.watch` for their meaning.

    `close` is called when the watch ends.
    """

    claim: Claim | str | None = None
    alpha: float = 0.01
    delta: float = 1e-5
    method: str = "projection"
    parts: Sequence[str] | None = None
    stop: bool = False
    every: int = 1
    seed: int = 0
    progress: Callable[[StepAudit], None] | None = None
    close: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.every, bool) or not isinstance(self.every, int) or self.every < 1:
            raise UsageError(f"every is {self.every}; it must be a whole number of at least 1")

    def audit(
        self,
        noise_multiplier: float,
        *,
        name: str,
        records: int | None = None,
        rate: float | None = None,
        account: RunAccount | None = None,
        fresh: bool = True,
    ) -> StepAudit:
        """A new audit with these settings."""
        known = records is not None and rate is not None
        return StepAudit(
            noise_multiplier,
            claim=self.claim,
            records=records if known else None,
            rate=rate if known else None,
            alpha=self.alpha,
            delta=self.delta,
            method=self.method,
            parts=self.parts,
            name=name,
            account=account,
            fresh=fresh,
            progress=self.progress,
        )

    def stop_if_broken(self, audit: StepAudit) -> None:
        """Raise `StopTraining` once something is broken, if that is wished."""
        if self.stop and audit.broken:
            raise StopTraining(f"step {audit.steps}: {audit.findings[0].text}")
