"""The commands of `tollens monitor`: one function a command, no logic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import click

from tollens.cli_options import (
    NOTHING_DECIDED,
    REFUTED,
    SERIES_FORMATS,
    common,
    monitor_settings,
    reporting,
    settings_of,
)
from tollens.settings import MONITOR_KEYS

if TYPE_CHECKING:
    from tollens.monitoring.command import Step
    from tollens.monitoring.overview import Standing
    from tollens.report.screen import Screen

_STORE = {"store": MONITOR_KEYS["store"]}
_COUNTED = {
    name: key
    for name, key in MONITOR_KEYS.items()
    if name not in ("seed", "workers", "timeout", "pairs")
}


def _watched(command: Callable[..., object]) -> Callable[..., object]:
    """The options that say what is watched."""
    for option in reversed((
        click.option("--name", required=True, help="Name of the series."),
        click.option("--run-id", help="Tells further runs of one version apart. [default: 1]"),
        click.option("--claim", metavar="TEXT", help='Such as "epsilon=1" or "mu=1".'),
        click.option("--x", "x", metavar="JSON", help="One input of the pair."),
        click.option("--x-prime", "x_prime", metavar="JSON", help="The other input of the pair."),
        click.option(
            "--neighbours", metavar="TEXT", help="The name of one pair in the target's file."
        ),
        click.option(
            "--event",
            multiple=True,
            metavar="TEXT",
            help='Such as "output <= 0"; may be repeated. The exact method needs none.',
        ),
        click.option(
            "--keep-outputs", is_flag=True, help="Keep the outputs of all runs in the store."
        ),
    )):  # fmt: skip
        command = option(command)
    return command


@click.group()
def monitor() -> None:
    """Watch a claim over the versions of a mechanism.

    Each step runs one version; evidence adds up over steps under one error probability, and the
    alarm stays on until somebody acknowledges it.

    Exit codes: 1 while an alarm is open, 2 wrong use, 3 a version that could not be run, or no
    series, 0 otherwise.
    """


@monitor.command("step")
@click.argument("target")
@click.option("--version", required=True, help="The version that is run, such as a commit.")
@_watched
@settings_of(MONITOR_KEYS)
@common(*SERIES_FORMATS)
@reporting
def step(screen: Screen, options: dict[str, object]) -> int:
    """Run one version of TARGET and add the evidence to its series.

    TARGET is "path/file.py::name" or "package.module:name"; the claim and the pair may stand in
    the file (@tollens.promise) or be given here. A step that is sent again (same version and run
    id) counts once. A version that cannot be loaded or run is recorded as a failed step.
    """
    from tollens.monitoring import command

    order = _order(options)
    row = command.step(order, monitor_settings(options), screen.runs(order.name))
    screen.step(row)
    return _code(row, order.version)


@monitor.command("counts")
@click.argument("name")
@click.option("--version", required=True, help="The version that was run, such as a commit.")
@click.option(
    "--counts",
    required=True,
    metavar="JSON",
    help="How many runs on x and on x' were in each event: '{\"output <= 0\": [3, 1]}'.",
)
@click.option("--n", type=click.INT, metavar="N", help="Runs on each input. [default: --pairs]")
@click.option("--run-id", help="Tells further runs of one version apart. [default: 1]")
@click.option("--claim", metavar="TEXT", help="The claim; that of the series if not given.")
@settings_of({"pairs": MONITOR_KEYS["pairs"], **_COUNTED})
@common(*SERIES_FORMATS)
@reporting
def counts(screen: Screen, options: dict[str, object]) -> int:
    """Add a step of which only counts of events are known, from runs made elsewhere."""
    from tollens.monitoring import command

    n = options["n"]
    version = str(options["version"])
    row = command.count(
        str(options["name"]),
        version,
        str(options["counts"]),
        n=n if isinstance(n, int) else None,
        run_id=_text(options, "run_id"),
        claim=_text(options, "claim"),
        settings=monitor_settings(options),
    )
    screen.step(row)
    return _code(row, version)


@monitor.command("status")
@settings_of(_STORE)
@common(*SERIES_FORMATS, "prometheus")
@reporting
def status(screen: Screen, options: dict[str, object]) -> int:
    """Show how every series of the store stands; exit with 1 if any alarm is open.

    Series that are failing or stale do not change the exit code: it is 0 without an alarm. It is 3
    if there is no series.

    With --format prometheus and -o FILE the file is replaced as a whole, for the textfile
    collector of node_exporter.
    """
    from tollens.monitoring import command

    rows = command.status(monitor_settings(options))
    screen.status(rows)
    if any(row.alarm for row in rows):
        return REFUTED
    return 0 if rows else NOTHING_DECIDED


@monitor.command("history")
@click.argument("name")
@click.option(
    "--last",
    type=click.IntRange(min=1),
    metavar="K",
    help="Only the last K steps. [default: 50 as text, all as json]",
)
@settings_of(_STORE)
@common(*SERIES_FORMATS)
@reporting
def history(screen: Screen, options: dict[str, object]) -> int:
    """Show the steps of a series: evidence and leak over versions, alarms and failed steps.

    The exit code is 0, whether an alarm is open or not; `tollens monitor status` says that.
    """
    from tollens.monitoring import command

    last = options["last"]
    otherwise = 50 if options["format_"] == "text" else None
    found = command.history_view(
        str(options["name"]), last if isinstance(last, int) else otherwise,
        monitor_settings(options),
    )  # fmt: skip
    screen.history(found)
    return 0


@monitor.command("acknowledge")
@click.argument("name")
@click.option("--reason", required=True, help="Why the alarm is closed; it is kept.")
@settings_of(_STORE)
@common("text", "json")
@reporting
def acknowledge(screen: Screen, options: dict[str, object]) -> int:
    """Close the open alarm of a series; evidence starts anew with the next step."""
    from tollens.monitoring import command

    alarm, row = command.close_alarm(
        str(options["name"]), str(options["reason"]), monitor_settings(options)
    )
    screen.acknowledged(row, alarm)
    return 0


@monitor.command("migrate")
@settings_of(_STORE)
@common("text", "json")
@reporting
def migrate(screen: Screen, options: dict[str, object]) -> int:
    """Bring a store that an older tollens made to the schema of this one; make a copy before."""
    from tollens.monitoring import command

    settings = monitor_settings(options)
    screen.migrated(str(settings["store"]), changed=command.migrate(settings))
    return 0


@monitor.command("backfill")
@click.argument("target")
@click.option(
    "--range", "range_", required=True, metavar="A..B", help="The commits, as git reads them."
)
@click.option(
    "--path",
    default=".",
    metavar="REPO",
    help="The repository, or a folder in it from which TARGET is seen. [default: .]",
)
@click.option(
    "--confirm",
    type=click.IntRange(min=1),
    default=20_000,
    metavar="PAIRS",
    help="Pairs of runs of each audit that looks for the commit of the break.",
    show_default=True,
)
@_watched
@settings_of(MONITOR_KEYS)
@common("text", "json")
@reporting
def backfill(screen: Screen, options: dict[str, object]) -> int:
    """Make a step for each commit of a range, and find the commit that broke the claim.

    Commits are checked out one by one, first parents only, in a worktree of their own that is
    removed again. At the alarm the commits around the likely break are audited. Run again, it
    goes on where it stopped.
    """
    from tollens.monitoring.backfill import walk

    order = walk.Order(
        _order({**options, "version": "-"}),
        str(options["range_"]),
        str(options["path"]),
        int(str(options["confirm"])),
    )
    found = walk.backfill(order, monitor_settings(options), screen.remark)
    screen.backfill(found)
    if found.alarm is not None:
        return REFUTED
    return 0 if found.scored else NOTHING_DECIDED


def _order(options: Mapping[str, object]) -> Step:
    from tollens.monitoring.command import Step
    from tollens.request import Request

    events = options["event"]
    return Step(
        Request.from_options(options),
        str(options["name"]),
        str(options["version"]),
        _text(options, "run_id"),
        tuple(str(event) for event in events) if isinstance(events, tuple) else (),
        bool(options["keep_outputs"]),
    )


def _text(options: Mapping[str, object], name: str) -> str | None:
    value = options[name]
    return None if value is None else str(value)


def _code(row: Standing, version: str) -> int:
    if row.alarm:
        return REFUTED
    failed = row.state.last_outcome == "failed" and row.state.version == version
    return NOTHING_DECIDED if failed else 0
