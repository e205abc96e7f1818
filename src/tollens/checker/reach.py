"""What a run that was cut may still return: a bound by variables that only grow or only fall.

Let a run stand at the head of a loop. Its numbers in the innermost call are replaced by symbols and
the run goes on for one turn, whatever they are. If each way leads back to the same head with all
else unchanged, or to an end, then by induction over the turns every later state differs in these
variables only; one that no way lowers never falls below what it is now. An output that is affine
in such variables is bounded by its value now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from tollens.checker.errors import Refused
from tollens.checker.form import Form, plus, scaled, symbol
from tollens.checker.state import State
from tollens.checker.values import Fault

Interval = tuple[Fraction | None, Fraction | None]
ANYTHING = "anything"
"""Nothing is known of what a run may return."""

CLOSED = "closed"
"""A run returns nothing else than finished runs do: all its later states were seen before."""

Run = Callable[[State], Iterator[tuple[State, object]]]


@dataclass(frozen=True, slots=True)
class _Loop:
    """The variables of a loop, how each may move (-1, 0, 1; None: both ways), and its outputs."""

    names: tuple[str, ...]
    moves: tuple[int | None, ...]
    outputs: tuple[Fraction | Form, ...]


class Reach:
    """Bounds of the outputs of runs that stand at heads of loops; equal loops are read once."""

    def __init__(self, run: Run, running: object) -> None:
        self._run, self._running = run, running
        self._loops: dict[object, _Loop | None] = {}
        self._stored: dict[str, set[object]] = {}

    def of(self, state: State) -> Interval | str:
        """An interval of numbers that holds every output, or `ANYTHING`."""
        frame = state.frames[-1]
        if frame.function not in self._stored:
            self._stored[frame.function] = {i.arg for i in frame.code if i.op == "STORE"}
        stored = self._stored[frame.function]
        names = tuple(
            sorted(
                name
                for name, value in frame.names.items()
                if isinstance(value, Fraction | Form) and name in stored and name[0] != "$"
            )
        )
        # what is known of the draws decides which ways there are
        key = (state.key(frozenset(names)), names, state.draws, state.constraints)
        if key not in self._loops:
            self._loops[key] = self._read(state, names)
        loop = self._loops[key]
        if loop is None or not loop.outputs:
            return ANYTHING
        now = [state.frames[-1].names[name] for name in names]
        return _least(loop, now, Fraction(1)), _negative(_least(loop, now, Fraction(-1)))

    def _read(self, state: State, names: tuple[str, ...]) -> _Loop | None:
        """One turn of the loop from any values of the variables; None if it leads elsewhere."""
        start = state.copy()
        start.mass = Fraction(1)
        for i, name in enumerate(names):
            start.frames[-1].names[name] = symbol(-1 - i)
        key = start.key(frozenset(names))
        moved: list[set[Fraction | None]] = [set() for _ in names]
        outputs: list[Fraction | Form] = []
        try:
            for end, output in self._run(start):
                if output is not self._running:
                    if not isinstance(output, Fraction | Form):
                        return None
                    outputs.append(output)
                    continue
                if end.key(frozenset(names)) != key:
                    return None
                for i, name in enumerate(names):
                    value = end.frames[-1].names[name]
                    if not isinstance(value, Fraction | Form):
                        return None
                    by = plus(value, scaled(symbol(-1 - i), Fraction(-1)))
                    moved[i].add(by if isinstance(by, Fraction) else None)
        except (Refused, Fault):
            return None
        return _Loop(names, tuple(map(_direction, moved)), tuple(outputs))


def _direction(shifts: set[Fraction | None]) -> int | None:
    """How a variable moves that moves by one of these; None is a move that is not constant."""
    known = [shift for shift in shifts if shift is not None]
    if len(known) < len(shifts):
        return None
    if all(shift == 0 for shift in known):
        return 0
    if all(shift >= 0 for shift in known):
        return 1
    return -1 if all(shift <= 0 for shift in known) else None


def _least(loop: _Loop, now: list[object], sign: Fraction) -> Fraction | None:
    """A lower bound of `sign` times the outputs; None if there is none."""
    found: Fraction | None = None
    for output in loop.outputs:
        form = scaled(output, sign)
        value = form if isinstance(form, Fraction) else form.constant
        for i, c in () if isinstance(form, Fraction) else form.terms:
            if i >= 0:
                return None
            move, current = loop.moves[-1 - i], now[-1 - i]
            if move is None or move * c < 0 or not isinstance(current, Fraction):
                return None
            value += c * current
        found = value if found is None else min(found, value)
    return found


def _negative(value: Fraction | None) -> Fraction | None:
    return None if value is None else -value
