"""States: what is dropped from the heap, what is equal to what, and what copies share."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollens.checker.compiling import compile_text
from tollens.checker.form import Form
from tollens.checker.machine import explore
from tollens.checker.state import Frame, State
from tollens.checker.values import Fault, Ref

F = Fraction
Z = Form(F(0), ((0, F(1)),))


def state(**names):
    return State([Frame("f", (), 0, names)])


data = st.recursive(
    st.one_of(st.sampled_from([F(1), F(1, 2), True, None, "a", Z])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from([F(1), "k", None]), inner, max_size=2),
    ),
    max_leaves=10,
)


@given(st.lists(data, min_size=1, max_size=4))
def test_sweeping_changes_nothing_that_can_be_reached(several):
    run = state()
    kept = [run.given(item) for item in several]
    for _ in range(5):
        run.given([F(7), [F(8)], {F(1): [F(9)]}])  # which nothing leads to
    run.frames[0].names["x"] = kept[0]
    run.stack += kept[1:2]
    held = tuple(kept[2:])
    wanted = [run.output(value) for value in kept], run.key()
    before = len(run.heap)
    run.sweep(held)
    assert ([run.output(value) for value in kept], run.key()) == wanted
    assert len(run.heap) <= before - 20
    assert run.cells == sum(1 + len(content) for content in run.heap.values())
    new = run.new((F(5),))
    assert new.at not in [value.at for value in kept if isinstance(value, Ref)]


def test_lists_of_the_file_stay_and_cannot_be_changed():
    run = State([Frame("f", (), 0, {})], heap={0: (F(1),)}, frozen=1, made=1, cells=2)
    other = run.new((Ref(0),))
    run.sweep()
    assert list(run.heap) == [0]
    with pytest.raises(Fault, match="a constant of the file is changed"):
        run.replace(Ref(0), (F(2),))
    assert other.at == 1


def test_a_loop_that_makes_much_garbage_goes_on():
    text = "def f(x):\n    keep = [x]\n    for i in range(250):\n        a = [[i] * 5000, keep]\n"
    text += "        b = a[1]\n    b.append(a[0][7])\n    return keep\n"
    (path,) = explore(compile_text(text, "f"), F(3)).paths
    assert path.output == (3, 249)


def test_keys_are_equal_for_states_that_go_on_alike():
    def key(build, ignored=()):
        run = state()
        run.given(["other things first"] * 2)
        run.frames[0].names |= build(run)
        return run.key(frozenset(ignored))

    def shared(run):
        one = run.given([F(1)])
        return {"a": one, "b": one}

    def apart(run):
        return {"a": run.given([F(1)]), "b": run.given([F(1)])}

    def late(run):
        run.given([F(1)])
        one = run.given([F(1)])
        return {"b": one, "a": one}

    assert key(shared) == key(late) != key(apart)
    for a, b in ((F(1), True), (F(0), False), (F(1), "1"), (None, False), ((), None), (Z, F(0)),
                 ([], ()), ({}, []), ([F(1)], [F(2)]), ([F(1)], [True]),
                 ({"k": F(1)}, {"k": True}),
                 ({F(1): "a"}, {True: "a"}), ((F(1), F(2)), ((F(1), F(2)),)),
                 (Z, (Z,))):  # fmt: skip
        assert key(lambda run, a=a: {"x": run.given(a)}) != key(
            lambda run, b=b: {"x": run.given(b)}
        )
        assert key(lambda run, a=a: {"x": run.given(a)}, "x") == key(
            lambda run, b=b: {"x": run.given(b)}, "x"
        )
    assert key(lambda run: {"x": F(1)}) != key(lambda run: {"y": F(1)})


def test_copies_are_apart():
    run = state(x=F(1))
    run.frames[0].names["a"] = run.given([F(1), {F(2): F(3)}])
    other = run.copy()
    other.frames[0].names["x"] = F(2)
    other.replace(Ref(1), (F(9),))
    other.stack.append(F(1))
    other.out = (F(1),)
    other.mass /= 2
    assert run.frames[0].names["x"] == 1
    assert run.output(Ref(1)) == (F(1), ((F(2), F(3)),))
    assert (run.stack, run.out, run.mass) == ([], (), 1)
    assert other.new(()) == run.new(())


def test_joined_runs_share_their_mass():
    lap = ("group",)
    one, other = state(), state()
    one.mass, one.spent = F(1, 2), {(): F(1, 3), (lap,): F(2, 3)}
    other.mass, other.spent = F(1, 4), {(lap,): F(1)}
    one.join(other)
    assert one.mass == 1
    assert one.spent == {(): F(1, 6), (lap,): F(1, 3) + F(1, 4)}
