"""Truths of rare answers, sampled answers and choices by score."""

from __future__ import annotations

import math

from tollens.claim import approx, pure
from tollens.relations import as_relation
from tollens.zoo.programs import choices, rare
from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite.noises import least_epsilon
from tollens.zoo.programs.suite.pairs import all_change, zero_one

_BITS = (1, 0)
_SAMPLED = least_epsilon(
    [1 - rare.RATE + rare.RATE * rare.E, rare.E * (1 - rare.RATE) + rare.RATE], [1, rare.E]
)


def _choice(m: int, base: float) -> float:
    """The first of m at scores (1, 0, ...) and (0, 1, ...): b (1 + (m-1) b)/(b + m-1)."""
    return math.log(base * (1 + (m - 1) * base) / (base + m - 1))


def _key(bound: float) -> float:
    """A count of 1 with Laplace noise is released with probability e^(1 - bound)/2, 0 never."""
    shown = math.exp(1 - bound) / 2
    return least_epsilon([shown, 1 - shown], [0, 1], delta=0.01)


PROGRAMS = (
    Program(
        id="D9",
        name="d9-rare-secret",
        title="Constant that shows the record once in 2^40",
        function=rare.rare_secret,
        claim=pure(1),
        pair=_BITS,
        relation=None,
        epsilon=math.inf,
        broken=True,
        source="with probability 2^-40 an output that the other record never gives",
    ),
    Program(
        id="D9-delta",
        name="d9-rare-secret-delta",
        title="The same, claimed with delta = 2^-40",
        function=rare.rare_secret,
        claim=approx(0, f"1/{2**rare.BITS}"),
        pair=_BITS,
        relation=None,
        epsilon=0.0,
        broken=False,
        tight=True,
        source="the total variation is 2^-40",
    ),
    Program(
        id="D9-delta-bug",
        name="d9-rare-secret-half-delta",
        title="The same, claimed with delta = 2^-41",
        function=rare.rare_secret,
        claim=approx(1, f"1/{2 ** (rare.BITS + 1)}"),
        pair=_BITS,
        relation=None,
        epsilon=math.inf,
        broken=True,
        source="with probability 2^-40 an output that the other record never gives",
    ),
    *(
        Program(
            id=f"D10-m{m}",
            name=f"d10-choice-whole-score-m{m}",
            title=f"Exponential mechanism without the 1/2, {m} scores",
            function=choices.exponential_choice_whole_score,
            claim=pure(1),
            pair=([1] + [0] * (m - 1), [0] + [1] * (m - 1)),
            relation=zero_one(m),
            epsilon=_choice(m, choices.E),
            broken=m > 2,
            tight=m == 2,
            source="scores 0 and 1 only: the first choice when its score falls, the others rise",
        )
        for m in (2, 3, 10)
    ),
    Program(
        id="D10-m2-free",
        name="d10-choice-whole-score-m2-free",
        title="Exponential mechanism without the 1/2, scores -1, 0, 1",
        function=choices.exponential_choice_whole_score,
        claim=pure(1),
        pair=([0, 0], [1, -1]),
        relation=all_change(2),
        epsilon=math.log((choices.E**2 + 1) / 2),
        supremum=2 * math.log(choices.E),
        broken=True,
        source="the second choice has probability 1/2 and 1/(1+e^2); 2 in the limit of far scores",
    ),
    Program(
        id="D10-ok-m3",
        name="d10-choice-m3",
        title="Exponential mechanism, 3 scores",
        function=choices.exponential_choice,
        claim=pure(1),
        pair=([1, 0, 0], [0, 1, 1]),
        relation=all_change(3),
        epsilon=_choice(3, choices.ROOT_E),
        supremum=2 * math.log(choices.ROOT_E),
        broken=False,
        tight=True,
        source="private by proof; the limit of far scores is the claim",
    ),
    Program(
        id="D11",
        name="d11-sampled-response",
        title="Response of a record sampled one time in ten",
        function=rare.sampled_response,
        claim=pure("ln 1.171828182"),
        pair=_BITS,
        relation=None,
        epsilon=_SAMPLED,
        broken=False,
        tight=True,
        source="ln(1 + .1(e - 1)), with e = 2.71828182 in the text and in the claim",
    ),
    Program(
        id="D11-bug",
        name="d11-sampled-response-linear",
        title="The same, claimed a tenth of epsilon",
        function=rare.sampled_response,
        claim=pure("1/10"),
        pair=_BITS,
        relation=None,
        epsilon=_SAMPLED,
        broken=True,
        source="ln(1 + .1(e - 1)), not .1",
    ),
    Program(
        id="A2",
        name="a2-release-key",
        title="Key shown if its noisy count is large enough",
        function=rare.release_key,
        claim=approx(1, "1/100"),
        pair=_BITS,
        relation=as_relation([(1, 0), (2, 1), (3, 2)]),
        epsilon=_key(rare.KEY_BOUND),
        broken=False,
        tight=True,
        source="a key of one record is shown with probability e^-3.91203/2, just below delta",
    ),
    Program(
        id="A2-bug",
        name="a2-release-key-early",
        title="Key shown from a bound that forgets the first record",
        function=rare.release_key_early,
        claim=approx(1, "1/100"),
        pair=_BITS,
        relation=as_relation([(1, 0), (2, 1), (3, 2)]),
        epsilon=_key(rare.KEY_BOUND_SHORT),
        broken=True,
        source="a key of one record is shown with probability e^-2.91203/2 = .027",
    ),
)
"""Rare answers and choices."""
