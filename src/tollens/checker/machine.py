"""Runs a program on exact values, all of its ways at once.

A continuous draw is a new symbol; a discrete draw, and a comparison that depends on a continuous
one, split the run. Whether such a comparison is strict does not matter, as a draw meets a boundary
with probability 0. Runs go from the head of a loop to the next; where two of them meet in the same
state without draws they are joined, so that loops over discrete draws stay small.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tollens.checker.clock import tick
from tollens.checker.draws import Path, Segment
from tollens.checker.errors import Refusal, Refused
from tollens.checker.form import symbol
from tollens.checker.liveness import Live
from tollens.checker.operations import MISSING, OPERATIONS, checked
from tollens.checker.program import LIBRARY, Instruction, Program
from tollens.checker.reach import CLOSED, Reach
from tollens.checker.retiring import Reached, path, retire
from tollens.checker.state import MAX_ROOM, TOO_MUCH, Content, Frame, Key, State, Value
from tollens.checker.values import Fault, nodes


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a program is followed: heads of loops in a row, paths, instructions, seconds.

    Runs of a probability below 2^-small are cut.
    """

    rounds: int = 10_000
    small: int = 10_000
    paths: int = 20_000
    steps: int = 5_000_000
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Exploration:
    """The paths of a program on one input, and how many heads of loops in a row were passed."""

    paths: tuple[Path, ...]
    rounds: int

    @property
    def complete(self) -> bool:
        """Whether every path was followed to its end."""
        return all(each.finished for each in self.paths)


MUCH = 2_000_000
"""So much room may all runs take at the heads of loops."""

_UNSWEPT = 1_000

NESTED = "values that are nested too deeply"


class _Running:
    """In place of an output: the run stands at the head of a loop."""


RUNNING = _Running()


def explore(program: Program, data: object, limits: Limits = Limits()) -> Exploration:
    """All paths of a program on exact data (rationals, texts, lists and tuples of such).

    Paths whose loops go beyond the limits are cut. `Refused` names the line of what has no exact
    meaning on this input.
    """
    return Explorer(program, data, limits).to(limits.rounds)


class Explorer:
    """An exploration that can be taken further, head by head."""

    def __init__(self, program: Program, data: object, limits: Limits = Limits()) -> None:
        self._machine = Machine(program, limits)
        self._reach = Reach(lambda state: self._machine.run(state, lambda _: True), RUNNING)
        self._found: list[Path] = []
        self._frontier: dict[object, State] = {0: self._machine.start(data)}
        self._rounds = 0
        self._turned: set[object] = set()
        self._dropped: dict[Reached, Fraction] = {}
        self._open = False
        self._held, self._known, self._most = 0, 0, limits.paths

    @property
    def steps(self) -> int:
        """Instructions so far: what it cost, whatever machine it runs on."""
        return self._machine.steps

    def to(self, rounds: int) -> Exploration:
        """Pass up to so many heads of loops in a row, counted from the start."""
        while self._frontier and self._rounds < rounds and not self._over():
            self._rounds += 1
            try:
                self._turn()
            except RecursionError:
                raise Refused([Refusal(1, NESTED, "")]) from None
        closed = not self._open and self._turned.issuperset(self._frontier)
        cut = [
            path(state, None, CLOSED if closed else self._reach.of(state))
            for state in self._frontier.values()
        ]
        small = [Path(mass, (), (), None, False, reach) for reach, mass in self._dropped.items()]
        return Exploration((*self._found, *cut, *small), self._rounds)

    def _over(self) -> bool:
        room = sum(state.size for state in self._frontier.values())
        return room > MUCH or self._machine.over(len(self._found) + len(self._frontier))

    def _turn(self) -> None:
        """Take every run to the next head; join those that go on alike.

        Once every state has had its turn before, no end is new: the runs are closed.
        """
        for key, state in self._frontier.items():
            if key not in self._turned and self._known < MUCH:
                self._turned.add(key)
                self._known += state.size
        following: dict[object, State] = {}
        room = 0
        for state in self._frontier.values():
            for stopped, output in self._machine.run(state, lambda _: True):
                if output is not RUNNING:
                    self._found.append(path(stopped, output))
                    self._held += nodes(output) + stopped.size
                else:
                    room += self._stop(following, stopped)
                if max(room, self._held) > 5 * MUCH or len(self._found) > 4 * self._most:
                    raise _refused(stopped, TOO_MUCH)
        self._frontier = {
            key: state for key, state in following.items() if not self._small(key, state)
        }

    def _stop(self, following: dict[object, State], state: State) -> int:
        """Put a run to those at heads of loops; the room that it takes more."""
        try:
            self._machine.forget(state)
            if state.cells > _UNSWEPT:
                state.sweep()
            retire(state)
            key = Key((state.key(), state.draws, state.constraints))
            if key not in following:
                following[key] = state
                return state.size
            before = following[key].size
            following[key].join(state)
            return following[key].size - before
        except Fault as fault:
            raise _refused(state, str(fault)) from None

    def _small(self, key: object, state: State) -> bool:
        """Cut a run that is hardly ever taken; only its probability and its reach are kept."""
        mass = state.mass * sum(state.spent.values())
        if mass.numerator << self._machine.limits.small >= mass.denominator:
            return False
        self._open = self._open or key not in self._turned
        reach = self._reach.of(state)
        self._dropped[reach] = self._dropped.get(reach, Fraction(0)) + mass
        return True


def segments(
    program: Program,
    start: object,
    names: Sequence[str] = (),
    head: int | None = None,
    limits: Limits = Limits(),
) -> list[Segment]:
    """All ways from a place to the next head of a `while` loop, or to the end.

    With `head` None they start with the data `start`; otherwise at that head of the program's own
    function, where `names` (in order) are symbols -1, -2, ... and `start` is a dictionary of the
    values of the other names.
    """
    machine = Machine(program, limits, symbolic=True)
    if head is None:
        first = machine.start(start)
    else:
        others = start if isinstance(start, dict) else {}
        first = machine.resume(head, others, names)
    found: list[Segment] = []
    waiting = [first]
    while waiting:
        if machine.over(len(found) + len(waiting)):
            raise Refused([Refusal(1, "too many ways from one loop to the next", "")])
        for state, output in machine.run(waiting.pop(), lambda number: number is not None):
            if output is not RUNNING:
                found.append(_segment(state, None, output))
                continue
            frame = state.frames[-1]
            if len(state.frames) > 1 or state.stack:
                line = frame.code[frame.at].line
                raise Refused([Refusal(line, "a loop within an expression", "assign it first")])
            reached = frame.code[frame.at - 1].arg
            found.append(_segment(state, reached if isinstance(reached, int) else None, None))
    return found


def _segment(state: State, head: int | None, output: object) -> Segment:
    values = () if head is None else tuple(sorted(state.frames[-1].names.items()))
    return Segment(
        state.mass, state.draws, state.constraints, state.strict, head, values, output
    )  # fmt: skip


PATIENCE = 5.0
"""Seconds after which a run that never comes to the head of a loop is given up."""

KEPT = "$value"
_KEEP = (("STORE", KEPT), ("CONST", None), ("RETURN", None))


class Machine:
    """One program and how much of its limits is spent.

    If `symbolic`, a geometric draw is a symbol like the continuous ones.
    """

    def __init__(self, program: Program, limits: Limits, *, symbolic: bool = False) -> None:
        self.program, self.limits, self.symbolic = program, limits, symbolic
        self.steps = 0
        self._ends = None if limits.seconds is None else time.monotonic() + limits.seconds
        self._live: dict[str, Live] = {}
        self._globals: dict[str, Value] = {}
        self._heap: dict[int, Content] = {}
        self._made = 0
        for name, code in program.constants:
            ends = (*code, *(Instruction(op, arg, 0) for op, arg in _KEEP))
            ((end, _),) = self.run(self._state(Frame(name, ends, 0, {})), lambda _: False)
            self._globals[name] = end.frames[0].names[KEPT]
            self._heap, self._made = end.heap, end.made

    def over(self, paths: int) -> bool:
        """Whether a limit is reached."""
        late = self._ends is not None and time.monotonic() > self._ends
        return late or paths > self.limits.paths or self.steps > self.limits.steps

    def start(self, data: object) -> State:
        """The run of the program's function on data."""
        code = self.program.functions[self.program.name]
        others = len(code.parameters) - len(code.defaults)
        names: dict[str, Value] = dict(zip(code.parameters[others:], code.defaults, strict=True))
        state = self._state(Frame(code.name, code.instructions, 0, names))
        try:
            names[code.parameters[0]] = state.given(data)
        except Fault as fault:
            raise Refused([Refusal(1, str(fault), "")]) from None
        return state

    def _state(self, frame: Frame) -> State:
        cells = sum(1 + len(content) for content in self._heap.values())
        return State(
            [frame], heap=dict(self._heap), frozen=self._made, made=self._made, cells=cells
        )

    def resume(self, head: int, values: dict[str, object], names: Sequence[str]) -> State:
        """A run that stands at the head of a loop."""
        code = self.program.functions[self.program.name]
        for at, instruction in enumerate(code.instructions):
            if instruction.op == "HEAD" and instruction.arg == head:
                frame = Frame(code.name, code.instructions, at + 1, {})
                state = self._state(frame)
                frame.names |= {name: state.given(value) for name, value in values.items()}
                frame.names |= {name: symbol(-1 - i) for i, name in enumerate(names)}
                return state
        raise Refused([Refusal(1, "a loop in a function that is called", "write it in the first")])

    def forget(self, state: State) -> None:
        """Drop the variables that no call in progress will read."""
        for frame in state.frames:
            if frame.function not in self._live:
                self._live[frame.function] = Live(frame.code)
            live = self._live[frame.function][frame.at]
            frame.names = {name: value for name, value in frame.names.items() if name in live}

    def run(self, state: State, stops: Callable[[object], bool]) -> Iterator[tuple[State, object]]:
        """Run to heads at which `stops` holds (output `RUNNING`) and to ends (their output)."""
        waiting = [state]
        room = state.own  # of those that wait
        while waiting:
            current = waiting.pop()
            room -= current.own
            while current.mass:
                frame = current.frames[-1]
                instruction = frame.code[frame.at]
                frame.at += 1
                self.steps += 1
                if self.steps % 64 == 0:
                    self._endure(len(waiting), instruction.line)
                if instruction.op == "HEAD":
                    if stops(instruction.arg):
                        yield current, RUNNING
                        break
                    continue
                try:
                    if instruction.op == "RETURN" and len(current.frames) == 1:
                        yield current, self._output(current)
                        break
                    for split in self._step(current, frame, instruction):
                        waiting.append(split)
                        room += split.own
                    if room > MAX_ROOM:
                        raise Fault(TOO_MUCH)
                except Fault as fault:
                    raise _refused(current, str(fault)) from None
                except RecursionError:
                    raise _refused(current, NESTED) from None

    def _endure(self, waiting: int, line: int) -> None:
        """Give up on what goes on for long without the head of a loop, where it could be cut."""
        tick()
        late = self._ends is not None and time.monotonic() > self._ends + PATIENCE
        if late or self.steps > 2 * self.limits.steps:
            raise Refused([Refusal(line, "a loop without an end", "")])
        if waiting > 2 * self.limits.paths:
            raise Refused([Refusal(line, "too many ways", "")])

    def _output(self, state: State) -> object:
        code = self.program.functions.get(state.frames[0].function)
        value = state.stack.pop()
        return state.output(state.out if code is not None and code.yields else value)

    def _step(self, state: State, frame: Frame, instruction: Instruction) -> list[State]:
        """One instruction; the runs that split off are returned."""
        op, arg = instruction.op, instruction.arg
        if op == "GLOBAL":
            state.stack.append(self._globals[str(arg)])
        elif op == "CALL":
            self._call(state, str(arg))
        elif op == "DRAW" and arg == "geometric" and not self.symbolic:
            checked("geometric", state.stack[-1:])
            self._call(state, LIBRARY + "geometric")
        else:
            return OPERATIONS[op](state, frame, arg) or []
        return []

    def _call(self, state: State, name: str) -> None:
        code = self.program.functions[name]
        count = len(code.parameters)
        values: list[Value] = state.stack[len(state.stack) - count :]
        del state.stack[len(state.stack) - count :]
        first = count - len(code.defaults)
        for i, value in enumerate(values):
            if value is MISSING:
                values[i] = code.defaults[i - first]
        names = dict(zip(code.parameters, values, strict=True))
        state.frames.append(Frame(name, code.instructions, 0, names))


def _refused(state: State, what: str) -> Refused:
    """For where a run is in the text: in a function of ours, where that was called."""
    own = [frame for frame in state.frames if not frame.function.startswith(LIBRARY)]
    return Refused([Refusal(own[-1].code[own[-1].at - 1].line, what, "")])
