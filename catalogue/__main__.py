"""`python -m catalogue run` audits entries, `python -m catalogue show` prints what was found."""

from __future__ import annotations

import fnmatch

import click

from catalogue import environments
from catalogue.entries import entries
from catalogue.entry import Entry
from catalogue.results import Result, path_of, saved
from catalogue.running import NotReady, run
from tollens.errors import TollensError

SEED = 1


@click.group()
def main() -> None:
    """Releases of privacy libraries, what they promise, and what tollens found."""


main.add_command(environments.main, "environments")


@main.command("run")
@click.argument("ids", nargs=-1)
@click.option("--missing", is_flag=True, help="Only those of which there is no result.")
@click.option("--seed", default=SEED, show_default=True, help="Seed of each audit.")
@click.option("--keep/--look", default=True, help="Write the results, or only print them.")
def run_command(ids: tuple[str, ...], missing: bool, seed: int, keep: bool) -> None:
    """Audit the entries IDS (patterns such as 'opendp016-*'), or all."""
    chosen = _chosen(ids)
    failed = []
    for entry in chosen:
        if missing and path_of(entry.id).exists():
            continue
        try:
            result = run(entry, seed=seed)
        except (NotReady, TollensError) as error:
            failed.append(entry.id)
            click.echo(f"{entry.id}: not audited: {error}", err=True)
            continue
        if keep:
            result.save()
        surprise = {("sound", "REFUTED"), ("broken", "UNREFUTED")} & {(entry.truth, result.outcome)}
        click.echo(_line(result) + (f"  (known as {entry.truth})" if surprise else ""))
    if failed:
        raise click.ClickException(f"not audited: {', '.join(failed)}")


@main.command()
@click.argument("ids", nargs=-1)
def show(ids: tuple[str, ...]) -> None:
    """Print what was found of the entries IDS, or of all."""
    results = saved()
    for entry in _chosen(ids):
        if entry.id in results:
            click.echo(_line(results[entry.id]))


def _chosen(patterns: tuple[str, ...]) -> list[Entry]:
    known = entries()
    wrong = [each for each in patterns if not fnmatch.filter(known, each)]
    if wrong:
        raise click.UsageError(f"no entry is named {', '.join(wrong)}")
    wanted = {id for each in patterns or ("*",) for id in fnmatch.filter(known, each)}
    return [entry for id, entry in known.items() if id in wanted]


def _line(result: Result) -> str:
    found = f"epsilon >= {result.epsilon_lower:.3g}" if result.outcome == "REFUTED" else ""
    if result.outcome == "UNREFUTED" and result.detectable_excess is not None:
        found = f"detectable {result.detectable_excess:.3g}"
    return (
        f"{result.outcome:10} {result.id:48} {result.claim:28} {found:20} "
        f"{result.pairs:>7} pairs {result.seconds:>6} s"
    )


if __name__ == "__main__":
    main()
