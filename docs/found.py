"""The generated parts of the pages on libraries: what is in `catalogue/results`.

Nothing is run or imported here; each result is a file that `python -m catalogue run` wrote.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "catalogue" / "results"
LIBRARIES = {
    "opendp": "OpenDP",
    "diffprivlib": "diffprivlib",
    "pydp": "PyDP",
    "smartnoise": "SmartNoise SQL",
    "tumult": "Tumult Core",
    "accounting": "dp_accounting",
    "flower": "Flower",
}
DISTRIBUTIONS = {
    "OpenDP": "opendp",
    "diffprivlib": "diffprivlib",
    "PyDP": "python-dp",
    "SmartNoise SQL": "smartnoise-sql",
    "Tumult Core": "tmlt.core",
    "dp_accounting": "dp-accounting",
    "Flower": "flwr",
}

Cell = Callable[[str], str]
Table = Callable[[tuple[str, ...], list[tuple[str, ...]]], str]


@cache
def results() -> list[dict[str, Any]]:
    """All results, old releases first."""
    read = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    return sorted(read, key=lambda each: (_parts(release(each)), each["id"]))


def release(result: dict[str, Any]) -> str:
    """The version of the library that was run."""
    return str(result["versions"][DISTRIBUTIONS[result["library"]]])


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def of(library: str) -> list[dict[str, Any]]:
    """The results of one library."""
    return [each for each in results() if each["library"] == library]


def mechanism(result: dict[str, Any]) -> str:
    """What was run, in words."""
    base = f"{result['environment']}-{result['mechanism'].replace('_', '-')}"
    suffix = result["id"][len(base) :].lstrip("-").replace("-", " ")
    words = result["mechanism"].replace("_", " ")
    return f"{words} ({suffix})" if suffix else words


def number(value: Any) -> str:
    """A number as in a table."""
    return f"{float(value):.3g}".replace("inf", "∞")


def found(result: dict[str, Any]) -> str:
    """The verdict, with what was certified or could have been."""
    if result["outcome"] == "REFUTED":
        lower = float(result["epsilon_lower"])
        # an excess of delta needs no larger epsilon
        return f"**refuted**, ε ≥ {number(lower)}" if lower > 0 else "**refuted**"
    excess = result["detectable_excess"]
    if result["outcome"] == "UNDECIDED" or excess is None:
        return "undecided"
    return f"not refuted (from ε = {number(excess)})"


def cut(text: str, longest: int) -> str:
    """A text, cut in the middle where it is long."""
    if len(text) <= longest:
        return text
    half = longest // 2 - 2
    return f"{text[:half]} ... {text[-half:]}"


def known(result: dict[str, Any]) -> str:
    """What was known before."""
    return {"broken": "broken", "sound": "right", "unknown": "?"}[result["known"]]


def blocks(table: Table, cell: Cell) -> dict[str, Callable[[], str]]:
    """The generated blocks by name."""
    made: dict[str, Callable[[], str]] = {"found-summary": lambda: summary(table)}
    for key, library in LIBRARIES.items():
        made[f"found-{key}"] = lambda library=library: whole(library, table, cell)
        if key != "flower":  # it has no page of its own
            made[f"refuted-{key}"] = lambda library=library: refuted(library, table, cell)
    return made


def summary(table: Table) -> str:
    """How many entries there are, and what became of them."""
    rows = []
    for library in LIBRARIES.values():
        those = of(library)
        rows.append((library, *_counts(those)))
    rows.append(("together", *_counts(results())))
    head = ("library", "releases", "mechanisms × releases", "known as broken, and refuted")
    return table((*head, "known as right, and refuted", "others refuted", "seconds"), rows)


def _counts(those: list[dict[str, Any]]) -> tuple[str, ...]:
    groups = {
        truth: [each for each in those if each["known"] == truth]
        for truth in ("broken", "sound", "unknown")
    }
    beaten = {
        truth: sum(each["outcome"] == "REFUTED" for each in group)
        for truth, group in groups.items()
    }
    releases = {(each["library"], release(each)) for each in those}
    return (
        str(len(releases)),
        str(len(those)),
        f"{beaten['broken']} of {len(groups['broken'])}",
        f"{beaten['sound']} of {len(groups['sound'])}",
        f"{beaten['unknown']} of {len(groups['unknown'])}",
        f"{sum(each['seconds'] for each in those):,.0f}",
    )


def whole(library: str, table: Table, cell: Cell) -> str:
    """Every result of a library."""
    rows = [
        (
            release(each),
            cell(mechanism(each)),
            cell(each["claim"].replace("epsilon", "ε").replace("delta", "δ").replace("rho", "ρ")),
            found(each),
            f"{each['pairs']:,}",
            f"{each['seconds']:.0f}",
            known(each),
            f"`run {each['id']} --seed {each['seed']}`",
        )
        for each in of(library)
    ]
    return table(
        ("release", "mechanism", "claimed", "found", "pairs", "seconds", "known", "to repeat"), rows
    )


def refuted(library: str, table: Table, cell: Cell) -> str:
    """What was refuted, with the pair and the witness."""
    rows = [
        (
            release(each),
            cell(mechanism(each)),
            cell(f"{cut(each['x'], 60)} and {cut(each['x_prime'], 60)}")
            + (" (given)" if each["given"] else ""),
            cell(cut(each["witness"] or "", 150)),
            cell(each["source"] or "found here"),
        )
        for each in of(library)
        if each["outcome"] == "REFUTED"
    ]
    if not rows:
        return "Nothing was refuted."
    return table(("release", "mechanism", "neighbours", "witness", "source"), rows)
