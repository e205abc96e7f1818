"""Where a command's result goes: text or JSON, stdout or a file; progress and remarks on stderr."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.text import Text

from tollens.errors import UsageError
from tollens.report import documents, program_text, text
from tollens.report.contents import Contents, of_rows
from tollens.report.files import write_whole
from tollens.report.junit import junit_document
from tollens.report.markdown import markdown_document
from tollens.report.progress import ProgressBars
from tollens.report.sarif import sarif_document
from tollens.report.spelling import ascii_json, ascii_xml, is_unicode, never_fails, spelled_parts
from tollens.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from tollens.auditing.run import Progress
    from tollens.checking import CheckReport
    from tollens.monitoring.backfill.walk import Backfill
    from tollens.monitoring.overview import History, Standing
    from tollens.monitoring.state import AlarmState
    from tollens.refutation.found import Step
    from tollens.verified import Verified
    from tollens.zoo.entry import Entry
    from tollens.zoo.program_test import ProgramRow
    from tollens.zoo.programs import Program
    from tollens.zoo.self_test import SelfTestRow


def _page(contents: Contents) -> str:
    from tollens.report.page import html_page

    return html_page(contents)


_FOR_TOOLS: dict[str, Callable[[Contents], str]] = {
    "junit": lambda contents: junit_document(contents.rows, contents.problems),
    "sarif": lambda contents: sarif_document(contents.rows, contents.problems),
}
_JSON = ("json", "sarif")
_FOR_PEOPLE: dict[str, Callable[[Contents], str]] = {
    "html": _page,
    "markdown": markdown_document,
}


class Screen:
    """Prints each kind of result in the format that was asked for."""

    def __init__(self, *, form: str, output: Path | None, quiet: bool, color: bool) -> None:
        self._form, self._output, self._quiet, self._color = form, output, quiet, color
        self._stdout = sys.stdout
        never_fails(sys.stdout)
        never_fails(sys.stderr)
        self._errors = text.console(sys.stderr, color=color)
        self._bars = ProgressBars(self._errors, enabled=not quiet)
        on_terminal = output is None and sys.stdout.isatty()
        self._width = min(text.console(sys.stdout).width, 120) if on_terminal else 100
        self._table_width = self._width if on_terminal else 120

    def keeps(self, files: Iterable[Path]) -> None:
        """Refuse to write over these files, or data into these folders, which are read.

        Not even an error goes there.
        """
        if self._output is None:
            return
        output = self._output.resolve()
        for path in (file.resolve() for file in files):
            into = path in output.parents and output.suffix in (".json", ".jsonl")
            if output == path or into:
                self._output = None
                what = "lies in a folder" if into else "is a file"
                raise UsageError(f"-o {output} {what} that is read; name another one to write")

    def progress(self, name: str, state: Progress) -> None:
        """Show how far the audit `name` has come."""
        self._bars.report(name, state)

    def counter(self, total: int) -> Callable[[SelfTestRow | ProgramRow], None]:
        """A callback that says which row of a self-test is done."""
        done = 0

        def count(row: SelfTestRow | ProgramRow) -> None:
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
            lambda: of_rows([(target, verdict)]),
        )

    def searching(self, name: str, step: Step) -> None:
        """Show how far the search for a proof about `name` has come."""
        self._bars.search(name, step)

    def verified(self, name: str, verified: Verified, verdict: Verdict) -> None:
        """What a certificate proves, with the text that it is about."""
        from tollens.report.proof_text import verified_text

        self._show(
            lambda: documents.dump(verified.to_dict()),
            [verified_text(verified, width=self._width)],
            lambda: of_rows([(name, verdict)]),
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
            lambda: documents.check_document(report),
            parts,
            lambda: of_rows(report.verdicts, report.problems),
        )
        for problem in report.problems:
            self._errors.print(Text(f"problem: {problem}", "bold yellow"))

    def zoo(self, entries: Sequence[Entry], programs: Sequence[Program]) -> None:
        """The list of the zoo: mechanisms and programs."""
        self._show(
            lambda: documents.zoo_document(entries, programs),
            [text.zoo_table(entries), Text(), program_text.programs_table(programs)],
        )

    def entry(self, entry: Entry) -> None:
        """One mechanism of the zoo."""
        self._show(
            lambda: documents.dump(documents.entry_content(entry)),
            [text.entry_text(entry, width=self._width)],
        )

    def program(self, program: Program, source: str) -> None:
        """One program of the zoo, and its text."""
        content = {**program_text.program_content(program), "text": source}
        self._show(
            lambda: documents.dump(content),
            [program_text.program_text(program, source, width=self._width)],
        )

    def self_test(self, rows: Sequence[SelfTestRow], programs: Sequence[ProgramRow]) -> None:
        """The tables of a self-test: the audits, and the searches for proofs."""
        self._show(
            lambda: documents.self_test_document(rows, programs),
            [text.self_test_table(rows), Text(), program_text.program_test_table(programs)],
        )

    def runs(self, name: str) -> Callable[[int, int], None]:
        """A callback that shows how many of the runs of a step are made."""
        return lambda done, total: self._bars.count(name, done, total)

    def remark(self, line: str, style: str = "dim") -> None:
        """A line on stderr."""
        if not self._quiet:
            self._errors.print(Text(line, style), soft_wrap=True)

    def step(self, row: Standing) -> None:
        """How a series stands after a step."""
        from tollens.report.series_text import standing_text

        self._show(
            lambda: documents.step_document(row),
            [standing_text(row, width=self._width)],
            lambda: Contents(histories=(_alone(row),)),
        )

    def status(self, rows: Sequence[Standing]) -> None:
        """How all series stand."""
        from tollens.report.prometheus import prometheus_document
        from tollens.report.series_text import several_open, status_table

        self._show(
            lambda: documents.status_document(rows),
            [status_table(rows, width=self._table_width), *several_open(rows)],
            lambda: Contents(histories=tuple(map(_alone, rows))),
            metrics=lambda: prometheus_document(rows),
        )

    def history(self, found: History) -> None:
        """The steps of a series."""
        from tollens.report.series_text import history_parts

        self._show(
            lambda: documents.history_document(found),
            history_parts(found, width=self._table_width),
            lambda: Contents(histories=(found,)),
        )

    def report(self, contents: Contents) -> None:
        """A report on files."""
        if self._form == "html" and self._output is None and self._stdout.isatty():
            raise UsageError(
                "a page of HTML is no text for a terminal; add -o report.html, or --format markdown"
            )
        left_out = len(contents.histories) + len(contents.trainings)
        if self._form in _FOR_TOOLS and left_out:
            self.remark(
                f"{left_out:,} series and training runs have no {self._form} form and are left "
                "out; use html, markdown or json",
                "yellow",
            )
        self._show(lambda: documents.report_document(contents), [], lambda: contents)

    def acknowledged(self, row: Standing, alarm: AlarmState) -> None:
        """The alarm that was closed."""
        from tollens.report.series_text import acknowledged_text

        own = (row.state.raised,) if row.state.alarm and row.state.raised is not None else ()
        left = (*own, *row.elsewhere)
        self._show(
            lambda: documents.acknowledged_document(row, alarm),
            [acknowledged_text(row.state.name, alarm, left, width=self._width)],
        )

    def migrated(self, store: str, *, changed: bool) -> None:
        """Whether a store was brought to the schema of this version."""
        said = "was brought to the schema of this tollens" if changed else "needs no migration"
        content = {"schema": "tollens/monitor-migrated/1", "store": store, "changed": changed}
        self._show(lambda: documents.dump(content), [Text(f"the store {store} {said}")])

    def backfill(self, found: Backfill) -> None:
        """What a walk over commits came to."""
        from tollens.report.backfill_text import backfill_text

        self._show(
            lambda: documents.backfill_document(found), [backfill_text(found, width=self._width)]
        )

    def fail(self, findings: Sequence[str]) -> None:
        """What went wrong: on stderr, and as a document where one was asked for."""
        self._bars.stop()
        for finding in findings:
            self._errors.print(Text(f"error: {finding}", "bold red"), soft_wrap=True)
        with contextlib.suppress(UsageError):  # a file that cannot be written is among the findings
            if self._form == "json":
                self._write(documents.error_document(findings) + "\n")
            elif self._form in _FOR_TOOLS:
                self._write(_FOR_TOOLS[self._form](Contents(problems=tuple(findings))) + "\n")

    def _show(
        self,
        document: Callable[[], str],
        parts: Sequence[RenderableType],
        contents: Callable[[], Contents] | None = None,
        metrics: Callable[[], str] | None = None,
    ) -> None:
        self._bars.stop()
        if self._form == "json":
            self._write(document() + "\n")
        elif self._form == "prometheus" and metrics is not None:
            self._write(metrics() + "\n", whole=True)
        elif self._form in _FOR_TOOLS or self._form in _FOR_PEOPLE:
            if contents is None:
                raise UsageError(f"there is no {self._form} form of this; use text or json")
            form = {**_FOR_TOOLS, **_FOR_PEOPLE}[self._form](contents())
            self._write(form.rstrip("\n") + "\n", whole=True)
        elif self._output is None:
            self._print(text.console(self._stdout, color=self._color), parts)
        else:
            try:
                with self._output.open("w", encoding="utf-8") as stream:
                    self._print(text.console(stream, color=False), parts)
            except OSError as error:
                raise UsageError(f"{self._output} cannot be written: {error.strerror}") from None

    def _print(self, console: Console, parts: Sequence[RenderableType]) -> None:
        if not is_unicode(console.file):
            parts = spelled_parts(parts, console)
        for part in parts:
            console.print(part)

    def _write(self, content: str, *, whole: bool = False) -> None:
        if self._output is None:
            self._write_out(content)
            return
        try:
            if whole:
                write_whole(self._output, content)
            else:
                self._output.write_text(content, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{self._output} cannot be written: {error.strerror}") from None

    def _write_out(self, content: str) -> None:
        """Write a document to stdout, whole whatever its encoding."""
        if is_unicode(self._stdout):
            self._stdout.write(content)
        elif self._form == "prometheus" and hasattr(self._stdout, "buffer"):
            self._stdout.flush()
            self._stdout.buffer.write(content.encode("utf-8"))
        else:
            self._stdout.write((ascii_json if self._form in _JSON else ascii_xml)(content))


def _alone(row: Standing) -> History:
    """A series of which only the last steps are known."""
    from tollens.monitoring.overview import History

    raised = row.state.raised
    return History(row, row.recent, () if raised is None else (raised,), ())
