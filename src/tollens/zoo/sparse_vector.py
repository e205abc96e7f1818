"""The sparse vector technique: two correct forms and three published broken ones.

Queries of sensitivity 1 are compared with a noisy threshold; the answers are 1 (above), 0
(below) and 2 (not answered: stopped after `cutoff` positives). The numbers are those of the
algorithms in Lyu, Su, Li, "Understanding the sparse vector technique for differential privacy",
arXiv 1603.01699.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tollens.claim import pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Law
from tollens.zoo.sparse_vector_law import (
    NOT_ANSWERED,
    THRESHOLD,
    Rule,
    outcome_cells,
    outcome_masses,
)


def sparse_vector(
    data: Sequence[float], n: int, rng: np.random.Generator, *, rule: Rule
) -> NDArray[np.int8]:
    """Answers (n, number of queries). The draws do not depend on the data, only on the sizes.

    >>> rule = Rule(threshold_scale=2.0, query_scale=4.0, cutoff=1)
    >>> sparse_vector((0, 0, 9), 4, np.random.default_rng(0), rule=rule).shape
    (4, 3)
    """
    answers = np.full((n, len(data)), NOT_ANSWERED, dtype=np.int8)
    threshold = THRESHOLD + rng.laplace(0.0, rule.threshold_scale, n)
    positives = np.zeros(n, dtype=np.int64)
    for i, query in enumerate(data):
        live = np.full(n, True) if rule.cutoff is None else positives < rule.cutoff
        above = query + rng.laplace(0.0, rule.query_scale, n) >= threshold
        answers[live, i] = above[live]
        positives += above & live
        if rule.fresh_scale is not None:
            fresh = THRESHOLD + rng.laplace(0.0, rule.fresh_scale, n)
            threshold = np.where(above, fresh, threshold)
    return answers


def _entry(
    name: str,
    title: str,
    pair: tuple[tuple[int, ...], tuple[int, ...]],
    rule: Rule,
    *,
    holds: bool,
    truth: str = "every answer vector by quadrature; the largest loss of one of them",
    closed_form: float | None = None,
    budget: int = 20_000,
) -> Entry:
    return Entry(
        name=name,
        title=title,
        claim=pure(1),
        neighbours=pair,
        mechanism=batched(partial(sparse_vector, rule=rule)),
        holds=holds,
        truth=truth,
        source=f"arXiv 1603.01699, algorithm {name[-1]}",
        law=Law(partial(outcome_masses, rule=rule), partial(outcome_cells, cutoff=rule.cutoff)),
        closed_form=closed_form,
        budget=budget,
    )


_TEN = ((0, 0, 0, 0, 0, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, 0, 0, 0, 0, 0))

ENTRIES = (
    _entry(
        "svt1",
        "Sparse vector, correct",
        ((0,) * 8 + (1,), (1,) * 8 + (0,)),
        Rule(threshold_scale=2.0, query_scale=4.0, cutoff=1),
        holds=True,
        truth="epsilon-DP by proof; on this pair every answer vector by quadrature",
    ),
    _entry(
        "svt2",
        "Sparse vector with fresh thresholds, correct",
        ((0, 0, 0, 0, 1) * 2, (1, 1, 1, 1, 0) * 2),
        Rule(threshold_scale=4.0, query_scale=8.0, cutoff=2, fresh_scale=4.0),
        holds=True,
        truth="epsilon-DP by proof; on this pair every answer vector by quadrature",
    ),
    _entry(
        "svt4",
        "Sparse vector, query noise blind to the cutoff",
        _TEN,
        Rule(threshold_scale=4.0, query_scale=4 / 3, cutoff=5),
        holds=False,
        budget=20_000,
    ),
    _entry(
        "svt5",
        "Sparse vector without noise on the queries",
        _TEN,
        Rule(threshold_scale=2.0, query_scale=0.0, cutoff=None),
        holds=False,
        truth="(0, 0, 0, 0, 0, 1, 1, 1, 1, 1) has probability 1 - e^(-1/4) and 0",
        closed_form=math.inf,
        budget=5_000,
    ),
    _entry(
        "svt6",
        "Sparse vector without a cutoff",
        _TEN,
        Rule(threshold_scale=2.0, query_scale=2.0, cutoff=None),
        holds=False,
        budget=20_000,
    ),
)
"""Sparse vector algorithms 1, 2, 4, 5 and 6."""
