"""The commands `tollens refute` and `tollens verify`: one function a command, no logic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tollens.cli_options import FORMATS, REFUTED, common, exit_code, reporting, targeted
from tollens.refutation.found import TIMEOUT

if TYPE_CHECKING:
    from tollens.report.screen import Screen


@click.command("refute")
@click.argument("target")
@targeted
@click.option(
    "--engine",
    default="auto",
    metavar="NAME",
    help="How a proof is looked for: events, moments, martingale or balls; auto takes the "
    "cheapest that applies.",
    show_default=True,
)
@click.option(
    "--timeout",
    type=click.FLOAT,
    default=TIMEOUT,
    metavar="SECONDS",
    help="Seconds for the whole search.",
    show_default=True,
)
@click.option(
    "--certificate",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.json",
    help="Write the proof to a file, which `tollens verify` checks again.",
)
@common(*FORMATS)
@reporting
def refute(screen: Screen, options: dict[str, object]) -> int:
    """Look for a proof that the claim of TARGET is false; TARGET is read, not run.

    TARGET is "path/file.py::name" or "package.module:name" and names a function of its data that
    draws from tollens.noise; its file is imported. The claim and the neighbours may stand in the
    file (@tollens.promise) or be given here. Numbers are exact: 0.1 is 1/10.

    Exits with 1 if the claim is refuted, 0 if the search is done and found no proof, and 3 if it
    could not be made or was not finished.
    """
    from tollens.refutation import command
    from tollens.request import Request

    certificate = options["certificate"]
    verdict = command.refute_target(
        Request.from_options(options),
        engine=str(options["engine"]),
        timeout=float(str(options["timeout"])),
        certificate=certificate if isinstance(certificate, Path) else None,
        progress=screen.searching,
    )
    screen.verdict(str(options["target"]), verdict)
    if isinstance(certificate, Path):
        wrote = f"the certificate is in {certificate}; check it with: tollens verify {certificate}"
        screen.remark(wrote if verdict.refuted else f"no proof: {certificate} was not written")
    return exit_code([verdict.outcome.name])


@click.command("verify")
@click.argument("certificate", type=click.Path(path_type=Path))
@common(*FORMATS)
@reporting
def verify(screen: Screen, options: dict[str, object]) -> int:
    """Check a certificate by itself, in exact arithmetic; nothing is run.

    CERTIFICATE is a file of `tollens refute --certificate`, or of its `--format json`.

    Exits with 1 if the certificate is valid, because the claim in it is then refuted, and with 2,
    and the first fault found, if it proves nothing. --exit-zero turns the 1 into 0.
    """
    from tollens.refutation import command

    path = Path(str(options["certificate"]))
    verified, verdict = command.verify_file(path)
    screen.verified(str(path), verified, verdict)
    return REFUTED
