"""The time that a check may take: whatever may take long asks for it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tollens.checker.errors import CertificateError

_ENDS: ContextVar[float] = ContextVar("tollens.checker.clock", default=math.inf)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Have `tick` give up once so many seconds are over.

    >>> with within(-1):
    ...     tick()
    Traceback (most recent call last):
    ...
    tollens.checker.errors.CertificateError: the check takes too long
    """
    token = _ENDS.set(min(_ENDS.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _ENDS.reset(token)


def tick() -> None:
    """Raise `CertificateError` if the time is over."""
    if time.monotonic() > _ENDS.get():
        raise CertificateError("the check takes too long")
