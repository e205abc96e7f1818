"""What the search for martingales reaches, against truths by enumeration, quadrature and runs."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest

from tollens import noise
from tollens.checker.compiling import compile_text
from tollens.checker.errors import CertificateError
from tollens.checker.machine import Limits, explore
from tollens.checker.martingale import bounds, read_witness
from tollens.refutation.martingale import CHEAP, DEAR, Search, Settings, prove

HEAD = "from tollens import noise\n"
PROGRAMS = {
    "walk": """
def f(x):
    t = 0
    while x >= 1:
        x += -1 if noise.flip(3/4) else 1
        t += 1
    return t
""",
    "laplace walk": """
def f(x):
    t = 0
    while x >= 0:
        x += -1 + noise.laplace(1/2)
        t += 1
    return t
""",
    "geometric": """
def f(x):
    g = x
    while noise.flip(1/2):
        g += 1
    return g
""",
    "uniform steps": """
def f(x):
    t = 0
    while x > 0:
        x -= noise.uniform(0, 1)
        t += 1
    return t
""",
    "exponential steps": """
def f(x):
    t = 0
    while x >= 0:
        x -= noise.exponential(1)
        t += 1
    return t
""",
    "discrete steps": """
def f(x):
    t = 0
    while x > 0:
        x += noise.discrete({-2: 1/2, 1: 1/4, 0: 1/4})
        t += 1
    return t
""",
    "normal steps": """
def f(x):
    s = x
    while noise.flip(2/3):
        s += 1 + noise.gauss(1)
    return s
""",
    "laplace steps": """
def f(x):
    n = x
    s = 0
    while n >= 1:
        n -= 1 if noise.flip(1/2) else 0
        s += 1 + noise.laplace(1)
    return s
""",
    "two loops": """
def f(x):
    a = x
    b = 0
    while a >= 1:
        a += -1 if noise.flip(3/4) else 1
        b += 1
    while b >= 1:
        b += -1 if noise.flip(3/4) else 1
        a += 1
    return a
""",
    "nested loops": """
def f(x):
    i = x
    c = 0
    while i >= 1:
        i -= 1
        while noise.flip(1/2):
            c += 1
    return c
""",
    "two outputs": """
def f(x):
    a = x
    t = 0
    while a >= 1:
        a += -1 if noise.flip(3/4) else 1
        t += 1
    return a, t
""",
    "flag": """
def f(x):
    done = False
    n = x
    while not done:
        n += 1
        done = noise.flip(1/3)
    return n
""",
    "geometric draws": """
def f(x):
    n = x
    while noise.flip(1/2):
        n += noise.geometric(1/2)
    return n
""",
    "band": """
def f(x):
    t = 0
    while -2 <= x <= 2:
        x += noise.laplace(1)
        t += 1
    return t
""",
    "noisy start": """
def f(x):
    y = x + noise.laplace(1)
    t = 0
    while y >= 0:
        y -= noise.exponential(1)
        t += 1
    return t
""",
    "branch within": """
def f(x):
    n = 0
    t = 0
    while n < x:
        if noise.laplace(1) >= 1:
            n += 1
        t += 1
    return t
""",
    "bit": """
def f(x):
    b = x
    while noise.flip(1/4):
        b = 1 - b
    return b
""",
    "noisy end": """
def f(x):
    b = x
    while noise.flip(1/4):
        b = 1 - b
    return b + noise.laplace(1)
""",
    "clamped": """
def f(x):
    g = x
    while noise.flip(1/2):
        g += 1
    return min([g, 3])
""",
}


def program(name):
    return compile_text(HEAD + PROGRAMS[name], "f")


def evaluated(witness, outputs):
    """max(0, p), below 1 if unit, at an array of outputs (its last axis: the items)."""
    f = read_witness(witness)
    items = outputs[..., None] if f.shape is None else outputs
    names = ["output"] if f.shape is None else [f"output{i}" for i in range(f.shape)]
    found = np.zeros(items.shape[:-1])
    for monomial, c in f.polynomial.terms.items():
        term = float(c) * np.ones(items.shape[:-1])
        for name in monomial:
            term = term * items[..., names.index(name)]
        found = found + term
    return np.clip(found, 0, 1 if f.unit else None)


def enumerated(name, data, witness, rounds=80):
    """E f up to a tail that is far below all tolerances: the program must be discrete."""
    paths = [p for p in explore(program(name), data, Limits(rounds=rounds)).paths if p.finished]
    outputs = np.array([np.array(p.output, dtype=float) for p in paths])
    assert not any(groups for p in paths for _, groups in p.spent)
    chances = [float(p.mass * sum(share for share, _ in p.spent)) for p in paths]
    return float(np.dot(chances, evaluated(witness, outputs)))


def sampled(name, data, witness, runs=30_000):
    """E f from runs, and its standard error."""
    space = {"noise": noise}
    exec(PROGRAMS[name], space)
    with noise.drawing(np.random.default_rng(11)):
        outputs = np.array([space["f"](data) for _ in range(runs)], dtype=float)
    values = evaluated(witness, outputs)
    return values.mean(), values.std() / math.sqrt(runs)


def steps_of_the_laplace_walk(x, count=40, high=18.0, h=0.01):
    """P(T = t) for t = 1, 2, ... by quadrature on a grid."""
    grid = np.arange(0, high, h) + h / 2
    kernel = np.exp(-np.abs(grid[:, None] - grid[None, :] + 1) / 0.5)  # to i from j
    leave = np.where(grid < 1, 1 - np.exp(-np.abs(grid - 1) / 0.5) / 2,
                     np.exp(-(grid - 1) / 0.5) / 2)  # fmt: skip
    first = math.exp(-(x - 1) / 0.5) / 2 if x >= 1 else 1 - math.exp((x - 1) / 0.5) / 2
    density = np.exp(-np.abs(grid - (x - 1)) / 0.5)
    found = [first]
    for _ in range(count):
        found.append(float(density @ leave * h))
        density = kernel @ density * h
    return np.array(found)


WALK_TARGETS = [math.log(2), 1.030, 1.128, 1.166, 1.185]


@pytest.mark.parametrize("degree", range(1, 6))
def test_the_walk_with_bounds_of_single_variables(degree):
    """Powers of t are the best witnesses here: ln of E t^k from 2 over that from 1."""
    found = prove(program("walk"), 2, 1, Settings(degree, pairs=False))
    assert found.epsilon == pytest.approx(WALK_TARGETS[degree - 1], rel=0.001)
    exact = enumerated("walk", 2, found.witness, 200) / enumerated("walk", 1, found.witness, 200)
    assert found.epsilon == pytest.approx(math.log(exact), abs=1e-6)


@pytest.mark.parametrize(
    ("degree", "epsilon"),
    [(1, math.log(3)), (2, math.log(3)), (3, 1.1446), (4, 1.1724), (5, 1.1886)],
)
def test_the_walk_with_bounds_of_sums(degree, epsilon):
    found = prove(program("walk"), 2, 1, Settings(degree))
    assert found.epsilon == pytest.approx(epsilon, abs=1e-4)


@pytest.mark.parametrize(("name", "x", "other"), [("walk", 1, 2), ("geometric", 0, 1)])
def test_outputs_of_one_side_only_show_that_epsilon_is_infinite(name, x, other):
    found = prove(program(name), x, other, Settings(3))
    assert found.upper == 0 < found.lower
    assert enumerated(name, other, found.witness) < 1e-9
    assert enumerated(name, x, found.witness) >= float(found.lower)


@pytest.mark.parametrize(
    ("degree", "epsilon"), [(1, 0.1700), (2, 0.4352), (3, 0.6184), (4, 0.7056), (5, 0.775)]
)
def test_the_laplace_walk_in_pieces(degree, epsilon):
    begun = time.process_time()
    found = prove(program("laplace walk"), 2, 1, Settings(degree))
    assert found.epsilon >= epsilon - 1e-3
    assert time.process_time() - begun < 30
    times = np.arange(1, 42)
    values = evaluated(found.witness, times.astype(float))
    likely, other = (float(steps_of_the_laplace_walk(x) @ values) for x in (2, 1))
    assert likely >= 0.999 * float(found.lower)
    assert other <= 1.001 * float(found.upper)


@pytest.mark.parametrize("degree", range(1, 5))
def test_the_laplace_walk_in_one_piece_shows_nothing(degree):
    for x, other in ((2, 1), (1, 2)):
        found = prove(program("laplace walk"), x, other, Settings(degree, pieces=False))
        assert found is None or found.lower == found.upper


def test_finer_pieces_show_more():
    found = prove(program("laplace walk"), 2, 1, Settings(2, extra=1, finer=True))
    assert found.epsilon > 0.69


@pytest.mark.parametrize(
    ("name", "x", "other", "degree", "epsilon"),
    [
        ("geometric", 1, 0, 1, math.log(2)),
        ("discrete steps", 3, 1, 1, math.log(1.5)),
        ("discrete steps", 3, 1, 3, 0.722),
        ("nested loops", 3, 2, 1, math.log(1.5)),
        ("nested loops", 3, 2, 3, 0.81),
        ("two outputs", 2, 1, 1, math.log(3)),
        ("flag", 1, 0, 1, math.log(1.5)),
        ("bit", 1, 0, 1, math.log(4)),
        ("clamped", 1, 0, 2, 0.45),
    ],
)
def test_discrete_programs(name, x, other, degree, epsilon):
    found = prove(program(name), x, other, Settings(degree))
    assert found.epsilon >= epsilon - 1e-3
    assert float(found.lower) <= enumerated(name, x, found.witness) + 1e-4
    assert float(found.upper) >= enumerated(name, other, found.witness) - 1e-4


@pytest.mark.parametrize(
    ("name", "x", "other", "degree", "epsilon"),
    [
        ("uniform steps", 2, 1, 1, 0.405),
        ("uniform steps", 2, 1, 3, 1.5),
        ("exponential steps", 2, 1, 2, 0.788),
        ("normal steps", 2, 1, 2, 0.348),
        ("laplace steps", 3, 2, 3, 0.71),
        ("geometric draws", 1, 0, 1, math.log(2)),
        ("band", 0, 2, 2, 0.51),
        ("two loops", 2, 1, 1, math.log(7 / 3)),
        ("two loops", 2, 1, 2, 0.989),
        ("noisy start", 2, 1, 2, 0.61),
        ("branch within", 3, 2, 2, 0.77),
        ("noisy end", 1, 0, 2, 0.40),
    ],
)
def test_programs_with_other_draws(name, x, other, degree, epsilon):
    found = prove(program(name), x, other, Settings(degree))
    assert found.epsilon >= epsilon - 1e-2
    mean, error = sampled(name, x, found.witness)
    assert float(found.lower) <= mean + 5 * error
    mean, error = sampled(name, other, found.witness)
    assert float(found.upper) >= mean - 5 * error


@pytest.mark.parametrize("name", ["bit", "clamped"])
@pytest.mark.parametrize("factor", [Fraction(1), Fraction(3, 2)])
def test_witnesses_in_the_unit_interval(name, factor):
    """For claims with a delta: 0 <= f <= 1 and the largest lower - factor upper."""
    found = prove(program(name), 1, 0, Settings(2), factor=factor)
    assert found.witness["unit"] is True
    assert found.lower > factor * found.upper
    assert float(found.lower) <= enumerated(name, 1, found.witness) + 1e-6 <= 1 + 1e-5
    assert float(found.upper) >= enumerated(name, 0, found.witness) - 1e-4


def test_the_best_witness_in_the_unit_interval():
    found = prove(program("bit"), 1, 0, Settings(1), factor=Fraction(3, 2))
    assert (found.lower, found.upper) == (Fraction(4, 5), Fraction(1, 5))


def test_a_search_remembers_the_loops():
    search = Search(program("walk"), 2, 1)
    shown = [search.best(settings).epsilon for settings in (*CHEAP, DEAR[0])]
    assert shown == sorted(shown)
    assert shown[0] == prove(program("walk"), 2, 1, CHEAP[0]).epsilon


def test_a_search_ends_in_time():
    begun = time.monotonic()
    with pytest.raises(CertificateError, match="too long"):
        prove(program("laplace walk"), 2, 1, DEAR[-1], seconds=0.2)
    assert time.monotonic() - begun < 60


def test_equal_inputs_show_nothing():
    found = prove(program("walk"), 2, 2, Settings(2))
    assert found.lower == found.upper


def test_a_certificate_does_not_depend_on_the_run(tmp_path):
    """The order of facts must not depend on hashes: another process checks the same proof."""
    import json
    import os
    import subprocess
    import sys

    found = prove(program("band"), 0, 2, Settings(2))
    file = tmp_path / "proof.json"
    file.write_text(json.dumps([HEAD + PROGRAMS["band"], found.witness, found.proof]))
    code = (
        "import json, sys\n"
        "from tollens.checker.compiling import compile_text\n"
        "from tollens.checker.martingale import bounds\n"
        "text, witness, proof = json.load(open(sys.argv[1]))\n"
        "print(*bounds(compile_text(text, 'f'), 0, 2, witness, proof, 60))\n"
    )
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(file)],
            capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.stdout.split() == [str(found.lower), str(found.upper)]


def test_what_the_engine_does_not_cover():
    loop = "def f(x):\n    while noise.flip(1/2):\n        "
    texts = {
        "no output is a number": loop + "x += 1\n    return 'a'\n",
        "yielded": loop + "yield x\n",
    }
    for message, text in texts.items():
        with pytest.raises(CertificateError, match=message):
            prove(compile_text(HEAD + text, "f"), 1, 0, Settings(1))


def test_programs_without_loops():
    text = HEAD + "def f(x):\n    return x + noise.exponential(1)\n"
    found = prove(compile_text(text, "f"), 2, 1, Settings(1))
    assert found.lower / found.upper == 2, "output - 1 has means 2 and 1"
    checked = bounds(compile_text(text, "f"), 2, 1, found.witness, found.proof, 10)
    assert checked == (found.lower, found.upper)
