"""The command `tollens report`: no logic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tollens.cli_options import common, reporting

if TYPE_CHECKING:
    from tollens.report.screen import Screen


@click.command("report")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@common("html", "markdown", "sarif", "junit", "json")
@reporting
def report(screen: Screen, options: dict[str, object]) -> int:
    """Make one report of FILES, for people and for auditors.

    FILES are what `--format json` of `tollens audit`, `refute`, `check` and `monitor history`
    prints, certificates, what pytest stores with --dp-store, and reports of training; of a folder,
    all files in it that end in .json or .jsonl. Certificates are checked again. A report in HTML is
    one file that needs no network and no script.

    Exits with 0 if the report is made, whatever it says, and with 2 if a file is none of these.
    """
    from tollens.report.gather import gather

    given = options["files"]
    files = [Path(str(path)) for path in given] if isinstance(given, tuple) else []
    screen.keeps(files)
    screen.report(gather(files))
    return 0
