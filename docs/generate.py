"""Write the generated parts of the documentation: `python docs/generate.py`.

Two pages are made as a whole (`command-line.md` of the command line itself, `zoo.md` of the zoo).
In all other pages, the text between a line `<!-- generated: NAME -->` and the line `<!-- end -->`
is made by the function of that name below. A test compares what stands there with what is made
now, so neither can drift from the code.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import click

import tollens
from tollens import cli, cli_options
from tollens.settings import ALL_OF_CHECK, KEYS, MONITOR_KEYS, PYTEST_KEYS, Key

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "benchmarks" / "results" / "bench.md"
RESULT = BENCH.with_suffix(".json")
PEERS = ROOT / "benchmarks" / "peers.json"
CALIBRATION = ROOT / "benchmarks" / "results" / "calibration.json"
NOT_MEASURED = "run `make bench`"

_BLOCK = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


# The command line


def command_line() -> str:
    """The page on the command line, from click and from the settings."""
    parts = [
        "# Command line",
        "<!-- This page is made by docs/generate.py; edit the help texts in the source. -->",
        "Progress and remarks go to stderr, the result to stdout.",
    ]
    for path, command in _commands(cli.main, ("tollens",)):
        parts.append(f"## `{' '.join(path)}`")
        parts.append(_plain_help(command))
        parts.append(f"```text\n{_usage(path, command)}\n```")
        own, common = _options(command)
        if own:
            parts.append(_table(("option", "meaning"), own))
        if common:
            parts.append("It also takes the [common options](#common-options).")
    _, common = _options(cli.audit)
    parts += ["## Common options", _table(("option", "meaning"), common)]
    parts += ["## Exit codes", _table(("code", "when"), _exit_codes())]
    parts += [
        "## Settings",
        "A flag wins over the environment, the environment over a file, a file over the default. "
        "The file is the nearest `tollens.toml`, or `pyproject.toml` with a table "
        "`[tool.tollens]`, in the working folder or above it; `--config FILE` names another. "
        "An unknown key is an error, with a suggestion.",
        _table(
            ("key", "environment", "value", "default", "meaning"),
            _settings(ALL_OF_CHECK, "TOLLENS_"),
        ),
        "`tollens monitor` reads a table of its own, `[tool.tollens.monitor]`, because its alpha "
        "and its method mean something else. `store`, `delta`, `seed`, `workers` and `timeout` may "
        "also stand in `[tool.tollens]` and in variables such as `TOLLENS_STORE`. A relative path "
        "of a store in a file is seen from the folder of that file.",
        _table(
            ("key", "environment", "value", "default", "meaning"),
            _settings(MONITOR_KEYS, "TOLLENS_MONITOR_"),
        ),
        "Sessions of [pytest](pytest.md) read these keys of `[tool.tollens]`, and the settings of "
        "an audit above but for `alpha`, `budget` and `seed`.",
        _table(
            ("key", "environment", "value", "default", "meaning"),
            _settings(PYTEST_KEYS, "TOLLENS_"),
        ),
        "The tables `[[tool.tollens.promises]]` (in `tollens.toml`: `[[promises]]`) declare "
        "[promises](pytest.md#promises-as-tests) with the keys `target`, `claim` and `neighbours`.",
    ]
    return "\n\n".join(parts) + "\n"


def _commands(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands below a group that do something, with the words that call them."""
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from _commands(child, (*path, name))
    else:
        yield path, command


def _plain_help(command: click.Command) -> str:
    paragraphs = (command.help or "").replace("\b", "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _usage(path: tuple[str, ...], command: click.Command) -> str:
    words = [*path, "[OPTIONS]"]
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            name = (parameter.metavar or parameter.name or "").upper()
            words.append(f"[{name}]..." if parameter.nargs < 0 else name)
    return " ".join(words)


def _options(command: click.Command) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The rows of a command's own options, and of those that all commands have."""
    shared = set.intersection(
        *(
            {p.name or "" for p in each.params if isinstance(p, click.Option)}
            for _, each in _commands(cli.main, ())
        )
    )
    own: list[tuple[str, str]] = []
    common: list[tuple[str, str]] = []
    for option in command.params:
        if isinstance(option, click.Option):
            row = (f"`{' '.join(filter(None, (option.opts[-1], _value(option))))}`", _help(option))
            usual = option.name in shared and _value(option) in _usual_values(option.name)
            (common if usual else own).append(row)
    return own, common


def _usual_values(name: str | None) -> list[str]:
    """What an option takes in `audit`."""
    options = [p for p in cli.audit.params if isinstance(p, click.Option)]
    return [_value(option) for option in options if option.name == name]


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return "\\|".join(str(choice) for choice in option.type.choices)
    return (option.metavar or option.type.name.upper()).replace("|", "\\|")


def _help(option: click.Option) -> str:
    text = re.sub(r" \[default: (.*)\]$", r" Default: \1.", option.help or "")
    if option.show_default and isinstance(option.default, str | int | float):
        text += f" Default: {option.default}."
    return _cell(text)


def _exit_codes() -> list[tuple[str, str]]:
    return [
        (
            f"{cli_options.REFUTED}",
            "something was refuted, or an alarm is open (wins over all below; `--exit-zero` makes "
            "it 0); `verify`: the certificate is valid, so its claim is refuted",
        ),
        (
            f"{cli_options.WRONG_USE}",
            "wrong use or wrong settings; `check`: a promise could not be tested",
        ),
        (
            f"{cli_options.NOTHING_DECIDED}",
            'nothing could be decided, or nothing was tested: "tested nothing" is never 0; '
            "`monitor`: the version could not be run, or there is no series; `refute`: the program "
            "is outside the subset, or the time was up",
        ),
        ("0", "at least one promise was tested or searched, and nothing was refuted"),
        (f"{cli_options.INTERRUPTED}", "interrupted; the verdict so far is printed first"),
    ]


def _settings(keys: dict[str, Key], prefix: str) -> list[tuple[str, ...]]:
    return [
        (
            f"`{name}`",
            f"`{prefix}{name.upper().replace('-', '_')}`",
            key.kind,
            _default(key.default),
            _cell(key.help),
        )
        for name, key in keys.items()
    ]


def _default(value: object) -> str:
    """A default as a settings file would give it."""
    if value is None:
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


# The zoo


def zoo() -> str:
    """The page on the mechanisms and programs with known truth."""
    from tollens.report.program_text import holds_words
    from tollens.zoo import entries
    from tollens.zoo.programs import entries as programs

    rows = [
        (
            f"`{entry.name}`",
            _cell(entry.title),
            _cell(str(entry.claim)),
            "∞" if entry.true_epsilon == float("inf") else f"{entry.true_epsilon:.4g}",
            "yes" if entry.holds else "**no**",
            _cell(entry.truth),
            _cell(entry.source),
        )
        for entry in entries()
    ]
    head = ("name", "what it is", "claim", "true ε", "holds", "how the truth is known", "source")
    suite = [
        (
            f"`{program.id}`",
            f"`{program.name}`",
            _cell(program.title),
            _cell(str(program.claim)),
            "∞" if program.epsilon == float("inf") else f"{program.epsilon:.4g}",
            "**no**" if program.broken else holds_words(program),
            _cell(program.source),
        )
        for program in programs()
    ]
    parts = (
        "# The zoo",
        "<!-- This page is made by docs/generate.py. -->",
        "Mechanisms whose truth is known, correct and broken. `tollens zoo show NAME` shows "
        "one with its pair of neighbours, and `tollens zoo self-test` audits them all: what "
        "is broken must be refuted, what is correct must not be. The true ε is the smallest "
        "on that pair, at the delta of the claim (1e-05 for claims without one). "
        "[Below](#programs) are programs that proofs are looked for in.",
        _table(head, rows),
        "An entry is an ordinary mechanism, to be used in your own tests of auditors:",
        "```python\nimport tollens\nfrom tollens.zoo import get\n\n"
        'entry = get("svt6")\n'
        "verdict = tollens.audit(entry.mechanism, entry.claim, neighbours=entry.neighbours)\n"
        "assert verdict.refuted != entry.holds\n```",
        "## Programs",
        "These are functions whose text can be read, for `tollens refute` and for your own tests "
        "of tools that do the like. `tollens zoo show ID` shows one with its text, and the "
        "self-test searches them all: a proof must be found of what is broken, and of nothing "
        'else. "Tight" are those where the truth is the claim itself or comes as near to it as one '
        "likes. The true ε is again the smallest on one pair of neighbours, at the delta of the "
        "claim.",
        _table(("id", "name", "what it is", "claim", "true ε", "holds", "known by"), suite),
        "```python\nimport tollens\nfrom tollens.zoo.programs import get\n\n"
        'program = get("S2-n4")\n'
        "verdict = tollens.refute(program.function, program.claim, neighbours=program.pair)\n"
        "assert verdict.refuted == program.broken\n```",
    )
    return "\n\n".join(parts) + "\n"


# Blocks in pages


def _half_noise_count(rows, rng):
    return len(rows) + rng.laplace(scale=0.5)


def _tight_count(rows, rng):
    return len(rows) + rng.laplace(scale=1.0)


def _constant(rows):
    return 3


@cache
def _audited(mechanism: Callable[..., object], name: str) -> tollens.Verdict:
    """An audit with a fixed seed."""
    mechanism.__qualname__ = name
    return tollens.audit(mechanism, tollens.pure(1), neighbours=([1, 1, 1], [1, 1]), seed=1)


def _shown(mechanism: Callable[..., object], name: str) -> str:
    """What `print` shows of it."""
    return f"```text\n{_audited(mechanism, name)}\n```"


def example() -> str:
    """The output of the first example."""
    return _shown(_half_noise_count, "noisy_count")


def unrefuted() -> str:
    """A verdict on a correct count."""
    return _shown(_tight_count, "count")


def undecided() -> str:
    """A verdict on a mechanism that shows nothing random."""
    return _shown(_constant, "constant")


def proved() -> str:
    """A verdict with a proof."""
    from tollens.zoo.programs import get

    verdict = tollens.refute(get("L1").function, "epsilon=1", neighbours=(1, 0))
    return f"```text\n{verdict}\n```"


def reasons() -> str:
    """The reasons of verdicts and their texts."""
    rows = [(f"`{reason.name}`", _cell(reason.value)) for reason in tollens.Reason]
    return _table(("reason", "text"), rows)


def bench() -> str:
    """All tables of the last benchmark but the peers' task; headings become bold lines."""
    if not BENCH.exists():
        return f"Our own figures: {NOT_MEASURED}."
    sections = re.split(r"^(?=#+ )", BENCH.read_text(encoding="utf-8"), flags=re.MULTILINE)
    kept = "".join(part for part in sections if "The same task for all" not in part[:80])
    return re.sub(r"^#+ (.*)$", r"**\1**", kept.strip(), flags=re.MULTILINE)


def false_alarms() -> str:
    """How often claims that hold with nothing to spare were refuted, as `make calibrate` found."""
    measured = _json(CALIBRATION)
    if not measured:
        return "Not measured for this version: run `make calibrate`."
    titles = {
        "false alarms": "claim at its boundary",
        "certified leaks": "certified leak, against the truth",
    }
    sources = sorted({f"{row['tollens']}, {row['digest']}" for row in measured["rows"]})
    parts = [f"Version and digest of the audit's sources: {'; '.join(sources)}."]
    for table, title in titles.items():
        rows = [
            (
                row["case"],
                f"{row['runs']:,} of {row['pairs']:,}",
                f"{row['errors']}",
                f"{row['rate']:.3f} ± {row['standard_error']:.3f}",
                f"{row['limit']:.3f}",
                "yes" if row["passed"] else "**no**",
            )
            for row in measured["rows"]
            if row["table"] == table
        ]
        if rows:
            head = (title, "runs of pairs", "wrong", "share", "at most", "met")
            parts.append(_table(head, rows))
    return "\n\n".join(parts)


def scale() -> str:
    """The table of the benchmark on several workers."""
    section = _json(RESULT).get("sections", {}).get("scale")
    if section is None:
        return NOT_MEASURED
    rows = [
        (
            row["what"],
            f"{row['more']['runs a second']:,.0f}",
            f"{row['more']['times one']:.2f}" if "times one" in row["more"] else "",
        )
        for row in section["rows"]
        if row["more"]
    ]
    return _table(("1 ms a run", "runs a second", "times one worker"), rows)


def peers() -> str:
    """One task for all tools: theirs as measured once, ours of the last benchmark."""
    head = ("tool", "runs of the mechanism", "broken found", "correct flagged")
    return _table(head, [row[:4] for row in _peers()])


def peers_in_full() -> str:
    """The same table with the sources."""
    head = ("tool", "runs of the mechanism", "broken found", "correct flagged", "source")
    return _table(head, _peers())


def peers_further() -> str:
    """What else was measured of other tools, beside ours where the last benchmark has it."""
    rows = [
        (row["tool"], row["measured"], row["result"], _ours(row["ours"]) if "ours" in row else "")
        for row in _json(PEERS)["further"]
    ]
    return _table(("tool", "what was measured", "result", "tollens"), rows)


def _peers() -> list[tuple[str, ...]]:
    ours = _json(RESULT).get("peers")
    name = "**tollens**, α = 1e-6 for the whole run"
    first = (name, NOT_MEASURED, "", "", "this repository")
    if ours:
        found, flagged = (f"{ours[key]} of {ours['repeats']}" for key in ("found", "flagged"))
        first = (name, f"{ours['median_runs']:.0f} (median)", found, flagged, first[4])
    keys = ("tool", "runs", "broken_found", "correct_flagged", "source")
    return [first, *(tuple(row[key] for key in keys) for row in _json(PEERS)["rows"])]


def _ours(figure: str) -> str:
    """One of our figures; the benchmark may not have it."""
    result = _json(RESULT)
    try:
        if figure == "flagged":
            ours = result["peers"]
            return f"{ours['flagged']} of {ours['repeats']} (5000 pairs, α = 1e-6)"
        half = [row for row in result["grid"] if row["ratio"] == 2 and row["claim"] <= 2]
        found = sum(row["runs"] - row["not_refuted"] for row in half)
        claims = ", ".join(f"{row['claim']:g}" for row in half)
        return (
            f"{found} of {sum(row['runs'] for row in half)} (ε = {claims}; α = {result['alpha']:g})"
        )
    except KeyError:
        return NOT_MEASURED


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def floor() -> str:
    """Pairs without which nothing is refuted, and the excess that the default budget finds."""
    from tollens.auditing.power import detectable_excess, fewest_pairs

    rows = []
    budget = int(str(KEYS["budget"].default))
    for epsilon in (0.1, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 10):
        claim = tollens.pure(epsilon)
        few = [
            fewest_pairs(claim, alpha, coupling)
            for alpha, coupling in ((0.05, "independent"), (1e-6, "independent"), (1e-6, "auto"))
        ]
        able = few[2] is not None and few[2] <= budget
        found = detectable_excess(claim, 1e-6, budget) if able else float("inf")
        last = "none" if found == float("inf") else f"{found:.3g}"
        rows.append((f"{epsilon:g}", *("none" if n is None else f"{n:,}" for n in few), last))
    head = (
        "claim ε",
        "fewest pairs, α = 0.05",
        "fewest pairs, α = 1e-6",
        "the same where runs may be coupled",
        f"ε' found nine times in ten with {budget:,} pairs, α = 1e-6",
    )
    return _table(head, rows)


def _row(module: object, name: str, meaning: str) -> tuple[str, str, str]:
    """A row about a constant: its place, its value, and what it is."""
    value = getattr(module, name)
    if isinstance(value, tuple):
        text = ", ".join(map(str, value))
    elif hasattr(value, "shape"):
        text = f"{len(value)} from {value[0]:g} to {value[-1]:g}"
    else:
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
    place = str(getattr(module, "__name__", "")).removeprefix("tollens.")
    return f"`{place}.{name}`", text, meaning


def constants() -> str:
    """The constants of the audit, by their names in the source."""
    from tollens import contract, divergence
    from tollens.auditing import (
        bandit,
        density,
        experts,
        leak,
        paired,
        power,
        product,
        score,
        sequential,
        shrink,
        ville,
    )

    rows = [
        _row(sequential, "BURN_IN", "pairs that are only looked at before the first bet"),
        _row(sequential, "REFIT", "growth of the number of pairs between two fits of the cells"),
        _row(sequential, "REBET", "growth of the number of pairs between two sets of bets"),
        _row(sequential, "MEMORY", "pairs after which the cells stay as they are"),
        _row(sequential, "MOST_NUMBERS", "numbers a side after which they do so earlier"),
        _row(sequential, "TRIED", "coupled pairs that are tried before a kind is preferred"),
        _row(sequential, "EXPLORED", "the least share of coupled pairs after that"),
        _row(sequential, "LEAK_SHARE", "part of alpha that pays for the bound on the leak"),
        _row(sequential, "DEFAULT_DELTA", "where a leak is stated for claims without a delta"),
        _row(bandit, "EQUAL", "part of the prior of pairs of inputs that is equal for all"),
        _row(bandit, "BACKED", "log wealth that a pair must seem to gain before it gets a stake"),
        _row(shrink, "SHARE", "part of alpha that is kept for shrinking the pair that refuted"),
        _row(shrink, "LEAST_PAIRS", "fewest pairs of runs for a smaller pair of inputs"),
        _row(shrink, "TIMES", "times the runs of the last pair that a smaller one may take"),
        _row(experts, "SMOOTHING", "added to the count of each cell"),
        (
            "`auditing.experts.TABLE`",
            f"{len(experts.TABLE)} slots",
            "gamblers that share the starting wealth",
        ),
        (
            "`auditing.product.RATIOS`",
            ", ".join(f"{n} : {m}" for n, m in product.RATIOS),
            "runs on x and on x' in a round, besides equal numbers",
        ),
        _row(product, "WORTH", "gain, times that of equal numbers, for which those are left"),
        _row(product, "FAVOURITE", "share of the favourite, for outputs of several numbers"),
        _row(experts, "LEAST_PULL", "pseudo-pairs of a steady gambler, at least"),
        _row(experts, "MOST_PULL", "pseudo-pairs of a steady gambler, at most"),
        _row(experts, "FAMILY_PULL", "those of the others who look at a family of noise, at most"),
        _row(paired, "EVENTS", "tests that a bet on coupled pairs may use"),
        _row(density, "FINE", "cells of a density estimate"),
        _row(score, "MAX_TRAINING", "runs a side that a fit of a score looks at"),
        _row(score, "TREES", "trees of a boosted score"),
        _row(score, "LEAVES", "leaves of each tree"),
        _row(score, "FEWEST_FOR_TREES", "runs from which trees are fitted"),
        _row(score, "MOST_FOR_TREES", "numbers that trees are fitted to at most"),
        _row(leak, "GRID", "values that the bound on the leak may take"),
        _row(leak, "REBET", "growth of the number of pairs between two sets of bets on the leak"),
        _row(leak, "SHORTCUT", "part of the error of that bound for rejecting blocks of claims"),
        _row(power, "PLAYED", "audits simulated for each candidate of the detectable excess"),
        _row(ville, "ROUNDING", "allowance for floating-point error in a certified bet"),
        _row(contract, "TANGENTS", "values of epsilon at which a curved claim is bet against"),
        _row(divergence, "ORDERS", "orders at which a zCDP claim is imposed"),
    ]
    return _table(("name", "value", "meaning"), rows)


def monitor_constants() -> str:
    """The constants of the exact monitor."""
    from tollens.monitoring.brownian import small_counts
    from tollens.monitoring.exact import data, evidence, leak, rungs

    rows = [
        _row(data, "SUB_BATCH", "pairs of runs that are scored together"),
        _row(data, "FEWEST", "sub-batches at least, where a step has so many pairs"),
        _row(rungs, "PERIODS", "steps that the rungs remember at most"),
        _row(rungs, "DISCOUNT", "what a learned number costs a favourite"),
        _row(evidence, "LEARN_AT", "sub-batches of a step after which it is learned from"),
        _row(evidence, "OVERALL", "share of the overall favourite"),
        _row(evidence, "FAVOURITES", "share of the favourites of the rungs and of the step"),
        _row(leak, "SHARE", "part of alpha that pays for the bound on the leak"),
        _row(leak, "GRID", "values it may take"),
        _row(small_counts, "WARN", "times alpha from which the Brownian monitor warns"),
        _row(small_counts, "REFUSE", "times alpha above which it raises no alarm"),
    ]
    return _table(("name", "value", "meaning"), rows)


def memory() -> str:
    """How many pairs an audit keeps of outputs with so many numbers."""
    from tollens.auditing.sequential import MEMORY, MOST_NUMBERS
    from tollens.outputs import MAX_NUMBERS

    rows = [
        (f"{width:,}", f"{min(MEMORY, MOST_NUMBERS // width):,}")
        for width in (1, MOST_NUMBERS // MEMORY, 1000, MAX_NUMBERS)
    ]
    return _table(("numbers of an output", "pairs of runs kept at most"), rows)


def slots() -> str:
    """The gamblers: what each looks at."""
    from tollens.auditing.experts import TABLE
    from tollens.auditing.smoothing import LAWS

    lenses = {"value": "the number, or the linear score", "single": "single number"}
    cells = {
        "quantiles": "{:.0f} quantiles",
        "tails": "tails and edges",
        "density": "density, bandwidth x {:g}",
        "values": "at most {:.0f} exact values",
        "calibrated": "calibrated",
        **{family: f"{family} noise with {{:.0f}} scales" for family in LAWS},
    }
    rows = [
        (
            slot.name,
            lenses.get(slot.lens, "boosted trees"),
            cells[slot.cells].format(slot.size).replace("1 scales", "one scale"),
            "steady" if slot.steady else "bold",
            slot.instead,
        )
        for slot in TABLE
    ]
    return _table(("slot", "looks at", "cut into", "style", "joins instead"), rows)


_STEP = "tollens monitor step counts.py::noisy_count --name noisy-count --version {} --seed 1"
_REASON = "the scale was halved in v3; mended in v4"
_COMMITS = (1.0, 1.0, 1.0, None, 1.0, 0.5, 0.5, 0.5)
"""The scales of the commits that are walked; the version that is None cannot be imported."""


class _Shell:
    """Runs commands in a folder, one after the other, and keeps what a terminal would show."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ours = ("TOLLENS_", "GIT_", "CI", "BUILD_NUMBER")  # as at a terminal of a person
        named = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
               for key, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"),
                                  ("DATE", "2026-03-01T12:00:00Z"))}  # fmt: skip
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        self.environment = {**named, **who, **quiet, "PYTHONIOENCODING": "utf-8"}

    def run(self, line: str, *, shown: bool = True) -> list[str]:
        """The line as it is typed, and what it prints."""
        words = shlex.split(line)
        if words[0] in ("tollens", "pytest"):
            words = [sys.executable, "-m", *words]
        done = subprocess.run(  # noqa: S603 - our own commands
            words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", check=False,
        )  # fmt: skip
        self.code = done.returncode
        moment = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-03-01 12:00", done.stdout)
        printed = [each.rstrip() for each in moment.splitlines()]
        return [f"$ {line}", *(printed if shown else [])]

    def echo(self) -> list[str]:
        """The exit code of the last command, as one asks for it."""
        return ["$ echo $?", str(self.code)]


def _mechanisms() -> list[str]:
    """The files of the page on monitors, in order."""
    page = (ROOT / "docs" / "monitor.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(# counts\.py\n.*?)^```$", page, re.MULTILINE | re.DOTALL)


@cache
def _story() -> dict[str, str]:
    """The commands of the page on monitors, run in a folder of their own."""
    good, broken = _mechanisms()
    with tempfile.TemporaryDirectory() as folder:
        shell = _Shell(Path(folder))
        file = shell.folder / "counts.py"
        file.write_text(good, encoding="utf-8")
        quiet = shell.run(_STEP.format("v1")) + shell.echo()
        quiet += shell.run(_STEP.format("v2"), shown=False)
        file.write_text(broken, encoding="utf-8")
        alarm = shell.run(_STEP.format("v3")) + shell.echo()
        closed = shell.run(f'tollens monitor acknowledge noisy-count --reason "{_REASON}"')
        closed += shell.run("tollens monitor status", shown=False) + shell.echo()
        history = shell.run("tollens monitor history noisy-count")
    lines = {"quiet": quiet, "alarm": alarm, "closed": closed, "history": history}
    return {name: "\n".join(["```console", *each, "```"]) for name, each in lines.items()}


def _walk() -> str:
    """A walk over commits, with what it says on the way."""
    good = _mechanisms()[0]
    with tempfile.TemporaryDirectory() as folder:
        shell = _Shell(Path(folder))
        shell.run("git init --quiet --initial-branch=main")
        for number, scale in enumerate(_COMMITS):
            text = f"# change {number}\n" + good.replace("scale=1.0", f"scale={scale}")
            text = f"import no_such_module\n{text}" if scale is None else text
            (shell.folder / "counts.py").write_text(text, encoding="utf-8", newline="\n")
            shell.run("git add counts.py")
            shell.run(f'git commit --quiet --message "change {number}"')
            if not number:
                shell.run("git tag v1.0")
        line = "tollens monitor backfill counts.py::noisy_count --range v1.0..main "
        shown = shell.run(f"{line}--name noisy-count --seed 1")
    return "\n".join(["```text", *shown, "```"])


def _scores() -> str:
    """The audit of the canaries that the page on scores makes."""
    page = (ROOT / "docs" / "scores.md").read_text(encoding="utf-8")
    made = re.findall(r"^```python\n(# attack\.py\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        shell = _Shell(Path(folder))
        (shell.folder / "attack.py").write_text(made[0], encoding="utf-8")
        shell.run(f"{shlex.quote(sys.executable)} attack.py")
        shown = shell.run('tollens audit canaries.csv --claim "epsilon=1" --alpha 0.05')
        shown += shell.echo()
    return "\n".join(["```console", *shown, "```"])


def _cell(text: str) -> str:
    """A text that may stand in a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


BLOCKS: dict[str, Callable[[], str]] = {
    "monitor-quiet": lambda: _story()["quiet"],
    "monitor-alarm": lambda: _story()["alarm"],
    "monitor-closed": lambda: _story()["closed"],
    "monitor-history": lambda: _story()["history"],
    "monitor-backfill": _walk,
    "scores": _scores,
    "example": example,
    "unrefuted": unrefuted,
    "undecided": undecided,
    "proved": proved,
    "reasons": reasons,
    "bench": bench,
    "false-alarms": false_alarms,
    "scale": scale,
    "peers": peers,
    "peers-in-full": peers_in_full,
    "peers-further": peers_further,
    "floor": floor,
    "constants": constants,
    "monitor-constants": monitor_constants,
    "memory": memory,
    "slots": slots,
    **runpy.run_path(str(ROOT / "docs" / "proofs.py"))["blocks"](_Shell, _table, _cell, _row),
    **runpy.run_path(str(ROOT / "docs" / "plugin.py"))["blocks"](_Shell, _table, _cell),
    **runpy.run_path(str(ROOT / "docs" / "training.py"))["blocks"](_table, _cell, _row),
    **runpy.run_path(str(ROOT / "docs" / "programs.py"))["blocks"](_table),
    **runpy.run_path(str(ROOT / "docs" / "found.py"))["blocks"](_table, _cell),
}


def _figures() -> dict[Path, Callable[[], str]]:
    """The figures of the first example; each is a file of its own."""
    from tollens.report.figures.outputs import outputs_svg
    from tollens.report.figures.region import region_svg
    from tollens.report.figures.wealth import wealth_svg

    makers = {"region": region_svg, "outputs": outputs_svg, "wealth": wealth_svg}
    folder = ROOT / "docs" / "figures"

    def drawn(make: Callable[..., str | None]) -> str:
        return f"{make(_audited(_half_noise_count, 'noisy_count'))}\n"

    return {folder / f"{name}.svg": partial(drawn, make) for name, make in makers.items()}


PAGES: dict[Path, Callable[[], str]] = {
    **_figures(),
    ROOT / "docs" / "command-line.md": command_line,
    ROOT / "docs" / "zoo.md": zoo,
}


@cache
def block(name: str) -> str:
    """The text of a block, made once."""
    return BLOCKS[name]()


def render(path: Path) -> str:
    """What a page should be now."""
    if path in PAGES:
        return PAGES[path]()

    def fill(match: re.Match[str]) -> str:
        return f"{match[1]}{block(match['name'])}\n{match[3]}"

    return _BLOCK.sub(fill, path.read_text(encoding="utf-8"))


def pages() -> list[Path]:
    """All pages with generated parts."""
    written = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    marked = [
        path
        for path in written
        if path not in PAGES
        and "_build" not in path.parts
        and _BLOCK.search(path.read_text(encoding="utf-8"))
    ]
    return [*PAGES, *marked]


def main() -> None:
    """Write every page that has changed and name it."""
    for path in pages():
        text = render(path)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
