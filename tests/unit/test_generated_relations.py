"""Relations over domains, and shrinking: every pair that is made or visited is neighbouring.

What is neighbouring is checked here by definition: records counted, places compared, numbers
subtracted as fractions.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens import domains
from tollens.errors import UsageError
from tollens.keys import key_of
from tollens.relations import MAX_PAIRS, Relation, as_relation

ANYTHING = domains.lists(domains.reals(0, 1, nan=True))


def plain(value):
    """A value as what it is equal to: numbers as fractions, and NaN as itself."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int | float):
        return Fraction(value)
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple((key, plain(inner)) for key, inner in value.items())
    return value


def records_of(data):
    """The records of a list, an array or a frame, in a form to compare."""
    if hasattr(data, "to_dict"):
        return [
            tuple((key, None if value != value else plain(value)) for key, value in row.items())
            for row in data.to_dict("records")
        ]
    return [plain(record) for record in data]


def added(x, x_prime, most):
    """Whether x has 1 to `most` records more than x', and all of those too."""
    larger, smaller = Counter(records_of(x)), Counter(records_of(x_prime))
    return not smaller - larger and 1 <= (larger - smaller).total() <= most


def replaced(x, x_prime, most):
    """Whether x and x' differ in 1 to `most` places."""
    one, other = records_of(x), records_of(x_prime)
    return (
        len(one) == len(other) and 1 <= sum(a != b for a, b in zip(one, other, strict=True)) <= most
    )


def moved(x, x_prime):
    """By how much answers change, exactly; only those that do."""
    changes = [abs(Fraction(b) - Fraction(a)) for a, b in zip(x, x_prime, strict=True)]
    return [change for change in changes if change]


def visited(relation, index, refuted):
    """All pairs that shrinking asks about; `refuted` is asked, and so is what it accepted."""
    seen, kept = [], []

    def ask(pair):
        seen.append(pair)
        answer = bool(refuted(pair))
        if answer:
            kept.append(pair)
        return answer

    relation.shrink(index, ask)
    return seen, kept


def smallest(relation, predicate, index=None):
    """Where shrinking ends from a pair for which the predicate holds, by default each of them."""
    starts = [i for i in range(len(relation)) if predicate(*_two(relation[i]))]
    assert starts
    ends = []
    for i in starts[:40] if index is None else [index]:
        _, kept = visited(relation, i, lambda pair: predicate(*pair))
        ends.append(kept[-1] if kept else _two(relation[i]))
    return ends


def _two(pair):
    return pair.x, pair.x_prime


def chance(seed, share):
    """A test that accepts this share of pairs, always the same ones."""
    return lambda pair: np.random.default_rng([seed, hash_of(pair)]).random() < share


def hash_of(pair):
    text = repr([records_of(side) if hasattr(side, "__len__") else side for side in pair])
    return int.from_bytes(text.encode()[-200:], "little") % 2**63


# Data sets

RECORDS = {
    "reals": domains.reals(0, 1, nan=True),
    "all reals": domains.reals(nan=True, infinite=True),
    "integers": domains.integers(0, 99),
    "booleans": domains.booleans(),
    "texts": domains.texts(8, missing=True),
    "bits": domains.bit_vectors([1, 2], most_ones=3),
    "vectors": domains.vectors(domains.reals(-1, 1), 3),
    "tuples": domains.tuples(domains.booleans(), domains.integers(0, 5)),
    "one value": domains.choices(["a"]),
}
SIZES = {"usual": (1, 0, 4, 20, 100), "fixed": (16,), "empty": (0,), "some": (3, 7)}


def datasets(form, record, sizes):
    if form == "frames":
        pytest.importorskip("pandas")
        fields = {"a": RECORDS[record], "b": domains.texts(4)}
        return domains.frames(fields, sizes=sizes)
    return getattr(domains, form)(RECORDS[record], sizes=sizes)


CASES = [
    *(("lists", record, "usual", k) for record in RECORDS for k in (1, 3)),
    *(("lists", "reals", sizes, k) for sizes in SIZES for k in (1, 3)),
    ("arrays", "reals", "usual", 1),
    ("arrays", "vectors", "some", 2),
    ("arrays", "texts", "some", 1),
    ("frames", "integers", "some", 1),
    ("frames", "reals", "some", 2),
]


def made(kind, form, record, sizes, k):
    """The relation, its domain, and the naive test of a pair with its bounds on sizes."""
    domain = datasets(form, record, SIZES[sizes])
    least, most = min(domain.sizes), max(domain.sizes)
    if kind == "add_remove":
        relation = tollens.add_remove(domain, records=k)
        return (
            relation,
            lambda x, y: added(x, y, k) and least <= len(y) <= most and len(x) <= most + k,
        )
    relation = tollens.substitute(domain, records=k)
    return relation, lambda x, y: replaced(x, y, k) and least <= len(x) <= most


def possible(kind, record, sizes, k):
    return kind == "add_remove" or (record != "one value" and max(SIZES[sizes]) >= k)


ALL = [
    pytest.param(kind, *case, id="-".join(map(str, (kind, *case))))
    for kind in ("add_remove", "substitute")
    for case in CASES
    if possible(kind, *case[1:])
]


@pytest.mark.parametrize("kind, form, record, sizes, k", ALL)
def test_every_pair_is_neighbouring_and_none_comes_twice(kind, form, record, sizes, k):
    relation, holds = made(kind, form, record, sizes, k)
    pairs = [_two(pair) for pair in relation[:300]]
    assert pairs
    assert all(holds(x, y) for x, y in pairs)
    keys = {repr((records_of(x), records_of(y))) for x, y in pairs}
    assert len(keys) == len(pairs)
    assert all(type(x) is type(y) for x, y in pairs)
    if form == "arrays":
        assert len({(x.dtype, y.dtype) for x, y in pairs}) == 1
    if kind == "substitute":
        unordered = {frozenset([repr(records_of(x)), repr(records_of(y))]) for x, y in pairs}
        assert len(unordered) == len(pairs)


@pytest.mark.parametrize("kind, form, record, sizes, k", ALL)
def test_every_pair_that_shrinking_visits_is_neighbouring(kind, form, record, sizes, k):
    relation, holds = made(kind, form, record, sizes, k)
    for i, share in ((0, 1.0), (len(relation) // 2, 0.6), (-1, 0.3), (1 % len(relation), 0.0)):
        seen, kept = visited(relation, i, chance(3, share))
        assert all(holds(x, y) for x, y in seen)
        keys = [repr((records_of(x), records_of(y))) for x, y in seen]
        assert len(set(keys)) == len(keys), "a pair was tried twice"
        lengths = [len(x) + len(y) for x, y in kept]
        assert lengths == sorted(lengths, reverse=True)


@given(
    st.sampled_from(ALL).filter(lambda case: case.values[1] == "lists"),
    st.integers(0, 10**6),
    st.lists(st.booleans(), max_size=60),
)
@settings(max_examples=150)
def test_whatever_is_accepted_pairs_are_neighbouring_and_become_smaller(case, place, answers):
    relation, holds = made(*case.values)
    node = relation._nodes(place % len(relation))
    answers = iter(answers)
    for _ in range(60):
        candidates = list(node.smaller())
        for each in candidates:
            x, y = each.pair
            assert key_of(x) == key_of(y) or holds(x, y)
        smaller = [each for each in candidates if each.size < node.size and holds(*each.pair)]
        chosen = next((each for each in smaller if next(answers, True)), None)
        if chosen is None:
            return
        assert chosen.size < node.size
        node = chosen
    pytest.fail("no end in 60 steps")


class TestWhereShrinkingEnds:
    def test_nan(self):
        relation = tollens.add_remove(ANYTHING)
        for x, y in smallest(relation, lambda x, y: any(v != v for v in x)):
            assert repr((x, y)) in ("([nan], [])", "([nan, 0.0], [nan])", "([0.0, nan], [0.0])")
        ends = smallest(
            relation, lambda x, y: any(v != v for v in x) and not any(v != v for v in y)
        )
        assert set(map(repr, ends)) == {"([nan], [])"}

    def test_any_pair(self):
        assert smallest(tollens.add_remove(ANYTHING), lambda x, y: True, 40) == [([0.0], [])]
        assert smallest(tollens.substitute(ANYTHING), lambda x, y: True, 40) in (
            [([0.0], [1.0])],
            [([1.0], [0.0])],
        )

    def test_len_differs(self):
        table = domains.tables({"age": domains.integers(0, 99), "city": domains.texts()})
        ends = smallest(tollens.add_remove(table), lambda x, y: len(x) != len(y))
        assert all(end == ([{"age": 0, "city": ""}], []) for end in ends)

    def test_the_fewest_records_that_do(self):
        relation = tollens.add_remove(domains.lists(domains.integers(0, 9), sizes=[0, 30]))
        ends = smallest(relation, lambda x, y: len(x) >= 7)
        assert all(end == ([0] * 7, [0] * 6) for end in ends)
        ends = smallest(relation, lambda x, y: len(x) >= 7 and 9 in x and x[-1] >= 5)
        assert all(end == ([0, 0, 0, 0, 0, 0, 9], [0, 0, 0, 0, 0, 0]) for end in ends)

    def test_the_least_number_that_does(self):
        relation = tollens.add_remove(domains.lists(domains.integers(0, 99)))
        ends = smallest(relation, lambda x, y: max(x, default=0) - max(y, default=0) >= 37)
        assert all(end == ([37], []) for end in ends)

    def test_a_fixed_number_of_records_stays(self):
        relation = tollens.substitute(domains.lists(domains.integers(0, 9), sizes=[16]), records=3)
        assert all(replaced(pair.x, pair.x_prime, 3) for pair in relation[:50])
        for x, y in smallest(relation, lambda x, y: True):
            assert len(x) == len(y) == 16
            assert replaced(x, y, 1)
            assert set(x) | set(y) == {0, 1}

    def test_sizes_bound_from_below(self):
        relation = tollens.substitute(domains.lists(domains.integers(0, 9), sizes=[3, 20]))
        assert all(len(x) == 3 for x, _ in smallest(relation, lambda x, y: True))

    def test_a_rare_record_among_many(self):
        letters = domains.choices(list("abcdefghijklmnopqrstuvw"))
        relation = tollens.substitute(domains.lists(letters, sizes=[1, 40]))
        ends = smallest(relation, lambda x, y: "q" in x and "q" in y)
        assert all(x[0] == y[0] == "q" and len(x) == 2 for x, y in ends)

    def test_arrays_and_frames(self):
        rows = domains.arrays(domains.vectors(domains.reals(-1, 1), 2), sizes=[0, 5])
        ((x, y),) = smallest(tollens.add_remove(rows), lambda x, y: x.sum() != y.sum(), 11)
        assert x.shape == (1, 2)
        assert y.shape == (0, 2)
        assert sorted(np.abs(x[0])) == [0.0, 1.0]
        pytest.importorskip("pandas")
        frame = domains.frames({"age": domains.integers(0, 99)}, sizes=[0, 5])
        ((x, y),) = smallest(
            tollens.add_remove(frame), lambda x, y: x["age"].sum() > y["age"].sum(), 3
        )
        assert x["age"].tolist() == [1]
        assert y["age"].tolist() == []

    def test_given_data_only_lose_records(self):
        relation = tollens.add_remove([5, 1, 3, 3, 8], value=7)
        assert smallest(relation, lambda x, y: True, 0) == [([7], [])]
        ends = smallest(relation, lambda x, y: 5 in x and 3 in x)
        assert all(
            sorted(x) in ([3, 5], [3, 5, 7], [1, 3, 5], [3, 5, 8], [3, 3, 5]) for x, _ in ends
        )
        relation = tollens.substitute((5, 1, 3), 0)
        for x, y in smallest(relation, lambda x, y: True):
            assert type(x) is tuple
            assert len(x) == len(y) == 1
        relation = tollens.substitute(np.array([[5, 1], [3, 3]]), [0, 0])
        ((x, y),) = smallest(relation, lambda x, y: True, 0)
        assert x.tolist() == [[5, 1]]
        assert y.tolist() == [[0, 0]]


@given(
    st.lists(st.integers(0, 3) | st.just(math.nan), min_size=1, max_size=8),
    st.integers(0, 50),
    st.booleans(),
)
@settings(max_examples=60)
def test_shrinking_given_data(data, seed, add):
    relation = tollens.add_remove(data, value=9) if add else tollens.substitute(data, 9)
    whole = Counter(map(plain, [*data, 9]))
    for i in range(len(relation)):
        seen, _ = visited(relation, i, chance(seed, 0.5))
        for x, y in seen:
            assert (
                added(x, y, 1)
                if add
                else (
                    len(x) == len(y)
                    and (Counter(records_of(x)) - Counter(records_of(y))).total() == 1
                )
            )
            assert not Counter(records_of(x)) - whole - whole


# Single values


@pytest.mark.parametrize("record", RECORDS)
def test_any_two_values(record):
    domain = RECORDS[record]
    telling = [repr(value) for value in domain.telling()]
    if len(telling) < 2:
        with pytest.raises(UsageError, match="one value only"):
            tollens.any_two(domain)
        return
    relation = tollens.any_two(domain)
    assert len(relation) == math.comb(len(telling), 2)
    assert [repr(each) for each in _two(relation[0])] == telling[:2]
    pairs = [_two(pair) for pair in relation]
    assert all(repr(x) in telling and repr(y) in telling and repr(x) != repr(y) for x, y in pairs)
    assert len({frozenset(map(repr, pair)) for pair in pairs}) == len(pairs)
    for i in range(0, len(relation), 17):
        seen, _ = visited(relation, i, chance(1, 0.7))
        assert all(key_of(x) != key_of(y) for x, y in seen)


def test_where_shrinking_any_two_ends():
    relation = tollens.any_two(domains.texts())
    ends = smallest(relation, lambda x, y: len(x) != len(y))
    assert all("" in end and len(end[0] + end[1]) == 1 for end in ends)
    relation = tollens.any_two(domains.bit_vectors([2]))
    for x, y in smallest(relation, lambda x, y: x[1] != y[1]):
        assert (
            bin(int.from_bytes(bytes(a ^ b for a, b in zip(x, y, strict=True)), "big")).count("1")
            == 1
        )


@given(
    st.one_of(st.sampled_from([1.0, 0.1, 1 / 3, 5e-324, 1e300, 7]), st.floats(1e-6, 1e6)),
    st.floats(-1e6, 1e6),
    st.floats(0, 1e6),
    st.sampled_from(["both", "low", "high", "none"]),
    st.integers(0, 99),
)
@settings(max_examples=200)
def test_numbers_are_never_further_apart_than_by(by, low, width, bounds, seed):
    low = low if bounds in ("both", "low") else -math.inf
    high = low + width if bounds == "both" else 1e5 if bounds == "high" else math.inf
    try:
        relation = tollens.numbers(by, low=low, high=high)
    except UsageError as error:
        assert "does not fit between" in str(error) or "too small to change" in str(error)
        return

    def holds(x, y):
        assert type(x) is type(y) is float
        assert low <= x <= high
        assert low <= y <= high
        return 0 < abs(Fraction(x) - Fraction(y)) <= Fraction(by)

    pairs = [_two(pair) for pair in relation]
    assert all(holds(x, y) for x, y in pairs)
    assert len(set(pairs)) == len(pairs)
    seen, _ = visited(relation, seed % len(relation), chance(seed, 0.6))
    assert all(holds(x, y) for x, y in seen)


@given(
    st.integers(1, 10**20), st.integers(-(10**6), 10**6), st.integers(0, 10**6), st.integers(0, 9)
)
@settings(max_examples=50)
def test_whole_numbers(by, low, width, seed):
    if width < by:
        with pytest.raises(UsageError, match="does not fit between"):
            tollens.numbers(by, low=low, high=low + width, whole=True)
        relation = tollens.numbers(by, low=low, whole=True)
    else:
        relation = tollens.numbers(by, low=low, high=low + width, whole=True)
    pairs = [_two(pair) for pair in relation]
    pairs += visited(relation, seed % len(relation), chance(seed, 0.6))[0]
    for x, y in pairs:
        assert type(x) is type(y) is int
        assert 0 < abs(x - y) <= by
        assert min(x, y) >= low
        assert width < by or max(x, y) <= low + width


def test_which_numbers_come_first_and_last():
    assert [_two(p) for p in tollens.numbers()[:3]] == [(0.0, 1.0), (-1.0, 0.0), (1.0, 2.0)]
    assert [_two(p) for p in tollens.numbers(low=0, high=10, whole=True)[:3]] == [
        (0, 1), (1, 2), (9, 10)
    ]  # fmt: skip
    whole = [pair.x for pair in tollens.numbers(whole=True)]
    assert {2**31 - 1, -(2**31), 2**53, 2**63 - 2} <= set(whole)
    assert tollens.numbers(10**400, whole=True)[0].x_prime == 10**400
    ends = smallest(tollens.numbers(by=2, whole=True), lambda x, y: max(x, y) > 1000)
    assert len(ends) == 5
    assert all(max(end) == 1001 for end in ends)
    ends = smallest(tollens.numbers(by=np.float64(0.5)), lambda x, y: True)
    assert all(end == (0.0, 0.5) for end in ends)
    ends = smallest(tollens.numbers(5, low=2, whole=True), lambda x, y: x >= 30)
    assert all(end[0] == 30 and 25 <= end[1] <= 31 for end in ends)
    assert len(ends) == 6


# Answers to queries

BYS = st.one_of(
    st.sampled_from([1, 2, 6, 0.1, 1 / 3, 0.7, 1e-3, 1e15, Fraction(1, 3)]), st.floats(1e-3, 1e3)
)
CENTERS = st.sampled_from([0, 1, 5, 0.3, -0.1, 1e9, Fraction(2, 7)])
CHANGES = {
    "all": lambda changes, by: max(changes) <= by,
    "one": lambda changes, by: len(changes) == 1 and max(changes) <= by,
    "sum": lambda changes, by: sum(changes) <= by,
}


@given(st.integers(1, 12), st.sampled_from(sorted(CHANGES)), BYS, CENTERS, st.integers(0, 10**6))
@settings(max_examples=150)
def test_answers_change_by_no_more_than_they_may(n, change, by, center, seed):
    try:
        relation = tollens.queries(n, change, by, center)
    except UsageError as error:
        assert "too small to change a float" in str(error)
        return
    step = Fraction(by)

    def holds(x, y):
        changes = moved(x, y)
        return len(x) == len(y) == n and bool(changes) and CHANGES[change](changes, step)

    assert all(holds(*_two(pair)) for pair in relation[:200])
    place = seed % len(relation)
    seen, kept = visited(relation, place, chance(seed, 0.5))
    assert all(holds(x, y) for x, y in seen)
    counts = [len(moved(*_two(relation[place]))), *(len(moved(x, y)) for x, y in kept)]
    assert counts == sorted(counts, reverse=True)
    node = relation._nodes(place)
    for _, smaller in zip(range(50), node.smaller(), strict=False):
        x, y = smaller.pair
        assert key_of(x) == key_of(y) or holds(x, y)


def test_changes_that_add_up():
    pairs = [_two(pair) for pair in tollens.queries(4, "sum", by=4)[:8]]
    assert pairs[0] == ([0, 0, 0, 0], [4, 0, 0, 0])
    assert ([0, 0, 0, 0], [1, 1, 1, 1]) in pairs
    assert ([0, 0, 0, 0], [1, 1, -1, -1]) in pairs
    assert ([0, 0, 0, 0], [2, 2, 0, 0]) in pairs
    shared = [_two(pair) for pair in tollens.queries(3, "sum", by=0.1)]
    assert any(len(moved(x, y)) == 3 for x, y in shared)
    whole = [_two(pair) for pair in tollens.queries(3, "sum", by=1)]
    assert all(len(moved(x, y)) == 1 for x, y in whole)  # whole numbers stay whole
    far = [_two(pair) for pair in tollens.queries(10, "sum", by=2.0, center=1e16)]
    assert all(len(moved(x, y)) == 1 for x, y in far)  # a float there holds no 0.2


@pytest.mark.parametrize("n", [4, 10, 30])
def test_where_shrinking_answers_ends(n):
    relation = tollens.queries(n)
    for x, y in smallest(relation, lambda x, y: x[3] != y[3]):
        assert moved(x, y) == [1]
        assert x[3] != y[3]
        assert sum(map(abs, x)) + sum(map(abs, y)) == 1
    last = n - 1
    for x, y in smallest(relation, lambda x, y: x[0] != y[0] and x[last] != y[last]):
        assert [i for i in range(n) if x[i] != y[i]] == [0, last]
    for x, y in smallest(relation, lambda x, y: len(moved(x, y)) >= 3):
        assert moved(x, y) == [1, 1, 1]


def test_some_answers_in_the_middle_are_found():
    ends = smallest(tollens.queries(10), lambda x, y: x[3] != y[3] and x[7] != y[7])
    assert all([i for i in range(10) if x[i] != y[i]] == [3, 7] for x, y in ends)


# A relation as a whole


def test_a_slice_shrinks_its_own_pairs():
    relation = tollens.add_remove(domains.lists(domains.integers(0, 9)))
    part = relation[5:9][::-1]
    assert part.shrinks
    asked = []
    part.shrink(0, lambda pair: asked.append(pair) or False)
    direct = []
    relation.shrink(8, lambda pair: direct.append(pair) or False)
    assert asked == direct
    assert part[0].relation.startswith("add_remove, pair 9 of ")


def test_which_relations_shrink():
    assert tollens.queries(3).shrinks
    assert tollens.add_remove([1]).shrinks
    assert not as_relation([(1, 2), (3, 4)]).shrinks
    assert not Relation("mine", 3, lambda i: (i, i + 1)).shrinks
    Relation("mine", 3, lambda i: (i, i + 1)).shrink(0, lambda pair: pytest.fail("asked"))


def test_there_is_a_most():
    many = domains.lists(domains.reals(), sizes=range(1000))
    assert len(tollens.add_remove(many)) == MAX_PAIRS
    assert len(tollens.substitute(many)) == MAX_PAIRS


def test_large_data_sets_are_made_when_asked_for():
    large = domains.lists(domains.reals(0, 1, nan=True), sizes=[1_000_000])
    relation = tollens.add_remove(large)
    assert len(relation) == 42
    assert len(relation[-1].x) == 1_000_001
    assert len(tollens.substitute(large)[3].x) == 1_000_000


def test_data_are_made_anew_each_time():
    relation = tollens.add_remove(domains.lists(domains.vectors(domains.reals(0, 1), 2)))
    first = relation[30]
    first.x.clear()
    assert relation[30].x


DIGEST = """
import hashlib, math, tollens
from tollens import domains
relations = [
    tollens.add_remove(domains.lists(domains.reals(nan=True, missing=True))),
    tollens.substitute(domains.tables({"a": domains.texts(), "b": domains.integers()})),
    tollens.any_two(domains.bit_vectors([1, 2], most_ones=3)),
    tollens.numbers(0.1),
    tollens.queries(7, "sum", by=0.3),
]
digest = hashlib.sha256()
for relation in relations:
    for pair in relation:
        digest.update(repr((pair.x, pair.x_prime)).encode())
    for i in range(0, len(relation), 97):
        relation.shrink(i, lambda pair: digest.update(repr(pair).encode()) or len(repr(pair)) % 3)
print(digest.hexdigest())
"""


def test_pairs_are_the_same_in_every_process():
    def digest(seed):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.check_output([sys.executable, "-c", DIGEST], env=environment, text=True)

    assert len({digest(seed) for seed in ("0", "1", "4711")}) == 1


# What is no relation


@pytest.mark.parametrize(
    "make, problem",
    [
        (lambda: tollens.add_remove(domains.reals(0, 1)), "the domain is one of single values"),
        (lambda: tollens.substitute(domains.reals(0, 1), 1), "give one of data sets"),
        (lambda: tollens.add_remove(ANYTHING, 0), "over a domain no value is given"),
        (lambda: tollens.substitute(ANYTHING, values=[1], records=0), "2 problems"),
        (lambda: tollens.add_remove(ANYTHING, records=True), "records is True"),
        (lambda: tollens.add_remove(ANYTHING, records=1.5), "records is 1.5"),
        (lambda: tollens.add_remove([1, 2], records=2), "several records at once are for domains"),
        (
            lambda: tollens.substitute(domains.lists(domains.choices([1]))),
            "the domain has one value only",
        ),
        (
            lambda: tollens.substitute(domains.lists(domains.booleans(), sizes=[0, 2]), records=3),
            "have at most 2 records, of which 3 cannot be replaced; give it larger sizes, such as "
            "sizes=[3]",
        ),
        (lambda: tollens.any_two(3), "the domain is a int; give one such as"),
        (lambda: tollens.any_two(ANYTHING), "the domain is a Datasets"),
        (lambda: tollens.any_two(domains.integers(5, 5)), "one value only"),
        (lambda: tollens.numbers(0), "by is 0; it must be a positive number"),
        (lambda: tollens.numbers(-0.5), "by is -0.5"),
        (lambda: tollens.numbers(math.inf), "by is inf"),
        (lambda: tollens.numbers(math.nan), "by is nan; it must be a number"),
        (lambda: tollens.numbers("1", low=None), "2 problems"),
        (lambda: tollens.numbers(True), "by is True"),
        (lambda: tollens.numbers(2, low=0, high=1), "by = 2 does not fit between"),
        (lambda: tollens.numbers(low=math.inf), "does not fit between"),
        (lambda: tollens.numbers(low=5, high=-math.inf), "does not fit between"),
        (lambda: tollens.numbers(0.5, whole=True), "by is 0.5; of whole numbers it must be whole"),
        (lambda: tollens.numbers(low=0.5, whole=True), "low is 0.5; of whole numbers"),
        (lambda: tollens.numbers(10**400), "by is too large for a float; whole=True takes it"),
        (lambda: tollens.numbers(0.1, low=1e17, high=2e17), "by is 0.1, too small to change"),
        (lambda: tollens.queries(3, "sums"), "did you mean 'sum'?"),
        (lambda: tollens.queries(3, "x"), "use 'all', 'one' or 'sum'"),
        (lambda: tollens.queries(3, "sum", by=1e-3, center=1e16), "too small to change a float"),
    ],
)
def test_what_is_refused(make, problem):
    with pytest.raises(UsageError) as caught:
        make()
    assert problem in str(caught.value)
