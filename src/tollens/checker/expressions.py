"""Compiles expressions to instructions of the stack machine."""

from __future__ import annotations

import ast
from collections.abc import Callable
from fractions import Fraction

from tollens.checker.emitting import Emitter, Label
from tollens.checker.program import BUILTINS, LIBRARY, NOISE, REDUCERS

_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip


class Expressions(Emitter):
    """Compiles expressions."""

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
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() | ast.Not()):
                self.expression(node.operand)
                for _ in range(1 + isinstance(node.op, ast.UAdd)):  # +x is --x, a number too
                    self.emit("NOT" if isinstance(node.op, ast.Not) else "NEGATE", None, node)
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
                self.dictionary(node)
            case ast.Subscript():
                self.subscript(node)
            case ast.ListComp():
                self.comprehension(node)
            case ast.Call():
                self.call(node)
            case _:
                what = type(node).__name__.lower()
                self.refuse(node, *_EXPRESSIONS.get(type(node), (f"this {what}", "")))
                self.emit("CONST", None, node)

    def dictionary(self, node: ast.Dict) -> None:
        """A dictionary with constant keys."""
        if None in node.keys:
            self.refuse(node, "** in a dictionary", "write its keys")
        keys = tuple(self.constant(key) if key else None for key in node.keys)
        for value in node.values:
            self.expression(value)
        self.emit("DICT", keys, node)

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
            if isinstance(op, ast.In | ast.NotIn) and self._iterator(right) == "range":
                self.consumed(right)
            else:
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
        self, items: ast.expr, target: ast.expr, body: Callable[[], None], node: ast.AST,
        scope: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        """A loop over a list, a tuple or a range."""
        head, end = self.label(), self.label()
        used: list[str] = []
        advance = self._source(items, used, end)
        self.place(head)
        self.emit("HEAD", None, node)
        advance()
        if scope is not None:  # of a comprehension: its items are evaluated outside of it
            self._hidden = scope
        self.store(target)
        self.loops.append((head, end))
        body()
        self.loops.pop()
        self.jump("JUMP", head, node)
        self.place(end)
        self.emit("FORGET", tuple(used), node)

    def _iterator(self, node: ast.expr) -> str | None:
        """Whether an expression is a call of range, enumerate or zip, which lists are made of."""
        match node:
            case ast.Call(func=ast.Name(id=("range" | "enumerate" | "zip") as name), keywords=[]):
                starred = any(isinstance(a, ast.Starred) for a in node.args)
                return name if self.builtin(name) and not starred else None
        return None

    def _source(self, items: ast.expr, used: list[str], end: Label) -> Callable[[], None]:
        """Prepare a loop; what is returned emits the step to its next item, or to the end.

        Items of `enumerate` and `zip` are taken one by one: a list may change within its loop.
        """

        def hidden() -> str:
            used.append(self.hidden())
            return used[-1]

        def item() -> None:
            self.emit("NEXT", (sequence, index), items)
            self.jump("BRANCH", end, items)

        def numbered() -> None:
            inner[0]()
            self.emit("STORE", value, items)
            self.emit("LOAD", index, items)
            self.emit("CONST", Fraction(1), items)
            self.emit("BINARY", "+", items)
            self.emit("DUP", 1, items)
            self.emit("STORE", index, items)
            self.emit("LOAD", value, items)
            self.emit("TUPLE", 2, items)

        def together() -> None:
            kept = []
            for advance in inner:
                advance()
                kept.append(hidden())
                self.emit("STORE", kept[-1], items)
            for each in kept:
                self.emit("LOAD", each, items)
            self.emit("TUPLE", len(kept), items)

        name = self._iterator(items)
        arguments = items.args if isinstance(items, ast.Call) else []
        if name == "zip" and arguments:
            inner = [self._source(argument, used, end) for argument in arguments]
            return together
        if name == "enumerate" and len(arguments) in (1, 2):
            inner = [self._source(arguments[0], used, end)]
            index, value = hidden(), hidden()
            if len(arguments) == 1:
                self.emit("CONST", Fraction(0), items)
            else:
                self.expression(arguments[1])
            self.emit("BUILTIN", ("whole", 1), items)
            self.emit("CONST", Fraction(1), items)
            self.emit("BINARY", "-", items)
            self.emit("STORE", index, items)
            return numbered
        sequence, index = hidden(), hidden()
        if name == "range":
            self.consumed(items)
        else:
            self.expression(items)
        self.emit("ITERATE", None, items)
        self.emit("STORE", sequence, items)
        self.emit("CONST", Fraction(-1), items)
        self.emit("STORE", index, items)
        return item

    def consumed(self, node: ast.expr) -> None:
        """An argument of a function of Python that takes all of its items at once."""
        name = self._iterator(node)
        if isinstance(node, ast.GeneratorExp):
            self.comprehension(node)
        elif name == "range" and isinstance(node, ast.Call):
            for argument in node.args:
                self.expression(argument)
            self.emit("BUILTIN", (name, len(node.args)), node)
        elif name is not None:  # [item for item in node]
            item = ast.copy_location(ast.Name("$item", ast.Load()), node)
            target = ast.copy_location(ast.Name("$item", ast.Store()), node)
            generator = ast.comprehension(target, node, [], 0)
            self.comprehension(ast.copy_location(ast.ListComp(item, [generator]), node))
        else:
            self.expression(node)

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

        self.loop(generator.iter, generator.target, guarded, node, inside)
        self._hidden = before
        self.emit("FORGET", tuple(sorted(set(inside.values()) - set(before.values()))), node)

    def call(self, node: ast.Call) -> None:
        """A call of a primitive, of a function of the file, or of one of Python's."""
        if any(isinstance(a, ast.Starred) for a in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            self.refuse(node, "a call with * or **", "write the arguments")
        meant = self._meant(node.func)
        primitive = self.module.primitive(node.func) if meant else None
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
            case ast.Name(id=name) if name in REDUCERS + BUILTINS and not self.builtin(name):
                self.refuse(node, f"a call of {name}, which is not that of Python", "rename it")
                self.emit("CONST", None, node)
            case ast.Name(id=name) if name in REDUCERS and not node.keywords:
                match name, node.args:
                    case (("any" | "all"), [ast.GeneratorExp() as items]):
                        self._quantifier(items, name == "any")
                    case _:
                        self.reducer(name, node)
            case ast.Name(id=("range" | "enumerate" | "zip") as name):
                self.refuse(node, f"{name} outside of a loop", f"write list({name}(...))")
                self.emit("CONST", None, node)
            case ast.Name(id=name) if name in BUILTINS and not node.keywords:
                self.computed(name, node)
            case ast.Attribute(attr="append") if len(node.args) == 1 and not node.keywords:
                self.expression(node.func.value)
                self.expression(node.args[0])
                self.emit("APPEND", None, node)
            case _ if meant == "fractions.Fraction" and not node.keywords:
                for argument in node.args:
                    self.expression(argument)
                self.emit("BUILTIN", ("Fraction", len(node.args)), node)
            case _:
                what = ast.unparse(node.func)[:60]
                self.refuse(node, f"a call of {what}", _CALLS.get(what.split(".")[0], _CALL))
                self.emit("CONST", None, node)

    def computed(self, name: str, node: ast.Call) -> None:
        """A call of a function of Python that the machine computes."""
        for argument in node.args:
            if name in ("list", "tuple") or (name, self._iterator(argument)) == _LENGTH:
                self.consumed(argument)
            else:
                self.expression(argument)
        self.emit("BUILTIN", (name, len(node.args)), node)

    def reducer(self, name: str, node: ast.Call) -> None:
        """A call of max, min, sum, abs, any or all, which the library has in the subset."""
        several = name in ("max", "min") and len(node.args) > 1
        fixed = all(isinstance(other, ast.Constant | ast.Name) for other in node.args[1:])
        for i, argument in enumerate(node.args):
            if name == "abs" or several or i > 0 or not fixed:
                self.expression(argument)
            else:  # its items are taken after the other argument is evaluated
                self.consumed(argument)
        if several:
            self.emit("TUPLE", len(node.args), node)
        elif name == "sum" and len(node.args) == 1:
            self.emit("CONST", Fraction(0), node)
        elif len(node.args) != 1 + (name == "sum"):
            self.refuse(node, f"{name} with these arguments", "")
        elif name == "sum":
            self.emit("BUILTIN", ("start", 1), node)
        self.called.add(LIBRARY + name)
        self.emit("CALL", LIBRARY + name, node)

    def builtin(self, name: str) -> bool:
        """Whether a name of Python has its own meaning here."""
        return name not in self.local and not self.module.binds(name)

    def _meant(self, function: ast.expr) -> str | None:
        """The dotted name of what is imported and called, if no name of the function hides it."""
        base = function
        while isinstance(base, ast.Attribute):
            base = base.value
        hidden = isinstance(base, ast.Name) and base.id in self.local
        return None if hidden else self.module.full_name(function)

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
        order = [name for name in names if name in given]
        kept: dict[str, str] = {}
        if list(given) != order:  # arguments are evaluated as they are written
            for name, argument in given.items():
                kept[name] = self.hidden()
                self.expression(argument)
                self.emit("STORE", kept[name], node)
        for name in names:
            if name in kept:
                self.emit("LOAD", kept[name], node)
            elif name in given:
                self.expression(given[name])
            else:
                self.emit("MISSING", None, node)
        if kept:
            self.emit("FORGET", tuple(kept.values()), node)


_LENGTH = ("len", "range")


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
    ast.GeneratorExp: ("a generator that is kept", "write a list: [ in place of ("),
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
    ast.UnaryOp: ("an operator on bits", "use + - * / // % **"),
}
