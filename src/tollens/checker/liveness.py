"""Which variables a function may still read, at each of its instructions.

A variable is live where some way from there reads it before it is stored anew. What is dead makes
no difference to how a run goes on. Source: Kildall, A unified approach to global program
optimization, POPL 1973.
"""

from __future__ import annotations

from collections.abc import Sequence

from tollens.checker.program import Instruction

_JUMPS = ("JUMP", "BRANCH", "AND", "OR")


class Live:
    r"""The names that are live before each instruction, as sets of bits.

    >>> from tollens.checker.compiling import compile_text
    >>> text = "def f(x):\n    y = 1\n    while x > 0:\n        y = x\n        x = x - y\n"
    >>> code = compile_text(text, "f").functions["f"].instructions
    >>> [sorted(Live(code)[at]) for at, i in enumerate(code) if i.op == "HEAD"]
    [['x']]
    """

    def __init__(self, code: Sequence[Instruction]) -> None:
        touched = [_touched(instruction) for instruction in code]
        names = sorted({name for both in touched for part in both for name in part})
        self._bits = {name: 1 << i for i, name in enumerate(names)}
        reads, stores = ([self._set(both[side]) for both in touched] for side in (0, 1))
        self._found = [0] * (len(code) + 1)
        self._names: dict[int, frozenset[str]] = {}
        changed = True
        while changed:
            changed = False
            for at in range(len(code) - 1, -1, -1):
                after = 0
                for following in _following(code[at], at):
                    after |= self._found[following]
                before = (after & ~stores[at]) | reads[at]
                if before != self._found[at]:
                    self._found[at], changed = before, True

    def _set(self, names: set[str]) -> int:
        return sum(map(self._bits.__getitem__, names))

    def __getitem__(self, at: int) -> frozenset[str]:
        if at not in self._names:
            found = self._found[at]
            self._names[at] = frozenset(name for name, bit in self._bits.items() if found & bit)
        return self._names[at]


def _following(instruction: Instruction, at: int) -> list[int]:
    if instruction.op == "RETURN":
        return []
    target = [instruction.arg] if isinstance(instruction.arg, int) else []
    if instruction.op == "JUMP":
        return target
    return [at + 1, *(target if instruction.op in _JUMPS else [])]


def _touched(instruction: Instruction) -> tuple[set[str], set[str]]:
    """The names that an instruction reads and those that it stores or forgets."""
    arg = instruction.arg
    names = {name for name in arg if isinstance(name, str)} if isinstance(arg, tuple) else {arg}
    texts = {name for name in names if isinstance(name, str)}
    match instruction.op:
        case "LOAD" | "NEXT":
            return texts, set()
        case "STORE" | "FORGET":
            return set(), texts
    return set(), set()
