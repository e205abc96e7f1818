"""The top of a Python file: its functions, its constants and what it calls the noise primitives."""

from __future__ import annotations

import ast
import re

from tollens.checker.errors import Refusal
from tollens.checker.program import BUILTINS, NOISE, REDUCERS

ONLY_PROMISES = "only @tollens.promise has a meaning here"


class Module:
    """The names of a file that a program may use.

    The top of the file must do nothing but bind names: what it runs could change any of them, and
    what an import runs is taken not to. `findings` is what else it does. `changed` are names that
    it may set more than once, `placed` is which statement makes a constant.
    """

    def __init__(self, tree: ast.Module, text: str) -> None:
        self.text = text
        self.lines = [line.encode() for line in _LINES.split(text)]
        self.functions: dict[str, ast.FunctionDef] = {}
        self.constants: dict[str, ast.expr] = {}
        self.changed: set[str] = set()
        self.placed: dict[str, int] = {}
        self.findings: list[Refusal] = []
        self._imports: dict[str, str] = {}
        self._at = 0
        for self._at, node in enumerate(tree.body):
            self._add(node)
        for node in tree.body:
            self._evaluated(node)
        for name in sorted({*self.functions, *self.constants, *self._imports, *self.changed}):
            if name.startswith("__") and name.endswith("__"):
                self.findings.append(
                    Refusal(1, f"{name}, which Python reads", "write another name")
                )
        for inner in ast.walk(tree):
            if isinstance(inner, ast.Global):
                self.changed.update(inner.names)

    def _add(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef():
                self._once(node.name)
                self.functions[node.name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._constant(name, value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(
                names
            ) == len(values) and all(isinstance(n, ast.Name) for n in names):
                for each, value in zip(names, values, strict=True):
                    self._add(ast.Assign([each], value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._constant(name, value)
            case ast.Import(names=names):
                for alias in names:
                    full = alias.name if alias.asname else alias.name.partition(".")[0]
                    self._import(alias.asname or full, full)
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    full = f"{'.' * level}{module or ''}.{alias.name}"
                    self._import(alias.asname or alias.name, full)
                    if alias.name == "*":
                        self.findings.append(Refusal(node.lineno, "import *", "import each name"))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                if not _is_main(node):
                    what = f"{type(node).__name__.lower()} at the top of the file"
                    self.findings.append(Refusal(node.lineno, what, "define functions, constants"))
                for inner in ast.walk(node):
                    self.changed.update(_bound(inner))

    def _constant(self, name: str, value: ast.expr) -> None:
        self._once(name)
        self.constants[name], self.placed[name] = value, self._at

    def _evaluated(self, node: ast.stmt) -> None:
        """Refuse what a definition evaluates, unless that cannot change anything."""
        made: list[ast.expr | None] = []
        match node:
            case ast.FunctionDef(args=args):
                every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
                made = [*args.defaults, *args.kw_defaults, node.returns]
                made += [argument.annotation for argument in every if argument]
                made += [a for each in node.decorator_list for a in self._arguments(each)]
            case ast.Assign(value=value):
                made = [value]
            case ast.AnnAssign(value=value, annotation=annotation):
                made = [value, annotation]
        for inner in (inner for each in made if each for inner in ast.walk(each)):
            called = isinstance(inner, ast.Call) and not self._is_pure(inner.func)
            if called or isinstance(inner, _ACTIVE):
                line = getattr(inner, "lineno", node.lineno)
                what = "what runs when the file is loaded"
                self.findings.append(Refusal(line, what, "write constants"))

    def _arguments(self, decorator: ast.expr) -> list[ast.expr]:
        """Those of a promise; another decorator is refused."""
        if isinstance(decorator, ast.Call) and self.is_promise(decorator):
            return [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
        self.findings.append(Refusal(decorator.lineno, "a decorator", ONLY_PROMISES))
        return []

    def _is_pure(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Name) and function.id in (*BUILTINS, *REDUCERS):
            return not self.binds(function.id)
        return self.full_name(function) in _PURE

    def _import(self, name: str, full: str) -> None:
        if self._imports.get(name) != full:
            self._once(name)
        self._imports[name] = full

    def _once(self, name: str) -> None:
        if self.binds(name):
            self.changed.add(name)

    def binds(self, name: str) -> bool:
        """Whether the file gives a name a meaning at its top."""
        known = name in self.functions or name in self.constants or name in self._imports
        return known or name in self.changed

    def full_name(self, node: ast.expr) -> str | None:
        """The dotted name that an expression means, by the imports; None if it is none.

        >>> tree = ast.parse("from tollens import noise as n")
        >>> Module(tree, "").full_name(ast.parse("n.laplace", mode="eval").body)
        'tollens.noise.laplace'
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._imports:
            return None
        if node.id in self.changed:
            return None
        return ".".join([self._imports[node.id], *reversed(parts)])

    def primitive(self, node: ast.expr) -> str | None:
        """Which noise primitive an expression means, if it means one."""
        name = self.full_name(node)
        if name is None or not name.startswith("tollens.noise."):
            return None
        primitive = name.removeprefix("tollens.noise.")
        return primitive if primitive in NOISE else None

    def is_promise(self, node: ast.expr) -> bool:
        """Whether a decorator is `tollens.promise(...)`, which leaves its function as it is."""
        return isinstance(node, ast.Call) and self.full_name(node.func) == "tollens.promise"


_LINES = re.compile(r"\r\n|\r|\n")
_ACTIVE = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda)
"""Expressions that may do more than to have a value, besides calls."""

_CLAIMS = ("pure", "approx", "gaussian", "zcdp", "renyi", "queries", "add_remove", "substitute")
_PURE = ("fractions.Fraction", *(f"tollens.{name}" for name in _CLAIMS))


def _bound(node: ast.AST) -> list[str]:
    """The names that a statement may give another meaning, but for statements within it."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.alias():
            return [node.asname or node.name.partition(".")[0]]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return [name]
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case (
            ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del())
        ):
            return [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]
    return []


def _is_main(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__":`, which an import leaves out."""
    match node:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            ),
            orelse=[],
        ):
            return True
    return False
