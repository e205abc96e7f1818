"""Where a mechanism is defined: file and line, found by parsing, never by importing."""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

Json = dict[str, object]


def target_place(target: str, base: Path) -> Json:
    """A SARIF location: file and line of `file.py::name` or `package.module:name`, and the name.

    >>> target_place("counts.py::noisy", Path.cwd())["logicalLocations"]
    [{'fullyQualifiedName': 'noisy'}]
    """
    file, separator, name = _speakable(target).partition("::")
    if not separator:
        file, name = _module_file(file, base), file.rpartition(":")[2]
    place = physical(file, definition_line(base / file, name), base)
    if name:
        place["logicalLocations"] = [{"fullyQualifiedName": name if separator else target}]
    return place


def _module_file(target: str, base: Path) -> str:
    """The file of `package.module:name` below the root or its `src`, else the root itself."""
    stem = target.rpartition(":")[0].replace(".", "/")
    for top in ("", "src/"):
        for end in (".py", "/__init__.py"):
            with contextlib.suppress(OSError):
                if (base / f"{top}{stem}{end}").is_file():
                    return f"{top}{stem}{end}"
    return "."


def _speakable(text: str) -> str:
    """The text without what no file name can hold."""
    return text.replace("\0", "?").encode("utf-8", "replace").decode("utf-8")


def physical(file: str, line: int | None, base: Path) -> Json:
    """A SARIF location in a file, relative to `base` where it lies below it, absolute otherwise.

    >>> physical("a b.py", 3, Path.cwd())["physicalLocation"]["artifactLocation"]["uri"]
    'a%20b.py'
    """
    full = Path(os.path.abspath(base / _speakable(file)))  # noqa: PTH100 - links are kept
    start = Path(os.path.abspath(base))  # noqa: PTH100 - links are kept
    for path, folder in ((full, start), (full.resolve(), start.resolve())):
        if path.is_relative_to(folder):
            uri = quote(path.relative_to(folder).as_posix())
            artifact = {"uri": uri, "uriBaseId": "%SRCROOT%"}
            break
    else:
        artifact = {"uri": full.as_uri()}
    region = {} if line is None or line < 1 else {"region": {"startLine": line}}
    return {"physicalLocation": {"artifactLocation": artifact, **region}}


def definition_line(file: Path, name: str) -> int | None:
    """The line on which a file defines `name` (dots enter classes), None if it is not found.

    The last definition counts, as it does when the file is run.

    >>> definition_line(Path(__file__), "no_such_name") is None
    True
    """
    try:
        body: list[ast.stmt] = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    line = None
    for part in name.split("."):
        found = [node for node in _statements(body) if part in _defined(node)]
        if not found:
            return None
        line = found[-1].lineno
        body = found[-1].body if isinstance(found[-1], ast.ClassDef) else []
    return line


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one scope in order, those inside `if`, `try`, `with` and loops too."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(node, field, ()):
                    handler = isinstance(inner, ast.ExceptHandler)
                    yield from _statements(inner.body if handler else [inner])


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    return {name.id for t in targets for name in ast.walk(t) if isinstance(name, ast.Name)}
