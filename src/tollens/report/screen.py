"""Where a command's result goes: text or JSON, stdout or a file; progress and remarks on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from tollens.auditing.check import CheckReport
from tollens.auditing.run import Progress
from tollens.errors import UsageError
from tollens.report import documents, text
from tollens.report.junit import junit_document
from tollens.report.progress import ProgressBars
from tollens.report.sarif import sarif_document
from tollens.verdict import Outcome, Verdict
from tollens.zoo.entry import Entry
from tollens.zoo.self_test import SelfTestRow

Rows = Sequence[tuple[str, Verdict]]

_FOR_TOOLS: dict[str, Callable[[Rows, Sequence[str]], str]] = {
    "junit": junit_document,
    "sarif": sarif_document,
}


class Screen:
    """Prints each kind of result in the format that was asked for."""

    def __init__(self, *, form: str, output: Path | None, quiet: bool, color: bool) -> None:
        self._form, self._output, self._quiet, self._color = form, output, quiet, color
        self._stdout = sys.stdout
        self._errors = text.console(sys.stderr, color=color)
        self._bars = ProgressBars(self._errors, enabled=not quiet)
        on_terminal = output is None and sys.stdout.isatty()
        self._width = min(text.console(sys.stdout).width, 120) if on_terminal else 100

    def progress(self, name: str, state: Progress) -> None:
        """Show how far the audit `name` has come."""
        self._bars.report(name, state)

    def counter(self, total: int) -> Callable[[SelfTestRow], None]:
        """A callback that says which row of a self-test is done."""
        done = 0

        def count(row: SelfTestRow) -> None:
            nonlocal done
            done += 1
            if not self._quiet:
                self._errors.print(Text(f"{done}/{total} {row.name}: {row.outcome}", "dim"))

        return count

    def verdict(self, target: str, verdict: Verdict) -> None:
        """One verdict."""
        self._show(
            lambda: documents.dump(verdict.to_dict()),
            [text.verdict_text(verdict, width=self._width)],
            ((target, verdict),),
        )

    def check(self, report: CheckReport) -> None:
        """The table of a check, the verdicts of what was refuted, and the problems."""
        parts: list[RenderableType] = []
        if report.verdicts:
            parts.append(text.verdict_table(report.verdicts))
        for target, verdict in report.verdicts:
            if verdict.outcome is Outcome.REFUTED:
                shown = text.verdict_text(verdict, width=self._width)
                parts += [Text(), Text(target, "bold"), shown]
        parts += [Text(), text.check_summary(report)]
        self._show(
            lambda: documents.check_document(report), parts, report.verdicts, report.problems
        )
        for problem in report.problems:
            self._errors.print(Text(f"problem: {problem}", "bold yellow"))

    def zoo(self, entries: Sequence[Entry]) -> None:
        """The list of the zoo."""
        self._show(lambda: documents.zoo_document(entries), [text.zoo_table(entries)])

    def entry(self, entry: Entry) -> None:
        """One mechanism of the zoo."""
        self._show(
            lambda: documents.dump(documents.entry_content(entry)),
            [text.entry_text(entry, width=self._width)],
        )

    def self_test(self, rows: Sequence[SelfTestRow]) -> None:
        """The table of a self-test."""
        self._show(lambda: documents.self_test_document(rows), [text.self_test_table(rows)])

    def fail(self, findings: Sequence[str]) -> None:
        """What went wrong: on stderr, and as a document where one was asked for."""
        self._bars.stop()
        for finding in findings:
            self._errors.print(Text(f"error: {finding}", "bold red"), soft_wrap=True)
        if self._form == "json":
            self._write(documents.error_document(findings) + "\n")
        elif self._form in _FOR_TOOLS:
            self._write(_FOR_TOOLS[self._form]((), findings) + "\n")

    def _show(
        self,
        document: Callable[[], str],
        parts: Sequence[RenderableType],
        verdicts: Rows | None = None,
        problems: Sequence[str] = (),
    ) -> None:
        self._bars.stop()
        if self._form == "json":
            self._write(document() + "\n")
        elif self._form in _FOR_TOOLS:
            if verdicts is None:
                raise UsageError(f"there is no {self._form} form of this; use text or json")
            self._write(_FOR_TOOLS[self._form](verdicts, problems) + "\n")
        elif self._output is None:
            self._print(text.console(self._stdout, color=self._color), parts)
        else:
            try:
                with self._output.open("w", encoding="utf-8") as stream:
                    self._print(text.console(stream, color=False), parts)
            except OSError as error:
                raise UsageError(f"{self._output} cannot be written: {error.strerror}") from None

    def _print(self, console: Console, parts: Sequence[RenderableType]) -> None:
        for part in parts:
            console.print(part)

    def _write(self, content: str) -> None:
        if self._output is None:
            self._stdout.write(content)
            return
        try:
            self._output.write_text(content, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{self._output} cannot be written: {error.strerror}") from None
