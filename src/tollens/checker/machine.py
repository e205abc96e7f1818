"""Runs a program on exact values, all of its ways at once.

A continuous draw is a new symbol; a discrete draw, and a comparison that depends on a continuous
one, split the run. A comparison holds or fails strictly or not alike, as a draw meets a boundary
with probability 0. Runs go from the head of a loop to the next; where two of them meet in the same
state without live draws they are joined, so that loops over discrete draws stay small.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tollens.checker.draws import Draw, Path, Segment
from tollens.checker.errors import Refusal, Refused
from tollens.checker.form import Form, plus, scaled, symbol
from tollens.checker.program import LIBRARY, NOISE, Instruction, Program
from tollens.checker.values import (
    MAX_ITEMS,
    Fault,
    Ref,
    arithmetic,
    described,
    exact,
    number,
    whole,
)

Value = object
MISSING = object()


@dataclass(slots=True)
class Frame:
    """A call in progress."""

    function: str
    code: Sequence[Instruction]
    at: int
    names: dict[str, Value]


@dataclass(slots=True)
class State:
    """A run in progress."""

    frames: list[Frame]
    stack: list[Value] = field(default_factory=list)
    heap: dict[int, tuple[Value, ...] | dict[Value, Value]] = field(default_factory=dict)
    mass: Fraction = Fraction(1)
    draws: tuple[Draw, ...] = ()
    constraints: tuple[Form, ...] = ()
    strict: tuple[bool, ...] = ()
    out: tuple[Value, ...] = ()

    def copy(self) -> State:
        """A run that goes on by itself."""
        frames = [Frame(f.function, f.code, f.at, dict(f.names)) for f in self.frames]
        heap = {at: dict(v) if isinstance(v, dict) else v for at, v in self.heap.items()}
        return State(
            frames, list(self.stack), heap, self.mass, self.draws, self.constraints, self.strict,
            self.out,
        )  # fmt: skip

    def new(self, content: tuple[Value, ...] | dict[Value, Value]) -> Ref:
        """A new list or dictionary."""
        if len(content) > MAX_ITEMS:
            raise Fault(f"a list of more than {MAX_ITEMS} items")
        ref = Ref(len(self.heap))
        self.heap[ref.at] = content
        return ref

    def items(self, value: Value, use: str) -> tuple[Value, ...]:
        """The items of a list or tuple."""
        found = self.heap[value.at] if isinstance(value, Ref) else value
        if not isinstance(found, tuple):
            raise Fault(f"{use} {described(value)}, which is no list or tuple")
        return found

    def key(self) -> tuple[object, ...]:
        """Equal for runs that will go on alike; the references are named in order of use."""
        order: dict[int, int] = {}

        def plain(value: Value) -> object:
            if isinstance(value, Ref):
                if value.at in order:
                    return ("ref", order[value.at])
                order[value.at] = len(order)
                content = self.heap[value.at]
                if isinstance(content, dict):
                    return ("dict", order[value.at], *((k, plain(v)) for k, v in content.items()))
                return ("list", order[value.at], *map(plain, content))
            if isinstance(value, tuple):
                return ("tuple", *map(plain, value))
            return (type(value).__name__, value)

        frames = [
            (f.function, f.at, *((name, plain(value)) for name, value in sorted(f.names.items())))
            for f in self.frames
        ]
        return (*frames, *map(plain, self.stack), "out", *map(plain, self.out))


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a program is followed: heads of loops in a row, paths, instructions, seconds."""

    rounds: int = 10_000
    paths: int = 20_000
    steps: int = 5_000_000
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Exploration:
    """The paths of a program on one input; `complete` if none was cut."""

    paths: tuple[Path, ...]
    rounds: int

    @property
    def complete(self) -> bool:
        """Whether every path was followed to its end."""
        return all(path.finished for path in self.paths)


def explore(program: Program, data: object, limits: Limits = Limits()) -> Exploration:
    """All paths of a program on exact data (rationals, texts, lists and tuples of such).

    Paths whose loops go beyond the limits are cut. `Refused` names the line of what has no exact
    meaning on this input.
    """
    machine = _Machine(program, limits)
    found: list[Path] = []
    frontier: dict[object, State] = {0: machine.start(data)}
    done = 0
    while frontier and done < limits.rounds and not machine.over(len(found) + len(frontier)):
        done += 1
        following: dict[object, State] = {}
        for state in frontier.values():
            for stopped, output in machine.run(state, lambda _: True):
                if output is not _RUNNING:
                    found.append(_path(stopped, output, True))
                elif stopped.draws:
                    following[len(found), len(following)] = stopped
                else:
                    key = stopped.key()
                    if key in following:
                        following[key].mass += stopped.mass
                    else:
                        following[key] = stopped
        frontier = following
    found += [_path(state, None, False) for state in frontier.values()]
    return Exploration(tuple(found), done)


def segments(
    program: Program, start: object, names: Sequence[str] | None = None, head: int | None = None,
    limits: Limits = Limits(),
) -> list[Segment]:  # fmt: skip
    """All ways from a place to the next `while` loop's head, or to the end.

    With `head` None they start with the data `start`; otherwise at that head of the program's own
    function, where `names` (in order) are symbols -1, -2, ... and `start` is a dictionary of the
    values of the other names.
    """
    machine = _Machine(program, limits, symbolic=True)
    if head is None:
        first = machine.start(start)
    else:
        assert isinstance(start, dict) and names is not None  # noqa: S101
        first = machine.resume(head, start, names)
    found = []
    waiting = [first]
    while waiting:
        if machine.over(len(found) + len(waiting)):
            raise Refused([Refusal(1, "too many ways from one loop to the next", "")])
        for state, output in machine.run(waiting.pop(), lambda arg: arg is not None):
            if output is not _RUNNING:
                found.append(_segment(state, None, output))
                continue
            frame = state.frames[-1]
            if len(state.frames) > 1 or state.stack:
                line = frame.code[frame.at].line
                raise Refused([Refusal(line, "a loop within an expression", "assign it first")])
            at = frame.code[frame.at - 1].arg
            assert isinstance(at, int)  # noqa: S101 - heads of while loops have numbers
            found.append(_segment(state, at, None))
    return found


def _path(state: State, output: object, finished: bool) -> Path:
    return Path(state.mass, state.draws, state.constraints, output, finished)


def _segment(state: State, head: int | None, output: object) -> Segment:
    values = () if head is None else tuple(sorted(state.frames[-1].names.items()))
    return Segment(
        state.mass, state.draws, state.constraints, state.strict, head, values, output
    )  # fmt: skip


_RUNNING = object()


class _Machine:
    """One program and how much of its limits is spent.

    If `symbolic`, a geometric draw is a symbol like the continuous ones.
    """

    def __init__(self, program: Program, limits: Limits, *, symbolic: bool = False) -> None:
        self.program, self.limits, self.symbolic = program, limits, symbolic
        self.steps = 0
        self.ends = None if limits.seconds is None else time.monotonic() + limits.seconds
        self.globals: dict[str, Value] = {}
        for name, code in program.constants:
            state = State([Frame(name, (*code, Instruction("RETURN", None, 0)), 0, {})])
            ((_, value),) = self.run(state, lambda _: False)
            self.globals[name] = value

    def over(self, paths: int) -> bool:
        """Whether a limit is reached."""
        late = self.ends is not None and time.monotonic() > self.ends
        return late or paths > self.limits.paths or self.steps > self.limits.steps

    def start(self, data: object) -> State:
        """The run of the program's function on data."""
        code = self.program.functions[self.program.name]
        state = State([])
        try:
            given = self._given(state, data)
        except Fault as fault:
            raise Refused([Refusal(1, str(fault), "")]) from None
        names = dict(zip(code.parameters, [given, *code.defaults], strict=False))
        state.frames.append(Frame(code.name, code.instructions, 0, names))
        return state

    def resume(self, head: int, values: dict[str, object], names: Sequence[str]) -> State:
        """A run that stands at the head of a loop."""
        code = self.program.functions[self.program.name]
        for at, instruction in enumerate(code.instructions):
            if instruction.op == "HEAD" and instruction.arg == head:
                state = State([])
                known = {name: self._given(state, value) for name, value in values.items()}
                known |= {name: symbol(-1 - i) for i, name in enumerate(names)}
                state.frames.append(Frame(code.name, code.instructions, at + 1, known))
                return state
        raise Refused([Refusal(1, "a loop in a function that is called", "write it in the first")])

    def _given(self, state: State, data: object) -> Value:
        """Data as values of the machine."""
        if isinstance(data, list):
            return state.new(tuple(self._given(state, item) for item in data))
        if isinstance(data, tuple):
            return tuple(self._given(state, item) for item in data)
        if isinstance(data, dict):
            return state.new({key: self._given(state, item) for key, item in data.items()})
        if isinstance(data, int) and not isinstance(data, bool):
            return Fraction(data)
        if isinstance(data, Fraction | Form | Ref | bool | str | None):
            return data
        raise Fault(f"input data of the type {type(data).__name__}")

    def run(self, state: State, stops: Callable[[object], bool]) -> Iterator[tuple[State, object]]:
        """Run to heads at which `stops` holds (output `_RUNNING`) and to ends (their output)."""
        waiting = [state]
        while waiting:
            current = waiting.pop()
            while True:
                frame = current.frames[-1]
                instruction = frame.code[frame.at]
                frame.at += 1
                self.steps += 1
                if self.steps > self.limits.steps + 1_000_000:
                    raise Refused([Refusal(instruction.line, "a loop without an end", "")])
                op = instruction.op
                if op == "HEAD":
                    if stops(instruction.arg):
                        yield current, _RUNNING
                        break
                    continue
                try:
                    if op == "RETURN" and len(current.frames) == 1:
                        yields = self.program.functions.get(frame.function)
                        value = current.stack.pop()
                        if yields is not None and yields.yields:
                            value = current.out
                        yield current, output(current, value)
                        break
                    waiting += self._step(current, frame, op, instruction.arg)
                except Fault as fault:
                    raise Refused([Refusal(instruction.line, str(fault), "")]) from None
                if current.mass == 0:
                    break

    def _step(self, state: State, frame: Frame, op: str, arg: object) -> list[State]:
        """One instruction; the runs that split off are returned."""
        stack = state.stack
        match op:
            case "LOAD":
                if arg not in frame.names:
                    raise Fault(f"{arg} has no value yet")
                stack.append(frame.names[arg])
            case "CONST":
                stack.append(arg)
            case "MISSING":
                stack.append(MISSING)
            case "GLOBAL":
                stack.append(self._given(state, self.globals[str(arg)]))
            case "STORE":
                frame.names[str(arg)] = stack.pop()
            case "BINARY" | "INPLACE":
                right, left = stack.pop(), stack.pop()
                stack.append(_binary(state, str(arg), left, right, op == "INPLACE"))
            case "COMPARE":
                right, left = stack.pop(), stack.pop()
                return _compare(state, str(arg), left, right)
            case "BRANCH":
                if not truth(state, stack.pop()):
                    frame.at = arg
            case "JUMP":
                frame.at = arg
            case "AND" | "OR":
                if truth(state, stack[-1]) == (op == "OR"):
                    frame.at = arg
                else:
                    stack.pop()
            case "NEGATE":
                stack.append(arithmetic("*", stack.pop(), Fraction(-1)))
            case "NOT":
                stack.append(not truth(state, stack.pop()))
            case "NEXT":
                sequence, index = arg
                items = state.items(frame.names[sequence], "a loop over")
                at = frame.names[index] + 1
                frame.names[index] = at
                if at < len(items):
                    stack.append(items[at.numerator])
                stack.append(at < len(items))
            case "ITERATE":
                state.items(stack[-1], "a loop over")
            case "FORGET":
                for name in arg:
                    frame.names.pop(name, None)
            case "POP":
                stack.pop()
            case "DUP":
                stack.append(stack[-1])
            case "DUP2":
                stack += stack[-2:]
            case "LIST" | "TUPLE":
                made = tuple(stack[len(stack) - arg :])
                del stack[len(stack) - arg :]
                stack.append(state.new(made) if op == "LIST" else made)
            case "DICT":
                made = dict(zip(arg, stack[len(stack) - len(arg) :], strict=True))
                del stack[len(stack) - len(arg) :]
                stack.append(state.new(made))
            case "INDEX":
                index, found = stack.pop(), stack.pop()
                stack.append(_item(state, found, index))
            case "SLICE":
                upper, lower, found = stack.pop(), stack.pop(), stack.pop()
                ends = [None if e is None else whole(e, "a bound") for e in (lower, upper)]
                part = state.items(found, "a slice of")[slice(*ends)]
                stack.append(state.new(part) if isinstance(found, Ref) else part)
            case "SETITEM":
                value, found, index = _target(stack, str(arg))
                _set_item(state, found, index, value)
            case "UNPACK":
                items = state.items(stack.pop(), "names for the items of")
                if len(items) != arg:
                    raise Fault(f"{len(items)} values for {arg} names")
                stack += reversed(items)
            case "APPEND":
                value, found = stack.pop(), stack.pop()
                if not isinstance(found, Ref):
                    raise Fault(f"append to {described(found)}")
                items = state.items(found, "append to")
                if len(items) >= MAX_ITEMS:
                    raise Fault(f"a list of more than {MAX_ITEMS} items")
                state.heap[found.at] = (*items, value)
                stack.append(None)
            case "CALL":
                self._call(state, str(arg))
            case "RETURN":
                state.frames.pop()
            case "YIELD":
                state.out = (*state.out, stack.pop())
            case "BUILTIN":
                name, count = arg
                values = stack[len(stack) - count :]
                del stack[len(stack) - count :]
                stack.append(_builtin(state, name, values))
            case "DRAW" if arg == "geometric" and not self.symbolic:
                self._call(state, LIBRARY + "geometric")
            case "DRAW":
                return _draw(state, str(arg))
            case _:
                raise Fault(f"the instruction {op}")
        return []

    def _call(self, state: State, name: str) -> None:
        code = self.program.functions[name]
        count = len(code.parameters)
        values = state.stack[len(state.stack) - count :]
        del state.stack[len(state.stack) - count :]
        first = count - len(code.defaults)
        for i, value in enumerate(values):
            if value is MISSING:
                values[i] = code.defaults[i - first]
        names = dict(zip(code.parameters, values, strict=True))
        state.frames.append(Frame(name, code.instructions, 0, names))


def output(state: State, value: Value) -> object:
    """A value as an output: lists are tuples, dictionaries are tuples of (key, value)."""
    if isinstance(value, Ref):
        content = state.heap[value.at]
        if isinstance(content, dict):
            return tuple((key, output(state, item)) for key, item in content.items())
        value = content
    if isinstance(value, tuple):
        return tuple(output(state, item) for item in value)
    return value


def truth(state: State, value: Value) -> bool:
    """Whether a value counts as true."""
    if isinstance(value, Form):
        raise Fault("a draw as a condition: compare it with a number")
    if isinstance(value, Ref):
        return len(state.heap[value.at]) > 0
    return bool(value)


def _binary(state: State, op: str, left: Value, right: Value, inplace: bool) -> Value:
    both = (left, right)
    if op == "+" and any(isinstance(value, Ref | tuple) for value in both):
        joined = (*state.items(left, "+ with"), *state.items(right, "+ with"))
        if isinstance(left, Ref) != isinstance(right, Ref):
            raise Fault("+ of a list and a tuple")
        if isinstance(left, Ref) and inplace:
            state.heap[left.at] = joined
            return left
        return state.new(joined) if isinstance(left, Ref) else joined
    if op == "*" and isinstance(left, Ref | tuple):
        times = max(0, whole(right, "the factor of a list"))
        items = state.items(left, "* with")
        if len(items) * times > MAX_ITEMS or inplace:
            raise Fault("a list that is repeated so often")
        return state.new(items * times) if isinstance(left, Ref) else items * times
    if op == "+" and isinstance(left, str) and isinstance(right, str) and len(left) < MAX_ITEMS:
        return left + right
    return arithmetic(op, left, right)


def _compare(state: State, op: str, left: Value, right: Value) -> list[State]:
    if op in ("in", "not in"):
        found = any(_equal(state, left, item) for item in state.items(right, "in"))
        state.stack.append(found == (op == "in"))
        return []
    if op in ("is", "is not"):
        if left is not None and right is not None:
            raise Fault("is: only None has an identity here")
        state.stack.append((left is right) == (op == "is"))
        return []
    if op in ("==", "!="):
        state.stack.append(_equal(state, left, right) == (op == "=="))
        return []
    if isinstance(left, str) and isinstance(right, str):
        state.stack.append({"<": left < right, "<=": left <= right,
                            ">": left > right, ">=": left >= right}[op])  # fmt: skip
        return []
    difference = plus(number(left), scaled(number(right), Fraction(-1)))
    if op in ("<", "<="):
        difference = scaled(difference, Fraction(-1))
    strict = op in ("<", ">")
    if isinstance(difference, Fraction):
        state.stack.append(difference > 0 if strict else difference >= 0)
        return []
    opposite = scaled(difference, Fraction(-1))
    assert isinstance(difference, Form) and isinstance(opposite, Form)  # noqa: S101
    if difference in state.constraints and difference.terms[-1][0] >= 0:
        state.stack.append(True)
        return []
    if opposite in state.constraints and difference.terms[-1][0] >= 0:
        state.stack.append(False)
        return []
    other = state.copy()
    _assume(state, difference, strict, True)
    _assume(other, opposite, not strict, False)
    return [other]


def _assume(state: State, form: Form, strict: bool, answer: bool) -> None:
    state.constraints = (*state.constraints, form)
    state.strict = (*state.strict, strict)
    state.stack.append(answer)


def _equal(state: State, left: Value, right: Value) -> bool:
    """Python's ==; a draw equals anything else with probability 0."""
    if isinstance(left, Ref | tuple) and isinstance(right, Ref | tuple):
        if isinstance(left, Ref) != isinstance(right, Ref):
            return False
        a, b = state.items(left, "== of"), state.items(right, "== of")
        return len(a) == len(b) and all(_equal(state, p, q) for p, q in zip(a, b, strict=True))
    if isinstance(left, Form) or isinstance(right, Form):
        difference = plus(number(left), scaled(number(right), Fraction(-1)))
        if isinstance(difference, Fraction):
            return difference == 0
        if difference.terms[-1][0] < 0:
            raise Fault("== of a variable of a loop: use < and >")
        return False
    return bool(left == right)


def _item(state: State, found: Value, index: Value) -> Value:
    content = state.heap[found.at] if isinstance(found, Ref) else found
    if isinstance(content, dict):
        if isinstance(index, Form | Ref | tuple) or index not in content:
            raise Fault(f"a dictionary has no key {index}")
        return content[index]
    items = state.items(found, "an item of")
    at = whole(index, "an index")
    if not -len(items) <= at < len(items):
        raise Fault(f"the index {at} of {len(items)} items: the program would raise")
    return items[at]


def _target(stack: list[Value], order: str) -> tuple[Value, Value, Value]:
    if order == "above":
        index, found, value = stack.pop(), stack.pop(), stack.pop()
    else:
        value, index, found = stack.pop(), stack.pop(), stack.pop()
    return value, found, index


def _set_item(state: State, found: Value, index: Value, value: Value) -> None:
    if not isinstance(found, Ref):
        raise Fault(f"an assignment to an item of {described(found)}")
    content = state.heap[found.at]
    if isinstance(content, dict):
        if isinstance(index, Form | Ref | tuple):
            raise Fault("a key that is no constant")
        state.heap[found.at] = {**content, index: value}
        return
    at = whole(index, "an index")
    if not -len(content) <= at < len(content):
        raise Fault(f"the index {at} of {len(content)} items: the program would raise")
    items = list(content)
    items[at] = value
    state.heap[found.at] = tuple(items)


def _builtin(state: State, name: str, values: list[Value]) -> Value:
    first = values[0] if values else Fraction(0)
    match name, len(values):
        case "len", 1:
            content = state.heap[first.at] if isinstance(first, Ref) else first
            if not isinstance(content, tuple | dict | str):
                raise Fault(f"the length of {described(first)}")
            return Fraction(len(content))
        case "range", 1 | 2 | 3:
            bounds = range(*[whole(value, "a bound of range") for value in values])
            if len(bounds) > MAX_ITEMS:
                raise Fault(f"a range of more than {MAX_ITEMS} numbers")
            return tuple(map(Fraction, bounds))
        case "enumerate", 1 | 2:
            start = whole(values[1], "the start") if len(values) > 1 else 0
            items = state.items(first, "enumerate of")
            return tuple((Fraction(start + i), item) for i, item in enumerate(items))
        case "zip", _:
            columns = [state.items(value, "zip of") for value in values]
            return tuple(zip(*columns, strict=False))
        case "list", 0 | 1:
            return state.new(state.items(first, "a list of") if values else ())
        case "tuple", 0 | 1:
            return state.items(first, "a tuple of") if values else ()
        case "bool", 1:
            return truth(state, first)
        case "float", 1:
            return number(first)
        case "int", 1:
            return Fraction(int(exact(first, "int: its argument")))
        case "round", 1:
            return Fraction(round(exact(first, "round: its argument")))
        case "round", 2:
            digits = whole(values[1], "the digits")
            return Fraction(round(exact(first, "round: its argument"), digits))
        case "Fraction", 1:
            return exact(first, "Fraction: its argument")
        case "Fraction", 2:
            return arithmetic("/", exact(first, "Fraction"), exact(values[1], "Fraction"))
    raise Fault(f"{name} with {len(values)} arguments")


def _draw(state: State, kind: str) -> list[State]:
    """A draw: a new symbol, or one run for each value."""
    values = state.stack[-len(NOISE[kind]) :]
    del state.stack[-len(NOISE[kind]) :]
    if kind == "discrete":
        return _choose(state, _masses(state, values[0]))
    parameters = tuple(exact(value, f"{kind}: its parameter") for value in values)
    if kind in ("flip", "geometric"):
        (chance,) = parameters
        if not (0 <= chance <= 1) or (kind == "geometric" and chance == 0):
            raise Fault(f"{kind}({chance}): a probability lies in [0, 1], for geometric above 0")
        if kind == "flip":
            return _choose(state, [(True, chance), (False, 1 - chance)])
    elif kind == "uniform":
        if not parameters[0] < parameters[1]:
            raise Fault(f"uniform{tuple(map(str, parameters))}: a must be less than b")
    elif parameters[0] <= 0:
        raise Fault(f"{kind}({parameters[0]}): the scale must be positive")
    state.stack.append(symbol(len(state.draws)))
    state.draws = (*state.draws, Draw(kind, parameters))
    return []


def _masses(state: State, value: Value) -> list[tuple[Value, Fraction]]:
    content = state.heap[value.at] if isinstance(value, Ref) else None
    if not isinstance(content, dict):
        raise Fault("discrete takes a dictionary of value: probability")
    masses = [(key, exact(mass, "a probability")) for key, mass in content.items()]
    if any(mass < 0 for _, mass in masses) or sum(mass for _, mass in masses) != 1:
        raise Fault("the probabilities of discrete must be at least 0 and sum to exactly 1")
    return masses


def _choose(state: State, masses: list[tuple[Value, Fraction]]) -> list[State]:
    """The run goes on with the first value that has a chance, new runs with the others."""
    (value, mass), *others = [(value, mass) for value, mass in masses if mass > 0]
    split = []
    for other, chance in others:
        copy = state.copy()
        copy.stack.append(other)
        copy.mass *= chance
        split.append(copy)
    state.stack.append(value)
    state.mass *= mass
    return split
