"""A git repository: its commits, and a worktree of its own in which they are checked out."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tollens.errors import UsageError

_DIGITS = 12
"""Digits of a commit that people see; its version is the whole of it, as on GitHub."""

Handler = Callable[[int, FrameType | None], object] | int

_PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
"""What a hook of git sets; commands on another worktree must not see it."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; `sha` is also its version, `short` is for people."""

    sha: str
    subject: str

    @property
    def short(self) -> str:
        """The first digits."""
        return self.sha[:_DIGITS]

    def __str__(self) -> str:
        return f"{self.short} {self.subject}"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, and the folder in it from which targets are seen."""

    top: Path
    prefix: str

    def commits(self, text: str) -> list[Commit]:
        """The commits of a range such as `v1.0..HEAD`, oldest first, first parents only."""
        done = _git(
            self.top, "log", "--reverse", "--first-parent", "--format=%H%x00%s",
            "--end-of-options", text, "--",
        )  # fmt: skip
        if done.returncode:
            raise UsageError(
                f"the range {text!r} cannot be read: {_last_line(done.stderr)}; write A..B, such "
                "as v1.0..HEAD"
            )
        found = [Commit(*line.split("\0", 1)) for line in done.stdout.splitlines() if line]
        if not found:
            raise UsageError(f"the range {text!r} has no commits; write A..B with A before B")
        return found

    @contextmanager
    def worktree(self, commit: Commit) -> Iterator[Worktree]:
        """A temporary worktree at a commit; it is removed whatever happens."""
        folder = Path(tempfile.mkdtemp(prefix="tollens-backfill-")).resolve()
        place = folder / "tree"
        before = _ending_is_an_interrupt()
        try:
            done = _git(self.top, "worktree", "add", "--detach", str(place), commit.sha)
            if done.returncode:
                raise UsageError(f"git cannot make a worktree: {_last_line(done.stderr)}")
            yield Worktree(place)
        finally:
            _git(self.top, "worktree", "remove", "--force", "--force", str(place))
            shutil.rmtree(folder, ignore_errors=True)
            if place.exists():
                _git(self.top, "worktree", "prune")
            if before is not None:
                signal.signal(signal.SIGTERM, before)


@dataclass(frozen=True, slots=True)
class Worktree:
    """A folder with the files of one commit at a time."""

    path: Path

    def checkout(self, commit: Commit) -> None:
        """Replace all files by those of a commit; what earlier runs left behind goes."""
        for words in (
            ("checkout", "--quiet", "--detach", "--force", commit.sha),
            ("clean", "-ffdxq"),
        ):
            done = _git(self.path, *words)
            if done.returncode:
                raise UsageError(f"git cannot check out {commit}: {_last_line(done.stderr)}")


def find_repository(path: Path) -> Repository:
    """The repository that a folder lies in."""
    if shutil.which("git") is None:
        raise UsageError("git is not installed, or not on PATH; backfill reads commits with it")
    if not path.is_dir():
        raise UsageError(f"{path} is no folder; give a repository, or a folder in one")
    done = _git(path, "rev-parse", "--show-toplevel", "--show-prefix")
    if done.returncode:
        raise UsageError(f"{path.absolute()} lies in no git repository; give one with --path")
    top, prefix = [*done.stdout.splitlines(), "", ""][:2]
    return Repository(Path(top), prefix)


def clean_environment() -> dict[str, str]:
    """The environment without the places that a hook of git sets."""
    return {name: value for name, value in os.environ.items() if name not in _PLACES}


def _ending_is_an_interrupt() -> Handler | None:
    """Let SIGTERM raise `KeyboardInterrupt`, as Ctrl-C does; the handler that was there before."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGTERM, signal.default_int_handler) or signal.SIG_DFL


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run git without its hooks."""
    return subprocess.run(  # noqa: S603 - words are ours, and texts after --end-of-options
        ["git", "-c", f"core.hooksPath={os.devnull}", "-C", str(folder), *words],  # noqa: S607
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        env={**clean_environment(), "LC_ALL": "C"},
        check=False,
    )


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or lines or ["git says nothing"])[0].partition(": ")[2] or "git says nothing"
