"""The command `tollens serve`: the dashboard of a monitor's store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tollens.cli_options import common, monitor_settings, reporting, settings_of
from tollens.settings import MONITOR_KEYS

if TYPE_CHECKING:
    from tollens.report.screen import Screen

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option(
    "--host", default="127.0.0.1", show_default=True,
    help="Where to listen; any but this machine alone needs --token-file.",
)  # fmt: skip
@click.option("--port", type=click.INT, default=8317, show_default=True, help="0: any free one.")
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME",
    help="A name under which browsers reach the server, such as that of a proxy; may be repeated.",
)  # fmt: skip
@click.option("--token-file", type=_FILE, help="Holds the token that reading needs.")
@click.option(
    "--acknowledge-token-file", type=_FILE, help="Holds the token that acknowledging needs."
)
@settings_of({"store": MONITOR_KEYS["store"]})
@common("text")
@reporting
def serve(screen: Screen, options: dict[str, object]) -> int:
    """Show the store of a monitor in the browser, and to Prometheus.

    Ends with Ctrl-C. Metrics are at /metrics, JSON below /api/series.
    """
    from tollens.server.run import serve as run
    from tollens.server.settings import serve_settings

    names = options["names"]
    settings = serve_settings(
        host=str(options["host"]),
        port=int(str(options["port"])),
        names=[str(name) for name in names] if isinstance(names, tuple) else [],
        token_file=_path(options, "token_file"),
        acknowledge_token_file=_path(options, "acknowledge_token_file"),
    )
    run(str(monitor_settings(options)["store"]), settings, screen.remark)
    return 0


def _path(options: dict[str, object], name: str) -> Path | None:
    value = options[name]
    return value if isinstance(value, Path) else None
