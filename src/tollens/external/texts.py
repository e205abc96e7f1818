"""Data as JSON text, made once for data that are asked for again and again."""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict

from tollens.serial import data_to_json

_KEPT = 8
"""Texts that are kept: both sides of the pairs that are run at a time."""


class Texts:
    """Makes JSON of data, and keeps the last few.

    Data are known again by their pickle, which is made some ten times as fast as JSON and differs
    where anything in them has been changed. It is never read.

    >>> texts, rows = Texts(), [1, (2,)]
    >>> texts.of(rows)
    '[1,{"$tuple":[2]}]'
    >>> rows.append(3)
    >>> texts.of(rows)
    '[1,{"$tuple":[2]},3]'
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, str] = OrderedDict()

    def of(self, data: object) -> str:
        """The text of data; `UsageError` where they cannot be written as JSON."""
        try:
            key = pickle.dumps(data, pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001 - then they cannot be written as JSON either
            key = None
        text = None if key is None else self._kept.get(key)
        if text is None:
            text = json.dumps(data_to_json(data), separators=(",", ":"))
            if key is not None:
                self._kept[key] = text
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return text
