"""States between steps: they lose nothing, and bytes of anybody else's are refused in words."""

from __future__ import annotations

import json
import math
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollens.auditing.experts import SLOTS
from tollens.errors import TollensError, UsageError
from tollens.monitoring.detectors import Runs
from tollens.monitoring.methods import make_detector
from tollens.monitoring.pack import pack, unpack
from tollens.monitoring.plan import make_plan
from tollens.outputs import Raised


def plan_of(claim="epsilon=0.5", *, method="exact", events=None, horizon=20, alpha=0.05, pairs=60):
    return make_plan(
        claim, method=method, alpha=alpha, horizon=horizon, beta=0.25, events=events, pairs=pairs,
        delta=None,
    )  # fmt: skip


def numbers(rng, shift, n):
    return shift + rng.laplace(scale=0.5, size=n)


def indices(rng, shift, n):
    return [int(np.argmax(np.array([shift, 0.5, 0.2]) + rng.laplace(size=3))) for _ in range(n)]


def tuples(rng, shift, n):
    return [
        tuple(float(v) for v in shift + rng.laplace(size=1 + rng.integers(3 + shift)))
        for _ in range(n)
    ]


def texts(rng, shift, n):
    return [
        ("yes", "no", "perhaps\n'\"", "é🙂")[int(rng.integers(2 + 2 * shift))] for _ in range(n)
    ]


def dictionaries(rng, shift, n):
    return [
        {"count": float(shift + rng.laplace()), **({"seen": True} if rng.random() < 0.3 else {})}
        for _ in range(n)
    ]


def vectors(rng, shift, n):
    return shift * np.eye(20)[3] + rng.laplace(scale=0.5, size=(n, 20))


def everything(rng, shift, n):
    choices = [None, math.nan, Raised("ValueError", "secret"), 2.5, math.inf, "text", b"\x00", True]
    return [choices[int(rng.integers(len(choices) - 2 * shift))] for _ in range(n)]


def of_another_type_each_time(rng, shift, n):
    return (numbers, indices, tuples, texts, vectors, everything)[int(rng.integers(6))](
        rng, shift, n
    )


KINDS = {
    draw.__name__: draw
    for draw in (
        numbers,
        indices,
        tuples,
        texts,
        dictionaries,
        vectors,
        everything,
        of_another_type_each_time,
    )
}


def told(reading):
    witness = None if reading.witness is None else reading.witness.to_json()
    tracks = np.asarray(reading.trace["tracks"]).tolist()
    return reading.evidence, reading.peak, reading.epsilon_lower, tracks, witness


def same(one, other):
    """Equality in which NaN equals NaN."""
    return json.dumps(one) == json.dumps(other)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_goes_on_where_it_was(kind):
    plan, rng = plan_of(), np.random.default_rng(8)
    whole, kept = make_detector(plan, None), None
    for number in range(7):
        side = np.random.default_rng(number)
        outputs = KINDS[kind](side, 1, 60), KINDS[kind](np.random.default_rng(number + 99), 0, 60)
        seed = int(rng.integers(1000))
        in_one = whole.take(Runs(60, outputs), latched=number > 4, seed=seed)
        part = make_detector(plan, kept)
        in_parts = part.take(Runs(60, outputs), latched=number > 4, seed=seed)
        kept = part.kept()
        assert same(told(in_one), told(in_parts))
        assert kept == make_detector(plan, kept).kept()
        assert len(kept) < 300_000


@pytest.mark.parametrize("claim", ["mu=1", "epsilon=1, delta=0.01", "order=8, epsilon=0.3"])
def test_a_state_of_other_claims_goes_on_too(claim):
    plan = plan_of(claim, events=["output <= 0", "output > 2"], horizon="arl")
    whole, kept, rng = make_detector(plan, None), None, np.random.default_rng(1)
    for number in range(5):
        runs = Runs(60, (numbers(rng, 1, 60).tolist(), numbers(rng, 0, 60).tolist()))
        if number == 3:
            hits = {"output <= 0": (3, 30), "output > 2": (9, 1)}
            runs = Runs(60, counts=hits)
        part = make_detector(plan, kept)
        found = part.take(runs, latched=False, seed=number)
        assert same(told(found), told(whole.take(runs, latched=False, seed=number)))
        kept = part.kept()


def test_forgetting_survives_too():
    plan, rng = plan_of(), np.random.default_rng(0)
    whole, kept = make_detector(plan, None), None
    for number in range(6):
        runs = Runs(60, (numbers(rng, 2, 60), numbers(rng, 0, 60)))
        part = make_detector(plan, kept)
        found = part.take(runs, latched=False, seed=number)
        assert same(told(found), told(whole.take(runs, latched=False, seed=number)))
        if number == 3:
            part.restart()
            whole.restart()
        kept = part.kept()


# What is no state of this series


def steps_of(plan, count=3):
    detector, rng = make_detector(plan, None), np.random.default_rng(0)
    for number in range(count):
        runs = Runs(60, (vectors(rng, 1, 60)[:, :4], vectors(rng, 0, 60)[:, :4]))
        detector.take(runs, latched=False, seed=number)
    return detector.kept()


PLAN = plan_of()
GOOD = steps_of(PLAN)
TREE = unpack(GOOD)


def served(data):
    """A detector of these bytes takes a step, or says in words why it cannot."""
    rng = np.random.default_rng(5)
    try:
        detector = make_detector(PLAN, data)
        detector.take(Runs(60, (vectors(rng, 1, 60), numbers(rng, 0, 60))), latched=False, seed=0)
        detector.kept()
    except TollensError as error:
        assert isinstance(error, UsageError)
        return False
    return True


def test_the_good_one_is_served():
    assert served(GOOD)


@given(st.binary(min_size=1, max_size=200))
def test_noise_is_refused(data):
    for candidate in (data, zlib.compress(data), GOOD + data):
        with pytest.raises(UsageError):
            unpack(candidate)


@given(st.integers(0, len(GOOD) - 1))
def test_what_is_cut_off_is_refused(end):
    with pytest.raises(UsageError, match="cannot be read"):
        make_detector(PLAN, GOOD[:end])


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 7))
def test_flipped_bits_are_refused(at, bit):
    """Or were of no meaning, such as those that fill up the last byte before the checksum."""
    flipped = bytearray(GOOD)
    flipped[at] ^= 1 << bit
    try:
        tree = unpack(bytes(flipped))
    except UsageError:
        return
    assert pack(tree) == GOOD


RAW = zlib.decompress(GOOD)
TEXT_ENDS = 8 + int.from_bytes(RAW[:8], "little")

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from(["", "x", "counted", "linear"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["@", "float", "kind", "x"]), inner, max_size=2
        )
    ),
    max_leaves=4,
)  # fmt: skip


def written(header, arrays=RAW[TEXT_ENDS:]):
    text = json.dumps(header).encode()
    return zlib.compress(len(text).to_bytes(8, "little") + text + arrays)


def replaced(value, draw, depth=0):
    """A copy of a JSON value of which some part is another value."""
    inside = isinstance(value, dict | list) and len(value)
    if not inside or (depth and draw(st.integers(0, 3)) == 0):
        return draw(json_values)
    if isinstance(value, dict):
        key = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 9)) == 0:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: replaced(value[key], draw, depth + 1)}
    at = draw(st.integers(0, len(value) - 1))
    return [*value[:at], replaced(value[at], draw, depth + 1), *value[at + 1 :]]


@given(st.data())
def test_other_trees_are_refused_or_served(data):
    header = json.loads(RAW[8:TEXT_ENDS])
    served(written(replaced(header, data.draw)))


def with_array(tree, path, array):
    """A tree in which another array stands at a path."""
    if not path:
        return array
    copied = dict(tree) if isinstance(tree, dict) else list(tree)
    copied[path[0]] = with_array(copied[path[0]], path[1:], array)
    return copied


VIEW = ("rungs", 2, "standing", "views", 0)


@pytest.mark.parametrize("path", [
    ("slots",), ("favourites",), ("leak",), ("rungs", 2, "standing", "slots"), (*VIEW, "cuts"),
    (*VIEW, "shapes"), (*VIEW, "atoms"), (*VIEW, "x"), (*VIEW, "y"),
    ("rungs", 2, "standing", "scores", 0, "center"), ("rungs", 2, "standing", "scores", 0, "scale"),
    ("rungs", 2, "standing", "scores", 0, "weights"),
])  # fmt: skip
def test_other_arrays_are_refused_or_served(path):
    for kind in (np.float64, np.int64, np.uint64):
        for shape in ((0,), (1,), (7,), (2, 2), (5, len(SLOTS), 1), (0, 5), ()):
            for value in (0, 3):
                served(pack(with_array(TREE, path, np.full(shape, value, dtype=kind))))
    for value in (np.nan, np.inf, -np.inf, -1.0, 1e308):
        for shape in ((1,), (5,), (5, len(SLOTS), 1), (96,)):
            served(pack(with_array(TREE, path, np.full(shape, value))))


def peak_of(data):
    tracemalloc.start()
    try:
        with pytest.raises(UsageError):
            unpack(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_small_bytes_that_become_large_ones_are_refused_within_bounds():
    huge = zlib.compressobj(9)
    zeros = b"".join(huge.compress(bytes(2**20)) for _ in range(300)) + huge.flush()
    assert len(zeros) < 2**20
    assert peak_of(zeros) < 2**30
    lists = b"[" + b"[]," * 2**23 + b"[]]"
    header = b'{"format": "tollens/state/1", "arrays": [], "tree": {"x": ' + lists + b"}}"
    assert peak_of(zlib.compress(len(header).to_bytes(8, "little") + header)) < 2**27


def test_what_could_not_be_read_again_is_not_written():
    for tree in ({"x" * 2**24: 1}, {"array": np.zeros(2**25 + 1)}):
        with pytest.raises(UsageError, match="may have"):
            pack(tree)


@pytest.mark.parametrize(
    "arrays",
    [
        [["<f8", [2**62]]],
        [["<f8", [2**40, 2**40]]],
        [["<f8", [0, 2**70]]],
        [["<f8", [2**70, 0]]],
        [["<f8", [-1]]],
        [["<f8", [1e999]]],
        [["<f8", ["1" * 5000]]],
        [["<f8", [1] * 100]],
        [["|O", [1]]],
        [[["<f8"], [1]]],
        [["<f8"]],
        {"<f8": [1]},
        5,
        None,
    ],
)
def test_lengths_are_checked(arrays):
    header = {"format": "tollens/state/1", "tree": {"x": {"@": 0}}, "arrays": arrays}
    with pytest.raises(UsageError, match="cannot be read"):
        unpack(written(header, bytes(64)))


def test_deep_trees_are_refused():
    for depth in (500, 20_000):
        text = '{"x":' * depth + "1" + "}" * depth
        header = f'{{"format": "tollens/state/1", "arrays": [], "tree": {text}}}'.encode()
        data = zlib.compress(len(header).to_bytes(8, "little") + header)
        try:
            make_detector(PLAN, data)
        except UsageError:
            continue
        pytest.fail("a tree that is no state was taken for one")


def test_states_of_other_settings_are_refused():
    others = [
        plan_of("mu=1"),
        plan_of("epsilon=0.5, delta=0.1"),
        plan_of("epsilon=0.5, ordered"),
        plan_of(events=["output <= 0"]),
        plan_of(method="brownian", events=["output <= 0"]),
    ]
    refused = 0
    for plan in others:
        try:
            make_detector(plan, GOOD)
        except UsageError as error:
            refused += 1
            assert "state" in str(error)
    assert refused >= 4  # an ordered pure claim has as many promises as one that is not
    with pytest.raises(UsageError, match="state"):
        counted = make_detector(others[4], None)
        make_detector(PLAN, counted.kept())
