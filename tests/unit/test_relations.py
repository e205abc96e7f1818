"""Relations: every pair is neighbouring, none comes twice, likely worst ones first, made late."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tollens
from tollens import add_remove, queries, substitute, zoo
from tollens.errors import UsageError
from tollens.keys import key_of
from tollens.neighbours import Pair
from tollens.relations import MAX_PAIRS, Relation, as_relation, numbers, parse_relation

NUMBERS = st.integers(-5, 5) | st.floats(width=16) | st.booleans()
TEXTS = st.sampled_from(["a", "b", "c", ""])
RECORDS = st.one_of(
    NUMBERS, TEXTS, st.none(), st.tuples(st.integers(0, 2), TEXTS), st.lists(NUMBERS, max_size=2)
)
DATA = st.one_of(
    st.lists(NUMBERS, max_size=8),
    st.lists(RECORDS, max_size=8),
    st.lists(RECORDS, max_size=8).map(tuple),
    st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6),
)
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)
ARRAYS = hnp.arrays(np.int64, SHAPES, elements=st.integers(0, 2)) | hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int8, np.bool_, "U3"]), SHAPES
)


def plain(record):
    """A record in a form of its own for what must be equal, whatever the code under test does."""
    if isinstance(record, np.ndarray | np.generic):
        record = record.tolist()
    if isinstance(record, list | tuple):
        return type(record).__name__, *map(plain, record)
    if isinstance(record, int | float):
        return (
            str(record) if record in (math.inf, -math.inf) or record != record else Fraction(record)
        )
    return repr(record)


def bag(data):
    return Counter(map(plain, data))


def same_kind(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape[1:]) == (b.dtype, b.shape[1:])
    return type(a) is type(b)


def refused(call, *arguments, **keywords):
    with pytest.raises(UsageError) as caught:
        call(*arguments, **keywords)
    return str(caught.value)


# Add or remove one record


@given(DATA | ARRAYS, st.data())
def test_each_pair_of_add_remove_has_one_record_more(data, draw):
    values = [data[i] for i in range(min(len(data), draw.draw(st.integers(0, 3))))]
    assume(len(data) or values)
    relation = add_remove(data, values=values)
    whole, added = bag(data), 0
    neighbours = set()
    for pair in relation:
        larger, smaller = bag(pair.x), bag(pair.x_prime)
        assert same_kind(pair.x, data)
        assert same_kind(pair.x_prime, data)
        assert (larger - smaller).total() == 1
        assert not smaller - larger
        assert whole in (larger, smaller)
        added += whole == smaller
        neighbours.add((whole == smaller, frozenset((larger - smaller).items())))
    assert len(neighbours) == len(relation) == len(whole) + added
    assert added == len(bag(values))
    assert all(bag(pair.x_prime) == whole for pair in relation[:added])


def test_equal_records_are_removed_once_the_first_of_them():
    relation = add_remove([1, "a", 1.0, "a", True, math.nan, float("nan")])
    assert len(relation) == 3
    assert [len(pair.x_prime) for pair in relation] == [6, 6, 6]
    assert add_remove([[1], (1,), [1]])[:].name == "add_remove"
    assert len(add_remove([[1], (1,), [1]])) == 2


@pytest.mark.parametrize(
    "data, removed",
    [
        ([3, 1, 2, 5, 4], [5, 1, 4, 2, 3]),
        ([-9, 1, 2], [-9, 2, 1]),
        ([1, math.nan, 5, math.inf], [math.nan, math.inf, 5, 1]),
        ([0, 10**400, 2], [10**400, 2, 0]),
        ([1e200, 2e200, 3e200], [3e200, 1e200, 2e200]),
        ([(1, 0), (3, 4), (0, 2)], [(3, 4), (0, 2), (1, 0)]),
        (["a", "a", "b", "c", "c", "c"], ["b", "a", "c"]),
        ([None, 1, None, "x"], [1, "x", None]),
        ([[1], [1, 2], [1]], [[1, 2], [1]]),
    ],
)
def test_the_likely_worst_records_go_first(data, removed):
    gone = [bag(pair.x) - bag(pair.x_prime) for pair in add_remove(data)]
    assert gone == [bag([record]) for record in removed]


def test_additions_come_first_and_once():
    relation = add_remove((1, 2), values=[7, 7.0, None])
    assert [pair.x for pair in relation] == [(1, 2, 7), (1, 2, None), (1, 2), (1, 2)]
    assert add_remove([], 0)[0] == Pair([0], [], "add_remove, pair 1 of 1")
    assert add_remove([1], values=np.array([4]))[0].x == [1, 4]
    assert type(add_remove([1], values=np.array([4]))[0].x[1]) is int


# Replace one record


@given(DATA | ARRAYS, st.data())
def test_each_pair_of_substitute_differs_in_one_record(data, draw):
    values = [data[i] for i in range(min(len(data), draw.draw(st.integers(1, 3))))]
    assume(len(bag(data)) > 1)
    relation = substitute(data, values=values)
    seen = set()
    for pair in relation:
        assert same_kind(pair.x, data)
        assert same_kind(pair.x_prime, data)
        before, after = list(map(plain, pair.x)), list(map(plain, pair.x_prime))
        assert before == list(map(plain, data))
        changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
        assert len(changed) == 1
        assert changed[0][1] in bag(values)
        seen.add(changed[0])
    assert len(seen) == len(relation)
    assert seen == {(a, b) for a in bag(data) for b in bag(values) if a != b}


def test_the_record_farthest_from_the_value_goes_first():
    changed = [pair.x_prime for pair in substitute([4, 0, 9, 1], 3)]
    assert changed == [[4, 0, 3, 1], [4, 3, 9, 1], [4, 0, 9, 3], [3, 0, 9, 1]]
    assert substitute([1.0, math.nan, 7.0], 0)[0].x_prime == [1.0, 0, 7.0]
    assert substitute([(0, 0), (3, 4)], (0, 1))[0].x_prime == [(0, 0), (0, 1)]
    assert substitute(["a", "b", "a"], "c")[0].x_prime == ["a", "c", "a"]
    assert substitute([1, 2], values=[None])[0].x_prime == [None, 2]


def test_a_record_equal_to_the_value_is_skipped():
    assert [pair.x_prime for pair in substitute([1, 0.0, False, -0.0], 0)] == [
        [0, 0.0, False, -0.0]
    ]
    assert "every record equals the value" in refused(substitute, [0, 0.0], 0)
    assert "the data are empty" in refused(substitute, [], 0)


# Arrays


def test_records_of_arrays_lie_along_the_first_axis():
    rows = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    removals = [pair.x_prime.tolist() for pair in add_remove(rows)]
    assert removals == [[[1, 2], [1, 2]], [[3, 4], [1, 2]]]
    assert add_remove(rows, [0, 0])[0].x.tolist() == [*rows.tolist(), [0, 0]]
    assert substitute(rows, np.zeros(2))[0].x_prime.tolist() == [[1, 2], [0, 0], [1, 2]]


def test_arrays_of_objects_texts_dates_and_fields():
    objects = np.empty(2, dtype=object)
    objects[:] = [[1], "a"]
    assert substitute(objects, values=[[2, 3]])[0].x_prime.tolist() == [[2, 3], "a"]
    assert add_remove(np.array(["a", "bb"]), "cc")[0].x.tolist() == ["a", "bb", "cc"]
    days = np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")
    assert len(add_remove(days, np.datetime64("2021-01-01"))) == 3
    fields = np.array([(1, "a"), (2, "b"), (1, "a")], dtype=[("n", int), ("t", "U1")])
    assert len(add_remove(fields)) == 2
    assert substitute(fields, (3, "c"))[0].x_prime.dtype == fields.dtype
    assert "cannot hold" in refused(substitute, fields, (3, "long"))


def test_float_arrays_round_a_value_and_others_take_it_exactly():
    assert substitute(np.zeros(2, dtype=np.float32), 0.1)[0].x_prime[0] == np.float32(0.1)
    for array, value in [
        (np.array([1, 2]), 0.5),
        (np.array([1, 2], dtype=np.int8), 300),
        (np.array([True, False]), 2),
        (np.array(["a", "b"]), "long"),
        (np.array([1.0]), "1.0"),
        (np.array([1.0], dtype=np.float32), 1e300),
        (np.array([1.0]), {}),
    ]:
        assert "cannot hold the value" in refused(substitute, array, value)
        assert "cannot hold the value" in refused(add_remove, array, value)
    assert "shape (3,)" in refused(add_remove, np.zeros((2, 2)), [1, 2, 3])
    assert "shape ()" in refused(add_remove, np.zeros((2, 2)), 1)


# Nothing is shared


@pytest.mark.parametrize("make", [lambda d: add_remove(d, 9), lambda d: substitute(d, 9)])
@pytest.mark.parametrize("data", [[1, 2, 3], np.array([1, 2, 3])])
def test_later_changes_of_data_and_pairs_reach_no_other_pair(make, data):
    data = data.copy()
    relation = make(data)
    before = [(list(pair.x), list(pair.x_prime)) for pair in relation]
    data[0] = 100
    for pair in relation:
        pair.x[:] = pair.x[::-1]
        pair.x_prime[0] = -100
    assert [(list(pair.x), list(pair.x_prime)) for pair in relation] == before


def test_vectors_of_answers_are_made_anew():
    relation = queries(3)
    relation[0].x[0] = 7
    assert relation[0].x == [0, 0, 0]


# Vectors of answers

STEPS = st.integers(1, 10**20) | st.floats(1e-3, 1e6) | st.fractions(Fraction(1, 100), 100)
CENTERS = st.integers(-(10**20), 10**20) | st.floats(-1e6, 1e6) | st.fractions(-100, 100)


@given(st.integers(1, 12), st.sampled_from(["all", "one"]), STEPS, CENTERS)
def test_answers_differ_by_no_more_than_they_may(n, change, by, center):
    if isinstance(by, float) or isinstance(center, float):
        assume(abs(center) < 2**40 * by)
    relation = queries(n, change, by, center)
    for i in sorted({*range(min(len(relation), 40)), *range(0, len(relation), 97)}):
        pair = relation[i]
        assert len(pair.x) == len(pair.x_prime) == n
        gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(pair.x, pair.x_prime, strict=True)]
        assert 0 < max(gaps) <= by
        assert max(gaps) >= Fraction(by) * (1 - Fraction(1, 2**10))
        assert change == "all" or sum(gap > 0 for gap in gaps) == 1
        whole = not isinstance(by, float) and not isinstance(center, float)
        assert all(isinstance(a, float) != whole for a in pair.x + pair.x_prime)


@pytest.mark.parametrize("change", ["all", "one"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 20])
def test_no_pair_of_answers_comes_twice(n, change):
    both = [frozenset([tuple(pair.x), tuple(pair.x_prime)]) for pair in queries(n, change)]
    assert len(set(both)) == len(both) <= MAX_PAIRS


@pytest.mark.parametrize("n", range(1, 8))
def test_small_vectors_have_every_pattern(n):
    """All changes of a flat vector, and all swaps of 0 and 1; all single steps from 0 to 1."""
    everything = 3**n - 1 + 2 ** (n - 1) - 1
    assert len(queries(n)) == everything
    assert len(queries(n, "one")) == n + n * 2 ** (n - 1)


@pytest.mark.parametrize("n", [8, 10, 1000])
def test_long_vectors_stop_at_the_limit(n):
    assert len(queries(n)) == MAX_PAIRS


def test_the_patterns_of_the_literature_come_first():
    pairs = [(pair.x, pair.x_prime) for pair in queries(5, center=1)[:9]]
    flat = [1] * 5
    assert pairs == [
        (flat, [2, 1, 1, 1, 1]),
        (flat, [0, 1, 1, 1, 1]),
        (flat, [2, 0, 0, 0, 0]),
        (flat, [0, 2, 2, 2, 2]),
        (flat, [2, 2, 2, 0, 0]),
        (flat, [2] * 5),
        (flat, [0] * 5),
        ([1, 1, 1, 2, 2], [2, 2, 2, 1, 1]),
        ([1, 2, 1, 2, 1], [2, 1, 2, 1, 2]),
    ]
    assert [pair.x_prime for pair in queries(3, "one")[:6]] == [
        [1, 0, 0],
        [-1, 0, 0],
        [0, 0, 1],
        [0, 0, -1],
        [0, 1, 0],
        [0, -1, 0],
    ]


@pytest.mark.parametrize(
    "name, center",
    [
        ("svt1", 0),
        ("svt3", 0),
        ("svt4", 0),
        ("svt5", 0),
        ("svt6", 0),
        ("noisy-max-value", 1),
        ("noisy-max-exponential-tight", 1),
        ("exponential-mechanism-no-half", 1),
        ("laplace-half-noise", 0),
    ],
)
def test_the_worst_pairs_of_the_zoo_come_early(name, center):
    worst = {tuple(vector) for vector in zoo.get(name).neighbours}
    relation = queries(len(next(iter(worst))), center=center)
    assert worst in [{tuple(pair.x), tuple(pair.x_prime)} for pair in relation[:16]]


def test_numbers_are_kept_as_they_are_given():
    assert repr(queries(2, by=2)[0].x_prime) == "[2, 0]"
    assert repr(queries(2, by=0.5)[0].x_prime) == "[0.5, 0.0]"
    assert queries(1, by=Fraction(1, 3))[0].x_prime == [Fraction(1, 3)]
    assert repr(queries(1, by=np.float64(1))[0].x_prime) == "[1.0]"
    assert queries(1, by=0.2, center=0.1)[0].x_prime == [0.3]  # 0.1 + 0.2 would be too much


@pytest.mark.parametrize(
    "arguments, problem",
    [
        ({"n": 0}, "n is 0; it must be a whole number of at least 1"),
        ({"n": True}, "n is True"),
        ({"n": 2.0}, "n is 2.0"),
        ({"n": 10**7}, "at most 100000"),
        ({"n": 2, "change": "al"}, "did you mean 'all'"),
        ({"n": 2, "change": None}, "use 'all', 'one' or 'sum'"),
        ({"n": 2, "by": 0}, "by is 0; it must be a positive number"),
        ({"n": 2, "by": -1}, "by is -1"),
        ({"n": 2, "by": math.nan}, "by is nan"),
        ({"n": 2, "by": "1"}, "by is '1'"),
        ({"n": 2, "center": math.inf}, "center is inf"),
        ({"n": 2, "center": 1e20}, "too small to change a float of 1e"),
        ({"n": 2, "center": 1e308, "by": 1e308}, "too large for a float"),
        ({"n": 2, "center": 10**400, "by": 0.5}, "too large for a float"),
    ],
)
def test_wrong_settings_of_queries(arguments, problem):
    assert problem in refused(queries, **arguments)


def test_all_findings_of_queries_come_at_once():
    with pytest.raises(UsageError) as caught:
        queries(0, "some", by=0)
    assert len(caught.value.findings) == 3


# Wrong data


@pytest.mark.parametrize("make", [add_remove, lambda data, value=None: substitute(data, 1)])
@pytest.mark.parametrize(
    "data, problem",
    [
        ("abc", "a str; give a list of records, such as list(text)"),
        ({"a": 1}, "are a dict; give a list, a tuple or a numpy array"),
        (iter([1]), "are a list_iterator"),
        (np.float64(1), "are a float64"),
        (np.array(1), "numpy array without an axis"),
        (np.ma.array([1]), "are a MaskedArray"),
        (None, "are a NoneType"),
    ],
)
def test_data_of_other_types(make, data, problem):
    assert problem in refused(make, data)


def test_wrong_values():
    assert "nothing can be removed" in refused(add_remove, [])
    assert "give value or values, not both" in refused(add_remove, [1], 1, values=[2])
    assert "values is a str" in refused(add_remove, [1], values="ab")
    assert "values is a set" in refused(substitute, [1], values={1})
    assert "give the value that replaces a record" in refused(substitute, [1])
    assert "give the value that replaces a record" in refused(substitute, [1], values=[])


# The sequence


def test_pairs_are_made_when_asked_for():
    asked = []

    def make(i):
        asked.append(i)
        return i, -i

    relation = Relation("numbers", 10**12, make)
    assert len(relation) == 10**12
    part = relation[5::2][:3]
    assert len(part) == 3
    assert asked == []
    assert relation[-1].relation == "numbers, pair 1000000000000 of 1000000000000"
    assert part[1] == Pair(7, -7, "numbers, pair 8 of 1000000000000")
    assert asked == [10**12 - 1, 7]
    assert relation[np.int64(3)].x == 3
    assert list(relation[2:0:-1]) == [relation[2], relation[1]]
    assert isinstance(part, Relation)
    with pytest.raises(IndexError, match="numbers has 3 pairs; there is no pair"):
        part[3]
    with pytest.raises(IndexError):
        part[-4]
    with pytest.raises(TypeError):
        relation["0"]


def test_repr():
    assert repr(add_remove([1])) == "<Relation add_remove: 1 pair>"
    assert repr(queries(10)) == "<Relation queries: 4096 pairs>"


# What neighbours may be


def test_one_pair():
    data = [1, 2]
    for given_ in [(data, [1]), Pair(data, [1])]:
        relation = as_relation(given_)
        assert len(relation) == 1
        assert relation[0] == Pair([1, 2], [1], "explicit")
        assert relation[0].x is data
    assert as_relation(Pair(1, 2, "swap"))[0].relation == "swap"
    assert as_relation(((1, 2), (3, 4)))[0].x == (1, 2)  # a tuple of two is one pair
    assert as_relation((1, 1))[0] == Pair(1, 1)  # that inputs differ is not asked


def test_lists_of_pairs():
    listed = [([1], []), Pair([2], []), Pair([3], [], "mine")]
    relation = as_relation(listed)
    listed.clear()
    assert [pair.relation for pair in relation] == [
        "list, pair 1 of 3",
        "list, pair 2 of 3",
        "mine",
    ]
    assert [pair.x for pair in relation] == [[1], [2], [3]]
    assert as_relation([(1, 2)])[0].relation == "list, pair 1 of 1"


def test_a_relation_stays_itself():
    relation = queries(2)
    assert as_relation(relation) is relation
    assert "has no pairs" in refused(as_relation, relation[:0])


@pytest.mark.parametrize(
    "neighbours, problem",
    [
        ([], "empty list; give at least one pair"),
        ([1, 2], "neighbours is a list, that is, many pairs, but neighbours[0] is a int"),
        ([[1], [2]], "give one pair as a tuple (x, x_prime)"),
        ([(1, 2), 3], "neighbours[1] is a int; each pair of the list must be a tuple"),
        ([(1, 2), (1, 2, 3)], "neighbours[1] is a tuple of 3"),
        ([(1, 2), (1, iter([1]))], "neighbours[1][1] is a list_iterator, which the first run"),
        ([(1, 2), Pair(iter([1]), 1)], "neighbours[1][0] is a list_iterator"),
        ((1, iter([1])), "x_prime is a list_iterator"),
        ((1, 2, 3), "neighbours is a tuple of 3; give one pair"),
        ((p for p in [(1, 2)]), "is a generator, which can be read only once; give its pairs"),
        ({1: 2}, "neighbours is a dict; give one pair as a tuple (x, x_prime), a list"),
        (None, "neighbours is a NoneType"),
        (add_remove, "neighbours is a function"),
    ],
)
def test_what_neighbours_may_not_be(neighbours, problem):
    assert problem in refused(as_relation, neighbours)


def test_many_wrong_pairs_are_not_all_listed():
    with pytest.raises(UsageError) as caught:
        as_relation([(1, 2), *range(100)])
    assert len(caught.value.findings) == 6
    assert caught.value.findings[-1] == "and 95 more of this kind"


# Texts


def same(a, b):
    return [(p.x, p.x_prime) for p in a] == [(p.x, p.x_prime) for p in b]


@pytest.mark.parametrize(
    "text, relation",
    [
        ("queries:4", queries(4)),
        (" queries : 4 : all ", queries(4)),
        ("queries:3:one:by=2", queries(3, "one", by=2)),
        ("queries:3:by=0.5:center=-1:change=one", queries(3, "one", by=0.5, center=-1)),
        ("queries:10:sum", queries(10, "sum")),
        ("queries:4:by=2.0:sum", queries(4, "sum", by=2.0)),
        ("numbers", numbers()),
        (" numbers : by=0.5 ", numbers(0.5)),
        ("numbers:by=2:low=0:high=10:whole", numbers(2, low=0, high=10, whole=True)),
        ("numbers:whole:high=-1e3", numbers(high=-1000, whole=True)),
        ("add_remove:[1,2,3]", add_remove([1, 2, 3])),
        ("add_remove:[1,2]:0:[4]", add_remove([1, 2], values=[0, [4]])),
        ("add_remove:[1]:null", add_remove([1], values=[None])),
        ("add_remove:[]: 1", add_remove([], 1)),
        ("substitute:[1,0,1]:0", substitute([1, 0, 1], 0)),
        ('substitute:["a:b",{"c":":"}]:"d:]"', substitute(["a:b", {"c": ":"}], "d:]")),
        (
            'substitute:[1, "Infinity"] : "-Infinity":2',
            substitute([1, math.inf], values=[-math.inf, 2]),
        ),
        ('add_remove:[{"bytes":"AA=="}]', add_remove([b"\0"])),
    ],
)
def test_texts(text, relation):
    assert same(parse_relation(text), relation)


@pytest.mark.parametrize("text", ["pair", "my.pair", "query", "", "queries_small", "add_removes"])
def test_texts_that_may_name_an_object(text):
    assert parse_relation(text) is None


@pytest.mark.parametrize(
    "text, problem",
    [
        ("querys:3", "no relation 'querys'; did you mean 'queries'?"),
        ("addremove:[1]", "did you mean 'add_remove'"),
        ("xyz:[1]", "no relation 'xyz'; write add_remove:"),
        ("queries", "queries needs the number of queries: write queries:10"),
        ("queries:", "queries needs the number"),
        ("add_remove", "add_remove needs data: write add_remove:[1,0,1]"),
        ("substitute:[1]", "substitute needs the value"),
        ("queries:ten", "'ten' is not a number of queries"),
        ("queries:-1", "'-1' is not a number of queries"),
        ("queries:0", "n is 0"),
        ("queries:3:al", "did you mean 'all'"),
        ("queries:3:sums", "did you mean 'sum'"),
        (
            "number:by=2",
            "no relation 'number'; did you mean 'numbers'? Write numbers or numbers:by",
        ),
        ("numbers:by", "numbers: by is ''; it must be a number"),
        ("numbers:by=x:low=[]", "2 problems"),
        ("numbers:by=0", "by is 0; it must be a positive number"),
        ("numbers:by=1:by=2", "numbers: by is given twice"),
        ("numbers:hight=2", "no option 'hight'; did you mean 'high'?"),
        ("numbers:center=2", "no option 'center'; known: by, low, high, whole"),
        ("numbers:whole=1", "whole takes no value; write numbers:whole"),
        ("numbers:by=0.5:whole", "by is 0.5; of whole numbers it must be whole"),
        ("numbers:by=2:low=0:high=1", "does not fit between"),
        ("numbers:low=NaN", "low is 'NaN'; it must be a number"),
        ("numbers:whole:", "no option ''; known"),
        ("queries:3:size=2", "no option 'size'; known: by, center, change"),
        ("queries:3:bye=2", "did you mean 'by'"),
        ("queries:3:by=x", "by is 'x'; it must be a number"),
        ("queries:3:by=true", "by is 'true'"),
        ("queries:3:by=NaN", "by is 'NaN'"),
        ("queries:3:by=", "by is ''"),
        ("queries:3:all:one", "change is given twice"),
        ("add_remove:[1,", "add_remove: the data is not JSON"),
        ("add_remove:[NaN]", 'write "NaN" in quotes'),
        ("add_remove:rows", "'rows', which is not JSON; write add_remove:[1,0,1], texts in quotes"),
        ("add_remove:[1]x", "is followed by 'x'"),
        ("add_remove:[1]:", "add_remove: value 1 is not JSON"),
        ("add_remove:1", "the data are a int"),
        ("substitute:[1]:a", "value 1 is 'a', which is not JSON"),
        ("add_remove:" + "[" * 5000, "nested too deeply"),
    ],
)
def test_texts_that_cannot_be_read(text, problem):
    assert problem in refused(parse_relation, text)


def test_data_by_name():
    asked = []

    def data_of(name):
        asked.append(name)
        return np.array([1, 2])

    assert len(parse_relation("add_remove:rows", data_of=data_of)) == 2
    assert len(parse_relation("substitute: my.rows : 2", data_of=data_of)) == 1
    assert len(parse_relation("add_remove:[1]", data_of=data_of)) == 1
    assert asked == ["rows", "my.rows"]
    assert "value 1 is 'v'" in refused(parse_relation, "add_remove:rows:v", data_of=data_of)


@given(st.text(max_size=30) | st.text('qureisadmov_:[]{}0123,"=by.', max_size=30))
def test_no_text_breaks_the_reader(text):
    for head in ("", "queries:", "numbers:", "add_remove:", "substitute:", "add_remove:[1]:"):
        try:
            made = parse_relation(head + text)
        except UsageError:
            continue
        assert made is None or isinstance(made, Relation)


# With an audit


def test_a_pair_of_a_relation_can_be_audited():
    def noisy_sum(rows, rng):
        return sum(rows) + rng.laplace(scale=2)  # one record moves the sum by 9

    pair = add_remove([1, 0, 9, 1])[0]
    verdict = tollens.audit(noisy_sum, "epsilon=1", neighbours=pair, seed=1)
    assert verdict.refuted
    assert "(add_remove, pair 1 of 3)" in str(verdict)


def test_keys_tell_records_that_differ():
    different = [1, 2, "1", b"1", None, [1], (1,), {"a": 1}, {1}, np.array([1]), math.nan, 1 + 2j]
    assert len({key_of(record) for record in different}) == len(different)
    assert key_of(np.float32(1)) == key_of(True) == key_of(Fraction(1))
    assert key_of({"a": math.nan}) == key_of({"a": float("nan")})
