"""Progress bars on stderr: pairs done, time left, and the wealth so far."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from tollens.auditing.run import Progress as State
    from tollens.refutation.found import Step


class ProgressBars:
    """One bar for each audit that reports; shown on a terminal only, gone when done.

    The display is refreshed by the reports themselves, without a thread, so that processes may
    be forked while it is up.
    """

    def __init__(self, console: Console, *, enabled: bool) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("pairs{task.fields[wealth]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not (enabled and console.is_terminal),
            auto_refresh=False,
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self._shown = 0.0

    def stop(self) -> None:
        """Take the bars away."""
        if self._tasks:
            self._progress.stop()

    def report(self, name: str, state: State) -> None:
        """Show how far the audit `name` has come."""
        if self._progress.disable:
            return
        if not self._tasks:
            self._progress.start()
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(
                name, total=state.budget, wealth="  wealth x 1"
            )
        done = state.budget if state.log_e_value >= state.threshold else state.pairs
        self._progress.update(
            self._tasks[name], completed=done, wealth=f"  wealth {wealth_text(state.log_e_value)}"
        )
        self._refresh(finished=done == state.budget)

    def search(self, name: str, step: Step) -> None:
        """Show over how many pairs of inputs an engine has gone, and the best epsilon so far."""
        if self._progress.disable:
            return
        if not self._tasks:
            self._progress.start()
        key = f"{name}: {step.engine}"
        if key not in self._tasks:
            self._tasks[key] = self._progress.add_task(key, total=step.total, wealth="")
        best = f"  best epsilon {step.best_epsilon:.3g}" if step.best_epsilon > 0 else ""
        self._progress.update(self._tasks[key], completed=step.done, total=step.total, wealth=best)
        self._refresh(finished=step.done == step.total)

    def count(self, name: str, done: int, total: int) -> None:
        """Show how many of the runs of a step are made."""
        if self._progress.disable:
            return
        if not self._tasks:
            self._progress.start()
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total, wealth="")
        self._progress.update(self._tasks[name], completed=done)
        self._refresh(finished=done == total)

    def _refresh(self, *, finished: bool) -> None:
        now = self._progress.get_time()
        if now - self._shown > 0.1 or finished:
            self._shown = now
            self._progress.refresh()


def wealth_text(log_wealth: float) -> str:
    """A wealth for people, whatever its size.

    >>> wealth_text(0.0), wealth_text(2000.0)
    ('x 1', 'x 10^869')
    """
    if log_wealth > 30:
        return f"x 10^{log_wealth / math.log(10):.0f}"
    return f"x {math.exp(log_wealth):.3g}"
