"""The command line: one function a command, no logic."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tollens import __version__
from tollens.errors import Interrupted, TollensError, UsageError
from tollens.settings import KEYS, resolve

if TYPE_CHECKING:
    from tollens.report.screen import Screen

REFUTED, WRONG_USE, NOTHING_DECIDED, INTERRUPTED = 1, 2, 3, 130
"""Exit codes; 0 is "at least one thing was tested, and nothing was refuted"."""

_FORMATS = ("text", "json", "junit", "sarif")

_COMMON: tuple[Callable[[Callable[..., object]], Callable[..., object]], ...] = (
    click.option(
        "--format",
        "format_",
        type=click.Choice(_FORMATS),
        default="text",
        help="How the result is printed; all but text are exactly one document.",
        show_default=True,
    ),
    click.option(
        "-o",
        "output",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write the result to a file instead of stdout.",
    ),
    click.option("--quiet", is_flag=True, help="No progress and no remarks on stderr."),
    click.option("--no-color", is_flag=True, help="No colour, even on a terminal."),
    click.option(
        "--config",
        type=click.Path(path_type=Path),
        help="Settings file (default: the nearest tollens.toml or pyproject.toml).",
    ),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 even if something was refuted."),
)

_SHORT = {"seed": "S", "alpha": "A", "budget": "N", "timeout": "SECONDS", "workers": "W"}
_TYPES = {
    "a number": click.FLOAT,
    "a whole number": click.INT,
    "a text": click.STRING,
}


def _common(command: Callable[..., object]) -> Callable[..., object]:
    for option in reversed(_COMMON):
        command = option(command)
    return command


def _audit_settings(command: Callable[..., object]) -> Callable[..., object]:
    for name, key in reversed(KEYS.items()):
        default = "" if key.default is None else f" [default: {key.default}]"
        command = click.option(
            f"--{name}", type=_TYPES[key.kind], metavar=_SHORT.get(name), help=key.help + default
        )(command)
    return command


def _given(options: dict[str, object]) -> dict[str, object]:
    return {name: options[name] for name in KEYS}


def _reporting(command: Callable[..., int]) -> Callable[..., None]:
    """Run a command; turn errors into messages and results into exit codes."""

    @functools.wraps(command)
    def run(**options: object) -> None:
        from tollens.report.screen import Screen

        screen = Screen(
            form=str(options["format_"]),
            output=options["output"] if isinstance(options["output"], Path) else None,
            quiet=bool(options["quiet"]),
            color=not options["no_color"] and "NO_COLOR" not in os.environ,
        )
        try:
            with contextlib.redirect_stdout(sys.stderr):  # what a mechanism prints is no result
                code = command(screen, options)
        except UsageError as error:
            screen.fail(error.findings)
            code = WRONG_USE
        except Interrupted as stop:
            screen.verdict(str(options.get("target")), stop.verdict)
            code = REFUTED if stop.verdict.refuted else INTERRUPTED
        except KeyboardInterrupt:
            screen.fail(["interrupted before anything was decided"])
            code = INTERRUPTED
        except TollensError as error:
            screen.fail([str(error)])
            code = WRONG_USE
        except BrokenPipeError:
            code = WRONG_USE
        except Exception as error:  # noqa: BLE001 - a fault of ours must not look like a refutation
            screen.fail([f"a fault in tollens, please report it: {type(error).__name__}: {error}"])
            code = WRONG_USE
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = WRONG_USE
        sys.exit(0 if code == REFUTED and options["exit_zero"] else code)

    return run


def _settings(options: dict[str, object]) -> dict[str, object]:
    config = options["config"]
    return resolve(
        _given(options),
        environ=os.environ,
        config=config if isinstance(config, Path) else None,
        folder=Path.cwd(),
    )


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tollens")
def main() -> None:
    """Show that a differential privacy promise is false.

    Exit codes: 1 something was refuted, 2 wrong use, 3 nothing could be decided or nothing was
    tested, 130 interrupted, 0 otherwise. "Not refuted" never means "private".
    """


@main.command()
@click.argument("target")
@click.option("--claim", metavar="TEXT", help='Such as "epsilon=1" or "epsilon=ln 3, delta=1e-6".')
@click.option("--x", "x", metavar="JSON", help="One input, for a single pair.")
@click.option("--x-prime", "x_prime", metavar="JSON", help="The other input of that pair.")
@click.option(
    "--neighbours",
    metavar="TEXT",
    help='Many pairs, such as "queries:10:all", "add_remove:[1,0,1]" or "substitute:[1,0,1]:0"; '
    "or the name of a pair, a list of pairs or a relation in the target's file.",
)
@click.option(
    "--evidence",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write a file of evidence, which `tollens audit FILE.json` scores again.",
)
@_audit_settings
@_common
@_reporting
def audit(screen: Screen, options: dict[str, object]) -> int:
    """Bet against the claim of TARGET on pairs of its runs.

    TARGET is "path/file.py::name" or "package.module:name"; the claim and the neighbours may
    stand in the file (@tollens.promise) or be given here. All pairs of inputs share one alpha and
    one budget. A file of evidence as TARGET is scored again.
    """
    from tollens.auditing import command

    if str(options["target"]).endswith(".json"):
        verdict = command.rescore_file(Path(str(options["target"])))
    else:
        verdict = command.audit_target(
            command.Request.from_options(options), _settings(options), screen.progress
        )
    screen.verdict(str(options["target"]), verdict)
    return _code([verdict.outcome.name])


@main.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@_audit_settings
@_common
@_reporting
def check(screen: Screen, options: dict[str, object]) -> int:
    """Audit every promise declared with @tollens.promise below PATHS (default: here).

    alpha is the error probability of the whole check.
    """
    from tollens.auditing.check import check as run_check

    paths = [Path(str(path)) for path in _listed(options["paths"])] or [Path()]
    report = run_check(paths, _settings(options), progress=screen.progress)
    screen.check(report)
    code = _code([verdict.outcome.name for _, verdict in report.verdicts])
    if report.interrupted and code != REFUTED:
        return INTERRUPTED
    return WRONG_USE if report.problems and code != REFUTED else code


@main.group()
def zoo() -> None:
    """Mechanisms with known truth, correct and broken."""


@zoo.command("list")
@_common
@_reporting
def zoo_list(screen: Screen, options: dict[str, object]) -> int:
    """List all mechanisms with claim and truth."""
    from tollens.zoo import entries

    screen.zoo(entries())
    return 0


@zoo.command("show")
@click.argument("name")
@_common
@_reporting
def zoo_show(screen: Screen, options: dict[str, object]) -> int:
    """Show one mechanism: its claim, its worst pair, its true epsilon and how that is known."""
    from tollens.zoo import get

    screen.entry(get(str(options["name"])))
    return 0


@zoo.command("self-test")
@_common
@_reporting
def zoo_self_test(screen: Screen, options: dict[str, object]) -> int:
    """Audit every mechanism of the zoo: the broken must be refuted, the correct spared.

    Exits with 0 if every row is as it should be and with 1 otherwise.
    """
    from tollens.auditing.api import audit as run_audit
    from tollens.zoo import entries
    from tollens.zoo.self_test import self_test

    rows = self_test(run_audit, progress=screen.counter(len(entries())))
    screen.self_test(rows)
    return 0 if all(row.ok for row in rows) else REFUTED


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, tuple | list) else []


def _code(outcomes: list[str]) -> int:
    if "REFUTED" in outcomes:
        return REFUTED
    return 0 if "UNREFUTED" in outcomes else NOTHING_DECIDED
