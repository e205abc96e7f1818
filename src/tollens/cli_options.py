"""What all commands share: their common options, their settings, their exit codes."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tollens.errors import Interrupted, TollensError, UsageError
from tollens.settings import (
    ALL_OF_CHECK,
    KEYS,
    MONITOR_KEYS,
    Key,
    promise_tables,
    resolve,
    resolve_monitor,
)

if TYPE_CHECKING:
    from tollens.promise_tables import Table

REFUTED, WRONG_USE, NOTHING_DECIDED, INTERRUPTED = 1, 2, 3, 130
"""Exit codes; 0 is "at least one thing was tested, and nothing was refuted"."""

FORMATS = ("text", "json", "junit", "sarif", "markdown", "html")
"""The formats of what holds verdicts."""

SERIES_FORMATS = ("text", "json", "markdown", "html")
"""The formats of what is said of series."""

_COMMON: tuple[Callable[[Callable[..., object]], Callable[..., object]], ...] = (
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

_SHORT = {
    **{"seed": "S", "alpha": "A", "budget": "N", "timeout": "SECONDS", "workers": "W"},
    **{"backend": "URL"},
    **{"store": "PATH|URL", "pairs": "N", "horizon": "N|arl", "beta": "B"},
    **{"stale-after": "TIME", "small-counts": "refuse|warn", "proof-timeout": "SECONDS"},
}
_TYPES = {
    "a number": click.FLOAT,
    "a whole number": click.INT,
    "a text": click.STRING,
}


def common(*formats: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """The options of every command, with the formats that this one has, the default first."""

    def add(command: Callable[..., object]) -> Callable[..., object]:
        for option in reversed(_COMMON):
            command = option(command)
        return click.option(
            "--format",
            "format_",
            type=click.Choice(formats),
            default=formats[0],
            help="How the result is printed; all but text are exactly one document.",
            show_default=True,
        )(command)

    return add


def targeted(command: Callable[..., object]) -> Callable[..., object]:
    """The options that give the claim and the neighbours of a target."""
    for option in reversed((
        click.option(
            "--claim", metavar="TEXT", help='Such as "epsilon=1" or "epsilon=ln 3, delta=1e-6".'
        ),
        click.option("--x", "x", metavar="JSON", help="One input, for a single pair."),
        click.option("--x-prime", "x_prime", metavar="JSON", help="The other input of that pair."),
        click.option(
            "--neighbours",
            metavar="TEXT",
            help='Many pairs, such as "queries:10:all", "add_remove:[1,0,1]" or '
            '"substitute:[1,0,1]:0"; or the name of a pair, a list of pairs or a relation in the '
            "target's file.",
        ),
    )):  # fmt: skip
        command = option(command)
    return command


def settings_of(
    keys: Mapping[str, Key],
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """An option for each of these settings."""

    def add(command: Callable[..., object]) -> Callable[..., object]:
        for name, key in reversed(list(keys.items())):
            default = "" if key.default is None else f" [default: {key.default}]"
            kind, metavar = _TYPES.get(key.kind, click.STRING), _SHORT.get(name)
            command = click.option(
                f"--{name}", type=kind, metavar=metavar, help=key.help + default
            )(command)
        return command

    return add


def reporting(command: Callable[..., int]) -> Callable[..., None]:
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


def audit_settings(options: Mapping[str, object]) -> dict[str, object]:
    """The settings of `audit` in force."""
    return _settings(options, KEYS)


def check_settings(options: Mapping[str, object]) -> dict[str, object]:
    """The settings of `check` in force: those of `audit`, and its own."""
    return _settings(options, ALL_OF_CHECK)


def promise_tables_of(options: Mapping[str, object]) -> list[Table]:
    """The promises that stand in the settings file in force."""
    from tollens.promise_tables import read_tables

    found = promise_tables(_config(options), Path.cwd())
    return [] if found is None else read_tables(*found)


def _settings(options: Mapping[str, object], keys: Mapping[str, Key]) -> dict[str, object]:
    flags = {name: options[name.replace("-", "_")] for name in keys}
    return resolve(flags, environ=os.environ, config=_config(options), folder=Path.cwd(), keys=keys)


def monitor_settings(options: Mapping[str, object]) -> dict[str, object]:
    """The settings of `monitor` in force."""
    flags = {}
    for name, key in MONITOR_KEYS.items():
        value = options.get(name.replace("-", "_"))
        try:
            flags[name] = None if value is None else key.read(value)
        except ValueError:
            raise UsageError(f"--{name} is {value!r}; it must be {key.kind}") from None
    return resolve_monitor(flags, environ=os.environ, config=_config(options), folder=Path.cwd())


def exit_code(outcomes: Sequence[str]) -> int:
    """The exit code of some outcomes, by their names.

    >>> exit_code(["UNREFUTED", "REFUTED"]), exit_code(["UNDECIDED"]), exit_code([])
    (1, 3, 3)
    """
    if "REFUTED" in outcomes:
        return REFUTED
    return 0 if "UNREFUTED" in outcomes else NOTHING_DECIDED


def _config(options: Mapping[str, object]) -> Path | None:
    config = options["config"]
    return config if isinstance(config, Path) else None
