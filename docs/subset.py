"""The tables of the guide to proofs on what can be read: each example goes through the checker.

The words of refusals are those of the checker itself, so the tables cannot drift from it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from tollens import noise
from tollens.checker import compiling, expressions, program
from tollens.checker.compiling import compile_text
from tollens.checker.errors import Refusal, Refused
from tollens.checker.machine import Limits, explore

Table = Callable[[tuple[str, ...], list[tuple[str, ...]]], str]
Cell = Callable[[str], str]

_TOP = """from fractions import Fraction
from tollens import noise

SCALE = 1/2


def twice(value, times=2):
    return value * times


def f(x):
"""

_ACCEPTED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "assignments, to several names and to items too",
        ("a, b = x, 1\na += b", "a = b = x", "a = [x]\na[0] = 1"),
    ),
    ("arithmetic", ("a = 2 * x + 1 / 3 - 7 // 2 % 2 ** 3",)),
    (
        "comparisons, chains of them, `in`, `is None`",
        ("a = 0 <= x < 3", "a = x in (0, 1) or x is not None"),
    ),
    (
        "`and`, `or`, `not`, conditional expressions",
        ("a = 1 if x > 0 and not x > 2 else 0",),
    ),
    ("`if`, `elif`, `else`", ("if x > 0:\n    a = 1\nelse:\n    a = 0",)),
    (
        "`while`, `break`, `continue`",
        ("while noise.flip(1/2):\n    x += 1\n    if x > 9:\n        break",),
    ),
    (
        "`for` over lists, tuples, `range`, `enumerate`, `zip`",
        (
            "for i, a in enumerate([x, 1]):\n    x += i * a",
            "for a, b in zip([x], [1]):\n    x += a * b",
        ),
    ),
    (
        "lists, tuples, slices without a step, `append`",
        ("a = [x, 1]\na.append((x, 2))\nb = a[0:2] + [x] * 2",),
    ),
    ("dictionaries with constant keys", ('a = {"low": x, "high": 1}\nb = a["low"]',)),
    ("comprehensions over one sequence", ("a = [2 * y for y in (x, 1) if y > 0]",)),
    ("texts, `True`, `False`, `None`", ('a = "yes" if x > 0 else None',)),
    (
        "functions of Python",
        (
            "a = len([x])",
            "a = min(x, 1)",
            "a = max([x, 1])",
            "a = sum([x, 1])",
            "a = abs(x)",
            "a = any([x > 0])",
            "a = all(y > 0 for y in [x])",
            "a = round(x / 3, 2)",
            "a = int(x)",
            "a = float(x)",
            "a = bool(x)",
            "a = list(range(3))",
            "a = tuple([x])",
        ),
    ),
    ("`Fraction` of the standard library", ("a = Fraction(1, 3) * x",)),
    ("functions of the same file, with defaults and names", ("a = twice(value=x)",)),
    ("constants of the file", ("a = x * SCALE",)),
    (
        "early `return`; `yield`: the output is the tuple of all that is yielded",
        ("if x > 0:\n    return 1", "yield x\nyield 2"),
    ),
)

_REFUSED = (
    "def g(y):\n    return y",
    "class A:\n    pass",
    "try:\n    a = 1\nexcept ValueError:\n    a = 2",
    "with x:\n    pass",
    "raise ValueError",
    "assert x > 0",
    "import math",
    "from math import sqrt",
    "global SCALE",
    "del x",
    "match x:\n    case 0:\n        return 1",
    "for i in [x]:\n    pass\nelse:\n    pass",
    "a = lambda y: y",
    "a = {y: 1 for y in [x]}",
    "a = {y for y in [x]}",
    "a = {x, 1}",
    'a = f"{x}"',
    "a = (b := x)",
    "a = x.real",
    "a = yield x",
    "yield from [x]",
    "a = [x][::2]",
    "a = [*[x], 1]",
    "a = (y for y in [x])",
    "a = [p * q for p in [x] for q in [1]]",
    "a = {**{}}",
    "a = x & 1",
    "a = ~x",
    "a = 1e999",
    "a = 2j",
    "a = unknown",
    "a = twice(*[x])",
    "a = range(3)",
    "a = random.random()",
    "a = rng.laplace()",
    "a = np.exp(x)",
    "a = math.exp(x)",
    "print(x)",
    "a = sorted([x])",
    "a = x.sample()",
)

_FAULTS = (
    "a = noise.laplace(1) * noise.laplace(1)",
    "a = 1 / noise.laplace(1)",
    "a = noise.laplace(1) ** 2",
    "a = round(noise.laplace(1))",
    "a = int(noise.laplace(1))",
    "a = noise.laplace(noise.uniform(1, 2))",
    "if noise.laplace(1):\n    pass",
    "a = [0, 1][noise.laplace(1)]",
    "a = noise.flip(2)",
    "a = noise.laplace(0)",
    "a = 2 ** (1/2)",
    "a = 1 / (x - 1)",
    "a = [0][1]",
    'a = {"low": 1}["high"]',
    "if x > 2:\n    y = 1\nreturn y",
    'a = x + "1"',
)

_NO_PYTHON = ("await", "nonlocal")
"""What Python itself does not take where a program may have it."""

_VALUES = {
    "laplace": "1", "gauss": "1", "exponential": "1", "uniform": "0, 1", "geometric": "1/2",
    "flip": "1/2", "discrete": "{0: 1/2, 1: 1/2}",
}  # fmt: skip


def accepted(table: Table) -> str:
    """What is accepted: each example is read and gone through."""
    rows = []
    named = set()
    for what, bodies in _ACCEPTED:
        for body in bodies:
            explore(compile_text(_text(body), "f"), 1, Limits(rounds=12))
            named |= {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
        rows.append((what, " ".join(map(_code, bodies))))
    _none(
        {*program.BUILTINS, *expressions.REDUCERS} - named, "functions of Python without an example"
    )
    return table(("accepted", "such as"), rows)


def refused(table: Table, cell: Cell) -> str:
    """What is refused when the text is read."""
    read: dict[tuple[str, str], str] = {}
    for body in _REFUSED:
        for each in _findings(body):
            read.setdefault((each.what, each.instead), body)
    known = {*compiling._STATEMENTS.values(), *expressions._EXPRESSIONS.values()}
    left = {(what, instead) for what, instead in known - set(read) if what not in _NO_PYTHON}
    _none(left, "refusals without an example")
    rows = [(_code(body), cell(what), cell(instead)) for (what, instead), body in read.items()]
    return table(("such as", "refused as", "write instead"), rows)


def faults(table: Table, cell: Cell) -> str:
    """What is refused on an input, when the program is gone through."""
    rows = []
    for body in _FAULTS:
        (each,) = _findings(body)
        rows.append((_code(body), cell("; ".join(filter(None, (each.what, each.instead))))))
    return table(("such as", "refused as"), rows)


def primitives(table: Table, cell: Cell) -> str:
    """The primitives of `tollens.noise`."""
    rows = []
    for name, parameters in program.NOISE.items():
        what = (getattr(noise, name).__doc__ or "").split("\n\n")[0]
        text = _text(f"return noise.{name}({_VALUES[name]})")
        paths = explore(compile_text(text, "f"), 1, Limits(rounds=12)).paths
        made = "a symbol" if paths[0].draws else "a run for each value"
        rows.append((f"`{name}({', '.join(parameters)})`", cell(what), made))
    return table(("primitive", "a draw", "in a proof"), rows)


def _text(body: str) -> str:
    lines = body.split("\n") + ([] if "yield" in body else ["return x"])
    return _TOP + "\n".join(f"    {line}" for line in lines) + "\n"


def _code(body: str) -> str:
    lines = re.sub(r":\n +", ": ", body).split("\n")
    return f"`{'; '.join(line.strip() for line in lines)}`".replace("|", "\\|")


def _findings(body: str) -> tuple[Refusal, ...]:
    try:
        explore(compile_text(_text(body), "f"), 1)
    except Refused as refused:
        return refused.findings
    raise ValueError(f"not refused: {body}")


def _none(left: set, what: str) -> None:
    if left:
        raise ValueError(f"{what}: {left}")
