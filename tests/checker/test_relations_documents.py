"""Neighbours, and the JSON of certificates: what is not exactly right is an error."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollens.checker import CertificateError, verify
from tollens.checker.documents import MAX_BYTES, parse, plain, rational, value, whole
from tollens.checker.relations import check

F = Fraction
EPS = F(1, 10**30)


def holds(relation, x, x_prime):
    try:
        check({"whole": False, **relation}, x, x_prime)
    except CertificateError as error:
        assert "are no neighbours" in str(error), error
        return False
    return True


class TestRelations:
    def test_queries(self):
        one = {"kind": "queries", "change": "one", "by": "1/2"}
        every = {"kind": "queries", "change": "all", "by": "1/2"}
        x = [F(1), F(2), F(3)]
        for at in range(3):
            for step in (F(1, 2), F(-1, 2), F(1, 9)):
                moved = [v + step * (i == at) for i, v in enumerate(x)]
                assert holds(one, x, moved)
                assert holds(every, x, moved)
                further = [v + step * (i == at) * (1 + EPS) for i, v in enumerate(x)]
                assert holds(every, x, further) == (abs(step) < F(1, 2))
        both = [x[0] + F(1, 2), x[1] - F(1, 2), x[2]]
        assert holds(every, x, both)
        assert not holds(one, x, both)
        assert holds(every, tuple(x), tuple(both))

    def test_changes_that_add_up(self):
        total = {"kind": "queries", "change": "sum", "by": "1/2"}
        x = [F(1), F(2), F(3)]
        third = F(1, 6)
        assert holds(total, x, [v + third for v in x])
        assert holds(total, x, [x[0] - third, x[1] + third, x[2] - third])
        assert holds(total, [v + third for v in x], x)
        assert holds(total, x, [x[0] + F(1, 2), *x[1:]])
        assert not holds(total, x, [v + third + EPS for v in x])
        assert not holds(total, x, [x[0] + F(1, 2), x[1] - EPS, x[2]])
        assert not holds(total, x, [*x, F(0)])
        assert not holds({**total, "by": "-1/2"}, x, [v + third for v in x])

    @pytest.mark.parametrize(
        ("x", "x_prime"),
        [
            ([F(1)], (F(2),)), ([F(1)], [F(1), F(1)]), ([], [F(1)]), ([True], [F(2)]),
            ([F(0)], [True]), ([[F(1)]], [[F(2)]]), (F(1), F(2)), (["a"], ["b"]), ([None], [F(1)]),
            ([F(1)], {F(0): F(1)}),
        ],
    )  # fmt: skip
    def test_no_queries(self, x, x_prime):
        assert not holds({"kind": "queries", "change": "all", "by": "5"}, x, x_prime)

    def test_odd_changes(self):
        for change in ("none", None, True, ["one"], 1):
            assert not holds({"kind": "queries", "change": change, "by": "5"}, [F(1)], [F(2)])
        assert not holds({"kind": "queries", "change": "all", "by": "-5"}, [F(1)], [F(2)])
        assert not holds({"kind": "queries", "change": "all", "by": "0"}, [F(1)], [F(2)])

    def test_numbers(self):
        near = {"kind": "numbers", "by": "1/2"}
        assert holds(near, F(1), F(3, 2))
        assert holds(near, F(3, 2), F(1))
        assert not holds(near, F(1), F(3, 2) + EPS)
        for x, x_prime in (([F(1)], F(1)), (True, F(2)), ("a", F(1)), (None, F(0))):
            assert not holds(near, x, x_prime)

    def test_any_pair_that_is_given(self):
        assert holds({"kind": "given"}, F(1), [None, {"a": F(2)}])
        with pytest.raises(CertificateError, match="are equal"):
            check({"kind": "given", "whole": False}, [F(1)], [F(1)])

    def test_whole(self):
        relation = {"kind": "given", "whole": True}
        check(relation, [F(1), (F(2), {"a": F(3)}, True, None, "b")], F(0))
        for inner in (F(1, 2), [F(1, 2)], ((F(1, 2),),), {"a": [F(1, 2)]}):
            for x, x_prime in ((inner, F(0)), (F(0), inner)):
                with pytest.raises(CertificateError, match="not whole"):
                    check(relation, x, x_prime)

    @pytest.mark.parametrize(
        "relation",
        [
            None, [], "given", {}, {"kind": "given"}, {"kind": "near", "whole": True},
            {"kind": ["given"], "whole": True}, {"kind": "given", "whole": 1},
            {"kind": "given", "whole": None}, {"kind": "given", "whole": True, "by": "1"},
            {"kind": "numbers", "whole": False}, {"kind": "numbers", "whole": False, "by": 1},
            {"kind": "numbers", "whole": False, "by": "x"},
            {"kind": "queries", "whole": False, "by": "1"},
        ],
    )  # fmt: skip
    def test_odd_relations(self, relation):
        with pytest.raises(CertificateError):
            check(relation, F(1), F(2))


exact = st.recursive(
    st.one_of(st.fractions(), st.booleans(), st.none(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.fractions(), st.none()), inner, max_size=3),
    ),
    max_leaves=12,
)


@given(exact)
def test_values_to_json_and_back(data):
    again = value(json.loads(json.dumps(plain(data))), "x")
    assert repr(again) == repr(data)


@given(st.text(alphabet="0123456789-/ .+e_\n\u0663", max_size=8))
def test_numbers_are_fractions_or_errors(text):
    try:
        found = rational(text, "x")
    except CertificateError:
        return
    top, _, bottom = text.partition("/")
    assert found * int(bottom or 1) == int(top)


@pytest.mark.parametrize("data", [-1, 11, 1.0, "1", True, None, [1]])
def test_whole_numbers(data):
    assert whole(10, "rounds", 10) == 10
    with pytest.raises(CertificateError, match="rounds is no whole number"):
        whole(data, "rounds", 10)


GOOD = '{"a": 1, "b": [true, null, "x", {"c": -3}]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON"), ("{", "no JSON"), ("{}}", "no JSON"), ("[]", "a JSON object"),
        ("1", "a JSON object"), ("null", "a JSON object"), ('"a"', "a JSON object"),
        ('{"a": 1.5}', "the number 1.5"), ('{"a": 1e3}', "the number 1e3"),
        ('{"a": NaN}', "the number NaN"), ('{"a": Infinity}', "the number Infinity"),
        ('{"a": -Infinity}', "the number -Infinity"), ('{"a": 1, "a": 1}', "a key twice"),
        ('{"b": [{"a": 1, "a": 2}]}', "a key twice"), ('{"a": ' + "9" * 5000 + "}", "no JSON"),
        ('{"a": ' + "[" * 100_000 + "}", "nested too deeply"),
        ('{"a": ' * 20_000 + "1" + "}" * 20_000, "nested too deeply"),
        ("{'a': 1}", "no JSON"), ('{"a": 01}', "no JSON"), ('{"a": "\n"}', "no JSON"),
        ('{"a": "\\x"}', "no JSON"), ("\ufeff{}", "no JSON"), ('{"a": 1,}', "no JSON"),
        ('{"a": ' + " " * MAX_BYTES + "1}", f"more than {MAX_BYTES}"),
    ],
)  # fmt: skip
def test_bad_json(text, message):
    assert parse(GOOD)["b"][3] == {"c": -3}
    with pytest.raises(CertificateError, match=message):
        parse(text)


@settings(max_examples=200)
@given(st.integers(0, len(GOOD) - 1), st.characters(), st.booleans())
def test_damaged_json(at, letter, cut):
    text = GOOD[:at] if cut else GOOD[:at] + letter + GOOD[at + 1 :]
    for read in (parse, verify):
        try:
            read(text)
        except CertificateError as error:
            assert str(error)


def test_files(tmp_path):
    path = tmp_path / "c.json"
    for content, message in (
        (b"\xff\xfe{}", "cannot be read"), (b'{"a": "\xe4"}', "cannot be read"),
        (b"{}", "has no 'schema'|has no"), (b"", "no JSON"), (b" " * (MAX_BYTES + 1), "more than"),
    ):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(CertificateError, match=message):
            verify(path)
        with pytest.raises(CertificateError, match=message):
            verify(str(path))
    for odd in (tmp_path, tmp_path / "none.json", "a\0b", "x" * 5000, "not a file"):
        with pytest.raises(CertificateError):
            verify(odd)
    loop = {}
    loop["a"] = loop
    for data in (loop, {"a": {1}}, {"a": float("nan")}, {"a": 1.5}, {1: 2}, {}):
        with pytest.raises(CertificateError):
            verify(data)
