"""What each instruction does to a run; what splits a run returns the runs that split off."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tollens.checker.clock import tick
from tollens.checker.draws import Draw
from tollens.checker.form import Form, plus, scaled, symbol
from tollens.checker.program import NOISE
from tollens.checker.state import MAX_ROOM, TOO_MUCH, Frame, State, Value, short
from tollens.checker.values import (
    MAX_ITEMS,
    Fault,
    Ref,
    arithmetic,
    described,
    exact,
    number,
    shown,
    whole,
)

Argument = Any  # of the type that the compiler gives to the instruction
Split = list[State] | None
MISSING = object()


def _load(state: State, frame: Frame, arg: Argument) -> Split:
    if arg not in frame.names:
        raise Fault(f"{arg} has no value yet")
    state.stack.append(frame.names[arg])
    return None


def _store(state: State, frame: Frame, arg: Argument) -> Split:
    frame.names[arg] = state.stack.pop()
    return None


def _forget(state: State, frame: Frame, arg: Argument) -> Split:
    for name in arg:
        frame.names.pop(name, None)
    return None


def _const(state: State, frame: Frame, arg: Argument) -> Split:
    state.stack.append(arg)
    return None


def _missing(state: State, frame: Frame, arg: Argument) -> Split:
    state.stack.append(MISSING)
    return None


def _pop(state: State, frame: Frame, arg: Argument) -> Split:
    state.stack.pop()
    return None


def _dup(state: State, frame: Frame, arg: Argument) -> Split:
    state.stack += state.stack[-arg:]
    return None


def _jump(state: State, frame: Frame, arg: Argument) -> Split:
    frame.at = arg
    return None


def _branch(state: State, frame: Frame, arg: Argument) -> Split:
    if not state.truth(state.stack.pop()):
        frame.at = arg
    return None


def _and(state: State, frame: Frame, arg: Argument) -> Split:
    if state.truth(state.stack[-1]):
        state.stack.pop()
    else:
        frame.at = arg
    return None


def _or(state: State, frame: Frame, arg: Argument) -> Split:
    if state.truth(state.stack[-1]):
        frame.at = arg
    else:
        state.stack.pop()
    return None


def _negate(state: State, frame: Frame, arg: Argument) -> Split:
    state.stack.append(arithmetic("*", state.stack.pop(), Fraction(-1)))
    return None


def _not(state: State, frame: Frame, arg: Argument) -> Split:
    state.stack.append(not state.truth(state.stack.pop()))
    return None


def _binary(state: State, frame: Frame, arg: Argument) -> Split:
    right, left = state.stack.pop(), state.stack.pop()
    state.stack.append(_operate(state, arg, left, right, inplace=False))
    return None


def _inplace(state: State, frame: Frame, arg: Argument) -> Split:
    right, left = state.stack.pop(), state.stack.pop()
    state.stack.append(_operate(state, arg, left, right, inplace=True))
    return None


def _operate(state: State, op: str, left: Value, right: Value, *, inplace: bool) -> Value:
    """`left op right`; + and * also join and repeat lists, tuples and texts."""
    if op == "+" and any(isinstance(value, Ref | tuple) for value in (left, right)):
        joined = (*state.items(left, "+ with"), *state.items(right, "+ with"))
        if isinstance(left, Ref) != isinstance(right, Ref):
            raise Fault("+ of a list and a tuple")
        if isinstance(left, Ref) and inplace:
            state.replace(left, _short(joined))
            return left
        return state.new(joined) if isinstance(left, Ref) else _short(joined)
    if op == "*" and isinstance(left, Ref | tuple):
        times = max(0, whole(right, "the factor of a list"))
        items = state.items(left, "* with")
        if max(1, len(items)) * times > MAX_ITEMS:
            raise Fault("a list that is repeated so often")
        if isinstance(left, Ref) and inplace:
            state.replace(left, items * times)
            return left
        return state.new(items * times) if isinstance(left, Ref) else items * times
    if op == "+" and isinstance(left, str) and isinstance(right, str):
        if len(left) + len(right) > MAX_ITEMS:
            raise Fault("a text that is too long")
        return left + right
    return arithmetic(op, left, right)


def _short(items: tuple[Value, ...]) -> tuple[Value, ...]:
    if len(items) > MAX_ITEMS:
        raise Fault(f"a list of more than {MAX_ITEMS} items")
    return items


def _compare(state: State, frame: Frame, arg: Argument) -> Split:
    """A comparison; one that depends on a draw splits the run, with the constraint of each."""
    right, left = state.stack.pop(), state.stack.pop()
    answer = _plain_comparison(state, arg, left, right)
    if answer is not None:
        state.stack.append(answer)
        return None
    difference = plus(number(left), scaled(number(right), Fraction(-1)))
    if arg in ("<", "<="):
        difference = scaled(difference, Fraction(-1))
    strict = arg in ("<", ">")
    if isinstance(difference, Fraction):
        state.stack.append(difference > 0 if strict else difference >= 0)
        return None
    opposite = scaled(difference, Fraction(-1))
    assert isinstance(opposite, Form)  # noqa: S101 - the multiple of a form
    drawn = difference.terms[0][0] >= 0  # of nothing but draws
    if drawn and difference in state.constraints:
        state.stack.append(True)
        return None
    if drawn and opposite in state.constraints:
        state.stack.append(False)
        return None
    other = state.copy()
    for run, form, is_strict, holds in (
        (state, difference, strict, True),
        (other, opposite, not strict, False),
    ):
        run.constraints = (*run.constraints, form)
        run.strict = (*run.strict, is_strict)
        run.stack.append(holds)
    return [other]


def _plain_comparison(state: State, op: str, left: Value, right: Value) -> bool | None:
    """The answer of a comparison that is not one of sizes of numbers; None for those."""
    if op in ("in", "not in"):
        found = any(_equal(state, left, item) for item in state.items(right, "in"))
        return found == (op == "in")
    if op in ("is", "is not"):
        if left is not None and right is not None:
            raise Fault("is: only None has an identity here")
        return (left is right) == (op == "is")
    if op in ("==", "!="):
        return _equal(state, left, right) == (op == "==")
    if isinstance(left, str) and isinstance(right, str):
        greater, equal = left > right, left == right
        return {">": greater, ">=": greater or equal, "<=": not greater}.get(
            op, not greater and not equal
        )
    return None


def _equal(state: State, left: Value, right: Value) -> bool:
    """Python's ==; a draw equals anything else with probability 0."""
    if isinstance(left, Ref | tuple) and isinstance(right, Ref | tuple):
        tick()
        if isinstance(left, Ref) != isinstance(right, Ref):
            return False
        a, b = state.items(left, "== of"), state.items(right, "== of")
        return len(a) == len(b) and all(_equal(state, p, q) for p, q in zip(a, b, strict=True))
    if not isinstance(left, Form) and not isinstance(right, Form):
        return bool(left == right)
    if not all(isinstance(value, Form | Fraction | bool) for value in (left, right)):
        return False
    difference = plus(number(left), scaled(number(right), Fraction(-1)))
    if isinstance(difference, Fraction):
        return difference == 0
    if difference.terms[0][0] < 0:
        raise Fault("== of a variable of a loop: use < and >")
    if any(state.draws[i].kind == "geometric" for i, _ in difference.terms):
        raise Fault("== of a geometric draw that was left open")
    return False


def _next(state: State, frame: Frame, arg: Argument) -> Split:
    """The next item and True, or False after the last."""
    sequence, index = arg
    items = state.items(frame.names[sequence], "a loop over")
    at = whole(frame.names[index], "the index of a loop") + 1
    frame.names[index] = Fraction(at)
    if at < len(items):
        state.stack.append(items[at])
    state.stack.append(at < len(items))
    return None


def _iterate(state: State, frame: Frame, arg: Argument) -> Split:
    state.items(state.stack[-1], "a loop over")
    return None


def _taken(state: State, count: int) -> list[Value]:
    taken = state.stack[len(state.stack) - count :]
    del state.stack[len(state.stack) - count :]
    return taken


def _list(state: State, frame: Frame, arg: Argument) -> Split:
    state.stack.append(state.new(tuple(_taken(state, arg))))
    return None


def _tuple(state: State, frame: Frame, arg: Argument) -> Split:
    state.stack.append(tuple(_taken(state, arg)))
    return None


def _dict(state: State, frame: Frame, arg: Argument) -> Split:
    state.stack.append(state.new(dict(zip(arg, _taken(state, len(arg)), strict=True))))
    return None


def _index(state: State, frame: Frame, arg: Argument) -> Split:
    index, found = state.stack.pop(), state.stack.pop()
    content = state.heap[found.at] if isinstance(found, Ref) else found
    if isinstance(content, dict):
        if isinstance(index, Form | Ref | tuple) or index not in content:
            raise Fault(f"a dictionary has no key {shown(index)}: the program would raise")
        state.stack.append(content[index])
    else:
        items = state.items(found, "an item of")
        state.stack.append(items[_position(index, len(items))])
    return None


def _position(index: Value, size: int) -> int:
    at = whole(index, "an index")
    if not -size <= at < size:
        raise Fault(f"the index {shown(Fraction(at))} of {size} items: the program would raise")
    return at


def _slice(state: State, frame: Frame, arg: Argument) -> Split:
    upper, lower, found = state.stack.pop(), state.stack.pop(), state.stack.pop()
    ends = [None if end is None else whole(end, "a bound") for end in (lower, upper)]
    part = state.items(found, "a slice of")[slice(*ends)]
    state.stack.append(state.new(part) if isinstance(found, Ref) else part)
    return None


def _set_item(state: State, frame: Frame, arg: Argument) -> Split:
    """Assign to an item; the value lies below its place, or ("below") above it."""
    if arg == "below":
        found, index, value = _taken(state, 3)
    else:
        value, found, index = _taken(state, 3)
    if not isinstance(found, Ref):
        raise Fault(f"an assignment to an item of {described(found)}")
    content = state.heap[found.at]
    if isinstance(content, dict):
        if isinstance(index, Form | Ref | tuple):
            raise Fault("a key that is no constant")
        state.replace(found, {**content, index: value})
    else:
        items = list(content)
        items[_position(index, len(items))] = value
        state.replace(found, tuple(items))
    return None


def _unpack(state: State, frame: Frame, arg: Argument) -> Split:
    items = state.items(state.stack.pop(), "names for the items of")
    if len(items) != arg:
        raise Fault(f"{len(items)} values for {arg} names")
    state.stack += reversed(items)
    return None


def _append(state: State, frame: Frame, arg: Argument) -> Split:
    value, found = state.stack.pop(), state.stack.pop()
    if not isinstance(found, Ref):
        raise Fault(f"append to {described(found)}")
    state.replace(found, _short((*state.items(found, "append to"), value)))
    state.stack.append(None)
    return None


def _yield(state: State, frame: Frame, arg: Argument) -> Split:
    state.out = _short((*state.out, state.stack.pop()))
    return None


def _return(state: State, frame: Frame, arg: Argument) -> Split:
    state.frames.pop()
    return None


def _builtin(state: State, frame: Frame, arg: Argument) -> Split:
    name, count = arg
    state.stack.append(_computed(state, name, _taken(state, count)))
    return None


def _computed(state: State, name: str, values: list[Value]) -> Value:
    """A function of Python on exact values."""
    first = values[0] if values else None
    match name, len(values):
        case "len", 1:
            content = state.heap[first.at] if isinstance(first, Ref) else first
            if not isinstance(content, tuple | dict | str):
                raise Fault(f"the length of {described(first)}")
            return Fraction(len(content))
        case "range", 1 | 2 | 3:
            return _range([whole(value, "a bound of range") for value in values])
        case "list", 0 | 1:
            return state.new(state.items(first, "a list of") if values else ())
        case "tuple", 0 | 1:
            return state.items(first, "a tuple of") if values else ()
        case "whole", 1:
            return Fraction(whole(first, "the start of enumerate"))
        case "start", 1:
            if isinstance(first, str):
                raise Fault("a sum of texts: the program would raise")
            return first
        case "bool", 1:
            return state.truth(first)
        case "float", 1:
            return number(first)
        case "int", 1:
            return Fraction(int(exact(first, "the argument of int")))
        case "round", 1 | 2:
            digits = whole(values[1], "the digits") if len(values) > 1 else 0
            if abs(digits) > MAX_DIGITS:
                raise Fault("round to so many digits")
            return Fraction(round(exact(first, "the argument of round"), digits))
        case "Fraction", 1:
            return exact(first, "the argument of Fraction")
        case "Fraction", 2:
            return arithmetic("/", exact(first, "Fraction"), exact(values[1], "Fraction"))
    raise Fault(f"{name} with {len(values)} arguments")


def _range(ends: list[int]) -> tuple[Fraction, ...]:
    if ends[2:] == [0]:
        raise Fault("a range in steps of 0: the program would raise")
    bounds = range(*ends)
    if bounds[MAX_ITEMS:]:
        raise Fault(f"a range of more than {MAX_ITEMS} numbers")
    return tuple(map(Fraction, bounds))


MAX_DIGITS = 1_000


def draw(state: State, frame: Frame, arg: Argument) -> Split:
    """A draw: a new symbol, or one run for each value."""
    values = _taken(state, len(NOISE[arg]))
    if arg == "discrete":
        return _choose(state, _masses(state, values[0]))
    parameters = checked(arg, values)
    if arg == "flip":
        (chance,) = parameters
        return _choose(state, [(True, chance), (False, 1 - chance)])
    state.stack.append(symbol(len(state.draws)))
    state.draws = (*state.draws, Draw(arg, parameters))
    return None


def checked(arg: str, values: list[Value]) -> tuple[Fraction, ...]:
    """The parameters of a draw."""
    parameters = tuple(exact(value, f"the parameter of {arg}") for value in values)
    if arg in ("flip", "geometric"):
        (chance,) = parameters
        if not 0 <= chance <= 1 or (arg == "geometric" and chance == 0):
            least = "above 0" if arg == "geometric" else "at least 0"
            raise Fault(f"{arg}({shown(chance)}): a probability is {least} and at most 1")
    elif arg == "uniform":
        if not parameters[0] < parameters[1]:
            ends = ", ".join(map(shown, parameters))
            raise Fault(f"uniform({ends}): a must be less than b")
    elif parameters[0] <= 0:
        raise Fault(f"{arg}({shown(parameters[0])}): the scale must be positive")
    return parameters


def _masses(state: State, value: Value) -> list[tuple[Value, Fraction]]:
    content = state.heap[value.at] if isinstance(value, Ref) else None
    if not isinstance(content, dict):
        raise Fault("discrete takes a dictionary of value: probability")
    masses = [(key, exact(mass, "a probability")) for key, mass in content.items()]
    total = Fraction(0)
    for _, mass in masses:
        total = short(total + mass)
    if any(mass < 0 for _, mass in masses) or total != 1:
        raise Fault("the probabilities of discrete must be at least 0 and sum to exactly 1")
    return masses


def _choose(state: State, masses: list[tuple[Value, Fraction]]) -> list[State]:
    """The run goes on with the first value that has a chance, new runs with the others."""
    (value, mass), *others = [(value, mass) for value, mass in masses if mass > 0]
    if len(others) * state.own > MAX_ROOM:
        raise Fault(TOO_MUCH)
    split = []
    for other, chance in others:
        copy = state.copy()
        copy.stack.append(other)
        copy.mass = short(copy.mass * chance)
        split.append(copy)
    state.stack.append(value)
    state.mass = short(state.mass * mass)
    return split


OPERATIONS: dict[str, Callable[[State, Frame, Argument], Split]] = {
    "LOAD": _load, "STORE": _store, "FORGET": _forget, "CONST": _const, "MISSING": _missing,
    "POP": _pop, "DUP": _dup, "JUMP": _jump, "BRANCH": _branch, "AND": _and, "OR": _or,
    "NEGATE": _negate, "NOT": _not, "BINARY": _binary, "INPLACE": _inplace, "COMPARE": _compare,
    "NEXT": _next, "ITERATE": _iterate, "LIST": _list, "TUPLE": _tuple, "DICT": _dict,
    "INDEX": _index, "SLICE": _slice, "SETITEM": _set_item, "UNPACK": _unpack, "APPEND": _append,
    "YIELD": _yield, "RETURN": _return, "BUILTIN": _builtin, "DRAW": draw,
}  # fmt: skip
"""What the instructions do, but for those that the machine itself knows: HEAD, GLOBAL, CALL."""
