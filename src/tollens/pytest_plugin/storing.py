"""Verdicts of a session as JSON: a file each in a folder, or a line each in one file."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tollens.errors import UsageError
from tollens.serial import to_jsonable

if TYPE_CHECKING:
    from tollens.verdict import Verdict


def store(place: Path, test: str, verdict: Verdict) -> Path:
    """Add a verdict to a folder, or to a file whose name ends in `.jsonl`; the file written.

    It is the JSON of the verdict with a further key, "test". Nothing is ever written over: files in
    a folder are numbered. `UsageError` where nothing can be written.
    """
    document = {**verdict.to_dict(), "test": test}
    text = json.dumps(to_jsonable(document), ensure_ascii=True, allow_nan=False) + "\n"
    try:
        if place.suffix == ".jsonl":
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("ab", buffering=0) as file:
                file.write(text.encode("ascii"))  # one write, so that lines of workers do not mix
            return place
        place.mkdir(parents=True, exist_ok=True)
        return _numbered(place, safe_name(test), text)
    except OSError as error:
        raise UsageError(f"--dp-store: {place} cannot be written: {error.strerror}") from None


def _numbered(folder: Path, name: str, text: str) -> Path:
    for number in itertools.count(1):
        path = folder / f"{name}-{number}.json"
        try:
            with path.open("x", encoding="ascii") as file:
                file.write(text)
        except FileExistsError:
            continue
        return path
    raise AssertionError  # not reached


def safe_name(test: str) -> str:
    """A name that every file system takes, and that only this test has.

    >>> safe_name("tests/test_counts.py::test_count[a/b]")
    'tests-test_counts.py-test_count-a-b-ba779232'
    """
    digest = hashlib.blake2b(test.encode("utf-8", "replace"), digest_size=4).hexdigest()
    plain = re.sub(r"[^A-Za-z0-9_.]+", "-", test).strip("-.")
    return f"{plain[:80]}-{digest}"
