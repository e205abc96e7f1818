"""The top of a Python file: its functions, its constants and what it calls the noise primitives."""

from __future__ import annotations

import ast

from tollens.checker.program import NOISE


class Module:
    """The names of a file that a program may use.

    `changed` are those that it may set more than once, or otherwise than by a plain definition;
    `starred` is the line of an `import *`. `busy` says that the file does more than to define
    names, so that its lists may not be what they were when they were made.
    """

    def __init__(self, tree: ast.Module, text: str) -> None:
        self.text = text
        self.lines = text.splitlines()
        self.functions: dict[str, ast.FunctionDef] = {}
        self.constants: dict[str, ast.expr] = {}
        self.changed: set[str] = set()
        self.starred: int | None = None
        self.busy = False
        self._imports: dict[str, str] = {}
        for node in tree.body:
            self._add(node)
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
                        self.starred = node.lineno
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:  # what else a file does at its top may change any name it stores
                self.busy = self.busy or not _is_main(node)
                for inner in ast.walk(node):
                    self.changed.update(_bound(inner))

    def _constant(self, name: str, value: ast.expr) -> None:
        self._once(name)
        self.constants[name] = value
        for inner in ast.walk(value):
            self.busy = self.busy or isinstance(inner, ast.Call)
            if isinstance(inner, ast.NamedExpr):
                self.changed.add(inner.target.id)

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

    def may_vary(self, name: str) -> bool:
        """Whether a constant may hold a list that the file has changed since it was made."""
        return self.busy and any(
            not isinstance(inner, _FIXED) for inner in ast.walk(self.constants[name])
        )

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


_FIXED = (
    ast.Constant, ast.Name, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip
"""What constants are made of that cannot change."""


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
