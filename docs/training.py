"""The measured parts of the pages on training; `generate.py` calls `blocks`.

`python docs/training.py` runs the examples, which takes two minutes and needs the extra `opacus`,
and writes what they say to `training-measured.json` and the pictures beside it. A test runs the
examples again and compares.
"""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
EXAMPLES = DOCS.parent / "examples" / "training"
MEASURED = DOCS / "training-measured.json"

Table = Callable[[tuple[str, ...], list[tuple[str, ...]]], str]
Cell = Callable[[str], str]
Row = Callable[[object, str, str], tuple[str, str, str]]

BROKEN = "sigma-halved"
"""The fault whose report and picture are shown."""


def measured() -> dict[str, Any]:
    """What the examples said when they were last run."""
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def blocks(table: Table, cell: Cell, row: Row) -> dict[str, Callable[[], str]]:
    """All blocks by their names."""
    return {
        "training-correct": lambda: _shown("python digits.py", "correct"),
        "training-broken": lambda: _shown(f"python digits.py --fault {BROKEN}", "broken"),
        "training-batch-watched": lambda: _text(measured()["expected_batch"]["report"]),
        "training-batch-audited": lambda: _text(measured()["expected_batch"]["verdict"]),
        "training-faults": lambda: faults(table, cell),
        "training-cost": lambda: cost(table),
        "training-parts": lambda: parts(table, cell),
        "training-tangents": lambda: tangents(table),
        "training-constants": lambda: constants(table, row),
    }


def faults(table: Table, cell: Cell) -> str:
    """Which parts found each fault, and in which steps."""
    rows = [
        (f"{cell(row['words'])} (`{name}`)", _found(row["logistic"]), _found(row["mlp"]))
        for name, row in measured()["faults"].items()
    ]
    return table(("fault", "logistic regression: found by (at step)", "the same, MLP"), rows)


def cost(table: Table) -> str:
    """CPU time of training with and without a watch."""
    rows = [
        (
            row["model"],
            f"{row['parameters']:,}",
            f"{1000 * row['plain']:.2f} ms",
            f"{1000 * row['watched']:.2f} ms",
        )
        for row in measured()["cost"]
    ]
    return table(("model", "parameters", "a step", "a step that is watched"), rows)


def parts(table: Table, cell: Cell) -> str:
    """What each part looks at and assumes, and its share of the stake."""
    from tollens.training.parts.noise_reuse import NoiseReuse
    from tollens.training.parts.noise_scale import NoiseScale
    from tollens.training.parts.projection import Projection
    from tollens.training.parts.sampling import Sampling
    from tollens.training.step_audit import SHARES

    looks = {
        Projection: "how far the noisy sum moves along the canary's gradient",
        NoiseScale: "the size of the noise over all coordinates, after the sensitivity",
        NoiseReuse: "whether noise of different steps points the same way",
        Sampling: "the sizes of batches, and the records that two of them share",
    }
    all_of_them = sum(SHARES[part.name] for part in looks)
    rows = [
        (part.name, text, cell(part.assumes), f"{SHARES[part.name] / all_of_them:.0%}")
        for part, text in looks.items()
    ]
    return table(("part", "looks at", "assumes", "share of α"), rows)


COMPARED = ((0.5, 1.0), (1.0, 1.25), (1.0, 2.0), (2.0, 4.0), (4.0, 5.0))
"""Pairs of mu, claimed and true."""

EPSILONS = (0.0, 0.5, 1.0, 2.0)


def tangents(table: Table) -> str:
    """Pairs of runs for a factor of 100, by the epsilon of the bet."""
    rows = []
    for claim, true in COMPARED:
        needed = [_pairs(claim, true, epsilon, common=True) for epsilon in EPSILONS]
        alone = min(_pairs(claim, true, epsilon, common=False) for epsilon in EPSILONS)
        rows.append((f"{claim:g}", f"{true:g}", *(f"{n:.0f}" for n in (*needed, alone))))
    head = (
        "claim",
        "true",
        *(f"ε = {epsilon:g}" for epsilon in EPSILONS),
        "the best, noise of its own",
    )
    return table(head, rows)


def _pairs(claim: float, true: float, epsilon: float, *, common: bool) -> float:
    """ln(100) over the growth of the best bet on a step with this mu."""
    import numpy as np
    from scipy.special import ndtr

    from tollens.claim import gaussian

    cuts = np.linspace(-3.0, 9.0, 241)[:, None]
    delta, e = gaussian(claim).delta(epsilon), np.exp(epsilon)
    stakes = np.linspace(0.0, 0.999, 400) / (e + delta)
    p, q = ndtr(true - cuts), ndtr(-cuts)
    both = q if common else p * q
    growth = (
        both * np.log1p(stakes * (1 - e - delta))
        + (p - both) * np.log1p(stakes * (1 - delta))
        + (q - both) * np.log1p(-stakes * (e + delta))
        + (1 - p - q + both) * np.log1p(-stakes * delta)
    )
    return float(np.log(100.0) / growth.max())


def constants(table: Table, row: Row) -> str:
    """The constants of the audit of training, by their names in the source."""
    from tollens.training import run_leak
    from tollens.training.parts import noise_reuse, noise_scale, projection, sensitivity
    from tollens.training.scores import one_run

    rows = [
        row(projection, "LEARNED", "share of the stake whose cut is learned"),
        row(projection, "WIDTHS", "widths of the ramps, in standard deviations of the noise"),
        row(projection, "STRENGTHS", "values of l (1 + d)"),
        row(projection, "MU_GRID", "values that the lower bound may take"),
        row(noise_scale, "ALTERNATIVES", "ratios that are bet on"),
        row(noise_scale, "FROM_EXCESS", "ratio from which too much noise is a warning"),
        row(noise_reuse, "CORRELATIONS", "correlations that are bet on, of both signs"),
        row(noise_reuse, "STEPS", "steps whose noise is remembered"),
        row(noise_reuse, "COORDINATES", "coordinates that are remembered of each"),
        row(sensitivity, "TOLERANCE", "what a sensitivity may exceed 1 by"),
        row(run_leak, "POINTS", "points at which the accountant is asked"),
        row(one_run, "LEAK_SHARE", "part of alpha that pays for the leak of one run"),
    ]
    return table(("name", "value", "meaning"), rows)


def _found(findings: list[tuple[str, int]]) -> str:
    named = [f"{part} ({step or 'before the first'})" for part, step in findings]
    return ", ".join(named) or "nothing"


def _shown(line: str, key: str) -> str:
    row = measured()[key]
    return f"```text\n$ {line}\n{_wrapped(row['text'])}\n$ echo $?\n{row['code']}\n```"


def _text(text: str) -> str:
    return f"```text\n{_wrapped(text)}\n```"


def _wrapped(text: str) -> str:
    """Long lines go on below their own text, behind the labels."""
    lines = text.splitlines()
    labels = re.match(r"\S+ +", lines[0])
    indent = " " * (len(labels[0]) if labels else 0)
    wrapped = [
        textwrap.wrap(line, 100, subsequent_indent=indent, break_on_hyphens=False) for line in lines
    ]
    return "\n".join("\n".join(each) for each in wrapped)


# Measuring


def found_by(watch: Any) -> list[tuple[str, int]]:
    """The parts that found a fault, and the steps in which they did, the first one first."""
    faults = [finding for finding in watch.findings if finding.level == "fault"]
    return sorted(((finding.part, finding.step) for finding in faults), key=lambda found: found[1])


def measure() -> dict[str, Any]:
    """Run everything that the pages show."""
    sys.path.insert(0, str(EXAMPLES))
    import digits
    import expected_batch
    import opacus
    import torch
    from faults import FAULTS

    from tollens.report.training_figure import training_svg

    torch.set_num_threads(1)
    rows = {
        name: {
            "words": fault.words,
            **{kind: found_by(digits.train(kind, name)[0]) for kind in ("logistic", "mlp")},
        }
        for name, fault in FAULTS.items()
    }
    result: dict[str, Any] = {"faults": rows}
    for key, name in (("correct", "none"), ("broken", BROKEN)):
        watch, accuracy = digits.train("logistic", name)
        report = watch.report()
        (DOCS / f"training-{key}.svg").write_text(training_svg(report), encoding="utf-8")
        text = f"{report}\naccuracy on digits that were held out: {accuracy:.3f}"
        result[key] = {"text": text, "code": int(report.refuted), "mu_lower": report.mu_lower}
    verdict = expected_batch.audited()
    result["expected_batch"] = {
        "report": str(expected_batch.watched()),
        "verdict": str(verdict),
        "pairs": verdict.pairs,
    }
    result["cost"] = [_cost(digits, kind) for kind in ("logistic", "mlp")]
    result["versions"] = {"torch": torch.__version__, "opacus": opacus.__version__}
    return result


def _cost(digits: Any, kind: str, steps: int = 300) -> dict[str, Any]:
    """Seconds of CPU for a step, the least of three runs."""
    watch = digits.train(kind, steps=1)[0]
    parameters = sum(p.numel() for p in watch.optimizer.params)
    seconds, real = {}, digits.tollens.opacus.watch
    for key, watcher in (("plain", _Nothing), ("watched", real)):
        digits.tollens.opacus.watch = watcher
        times = []
        for _ in range(3):
            started = time.process_time()
            digits.train(kind, steps=steps)
            times.append((time.process_time() - started) / steps)
        seconds[key] = min(times)
    digits.tollens.opacus.watch = real
    return {"model": kind, "parameters": parameters, **seconds}


class _Nothing:
    """A watch that does not look."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def check_inputs(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.simplefilter("ignore")
    found = measure()
    MEASURED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written: {MEASURED.name} and the pictures")
