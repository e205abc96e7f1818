"""The paths of the machine one by one, and whether they are the runs of CPython."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from unittest import mock

import runs

from tollens.checker.compiling import compile_text
from tollens.checker.form import Form
from tollens.checker.integration import Integrator, _times, enclosure
from tollens.checker.machine import RUNNING, Limits, Machine, explore
from tollens.checker.operations import OPERATIONS, draw
from tollens.checker.patterns import Anything, Between, Equals, Items, matched

F = Fraction


class Many(BaseException):
    """A program has too many paths to follow one by one."""


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
            elif not runs.same(value, v):
                return None
        return values

    def holds(self, values):
        return all(at(form, values) > 0 for form in self.state.constraints)


def at(value, values):
    """A value of the machine where its draws have these values."""
    if isinstance(value, Form):
        return value.constant + sum(c * values[i] for i, c in value.terms)
    return tuple(at(v, values) for v in value) if isinstance(value, tuple) else value


def ways(text, data, rounds=12, most=600, name="f"):
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

    machine = Machine(compile_text(text, name), Limits())
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


def agree(rng, text, data, rounds=12, tries=400, name="f"):
    """Every path is a real run, every real run is one path, with the same output."""
    real, found = runs.Real(text, name), ways(text, data, rounds, name=name)
    if not any(d.kind == "gauss" for way in found for d in way.state.draws):
        assert total(found) == {F(0): F(1)}
    for way in found:
        script = _solved(rng, way, tries)
        if script is None:
            continue

        def source(i, kind, parameters, script=script):
            if i >= len(script):
                raise runs.Cut
            return script[i]

        output, drawn = real.run(data, source)
        values = way.values(drawn)
        assert values is not None, (way, drawn)
        if way.finished:
            assert runs.same(at(way.output, values), output), (
                at(way.output, values),
                output,
                drawn,
            )
    for _ in range(12):

        def chance(i, kind, parameters):
            if i > 60:
                raise runs.Cut
            return runs.random_value(rng, kind, parameters)

        output, drawn = real.run(data, chance)
        met = [(w, v) for w in found if (v := w.values(drawn)) is not None and w.holds(v)]
        assert len(met) == 1, (met, output, drawn)
        ((way, values),) = met
        if way.finished:
            assert runs.same(at(way.output, values), output), (
                at(way.output, values),
                output,
                drawn,
            )
    return found


def _solved(rng, way, tries):
    """Draws that lead along a path; None if none are found, which is refused for likely paths."""
    draws, constraints = way.state.draws, way.state.constraints
    likely = True
    if constraints and all(draw.kind != "gauss" for draw in draws):
        likely = enclosure(Integrator().probability(draws, constraints))[1] > F(20, tries)
    for _ in range(tries if likely else tries // 10):
        script = [
            runs.random_value(rng, kind, parameters) if isinstance(value, Form) else value
            for kind, parameters, value in way.drawn
        ]
        values = [v for v, (*_, f) in zip(script, way.drawn, strict=True) if isinstance(f, Form)]
        if way.holds(values):
            return script
    assert not likely, "no draws were found for a likely path"
    return None


def cells(outputs):
    """Patterns that tell the outputs of paths apart, and some that cut numbers in two."""
    found = {}
    for output in outputs:
        plain = _pattern(output, Between(None, None))
        found |= {plain: None, _pattern(output, Between(F(1, 3), None)): None}
        found |= {_pattern(output, Between(F(-1), F(2))): None}
    return [*found, Anything()]


def _pattern(output, interval):
    if isinstance(output, Form):
        return interval
    if isinstance(output, tuple):
        return Items(tuple(_pattern(item, interval) for item in output))
    return Equals(output)


def same_law(text, data, rounds=12, name="f"):
    """Exactly the same probabilities, whether runs are joined and draws set aside or not."""
    integrator = Integrator()
    found = ways(text, data, rounds, name=name)
    joined = explore(compile_text(text, name), data, Limits(rounds)).paths
    outputs = [way.output for way in found if way.finished]
    wanted = total([way for way in found if not way.finished], integrator)
    assert _weight([p for p in joined if not p.finished], None, integrator) == wanted
    for pattern in cells(outputs[:60]):
        parts = {}
        for way in found:
            more = matched(pattern, way.output) if way.finished else None
            if more is not None:
                state = way.state
                chance = integrator.probability(state.draws, (*state.constraints, *more))
                parts = added(parts, _times({F(0): state.mass}, chance))
        finished = [path for path in joined if path.finished]
        assert _weight(finished, pattern, integrator) == parts, (pattern, text)
    return joined


def _weight(paths, pattern, integrator):
    made = {}
    for path in paths:
        more = matched(pattern, path.output) if pattern is not None else []
        if more is None:
            continue
        spent = {}
        for share, groups in path.spent:
            part = {F(0): share * path.mass}
            for draws, constraints in groups:
                part = _times(part, integrator.probability(draws, constraints))
            spent = added(spent, part)
        chance = integrator.probability(path.draws, (*path.constraints, *more))
        made = added(made, _times(spent, chance))
    return made
