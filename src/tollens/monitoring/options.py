"""What may change within a series: how its steps are run, and what is kept of them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """What may change within a series; see `Monitor.open`."""

    stale_after: float | None = None
    keep_outputs: bool = False
    small_counts: str = "refuse"
    seed: int | None = None
    workers: int = 1
    timeout: float | None = None


def bad_options(keep_outputs: object, seed: object, workers: object, timeout: object) -> list[str]:
    """What is wrong with settings that may change within a series."""
    findings = []
    if not isinstance(keep_outputs, bool):
        findings.append(f"keep_outputs is {keep_outputs!r}; it must be true or false")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        findings.append(f"seed is {seed!r}; it must be a whole number of at least 0")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        findings.append(f"workers is {workers!r}; it must be a whole number of at least 1")
    real = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (real and 0 < timeout < math.inf):  # type: ignore[operator]
        findings.append(f"timeout is {timeout!r}; it must be a positive number of seconds")
    return findings
