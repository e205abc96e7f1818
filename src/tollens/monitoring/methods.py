"""The methods of monitoring, by name."""

from __future__ import annotations

from tollens.errors import UsageError
from tollens.monitoring.brownian.detector import BrownianDetector
from tollens.monitoring.detectors import Detector
from tollens.monitoring.exact.detector import ExactDetector
from tollens.monitoring.pack import unpack
from tollens.monitoring.plan import Plan


def make_detector(plan: Plan, kept: bytes | None, *, small_counts: str = "refuse") -> Detector:
    """The detector of a plan, as it was after the last step (None: before the first).

    `small_counts` says whether the Brownian method refuses to raise an alarm, or only warns, where
    its level does not hold.
    """
    tree = None if kept is None else unpack(kept)
    try:
        if plan.method == "exact":
            return ExactDetector(plan, tree)
        return BrownianDetector(plan, tree, refuse=small_counts == "refuse")
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"a stored state cannot be read: {error!r}") from None
