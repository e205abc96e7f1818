"""Commits run one by one, each by a process of its own: no import of one is seen by another.

The processes write no compiled files: two commits of one second, with files of the same size,
would take those of each other for their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tollens.errors import UsageError
from tollens.monitoring.backfill.repository import Commit, Repository, Worktree, clean_environment
from tollens.monitoring.command import Step
from tollens.monitoring.notes import OTHER_SETTINGS
from tollens.settings import MONITOR_KEYS
from tollens.targets import split_target


@dataclass(frozen=True, slots=True)
class Answer:
    """What a process said: its document, what went wrong, and that a new series began."""

    document: Mapping[str, object]
    error: str
    news: tuple[str, ...] = ()


class Runner:
    """Runs commands of tollens on the files of one commit after the other, in a worktree.

    Settings are those of the caller, never those that a commit brings along.
    """

    def __init__(
        self,
        step: Step,
        settings: Mapping[str, object],
        tree: Worktree,
        repository: Repository,
    ) -> None:
        self._step, self.settings, self._tree = step, settings, tree
        self._folder = tree.path / repository.prefix
        self._target = _within(step.request.target, repository)
        self._config = tree.path.parent / "settings.toml"
        self._config.write_text("", encoding="utf-8")
        self._at: Commit | None = None

    def step(self, commit: Commit) -> Answer:
        """Make the step of a commit."""
        step = self._step
        words = ["monitor", "step", self._target, "--name", step.name, "--version", commit.sha]
        words += self._watched()
        for name in MONITOR_KEYS:
            if self.settings[name] is not None and name != "store":
                words += [f"--{name}", str(self.settings[name])]
        if step.run_id is not None:
            words += ["--run-id", step.run_id]
        for event in step.events:
            words += ["--event", event]
        if step.keep_outputs:
            words.append("--keep-outputs")
        return self._run(commit, words)

    def audit(self, commit: Commit, alpha: float, budget: int) -> Answer:
        """Audit a commit on its own."""
        words = ["audit", self._target, "--alpha", repr(alpha), "--budget", str(budget)]
        words += self._watched()
        for name in ("delta", "seed", "workers", "timeout"):
            if self.settings[name] is not None:
                words += [f"--{name}", str(self.settings[name])]
        return self._run(commit, words)

    def _watched(self) -> list[str]:
        request = self._step.request
        given = {
            "--claim": request.claim, "--x": request.x, "--x-prime": request.x_prime,
            "--neighbours": request.neighbours,
        }  # fmt: skip
        return [word for name, text in given.items() if text is not None for word in (name, text)]

    def _run(self, commit: Commit, words: list[str]) -> Answer:
        if commit != self._at:
            self._tree.checkout(commit)
            self._at = commit
        self._folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(  # noqa: S603 - our own command
            [
                *(sys.executable, "-P", "-B", "-m", "tollens"), *words,
                *("--format", "json", "--quiet", "--config", str(self._config)),
            ],
            cwd=self._folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )  # fmt: skip
        return _answer(done)

    def _environment(self) -> dict[str, str]:
        """Modules of the commit come before those that are installed, settings from nowhere."""
        found = {k: v for k, v in clean_environment().items() if not k.startswith("TOLLENS_")}
        places = [self._folder, self._tree.path, self._folder / "src", self._tree.path / "src"]
        paths = [str(place) for place in dict.fromkeys(places)]
        paths += [found["PYTHONPATH"]] if found.get("PYTHONPATH") else []
        found["PYTHONPATH"] = os.pathsep.join(paths)
        found["PYTHONDONTWRITEBYTECODE"] = "1"
        found["PYTHONIOENCODING"] = "utf-8"
        found["TOLLENS_STORE"] = str(self.settings["store"])  # a password is not for `ps`
        return found


def _answer(done: subprocess.CompletedProcess[str]) -> Answer:
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        words = f"ended with {done.returncode}" if done.returncode >= 0 else "was killed"
        tail = done.stderr.strip().splitlines()[-1:]
        return Answer({}, ": ".join([f"the process {words}", *tail]))
    said = [str(one) for one in document.get("findings") or document.get("notes") or []]
    news = tuple(one for one in said if one.startswith(OTHER_SETTINGS))
    return Answer(document, "; ".join(one for one in said if one not in news), news)


def _within(target: str, repository: Repository) -> str:
    """A target seen from the folder of the repository; absolute paths must lie in it."""
    place, name = split_target(target)
    path = Path(place)
    if not place.endswith(".py") or not path.is_absolute():
        return target
    folder = repository.top.resolve() / repository.prefix
    try:
        inside = path.resolve().relative_to(repository.top.resolve())
    except ValueError:
        raise UsageError(f"{place} lies outside the repository {repository.top}") from None
    return f"{os.path.relpath(repository.top.resolve() / inside, folder)}::{name}"
