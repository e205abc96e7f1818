"""Certificates that would take long or much room: they are given up in time."""

import hashlib
import time

import pytest

from tollens.checker import CertificateError, martingale, verify
from tollens.checker.compiling import compile_text
from tollens.checker.polynomials import Polynomial, total
from tollens.checker.state import MAX_ROOM, State

NOISE = "from tollens import noise\n"
LOOP = "    i = 0\n    while i < 60:\n        i += 1\n"
SECONDS = 0.5


def certificate(text, patterns):
    return {
        "schema": "tollens/certificate/1",
        "engine": "events",
        "program": {
            "text": text,
            "name": "f",
            "digest": hashlib.sha256(text.encode()).hexdigest(),
            "canonical": compile_text(text, "f").digest(),
        },
        "claim": {"kind": "pure", "epsilon": "1", "ordered": False},
        "relation": {"kind": "given", "whole": False},
        "x": "0",
        "x_prime": "1/2",
        "likely_under": "x",
        "witness": {"kind": "event", "patterns": patterns},
        "proof": {"kind": "paths", "rounds": 10_000, "rounds_other": 10_000, "small": 10_000},
        "hint": None,
        "lower": "1/2",
        "upper": "0",
        "epsilon": "Infinity",
    }


def turned_away(text, patterns, match, seconds=SECONDS):
    made = certificate(text, patterns)
    started = time.monotonic()
    with pytest.raises(CertificateError, match=match):
        verify(made, seconds=seconds)
    assert time.monotonic() - started < 10 * SECONDS  # on busy machines


MUCH = {
    "tuples of tuples": "def f(x):\n    t = ()\n" + "    t = (t, t)\n" * 60 + "    return t\n",
    "tuples at the head of a loop": "def f(x):\n    t = (1, 1)\n"
    + "    t = (t, t)\n" * 60
    + "    while x: x = x\n    return t\n",
    "tuples of a draw": NOISE
    + "def f(x):\n    t = noise.laplace(1)\n"
    + "    t = (t, t)\n" * 60
    + "    while x: x = x\n    return t\n",
    "lists of lists": "def f(x):\n    t = []\n" + "    t = [t, t]\n" * 60 + "    return t\n",
    "constants": "C0 = [0]\n"
    + "".join(f"C{i + 1} = [C{i}, C{i}]\n" for i in range(60))
    + "def f(x): return C60\n",
    "lists that are kept": "def f(x):\n    u = []\n"
    + "    u.append([0] * 9999)\n" * 120
    + "    return 1\n",
    "masses": NOISE + "def f(x):\n" + LOOP + "        if noise.flip(1 / 3**9900): return 2\n",
    "choices": NOISE
    + "def f(x):\n    s = 0\n    d = {"
    + ", ".join(f"{i}: 1/500" for i in range(500))
    + "}\n"
    + "    s += noise.discrete(d)\n" * 100
    + "    return s\n",
    "quotients rounded down": "def f(x):\n    d = 1 / 2**9999\n    y = 1\n"
    + "    y = y // d\n" * 9
    + "    return y\n",
}


@pytest.mark.parametrize("text", MUCH.values(), ids=MUCH)
def test_much(text):
    turned_away(text, [{"equals": "1"}], "more data|too many|too long")


SPLIT = {
    "choices with many lists": NOISE
    + f"def g(x): return [{'[],' * 9000}]\n"
    + f"def f(x):\n    t = [{'g(x),' * 9}]\n    return noise.discrete({{"
    + ", ".join(f"{i}: 1/80" for i in range(80))
    + "})\n",
    "splits with many lists": NOISE
    + f"def g(x): return [{'[],' * 9000}]\n"
    + f"def f(x):\n    t = [{'g(x),' * 9}]\n"
    + f"    return [{'noise.laplace(1) > x,' * 80}]\n",
}


@pytest.mark.parametrize("text", SPLIT.values(), ids=SPLIT)
def test_runs_that_split_off_with_much(text, monkeypatch):
    copied, copy = [], State.copy
    monkeypatch.setattr(State, "copy", lambda run: copied.append(run.cells) or copy(run))
    turned_away(text, [{"equals": "1"}], "more data", seconds=9 * SECONDS)
    assert sum(copied[:-1]) <= MAX_ROOM


LONG = {
    "ways without a loop": NOISE
    + "def f(x):\n    s = 0\n"
    + "    s = 2 * s + noise.flip(1/2)\n" * 30
    + "    return s\n",
    "equal lists": "def f(x):\n    t = []\n    u = []\n"
    + "    t = [t, t]\n    u = [u, u]\n" * 60
    + "    return t == u\n",
    "lists that are dropped": "def f(x):\n    while x < 9999:\n        x += 1\n"
    + "        t = [0] * 9999\n" * 100
    + "    return 1\n",
    "lists of many runs": NOISE
    + "def f(x):\n    l = [0] * 900\n"
    + LOOP
    + "        l[i] = noise.flip(1/2)\n    return l[0]\n",
    "spent draws": NOISE
    + "def f(x):\n"
    + LOOP
    + "        z = noise.laplace(i)\n        if z > i: z = 0\n        z = 0\n    return 1\n",
    "calls": "def g0(x): return x\n"
    + "".join(f"def g{i + 1}(x): return g{i}(g{i}(x))\n" for i in range(60))
    + "def f(x): return g60(x)\n",
    "constants": "C = [[[i for i in range(99)] for i in range(99)] for i in range(9999)]\n"
    "def f(x): return 1 if C else 0\n",
    "a star": NOISE
    + "def f(x):\n    z = noise.laplace(1)\n"
    + LOOP
    + "        if z < noise.laplace(i): return 1\n    return 0\n",
    "a chain": NOISE
    + "def f(x):\n    y = noise.laplace(1)\n"
    + LOOP.replace("60", "2000")
    + "        z = noise.laplace(i)\n        if z < y: return 0\n        y = z\n    return 1\n",
    "long scales": NOISE
    + "def f(x):\n    z = 0\n"
    + LOOP
    + "        z += noise.laplace(3**9900 + i)\n    return z > 0\n",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long(text):
    turned_away(text, [{"equals": "1"}, {"equals": True}], "takes too long")


def test_patterns_that_differ_late():
    many = [{"items": [{"any": True}] * 500 + [{"equals": str(i)}]} for i in range(250)]
    turned_away("def f(x):\n    return 1\n", many, "takes too long")


def test_many_variables_and_literals_are_no_burden():
    text = (
        "def f(x):\n"
        + "".join(f"    v{i} = 0.25\n" for i in range(800))
        + "    while x < 2:\n        x += 1\n"
        + "".join(f"        x += v{i} - 0.25\n" for i in range(800))
        + "    return x\n"
    )
    turned_away(text, [{"equals": "1"}], "no expectation", seconds=5)


def test_moments_of_long_numbers():
    text = NOISE + "def f(x):\n    return noise.laplace(3**9900 + x) + noise.laplace(1 / 7**3000)\n"
    made = certificate(text, [])
    made["engine"] = "moments"
    made["witness"] = {"kind": "square", "weights": ["1"], "coefficients": ["1/7"] * 41}
    made["proof"] = {"kind": "moments"}
    started = time.monotonic()
    with pytest.raises(CertificateError, match="takes too long"):
        verify(made, seconds=SECONDS)
    assert time.monotonic() - started < 10 * SECONDS


class TestIdentities:
    def test_products_of_long_facts(self, monkeypatch):
        monkeypatch.setattr(martingale, "MOST_ROOM", 10_000)
        facts = [
            total(Polynomial.variable(f"{name}{i}") for i in range(60)) for name in "abcdefghijk"
        ]
        obligation = martingale.Obligation("upper", 0, tuple(facts), facts[0])
        proof = [["0", [i, j], None] for i in range(11) for j in range(i)]
        with pytest.raises(CertificateError, match="too many products"):
            martingale.check(obligation, proof)

    def test_weights_with_nothing_in_common(self):
        fact = Polynomial.variable("a")
        obligation = martingale.Obligation("upper", 0, (fact,), fact)
        proof = [[f"1/{10**3000 + i}", [0], None] for i in range(60)]
        with pytest.raises(CertificateError, match="too many digits"):
            martingale.check(obligation, proof)
