"""Callables become mechanisms: how they take their generator, their errors, their data."""

from __future__ import annotations

import functools
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tollens
from tollens.errors import MechanismError, UsageError
from tollens.mechanism import (
    BatchFailed,
    Mechanism,
    fingerprint,
    from_callable,
    one_by_one,
    refuse_iterator,
)
from tollens.outputs import Raised


def rng():
    return np.random.default_rng(7)


def plain(data):
    return data + 1


def second(data, rng):
    return data + rng.random()


def second_with_default(data, rng=None):
    return data + rng.random()


def keyword(data, *, rng):
    return data + rng.random()


def keyword_with_default(data, scale=2, *, rng=None):
    return data + scale * rng.random()


def other_name(data, generator):
    return data + generator.random()


def parameter(data, digits=3):
    return round(data, digits)


def third(data, scale=2, rng=None):
    return data + scale * rng.random()


def star(*arguments):
    return len(arguments)


def keywords(data, **options):
    return len(options)


class Callable:
    def __call__(self, data, rng):
        return data + rng.random()

    def method(self, data, rng):
        return data + rng.random()

    @classmethod
    def of_class(cls, data, rng):
        return data + rng.random()

    @staticmethod
    def static(data, rng):
        return data + rng.random()


TAKE_RNG = [
    second,
    second_with_default,
    keyword,
    keyword_with_default,
    other_name,
    third,
    Callable(),
    Callable().method,
    Callable.of_class,
    Callable.static,
    lambda d, r: d + r.random(),
    functools.partial(third, scale=3),
    functools.partial(lambda scale, data, rng: data + scale * rng.random(), 2),
]


@pytest.mark.parametrize("function", TAKE_RNG)
def test_functions_that_take_a_generator(function):
    mechanism = from_callable(function)
    assert mechanism.takes_rng
    first, again = mechanism.sample(1.0, 5, rng()), mechanism.sample(1.0, 5, rng())
    assert list(first) == list(again)
    assert len(set(first)) == 5
    assert all(isinstance(output, float) and output >= 1 for output in first)


@pytest.mark.parametrize(
    "function, outputs",
    [
        (plain, [2, 2]),
        (parameter, [1, 1]),
        (star, [1, 1]),
        (keywords, [0, 0]),
        (abs, [1, 1]),
        (str, ["1", "1"]),
        (math.sqrt, [1.0, 1.0]),
        (functools.partial(pow, exp=2), [1, 1]),
    ],
)
def test_functions_of_the_data_alone(function, outputs):
    mechanism = from_callable(function)
    assert not mechanism.takes_rng
    assert mechanism.sample(1, 2, rng()) == outputs


@pytest.mark.parametrize(
    "function, problem",
    [
        (lambda: 1, "takes no argument"),
        (lambda *, rng: 1, "takes no argument"),
        (lambda data, n, rng: 1, r"needs 3 arguments \(data, n, rng\).*tollens.batched"),
        (lambda a, b, c, d: 1, "needs 4 arguments"),
        (3, "the mechanism is 3"),
        (None, "the mechanism is None"),
        ([1, 2], r"the mechanism is \[1, 2\]"),
        (list(range(100)), "the mechanism is a list"),
    ],
)
def test_what_is_no_mechanism(function, problem):
    with pytest.raises(UsageError, match=problem):
        from_callable(function)


def test_names():
    assert from_callable(second).name == "second"
    assert from_callable(second, name="mine").name == "mine"
    assert from_callable(functools.partial(third, scale=2)).name == "third"
    assert from_callable(Callable()).name == "Callable"
    assert from_callable(Callable().method).name == "Callable.method"
    assert from_callable(tollens.batched(second)).name == "second"

    def inner(data):
        return data

    assert from_callable(inner).name == "test_names.inner"


def test_a_mechanism_stays_what_it_is():
    mechanism = from_callable(plain)
    assert from_callable(mechanism) is mechanism
    assert isinstance(mechanism, Mechanism)


class OddError(Exception):
    """An exception with a message that is too long to keep."""


@pytest.mark.parametrize(
    "error",
    [ValueError("no rows"), KeyError("a"), OddError("x" * 1000), SystemExit(3), MemoryError()],
)
def test_a_run_that_raises_is_an_output(error):
    def raises(data):
        raise error

    first, second = from_callable(raises).sample(1, 2, rng())
    assert first == second == Raised(type(error).__name__)
    assert len(first.message) <= 300
    assert str(first).startswith(type(error).__name__)


def test_an_interrupt_is_not_an_output():
    def stop(data):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        from_callable(stop).sample(1, 2, rng())


def test_a_recursion_error_is_an_output():
    def endless(data):
        return endless(data)

    limit = sys.getrecursionlimit()
    assert from_callable(endless).sample(1, 1, rng()) == [Raised("RecursionError")]
    assert sys.getrecursionlimit() == limit


class TestBatched:
    def test_it_is_a_decorator_that_leaves_a_function(self):
        @tollens.batched
        def noisy(data, n, rng):
            return data + rng.random(n)

        assert noisy(1.0, 3, rng()).shape == (3,)
        mechanism = from_callable(noisy)
        assert mechanism.takes_rng and mechanism.vectorised
        assert np.array_equal(mechanism.sample(1.0, 4, rng()), 1.0 + rng().random(4))

    @pytest.mark.parametrize("thing", [3, None, "text", [1]])
    def test_it_wraps_functions_only(self, thing):
        with pytest.raises(UsageError, match="batched wraps a function"):
            tollens.batched(thing)

    @pytest.mark.parametrize(
        "result, got",
        [
            (np.zeros(4), "4 outputs"),
            (np.zeros(6), "6 outputs"),
            ([], "0 outputs"),
            (1.5, "a float"),
            (None, "a NoneType"),
            ((v for v in range(5)), "a generator"),
            (np.array(3.0), "a ndarray"),
        ],
    )
    def test_it_must_return_n_outputs(self, result, got):
        mechanism = from_callable(tollens.batched(lambda data, n, rng: result))
        with pytest.raises(MechanismError, match=f"n=5 outputs, got {got}"):
            mechanism.sample(1, 5, rng())

    @pytest.mark.parametrize("result", [[1, 2], (1, 2), np.array([1, 2]), np.zeros((2, 7))])
    def test_any_sequence_of_n_will_do(self, result):
        mechanism = from_callable(tollens.batched(lambda data, n, rng: result))
        assert len(mechanism.sample(1, 2, rng())) == 2

    def test_a_batch_that_raises_says_nothing_about_its_runs(self):
        @tollens.batched
        def sometimes(data, n, rng):
            draws = rng.random(n)
            if np.any(draws < 0.3):
                raise ValueError("too small")
            return draws

        with pytest.raises(BatchFailed, match="raised ValueError: too small"):
            from_callable(sometimes).sample(1, 200, rng())

    def test_runs_one_by_one_tell_which_of_them_raise(self):
        @tollens.batched
        def sometimes(data, n, rng):
            draws = rng.random(n)
            if np.any(draws < 0.3):
                raise ValueError("too small")
            return draws

        single = one_by_one(from_callable(sometimes))
        outputs = single.sample(1, 200, rng())
        draws = rng().random(200)
        assert not single.vectorised
        assert [isinstance(o, Raised) for o in outputs] == (draws < 0.3).tolist()
        assert {str(o) for o in outputs if isinstance(o, Raised)} == {"ValueError: too small"}

    def test_an_audit_of_batches_that_raise_starts_anew_one_by_one(self):
        @tollens.batched
        def sometimes(data, n, rng):
            draws = rng.random(n)
            if np.any(draws < (0.6 if data else 0.02)):
                raise ValueError("too small")
            return draws

        verdict = tollens.audit(sometimes, "epsilon=1", neighbours=(0, 1), seed=1, alpha=0.01)
        assert verdict.refuted
        assert any("one by one" in note for note in verdict.notes)
        assert verdict.evidence.level < 0.01


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


class TestFingerprint:
    @given(DATA)
    def test_it_is_the_same_twice(self, data):
        assert fingerprint(data) == fingerprint(data)

    @given(st.lists(DATA, max_size=4), DATA)
    def test_an_appended_item_is_seen(self, data, item):
        before = fingerprint(data)
        data.append(item)
        assert fingerprint(data) != before

    @pytest.mark.parametrize(
        "data, change",
        [
            ([1, 2], lambda d: d.reverse()),
            ([1, 2], lambda d: d.__setitem__(0, 1.0)),
            ([[1], [2]], lambda d: d[1].append(3)),
            ({"a": [1]}, lambda d: d["a"].clear()),
            ({"a": 1}, lambda d: d.update(b=2)),
            ({1, 2}, lambda d: d.discard(1)),
            (bytearray(b"ab"), lambda d: d.append(3)),
            (np.arange(4.0), lambda d: d.sort() or d.__setitem__(0, 9)),
            (np.array([0.0, math.nan]), lambda d: d.__setitem__(1, 0.0)),
            (np.array([[1], "a"], dtype=object), lambda d: d[0].append(2)),
            (([1],), lambda d: d[0].append(2)),
        ],
    )
    def test_changes_are_seen(self, data, change):
        before = fingerprint(data)
        change(data)
        assert fingerprint(data) != before

    def test_a_data_frame(self):
        class Frame:
            columns = ("a", "b")
            shape = (2, 2)

            def __init__(self):
                self.cells = np.array([[1, "x"], [2, "y"]], dtype=object)

            def to_numpy(self):
                return self.cells

        frame = Frame()
        before = fingerprint(frame)
        assert fingerprint(Frame()) == before
        frame.cells[0, 1] = "z"
        assert fingerprint(frame) != before

    def test_what_it_cannot_look_into_counts_as_unchanged(self):
        assert fingerprint(object()) == fingerprint(object())

    def test_data_that_contain_themselves(self):
        loop: list = []
        loop.append(loop)
        assert fingerprint(loop) == fingerprint(loop)


class TestMutation:
    def mutates(self, claim="epsilon=1", **settings):
        def consume(rows, rng):
            rows.append(0)
            return len(rows) + rng.laplace()

        return tollens.audit(consume, claim, neighbours=([1, 1], [1]), seed=1, **settings)

    def test_a_mechanism_that_changes_its_input(self):
        with pytest.raises(MechanismError, match="changes its input"):
            self.mutates()

    def test_the_same_in_a_worker(self):
        with pytest.raises(MechanismError, match="changes its input"):
            self.mutates(timeout=5.0)

    def test_a_mechanism_that_works_on_a_copy(self):
        def copies(rows, rng):
            rows = list(rows)
            rows.append(0)
            return len(rows) + rng.laplace()

        verdict = tollens.audit(copies, "epsilon=1", neighbours=([1, 1], [1]), budget=200, seed=1)
        assert verdict.outcome is tollens.Outcome.UNREFUTED

    @pytest.mark.parametrize("data", [iter([1]), (v for v in [1]), map(abs, [1]), zip([1])])
    def test_data_that_can_be_read_once(self, data):
        with pytest.raises(UsageError, match="first run would use up"):
            refuse_iterator(data, "x")
        with pytest.raises(UsageError, match="x_prime is a"):
            tollens.audit(second, "epsilon=1", neighbours=([1], data))
