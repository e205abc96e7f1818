"""From a function to the text that a proof is about: itself and what it uses, and no more.

The text is cut out of the file of the function: its definition, those of the functions that it
calls, the constants that it reads, and the imports of both. It is compiled once more and must give
the code of the function that was passed, so a file that changed meanwhile is noticed.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import types
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import tollens.noise
from tollens.errors import UsageError
from tollens.mechanism import Batched
from tollens.promises import promise

_WRITE = "write it as a function of its data, `def name(data):`, that draws from tollens.noise"


@dataclass(frozen=True, slots=True)
class Program:
    """The text of a program and where it was taken from.

    `lines` holds, for each line of `text`, the line of `file` that it is (0: of none).
    """

    text: str
    name: str
    file: str
    lines: tuple[int, ...]
    notes: tuple[str, ...] = ()

    def place(self, line: int) -> str:
        r"""Where a line of the text stands, such as `counts.py:12`.

        >>> Program("def f(x):\n    return x", "f", "counts.py", (11, 12)).place(2)
        'counts.py:12'
        """
        at = self.lines[line - 1] if 0 < line <= len(self.lines) else 0
        return f"{self.file}:{at}" if at else self.file


@dataclass(frozen=True, slots=True)
class _Piece:
    """A statement of the text; `line` is its first one in the file, 0 where it is ours."""

    line: int
    text: str


def read_program(function: object) -> Program:
    r"""The program of a function, from its file.

    Raises `UsageError` where there is no such text: for what is no plain function, for lambdas
    and functions inside of others that use their variables, and for files that have changed.

    >>> from tollens.zoo import rare
    >>> print("\n".join(read_program(rare.rare_leak_masses).text.splitlines()[:4]))
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def rare_leak_masses(data: int, *, leak: float) -> Array:
    """
    plain = _plain_function(function)
    reader = _Reader(plain)
    reader.add(plain)
    text, lines = _joined(reader.pieces)
    file = _seen(plain.__code__.co_filename)
    own, _ = _joined([piece for piece in reader.pieces if piece.line])
    if not _same(_compiled(own, plain.__name__), plain.__code__):
        raise UsageError(
            f"the text of {plain.__name__} in {file} is not what was loaded: the file has "
            "changed since, or a tool rewrites it; load it again"
        )
    return Program(text, plain.__name__, file, lines, tuple(reader.notes))


def _plain_function(function: object) -> types.FunctionType:
    """The function itself, if it is one whose text can stand alone."""
    if isinstance(function, Batched):
        raise UsageError(
            "a batched mechanism makes many outputs a call, and a proof is about one run; " + _WRITE
        )
    if not isinstance(function, types.FunctionType):
        what = f"{getattr(function, '__name__', None) or repr(function)[:60]}"
        kind = type(function).__name__
        reason = "is written in C and" if inspect.isbuiltin(function) else f"is a {kind}, which"
        raise UsageError(f"{what} {reason} has no text of Python to read; {_WRITE}")
    name = function.__name__
    if name == "<lambda>":
        raise UsageError(f"a lambda has no text of its own; {_WRITE}")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"{name} is asynchronous; {_WRITE}")
    if hasattr(function, "__wrapped__"):
        raise UsageError(f"{name} is wrapped by a decorator: its text is not what runs; {_WRITE}")
    free = function.__code__.co_freevars
    if free:
        raise UsageError(
            f"{name} uses {', '.join(free)} of the function around it, which its text does not "
            "have; make them constants of the file, or part of the data"
        )
    return function


class _Reader:
    """Collects the pieces of text that a function needs."""

    def __init__(self, function: types.FunctionType) -> None:
        self.pieces: list[_Piece] = []
        self.notes: list[str] = []
        self._globals = function.__globals__
        self._done: set[str] = set()
        self._files: dict[str, tuple[list[str], ast.Module]] = {}
        self._texts: dict[int, str] = {}

    def add(self, function: types.FunctionType) -> None:
        """Add a function and all that it names."""
        self._done.add(function.__name__)
        lines, tree = self._file(function)
        node = _definition(tree, function)
        kept = [each for each in node.decorator_list if not self._is_promise(each)]
        first = min([node.lineno, *(each.lineno for each in kept)])
        cut = [_dedented(line, node.col_offset) for line in lines[first - 1 : node.end_lineno]]
        self.pieces.append(_Piece(first, "\n".join(cut)))
        inner: list[ast.AST] = [*node.body, *node.args.defaults, *kept]
        self._add_names(inner, set(function.__code__.co_varnames), tree)

    def _add_names(self, nodes: list[ast.AST], local: set[str], tree: ast.Module) -> None:
        used = [
            inner.id
            for node in nodes
            for inner in ast.walk(node)
            if isinstance(inner, ast.Name) and inner.id not in local
        ]
        for name in dict.fromkeys(used):
            if name not in self._done and name in self._globals:
                self._done.add(name)
                self._add_global(name, tree)

    def _add_global(self, name: str, tree: ast.Module) -> None:
        """Add what binds a name of the module: its statements, or else its value."""
        value = self._globals[name]
        bound = [node for node in tree.body if _binds(node, name)]
        if isinstance(value, types.FunctionType) and value.__globals__ is self._globals:
            self.add(value)
            return
        for node in bound:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.pieces.append(_Piece(node.lineno, _import_of(node, name)))
            else:
                self.pieces.append(_Piece(node.lineno, self._segment(node, tree)))
                self._add_names([node], {name}, tree)
        if not bound:
            text = _by_value(name, value)
            if text is not None:
                self.pieces.append(_Piece(0, text))
            if text is not None and not text.startswith(("from ", "import ")):
                self.notes.append(f"{name} was taken at its value now: {text}")

    def _file(self, function: types.FunctionType) -> tuple[list[str], ast.Module]:
        """The lines and the tree of the file of a function."""
        file = function.__code__.co_filename
        if file not in self._files:
            linecache.checkcache(file)
            lines = [line.rstrip("\n") for line in linecache.getlines(file, self._globals)]
            if not lines:
                raise UsageError(
                    f"the text of {function.__name__} is not kept ({file}); save it in a file"
                )
            text = "\n".join(lines)
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError) as error:
                raise UsageError(f"{_seen(file)} cannot be read as Python: {error}") from None
            self._files[file], self._texts[id(tree)] = (lines, tree), text
        return self._files[file]

    def _segment(self, node: ast.stmt, tree: ast.Module) -> str:
        """The text of a statement, letter for letter: literals are exact."""
        return ast.get_source_segment(self._texts[id(tree)], node) or ast.unparse(node)

    def _is_promise(self, decorator: ast.expr) -> bool:
        """Whether a decorator is `tollens.promise(...)`, which leaves its function as it is."""
        if not isinstance(decorator, ast.Call):
            return False
        names: list[str] = []
        node = decorator.func
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        found = self._globals.get(node.id) if isinstance(node, ast.Name) else None
        for name in reversed(names):
            found = getattr(found, name, None)
        return found is promise


def _definition(tree: ast.Module, function: types.FunctionType) -> ast.FunctionDef:
    """The definition of a function in the tree of its file."""
    first = function.__code__.co_firstlineno
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            starts = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if starts == first:
                return node
    raise UsageError(
        f"{_seen(function.__code__.co_filename)} defines no {function.__name__} at line {first}: "
        "the file has changed since it was loaded, or the text was made by a program"
    )


def _binds(node: ast.stmt, name: str) -> bool:
    """Whether a statement at the top of a file gives a name its value."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name == name
    if isinstance(node, ast.Import | ast.ImportFrom):
        return any((alias.asname or alias.name.partition(".")[0]) == name for alias in node.names)
    return any(
        isinstance(inner, ast.Name) and inner.id == name and not isinstance(inner.ctx, ast.Load)
        for inner in ast.walk(node)
    )


def _import_of(node: ast.Import | ast.ImportFrom, name: str) -> str:
    """The part of an import that binds a name."""
    kept = [a for a in node.names if (a.asname or a.name.partition(".")[0]) == name]
    if isinstance(node, ast.Import):
        return ast.unparse(ast.Import(kept))
    return ast.unparse(ast.ImportFrom(node.module, kept, node.level))


def _by_value(name: str, value: object) -> str | None:
    """A statement that binds a name to its value: of another file, or of another cell."""
    if isinstance(value, types.ModuleType):
        return f"import {value.__name__} as {name}"
    home, own = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if isinstance(value, types.FunctionType) and home == tollens.noise.__name__:
        return f"from tollens.noise import {own} as {name}"
    if value is Fraction:
        return f"from fractions import Fraction as {name}"
    return f"{name} = {value!r}" if _is_literal(value) else None


def _is_literal(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_literal, value))
    return value is None or type(value) in (bool, int, float, str)


def _dedented(line: str, columns: int) -> str:
    """A line without the indentation of the function that it belongs to."""
    return line[columns:] if not line[:columns].strip() else line


def _joined(pieces: list[_Piece]) -> tuple[str, tuple[int, ...]]:
    """The pieces in the order of the file, and the lines that they were."""
    text: list[str] = []
    lines: list[int] = []
    for piece in sorted(dict.fromkeys(pieces), key=lambda piece: piece.line):
        own = piece.text.split("\n")
        apart = 2 if text and own[0].startswith(("def ", "@")) else 0
        text += [""] * apart + own
        lines += [0] * apart + [piece.line + i if piece.line else 0 for i in range(len(own))]
    return "\n".join(text), tuple(lines)


def _compiled(text: str, name: str) -> Iterator[types.CodeType]:
    """The codes of the functions of this name at the top of a text."""
    try:
        module = compile(text, "<program>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return
    for constant in module.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name == name:
            yield constant


def _same(found: Iterator[types.CodeType], code: types.CodeType) -> bool:
    return any(_equal(one, code) for one in found)


def _equal(a: object, b: object) -> bool:
    """Whether two codes do the same, wherever they stand."""
    if not isinstance(a, types.CodeType) or not isinstance(b, types.CodeType):
        return type(a) is type(b) and a == b
    return (
        (a.co_code, a.co_names, a.co_varnames) == (b.co_code, b.co_names, b.co_varnames)
        and len(a.co_consts) == len(b.co_consts)
        and all(map(_equal, a.co_consts, b.co_consts))
    )


def _seen(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file
