"""A run in progress: its calls, its values, and what it took to come this way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tollens.checker.clock import tick
from tollens.checker.draws import Draw, Group
from tollens.checker.form import Form
from tollens.checker.program import Instruction
from tollens.checker.values import MAX_ITEMS, Fault, Ref, described

Value = object
Content = tuple[Value, ...] | dict[Value, Value]
Groups = tuple[Group, ...]

MAX_NODES = 200_000
"""Values that are looked at in a state, or in an output."""

MAX_CELLS = 1_000_000
"""Items of all lists and dictionaries of a state."""

MAX_ROOM = 10_000_000
"""Values of all runs that split off and wait."""

MAX_BITS = 100_000
"""The length of a probability."""

TOO_MUCH = "more data than can be followed"


@dataclass(slots=True)
class Frame:
    """A call in progress."""

    function: str
    code: Sequence[Instruction]
    at: int
    names: dict[str, Value]


@dataclass(slots=True)
class State:
    """A run in progress, or several that go on alike.

    `out` is what it has yielded. `spent` are the draws that nothing depends on any more, in groups
    that share no draw: {groups: share of `mass`}. The first `frozen` of the heap are constants of
    the file, which later runs would find changed. `made` is the number of all that were ever made,
    `cells` how many items there are in the heap, `nodes` how many values its last key had.
    """

    frames: list[Frame]
    stack: list[Value] = field(default_factory=list)
    heap: dict[int, Content] = field(default_factory=dict)
    mass: Fraction = Fraction(1)
    draws: tuple[Draw, ...] = ()
    constraints: tuple[Form, ...] = ()
    strict: tuple[bool, ...] = ()
    out: tuple[Value, ...] = ()
    spent: dict[Groups, Fraction] = field(default_factory=lambda: {(): Fraction(1)})
    frozen: int = 0
    made: int = 0
    cells: int = 0
    nodes: int = 0

    @property
    def size(self) -> int:
        """About how much room it takes."""
        return (
            self.cells + self.nodes + len(self.draws) + len(self.constraints) + 10 * len(self.spent)
        )

    @property
    def own(self) -> int:
        """About how many values a copy of it has for itself."""
        named = sum(len(frame.names) for frame in self.frames)
        known = len(self.draws) + len(self.constraints) + len(self.spent)
        return self.cells + len(self.stack) + named + known

    def copy(self) -> State:
        """A run that goes on by itself."""
        return State(
            [Frame(f.function, f.code, f.at, dict(f.names)) for f in self.frames],
            list(self.stack),
            dict(self.heap),
            self.mass,
            self.draws,
            self.constraints,
            self.strict,
            self.out,
            dict(self.spent),
            self.frozen,
            self.made,
            self.cells,
            self.nodes,
        )

    def join(self, other: State) -> None:
        """Take in a run that goes on alike."""
        shares = {groups: self.mass * share for groups, share in self.spent.items()}
        for groups, share in other.spent.items():
            shares[groups] = short(shares.get(groups, Fraction(0)) + other.mass * share)
        self.mass, self.spent = Fraction(1), shares

    def new(self, content: Content) -> Ref:
        """A new list or dictionary."""
        ref = self._put(content)
        if self.cells > MAX_CELLS:
            self.sweep((ref,))
        return ref

    def _put(self, content: Content) -> Ref:
        if len(content) > MAX_ITEMS:
            raise Fault(f"a list of more than {MAX_ITEMS} items")
        ref = Ref(self.made)
        self.made += 1
        self.cells += 1 + len(content)
        self.heap[ref.at] = content
        return ref

    def replace(self, ref: Ref, content: Content) -> None:
        """Give a list or dictionary another content."""
        if ref.at < self.frozen:
            raise Fault("a constant of the file is changed, and later runs would see that: copy it")
        if len(content) > MAX_ITEMS:
            raise Fault(f"a list of more than {MAX_ITEMS} items")
        self.cells += len(content) - len(self.heap[ref.at])
        self.heap[ref.at] = content
        if self.cells > MAX_CELLS:
            self.sweep((ref,))

    def sweep(self, held: tuple[Value, ...] = ()) -> None:
        """Drop the lists and dictionaries that nothing leads to, nor what is held."""
        tick()
        kept = {at: content for at, content in self.heap.items() if at < self.frozen}
        waiting: list[Value] = [*held, *self.stack, *self.out, *kept.values()]
        waiting += [value for frame in self.frames for value in frame.names.values()]
        seen: set[int] = set()
        while waiting:
            value = waiting.pop()
            if isinstance(value, Ref) and value.at not in kept:
                content = kept[value.at] = self.heap[value.at]
                value = content
            if isinstance(value, tuple | dict) and id(value) not in seen:
                seen.add(id(value))
                waiting += value.values() if isinstance(value, dict) else value
        self.heap, self.cells = kept, sum(1 + len(content) for content in kept.values())
        if self.cells > MAX_CELLS:
            raise Fault(TOO_MUCH)

    def given(self, data: object) -> Value:
        """Data from outside as a value."""
        match data:
            case list():
                return self._put(tuple(self.given(item) for item in data))
            case tuple():
                return tuple(self.given(item) for item in data)
            case dict():
                return self._put({key: self.given(item) for key, item in data.items()})
            case bool() | str() | None | Fraction() | Form():
                return data
            case int():
                return Fraction(data)
        raise Fault(f"input data of the type {type(data).__name__}")

    def items(self, value: Value, use: str) -> tuple[Value, ...]:
        """The items of a list or tuple."""
        found = self.heap[value.at] if isinstance(value, Ref) else value
        if not isinstance(found, tuple):
            raise Fault(f"{use} {described(value)}, which is no list or tuple")
        return found

    def truth(self, value: Value) -> bool:
        """Whether a value counts as true."""
        if isinstance(value, Form):
            raise Fault("a draw as a condition: compare it with a number")
        if isinstance(value, Ref):
            return len(self.heap[value.at]) > 0
        return bool(value)

    def output(self, value: Value) -> object:
        """A value as an output: lists are tuples, dictionaries tuples of (key, value)."""
        budget = Budget()

        def plain(value: Value) -> object:
            content = self.heap[value.at] if isinstance(value, Ref) else value
            if isinstance(content, tuple | dict):
                budget.spend(1 + len(content))
            if isinstance(content, dict):
                return tuple((key, plain(item)) for key, item in content.items())
            return tuple(map(plain, content)) if isinstance(content, tuple) else content

        return plain(value)

    def key(self, ignored: frozenset[str] = frozenset()) -> tuple[object, ...]:
        """Equal for runs that will go on alike.

        References are named in the order of use. The names `ignored` of the last call are left
        out.
        """
        order: dict[int, int] = {}
        budget = Budget()

        def plain(value: Value) -> object:
            if type(value) is Fraction:  # of all values the only ones without a name before
                return value.as_integer_ratio()
            if isinstance(value, Ref):
                if value.at < self.frozen:
                    return ("constant", value.at)
                if value.at in order:
                    return ("ref", order[value.at])
                order[value.at] = len(order)
                content = self.heap[value.at]
                budget.spend(1 + len(content))
                if isinstance(content, dict):
                    pairs = ((plain(k), plain(v)) for k, v in content.items())
                    return ("dict", order[value.at], *pairs)
                return ("list", order[value.at], *map(plain, content))
            if isinstance(value, tuple):
                budget.spend(1 + len(value))
                return ("tuple", *map(plain, value))
            return (type(value).__name__, value)

        frames = [
            (
                frame.function,
                frame.at,
                *(
                    (name, plain(value))
                    for name, value in sorted(frame.names.items())
                    if frame is not self.frames[-1] or name not in ignored
                ),
            )
            for frame in self.frames
        ]
        key = (*frames, *map(plain, self.stack), "out", *map(plain, self.out))
        self.nodes = budget.spent
        return key


class Key:
    """A key of runs whose hash is computed once."""

    __slots__ = ("_hash", "_value")

    def __init__(self, value: object) -> None:
        self._value, self._hash = value, hash(value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self._value == other._value


class Budget:
    """So many values may be looked at: tuples and lists may share their items many times over."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0

    def spend(self, count: int) -> None:
        """Look at so many more."""
        self.spent += count
        if self.spent > MAX_NODES:
            raise Fault(TOO_MUCH)


def short(mass: Fraction) -> Fraction:
    """A probability that is not too long."""
    if mass.denominator.bit_length() > MAX_BITS:
        raise Fault("a probability with too many digits")
    return mass
