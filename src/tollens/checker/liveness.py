"""Which variables a function may still read, at each of its instructions.

A variable is live where some way from there reads it before it is stored anew. What is dead makes
no difference to how a run goes on. Source: Kildall, A unified approach to global program
optimization, POPL 1973.
"""

from __future__ import annotations

from collections.abc import Sequence

from tollens.checker.program import Instruction

_JUMPS = ("JUMP", "BRANCH", "AND", "OR")


def live(code: Sequence[Instruction]) -> list[frozenset[str]]:
    r"""The names that are live before each instruction.

    >>> from tollens.checker.compiling import compile_text
    >>> text = "def f(x):\n    y = 1\n    while x > 0:\n        y = x\n        x = x - y\n"
    >>> code = compile_text(text, "f").functions["f"].instructions
    >>> [sorted(names) for names, i in zip(live(code), code) if i.op == "HEAD"]
    [['x']]
    """
    found: list[frozenset[str]] = [frozenset()] * (len(code) + 1)
    changed = True
    while changed:
        changed = False
        for at in range(len(code) - 1, -1, -1):
            after: set[str] = set()
            for following in _following(code[at], at):
                after |= found[following]
            read, stored = _touched(code[at])
            before = frozenset((after - stored) | read)
            if before != found[at]:
                found[at], changed = before, True
    return found


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
