"""One tree of errors: everything that tollens raises on purpose is a `TollensError`.

A message says what is wrong, where, and what to do. `UsageError` gathers all findings of an
input, so that a caller mends them in one go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tollens.verdict import Verdict

T = TypeVar("T")


class TollensError(Exception):
    """The root of all errors that tollens raises on purpose.

    >>> issubclass(UsageError, TollensError)
    True
    """


class UsageError(TollensError):
    r"""The call or its settings are wrong; `findings` lists every problem found.

    >>> str(UsageError(["alpha is 2; it must lie in (0, 1)", "budget is 0; use at least 1"]))
    '2 problems:\n  - alpha is 2; it must lie in (0, 1)\n  - budget is 0; use at least 1'
    >>> str(UsageError("alpha is 2; it must lie in (0, 1)"))
    'alpha is 2; it must lie in (0, 1)'
    """

    def __init__(self, findings: str | Sequence[str]) -> None:
        self.findings: tuple[str, ...] = (
            (findings,) if isinstance(findings, str) else tuple(findings)
        )
        if len(self.findings) == 1:
            super().__init__(self.findings[0])
        else:
            lines = "\n".join(f"  - {finding}" for finding in self.findings)
            super().__init__(f"{len(self.findings)} problems:\n{lines}")


class ClaimError(UsageError):
    """A claim that cannot be read or that promises something impossible.

    >>> import tollens
    >>> tollens.pure(-1)
    Traceback (most recent call last):
    ...
    tollens.errors.ClaimError: epsilon is -1; it must be a finite number of at least 0
    """


class TargetError(UsageError):
    """A target text such as `file.py::name` that does not lead to a mechanism."""


class CertificateError(UsageError):
    """A certificate that cannot be read, or that does not prove what it says.

    >>> import tollens
    >>> tollens.verify("[]")
    Traceback (most recent call last):
    ...
    tollens.errors.CertificateError: a certificate is a JSON object
    """


class StoreError(UsageError):
    """The store of a monitor cannot be opened, read or written; nothing was recorded by halves.

    >>> from tollens.store import Store
    >>> Store.open("mysql://host/name")
    Traceback (most recent call last):
    ...
    tollens.errors.StoreError: mysql:// is no place for a store; give the path of a file (SQLite) \
or postgresql://user@host/name
    """


class MechanismError(TollensError):
    """The mechanism broke the contract of a run: it mutated its data or returned no batch of n."""


class BackendError(TollensError):
    """The cluster of a backend is not there, does not fit, or was lost."""


class RefutedError(TollensError, AssertionError):
    """Raised by `Verdict.raise_if_refuted`; carries the verdict, reads as a failed assertion."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(str(verdict))


class Interrupted(TollensError, KeyboardInterrupt):  # noqa: N818 - it is not an error of anyone
    """Ctrl-C during an audit; `verdict` is what had been shown by then."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__("interrupted; the verdict so far is in .verdict")


def collect(findings: list[str], make: Callable[[], T]) -> T | None:
    """What `make` returns; None where it finds fault, with its findings added to the list."""
    try:
        return make()
    except UsageError as error:
        findings.extend(error.findings)
        return None
