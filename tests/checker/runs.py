"""CPython runs the text on exact numbers: the oracle of what a program text means.

A text is compiled by Python after three changes: a decimal literal is the Fraction that is written
there, a quotient is exact, and the primitives of `tollens.noise` return what a script says.
"""

from __future__ import annotations

import ast
import builtins
import copy
import types
from fractions import Fraction

F = Fraction


class Cut(BaseException):
    """The script is at its end."""


class _Exact(ast.NodeTransformer):
    def __init__(self, text):
        self.text = text

    def visit_Constant(self, node):
        if not isinstance(node.value, float):
            return node
        return _call("_fraction", ast.Constant(ast.get_source_segment(self.text, node)))

    def visit_BinOp(self, node):
        self.generic_visit(node)
        names = {ast.Div: "_quotient", ast.Pow: "_power"}
        if type(node.op) in names:
            return _call(names[type(node.op)], node.left, node.right)
        return node

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Div):
            node.op, node.value = ast.Mult(), _call("_quotient", ast.Constant(1), node.value)
        return node

    def visit_While(self, node):
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_call("_tick")))
        return node

    def visit_For(self, node):
        return self.visit_While(node)


def _call(name, *arguments):
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _quotient(a, b):
    if not all(isinstance(x, int | F) for x in (a, b)):
        raise TypeError("a quotient of what is no number")
    return F(a) / F(b)


def _power(a, b):
    return a**b if isinstance(b, int) and b >= 0 else F(a) ** b


def _float(x):
    if not isinstance(x, int | F):
        raise TypeError("float of what is no number")
    return F(x)


class Noise:
    """`tollens.noise`, whose draws come from `source(kind, parameters)`; `drawn` records them."""

    def __init__(self):
        self.source = None
        self.drawn = []
        self.ticks = 0

    def tick(self):
        """Stop loops that never end."""
        self.ticks += 1
        if self.ticks > 1000:
            raise Cut

    def _draw(self, kind, *parameters):
        parameters = tuple(map(F, parameters))
        value = self.source(len(self.drawn), kind, parameters)
        self.drawn.append((kind, parameters, value))
        return value

    def laplace(self, scale):
        assert scale > 0
        return self._draw("laplace", scale)

    def gauss(self, sigma):
        assert sigma > 0
        return self._draw("gauss", sigma)

    def exponential(self, scale):
        assert scale > 0
        return self._draw("exponential", scale)

    def uniform(self, a, b):
        assert a < b
        return self._draw("uniform", a, b)

    def flip(self, p):
        assert 0 <= p <= 1
        return self._draw("flip", p)

    def geometric(self, p):
        assert 0 < p <= 1
        failures = 0
        while not self._draw("flip", p):
            failures += 1
        return failures

    def discrete(self, masses):
        assert sum(masses.values()) == 1
        assert min(masses.values()) >= 0
        value = self.source(len(self.drawn), "discrete", tuple(masses.items()))
        key = next(k for k in masses if same(value, k) or k is value)
        self.drawn.append(("discrete", tuple(masses.items()), key))
        return key


class Real:
    """A function of a text, run by Python; `run` returns its output and what it drew."""

    def __init__(self, text, name="f"):
        self.noise = Noise()
        package = types.SimpleNamespace(noise=self.noise, promise=lambda *a, **k: lambda f: f)

        def load(name, _globals=None, _locals=None, names=(), _level=0):
            if name.partition(".")[0] == "tollens":
                return self.noise if names and name == "tollens.noise" else package
            return builtins.__import__(name, _globals, _locals, names, _level)

        own = {**vars(builtins), "__import__": load, "float": _float}
        space = {
            "__builtins__": own,
            "__name__": "text",
            "_fraction": lambda t: F(t.replace("_", "")),
            "_quotient": _quotient,
            "_power": _power,
            "_tick": self.noise.tick,
        }
        tree = ast.fix_missing_locations(_Exact(text).visit(ast.parse(text)))
        exec(compile(tree, "<text>", "exec"), space)
        self.function = space[name]

    def run(self, data, source):
        self.noise.source, self.noise.drawn, self.noise.ticks = source, [], 0
        try:
            output = self.function(copy.deepcopy(as_python(data)))
            if isinstance(output, types.GeneratorType):
                output = tuple(output)
        except (Cut, ArithmeticError, LookupError, TypeError, ValueError, NameError) as error:
            output = error
        return output, self.noise.drawn


def as_python(data):
    """Data with integers where rationals are whole."""
    if isinstance(data, F):
        return data.numerator if data.denominator == 1 else data
    if isinstance(data, list | tuple):
        return type(data)(map(as_python, data))
    if isinstance(data, dict):
        return {as_python(k): as_python(v) for k, v in data.items()}
    return data


def same(found, real):
    """Whether an output of the machine is the one of Python; truth values are no numbers."""
    if isinstance(real, dict):
        real = tuple(real.items())
    if isinstance(real, list | tuple):
        return isinstance(found, tuple) and len(found) == len(real) and all(map(same, found, real))
    if isinstance(real, bool) or real is None or isinstance(real, str):
        return type(found) is type(real) and found == real
    return isinstance(found, F) and isinstance(real, int | F) and found == real


def random_value(rng, kind, parameters):
    """A value that a draw may take, hardly ever one at which anything is equal."""
    fine = F(rng.randrange(1, 10**9), 10**9 + 7)
    if kind == "flip":
        return fine < parameters[0]
    if kind == "discrete":
        return rng.choice([v for v, p in parameters if p > 0])
    if kind == "uniform":
        return parameters[0] + fine * (parameters[1] - parameters[0])
    size = parameters[0] * fine * rng.choice([F(1, 4), 1, 4, 16])
    return size if kind == "exponential" or rng.random() < 0.5 else -size
