"""What a test that failed says, and the lines that run it again."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from tollens.claim import parse_claim
from tollens.errors import UsageError
from tollens.labelled import rows_text
from tollens.pytest_plugin.places import test_text
from tollens.serial import data_to_json
from tollens.settings import KEYS

if TYPE_CHECKING:
    import pytest

    from tollens.pytest_plugin.question import Question
    from tollens.pytest_plugin.session import Session
    from tollens.verdict import Verdict

_LONGEST = 500
"""Inputs whose JSON is longer are not put into a line to paste."""


def failure(verdict: Verdict, asked: Question, session: Session, item: pytest.Item) -> str:
    """The lines of a verdict, and of what to paste to see it again."""
    rows = [*verdict.lines(), ("again", _pytest_line(verdict, session, item))]
    command = _command_line(verdict, asked)
    if command is not None:
        rows.append(("", command))
    return rows_text(rows)


def _pytest_line(verdict: Verdict, session: Session, item: pytest.Item) -> str:
    """The call of pytest that makes the same audits with the same seed and the same alpha."""
    words = ["pytest", test_text(item), *getattr(item, "again", ())]
    if not verdict.exact:
        words += session.choices.again
        words.append(f"--dp-seed={verdict.seed}")
        words.append(f"--dp-alpha={session.ledger.of_test!r}")
    return shlex.join(words)


def _command_line(verdict: Verdict, asked: Question) -> str | None:
    """The call of tollens that asks the same of this pair alone; None where it has no texts."""
    try:
        pair = (verdict.neighbours.x, verdict.neighbours.x_prime)
        x, x_prime = (json.dumps(data_to_json(data), allow_nan=False) for data in pair)
        readable = parse_claim(str(verdict.claim)) == verdict.claim
    except (UsageError, ValueError):
        return None
    if asked.target is None or not readable or max(len(x), len(x_prime)) > _LONGEST:
        return None
    verb = "refute" if verdict.exact else "audit"
    words = ["tollens", verb, asked.target, "--claim", str(verdict.claim)]
    words += ["--x", x, "--x-prime", x_prime]
    if not verdict.exact:
        given = {**asked.settings, "alpha": verdict.alpha, "seed": verdict.seed}
        for name, key in KEYS.items():
            if name in given and given[name] != key.default:
                words += [f"--{name}", str(given[name])]
    return shlex.join(words)
