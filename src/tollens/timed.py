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
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

import numpy as np

from tollens.errors import MechanismError, UsageError
from tollens.mechanism import BatchFailed, Mechanism, TimeIsUp
from tollens.neighbours import Pair
from tollens.outputs import CRASH, TIMEOUT, Raised
from tollens.streams import EvidenceStream, Side
from tollens.worker import Batch, Chunk, Watch, chunks_of, data_of, draw_chunk, join

_GRACE = 1.0
"""Seconds after the limit in which a run may still be interrupted from inside."""

_KNOWN = 64
"""Pairs that the process keeps at a time."""


class _Request(NamedTuple):
    """A chunk that the process is asked for: all of it, or the runs after the first `done`."""

    pair: int
    chunk: Chunk
    done: int
    together: bool


class TimedRuns:
    """Draws runs of a mechanism with at most `timeout` seconds each; a context manager."""

    def __init__(self, mechanism: Mechanism, stream: EvidenceStream, timeout: float) -> None:
        if "fork" not in multiprocessing.get_all_start_methods():
            raise UsageError("timeout needs a system that can fork processes; leave it out here")
        self._mechanism, self._stream, self._timeout = mechanism, stream, timeout
        self._context = multiprocessing.get_context("fork")
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._pairs: dict[int, Pair] = {}

    def __enter__(self) -> TimedRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def both(self, pair: Pair, block: int, n: int, *, coupled: bool) -> tuple[Batch, Batch]:
        """n outputs of x, then n of x'."""
        x, y = (self.sample(pair, side, block, n, coupled=coupled) for side in Side)
        return x, y

    def sample(self, pair: Pair, side: Side, block: int, n: int, *, coupled: bool) -> Batch:
        """n outputs of one side; those that took too long are `TIMEOUT`.

        Raises `BatchFailed` where a batched mechanism raised or took longer than n runs may, and
        `MechanismError` where its process was lost and cannot be replaced.
        """
        chunks = chunks_of(self._mechanism, side, block, n, coupled=coupled)
        return join([self.chunk(pair, chunk) for chunk in chunks])

    def chunk(self, pair: Pair, chunk: Chunk) -> Batch:
        """The outputs of one chunk; errors as those of `sample`."""
        if self._mechanism.vectorised:
            self._ask(pair, chunk, 0)
            output = self._receive(self._timeout * chunk.n)
            if isinstance(output, Raised):
                raise BatchFailed(f"a batch of {chunk.n} runs ended in {output}")
            if isinstance(output, list | tuple | np.ndarray):
                return output
            raise MechanismError(f"{self._mechanism.name}: returned no batch of {chunk.n} outputs")
        outputs: list[object] = []
        while len(outputs) < chunk.n:
            self._ask(pair, chunk, len(outputs))
            while len(outputs) < chunk.n:
                outputs.append(self._receive(self._timeout))
                if self._process is None:
                    break
        return outputs

    def close(self) -> None:
        """End the process."""
        self._end()

    def _ask(self, pair: Pair, chunk: Chunk, done: int) -> None:
        request = _Request(id(pair), chunk, done, self._mechanism.vectorised)
        try:
            if id(pair) not in self._pairs:
                self._introduce(pair)
            (self._pipe or self._start()).send(request)
        except OSError:  # it ended between two requests
            self._lost(CRASH, "ended its process")
            self._start().send(request)

    def _start(self) -> Connection:
        """A new process, which knows the mechanism and the pairs because it is a fork."""
        ours, theirs = self._context.Pipe()
        ends, limits = (theirs, ours), (self._timeout, os.getpid())
        arguments = (*ends, self._mechanism, self._pairs, self._stream, *limits)
        self._process = self._context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self._pipe = ours
        return ours

    def _introduce(self, pair: Pair) -> None:
        """Make a pair known to the process, if there is one, and to those that start later."""
        if len(self._pairs) >= _KNOWN:
            self._pairs.clear()
        self._pairs[id(pair)] = pair
        if self._pipe is None:
            return
        try:
            self._pipe.send((id(pair), pair, len(self._pairs) == 1))
        except OSError:
            raise
        except Exception as error:
            if not self._mechanism.takes_rng:
                del self._pairs[id(pair)]
                raise UsageError(
                    f"the data of another pair cannot be sent to the process of "
                    f"{self._mechanism.name} ({type(error).__name__}: {error}); leave out timeout, "
                    "or audit one pair at a time"
                ) from error
            self._end()

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


def end_with(parent: int) -> None:
    """End this process soon after the one that it serves, whatever it is doing."""

    def watch() -> None:
        if hasattr(signal, "pthread_sigmask"):  # signals are for the thread that runs
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGINT})
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _serve(
    pipe: Connection,
    other_end: Connection,
    mechanism: Mechanism,
    pairs: dict[int, Pair],
    stream: EvidenceStream,
    timeout: float,
    parent: int,
) -> None:
    """The loop of the process; it ends when the other end of the pipe is closed.

    The global generators are seeded anew: a fork inherits their state, and two forks would
    repeat each other's draws.
    """
    other_end.close()
    end_with(parent)
    np.random.seed()  # noqa: NPY002 - libraries that are audited may draw from it
    random.seed()
    signal.signal(signal.SIGALRM, _time_is_up)
    watch = Watch(mechanism.name)
    while True:
        try:
            received = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        if not isinstance(received, _Request):
            number, pair, forget = received
            if forget:
                pairs.clear()
            pairs[number] = pair
            continue
        try:
            for output in _outputs(
                mechanism, pairs[received.pair], stream, received, timeout, watch
            ):
                pipe.send(("output", output))
        except KeyboardInterrupt:
            return
        except BatchFailed as error:
            pipe.send(("failed", str(error)))
        except (MechanismError, UsageError) as error:
            pipe.send(("error", str(error)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the main process reports it
            text = f"{mechanism.name}: a run's output could not be sent from its process"
            pipe.send(("error", f"{text} ({type(error).__name__}: {error})"))


def _outputs(
    mechanism: Mechanism,
    pair: Pair,
    stream: EvidenceStream,
    request: _Request,
    timeout: float,
    watch: Watch,
) -> Iterator[object]:
    """What a request asks for, one by one or as one batch.

    The last output is given out after the look at the data, lest a change is told too late.
    """
    chunk = request.chunk
    data = data_of(pair, chunk.side)
    watch.start(pair)
    if request.together:
        batch = _limited(timeout * chunk.n, lambda: draw_chunk(mechanism, data, chunk, stream))
        watch.look(pair, chunk.side)
        yield batch
        return
    left = chunk.n - request.done
    for i, rng in enumerate(_generators(stream, request), start=1):
        output = _limited(timeout, lambda rng=rng: mechanism.sample(data, 1, rng)[0])  # type: ignore[misc]
        if i == left:
            watch.look(pair, chunk.side)
        yield output


def _generators(stream: EvidenceStream, request: _Request) -> Iterator[np.random.Generator]:
    """A generator for each run that is left; independent runs go on in a new stream."""
    side, block, number, n, coupled = request.chunk
    if coupled:
        yield from islice(stream.shared(block, n, number), request.done, None)
        return
    rng = stream.generator(side, block, number, request.done)
    for _ in range(n - request.done):
        yield rng


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
