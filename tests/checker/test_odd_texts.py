"""Texts that are odd, deep or long: read or refused in a moment, never a traceback."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollens.checker.compiling import compile_text
from tollens.checker.errors import Refused
from tollens.checker.machine import Limits, explore


def returns(expression):
    return f"def f(x):\n    return {expression}\n"


ODD = {
    "empty": "",
    "blank": "\n \n\t\n",
    "a NUL": returns("1\0"),
    "a NUL in a text": returns("'\0'"),
    "half a character": returns("'\ud800'"),
    "a mark of bytes": "\ufeff" + returns("1"),
    "no Python": "def f(x) return",
    "never closed": returns("(1"),
    "a text without an end": returns("'''"),
    "tabs and spaces": "def f(x):\n\tif x:\n        return 1\n",
    "parentheses": returns("(" * 5000 + "1" + ")" * 5000),
    "signs": returns("-" * 90_000 + "1"),
    "nots": returns("not " * 40_000 + "1"),
    "a sum": returns("1+" * 60_000 + "1"),
    "powers": returns("1**" * 40_000 + "1"),
    "attributes": returns("x" + ".a" * 60_000 + "()"),
    "calls": returns("x" + "()" * 60_000),
    "items": returns("x" + "[0]" * 60_000),
    "conditions": returns("1 if x else " * 15_000 + "1"),
    "lambdas": returns("lambda: " * 20_000 + "1"),
    "blocks": "def f(x):\n" + "".join(" " * i + "if x:\n" for i in range(1, 100)) + " " * 101 + "1",
    "digits": returns("9" * 5000),
    "digits of 16": returns("0x" + "f" * 100_000),
    "decimals": returns("0." + "9" * 100_000),
    "an exponent": returns("1e-" + "9" * 390),
    "too long": "#" + "a" * 300_000,
    "a constant of constants": "A0 = 0\n"
    + "".join(f"A{i} = A{i - 1} + 1\n" for i in range(1, 3000))
    + returns("A2999"),
    "calls of calls": "".join(f"def g{i}(x): return g{i + 1}(x)\n" for i in range(2000))
    + "def g2000(x): return x\n"
    + returns("g0(x)"),
    "a list in itself": "def f(x):\n    a = []\n    a.append(a)\n    return a\n",
    "a deep list": "def f(x):\n    a = []\n    for i in range(1100):\n        a = [a]\n"
    "    return a\n",
    "a deep tuple": "def f(x):\n    a = ()\n    for i in range(1100):\n        a = (a,)\n"
    "    return a\n",
    "deep lists that are equal": "def f(x):\n    a = []\n    b = []\n    for i in range(1100):\n"
    "        a = [a]\n        b = [b]\n    return a == b\n",
    "a number that grows": "def f(x):\n    x = 3\n    while True:\n        x = x * x\n",
}

READ = {
    "half a character, escaped": (returns("'\\ud800'"), "\ud800"),
    "many lines": ("def f(x):\n" + "    x = x + 0.5\n" * 10_000 + "    return x\n", 5001),
    "ifs": ("def f(x):\n" + "    if x > 9: x = 1.5\n" * 8000 + "    return x\n", 1),
    "a long chain": (returns("1<" * 2000 + "2"), False),
    "many items": (returns("len((" + "1," * 9000 + "))"), 9000),
    "a long name": ("def f(x):\n    " + "a" * 190_000 + " = 1\n    return 2\n", 2),
    "carriage returns": ("A = 2.5\r\ndef f(x):\r    return A + 1.25\r\n", Fraction(15, 4)),
    "a form feed": ("\x0cA = 2.5\ndef f(x):\n    return A + .5\n", 3),
    "letters of two bytes": (
        "Ä = 'ä'; ß = 0.25; µ = .5\ndef f(x):\n    return ß\n",
        Fraction(1, 4),
    ),
    "400 digits": (returns("9" * 400), 10**400 - 1),
    "many blocks": (
        "def f(x):\n" + "".join(" " * i + "if x:\n" for i in range(1, 91)) + " " * 92 + "return 3",
        3,
    ),
    "a list of many names": (
        "def f(x):\n    " + "a = " * 4000 + "[x]\n    a.append(2)\n    return a\n",
        (1, 2),
    ),
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_texts_are_refused_at_once(text):
    started = time.process_time()
    with pytest.raises(Refused) as refused:
        explore(compile_text(text, "f"), Fraction(1))
    assert time.process_time() - started < 30
    assert all(each.line >= 1 and each.what for each in refused.value.findings)
    assert len(str(refused.value)) < 10_000


@pytest.mark.parametrize(("text", "output"), READ.values(), ids=READ)
def test_other_odd_texts_are_read(text, output):
    started = time.process_time()
    (path,) = explore(compile_text(text, "f"), Fraction(1)).paths
    assert time.process_time() - started < 30
    assert path.output == output


@settings(max_examples=300)
@given(st.text(max_size=60), st.sampled_from(["{}", "def f(x):\n    return {}", "def f({}): pass"]))
def test_any_text(text, place):
    """Whatever stands there: a program, or refusals."""
    try:
        program = compile_text(place.format(text), "f")
        explore(program, Fraction(1), Limits(rounds=3))
    except Refused as refused:
        assert refused.findings


PIECES = st.sampled_from(
    [
        "x", "1", "0.5", "[", "]", "(", ")", "{", "}", ",", ":", "+", "-", "*", "**", "/", "//",
        "%", "=", "+=", "==", "<", " if ", " else ", " for y in ", " in ", " and ", " not ",
        "lambda ",
        "yield ", "*x", "**x", "\n    ", "\n        ", "return ", "while x:", "break",
        "'a'", "f'{x}'",
        "noise.flip(1/2)", "noise.laplace(1)", "g(", "len(", "range(", "zip(", "enumerate(", "max(",
        "sum(", "any(", "x.append(", "x[", "del ", ":=", "None", "True", "is ", ";", "@", "~",
        "await ",
        "async ", "global x", "def h():", "import os", "try:", "pass", "del x", "1e9", "y", "noise",
    ]
)  # fmt: skip


@settings(max_examples=800)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_any_pieces_of_programs(body):
    text = "from tollens import noise\n\ndef g(x): return x\n\ndef f(x):\n    " + body + "\n"
    try:
        explore(compile_text(text, "f"), Fraction(1), Limits(rounds=5, seconds=5))
    except Refused as refused:
        assert refused.findings
