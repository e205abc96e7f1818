"""Neighbouring pairs from Hypothesis strategies: for audits, and for tests with `@given`.

>>> from hypothesis import strategies as st
>>> relation = relation_of(neighbours(st.lists(st.booleans(), max_size=3)), count=5)
>>> len(relation), relation.shrinks
(5, True)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

try:
    from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
    from hypothesis import strategies as st
    from hypothesis.database import InMemoryExampleDatabase
    from hypothesis.errors import Unsatisfiable
except ImportError as error:  # pragma: no cover - core installations
    from tollens.errors import UsageError

    raise UsageError(
        "tollens.hypothesis needs Hypothesis: python -m pip install hypothesis"
    ) from error

from tollens.errors import UsageError
from tollens.keys import key_of
from tollens.relations.relation import Relation

COUNT = 200
"""Different pairs that are drawn from a strategy for an audit."""

_RELATIONS = ("add_remove", "substitute")
_SEED = 0


def neighbours(
    data: st.SearchStrategy[Any], relation: str = "add_remove"
) -> st.SearchStrategy[tuple[Any, Any]]:
    """Pairs of neighbouring data sets from a strategy of data sets (lists or tuples of records).

    With "add_remove" x' lacks one record of x; with "substitute" one record of x is replaced by
    one of another data set of the strategy. Raises `UsageError` for another relation and for what
    is no strategy.

    >>> from hypothesis import find, strategies as st
    >>> find(neighbours(st.lists(st.integers(0, 9))), lambda pair: 7 in pair[0])
    ([7], [])
    """
    findings = []
    if not isinstance(data, st.SearchStrategy):
        findings.append(
            f"neighbours: data is a {type(data).__name__}; give a strategy of data sets"
        )
    if relation not in _RELATIONS:
        findings.append(f"neighbours: relation is {relation!r}; use 'add_remove' or 'substitute'")
    if findings:
        raise UsageError(findings)
    full = data.filter(_has_records)

    @st.composite
    def pairs(draw: Callable[[Any], Any]) -> tuple[Any, Any]:
        x = draw(full)
        place = draw(st.integers(0, len(x) - 1))
        if relation == "add_remove":
            return x, x[:place] + x[place + 1 :]
        others = full.filter(lambda other: any(key_of(r) != key_of(x[place]) for r in other))
        other = draw(others)
        chosen = [r for r in other if key_of(r) != key_of(x[place])]
        record = chosen[draw(st.integers(0, len(chosen) - 1))]
        return x, x[:place] + type(x)([record]) + x[place + 1 :]

    return pairs()


def _has_records(data: object) -> bool:
    if not isinstance(data, list | tuple):
        raise UsageError(
            f"neighbours: the strategy made a {type(data).__name__}; data sets are lists or tuples "
            "of records, give a strategy of pairs itself for anything else"
        )
    return len(data) > 0


def relation_of(strategy: st.SearchStrategy[Any], *, count: int = COUNT) -> Relation:
    """A relation of pairs that a strategy of pairs makes, up to `count` different ones.

    The same strategy gives the same pairs each time, as long as the same modules of the caller's
    are loaded: Hypothesis draws constants that it finds in them. `UsageError` where the strategy
    makes something else than tuples (x, x_prime), or nothing at all.
    """
    pairs = _drawn(strategy, count)
    if not pairs:
        raise UsageError("the strategy made no pair of two different inputs")

    def shrink(i: int, refuted: Callable[[tuple[object, object]], bool]) -> None:
        _shrink(strategy, key_of(pairs[i]), count, refuted)

    return Relation("strategy", len(pairs), lambda i: pairs[i], shrinker=shrink)


def _drawn(strategy: st.SearchStrategy[Any], count: int) -> list[tuple[object, object]]:
    """Different pairs in the order in which Hypothesis makes them."""
    pairs: dict[Hashable, tuple[object, object]] = {}

    def enough(pair: object) -> bool:
        x, x_prime = _checked(pair)
        if key_of(x) != key_of(x_prime):
            pairs.setdefault(key_of((x, x_prime)), (x, x_prime))
        return len(pairs) >= count

    _search(strategy, enough, count, (Phase.generate,))
    return list(pairs.values())


def _shrink(
    strategy: st.SearchStrategy[Any],
    target: Hashable,
    count: int,
    refuted: Callable[[tuple[object, object]], bool],
) -> None:
    """Come to the target as `_drawn` did, and from there to smaller pairs that are refuted.

    In two searches, since Hypothesis takes no pair a second time that came before the target. The
    second one draws more than a pair: what the first one kept is then its start, not its result.
    """
    known: dict[Hashable, bool] = {target: True}

    def holds(pair: Any) -> bool:
        x, x_prime = _checked(pair[0])
        key = key_of((x, x_prime))
        if key not in known:
            known[key] = key_of(x) != key_of(x_prime) and refuted((x, x_prime))
        return known[key]

    place = InMemoryExampleDatabase()
    if _search(strategy, lambda pair: key_of(pair) == target, count, (Phase.generate,), place):
        more = st.tuples(strategy, st.booleans())
        _search(more, holds, count, (Phase.reuse, Phase.shrink), place)


class _Found(Exception):  # noqa: N818 - it is no error
    """A pair for which a condition holds."""


def _search(
    strategy: st.SearchStrategy[Any],
    condition: Callable[[object], bool],
    count: int,
    phases: tuple[Phase, ...],
    place: InMemoryExampleDatabase | None = None,
) -> bool:
    """Whether Hypothesis finds a pair for which the condition holds; `place` keeps it."""

    @settings(
        max_examples=20 * count, database=place, deadline=None, phases=phases,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
    )  # fmt: skip
    @seed(_SEED)
    @given(strategy)
    def test(pair: object) -> None:
        if condition(pair):
            raise _Found

    try:
        test()
    except _Found:
        return True
    except Unsatisfiable:
        pass
    return False


def _checked(pair: object) -> tuple[object, object]:
    if isinstance(pair, tuple) and len(pair) == 2:
        return pair
    raise UsageError(
        f"the strategy made a {type(pair).__name__}; it must make pairs (x, x_prime), as "
        "tollens.hypothesis.neighbours does"
    )
