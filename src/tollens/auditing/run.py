"""Draw pairs of runs from a mechanism and bet with them until something is decided."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from tollens.auditing.bandit import Bandit
from tollens.auditing.conclude import Circumstances, conclude
from tollens.auditing.gamblers import gamblers
from tollens.auditing.product import pairs_a_round
from tollens.auditing.record import Recorder
from tollens.claim import Claim
from tollens.errors import Interrupted
from tollens.mechanism import BatchFailed, Mechanism, one_by_one
from tollens.outputs import Raised
from tollens.relations import Relation
from tollens.sampling import Batch, Runs, open_runs
from tollens.streams import EvidenceStream, Side
from tollens.verdict import Verdict

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
    workers: int
    witness: Callable[[object], bool] | None = None

    @property
    def given(self) -> str | None:
        """The witness in words, if there is one."""
        if self.witness is None:
            return None
        name = getattr(self.witness, "__name__", None)
        return str(self.witness) if name is None else f"{name}(output)"


def run_audit(
    mechanism: Mechanism,
    claim: Claim,
    relation: Relation,
    settings: Settings,
    *,
    progress: Callable[[Progress], None] | None = None,
    recorder: Recorder | None = None,
) -> Verdict:
    """The audit of the pairs of a relation, from start to verdict.

    Draw the runs that the standing bets will score, score them, learn, bet again, and choose the
    pair to run next; stop when the claim is refuted or the budget is spent. Ctrl-C raises
    `Interrupted` with the verdict so far.

    A batch that raises says nothing about single runs, and drawing it again would be no fair
    sample: the audit then starts anew with runs one by one, for which a part of alpha is kept.
    """
    run = partial(_run, claim=claim, relation=relation, settings=settings, progress=progress)
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
    relation: Relation,
    settings: Settings,
    level: float,
    progress: Callable[[Progress], None] | None,
    recorder: Recorder | None,
    notes: tuple[str, ...] = (),
) -> Verdict:
    """The audit with one way of sampling; `level` is the part of alpha that it may spend."""
    started = time.perf_counter()
    make = gamblers(
        claim, level=level, delta=settings.delta, seed=settings.seed, method=settings.method,
        coupling=settings.coupling if mechanism.takes_rng else "independent",
        budget=settings.budget, unequal=True, given=settings.given,
    )  # fmt: skip
    gambler = Bandit(relation, make, settings.witness)
    longest = LONGEST_BATCH if mechanism.vectorised else LONGEST_BLOCK * settings.workers
    drawn = _Drawn()
    stream = EvidenceStream(settings.seed)
    workers, timeout = settings.workers, settings.timeout
    try:
        with open_runs(mechanism, stream, workers=workers, timeout=timeout) as runs:
            while not _decided(gambler, settings.until):
                left = settings.budget - gambler.pairs
                pairs = min(gambler.until_next_bet(), left, longest)
                rounds = pairs // pairs_a_round(gambler.next_ratio)
                if not rounds:
                    break
                x, y = drawn.rounds(runs, gambler, rounds)
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
            pair=gambler.best_pair,
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
        recorder.inputs, recorder.unequal, recorder.given = len(relation), True, settings.given
        recorder.finish(verdict, gambler.encoder)
    if drawn.interrupted:
        raise Interrupted(verdict)
    return verdict


def _decided(gambler: Bandit, until: str) -> bool:
    if until == "refuted" and gambler.refuted:
        return True
    x, y = gambler.constants
    if gambler.pairs == 0 or not (x.holds and y.holds and x.key == y.key):
        return False
    shape = gambler.encoder.shape_name(x.shape)
    return shape == "raised Timeout" or (
        shape.startswith("raised ") and gambler.pairs >= GIVE_UP_RAISING
    )


def _progress(gambler: Bandit, settings: Settings) -> Progress:
    return Progress(gambler.pairs, settings.budget, gambler.log_e_value, gambler.threshold)


class _Drawn:
    """Counts the runs and remembers the last exception."""

    def __init__(self) -> None:
        self.runs = 0
        self.block = 0
        self.raised: Raised | None = None
        self.interrupted = False

    def rounds(self, runs: Runs, gambler: Bandit, rounds: int) -> tuple[Batch, Batch]:
        """Rounds of runs on both of the inputs that the gambler has chosen."""
        pair, (n, m), block = gambler.next_pair, gambler.next_ratio, self.block
        if n == m:
            drawn = runs.both(pair, block, rounds, coupled=gambler.next_coupled)
        else:
            drawn = (
                runs.sample(pair, Side.X, block, rounds * n, coupled=False),
                runs.sample(pair, Side.X_PRIME, block, rounds * m, coupled=False),
            )
        self.block += 1
        self.runs += rounds * (n + m)
        for outputs in drawn:
            if not isinstance(outputs, np.ndarray):
                for output in outputs:
                    if isinstance(output, Raised):
                        self.raised = output
        return drawn
