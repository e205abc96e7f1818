"""Draw the runs of a step."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tollens.mechanism import Batch, BatchFailed, Mechanism, one_by_one
from tollens.neighbours import Pair
from tollens.outputs import Raised
from tollens.sampling import open_runs
from tollens.streams import EvidenceStream, fresh_seed

TRIED = 2
"""Pairs after which a version is given up of which no run finished in time."""

BLOCK = 64
"""Pairs drawn at a time from a mechanism that makes one output a call."""


class VersionFailed(Exception):  # noqa: N818 - it is the version that failed, not a call of ours
    """A version that cannot be run at all; the text says why."""


def draw(
    mechanism: Mechanism,
    pair: Pair,
    n: int,
    *,
    seed: int,
    workers: int = 1,
    timeout: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Batch, Batch]:
    """n outputs on x and n on x', independent of each other.

    A batch that fails says nothing about single runs, so these are then made one by one, from
    another seed. Raises `VersionFailed` where every run on both sides raises.
    """
    drawn = partial(_drawn, pair=pair, n=n, workers=workers, timeout=timeout, progress=progress)
    try:
        try:
            x, y = drawn(mechanism, seed=seed)
        except BatchFailed:
            if not mechanism.vectorised:
                raise
            x, y = drawn(one_by_one(mechanism), seed=step_seed(seed, "one by one", "", 0))
    except BatchFailed as error:
        raise VersionFailed(str(error)) from None
    last = _only_raises([x, y])
    if last is not None:
        raise VersionFailed(f"every run on both inputs raises {last}")
    return x, y


def _drawn(
    mechanism: Mechanism,
    *,
    pair: Pair,
    n: int,
    seed: int,
    workers: int,
    timeout: float | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[Batch, Batch]:
    """n outputs on both sides; `BatchFailed` where a batch fails."""
    size = n if mechanism.vectorised else BLOCK * workers
    parts: list[tuple[Batch, Batch]] = []
    made = 0
    with open_runs(mechanism, EvidenceStream(seed), workers=workers, timeout=timeout) as runs:
        while made < n:
            # a version that hangs is known by its first runs: the others would all be waited for
            careful = timeout is not None and not mechanism.vectorised and not parts
            several = min(TRIED if careful else size, n - made)
            parts.append(runs.both(pair, len(parts), several, coupled=False))
            made += several
            last = _only_raises(parts[0]) if len(parts) == 1 else None
            if careful and last is not None and last.type == "Timeout":
                raise VersionFailed(f"no run finished within {timeout:g} s on either input")
            if progress is not None:
                progress(made, n)
    x, y = (_joined([part[side] for part in parts]) for side in (0, 1))
    return x, y


def step_seed(seed: int | None, version: str, run_id: str, number: int) -> int:
    """The seed of a step: fresh, or a function of the caller's seed and of which step it is.

    Two steps never share a seed: runs drawn twice from one seed are no new evidence.

    >>> step_seed(1, "v1", "1", 1) != step_seed(1, "v1", "1", 2)
    True
    """
    if seed is None:
        return fresh_seed()
    text = f"{seed}\x00{version}\x00{run_id}\x00{number}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=6).digest(), "big")


def _joined(parts: Sequence[Batch]) -> Batch:
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate([np.asarray(part) for part in parts])
    return [output for part in parts for output in part]


def _only_raises(sides: Sequence[Batch]) -> Raised | None:
    """The last exception, where there is nothing else."""
    last = None
    for outputs in sides:
        if isinstance(outputs, np.ndarray):
            return None
        for output in outputs:
            if not isinstance(output, Raised):
                return None
            last = output
    return last
