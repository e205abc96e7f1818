"""Compiles expressions to instructions of the stack machine."""

from __future__ import annotations

import ast
from collections.abc import Callable
from fractions import Fraction

from tollens.checker.errors import Refusal
from tollens.checker.module import Module
from tollens.checker.program import BUILTINS, LIBRARY, NOISE, Instruction

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_REDUCERS = ("abs", "all", "any", "max", "min", "sum")
_MAX_LITERAL = 400


class Label:
    """A place in the instructions, known once it is placed."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at = -1


class Expressions:
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
                return -value if isinstance(value, Fraction) else value
            case ast.Constant(value=bool() | str() | None as value):
                return value
            case ast.Constant(value=int() | float()):
                return self._rational(node)
        self.refuse(node, "this constant", "write a number, a text, True, False or None")
        return None

    def _rational(self, node: ast.Constant) -> Fraction:
        """The exact value of a literal as it is written: 0.1 is one tenth."""
        written = ast.get_source_segment(self.module.text, node) or ""
        text = written.replace("_", "").lower()
        if len(text) <= _MAX_LITERAL:
            try:
                if isinstance(node.value, int):
                    return Fraction(node.value)
                if abs(int(text.partition("e")[2] or 0)) <= _MAX_LITERAL:
                    return Fraction(text)
            except ValueError:
                pass
        self.refuse(node, "this number", "write a decimal or a quotient of whole numbers")
        return Fraction(0)

    def optional(self, node: ast.expr | None, place: ast.AST) -> None:
        """An expression, or None."""
        if node is None:
            self.emit("CONST", None, place)
        else:
            self.expression(node)

    def expression(self, node: ast.expr) -> None:
        """Leave the value of an expression on the stack."""
        match node:
            case ast.Constant():
                self.emit("CONST", self.constant(node), node)
            case ast.Name():
                self.name(node)
            case ast.UnaryOp(op=ast.UAdd()):
                self.expression(node.operand)
            case ast.UnaryOp(op=ast.USub() | ast.Not()):
                self.expression(node.operand)
                self.emit("NEGATE" if isinstance(node.op, ast.USub) else "NOT", None, node)
            case ast.BinOp():
                self.expression(node.left)
                self.expression(node.right)
                self.emit("BINARY", self.operator(node.op, node), node)
            case ast.BoolOp():
                self.boolean(node)
            case ast.Compare():
                self.comparison(node)
            case ast.IfExp():
                self.conditional(node)
            case ast.List() | ast.Tuple():
                for item in node.elts:
                    self.expression(item)
                self.emit("LIST" if isinstance(node, ast.List) else "TUPLE", len(node.elts), node)
            case ast.Dict():
                keys = tuple(self.constant(key) if key else None for key in node.keys)
                for value in node.values:
                    self.expression(value)
                self.emit("DICT", keys, node)
            case ast.Subscript():
                self.subscript(node)
            case ast.ListComp() | ast.GeneratorExp():
                self.comprehension(node)
            case ast.Call():
                self.call(node)
            case _:
                what = type(node).__name__.lower()
                self.refuse(node, *_EXPRESSIONS.get(type(node), (f"this {what}", "")))
                self.emit("CONST", None, node)

    def boolean(self, node: ast.BoolOp) -> None:
        """`and` and `or`, which leave the value that decided."""
        end = self.label()
        for value in node.values[:-1]:
            self.expression(value)
            self.jump("AND" if isinstance(node.op, ast.And) else "OR", end, node)
        self.expression(node.values[-1])
        self.place(end)

    def conditional(self, node: ast.IfExp) -> None:
        """`body if test else orelse`."""
        otherwise, end = self.label(), self.label()
        self.expression(node.test)
        self.jump("BRANCH", otherwise, node)
        self.expression(node.body)
        self.jump("JUMP", end, node)
        self.place(otherwise)
        self.expression(node.orelse)
        self.place(end)

    def subscript(self, node: ast.Subscript) -> None:
        """An item or a slice without a step."""
        self.expression(node.value)
        if isinstance(node.slice, ast.Slice):
            if node.slice.step is not None:
                self.refuse(node, *_EXPRESSIONS[ast.Subscript])
            self.optional(node.slice.lower, node)
            self.optional(node.slice.upper, node)
            self.emit("SLICE", None, node)
        else:
            self.expression(node.slice)
            self.emit("INDEX", None, node)

    def operator(self, op: ast.operator, node: ast.AST) -> str:
        """The text of an operator."""
        found = _BINARY.get(type(op))
        if found is None:
            self.refuse(node, "an operator on bits or matrices", "use + - * / // % **")
        return found or "+"

    def name(self, node: ast.Name) -> None:
        """A name: of the function, or else of the module."""
        name = self._hidden.get(node.id, node.id)
        if name in self.local or name.startswith("$"):
            self.emit("LOAD", name, node)
        elif name in self.module.changed:
            self.refuse(node, f"{name}, which the file sets more than once", "set it once")
        elif name in self.module.constants:
            self.constants.append(name)
            self.emit("GLOBAL", name, node)
        else:
            self.refuse(node, f"the name {name}", "use arguments, constants of this file and calls")
            self.emit("CONST", None, node)

    def comparison(self, node: ast.Compare) -> None:
        """A comparison or a chain of them, each operand evaluated once."""
        end = self.label()
        self.expression(node.left)
        for i, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            last = i == len(node.ops) - 1
            self.expression(right)
            if last:
                self.emit("COMPARE", _COMPARE[type(op)], node)
            else:
                kept = self.hidden()
                self.emit("DUP", 1, node)
                self.emit("STORE", kept, node)
                self.emit("COMPARE", _COMPARE[type(op)], node)
                self.jump("AND", end, node)
                self.emit("LOAD", kept, node)
        self.place(end)

    def hidden(self) -> str:
        """A new name that no text can contain."""
        self._count += 1
        return f"${self._count}"

    def store(self, target: ast.expr) -> None:
        """Store what lies on the stack."""
        match target:
            case ast.Name():
                self.emit("STORE", self._hidden.get(target.id, target.id), target)
            case ast.Tuple() | ast.List():
                self.emit("UNPACK", len(target.elts), target)
                for item in target.elts:
                    self.store(item)
            case ast.Subscript() if not isinstance(target.slice, ast.Slice):
                self.expression(target.value)
                self.expression(target.slice)
                self.emit("SETITEM", "above", target)
            case _:
                self.refuse(target, "this target of an assignment", "assign to names and items")
                self.emit("POP", None, target)

    def loop(
        self, items: ast.expr, target: ast.expr, body: Callable[[], None], node: ast.AST
    ) -> None:
        """A loop over a list, a tuple or a range."""
        head, end = self.label(), self.label()
        sequence, index = self.hidden(), self.hidden()
        self.expression(items)
        self.emit("ITERATE", None, node)
        self.emit("STORE", sequence, node)
        self.emit("CONST", Fraction(-1), node)
        self.emit("STORE", index, node)
        self.place(head)
        self.emit("HEAD", None, node)
        self.emit("NEXT", (sequence, index), node)
        self.jump("BRANCH", end, node)
        self.store(target)
        self.loops.append((head, end))
        body()
        self.loops.pop()
        self.jump("JUMP", head, node)
        self.place(end)
        self.emit("FORGET", (sequence, index), node)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> None:
        """`[value for target in items if test]`, as the loop that it is."""
        made = self.hidden()
        self.emit("LIST", 0, node)
        self.emit("STORE", made, node)

        def add() -> None:
            self.emit("LOAD", made, node)
            self.expression(node.elt)
            self.emit("APPEND", None, node)
            self.emit("POP", None, node)

        self._generators(node, add)
        self.emit("LOAD", made, node)
        self.emit("FORGET", (made,), node)

    def _quantifier(self, node: ast.GeneratorExp, wanted: bool) -> None:
        """`any` and `all` of a generator expression: they stop at the first that decides."""
        result = self.hidden()
        self.emit("CONST", not wanted, node)
        self.emit("STORE", result, node)

        def test() -> None:
            over = self.label()
            self.expression(node.elt)
            if not wanted:
                self.emit("NOT", None, node)
            self.jump("BRANCH", over, node)
            self.emit("CONST", wanted, node)
            self.emit("STORE", result, node)
            self.jump("JUMP", self.loops[-1][1], node)
            self.place(over)

        self._generators(node, test)
        self.emit("LOAD", result, node)
        self.emit("FORGET", (result,), node)

    def _generators(self, node: ast.ListComp | ast.GeneratorExp, body: Callable[[], None]) -> None:
        generator = node.generators[0]
        if len(node.generators) > 1 or generator.is_async:
            self.refuse(node, "a comprehension with several for", "write loops")
        before = dict(self._hidden)
        for inner in ast.walk(generator.target):
            if isinstance(inner, ast.Name):
                self._hidden[inner.id] = self.hidden()
        inside, self._hidden = self._hidden, before

        def guarded() -> None:
            skip = self.label()
            for test in generator.ifs:
                self.expression(test)
                self.jump("BRANCH", skip, node)
            body()
            self.place(skip)

        # the items are evaluated outside of the scope of the targets
        items = self.hidden()
        self.expression(generator.iter)
        self.emit("STORE", items, node)
        self._hidden = inside
        name = ast.copy_location(ast.Name(items, ast.Load()), node)
        self.loop(name, generator.target, guarded, node)
        self._hidden = before
        self.emit("FORGET", (items, *sorted(set(inside.values()) - set(before.values()))), node)

    def call(self, node: ast.Call) -> None:
        """A call of a primitive, of a function of the file, or of one of Python's."""
        if any(isinstance(a, ast.Starred) for a in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            self.refuse(node, "a call with * or **", "write the arguments")
        primitive = self.module.primitive(node.func)
        match node.func:
            case _ if primitive:
                self.draws = True
                if primitive == "geometric":
                    self.called.add(LIBRARY + primitive)
                self.arguments(node, NOISE[primitive], 0, primitive)
                self.emit("DRAW", primitive, node)
            case ast.Name(id=name) if name in self.local or name in self.module.changed:
                self.refuse(node, f"a call of {name}, which is not one fixed function", "")
                self.emit("CONST", None, node)
            case ast.Name(id=name) if name in self.module.functions:
                self.called.add(name)
                known = self.module.functions[name].args
                parameters = tuple(a.arg for a in known.args)
                self.arguments(node, parameters, len(known.defaults), name)
                self.emit("CALL", name, node)
            case ast.Name(id=("any" | "all") as name) if len(node.args) == 1 and isinstance(
                node.args[0], ast.GeneratorExp
            ):
                self._quantifier(node.args[0], name == "any")
            case ast.Name(id=name) if name in _REDUCERS and not node.keywords:
                self.reducer(name, node)
            case ast.Name(id=name) if name in BUILTINS and not node.keywords:
                for argument in node.args:
                    self.expression(argument)
                self.emit("BUILTIN", (name, len(node.args)), node)
            case ast.Attribute(attr="append") if len(node.args) == 1 and not node.keywords:
                self.expression(node.func.value)
                self.expression(node.args[0])
                self.emit("APPEND", None, node)
            case _ if self.module.full_name(node.func) == "fractions.Fraction":
                for argument in node.args:
                    self.expression(argument)
                self.emit("BUILTIN", ("Fraction", len(node.args)), node)
            case _:
                what = ast.unparse(node.func)[:60]
                self.refuse(node, f"a call of {what}", _CALLS.get(what.split(".")[0], _CALL))
                self.emit("CONST", None, node)

    def reducer(self, name: str, node: ast.Call) -> None:
        """A call of max, min, sum, abs, any or all, which the library has in the subset."""
        several = name in ("max", "min") and len(node.args) > 1
        for argument in node.args:
            self.expression(argument)
        if several:
            self.emit("TUPLE", len(node.args), node)
        elif name == "sum" and len(node.args) == 1:
            self.emit("CONST", Fraction(0), node)
        elif len(node.args) != 1 + (name == "sum"):
            self.refuse(node, f"{name} with these arguments", "")
        self.called.add(LIBRARY + name)
        self.emit("CALL", LIBRARY + name, node)

    def arguments(self, node: ast.Call, names: tuple[str, ...], optional: int, called: str) -> None:
        """The arguments of a call in the order of the parameters; one left out is marked."""
        given = dict(zip(names, node.args, strict=False))
        known = len(node.args) <= len(names)
        for keyword in node.keywords:
            known = known and keyword.arg in names and keyword.arg not in given
            given[str(keyword.arg)] = keyword.value
        required = names[: len(names) - optional]
        if not known or any(name not in given for name in required):
            self.refuse(node, f"a call of {called} with these arguments", f"it takes {names}")
        for name in names:
            if name in given:
                self.expression(given[name])
            else:
                self.emit("MISSING", None, node)


_CALL = "call functions of this file, primitives of tollens.noise, and the functions of the subset"
_CALLS = {
    "random": "draw from tollens.noise",
    "np": "draw from tollens.noise and write arithmetic on numbers and lists",
    "numpy": "draw from tollens.noise and write arithmetic on numbers and lists",
    "rng": "draw from tollens.noise",
    "math": "write the value as a decimal or a quotient; literals are exact",
    "print": "return what matters",
    "sorted": "take max or min in a loop",
}
_EXPRESSIONS: dict[type[ast.expr], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write a function at the top of the file"),
    ast.DictComp: ("a dictionary comprehension", "write a dictionary with constant keys"),
    ast.SetComp: ("a set", "use a list"),
    ast.Set: ("a set", "use a list"),
    ast.JoinedStr: ("a formatted text", "return the values themselves"),
    ast.NamedExpr: (":=", "assign in a line of its own"),
    ast.Attribute: ("an attribute", "use numbers, lists, tuples and dictionaries"),
    ast.Await: ("await", "write an ordinary function"),
    ast.Yield: ("the value of yield", "write yield in a line of its own"),
    ast.YieldFrom: ("yield from", "write a loop that yields"),
    ast.Subscript: ("a slice with a step", "write a loop"),
    ast.Starred: ("*", "write the items"),
}
