"""Runs with a time limit: the mechanism lives in a process of its own.

A run that exceeds the limit is interrupted inside the process, so that whatever generator the
mechanism keeps goes on from where it is; it is the output `Raised("Timeout")`. A run that cannot
be interrupted has its process ended. A new process then goes on only for mechanisms that take
their generator from us: any other would repeat the draws of the first.

The process is a fork, so that any callable works. Its runs draw from the same streams as runs
in the main process.
"""

from __future__ import annotations

import multiprocessing
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.errors import MechanismError, UsageError
from tollens.mechanism import (
    BatchFailed,
    Mechanism,
    TimeIsUp,
    changes_input,
    fingerprint,
)
from tollens.neighbours import Pair
from tollens.outputs import Raised
from tollens.streams import EvidenceStream, Side

TIMEOUT = Raised("Timeout", "the run exceeded the time limit")
CRASH = Raised("Crash", "the process of the run ended")

_GRACE = 1.0
"""Seconds after the limit in which a run may still be interrupted from inside."""

Batch = Sequence[object] | NDArray[np.generic]


def draw(
    mechanism: Mechanism,
    data: object,
    n: int,
    stream: EvidenceStream,
    side: Side,
    block: int,
    *,
    coupled: bool,
) -> Batch:
    """n outputs from the streams of one block, coupled with the other side or not.

    Coupled runs are made one by one, batched mechanisms too: in one call, draws of run i on one
    side could be those of run j on the other, and pairs would not be independent of each other.
    """
    if not coupled:
        return mechanism.sample(data, n, stream.generator(side, block))
    return [mechanism.sample(data, 1, rng)[0] for rng in stream.shared(block, n)]


class _Request(NamedTuple):
    """Runs that the worker is asked for: all n of a block, or those after the first `done`."""

    side: int
    block: int
    done: int
    n: int
    coupled: bool
    together: bool


def _generators(
    stream: EvidenceStream, side: Side, request: _Request
) -> Iterator[np.random.Generator]:
    """A generator for each run that is left; independent runs go on in a new stream."""
    if request.coupled:
        yield from islice(stream.shared(request.block, request.n), request.done, None)
        return
    rng = stream.generator(side, request.block + (request.done << 32))
    for _ in range(request.n - request.done):
        yield rng


class TimedRuns:
    """Draws runs of a mechanism with at most `timeout` seconds each; a context manager."""

    def __init__(
        self, mechanism: Mechanism, pair: Pair, stream: EvidenceStream, timeout: float
    ) -> None:
        if "fork" not in multiprocessing.get_all_start_methods():
            raise UsageError("timeout needs a system that can fork processes; leave it out here")
        self._mechanism, self._pair, self._stream = mechanism, pair, stream
        self._timeout = timeout
        self._context = multiprocessing.get_context("fork")
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> TimedRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sample(self, side: Side, block: int, n: int, *, coupled: bool) -> Batch:
        """n outputs of one side; those that took too long are `TIMEOUT`.

        Raises `BatchFailed` where a batched mechanism raised or took longer than n runs may, and
        `MechanismError` where its process was lost and cannot be replaced.
        """
        if self._mechanism.vectorised:
            self._send(_Request(int(side), block, 0, n, coupled, together=True))
            output = self._receive(self._timeout * n)
            if isinstance(output, Raised):
                raise BatchFailed(f"a batch of {n} runs ended in {output}")
            if isinstance(output, list | tuple | np.ndarray):
                return output
            raise MechanismError(f"{self._mechanism.name}: returned no batch of {n} outputs")
        outputs: list[object] = []
        while len(outputs) < n:
            self._send(_Request(int(side), block, len(outputs), n, coupled, together=False))
            while len(outputs) < n:
                outputs.append(self._receive(self._timeout))
                if self._process is None:
                    break
        return outputs

    def close(self) -> None:
        """End the process."""
        self._end()

    def _send(self, request: _Request) -> None:
        if self._process is None or not self._process.is_alive():
            self._end()
            ours, theirs = self._context.Pipe()
            arguments = (theirs, self._mechanism, self._pair, self._stream, self._timeout)
            self._process = self._context.Process(target=_serve, args=arguments, daemon=True)
            self._process.start()
            theirs.close()
            self._pipe = ours
        if self._pipe is not None:
            self._pipe.send(tuple(request))

    def _receive(self, seconds: float) -> object:
        """The next answer; where none comes or the process is lost, what happened instead."""
        if self._pipe is None:
            raise AssertionError("an answer is received after a request")
        if not self._pipe.poll(seconds + _GRACE):
            return self._lost(TIMEOUT, "could not be interrupted at its time limit")
        try:
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            return self._lost(CRASH, "ended its process")
        if kind == "error":
            raise MechanismError(str(value))
        if kind == "failed":
            raise BatchFailed(str(value))
        return value

    def _lost(self, output: Raised, what: str) -> Raised:
        self._end()
        if not self._mechanism.takes_rng:
            raise MechanismError(
                f"{self._mechanism.name}: a run {what}; a new process would repeat the draws of "
                "the lost one, because the mechanism keeps its own generator. Give it a parameter "
                "named rng and draw from that, or mend the run"
            )
        return output

    def _end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(
    pipe: Connection,
    mechanism: Mechanism,
    pair: Pair,
    stream: EvidenceStream,
    timeout: float,
) -> None:
    """The loop of the worker process.

    The global generators are seeded anew: a fork inherits their state, and two forks would
    repeat each other's draws.
    """
    np.random.seed()  # noqa: NPY002 - libraries that are audited may draw from it
    random.seed()
    signal.signal(signal.SIGALRM, _time_is_up)
    while True:
        try:
            request = _Request(*pipe.recv())
        except (EOFError, OSError, KeyboardInterrupt):
            return
        side = Side(request.side)
        data = pair.x if side is Side.X else pair.x_prime
        before = fingerprint(data)
        try:
            if request.together:
                pipe.send(("output", _whole(mechanism, data, stream, side, request, timeout)))
            else:
                for rng in _generators(stream, side, request):
                    pipe.send(("output", _single(mechanism, data, rng, timeout)))
            if fingerprint(data) != before:
                raise MechanismError(changes_input(mechanism.name))
        except KeyboardInterrupt:
            return
        except BatchFailed as error:
            pipe.send(("failed", str(error)))
        except MechanismError as error:
            pipe.send(("error", str(error)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the main process reports it
            text = f"{mechanism.name}: a run's output could not be sent from its process"
            pipe.send(("error", f"{text} ({type(error).__name__}: {error})"))


def _time_is_up(*_: object) -> None:
    raise TimeIsUp


def _limited(seconds: float, run: Callable[[], object]) -> object:
    """The result of a run, or `TIMEOUT`."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return run()
    except TimeIsUp:
        return TIMEOUT
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _single(mechanism: Mechanism, data: object, rng: np.random.Generator, timeout: float) -> object:
    return _limited(timeout, lambda: mechanism.sample(data, 1, rng)[0])


def _whole(
    mechanism: Mechanism,
    data: object,
    stream: EvidenceStream,
    side: Side,
    request: _Request,
    timeout: float,
) -> object:
    def run() -> object:
        return draw(
            mechanism, data, request.n, stream, side, request.block, coupled=request.coupled
        )

    return _limited(timeout * request.n, run)
