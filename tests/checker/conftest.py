"""The oracle of the checker's semantics: CPython itself runs the text on exact numbers.

A text is compiled by Python after three changes: a decimal literal is the Fraction that is written
there, a quotient is exact, and the primitives of `tollens.noise` return what a script says.
"""

from __future__ import annotations

import ast
import builtins
import copy
import sys
import types
from dataclasses import dataclass
from fractions import Fraction
from unittest import mock

import pytest

from tollens.checker.compiling import compile_text
from tollens.checker.form import Form
from tollens.checker.integration import Integrator, _times, enclosure
from tollens.checker.machine import RUNNING, Limits, Machine
from tollens.checker.operations import OPERATIONS, draw

F = Fraction
HEAD = "from tollens import noise\n"


@pytest.fixture(scope="session")
def oracle():
    return sys.modules[__name__]


class Cut(BaseException):
    """The script is at its end."""


class Many(BaseException):
    """A program has too many paths to follow one by one."""


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


@dataclass
class Way:
    """A path of the machine, with all that it drew: discrete values, and indices of symbols."""

    state: object
    output: object
    finished: bool
    drawn: tuple

    def values(self, drawn):
        """The continuous draws of a real run, if it begins with those of this path."""
        if len(drawn) < len(self.drawn) or (self.finished and len(drawn) > len(self.drawn)):
            return None
        values = []
        for (kind, parameters, value), (k, p, v) in zip(self.drawn, drawn, strict=False):
            if kind != k or parameters != p:
                return None
            if isinstance(value, Form):
                values.append(v)
            elif not same(value, v):
                return None
        return values

    def holds(self, values):
        return all(at(form, values) > 0 for form in self.state.constraints)


def at(value, values):
    """A value of the machine where its draws have these values."""
    if isinstance(value, Form):
        return value.constant + sum(c * values[i] for i, c in value.terms)
    return tuple(at(v, values) for v in value) if isinstance(value, tuple) else value


def ways(text, data, rounds=12, most=600):
    """Every path, each by itself: nothing is joined and no draw is set aside."""

    def recorded(state, frame, arg):
        count = 2 if arg == "uniform" else 1
        parameters = state.stack[len(state.stack) - count :]
        if arg == "discrete":
            parameters = tuple(state.heap[parameters[0].at].items())
        split = draw(state, frame, arg) or []
        for run in (state, *split):
            names = run.frames[0].names
            event = (arg, tuple(parameters), run.stack[-1])
            names["$drawn"] = (*names.get("$drawn", ()), event)
        return split

    machine = Machine(compile_text(text, "f"), Limits())
    found, waiting = [], [(machine.start(data), 0)]
    with mock.patch.dict(OPERATIONS, {"DRAW": recorded}):
        while waiting:
            state, passed = waiting.pop()
            if passed >= rounds:
                found.append(_way(state, None, False))
                continue
            for stopped, output in machine.run(state, lambda _: True):
                if output is RUNNING:
                    waiting.append((stopped, passed + 1))
                else:
                    found.append(_way(stopped, output, True))
            if len(found) + len(waiting) > most:
                raise Many
    return found


def _way(state, output, finished):
    return Way(state, output, finished, state.frames[0].names.get("$drawn", ()))


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


def total(found, integrator=None):
    """The exact probability of all paths together."""
    integrator = integrator or Integrator()
    made = {}
    for way in found:
        state = way.state
        part = integrator.probability(state.draws, state.constraints)
        made = added(made, _times({F(0): state.mass}, part))
    return made


def added(a, b):
    made = dict(a)
    for q, c in b.items():
        made[q] = made.get(q, F(0)) + c
    return {q: c for q, c in made.items() if c}


def agree(rng, text, data, rounds=12, tries=400):
    """Every path is a real run, every real run is one path, with the same output."""
    real, found = Real(text), ways(text, data, rounds)
    if not any(d.kind == "gauss" for way in found for d in way.state.draws):
        assert total(found) == {F(0): F(1)}
    for way in found:
        script = _solved(rng, way, tries)
        if script is None:
            continue

        def source(i, kind, parameters, script=script):
            if i >= len(script):
                raise Cut
            return script[i]

        output, drawn = real.run(data, source)
        values = way.values(drawn)
        assert values is not None, (way, drawn)
        if way.finished:
            assert same(at(way.output, values), output), (at(way.output, values), output, drawn)
    for _ in range(12):

        def chance(i, kind, parameters):
            if i > 60:
                raise Cut
            return random_value(rng, kind, parameters)

        output, drawn = real.run(data, chance)
        met = [(w, v) for w in found if (v := w.values(drawn)) is not None and w.holds(v)]
        assert len(met) == 1, (met, output, drawn)
        ((way, values),) = met
        if way.finished:
            assert same(at(way.output, values), output), (at(way.output, values), output, drawn)
    return found


def _solved(rng, way, tries):
    """Draws that lead along a path; None if none are found, which is refused for likely paths."""
    draws, constraints = way.state.draws, way.state.constraints
    likely = True
    if constraints and all(draw.kind != "gauss" for draw in draws):
        likely = enclosure(Integrator().probability(draws, constraints))[1] > F(20, tries)
    for _ in range(tries if likely else tries // 10):
        script = [
            random_value(rng, kind, parameters) if isinstance(value, Form) else value
            for kind, parameters, value in way.drawn
        ]
        values = [v for v, (*_, f) in zip(script, way.drawn, strict=True) if isinstance(f, Form)]
        if way.holds(values):
            return script
    assert not likely, "no draws were found for a likely path"
    return None
