"""Runs with a time limit: the mechanism lives in a process of its own that can be ended.

The process is a fork, so that any callable works, and draws from the same streams as runs in
the main process. A run that exceeds the limit is the output `Raised("Timeout")`; the process is
then ended and a new one goes on with the next run.
"""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import numpy as np
from numpy.typing import NDArray

from tollens.errors import MechanismError, UsageError
from tollens.mechanism import Mechanism, changes_input, fingerprint
from tollens.neighbours import Pair
from tollens.outputs import Raised
from tollens.streams import EvidenceStream, Side

TIMEOUT = Raised("Timeout", "the run exceeded the time limit")

Batch = Sequence[object] | NDArray[np.generic]


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
        self._restarts = 0

    def __enter__(self) -> TimedRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sample(self, side: Side, block: int, n: int) -> Batch:
        """n outputs of one side; those that took too long are `TIMEOUT`."""
        if self._mechanism.vectorised:
            whole = self._ask(side, block, n, together=True, seconds=self._timeout * n)
            if whole is not None:
                return whole
        outputs: list[object] = []
        while len(outputs) < n:
            self._send((int(side), block, self._restarts, n - len(outputs), False))
            while len(outputs) < n:
                received, output = self._receive(self._timeout)
                outputs.append(output if received else TIMEOUT)
                if not received:
                    self._end()
                    break
        return outputs

    def close(self) -> None:
        """End the process."""
        self._end()

    def _ask(
        self, side: Side, block: int, n: int, *, together: bool, seconds: float
    ) -> Batch | None:
        self._send((int(side), block, self._restarts, n, together))
        received, outputs = self._receive(seconds)
        if not received:
            self._end()
            return None
        if isinstance(outputs, list | np.ndarray):
            return outputs
        raise MechanismError(f"{self._mechanism.name}: the worker answered {type(outputs)}")

    def _send(self, request: tuple[int, int, int, int, bool]) -> None:
        if self._process is None or not self._process.is_alive():
            self._end()
            self._restarts += 1
            ours, theirs = self._context.Pipe()
            arguments = (theirs, self._mechanism, self._pair, self._stream)
            self._process = self._context.Process(target=_serve, args=arguments, daemon=True)
            self._process.start()
            theirs.close()
            self._pipe = ours
        if self._pipe is not None:
            self._pipe.send(request)

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
            number, block, restarts, n, together = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        side = Side(number)
        data = pair.x if side is Side.X else pair.x_prime
        rng = stream.generator(side, block + (restarts << 32))
        before = fingerprint(data)
        try:
            if together:
                pipe.send(("output", mechanism.sample(data, n, rng)))
            else:
                for _ in range(n):
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
