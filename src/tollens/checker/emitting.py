"""What compilers of one function share: its instructions in the making, labels, literals."""

from __future__ import annotations

import ast
from fractions import Fraction

from tollens.checker.errors import Refusal
from tollens.checker.module import Module
from tollens.checker.program import Instruction

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**",
}  # fmt: skip
_MAX_LITERAL = 400


class Label:
    """A place in the instructions, known once it is placed."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at = -1


class Emitter:
    """Instructions of one function in the making, and the refusals met.

    `called` are the functions and `constants` the names of the module that it uses, `draws` says
    whether it draws; `library` that it is one of ours.
    """

    def __init__(self, module: Module, heads: int, *, library: bool = False) -> None:
        self.module, self.heads, self.library = module, heads, library
        self.findings: list[Refusal] = []
        self.called: set[str] = set()
        self.constants: list[str] = []
        self.draws = False
        self.local: set[str] = set()
        self.loops: list[tuple[Label, Label]] = []
        self.entry = self.yields = False
        self._out: list[tuple[str, object, int]] = []
        self._hidden: dict[str, str] = {}
        self._count = 0

    @property
    def out(self) -> list[Instruction]:
        """The instructions so far, their jumps resolved."""
        return [
            Instruction(op, arg.at if isinstance(arg, Label) else arg, line)
            for op, arg, line in self._out
        ]

    def emit(self, op: str, arg: object, node: ast.AST) -> None:
        """Add an instruction."""
        self._out.append((op, arg, getattr(node, "lineno", 0)))

    def refuse(self, node: ast.AST, what: str, instead: str) -> None:
        """Note that a construct has no meaning here."""
        self.findings.append(Refusal(getattr(node, "lineno", 1), what, instead))

    def label(self) -> Label:
        """A place to jump to."""
        return Label()

    def place(self, label: Label) -> None:
        """The next instruction is where the label points."""
        label.at = len(self._out)

    def jump(self, op: str, label: Label | None, node: ast.AST) -> None:
        """Add an instruction that may jump."""
        if label is None:
            self.refuse(node, "a jump outside of a loop", "")
        else:
            self.emit(op, label, node)

    def constant(self, node: ast.expr) -> object:
        """The value of a literal: a rational, a text, a truth value or None."""
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as inner):
                value = self.constant(inner)
                if isinstance(value, Fraction):
                    return -value
            case ast.Constant(value=bool() | str() | None as value):
                return value
            case ast.Constant(value=int() | float()):
                return self._rational(node)
        self.refuse(node, "this constant", "write a number, a text, True, False or None")
        return None

    def _rational(self, node: ast.Constant) -> Fraction:
        """The exact value of a literal as it is written: 0.1 is one tenth."""
        line = self.module.lines[node.lineno - 1]
        text = line[node.col_offset : node.end_col_offset].decode().replace("_", "").lower()
        if len(text) <= _MAX_LITERAL:
            try:
                if isinstance(node.value, int):
                    return Fraction(node.value)
                if abs(int(text.partition("e")[2] or 0)) <= _MAX_LITERAL:
                    found = Fraction(text)
                    if _nearest(found) == node.value and (node.value != 0 or found == 0):
                        return found
            except ValueError:
                pass
        self.refuse(node, "this number", "write a decimal or a quotient of whole numbers")
        return Fraction(0)

    def hidden(self) -> str:
        """A new name that no text can contain."""
        self._count += 1
        return f"${self._count}"

    def operator(self, op: ast.operator, node: ast.AST) -> str:
        """The text of an operator."""
        found = _BINARY.get(type(op))
        if found is None:
            self.refuse(node, "an operator on bits or matrices", "use + - * / // % **")
        return found or "+"


def _nearest(value: Fraction) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None
