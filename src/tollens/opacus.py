"""Audit private training with Opacus while it trains; needs the extra `tollens[opacus]`.

>>> import tollens.opacus                                       # doctest: +SKIP
>>> with tollens.opacus.watch(optimizer, privacy_engine) as w:  # doctest: +SKIP
...     train(model, optimizer, loader)
>>> print(w.report())                                           # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tollens.claim import Claim
from tollens.errors import UsageError
from tollens.report.training_line import shown_by
from tollens.training.step_audit import StepAudit
from tollens.training.watching import StopTraining, WatchSettings

try:
    from tollens.training.opacus.watch import Watch
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise UsageError(
        f'tollens.opacus needs Opacus, which cannot be imported ({error}): pip install "tollens'
        '[opacus]"'
    ) from error

__all__ = ["StopTraining", "Watch", "watch"]


def watch(  # noqa: PLR0913 - keyword-only settings with good defaults
    optimizer: Any,
    privacy_engine: Any = None,
    *,
    data_loader: Any = None,
    claim: Claim | str | None = None,
    alpha: float = 0.01,
    delta: float = 1e-5,
    method: str = "projection",
    parts: Sequence[str] | None = None,
    stop: bool = False,
    every: int = 1,
    private_size: bool = False,
    seed: int = 0,
    progress: bool | Callable[[StepAudit], None] = False,
) -> Watch:
    """Audit every step that `optimizer` takes in the `with` block of what is returned.

    `optimizer` and `privacy_engine` are what `PrivacyEngine.make_private` made and the engine
    itself. What is promised is read from them: a step is `mu = 1 / noise_multiplier`, batches are
    Poisson samples at the accountant's rate, and the accountant counts. `claim` puts another
    promise in the place of the step's own. Training is bit-identical to a run that is not
    watched, as long as the noise comes from torch's generators.

    `alpha` is the probability with which all of this together is ever called refuted if it is
    true, however long the training; epsilons are stated at `delta`. `stop=True` ends the block
    once something is broken. `every=k` replays one step in k. `parts` and `method` are those of
    `tollens.training.step_audit.StepAudit`. `private_size=True` says that the
    number of records is private too. `data_loader` is needed only where the engine does not know
    the data set. `seed` picks the canary's direction. `progress=True` shows a line while it
    trains; a function is called after each step.

    Raises `UsageError` where the optimizer adds no noise or is watched already.
    """
    shown, close = shown_by(progress)
    settings = WatchSettings(
        claim=claim,
        alpha=alpha,
        delta=delta,
        method=method,
        parts=parts,
        stop=stop,
        every=every,
        seed=seed,
        progress=shown,
        close=close,
    )
    return Watch(
        optimizer, privacy_engine, settings, data_loader=data_loader, private_size=private_size
    )
