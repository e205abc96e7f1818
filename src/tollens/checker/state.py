"""A run in progress: its calls, its values, and what it took to come this way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tollens.checker.draws import Draw, Group
from tollens.checker.form import Form
from tollens.checker.program import Instruction
from tollens.checker.values import MAX_ITEMS, Fault, Ref, described

Value = object
Content = tuple[Value, ...] | dict[Value, Value]
Groups = tuple[Group, ...]


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
    the file, which later runs would find changed.
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

    def copy(self) -> State:
        """A run that goes on by itself."""
        return State(
            [Frame(f.function, f.code, f.at, dict(f.names)) for f in self.frames],
            list(self.stack),
            {at: dict(v) if isinstance(v, dict) else v for at, v in self.heap.items()},
            self.mass,
            self.draws,
            self.constraints,
            self.strict,
            self.out,
            dict(self.spent),
            self.frozen,
        )

    def join(self, other: State) -> None:
        """Take in a run that goes on alike."""
        shares = {groups: self.mass * share for groups, share in self.spent.items()}
        for groups, share in other.spent.items():
            shares[groups] = shares.get(groups, Fraction(0)) + other.mass * share
        self.mass, self.spent = Fraction(1), shares

    def new(self, content: Content) -> Ref:
        """A new list or dictionary."""
        if len(content) > MAX_ITEMS:
            raise Fault(f"a list of more than {MAX_ITEMS} items")
        ref = Ref(len(self.heap))
        self.heap[ref.at] = content
        return ref

    def replace(self, ref: Ref, content: Content) -> None:
        """Give a list or dictionary another content."""
        if ref.at < self.frozen:
            raise Fault("a constant of the file is changed, and later runs would see that: copy it")
        self.heap[ref.at] = content

    def given(self, data: object) -> Value:
        """Data from outside as a value."""
        match data:
            case list():
                return self.new(tuple(self.given(item) for item in data))
            case tuple():
                return tuple(self.given(item) for item in data)
            case dict():
                return self.new({key: self.given(item) for key, item in data.items()})
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
        if isinstance(value, Ref):
            content = self.heap[value.at]
            if isinstance(content, dict):
                return tuple((key, self.output(item)) for key, item in content.items())
            value = content
        if isinstance(value, tuple):
            return tuple(self.output(item) for item in value)
        return value

    def key(self, ignored: frozenset[str] = frozenset()) -> tuple[object, ...]:
        """Equal for runs that will go on alike.

        References are named in the order of use. The names `ignored` of the last call are left
        out.
        """
        order: dict[int, int] = {}

        def plain(value: Value) -> object:
            if isinstance(value, Ref):
                if value.at < self.frozen:
                    return ("constant", value.at)
                if value.at in order:
                    return ("ref", order[value.at])
                order[value.at] = len(order)
                content = self.heap[value.at]
                if isinstance(content, dict):
                    pairs = ((plain(k), plain(v)) for k, v in content.items())
                    return ("dict", order[value.at], *pairs)
                return ("list", order[value.at], *map(plain, content))
            if isinstance(value, tuple):
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
        return (*frames, *map(plain, self.stack), "out", *map(plain, self.out))
