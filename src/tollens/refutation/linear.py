"""Linear programs, solved in floats and then exactly.

HiGHS finds an optimal basis in floats; the values of that basis are computed over the rationals.
Where rounding has hidden that some of them are not allowed, the basis is mended by steps of the
dual simplex method, whose values are exact again. If that fails, the program is solved with other
settings, and in the end by the exact arithmetic of Z3, if that is installed. All equations and
signs of what is returned hold exactly.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import flint
import highspy
import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import splu

Row = dict[int, Fraction]
Floats = npt.NDArray[np.float64]

_SETTINGS: tuple[dict[str, object], ...] = (
    {},
    {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    {"presolve": "off", "simplex_scale_strategy": 4, "primal_feasibility_tolerance": 1e-10},
)
_MENDED = 40
_LARGEST = 1500  # of a dense system: about ten seconds
_SMALL = 1e-7
_SILENT: Any = highspy.Highs.__base__  # `Highs` itself prints a line before it can be told not to


@dataclass(slots=True)
class LinearProgram:
    """Maximise one column subject to equations; columns are free or at least 0.

    >>> program = LinearProgram()
    >>> x, slack = program.column(free=True), program.column()
    >>> program.row({x: Fraction(3), slack: Fraction(1)}, Fraction(1))
    >>> program.solve(x)[x]
    Fraction(1, 3)
    """

    free: list[bool] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    right: list[Fraction] = field(default_factory=list)
    unbounded: bool = False

    def column(self, *, free: bool = False) -> int:
        """A new unknown."""
        self.free.append(free)
        return len(self.free) - 1

    def row(self, row: Mapping[int, Fraction], right: Fraction) -> None:
        """A new equation."""
        self.rows.append({i: c for i, c in row.items() if c})
        self.right.append(right)

    def solve(self, goal: int | None, seconds: float = 30.0) -> list[Fraction] | None:
        """Exact values that fulfil all equations, with the column `goal` as large as it can be.

        None if there are none, if the goal has no bound (then `unbounded`), or if nothing exact
        was found in time.
        """
        ends = time.monotonic() + seconds
        floats = _Floats(self, goal)
        for settings in _SETTINGS:
            basis = floats.basis(settings, ends)
            self.unbounded = floats.unbounded
            if basis is None:
                return None
            for _ in range(_MENDED):
                values = self._values(basis)
                if values is None or time.monotonic() > ends:
                    break
                worst = self._worst(values)
                if worst is None:
                    return [values.get(i, Fraction(0)) for i in range(len(self.free))]
                if not floats.mend(basis, worst, up=values[worst] < 0):
                    break
        return self._by_z3(goal, ends)

    def holds(self, values: list[Fraction]) -> bool:
        """Whether all equations and signs hold exactly."""
        return all(v >= 0 or free for v, free in zip(values, self.free, strict=True)) and all(
            sum((c * values[i] for i, c in row.items()), Fraction(0)) == right
            for row, right in zip(self.rows, self.right, strict=True)
        )

    def _values(self, basis: list[int]) -> Row | None:
        """The exact values of a basis; columns from len(free) on are what the rows lack."""
        kept, first = set(basis), len(self.free)
        rows = []
        for r, row in enumerate(self.rows):
            used = {i: c for i, c in row.items() if i in kept}
            if first + r in kept:
                used[first + r] = Fraction(1)
            rows.append(used)
        return solved(rows, self.right)

    def _worst(self, values: Row) -> int | None:
        """The basic column that violates its bounds most: a negative one, or a row that lacks."""
        size = len(self.free)
        wrong = {
            i: abs(v) for i, v in values.items() if (v if i >= size else v < 0 and not self.free[i])
        }
        return max(wrong, key=wrong.__getitem__) if wrong else None

    def _by_z3(self, goal: int | None, ends: float) -> list[Fraction] | None:
        try:
            import z3
        except ImportError:
            return None
        solver = z3.Optimize()
        solver.set("timeout", max(1, int(1000 * (ends - time.monotonic()))))
        unknowns = [z3.Real(f"x{i}") for i in range(len(self.free))]
        solver.add([x >= 0 for x, free in zip(unknowns, self.free, strict=True) if not free])
        for row, right in zip(self.rows, self.right, strict=True):
            terms = [z3.Q(c.numerator, c.denominator) * unknowns[i] for i, c in row.items()]
            solver.add(z3.Sum(terms) == z3.Q(right.numerator, right.denominator))
        if goal is not None:
            solver.maximize(unknowns[goal])
        if solver.check() != z3.sat:
            return None
        model = solver.model()
        found = [model.eval(x, model_completion=True) for x in unknowns]
        values = [Fraction(x.numerator_as_long(), x.denominator_as_long()) for x in found]
        return values if self.holds(values) else None


class _Floats:
    """A linear program in floats, its rows scaled to a largest coefficient of 1."""

    def __init__(self, program: LinearProgram, goal: int | None) -> None:
        rows = program.rows
        sizes = [max(map(abs, row.values()), default=Fraction(1)) for row in rows]
        self.unbounded = False
        self.free = np.array(program.free)
        self.costs = np.zeros(len(self.free))
        if goal is not None:
            self.costs[goal] = -1.0
        self.right = np.array([float(b / s) for b, s in zip(program.right, sizes, strict=True)])
        self.data = np.array(
            [float(c / s) for row, s in zip(rows, sizes, strict=True) for c in row.values()]
        )
        self.index = np.array([i for row in rows for i in row], dtype=np.int32)
        self.start = np.cumsum([0, *map(len, rows)]).astype(np.int32)

    def basis(self, settings: Mapping[str, object], ends: float) -> list[int] | None:
        """The optimal basis by HiGHS: columns, and rows behind them."""
        highs = _SILENT()
        seconds = max(0.0, ends - time.monotonic())
        always = {"output_flag": False, "threads": 1, "solver": "simplex", "time_limit": seconds}
        for name, value in {**always, **settings}.items():
            highs.setOptionValue(name, value)
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = len(self.right), len(self.free)
        model.col_cost_ = self.costs
        model.col_lower_ = np.where(self.free, -highspy.kHighsInf, 0.0)
        model.col_upper_ = np.full(len(self.free), highspy.kHighsInf)
        model.row_lower_ = model.row_upper_ = self.right
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = self.start
        model.a_matrix_.index_ = self.index
        model.a_matrix_.value_ = self.data
        highs.passModel(model)
        highs.run()
        status = highs.getModelStatus()
        self.unbounded = status == highspy.HighsModelStatus.kUnbounded
        if status != highspy.HighsModelStatus.kOptimal:
            return None
        found = highs.getBasis()
        statuses = [*found.col_status, *found.row_status]
        return [i for i, s in enumerate(statuses) if s == highspy.HighsBasisStatus.kBasic]

    def mend(self, basis: list[int], leaving: int, *, up: bool) -> bool:
        """One step of the dual simplex method: a column leaves, as it has to go up (or down)."""
        at, shape = basis.index(leaving), (len(self.right), len(self.free))
        matrix = sparse.csr_array((self.data, self.index, self.start), shape=shape)
        whole = sparse.hstack([matrix, sparse.eye_array(shape[0])], format="csc")
        try:
            factors = splu(whole[:, basis])
        except RuntimeError:
            return False
        unit = np.zeros(len(basis))
        unit[at] = 1.0
        costs = np.concatenate([self.costs, np.zeros(len(basis))])
        slopes: Floats = matrix.T @ factors.solve(unit, trans="T")
        prices: Floats = self.costs - matrix.T @ factors.solve(costs[basis], trans="T")
        slopes = -slopes if up else slopes
        taken = np.zeros(len(self.free), dtype=bool)
        taken[[i for i in basis if i < len(self.free)]] = True
        may = ~taken & np.where(self.free, np.abs(slopes) > _SMALL, slopes > _SMALL)
        if not may.any():
            return False
        ratios = np.where(may, np.maximum(prices, 0) / np.where(may, np.abs(slopes), 1), np.inf)
        best = ratios <= ratios.min() + _SMALL
        basis[at] = int(np.argmax(np.where(best, np.abs(slopes), 0)))
        return True


def solved(rows: list[Row], right: list[Fraction]) -> Row | None:
    """The solution of a square system, None if it is singular.

    Rows with one unknown and unknowns of one row are eliminated one after the other, which leaves
    little for the dense solver: bases of linear programs are nearly triangular.

    >>> solved([{0: Fraction(2)}, {0: Fraction(1), 1: Fraction(1)}], [Fraction(1), Fraction(0)])
    {0: Fraction(1, 2), 1: Fraction(-1, 2)}
    """
    left = {r: dict(row) for r, row in enumerate(rows)}
    b = list(right)
    where: dict[int, set[int]] = {}
    for r, row in left.items():
        for i in row:
            where.setdefault(i, set()).add(r)
    if len(where) != len(rows):
        return None
    values: Row = {}
    later: list[tuple[int, int, Row]] = []
    small = [r for r, row in left.items() if len(row) <= 1]
    single = [i for i, at in where.items() if len(at) == 1]
    while small or single:
        if small:
            r = small.pop()
            if r not in left:
                continue
            row = left.pop(r)
            if not row:
                return None
            ((i, c),) = row.items()
            values[i] = b[r] / c
            for s in where.pop(i) - {r}:
                b[s] -= left[s].pop(i) * values[i]
                if len(left[s]) <= 1:
                    small.append(s)
        else:
            i = single.pop()
            if i not in where or len(where[i]) != 1:
                continue
            (r,) = where.pop(i)
            row = left.pop(r)
            later.append((i, r, row))
            for j in row:
                if j != i:
                    where[j].discard(r)
                    if len(where[j]) == 1:
                        single.append(j)
    core = _dense(left, b, sorted(where))
    if core is None:
        return None
    values |= core
    for i, r, row in reversed(later):
        rest = sum((c * values[j] for j, c in row.items() if j != i), Fraction(0))
        values[i] = (b[r] - rest) / row[i]
    return values


def _dense(left: dict[int, Row], b: list[Fraction], columns: list[int]) -> Row | None:
    size = len(columns)
    if size == 0:
        return {}
    if len(left) != size or size > _LARGEST:
        return None
    at = {i: k for k, i in enumerate(columns)}
    entries = [flint.fmpq(0)] * size**2
    for k, row in enumerate(left.values()):
        for i, c in row.items():
            entries[k * size + at[i]] = flint.fmpq(c.numerator, c.denominator)
    vector = [flint.fmpq(b[r].numerator, b[r].denominator) for r in left]
    try:
        found = flint.fmpq_mat(size, size, entries).solve(flint.fmpq_mat(size, 1, vector))
    except ZeroDivisionError:
        return None
    return {i: Fraction(int(found[k, 0].p), int(found[k, 0].q)) for k, i in enumerate(columns)}
