"""The command line: one function a command, no logic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tollens import __version__
from tollens.cli_monitor import monitor
from tollens.cli_options import (
    FORMATS,
    INTERRUPTED,
    REFUTED,
    WRONG_USE,
    audit_settings,
    check_settings,
    common,
    exit_code,
    promise_tables_of,
    reporting,
    settings_of,
    targeted,
)
from tollens.cli_refute import refute, verify
from tollens.cli_report import report
from tollens.cli_serve import serve
from tollens.settings import ALL_OF_CHECK, KEYS

if TYPE_CHECKING:
    from tollens.report.screen import Screen


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tollens")
def main() -> None:
    """Show that a differential privacy promise is false.

    Exit codes: 1 something was refuted, 2 wrong use, 3 nothing could be decided or nothing was
    tested, 130 interrupted, 0 otherwise. "Not refuted" never means "private".
    """


@main.command()
@click.argument("target")
@targeted
@click.option(
    "--evidence",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write a file of evidence, which `tollens audit FILE.json` scores again.",
)
@click.option(
    "--python",
    metavar="PATH",
    help="The interpreter, or the folder of a virtual environment, in which TARGET runs; it need "
    "not have tollens.",
)
@settings_of(KEYS)
@common(*FORMATS)
@reporting
def audit(screen: Screen, options: dict[str, object]) -> int:
    """Bet against the claim of TARGET on pairs of its runs.

    TARGET is "path/file.py::name" or "package.module:name"; the claim and the neighbours may
    stand in the file (@tollens.promise) or be given here. All pairs of inputs share one alpha and
    one budget. "command:./program --flag" as TARGET is a program in any language that answers
    requests on its stdin. A file of evidence as TARGET is scored again. A file of canary scores as
    TARGET (.csv, .parquet or .npy) is audited as it is; it needs --claim.
    """
    from tollens.auditing import command
    from tollens.naming import command_words
    from tollens.request import Request
    from tollens.training.scores import command as score_command

    target = str(options["target"])
    if command_words(target) is None and score_command.is_scores(target):
        verdict = score_command.audit_file(options, audit_settings(options))
    elif command_words(target) is None and target.endswith(".json"):
        verdict = command.rescore_file(Path(target))
    else:
        verdict = command.audit_target(
            Request.from_options(options), audit_settings(options), screen.progress
        )
    screen.verdict(target, verdict)
    return exit_code([verdict.outcome.name])


@main.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@settings_of(ALL_OF_CHECK)
@common(*FORMATS)
@reporting
def check(screen: Screen, options: dict[str, object]) -> int:
    """Test every promise declared with @tollens.promise below PATHS (default: here).

    Promises may also stand in the settings file, as tables [[tool.tollens.promises]] with the keys
    target, claim and neighbours; these are always tested.

    Where a mechanism draws from tollens.noise only, a proof is looked for first. Otherwise, and
    where there is none, its runs are audited; alpha is the error probability of the whole check.
    """
    from tollens.checking import check as run_check

    paths = [Path(str(path)) for path in _listed(options["paths"])] or [Path()]
    report = run_check(
        paths,
        check_settings(options),
        tables=promise_tables_of(options),
        progress=screen.progress,
        searching=screen.searching,
    )
    screen.check(report)
    code = exit_code([verdict.outcome.name for _, verdict in report.verdicts])
    if report.interrupted and code != REFUTED:
        return INTERRUPTED
    return WRONG_USE if report.problems and code != REFUTED else code


main.add_command(refute)
main.add_command(verify)
main.add_command(monitor)
main.add_command(report)
main.add_command(serve)


@main.group()
def zoo() -> None:
    """Mechanisms and programs with known truth, correct and broken."""


@zoo.command("list")
@common(*FORMATS)
@reporting
def zoo_list(screen: Screen, options: dict[str, object]) -> int:
    """List all mechanisms, and all programs whose text can be read, with claim and truth."""
    from tollens.zoo import entries, programs

    screen.zoo(entries(), programs.entries())
    return 0


@zoo.command("show")
@click.argument("name")
@common(*FORMATS)
@reporting
def zoo_show(screen: Screen, options: dict[str, object]) -> int:
    """Show one mechanism or program: its claim, its pair, its true epsilon, how that is known.

    NAME is the name of a mechanism, or the id or name of a program, whose text is shown too.
    """
    from tollens.refutation.program import read_program
    from tollens.zoo.names import find
    from tollens.zoo.programs import Program

    found = find(str(options["name"]))
    if isinstance(found, Program):
        screen.program(found, read_program(found.function).text)
    else:
        screen.entry(found)
    return 0


@zoo.command("self-test")
@common(*FORMATS)
@reporting
def zoo_self_test(screen: Screen, options: dict[str, object]) -> int:
    """Audit every mechanism and search every program: the broken must be refuted, no other.

    Takes some minutes. Exits with 0 if every row is as it should be and with 1 otherwise.
    """
    from tollens.auditing.api import audit as run_audit
    from tollens.refutation.api import refute as run_refute
    from tollens.zoo import entries, programs
    from tollens.zoo.program_test import program_test
    from tollens.zoo.self_test import self_test

    rows = self_test(run_audit, progress=screen.counter(len(entries())))
    suite = program_test(run_refute, progress=screen.counter(len(programs.entries())))
    screen.self_test(rows, suite)
    right = all(row.ok for row in rows) and all(row.ok for row in suite)
    return 0 if right else REFUTED


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, tuple | list) else []
