"""Runs with a time limit: the mechanism lives in a process of its own that can be ended.

The process is a fork, so that any callable works, and draws from the same streams as runs in
the main process. A run that exceeds the limit is the output `Raised("Timeout")`; the process is
then ended and a new one goes on with the next run.
"""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.errors import MechanismError, UsageError
from tollens.mechanism import Mechanism, changes_input, fingerprint
from tollens.neighbours import Pair
from tollens.outputs import Raised
from tollens.streams import EvidenceStream, Side

TIMEOUT = Raised("Timeout", "the run exceeded the time limit")

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
    """n outputs from the streams of one block, coupled with the other side or not."""
    if not coupled:
        return mechanism.sample(data, n, stream.generator(side, block))
    if mechanism.vectorised:
        return mechanism.sample(data, n, stream.shared(block))
    return [mechanism.sample(data, 1, rng)[0] for rng in stream.shared_runs(block, n)]


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
        yield from islice(stream.shared_runs(request.block, request.n), request.done, None)
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
        """n outputs of one side; those that took too long are `TIMEOUT`."""
        if self._mechanism.vectorised:
            whole = self._ask_for_all(_Request(int(side), block, 0, n, coupled, together=True))
            if whole is not None:
                return whole
        outputs: list[object] = []
        while len(outputs) < n:
            self._send(_Request(int(side), block, len(outputs), n, coupled, together=False))
            while len(outputs) < n:
                received, output = self._receive(self._timeout)
                outputs.append(output if received else TIMEOUT)
                if not received:
                    self._end()
                if self._process is None:
                    break
        return outputs

    def close(self) -> None:
        """End the process."""
        self._end()

    def _ask_for_all(self, request: _Request) -> Batch | None:
        """A whole batch; None where it took longer than all its runs may."""
        self._send(request)
        received, outputs = self._receive(self._timeout * request.n)
        if not received:
            self._end()
        return outputs if isinstance(outputs, list | np.ndarray) else None

    def _send(self, request: _Request) -> None:
        if self._process is None or not self._process.is_alive():
            self._end()
            ours, theirs = self._context.Pipe()
            arguments = (theirs, self._mechanism, self._pair, self._stream)
            self._process = self._context.Process(target=_serve, args=arguments, daemon=True)
            self._process.start()
            theirs.close()
            self._pipe = ours
        if self._pipe is not None:
            self._pipe.send(tuple(request))

    def _receive(self, seconds: float) -> tuple[bool, object]:
        """Whether an answer came in time, and the answer."""
        if self._pipe is None or not self._pipe.poll(seconds):
            return False, None
        try:
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            self._end()
            return True, Raised("Crash", "the process of the run ended")
        if kind == "error":
            raise MechanismError(str(value))
        return True, value

    def _end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(pipe: Connection, mechanism: Mechanism, pair: Pair, stream: EvidenceStream) -> None:
    """The loop of the worker process.

    The global generators are seeded anew: a fork inherits their state, and two forks would
    repeat each other's draws.
    """
    np.random.seed()  # noqa: NPY002 - libraries that are audited may draw from it
    random.seed()
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
                outputs = draw(
                    mechanism, data, request.n, stream, side, request.block,
                    coupled=request.coupled,
                )  # fmt: skip
                pipe.send(("output", outputs))
            else:
                for rng in _generators(stream, side, request):
                    pipe.send(("output", mechanism.sample(data, 1, rng)[0]))
            if fingerprint(data) != before:
                raise MechanismError(changes_input(mechanism.name))
        except KeyboardInterrupt:
            return
        except MechanismError as error:
            pipe.send(("error", str(error)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the main process reports it
            text = f"{mechanism.name}: a run's output could not be sent from its process"
            pipe.send(("error", f"{text} ({type(error).__name__}: {error})"))
