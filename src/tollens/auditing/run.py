"""Draw pairs of runs from a mechanism and bet with them until something is decided."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.conclude import Circumstances, conclude
from tollens.auditing.kernel_audit import KernelGambler, kernel_setting
from tollens.auditing.record import Recorder
from tollens.auditing.sequential import Gambler
from tollens.claim import Claim
from tollens.errors import Interrupted, MechanismError
from tollens.mechanism import BatchFailed, Mechanism, changes_input, fingerprint, one_by_one
from tollens.neighbours import Pair
from tollens.outputs import Raised
from tollens.streams import EvidenceStream, Side
from tollens.verdict import Verdict
from tollens.worker import TimedRuns, draw

Batch = Sequence[object] | NDArray[np.generic]

LONGEST_BLOCK = 64
"""Pairs drawn at a time from a mechanism that makes one output a call."""

LONGEST_BATCH = 16_384
"""Pairs drawn at a time from a batched mechanism."""

SINGLE_SHARE = 1 / 20
"""The part of alpha that is kept for runs one by one, should a batched mechanism ever raise."""

GIVE_UP_RAISING = 100
"""Pairs after which a mechanism that has only ever raised one exception is given up."""


class Progress(NamedTuple):
    """How far an audit has come; given to the `progress` callback after each block."""

    pairs: int
    budget: int
    log_e_value: float
    threshold: float


class Settings(NamedTuple):
    """What an audit may spend and when it stops."""

    alpha: float
    budget: int
    until: str
    timeout: float | None
    delta: float | None
    seed: int
    coupling: str
    method: str


class Runs(Protocol):
    """Where outputs come from."""

    def sample(self, side: Side, block: int, n: int, *, coupled: bool) -> Batch:
        """n outputs of one side; coupled runs get the draws that the other side gets too."""


def run_audit(
    mechanism: Mechanism,
    claim: Claim,
    pair: Pair,
    settings: Settings,
    *,
    progress: Callable[[Progress], None] | None = None,
    recorder: Recorder | None = None,
) -> Verdict:
    """The audit of one pair, from start to verdict.

    Draw the pairs that the standing bets will score, score them, learn, bet again; stop when the
    claim is refuted or the budget is spent. Ctrl-C raises `Interrupted` with the verdict so far.

    A batch that raises says nothing about single runs, and drawing it again would be no fair
    sample: the audit then starts anew with runs one by one, for which a part of alpha is kept.
    """
    run = partial(_run, claim=claim, pair=pair, settings=settings, progress=progress)
    if not mechanism.vectorised:
        return run(mechanism, level=settings.alpha, recorder=recorder)
    try:
        return run(mechanism, level=settings.alpha * (1 - SINGLE_SHARE), recorder=recorder)
    except BatchFailed as error:
        if recorder is not None:
            recorder.clear()
        level = settings.alpha * SINGLE_SHARE
        note = f"{error}; runs were then made one by one, with {level:g} of alpha"
        return run(one_by_one(mechanism), level=level, recorder=recorder, notes=(note,))


def _run(
    mechanism: Mechanism,
    *,
    claim: Claim,
    pair: Pair,
    settings: Settings,
    level: float,
    progress: Callable[[Progress], None] | None,
    recorder: Recorder | None,
    notes: tuple[str, ...] = (),
) -> Verdict:
    """The audit with one way of sampling; `level` is the part of alpha that it may spend."""
    started = time.perf_counter()
    gambler = _gambler(mechanism, claim, settings, level)
    longest = LONGEST_BATCH if mechanism.vectorised else LONGEST_BLOCK
    drawn = _Drawn()
    try:
        with _source(mechanism, pair, settings) as runs:
            while gambler.pairs < settings.budget and not _decided(gambler, settings.until):
                left = settings.budget - gambler.pairs
                n = min(gambler.until_next_bet(), left, longest)
                x, y = drawn.pairs(runs, n, coupled=gambler.next_coupled)
                encoded = gambler.encoder.encode(x), gambler.encoder.encode(y)
                gambler.update(*encoded)
                if recorder is not None:
                    recorder.add(*encoded)
                if progress is not None:
                    progress(_progress(gambler, settings))
    except KeyboardInterrupt:
        drawn.interrupted = True
    verdict = conclude(
        gambler,
        Circumstances(
            mechanism=mechanism.name,
            pair=pair,
            alpha=settings.alpha,
            seed=settings.seed,
            replayable=mechanism.takes_rng,
            seconds=time.perf_counter() - started,
            runs=drawn.runs,
            interrupted=drawn.interrupted,
            until_refuted=settings.until == "refuted",
            raised=drawn.raised,
            packages=mechanism.packages,
            notes=notes,
        ),
    )
    if recorder is not None:
        recorder.coupling, recorder.budget = gambler.coupling, settings.budget
        recorder.finish(verdict, gambler.encoder)
    if drawn.interrupted:
        raise Interrupted(verdict)
    return verdict


def _gambler(mechanism: Mechanism, claim: Claim, settings: Settings, level: float) -> Gambler:
    if settings.method == "mmd":
        setting = kernel_setting(settings.budget)
        return KernelGambler(
            claim, alpha=level, delta=settings.delta, seed=settings.seed, setting=setting
        )
    coupling = settings.coupling if mechanism.takes_rng else "independent"
    return Gambler(claim, alpha=level, delta=settings.delta, seed=settings.seed, coupling=coupling)


def _decided(gambler: Gambler, until: str) -> bool:
    if until == "refuted" and gambler.refuted:
        return True
    x, y = gambler.constants
    if gambler.pairs == 0 or not (x.holds and y.holds and x.key == y.key):
        return False
    shape = gambler.encoder.shape_name(x.shape)
    return shape == "raised Timeout" or (
        shape.startswith("raised ") and gambler.pairs >= GIVE_UP_RAISING
    )


def _progress(gambler: Gambler, settings: Settings) -> Progress:
    return Progress(gambler.pairs, settings.budget, gambler.log_e_value, gambler.bankroll.threshold)


class _Drawn:
    """Counts the runs and remembers the last exception."""

    def __init__(self) -> None:
        self.runs = 0
        self.block = 0
        self.raised: Raised | None = None
        self.interrupted = False

    def pairs(self, runs: Runs, n: int, *, coupled: bool) -> tuple[Batch, Batch]:
        x, y = (self._side(runs, side, n, coupled=coupled) for side in (Side.X, Side.X_PRIME))
        self.block += 1
        return x, y

    def _side(self, runs: Runs, side: Side, n: int, *, coupled: bool) -> Batch:
        outputs = runs.sample(side, self.block, n, coupled=coupled)
        self.runs += n
        if not isinstance(outputs, np.ndarray):
            for output in outputs:
                if isinstance(output, Raised):
                    self.raised = output
        return outputs


@contextmanager
def _source(mechanism: Mechanism, pair: Pair, settings: Settings) -> Iterator[Runs]:
    stream = EvidenceStream(settings.seed)
    if settings.timeout is None:
        yield DirectRuns(mechanism, pair, stream)
    else:
        with TimedRuns(mechanism, pair, stream, settings.timeout) as runs:
            yield runs


class DirectRuns:
    """Runs in this process; now and then it is checked that the input is still what it was."""

    def __init__(self, mechanism: Mechanism, pair: Pair, stream: EvidenceStream) -> None:
        self._mechanism, self._stream = mechanism, stream
        self._data = {Side.X: pair.x, Side.X_PRIME: pair.x_prime}
        self._before = {side: fingerprint(data) for side, data in self._data.items()}
        self._next_check = 0

    def sample(self, side: Side, block: int, n: int, *, coupled: bool) -> Batch:
        """n outputs; `MechanismError` where the mechanism has changed its input."""
        data = self._data[side]
        outputs = draw(self._mechanism, data, n, self._stream, side, block, coupled=coupled)
        if block >= self._next_check:
            if fingerprint(data) != self._before[side]:
                raise MechanismError(changes_input(self._mechanism.name))
            if side is Side.X_PRIME:
                self._next_check = 2 * block + 1
        return outputs
