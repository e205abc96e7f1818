"""Linear programs: exact optima, bases of floats that must be mended, and the way to Z3."""

import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tollens.refutation import linear
from tollens.refutation.linear import LinearProgram, solved


def knapsack(weights, values, room):
    """max sum of values x subject to sum of weights x + slack = room."""
    program = LinearProgram()
    goal = program.column(free=True)
    columns = [program.column() for _ in weights]
    slack = program.column()
    program.row({**dict(zip(columns, weights, strict=True)), slack: Fraction(1)}, room)
    program.row({goal: Fraction(-1), **dict(zip(columns, values, strict=True))}, Fraction(0))
    return program, goal


def test_an_exact_optimum():
    program, goal = knapsack(
        [Fraction(1, 3), Fraction(1, 7)], [Fraction(1), Fraction(1, 2)], Fraction(1)
    )
    assert program.solve(goal)[goal] == Fraction(7, 2)


def test_nothing_fits():
    program = LinearProgram()
    x = program.column()
    program.row({x: Fraction(1)}, Fraction(-1))
    assert program.solve(x) is None and not program.unbounded


def test_no_bound():
    program = LinearProgram()
    x, y = program.column(), program.column()
    program.row({x: Fraction(1), y: Fraction(-1)}, Fraction(0))
    assert program.solve(x) is None and program.unbounded


def test_rows_that_say_the_same():
    program = LinearProgram()
    x, y = program.column(), program.column()
    for factor in (1, 2, 3):
        program.row({x: Fraction(factor), y: Fraction(factor)}, Fraction(factor))
    program.row({}, Fraction(0))
    assert program.solve(x)[x] == 1


def test_rows_that_contradict_each_other_beyond_floats():
    """The second row differs by less than floats can see: no exact solution, and none is given."""
    program = LinearProgram()
    x = program.column(free=True)
    program.row({x: Fraction(1)}, Fraction(1))
    program.row({x: Fraction(1)}, 1 + Fraction(1, 10**20))
    assert program.solve(x) is None


def test_a_sign_beyond_floats():
    program = LinearProgram()
    x, y = program.column(), program.column()
    program.row({x: Fraction(1), y: Fraction(1)}, Fraction(-1, 10**20))
    assert program.solve(x) is None


@pytest.mark.parametrize("seed", range(8))
def test_against_scipy(seed):
    chosen = random.Random(seed)
    program, rows, right = LinearProgram(), [], []
    goal = program.column(free=True)
    columns = [program.column() for _ in range(8)]
    for _ in range(4):
        row = [Fraction(chosen.randint(0, 9), chosen.randint(1, 9)) for _ in columns]
        bound = Fraction(chosen.randint(1, 20))
        program.row({**dict(zip(columns, row, strict=True)), program.column(): Fraction(1)}, bound)
        rows.append([float(c) for c in row])
        right.append(float(bound))
    costs = [Fraction(chosen.randint(1, 9), chosen.randint(1, 9)) for _ in columns]
    program.row({**dict(zip(columns, costs, strict=True)), goal: Fraction(-1)}, Fraction(0))
    found = program.solve(goal)
    best = linprog([-float(c) for c in costs], A_ub=rows, b_ub=right)
    if best.status == 0:
        assert program.holds(found)
        assert float(found[goal]) == pytest.approx(-best.fun)
    else:
        assert found is None


@pytest.mark.parametrize("seed", range(6))
def test_mending_a_wrong_basis(monkeypatch, seed):
    """From a basis in which every row lacks, dual steps lead to an exact feasible solution."""
    chosen = random.Random(seed)
    program = LinearProgram()
    columns = [program.column(free=i % 4 == 0) for i in range(14)]
    point = [Fraction(chosen.randint(0, 5)) for _ in columns]
    for _ in range(6):
        row = {i: Fraction(chosen.randint(-4, 4)) for i in columns}
        program.row(row, sum(c * point[i] for i, c in row.items()))
    monkeypatch.setattr(
        linear._Floats,
        "basis",
        lambda self, *_: list(range(len(self.free), len(self.free) + len(self.right))),
    )
    found = program.solve(None)
    assert found is not None and program.holds(found)


def test_exact_arithmetic_at_last(monkeypatch):
    pytest.importorskip("z3")
    program, goal = knapsack([Fraction(1, 3)], [Fraction(1)], Fraction(1))
    monkeypatch.setattr(linear._Floats, "mend", lambda *_, **__: False)
    monkeypatch.setattr(linear._Floats, "basis", lambda self, *_: [0, 3 + 0])
    assert program.solve(goal)[goal] == 3


def test_without_z3(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "z3", None)
    program, goal = knapsack([Fraction(1, 3)], [Fraction(1)], Fraction(1))
    monkeypatch.setattr(linear._Floats, "mend", lambda *_, **__: False)
    monkeypatch.setattr(linear._Floats, "basis", lambda self, *_: [0, 3 + 0])
    assert program.solve(goal) is None


@pytest.mark.parametrize("seed", range(10))
def test_square_systems(seed):
    chosen = random.Random(seed)
    size = 7
    rows = [
        {i: Fraction(chosen.randint(-3, 3), 2) for i in range(size) if chosen.random() < 0.5}
        for _ in range(size)
    ]
    rows = [{i: c for i, c in row.items() if c} for row in rows]
    right = [Fraction(chosen.randint(-5, 5)) for _ in rows]
    found = solved(rows, right)
    matrix = np.array([[float(row.get(i, 0)) for i in range(size)] for row in rows])
    if found is None:
        assert abs(np.linalg.det(matrix)) < 1e-9
    else:
        assert all(
            sum((c * found[i] for i, c in row.items()), Fraction(0)) == b
            for row, b in zip(rows, right, strict=True)
        )


def test_nothing_is_printed(capfd):
    program, goal = knapsack([Fraction(1, 3)], [Fraction(1)], Fraction(1))
    program.solve(goal)
    assert capfd.readouterr().out == ""
