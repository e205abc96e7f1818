"""Which names matter at the heads of loops: those that are read before they are set again."""

from __future__ import annotations

from tollens.checker.program import Instruction, Program


def live_names(program: Program) -> dict[int, frozenset[str]]:
    r"""For each head of a `while` loop of the program's own function, the names that matter there.

    >>> from tollens.checker.compiling import compile_text
    >>> text = "def f(x):\n    y = x\n    while x > 0:\n        y = 1\n        x -= y\n    return x"
    >>> {head: sorted(names) for head, names in live_names(compile_text(text, "f")).items()}
    {0: ['x']}
    """
    instructions = program.functions[program.name].instructions
    before: list[frozenset[str]] = [frozenset()] * (len(instructions) + 1)
    changed = True
    while changed:
        changed = False
        for at in range(len(instructions) - 1, -1, -1):
            here = instructions[at]
            after = frozenset().union(*(before[to] for to in _next(here, at)))
            names = (after - _stored(here)) | _loaded(here)
            changed |= names != before[at]
            before[at] = names
    return {
        here.arg: before[at]
        for at, here in enumerate(instructions)
        if here.op == "HEAD" and isinstance(here.arg, int)
    }


def _next(here: Instruction, at: int) -> list[int]:
    if here.op == "RETURN":
        return []
    if here.op == "JUMP" and isinstance(here.arg, int):
        return [here.arg]
    if here.op in ("BRANCH", "AND", "OR") and isinstance(here.arg, int):
        return [at + 1, here.arg]
    return [at + 1]


def _loaded(here: Instruction) -> frozenset[str]:
    if here.op == "NEXT" and isinstance(here.arg, tuple):
        return frozenset(here.arg)
    return frozenset((str(here.arg),)) if here.op == "LOAD" else frozenset()


def _stored(here: Instruction) -> frozenset[str]:
    return frozenset((str(here.arg),)) if here.op == "STORE" else frozenset()
