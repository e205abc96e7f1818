"""The encoding of outputs: a fixed function of each output, whatever came before or beside it."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tollens.errors import UsageError
from tollens.outputs import MAX_NUMBERS, Encoder, Outputs, Raised, concatenate

SMALL = st.integers(-(2**62), 2**62)
PLAIN = (
    st.none()
    | st.booleans()
    | SMALL
    | st.floats()
    | st.text(max_size=4)
    | st.binary(max_size=4)
    | st.sampled_from([Raised("ValueError"), Raised("KeyError", "x")])
)
NESTED = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


def encode(batch) -> Outputs:
    return Encoder().encode(batch)


def key(output) -> int:
    return int(encode([output]).keys[0])


def shape(output) -> str:
    encoder = Encoder()
    return encoder.shape_name(int(encoder.encode([output]).shapes[0]))


def alone_and_in_company(outputs):
    """The names of shapes, keys and numbers of outputs encoded one by one and all at once."""
    encoder = Encoder()
    one_by_one = [encoder.encode([output]) for output in outputs]
    together = Encoder()
    at_once = together.encode(outputs)
    return (
        [encoder.shape_name(int(part.shapes[0])) for part in one_by_one],
        [together.shape_name(int(number)) for number in at_once.shapes],
        [int(part.keys[0]) for part in one_by_one],
        [int(k) for k in at_once.keys],
    )


class TestCompany:
    """Equal outputs look equal, whatever else is in the batch: bets score them one by one."""

    @given(st.lists(PLAIN, min_size=1, max_size=8))
    @settings(max_examples=300)
    def test_plain_outputs(self, outputs):
        alone_names, names, alone_keys, keys = alone_and_in_company(outputs)
        assert names == alone_names
        assert keys == alone_keys

    @given(st.lists(st.lists(st.floats(), min_size=2, max_size=2).map(tuple), min_size=1))
    def test_pairs_of_floats(self, outputs):
        outputs = [tuple(0.0 if math.isnan(v) else v for v in pair) for pair in outputs]
        alone_names, names, alone_keys, keys = alone_and_in_company(outputs)
        assert names == alone_names
        assert keys == alone_keys

    @given(st.lists(st.integers(-(2**80), 2**80), min_size=1, max_size=6))
    @example([5, 2**70])
    def test_huge_integers(self, outputs):
        _, _, alone_keys, keys = alone_and_in_company(outputs)
        assert keys == alone_keys

    @pytest.mark.parametrize(
        "odd",
        [(0, 1.5), (math.nan, 1.5), ("a", 1.5), (None, 1.5)],
        ids=["int", "nan", "str", "none"],
    )
    def test_tuples(self, odd):
        _, _, alone_keys, keys = alone_and_in_company([(0.0, 1.5), odd, (2.0, 1.0)])
        assert keys == alone_keys

    @given(st.lists(NESTED, min_size=1, max_size=6))
    @example([(0.0, 1.5), (0, 1.5)])
    def test_nested_outputs(self, outputs):
        alone_names, names, alone_keys, keys = alone_and_in_company(outputs)
        assert names == alone_names
        assert keys == alone_keys

    @given(st.lists(st.text(max_size=3), min_size=2, max_size=6, unique=True))
    @example(["b", "a"])
    def test_numbers_of_texts_do_not_depend_on_what_was_seen_before(self, texts):
        forwards, backwards = Encoder(), Encoder()
        numbers = forwards.encode(texts).numbers
        assert np.array_equal(numbers[::-1], backwards.encode(texts[::-1]).numbers)

    @given(st.lists(PLAIN, min_size=1, max_size=8), st.lists(PLAIN, max_size=8))
    def test_keys_and_shapes_do_not_depend_on_what_was_seen_before(self, outputs, before):
        fresh, used = Encoder(), Encoder()
        used.encode(before)
        first, second = fresh.encode(outputs), used.encode(outputs)
        assert np.array_equal(first.keys, second.keys)
        assert [fresh.shape_name(int(s)) for s in first.shapes] == [
            used.shape_name(int(s)) for s in second.shapes
        ]

    @pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.float32, np.float64, bool])
    def test_an_array_and_the_list_of_its_values(self, dtype):
        array = np.array([0, 1, 1, 0, 1], dtype=dtype)
        whole, each, plain = encode(array), encode(list(array)), encode(array.tolist())
        for other in (each, plain):
            assert np.array_equal(whole.keys, other.keys)
            assert np.array_equal(whole.numbers, other.numbers)

    def test_a_matrix_and_the_list_of_its_rows(self):
        matrix = np.random.default_rng(0).normal(size=(5, 3))
        whole, rows = encode(matrix), encode(list(matrix))
        assert np.array_equal(whole.keys, rows.keys)
        assert np.array_equal(whole.numbers, rows.numbers)

    def test_large_unsigned_integers_in_an_array_and_in_a_list(self):
        array = np.array([2**63 + 5, 3], dtype=np.uint64)
        assert np.array_equal(encode(array).keys, encode(array.tolist()).keys)

    def test_rows_of_signed_and_unsigned_integers(self):
        rows = [np.array([2**60 + 1, 2], dtype=t) for t in (np.uint64, np.int64)]
        _, _, alone_keys, keys = alone_and_in_company(rows)
        assert keys == alone_keys


class TestValues:
    @given(PLAIN)
    def test_the_same_output_has_the_same_key(self, output):
        assert key(output) == key(output)

    @given(st.floats(allow_nan=False), st.floats(allow_nan=False))
    def test_floats_have_equal_keys_exactly_when_they_are_equal(self, a, b):
        assert (key(a) == key(b)) == (a == b)

    @given(SMALL, SMALL)
    def test_integers_have_equal_keys_exactly_when_they_are_equal(self, a, b):
        assert (key(a) == key(b)) == (a == b)

    @given(st.integers(), st.integers())
    def test_integers_of_any_size(self, a, b):
        assert (key(a) == key(b)) == (a == b)

    @given(st.text(), st.text())
    def test_texts(self, a, b):
        assert (key(a) == key(b)) == (a == b)

    @given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=4), st.data())
    def test_vectors(self, a, data):
        b = list(a)
        i = data.draw(st.integers(0, len(a) - 1))
        b[i] = data.draw(st.floats(allow_nan=False))
        assert (key(tuple(a)) == key(tuple(b))) == (a == b)
        assert (key(np.array(a)) == key(np.array(b))) == (a == b)

    def test_minus_zero_is_zero(self):
        assert key(-0.0) == key(0.0)
        assert key((-0.0, 1.0)) == key((0.0, 1.0))
        assert key(np.array([-0.0, 1.0])) == key(np.array([0.0, 1.0]))

    def test_minus_zero_is_zero_inside_an_array_in_a_dictionary(self):
        assert key({"a": np.array([-0.0])}) == key({"a": np.array([0.0])})
        assert key({"a": np.array([1], dtype=np.int8)}) == key({"a": np.array([1])})

    def test_every_nan_is_the_same(self):
        assert key(math.nan) == key(-math.nan) == key(np.float64("nan"))
        assert shape(math.nan) == shape(np.float32("nan")) == "NaN"
        assert np.isnan(encode([math.nan]).numbers).all()

    def test_infinities_are_numbers(self):
        out = encode([math.inf, -math.inf, 1.0])
        assert out.numbers[:, 0].tolist() == [math.inf, -math.inf, 1.0]
        assert len(set(out.shapes.tolist())) == 1
        assert len(set(out.keys.tolist())) == 3

    def test_huge_integers_keep_their_order(self):
        out = encode([10**400, -(10**400), 2**70])
        assert out.numbers[:, 0].tolist() == [math.inf, -math.inf, float(2**70)]
        assert key(10**400) != key(10**400 + 1)

    def test_types_are_told_apart_by_shape(self):
        names = [shape(v) for v in (1, 1.0, True, "1", b"1", None, (1,), [1], {"1": 1}, {1})]
        assert len(set(names)) == len(names)

    def test_lengths_and_types_inside_are_told_apart(self):
        outputs = [(1.0,), (1.0, 2.0), (1.0, 2), (1.0, "2"), [1.0, 2.0], ((1.0,), 2.0)]
        assert len({shape(o) for o in outputs}) == len(outputs)

    def test_the_order_of_a_dictionary_does_not_matter(self):
        first, second = {"a": 1, "b": 2.5}, {"b": 2.5, "a": 1}
        assert key(first) == key(second)
        assert shape(first) == shape(second)
        assert np.array_equal(encode([first]).numbers, encode([second]).numbers)

    def test_the_order_of_a_set_does_not_matter(self):
        assert key({"a", "b", "c"}) == key({"c", "b", "a"})

    def test_dictionaries_with_other_keys_have_other_shapes(self):
        assert shape({"a": 1}) != shape({"b": 1})
        assert shape({1: 1}) != shape({"1": 1})

    def test_exceptions_are_told_apart_by_type_alone(self):
        assert key(Raised("ValueError", "at 0x1")) == key(Raised("ValueError", "at 0x2"))
        assert key(Raised("ValueError")) != key(Raised("KeyError"))
        assert shape(Raised("ValueError")) == "raised ValueError"
        assert Raised("ValueError", "a") == Raised("ValueError", "b")

    def test_an_exception_is_not_its_name(self):
        assert key(Raised("ValueError")) != key("ValueError")
        assert key("None") != key(None)
        assert key("NaN") != key(math.nan)

    def test_scalars_of_numpy_are_scalars(self):
        for array_scalar, plain in (
            (np.float64(1.5), 1.5),
            (np.float32(1.5), 1.5),
            (np.int32(7), 7),
            (np.bool_(True), True),
            (np.str_("a"), "a"),
        ):
            assert key(array_scalar) == key(plain)
            assert shape(array_scalar) == shape(plain)

    @pytest.mark.parametrize("value", [1.5, 7, True], ids=str)
    def test_arrays_without_axes_are_scalars(self, value):
        assert key(np.array(value)) == key(value)
        assert shape(np.array(value)) == shape(value)
        assert shape((np.array(value), 1.0)) == shape((value, 1.0))

    def test_arrays_are_not_lists(self):
        assert shape(np.array([1.0, 2.0])) != shape([1.0, 2.0])
        assert shape(np.array([[1.0, 2.0]])) != shape(np.array([[1.0], [2.0]]))

    def test_only_so_many_numbers_are_looked_at_one_by_one(self):
        long = np.arange(MAX_NUMBERS + 10.0)
        changed = long.copy()
        changed[-1] = 0
        assert encode([long]).numbers.shape == (1, MAX_NUMBERS)
        assert encode(long[None, :]).numbers.shape == (1, MAX_NUMBERS)
        assert key(long) != key(changed)
        assert encode([long.tolist()]).numbers.shape == (1, MAX_NUMBERS)

    @pytest.mark.parametrize(
        "output",
        [
            Decimal("1.5"),
            Decimal("NaN"),
            Fraction(1, 3),
            1 + 2j,
            datetime(2024, 5, 1, 12, 30),
            date(2024, 5, 1),
            timedelta(seconds=90),
            np.datetime64("2024-05-01"),
            np.longdouble(1.5),
            np.timedelta64(3, "s"),
            [np.longdouble(1.5)],
            np.ma.masked_array([1.0, 2.0], mask=[True, False]),
        ],
        ids=repr,
    )
    def test_other_types_of_values(self, output):
        alone_names, names, alone_keys, keys = alone_and_in_company([output, 1.5, None, output])
        assert names == alone_names
        assert keys == alone_keys
        assert keys[0] == keys[3]

    def test_bytes_are_looked_at_bit_by_bit(self):
        assert encode([b"\x80\x01"]).numbers[0].tolist() == [1] + 14 * [0] + [1]
        assert shape(b"ab") != shape(b"abc")


class TestErrors:
    @pytest.mark.parametrize("output", [object(), lambda: 0, iter([1]), {1: object()}])
    def test_outputs_that_cannot_be_compared(self, output):
        with pytest.raises(UsageError, match="cannot compare"):
            encode([output])

    def test_too_deep_nesting(self):
        deep: list = []
        for _ in range(40):
            deep = [deep]
        with pytest.raises(UsageError, match="nested more than 32 deep"):
            encode([deep])

    def test_a_list_that_contains_itself(self):
        loop: list = []
        loop.append(loop)
        with pytest.raises(UsageError, match="nested"):
            encode([loop])


class TestBatches:
    def test_an_empty_batch(self):
        out = encode([])
        assert len(out) == 0
        assert out.numbers.shape == (0, 0)

    @pytest.mark.parametrize("shape", [(0,), (0, 3)])
    def test_an_empty_array(self, shape):
        assert len(encode(np.zeros(shape))) == 0

    def test_arrays_with_no_entries(self):
        out = encode(np.zeros((3, 0)))
        assert len(out) == 3
        assert len(set(out.keys.tolist())) == 1

    @given(st.lists(NESTED, min_size=1, max_size=8))
    def test_there_is_one_row_an_output(self, outputs):
        out = encode(outputs)
        assert len(out) == len(out.keys) == len(out.numbers) == len(outputs)
        assert out.numbers.dtype == np.float64
        assert out.keys.dtype == np.uint64

    @given(st.lists(PLAIN, min_size=2, max_size=8), st.data())
    def test_slices_and_concatenation_are_inverse(self, outputs, data):
        cut = data.draw(st.integers(1, len(outputs) - 1))
        out = encode(outputs)
        again = concatenate([out[:cut], out[cut:]])
        assert np.array_equal(again.shapes, out.shapes)
        assert np.array_equal(again.keys, out.keys)
        assert np.array_equal(again.numbers, out.numbers, equal_nan=True)

    def test_concatenation_fills_up_with_nan(self):
        out = concatenate([encode([(1.0, 2.0)]), encode([3.0])])
        assert out.numbers.shape == (2, 2)
        assert np.isnan(out.numbers[1, 1])

    def test_mixed_batches_keep_the_order(self):
        outputs = [1.5, "a", None, 2, 1.5, Raised("E"), np.array([1.0, 2.0]), 2]
        encoder = Encoder()
        names = [encoder.shape_name(int(s)) for s in encoder.encode(outputs).shapes]
        expected = ["float", "str", "None", "int", "float", "raised E", "(2,) float", "int"]
        assert names == expected

    def test_texts_are_remembered_for_people(self):
        encoder = Encoder()
        out = encoder.encode(["left", "x" * 200, 1.5, Raised("ValueError", "no")])
        texts = [encoder.text_of(int(k)) for k in out.keys]
        assert texts[0] == "'left'"
        assert texts[1].endswith("...") and len(texts[1]) <= 60
        assert texts[2:] == ["1.5", "raises ValueError"]
        assert encoder.text_of(1) is None

    def test_a_restored_encoder_knows_the_same(self):
        encoder, other = Encoder(), Encoder()
        out = encoder.encode([1.5, "a", None])
        other.restore(encoder.shape_names, encoder.texts)
        assert other.shape_names == encoder.shape_names == ["float", "str", "None"]
        assert [other.text_of(int(k)) for k in out.keys] == ["1.5", "'a'", "None"]
