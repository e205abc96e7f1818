"""The generated parts of the page on pytest; `generate.py` calls them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import tollens
from tollens.pytest_plugin.ledger import Ledger
from tollens.rounding import up
from tollens.settings import DP_BUDGETS, PYTEST_KEYS

PAGE = Path(__file__).parent / "pytest.md"

Table = Callable[[tuple[str, ...], list[tuple[str, ...]]], str]
Cell = Callable[[str], str]


def blocks(shell: type, table: Table, cell: Cell) -> dict[str, Callable[[], str]]:
    """All blocks by their names; `shell` runs commands, `table` and `cell` write Markdown."""
    return {
        "pytest-passes": lambda: sessions(shell)[0],
        "pytest-fails": lambda: sessions(shell)[1],
        "pytest-modes": lambda: modes(table),
        "pytest-options": lambda: options(table, cell),
    }


@cache
def sessions(shell: type) -> list[str]:
    """The sessions of the page: its test with each of its two mechanisms."""
    page = PAGE.read_text(encoding="utf-8")
    files = re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    test = next(text for name, text in files if name == "test_counts.py")
    shown = []
    for name, text in files:
        if name != "counts.py":
            continue
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text, encoding="utf-8")
            (Path(folder) / "test_counts.py").write_text(test, encoding="utf-8")
            shown.append(_session(shell(Path(folder))))
    return shown


def _session(terminal) -> str:
    terminal.environment |= {"PYTEST_ADDOPTS": "-p no:cacheprovider", "COLUMNS": "100"}
    lines = terminal.run("pytest -q test_counts.py --dp-seed=1 --dp-show-evidence")
    lines = [re.sub(r" in \d+\.\d+s$", " in 1.00s", line) for line in lines]
    return "\n".join(["```console", *lines, *terminal.echo(), "```"])


def modes(table: Table) -> str:
    """What each mode finds: a count at its claim, audited as the only test of a session."""
    rows = [("off", "", "tests that use `dp` are skipped, with a reason")]
    for mode, budget in DP_BUDGETS.items():
        verdict = tollens.audit(
            tollens.batched(lambda rows, n, rng: len(rows) + rng.laplace(size=n)),
            "epsilon=1",
            neighbours=([1, 1, 1], [1, 1]),
            alpha=Ledger(1e-6, 1).of_audit(1),
            budget=budget,
            seed=1,
        )
        found = f"ε = {up(verdict.detectable_excess, 3)} where ε = 1 is claimed"
        rows.append((mode, f"{budget:,}", found))
    head = ("`--dp-mode`", "pairs of runs of each audit", "found nine times in ten")
    return table(head, [(f"`{mode}`", *rest) for mode, *rest in rows])


def options(table: Table, cell: Cell) -> str:
    """The options of the plugin, their environment and their keys."""
    rows = [
        (
            f"`--{name}`",
            f"`TOLLENS_{name.upper().replace('-', '_')}`",
            f"`{name}`",
            "none" if key.default is None else f"`{str(key.default).lower()}`",
            cell(key.help),
        )
        for name, key in PYTEST_KEYS.items()
    ]
    return table(("option", "environment", "key", "default", "meaning"), rows)
