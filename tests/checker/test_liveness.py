"""Live variables against their definition, followed way by way."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from tollens.checker.compiling import compile_text
from tollens.checker.liveness import Live
from tollens.checker.machine import explore
from tollens.checker.program import Instruction

JUMPS = ("BRANCH", "AND", "OR")


def may_be_read(code, start, name):
    """Whether some way from an instruction reads the name before it is stored."""
    waiting, seen = [start], set()
    while waiting:
        at = waiting.pop()
        if at in seen or at >= len(code):
            continue
        seen.add(at)
        op, arg = code[at].op, code[at].arg
        if (op == "LOAD" and arg == name) or (op == "NEXT" and name in arg):
            return True
        if (op == "STORE" and arg == name) or (op == "FORGET" and name in arg):
            continue
        if op == "RETURN":
            continue
        if op == "JUMP":
            waiting.append(arg)
        else:
            waiting.append(at + 1)
            if op in JUMPS:
                waiting.append(arg)
    return False


def check(code, names):
    found = Live(code)
    for at in range(len(code)):
        assert found[at] == {n for n in names if may_be_read(code, at, n)}


NAMES = ("a", "b", "$1", "$2")
names = st.sampled_from(NAMES)


@st.composite
def codes(pick):
    n = pick(st.integers(1, 12))
    place = st.integers(0, n)
    one = st.one_of(
        st.tuples(st.just("LOAD"), names),
        st.tuples(st.just("STORE"), names),
        st.tuples(st.just("FORGET"), st.lists(names, max_size=2).map(tuple)),
        st.tuples(st.just("NEXT"), st.tuples(names, names)),
        st.tuples(st.sampled_from(["JUMP", *JUMPS]), place),
        st.tuples(st.just("HEAD"), st.one_of(st.none(), place)),
        st.tuples(st.just("DUP"), st.sampled_from([1, 2])),
        st.tuples(st.just("CONST"), st.one_of(names, place, st.booleans())),
        st.tuples(st.just("CALL"), names),
        st.tuples(st.just("TUPLE"), place),
        st.just(("RETURN", None)),
    )
    return [Instruction(op, arg, 1) for op, arg in (pick(one) for _ in range(n))]


@settings(max_examples=400)
@given(codes())
def test_random_codes(code):
    check(code, NAMES)


TEXT = """
from tollens import noise

def g(n, unused=1):
    for i, (a, b) in enumerate(zip([n], (2, 3))):
        if a > b:
            return i
        n = n + a if b else i
    return [c for c in (1, n) if c != i or any(d == c for d in [n])]

def f(x):
    y, z = x, 0
    while x > 0 or z:
        x -= 1
        y = g(x)
        z = 0
        while True:
            z = z + noise.flip(1/2)
            if z:
                break
            w = z
    return max(y, default) if False else abs(z)
"""


def test_programs():
    program = compile_text(TEXT.replace("max(y, default) if False else ", ""), "f")
    for code in program.functions.values():
        every = {i.arg for i in code.instructions if i.op in ("LOAD", "STORE")}
        every |= {name for i in code.instructions if i.op == "NEXT" for name in i.arg}
        check(code.instructions, every)


def test_what_is_dead_is_dropped_and_what_lives_is_not():
    text = (
        "from tollens import noise\ndef f(x):\n    a, b, c = noise.flip(1/2), noise.flip(1/2), 0\n"
        "    for i in range(2):\n        c = c + i\n        d = c\n    return (b, c)\n"
    )
    paths = explore(compile_text(text, "f"), Fraction(0)).paths
    assert sorted(str(path.output[0]) for path in paths) == ["False", "True"]
