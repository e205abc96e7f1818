"""How a gambler is made for each pair of inputs: the same for an audit and for scoring it again."""

from __future__ import annotations

from collections.abc import Callable

from tollens.auditing.kernel_audit import KernelGambler, kernel_setting
from tollens.auditing.sequential import Gambler
from tollens.claim import Claim
from tollens.outputs import Encoder


def gamblers(
    claim: Claim,
    *,
    level: float,
    delta: float | None,
    seed: int,
    method: str,
    coupling: str,
    budget: int,
    unequal: bool,
    given: str | None = None,
    exact: bool = False,
) -> Callable[[Encoder, float], Gambler]:
    """A function from an encoder and a share of the wealth to a new gambler against the claim.

    `level` is the part of alpha that all of them may spend together; `given` are the words of an
    event that was given beforehand; with `exact` bets may look at the bits of numbers.

    >>> from tollens.claim import pure
    >>> make = gamblers(pure(1), level=0.05, delta=None, seed=0, method="projection",
    ...                 coupling="independent", budget=1000, unequal=False)
    >>> make(Encoder(), 1.0).pairs
    0
    """
    if method == "mmd":
        setting = kernel_setting(budget)
        return lambda encoder, share: KernelGambler(
            claim, alpha=level, delta=delta, seed=seed, setting=setting, encoder=encoder
        )
    return lambda encoder, share: Gambler(
        claim, alpha=level, delta=delta, seed=seed, coupling=coupling, encoder=encoder,
        share=share, unequal=unequal, given=given, exact=exact,
    )  # fmt: skip
