"""One program of the suite: its text, what it claims, and what is true of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tollens.claim import Claim
from tollens.relations import Relation
from tollens.zoo.entry import LEAK_DELTA


@dataclass(frozen=True)
class Program:
    """A mechanism written with `tollens.noise`, with a known truth on one neighbouring pair.

    `id` is the row of the suite, `name` and `title` are for tables. `function` takes the data and
    gives one output, or yields its outputs one by one. `claim` is what it promises. `epsilon` is
    the smallest true epsilon (at `delta`) on the `pair`, both orders; `supremum` is that over all
    pairs that the claim is about, where it is known to be larger. `relation` has pairs for a
    search, this pair among them; None where the claim is about this pair only. `broken` says that
    the claim is false (and so must be refuted), `tight` that the truth is the claim itself or
    comes as near to it as one likes. `source` says how the truth is known.

    >>> from tollens.zoo.programs import get
    >>> program = get("D1-bug")
    >>> str(program.claim), program.broken, round(program.epsilon, 4)
    ('epsilon=ln 3', True, 1.3863)
    """

    id: str
    name: str
    title: str
    function: Callable[..., object]
    claim: Claim
    pair: tuple[object, object]
    relation: Relation | None
    epsilon: float
    broken: bool
    source: str
    supremum: float | None = None
    tight: bool = False

    @property
    def delta(self) -> float:
        """The delta at which the true epsilon is stated: the claim's own, or 1e-5.

        >>> from tollens.zoo.programs import get
        >>> get("L1").delta
        0.0
        """
        own = self.claim.leak_delta
        return LEAK_DELTA if own is None else own
