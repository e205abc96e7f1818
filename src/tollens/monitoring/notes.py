"""What a step says that nobody asked for: a new store, a new series under a known name."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from tollens.claim import claim_from_json
from tollens.errors import UsageError
from tollens.serial import to_jsonable
from tollens.store import SeriesRecord
from tollens.store.places import read_place

OTHER_SETTINGS = "other settings than series"
"""How the note on a new series under a known name begins."""

_ORDER = ("claim", "pair", "pairs", "alpha", "horizon", "method", "beta", "events", "delta")
_LONGEST = 60


def new_store(settings: Mapping[str, object]) -> list[str]:
    """That a new store is made, asked before it is; nothing where there is one, or a server."""
    try:
        path = read_place(str(settings["store"])).path
    except UsageError:  # said where the store is opened
        return []
    if path is None or path.exists():
        return []
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return [f"a new store was made at {shown}"]


def new_series(before: SeriesRecord, now: SeriesRecord) -> str:
    """That a series begins under a name that has another, and what differs."""
    old, new = _shown(before.settings), _shown(now.settings)
    changes = [f"{key} {old[key]} -> {new[key]}" for key in _ORDER if old.get(key) != new.get(key)]
    said = f" ({', '.join(changes)})" if changes else ""
    return (
        f"{OTHER_SETTINGS} {now.name} had so far{said}: a new series begins; the old one stays "
        "readable"
    )


def _shown(settings: Mapping[str, object]) -> dict[str, str]:
    """Settings as people read them."""
    found = {key: _text(to_jsonable(settings.get(key))) for key in _ORDER}
    with contextlib.suppress(KeyError, TypeError, ValueError, UsageError):
        found["claim"] = str(claim_from_json(settings["claim"]))
    pair = to_jsonable(settings.get("neighbours"))
    found["pair"] = _text(list(pair.values()) if isinstance(pair, dict) else pair)
    return found


def _text(value: object) -> str:
    """A value in short; two long ones that differ stay different.

    >>> _text(None), _text([]), _text(["output <= 0"]), _text(0.05)
    ('none', 'none', '["output <= 0"]', '0.05')
    """
    if value is None or value == []:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=3).hexdigest()
    return f"{text[: _LONGEST - 20]}... ({digest})"
