"""An audit of training as it goes: one line that changes, and each finding once, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from tollens.report.progress import wealth_text
from tollens.rounding import down

if TYPE_CHECKING:
    from tollens.training.parts.part import Finding
    from tollens.training.step_audit import StepAudit

Progress = Callable[["StepAudit"], None]

REFRESH = 0.2
"""Seconds between two states of the line."""


class TrainingLine:
    """Called after each step: findings are printed as they come, the line only on a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False, file=sys.stderr)
        self._live: Live | None = None
        self._shown = 0.0
        self._known: set[tuple[str, str]] = set()

    def __call__(self, audit: StepAudit) -> None:
        """Show the state after a step."""
        for finding in audit.findings:
            key = (finding.part, finding.level)
            if key not in self._known:
                self._known.add(key)
                self._console.print(_finding_line(finding))
        if not self._console.is_terminal:
            return
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        now = time.monotonic()
        if now - self._shown > REFRESH:
            self._shown = now
            self._live.update(state_line(audit), refresh=True)

    def close(self) -> None:
        """Take the line away."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def shown_by(progress: bool | Progress) -> tuple[Progress | None, Callable[[], None] | None]:
    """What a watch calls after each step and at its end, for True, False or a function.

    >>> shown_by(False)
    (None, None)
    """
    if progress is True:
        line = TrainingLine()
        return line, line.close
    return (progress if callable(progress) else None), None


def state_line(audit: StepAudit) -> Text:
    """The state of an audit in one line.

    >>> from tollens.training.step_audit import StepAudit
    >>> print(state_line(StepAudit(0.8)))
    tollens step 0: wealth x 1, mu >= 0 (promised 1.25), epsilon >= 0
    """
    line = Text("tollens", no_wrap=True, overflow="ellipsis")
    if audit.broken:
        line.append(" BROKEN", style="bold red")
    line.append(
        f" step {audit.steps:,}: wealth {wealth_text(audit.log_e_value)}, "
        f"mu >= {down(audit.mu_lower, 3)} (promised {1.0 / audit.noise_multiplier:.3g}), "
        f"epsilon >= {down(audit.epsilon_lower, 3)}"
    )
    return line


def _finding_line(finding: Finding) -> Text:
    style = "bold red" if finding.level == "fault" else "yellow"
    line = Text("tollens: ")
    line.append(finding.level, style=style)
    when = f" in step {finding.step}" if finding.step else ""
    line.append(f"{when}, {finding.part}: {finding.text}")
    return line
