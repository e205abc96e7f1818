"""The generated parts of the pages on proofs; `generate.py` calls them.

What these pages show is run: commands in a folder of their own, texts through the checker's own
compiler, identities as the checker goes through them.
"""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import tollens
from tollens.checker import (
    certificate,
    claims,
    compiling,
    documents,
    events,
    integration,
    martingale,
    moments,
    patterns,
    polynomials,
    transitions,
    values,
)
from tollens.checker.compiling import compile_text
from tollens.checker.machine import Limits, explore

ROOT = Path(__file__).resolve().parents[1]
CHECKER = ROOT / "src" / "tollens" / "checker"
SUBSET = runpy.run_path(str(ROOT / "docs" / "subset.py"))

Table = Callable[[tuple[str, ...], list[tuple[str, ...]]], str]
Cell = Callable[[str], str]
Row = Callable[[object, str, str], tuple[str, str, str]]


def blocks(shell: type, table: Table, cell: Cell, row: Row) -> dict[str, Callable[[], str]]:
    """All blocks by their names; `shell` runs commands, `table` and `cell` write Markdown."""
    return {
        "readme-proof": lambda: readme(shell),
        "proof-count": lambda: count(shell),
        "proof-check": lambda: check(shell),
        "proof-alone": alone,
        "program-accepted": lambda: SUBSET["accepted"](table),
        "program-primitives": lambda: SUBSET["primitives"](table, cell),
        "program-refused": lambda: SUBSET["refused"](table, cell),
        "program-faults": lambda: SUBSET["faults"](table, cell),
        "proof-engines": lambda: engines(table),
        "certificate-keys": lambda: keys(table, cell),
        **{f"proof-{name}": (lambda name=name: example(shell, name)) for name in EXAMPLES},
        "proof-sparse-exact": lambda: sparse(shell),
        "proof-identities": lambda: identities(shell, table),
        "peers-proofs": lambda: peers(table),
        "checker-files": lambda: files(table, cell),
        "proof-constants": lambda: constants(table, row),
    }


# Commands


def _folder(page: str, folder: str) -> Path:
    """A folder with the files that a page shows."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(# (\w+\.py)\n.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for content, name in found:
        (Path(folder) / name).write_text(content, encoding="utf-8")
    return Path(folder)


def _fenced(lines: list[str], language: str = "console") -> str:
    return "\n".join([f"```{language}", *lines, "```"])


@cache
def readme(shell: type) -> str:
    """The proof of the first page."""
    with tempfile.TemporaryDirectory() as folder:
        run = shell(_folder("../README.md", folder))
        lines = run.run("tollens refute programs.py::noisy_count --certificate proof.json")
        lines += run.run("tollens verify proof.json", shown=False) + run.echo()
    return _fenced(lines)


@cache
def count(shell: type) -> str:
    """The first proof of the guide, and its check."""
    with tempfile.TemporaryDirectory() as folder:
        run = shell(_folder("refute.md", folder))
        lines = run.run("tollens refute counts.py::noisy_count --certificate proof.json")
        lines += run.echo() + run.run("tollens verify proof.json") + run.echo()
    return _fenced(lines)


@cache
def check(shell: type) -> str:
    """`tollens check` on a file with a proof, an audit, and a text that is outside."""
    with tempfile.TemporaryDirectory() as folder:
        run = shell(_folder("refute.md", folder))
        lines = run.run("tollens check releases.py --seed 1") + run.echo()
    return _fenced([re.sub(r"\d+\.\d\d(?= │$)", "0.01", line) for line in lines])


@cache
def alone() -> str:
    """The checker by itself, without what else is installed."""
    code = "from tollens.checker import verify; print(*verify('proof.json').lines(), sep='\\n')"
    with tempfile.TemporaryDirectory() as folder:
        place = _folder("refute.md", folder)
        verdict = tollens.refute(f"{place}/counts.py::noisy_count", neighbours=([1, 1, 1], [1, 1]))
        (place / "proof.json").write_text(json.dumps(verdict.evidence.document), encoding="utf-8")
        shutil.copytree(CHECKER, place / "alone" / "tollens" / "checker")
        environment = {**os.environ, "PYTHONPATH": "alone", "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-S", "-c", code], cwd=place, env=environment,
            check=True, capture_output=True, encoding="utf-8",
        )  # fmt: skip
    lines = ["$ mkdir -p alone/tollens", "$ cp -r src/tollens/checker alone/tollens/"]
    lines += [f'$ PYTHONPATH=alone python -S -c "{code}"', *done.stdout.splitlines()]
    return _fenced(lines, "text")


# The examples


EXAMPLES = {
    "response": "response.py::response",
    "halfscale": "halfscale.py::noisy_count",
    "moments": "halfscale.py::noisy_count --engine moments",
    "sparse": "sparse.py::above_threshold",
    "geometric": "geometric.py::noisy_count",
    "walk": "walk.py::steps_to_zero",
    "martingale": "walk.py::steps_to_zero --engine martingale",
    "drift": "drift.py::steps_below_zero",
}
"""What `refute` is given in each."""

_SHOWN = (
    "claim", "relation", "x", "x_prime", "likely_under", "witness", "proof", "lower", "upper",
    "epsilon",
)  # fmt: skip


@cache
def _runs(shell: type) -> dict[str, tuple[list[str], dict[str, Any]]]:
    """Of each example what a terminal shows, and its certificate."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        run = shell(_folder("refute-examples.md", folder))
        for name, arguments in EXAMPLES.items():
            lines = run.run(f"tollens refute {arguments} --certificate {name}.json")
            lines += run.run(f"tollens verify {name}.json", shown=False) + run.echo()
            text = (run.folder / f"{name}.json").read_text(encoding="utf-8")
            found[name] = lines, json.loads(text)
    return found


def example(shell: type, name: str) -> str:
    """The commands of an example, and the main lines of its certificate.

    The functions of a proof by martingales have a table of their own.
    """
    lines, document = _runs(shell)[name]
    kept = [key for key in _SHOWN if name != "martingale" or key != "proof"]
    shown = [f'"{key}": {json.dumps(document[key], ensure_ascii=False)}' for key in kept]
    return f"{_fenced(lines)}\n\n{_fenced(shown, 'text')}"


def sparse(shell: type) -> str:
    """The two probabilities of the third example, as sums of c e^q."""
    document = _runs(shell)["sparse"][1]
    text, name = (str(document["program"][key]) for key in ("text", "name"))
    event = patterns.read_event(document["witness"])
    lines = []
    for side, letter in (("x", "p"), ("x_prime", "q")):
        paths = explore(compile_text(text, name), documents.value(document[side], side)).paths
        ((path, (forms,)),) = [(p, found) for p in paths if (found := events.ends(p, event))]
        every = (*path.constraints, *forms)
        total = integration.Integrator().probability(path.draws, every)
        terms = [f"{c} e^({q})" if q else f"{c}" for q, c in sorted(total.items(), reverse=True)]
        lines.append(f"{letter} = {' + '.join(terms)}".replace("+ -", "- "))
    return _fenced(lines, "text")


_SIDES = {
    "upper": ("On x', from above", "U", ("witness", "sign", "upper")),
    "lower": ("On x, from below", "L", ("lower",)),
}
_SAID = {
    "witness": "max(0, p) ≤ h at the end",
    "sign": "U ≥ 0",
    "upper": "U ≥ E[U after a step]",
    "lower": "L ≤ E[L after a step]",
}


def identities(shell: type, table: Table) -> str:
    """The functions of a proof by martingales, and identities as the checker reads them.

    R is left out: which one is found, of many, depends on the version of the solver.
    """
    document = _runs(shell)["martingale"][1]
    parts = []
    for side, (where, letter, names) in _SIDES.items():
        start, head = document["proof"][side]["locations"]
        known = ", ".join(f"`{_polynomial(form)} ≥ 0`" for form in head["invariants"])
        parts.append(
            f"**{where}.** At the head of the loop `{letter} = {_polynomial(head['bound'][0])}`; "
            f"at the start it is `{_polynomial(start['bound'][0])}`. "
            f"Invariants of the head: {known}."
        )
        rows = [
            (_SAID[one.name], _place(one, len(head["invariants"])), f"`{one.goal}`", f"`{total}`")
            for one, total in _checked(document, side)
            if one.name in names and one.at
        ]
        heads = ("to show", "where", "so this must be ≥ 0", "and it is")
        parts.append(table(heads, list(dict.fromkeys(rows))))
    return "\n\n".join(parts)


def _place(obligation: martingale.Obligation, invariants: int) -> str:
    """The guards under which an obligation is to be shown; without draws there are no others."""
    guards = obligation.facts[invariants:]
    return ", ".join(f"`{guard} ≥ 0`" for guard in guards) or "at the head"


def _polynomial(data: dict[str, str]) -> str:
    return str(polynomials.read(data, None))


def _checked(document: dict[str, Any], side: str) -> Iterator[tuple[martingale.Obligation, str]]:
    """Each obligation of a side with the sum of products that shows it."""
    seen: list[tuple[martingale.Obligation, Any]] = []
    original = martingale.check

    def recorded(obligation: martingale.Obligation, proof: object) -> None:
        seen.append((obligation, proof))
        original(obligation, proof)

    martingale.check = recorded
    try:
        certificate.verify(document)
    finally:
        martingale.check = original
    first = len(document["proof"]["lower"]["proofs"])
    for obligation, proof in seen[:first] if side == "lower" else seen[first:]:
        yield obligation, _sum(obligation, proof)


def _sum(obligation: martingale.Obligation, proof: list[list[Any]]) -> str:
    parts = []
    for weight, factors, root in proof:
        written = [f"({obligation.facts[i]})" for i in factors]
        written += [] if root is None else [f"({_polynomial(root)})^2"]
        parts.append(" ".join(([weight] if weight != "1" or not written else []) + written))
    return " + ".join(parts) or "0"


# Engines, certificates and the checker


_ENGINES = {
    "events": (
        "programs without normal draws",
        "an event",
        "exact integrals, and what loops may still return",
    ),
    "balls": ("programs with normal draws", "an event", "the same, integrals enclosed"),
    "moments": (
        "outputs of numbers, no branch on a continuous draw; pure claims",
        "the square of a polynomial",
        "two exact means",
    ),
    "martingale": (
        "`while` loops, outputs of numbers; claims with an ε",
        "a polynomial, where it is positive",
        "means of runs of any length, by polynomials at the heads of loops",
    ),
}


def engines(table: Table) -> str:
    """The engines in the order in which they are tried."""
    from tollens.refutation.engine import ENGINES

    _equal(set(_ENGINES), set(ENGINES) - {"auto"}, "engines")
    rows = [(f"`{name}`", *_ENGINES[name]) for name in ENGINES if name != "auto"]
    return table(("engine", "for", "witness", "what bounds it"), rows)


_MEANINGS = {
    "schema": "the name and version of this form",
    "engine": "which engine found the proof, and so of what kind it is",
    "program": "the `text`, the `name` of the function in it, and SHA-256 digests of the text and "
    "of its instructions (`digest`, `canonical`)",
    "claim": "the kind and its parameters, and whether it binds one order of the pair only",
    "relation": "by what x and x' are neighbours; `whole`: all their numbers are whole",
    "x": "one input",
    "x_prime": "the other",
    "likely_under": "the input on which the witness has the larger expectation",
    "witness": "an event, as patterns that exclude each other, or a polynomial of the output",
    "proof": "what the checker must know to go through it: limits on loops, or functions and "
    "identities",
    "hint": "a number that shows that the bounds break a Gaussian or zCDP claim; otherwise null",
    "lower": "the lower bound of the expectation on the likely input",
    "upper": "the upper bound of the expectation on the other input",
    "epsilon": "a lower bound of ln((lower - δ)/upper), or Infinity",
}


def keys(table: Table, cell: Cell) -> str:
    """The keys of a certificate."""
    _equal(set(_MEANINGS), set(certificate._KEYS), "keys of certificates")
    rows = [(f"`{key}`", cell(_MEANINGS[key])) for key in certificate._KEYS]
    return table(("key", "meaning"), rows)


_PARTS = {
    "for every check": (
        "__init__", "errors", "documents", "claims", "relations", "certificate", "enclosures",
    ),
    "reading a text": ("program", "module", "emitting", "expressions", "compiling"),
    "going through it": ("values", "form", "state", "operations", "machine", "draws"),
    "loops, equal runs": ("liveness", "retiring", "reach"),
    "events": ("patterns", "events", "integration"),
    "normal draws": ("laws", "concave", "balls"),
    "moments": ("moments", "tails"),
    "martingales": ("polynomials", "transitions", "martingale"),
}  # fmt: skip


def files(table: Table, cell: Cell) -> str:
    """The files of the checker by their parts, with about how many lines of code they have."""
    named = {name for names in _PARTS.values() for name in names}
    others = {path.stem for path in CHECKER.glob("*.py")} - named
    rows: list[tuple[str, ...]] = []
    every = 0
    for part, names in _PARTS.items():
        found, own = [], 0
        for name in (*names, *(sorted(others) if not rows else ())):
            text = (CHECKER / f"{name}.py").read_text(encoding="utf-8")
            own += _lines_of_code(text)
            first = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0]
            found.append(("", f"`{name}.py`", cell(first), ""))
        every += own
        rows += [(f"**{part}**", "", "", f"{round(own, -1):,}"), *found]
    rows.append(("**all**", "", "", f"{round(every, -2):,}"))
    return table(("part", "file", "what it is", "lines of code, about"), rows)


def _lines_of_code(text: str) -> int:
    """How many lines are neither empty, nor comments, nor within docstrings."""
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docs |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for i, line in lines if line.strip() and line.strip()[0] != "#" and i not in docs)


def constants(table: Table, row: Row) -> str:
    """The limits of searches and of the checker."""
    from tollens.refutation import by_events, by_martingale, by_moments, found, inputs
    from tollens.refutation import events as searched

    limits = Limits()
    rows = [
        row(found, "TIMEOUT", "seconds of a search, if none are given"),
        row(inputs, "LOOKED_AT", "pairs whose inputs are looked at before the search begins"),
        row(by_events, "PAIRS", "pairs that are looked at, once one is refuted by an event"),
        row(by_moments, "PAIRS", "pairs that the engine of moments tries"),
        row(by_martingale, "PAIRS", "pairs that the engine of martingales tries"),
        row(searched, "ROUNDS", "heads of loops in a row, one after the other while it pays"),
        row(searched, "SMALL", "runs below 2 to the power of minus this are cut, where loops are"),
        row(searched, "ALL_SHAPES", "shapes of outputs that are all tried, without symbols"),
        row(searched, "SOME_SHAPES", "the same with symbols; of more, those that climbs meet"),
        row(searched, "CONFINED", "shapes whose numbers are confined to intervals"),
        row(certificate, "SECONDS", "for a check"),
        row(documents, "MAX_BYTES", "of a certificate"),
        row(documents, "MAX_DIGITS", "characters of an exact number"),
        row(compiling, "MAX_TEXT", "characters of a program"),
        row(values, "MAX_BITS", "of a numerator or denominator in a program"),
        row(values, "MAX_ITEMS", "of a list"),
        ("`checker.machine.Limits.paths`", f"{limits.paths}", "paths, ended or not"),
        ("`checker.machine.Limits.steps`", f"{limits.steps}", "instructions of one side"),
        row(events, "MAX_ROUNDS", "heads of loops in a row"),
        row(patterns, "MAX_PATTERNS", "of an event"),
        row(integration, "MAX_TERMS", "of a product of functions"),
        row(moments, "MOST_DEGREE", "of a polynomial whose square is the witness"),
        row(transitions, "MOST_LOCATIONS", "heads of loops, with what is kept there"),
        row(transitions, "MOST_CELLS", "cells of the states at a head"),
        row(martingale, "MOST_TERMS", "products of one identity"),
        row(claims, "LARGEST", "the largest parameter of a claim that is no logarithm"),
    ]
    return table(("name", "value", "meaning"), rows)


_PEERS = (
    (
        "SuperDP (PLDI 2026)",
        "an imperative language, discrete and continuous draws",
        "refutes ε-DP, by martingales; searches the inputs too",
        "13 of 15 programs refuted, mostly in less than 3 s; branches on a continuous draw are "
        "named as its limit",
    ),
    (
        "CheckDP (CCS 2020)",
        "a language of its own, Laplace draws",
        "proves or refutes ε-DP: alignments, and counterexamples that an exact solver confirms",
        "each program of its benchmark in less than 70 s, none wrongly",
    ),
    (
        "DiPC (LICS 2020)",
        "a language of its own, finitely many inputs and outputs",
        "decides ε-DP and (ε, δ)-DP, for all ε > 0 at once",
        "randomised response, histograms, noisy max, sparse vectors",
    ),
    (
        "DiPApprox (CCS 2025)",
        "programs without loops; Laplace and normal draws",
        "decides (ε, δ)-DP, but for finitely many δ, by enclosures",
        "sparse vectors and noisy max with normal draws",
    ),
    (
        "StatDP (CCS 2018)",
        "nothing: runs a function",
        "refutes ε-DP with a p-value",
        "see the tables of this page",
    ),
)
_FIGURES = (
    ("broken programs refuted as their rows ask", "broken programs refuted near their true ε"),
    ("controls and near-ties refuted", "controls and near-ties refuted"),
)


def peers(table: Table) -> str:
    """Tools that read a text, as they describe themselves, and what our benchmark says of ours."""
    path = ROOT / "benchmarks" / "results" / "bench.json"
    sections = json.loads(path.read_text(encoding="utf-8"))["sections"] if path.exists() else {}
    rows = {row["what"]: row for row in sections.get("refute", {}).get("rows", ())}
    said = [
        f"{rows[what]['refuted']} of {rows[what]['of']} {words}"
        for what, words in _FIGURES
        if what in rows
    ]
    ours = (
        "**tollens refute**",
        "a subset of Python; Laplace, normal, exponential, uniform and discrete draws",
        "refutes pure, (ε, δ), Gaussian, zCDP and Rényi claims, with a certificate",
        "; ".join(said) or "run `make bench`",
    )
    return table(("tool", "reads", "does", "reported"), [*_PEERS, ours])


def _equal(one: set[str], other: set[str], what: str) -> None:
    if one != other:
        raise ValueError(f"{what} in one place only: {sorted(one ^ other)}")
