"""Draw pairs of runs from a mechanism and bet with them until something is decided."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tollens.auditing import shrink as shrinking
from tollens.auditing.bandit import Bandit
from tollens.auditing.conclude import Circumstances, conclude
from tollens.auditing.gamblers import gamblers
from tollens.auditing.product import pairs_a_round
from tollens.auditing.record import Recorder
from tollens.claim import Claim
from tollens.errors import Interrupted, TollensError
from tollens.mechanism import BatchFailed, Mechanism, one_by_one
from tollens.neighbours import Pair
from tollens.outputs import Raised
from tollens.relations import Relation
from tollens.sampling import Batch, Runs, open_runs
from tollens.streams import EvidenceStream, Side
from tollens.verdict import Verdict

LONGEST_BLOCK = 128
"""Pairs drawn at a time from a mechanism that makes one output a call, with any workers."""

LONGEST_BATCH = 16_384
"""Pairs drawn at a time from a batched mechanism."""

SINGLE_SHARE = 1 / 20
"""The part of alpha that is kept for runs one by one, should a batched mechanism ever raise."""

GIVE_UP_RAISING = 100
"""Pairs after which a mechanism that has only ever raised one exception is given up."""


MOST_TO_SHRINK = 5000
"""Pairs of runs for shrinking, or four times those that refuted where these are more."""


class Progress(NamedTuple):
    """How far an audit has come; given to the `progress` callback after each block.

    `shrinking` says that the claim is refuted and that a smaller pair is looked for.
    """

    pairs: int
    budget: int
    log_e_value: float
    threshold: float
    shrinking: bool = False


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
    shrink: bool = True
    outputs: str = "numeric"
    backend: str | None = None

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
    shrinks = settings.shrink and relation.shrinks and len(relation) > 1
    kept = level * shrinking.SHARE if shrinks and settings.until == "refuted" else 0.0
    play = _Play(mechanism, claim, settings)
    gambler = play.gambler(relation, level - kept)
    stream = EvidenceStream(settings.seed)
    workers, timeout, timed = settings.workers, settings.timeout, settings.outputs == "timed"

    def show(pairs: int) -> None:
        if progress is not None:
            state = (gambler.log_e_value, gambler.threshold)
            progress(Progress(pairs, settings.budget, *state, shrinking=pairs > gambler.pairs))

    try:
        with open_runs(
            mechanism, stream, workers=workers, timeout=timeout, clocked=timed,
            backend=settings.backend,
        ) as runs:  # fmt: skip
            play.on(gambler, runs, settings.budget, settings.until, show, recorder)
            if kept and gambler.refuted:
                play.shrink(gambler, runs, kept, show)
    except KeyboardInterrupt:
        play.drawn.interrupted = True
    about = Circumstances(
        mechanism=mechanism.name,
        pair=gambler.best_pair,
        alpha=settings.alpha,
        seed=settings.seed,
        replayable=mechanism.takes_rng and not timed,
        seconds=time.perf_counter() - started,
        runs=play.drawn.runs,
        interrupted=play.drawn.interrupted,
        until_refuted=settings.until == "refuted",
        raised=play.drawn.raised,
        packages=mechanism.packages,
        installed=mechanism.installed() if mechanism.installed else None,
        notes=notes,
    )
    verdict = conclude(gambler, replace(about, shrunk=play.shrunk))
    if recorder is not None:  # the file holds the runs that refuted, not those of smaller pairs
        recorder.coupling, recorder.budget = gambler.coupling, settings.budget
        recorder.inputs, recorder.unequal, recorder.given = len(relation), True, settings.given
        recorder.finish(conclude(gambler, about), gambler.encoder)
    if play.drawn.interrupted:
        raise Interrupted(verdict)
    return verdict


class _Play:
    """Runs of one mechanism, and the bets on them."""

    def __init__(self, mechanism: Mechanism, claim: Claim, settings: Settings) -> None:
        self._mechanism, self._claim, self._settings = mechanism, claim, settings
        self.drawn = _Drawn()
        self._attempts: shrinking.Attempts | None = None

    def gambler(self, relation: Relation, level: float) -> Bandit:
        """A new gambler on the pairs of a relation, who may spend this part of alpha."""
        settings = self._settings
        make = gamblers(
            self._claim, level=level, delta=settings.delta, seed=settings.seed,
            method=settings.method,
            coupling=self._coupling(),
            budget=settings.budget, unequal=True, given=settings.given,
            exact=settings.outputs == "exact",
        )  # fmt: skip
        return Bandit(relation, make, settings.witness, outputs=settings.outputs)

    def _coupling(self) -> str:
        """Whether the two runs of a pair are made together; those that are timed always are."""
        if self._settings.outputs == "timed":
            return "common"
        return self._settings.coupling if self._mechanism.takes_rng else "independent"

    def on(
        self,
        gambler: Bandit,
        runs: Runs,
        budget: int,
        until: str,
        show: Callable[[int], None],
        recorder: Recorder | None = None,
    ) -> None:
        """Draw the runs that the standing bets score, score them, bet again, until decided."""
        longest = LONGEST_BATCH if self._mechanism.vectorised else LONGEST_BLOCK
        while not _decided(gambler, until):
            pairs = min(gambler.until_next_bet(), budget - gambler.pairs, longest)
            rounds = pairs // pairs_a_round(gambler.next_ratio)
            if not rounds:
                break
            x, y = self.drawn.rounds(runs, gambler, rounds)
            encoded = gambler.encoder.encode(x), gambler.encoder.encode(y)
            gambler.update(*encoded)
            if recorder is not None:
                recorder.add(*encoded)
            show(gambler.pairs)

    def shrink(
        self, gambler: Bandit, runs: Runs, level: float, show: Callable[[int], None]
    ) -> None:
        """Look for a smallest pair that is refuted again, within what the budget left."""
        spent = 0

        def bet(pair: Pair, level: float, budget: int) -> Bandit:
            nonlocal spent
            own = self.gambler(Relation(pair.relation, 1, lambda _: pair), level)
            with suppress(TollensError):  # an input that the mechanism cannot bear
                self.on(own, runs, budget, "refuted", lambda n: show(gambler.pairs + spent + n))
            spent += own.pairs
            return own

        self._attempts = shrinking.Attempts(
            gambler.best_pair, bet, level=level, took=gambler.best_runs[0],
            most=min(self._settings.budget - gambler.pairs, _most_to_shrink(gambler.pairs)),
        )  # fmt: skip
        self._attempts.shrink(gambler.relation, gambler.best_number)

    @property
    def shrunk(self) -> shrinking.Shrunk | None:
        """The smallest pair that was refuted again so far."""
        return None if self._attempts is None else self._attempts.found


def _most_to_shrink(pairs: int) -> int:
    """Pairs of runs that may go into shrinking, where so many were needed to refute."""
    return max(MOST_TO_SHRINK, 4 * pairs)


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
