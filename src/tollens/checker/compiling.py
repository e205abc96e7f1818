"""From the text of a Python file to a program; what has no exact meaning is refused by its line.

Accepted are assignments, arithmetic, comparisons, branches, loops, lists, tuples, dictionaries with
constant keys, comprehensions, calls of functions of the same file, and the primitives of
`tollens.noise`. All refusals are found at once.
"""

from __future__ import annotations

import ast
import re
import warnings

from tollens.checker.errors import Refusal, Refused
from tollens.checker.expressions import Expressions
from tollens.checker.module import ONLY_PROMISES, Module
from tollens.checker.program import LIBRARY, PRELUDE, Code, Instruction, Program

MAX_TEXT = 200_000

_UNSEEN = re.compile(
    r"[\0-\b\v\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]|[^\n\r\f]\f"
)
"""What a screen hides, moves or breaks lines at where Python does not."""

_ENCODED = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*(?!utf-?8\b)[-\w.]+", re.IGNORECASE)


def compile_text(text: str, name: str) -> Program:
    r"""The program of the function `name` in the text of a Python file.

    Raises `Refused` with every construct outside the subset.

    >>> program = compile_text("def f(x):\n    return x + 1\n", "f")
    >>> [i.op for i in program.functions["f"].instructions]
    ['LOAD', 'CONST', 'BINARY', 'RETURN', 'CONST', 'RETURN']
    """
    if len(text) > MAX_TEXT:
        raise Refused([Refusal(1, f"the text has more than {MAX_TEXT} characters", "")])
    if any(map(_ENCODED.match, (*text.split("\n")[:2], *text.splitlines()[:2]))):
        raise Refused([Refusal(1, "an encoding that is named", "save the file as UTF-8")])
    unseen = _UNSEEN.search(text)
    if unseen:
        line = text.count("\n", 0, unseen.end()) + 1
        raise Refused([Refusal(line, "a character that screens do not show", "leave it out")])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(tree, "<text>", "exec", dont_inherit=True)  # it finds more faults of syntax
        source = Module(tree, text)
        prelude = Module(ast.parse(PRELUDE), PRELUDE)
    except SyntaxError as error:
        raise Refused([Refusal(error.lineno or 1, f"no Python: {error.msg}", "")]) from None
    except (RecursionError, ValueError, MemoryError):
        raise Refused([Refusal(1, "no text that Python can read", "")]) from None
    if name not in source.functions:
        raise Refused([Refusal(1, f"there is no function {name} at the top of the text", "")])
    try:
        return _link(source, prelude, name)
    except RecursionError:
        raise Refused([Refusal(1, "the text is nested too deeply", "")]) from None


def _link(source: Module, prelude: Module, name: str) -> Program:
    """Compile the function and whatever it reaches."""
    findings: list[Refusal] = []
    functions: dict[str, Code] = {}
    calls: dict[str, set[str]] = {}
    constants: list[str] = []
    heads = 0
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in functions:
            continue
        module = prelude if current.startswith(LIBRARY) else source
        compiler = Statements(module, heads, library=module is prelude)
        node = module.functions[current.removeprefix(LIBRARY)]
        functions[current] = compiler.function(node, current == name)
        heads, calls[current] = compiler.heads, compiler.called
        findings += compiler.findings if module is source else []
        waiting += compiler.called
        constants += compiler.constants
    made = _constants(source, constants, findings)
    cycle = _recursive(calls, name)
    if cycle:
        line = source.functions[cycle].lineno
        findings.append(Refusal(line, f"{cycle} calls itself", "write a loop"))
    line = source.functions[name].lineno
    parameters, defaults = functions[name].parameters, functions[name].defaults
    if not parameters or len(parameters) - len(defaults) > 1:
        how = "several arguments" if parameters else "no argument"
        findings.append(Refusal(line, f"{name} takes {how}", "a mechanism takes one, its data"))
    if name in source.changed:
        findings.append(Refusal(line, f"{name}, which the file sets more than once", "set it once"))
    findings += source.findings
    if findings:
        raise Refused(findings)
    return Program(name, functions, tuple(made), heads)


def _constants(
    source: Module, names: list[str], findings: list[Refusal]
) -> list[tuple[str, tuple[Instruction, ...]]]:
    """The instructions of the module's names that are used, and of those that these use."""
    made: dict[str, tuple[Instruction, ...]] = {}

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in made:
            return
        if name in above:
            line = source.constants[name].lineno
            findings.append(Refusal(line, f"{name} is made from itself", "write a number"))
            return
        compiler = Statements(source, 0)
        compiler.expression(source.constants[name])
        findings.extend(compiler.findings)
        if compiler.called or compiler.draws:
            line = source.constants[name].lineno
            findings.append(Refusal(line, f"{name} is not constant", "write a number"))
        for other in compiler.constants:
            if source.placed[other] >= source.placed[name]:
                line = source.constants[name].lineno
                findings.append(Refusal(line, f"{name}, made from what comes later", ""))
            add(other, (*above, name))
        made[name] = tuple(compiler.out)

    for name in names:
        add(name, ())
    return list(made.items())


def _recursive(calls: dict[str, set[str]], start: str) -> str | None:
    """A function that may call itself, if there is one."""
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> str | None:
        if name in above:
            return name
        if name in done:
            return None
        for other in sorted(calls.get(name, ())):
            found = visit(other, (*above, name))
            if found:
                return found
        done.add(name)
        return None

    return visit(start, ())


class Statements(Expressions):
    """Compiles the statements of one function."""

    def function(self, node: ast.FunctionDef, entry: bool) -> Code:
        """The code of a function."""
        self.entry = entry
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
            self.refuse(node, "special parameters", "write plain parameters")
        for parameter in getattr(node, "type_params", []):  # their names would hide others
            self.refuse(parameter, "a parameter for types", "leave it out")
        for decorator in node.decorator_list:
            if not (entry and self.module.is_promise(decorator)):
                self.refuse(decorator, "a decorator", ONLY_PROMISES)
        parameters = tuple(argument.arg for argument in arguments.args)
        defaults = tuple(self.constant(default) for default in arguments.defaults)
        self.local = {*parameters, *_assigned(node)}
        self.yields = any(isinstance(inner, ast.Yield) for inner in _own(node))
        if self.yields and not entry:
            self.refuse(node, "a generator that is called", "append to a list and return it")
        self.body(node.body)
        self.emit("CONST", None, node)
        self.emit("RETURN", None, node)
        return Code(node.name, parameters, defaults, tuple(self.out), self.yields)

    def body(self, statements: list[ast.stmt]) -> None:
        """A block."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """One statement."""
        match node:
            case ast.Return():
                if self.yields and node.value is not None:
                    self.refuse(node, "return with a value beside yield", "yield it")
                self.optional(node.value, node)
                self.emit("RETURN", None, node)
            case ast.Assign():
                self.expression(node.value)
                for _ in node.targets[1:]:
                    self.emit("DUP", 1, node)
                for target in node.targets:
                    self.store(target)
            case ast.AnnAssign(value=ast.expr() as value):
                self.expression(value)
                self.store(node.target)
            case ast.AugAssign():
                self.augmented(node)
            case ast.If():
                self.branch(node)
            case ast.While():
                self.while_loop(node)
            case ast.For():
                if node.orelse:
                    self.refuse(node, "else of a loop", "write a flag")
                self.loop(node.iter, node.target, lambda: self.body(node.body), node)
            case ast.Break() | ast.Continue():
                where = self.loops[-1][isinstance(node, ast.Break)] if self.loops else None
                self.jump("JUMP", where, node)
            case ast.Pass() | ast.AnnAssign(target=ast.Name()) | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Yield(value=value)):
                self.optional(value, node)
                self.emit("YIELD", None, node)
            case ast.Expr():
                self.expression(node.value)
                self.emit("POP", None, node)
            case _:
                self.refuse(node, *_STATEMENTS.get(type(node), (_name(node), _SUBSET)))

    def augmented(self, node: ast.AugAssign) -> None:
        """`target += value`: the object and index of a target are evaluated once."""
        target = node.target
        if isinstance(target, ast.Name):
            self.expression(ast.copy_location(ast.Name(target.id, ast.Load()), target))
        elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            self.expression(target.value)
            self.expression(target.slice)
            self.emit("DUP", 2, node)
            self.emit("INDEX", None, node)
        else:
            self.refuse(node, "this target of an assignment", "assign to a name or an item")
            return
        self.expression(node.value)
        self.emit("INPLACE", self.operator(node.op, node), node)
        if isinstance(target, ast.Name):
            self.store(target)
        else:
            self.emit("SETITEM", "below", node)

    def branch(self, node: ast.If) -> None:
        """`if` with its `elif` and `else`."""
        otherwise, end = self.label(), self.label()
        self.expression(node.test)
        self.jump("BRANCH", otherwise, node)
        self.body(node.body)
        self.jump("JUMP", end, node)
        self.place(otherwise)
        self.body(node.orelse)
        self.place(end)

    def while_loop(self, node: ast.While) -> None:
        """`while`: its head has a number, at which proofs about loops hold."""
        if node.orelse:
            self.refuse(node, "else of a loop", "write a flag")
        head, end = self.label(), self.label()
        self.place(head)
        self.emit("HEAD", None if self.library else self.heads, node)
        self.heads += 1
        self.expression(node.test)
        self.jump("BRANCH", end, node)
        self.loops.append((head, end))
        self.body(node.body)
        self.loops.pop()
        self.jump("JUMP", head, node)
        self.place(end)


def _own(node: ast.FunctionDef) -> list[ast.AST]:
    """The nodes of a function without those of functions within it."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        current = waiting.pop()
        found.append(current)
        if not isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(current)
    return found


def _assigned(node: ast.FunctionDef) -> set[str]:
    return {
        inner.id
        for inner in _own(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }


def _name(node: ast.AST) -> str:
    return type(node).__name__.lower()


_SUBSET = "see the documentation of program texts for what can be read"
_STATEMENTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.FunctionDef: ("a function inside a function", "move it to the top of the file"),
    ast.ClassDef: ("a class", "use lists and tuples"),
    ast.Try: ("try", "test the condition with if"),
    ast.With: ("with", "call the primitives of tollens.noise only"),
    ast.Raise: ("raise", "return a value that says so"),
    ast.Assert: ("assert", "return a value that says so"),
    ast.Import: ("an import inside a function", "import tollens.noise at the top of the file"),
    ast.ImportFrom: ("an import inside a function", "import tollens.noise at the top of the file"),
    ast.Global: ("global", "pass the value and return it"),
    ast.Nonlocal: ("nonlocal", "pass the value and return it"),
    ast.Delete: ("del", "build another list"),
    ast.Match: ("match", "write if and elif"),
}
