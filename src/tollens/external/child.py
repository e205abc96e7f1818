"""A program that runs beside us: lines to it and from it, with a time limit, and its end.

Everything is read and written by one thread, as pipes are ready, so that large data cannot block
both ends, and so that a signal interrupts a wait. The program has a session of its own: Ctrl-C
does not reach it, and it is ended together with what it has started.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tollens.errors import UsageError

LONGEST_LINE = 64 * 2**20
"""Bytes of a line at most."""

_PIECE = 2**16
_TAIL = 4096
_LINES = 3
"""Bytes of stderr that are kept, and lines of it that are shown."""

_GLANCE = 0.25
"""Seconds after which it is looked whether a silent program still runs."""

GRACE = 1.0
"""Seconds that a program gets to end by itself, once its stdin or stdout is closed."""


class Ended(Exception):  # noqa: N818 - a turn of events
    """The program has ended, or has closed its stdout; the text says how."""


class Late(Exception):  # noqa: N818 - a turn of events
    """The program has said nothing in time."""


class TooLong(Exception):  # noqa: N818 - a turn of events
    """A line is longer than `LONGEST_LINE`; the text is how it begins."""


@dataclass(frozen=True)
class Launch:
    """How a program is started: its words, folder, further variables and limit of memory."""

    argv: tuple[str, ...]
    cwd: str | None = None
    env: tuple[tuple[str, str | None], ...] = ()
    memory: int | None = None

    def variables(self) -> dict[str, str]:
        """The environment of the program; a variable of None is taken out."""
        found = dict(os.environ)
        for name, value in self.env:
            found.pop(name, None)
            if value is not None:
                found[name] = value
        return found


class Child:
    """A running program; `UsageError` where it cannot be started."""

    def __init__(self, launch: Launch) -> None:
        if not hasattr(select, "poll"):
            raise UsageError(
                "programs as mechanisms need a system whose pipes can be waited for (Linux, macOS)"
            )
        try:
            self._process = subprocess.Popen(  # noqa: S603 - what to run is the caller's word
                launch.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=launch.cwd,
                env=launch.variables(),
                start_new_session=True,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise UsageError(_not_started(launch, error)) from None
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in pipes if pipe)
        for number in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(number, False)
        self._finalizer = weakref.finalize(self, _finish, self._process, os.getpid())
        if launch.memory is not None:
            _limit_memory(self._process, launch.memory)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._outgoing: deque[memoryview] = deque()
        self._lines: deque[bytes] = deque()
        self._rest: list[bytes] = []
        self._length = 0
        self._tail, self._how = b"", "was ended"
        self.closed = False
        """Whether it has closed its stdout, as it does when it ends."""
        self.heard = time.monotonic()
        """When the program last wrote to stdout, or was started."""

    def send(self, text: bytes) -> None:
        """Write this, while lines are waited for."""
        if not self._outgoing:
            self._poll.register(self._stdin, select.POLLOUT)
        self._outgoing.append(memoryview(text))

    def line(self, until: Callable[[], float]) -> bytes:
        """The next line, without its end.

        Waits until the moment that `until` says, on the clock of `time.monotonic`. Raises `Late`
        then, `Ended` where the program has ended before a whole line, and `TooLong`.
        """
        while not self._lines:
            left = until() - time.monotonic()
            if left <= 0:
                raise Late
            self._pump(min(left, _GLANCE))
        return self._lines.popleft()

    def unasked(self, seconds: float) -> bytes | None:
        """What the program has written and nobody has read, listening for this long; or None."""
        with contextlib.suppress(Ended):
            self._pump(seconds)
            self._pump(0.0)
        waiting = b"\n".join([*self._lines, *self._rest])
        return waiting if waiting.strip() else None

    def words(self) -> str:
        """The last lines of what the program wrote to stderr, as one."""
        lines = [line.strip() for line in self._tail.decode("utf-8", "replace").splitlines()]
        return " | ".join([line for line in lines if line][-_LINES:])

    def end(self, grace: float = GRACE) -> str:
        """End the program and what it has started, and say how it ended.

        Its stdin is closed, and it gets `grace` seconds to end by itself.
        """
        if self._finalizer.detach() is None:
            return self._how
        own = _end(self._process, grace)
        while self._read(self._stderr):
            pass
        _close(self._process)
        self.closed = True
        code = self._process.returncode
        if not own:
            self._how = "was ended"
        elif code >= 0:
            self._how = f"ended with exit code {code}"
        else:
            self._how = f"was ended by {_signal_name(-code)}"
        return self._how

    def _pump(self, seconds: float) -> None:
        """Read and write what can be; `Ended` where nothing more will come."""
        if self.closed:
            raise Ended
        ready = self._poll.poll(max(0, int(seconds * 1000 + 0.999)))
        for number, _ in ready:
            if number == self._stdin:
                self._write()
            elif not self._read(number):
                self._poll.unregister(number)
                self.closed = self.closed or number == self._stdout
        if not ready and seconds and _has_exited(self._process):
            self.closed = True  # something that it started holds its stdout open
        if self.closed:
            raise Ended

    def _write(self) -> None:
        piece = self._outgoing[0]
        try:
            written = os.write(self._stdin, piece[:_PIECE])
        except BlockingIOError:
            return
        except OSError:  # it has closed its stdin; it may still answer
            self._outgoing.clear()
        else:
            self._outgoing[0] = piece[written:]
            if not self._outgoing[0]:
                self._outgoing.popleft()
        if not self._outgoing:
            self._poll.unregister(self._stdin)

    def _read(self, number: int) -> bool:
        """Read what is there; False at the end of the stream, or where nothing is there."""
        try:
            piece = os.read(number, _PIECE)
        except BlockingIOError:
            return False
        if number == self._stderr:
            self._tail = (self._tail + piece)[-_TAIL:]
        elif piece:
            self._cut(piece)
        return bool(piece)

    def _cut(self, piece: bytes) -> None:
        self.heard = time.monotonic()
        first, *others = piece.split(b"\n")
        self._rest.append(first)
        self._length += len(first)
        if self._length > LONGEST_LINE:
            raise TooLong(self._rest[0][:200].decode("utf-8", "replace"))
        if others:
            self._lines.append(b"".join(self._rest))
            self._lines.extend(others[:-1])
            self._rest, self._length = [others[-1]], len(others[-1])


def _finish(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a program that nobody needs; a fork of its owner only lets go of it."""
    if os.getpid() == owner:
        _end(process, GRACE)
    _close(process)


def _end(process: subprocess.Popen[bytes], grace: float) -> bool:
    """End a process and its session; whether it ended by itself."""
    if process.stdin is not None:
        process.stdin.close()
    until = time.monotonic() + grace
    while not (own := _has_exited(process)) and time.monotonic() < until:
        time.sleep(0.001)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return own


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one of those for real time
        return f"signal {number}"


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended; it stays to be waited for, so that its number is not reused."""
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    try:
        return os.waitid(os.P_PID, process.pid, flags) is not None
    except ChildProcessError:
        return True


def limits_memory() -> bool:
    """Whether this system can limit the memory of another process."""
    try:
        import resource
    except ImportError:
        return False
    return hasattr(resource, "prlimit")


def _limit_memory(process: subprocess.Popen[bytes], memory: int) -> None:
    """Limit the address space of a process from now on; `UsageError` where that is not allowed.

    From outside, because between fork and exec hardly anything is safe in a process with threads.
    """
    import resource

    try:
        resource.prlimit(process.pid, resource.RLIMIT_AS, (memory, memory))
    except ProcessLookupError:
        pass
    except (OSError, ValueError, OverflowError) as error:
        raise UsageError(f"memory cannot be limited to {memory} bytes: {error}") from None


def _not_started(launch: Launch, error: Exception) -> str:
    """Why a program cannot be started, and what to do."""
    program = launch.argv[0]
    if launch.cwd is not None and not Path(launch.cwd).is_dir():
        return f"cwd is {launch.cwd!r}, which is no folder"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {program!r}; give a path, or a name that is found on PATH"
    if isinstance(error, PermissionError):
        return (
            f"{program!r} may not be executed; make it executable (chmod +x), or name what runs it"
        )
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"{program!r} cannot be started: {reason}"
