"""Accountants of training with JAX: what they print, and whether they count what is done."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from tollens.errors import UsageError
from tollens.training.parts.part import Finding
from tollens.training.run_leak import RunAccount

COMPARED = "nothing: two numbers are compared"

_TOLERANCE = 1e-6

EpsilonOf = Callable[[float, int, float], float]


class Counted(NamedTuple):
    """What an accountant was told: noise multiplier, rate and steps; None where it is not told."""

    noise_multiplier: float | None = None
    rate: float | None = None
    steps: int | None = None


class Account(RunAccount, Protocol):
    """A `RunAccount` that says what it was told."""

    def counted(self) -> Counted:
        """What it was told so far."""


class Asked:
    """A function (noise multiplier, steps, delta) -> epsilon as an account; see `account_of`."""

    def __init__(
        self, name: str, epsilon_of: EpsilonOf, noise_multiplier: float, steps: Callable[[], int]
    ) -> None:
        self.name = self.compared_by = name
        self._epsilon_of, self._own, self._steps = epsilon_of, noise_multiplier, steps

    def epsilon(self, noise_multiplier: float, steps: int, delta: float) -> float:
        """What the function says."""
        return float(self._epsilon_of(noise_multiplier, steps, delta))

    def printed(self, delta: float) -> float:
        """What the function says of the run so far."""
        return self.epsilon(self._own, self._steps(), delta) if self._steps() else 0.0

    def counted(self) -> Counted:
        """Nothing: a function keeps no books."""
        return Counted()


class Library:
    """A `dp_accounting` accountant that is told of the run's steps, or one for an event or a rate.

    Comparisons are made by Renyi divergences: a PLD accountant takes half a second for each, and
    much longer where there is little noise.
    """

    def __init__(
        self, live: Any, rate: float | None, noise: float, steps: Callable[[], int]
    ) -> None:
        self._live, self._own, self._steps = live, noise, steps
        self._events = importlib.import_module("dp_accounting")
        self._rate = rate
        is_accountant = live is not None and hasattr(live, "get_epsilon")
        rdp = importlib.import_module("dp_accounting.rdp")
        self._kind = type(live) if _is_quick(live) else rdp.RdpAccountant
        self._keeps_books = is_accountant
        own = type(live) if is_accountant else self._kind
        self.name, self.compared_by = (f"{kind.__name__}" for kind in (own, self._kind))

    def epsilon(self, noise_multiplier: float, steps: int, delta: float) -> float:
        """The epsilon of a run of so many steps at a noise multiplier, at the run's own rate."""
        accountant = self._kind()
        rate = self.counted().rate or self._rate
        event = self._events.GaussianDpEvent(noise_multiplier)
        if rate is not None and rate < 1.0:
            event = self._events.PoissonSampledDpEvent(rate, event)
        return float(accountant.compose(event, steps).get_epsilon(delta))

    def printed(self, delta: float) -> float:
        """The epsilon of the run so far: the caller's own accountant's where there is one."""
        if self._keeps_books:
            return float(self._live.get_epsilon(delta)) if self.counted().steps else 0.0
        return self.epsilon(self.counted().noise_multiplier or self._own, self._steps(), delta)

    def counted(self) -> Counted:
        """The largest noise and the smallest rate in the ledger, and the number of its steps."""
        if self._live is None:
            return Counted()
        found = _flat(self._live.ledger if self._keeps_books else self._live, 1)
        noises = [step.noise_multiplier for step in found if step.noise_multiplier is not None]
        rates = [step.rate for step in found if step.rate is not None]
        return Counted(
            max(noises, default=None),
            min(rates, default=None),
            sum(step.steps or 0 for step in found),
        )


class Training:
    """An accountant of `jax_privacy.accounting` and its `DpParams` as an account."""

    def __init__(self, accountant: Any, params: Any, steps: Callable[[], int]) -> None:
        self._accountant, self._params, self._steps = accountant, params, steps
        self._compare = _quick(accountant)
        self.name = type(accountant).__name__
        own = self._compare is accountant
        self.compared_by = self.name if own else f"{type(self._compare).__name__} with Renyi's"

    def epsilon(self, noise_multiplier: float, steps: int, delta: float) -> float:
        """The epsilon of a run of so many steps at a noise multiplier."""
        params = self._with(noise_multipliers=noise_multiplier, delta=delta)
        return float(self._compare.compute_epsilon(steps, params))

    def printed(self, delta: float) -> float:
        """The epsilon of the run so far."""
        return float(self._accountant.compute_epsilon(self._steps(), self._with(delta=delta)))

    def counted(self) -> Counted:
        """The noise multiplier and rate of the parameters, where they stay what they are."""
        noise, size = self._params.noise_multipliers, self._params.batch_sizes
        own = float(noise) if isinstance(noise, int | float) else None
        cycle = self._params.cycle_length or 1
        plain = isinstance(size, int) and cycle == 1 and self._params.num_samples
        return Counted(own, size / self._params.num_samples if plain else None)

    def _with(self, **changes: Any) -> Any:
        return dataclasses.replace(self._params, **changes)


def account_of(
    given: Any, noise_multiplier: float, rate: float | None, steps: Callable[[], int]
) -> Account | None:
    """The account that `watch(accountant=...)` means; None without one.

    >>> account = account_of(lambda noise, steps, delta: steps / noise, 2.0, None, lambda: 8)
    >>> account.printed(1e-5), account.epsilon(4.0, 8, 1e-5)
    (4.0, 2.0)
    >>> account_of("text", 2.0, None, lambda: 8)
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: accountant is a str; give a function of (noise multiplier, steps, \
delta), an accountant or event of dp_accounting, or an accountant of jax_privacy with its DpParams
    """
    if given is None:
        if rate is None or importlib.util.find_spec("dp_accounting") is None:
            return None
        return Library(None, rate, noise_multiplier, steps)
    if isinstance(given, tuple) and len(given) == 2 and hasattr(given[0], "compute_epsilon"):
        return Training(given[0], given[1], steps)
    kinds = {base.__name__ for base in type(given).__mro__}
    if kinds & {"DpEvent", "PrivacyAccountant"}:
        return Library(given, rate, noise_multiplier, steps)
    if callable(given) and not inspect.isclass(given):
        name = getattr(given, "__name__", type(given).__name__)
        return Asked(name, given, noise_multiplier, steps)
    raise UsageError(
        f"accountant is a {type(given).__name__}; give a function of (noise multiplier, steps, "
        "delta), an accountant or event of dp_accounting, or an accountant of jax_privacy with its "
        "DpParams"
    )


def account_finding(
    account: Account | None, noise_multiplier: float, rate: float | None, steps: int
) -> Finding | None:
    """Whether the accountant counts the steps that were taken, with their noise and rate.

    It may count more: it may have been told of all steps in advance.
    """
    told = Counted() if account is None else account.counted()
    text = None
    if told.steps is not None and told.steps < steps:
        text = f"the accountant counted {told.steps:,} steps where {steps:,} were taken"
    elif _more(told.noise_multiplier, noise_multiplier):
        text = (
            f"the accountant was told of a noise multiplier of {told.noise_multiplier:.6g}; it is "
            f"{noise_multiplier:.6g}"
        )
    elif _more(rate, told.rate):
        text = f"the accountant was told of a rate of {told.rate:.6g}; it is {rate:.6g}"
    return None if text is None else Finding("accountant", "fault", steps, text, COMPARED)


def _quick(accountant: Any) -> Any:
    """The same kind of training accountant, by Renyi divergences and without a cache.

    A cache holds the numbers of the parameters it was asked about first, whatever comes later.
    """
    bare = getattr(accountant, "_accountant", accountant)
    if type(getattr(bare, "_dp_accountant_config", None)).__name__ != "PldAccountantConfig":
        return bare
    configs = importlib.import_module("jax_privacy.accounting.accountants")
    return type(bare)(configs.RdpAccountantConfig())


def _is_quick(accountant: Any) -> bool:
    return type(accountant).__name__ == "RdpAccountant"


def _more(first: float | None, second: float | None) -> bool:
    return first is not None and second is not None and first > second * (1.0 + _TOLERANCE)


def _flat(event: Any, times: int) -> list[Counted]:
    """The steps of an event of `dp_accounting`: compositions are taken apart."""
    kind = type(event).__name__
    if kind == "SelfComposedDpEvent":
        return _flat(event.event, times * int(event.count))
    if kind == "ComposedDpEvent":
        return [step for part in event.events for step in _flat(part, times)]
    if kind == "NoOpDpEvent":
        return []
    rate = getattr(event, "sampling_probability", None)
    inner = getattr(event, "event", event)
    noise = getattr(inner, "noise_multiplier", None)
    return [Counted(noise, rate, times)]
