"""The top of a Python file: its functions, its constants and what it calls the noise primitives."""

from __future__ import annotations

import ast

from tollens.checker.program import NOISE


class Module:
    """The names of a file that a program may use."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        self.text = text
        self.lines = text.splitlines()
        self.functions: dict[str, ast.FunctionDef] = {}
        self.constants: dict[str, ast.expr] = {}
        self.changed: set[str] = set()
        self._imports: dict[str, str] = {}
        for node in tree.body:
            self._add(node)

    def _add(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef():
                self._once(node.name)
                self.functions[node.name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._once(name)
                self.constants[name] = value
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(
                names
            ) == len(values) and all(isinstance(n, ast.Name) for n in names):
                for each, value in zip(names, values, strict=True):
                    self._add(ast.Assign([each], value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._once(name)
                self.constants[name] = value
            case ast.Import(names=names):
                for alias in names:
                    self._once(alias.asname or alias.name.partition(".")[0])
                    full = alias.name if alias.asname else alias.name.partition(".")[0]
                    self._imports[alias.asname or full] = full
            case ast.ImportFrom(module=module, names=names, level=0):
                for alias in names:
                    self._once(alias.asname or alias.name)
                    self._imports[alias.asname or alias.name] = f"{module}.{alias.name}"
            case _:  # what else a file does at its top may change any name it stores
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store | ast.Del):
                        self.changed.add(inner.id)

    def _once(self, name: str) -> None:
        if name in self.functions or name in self.constants or name in self._imports:
            self.changed.add(name)

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
