"""Draws that nothing depends on any more are set aside, so that equal runs can be joined.

A run whose values no longer depend on a draw, nor on one tied to it by a constraint, goes on as if
the draw had not been: what is left of it is a factor of its probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tollens.checker.draws import Draw, Group, Path
from tollens.checker.form import Form, groups, renamed
from tollens.checker.reach import Interval
from tollens.checker.state import Budget, State, Value

Reached = Interval | str | None


def retire(state: State) -> None:
    """Set aside what is spent, and number the other draws in their order."""
    if not state.draws:
        return
    live = {i for form in _forms(state) for i, _ in form.terms}
    kept: list[Form] = []
    gone: list[Group] = []
    for symbols, forms in groups(state.constraints):
        if symbols & live:
            live |= symbols
            kept += forms
        else:
            gone.append(_group(sorted(symbols), forms, state.draws))
    if not gone and len(live) == len(state.draws):
        return
    place = {i: k for k, i in enumerate(sorted(live))}
    order = {form: at for at, form in enumerate(state.constraints)}
    kept.sort(key=order.__getitem__)
    state.strict = tuple(state.strict[order[form]] for form in kept)
    state.constraints = tuple(_moved(form, place) for form in kept)
    state.draws = tuple(state.draws[i] for i in place)
    state.spent = {
        tuple(sorted((*groups, *gone), key=repr)): share for groups, share in state.spent.items()
    }
    _rewrite(state, lambda form: _moved(form, place))


def path(state: State, output: object, reach: Reached = None) -> Path:
    """A run that ended with an output, or, if `reach` is given, that was cut."""
    spent = tuple((share, groups) for groups, share in state.spent.items())
    return Path(
        state.mass, state.draws, state.constraints, output, reach is None, reach, spent
    )  # fmt: skip


def _group(symbols: list[int], forms: list[Form], draws: tuple[Draw, ...]) -> Group:
    place = {i: k for k, i in enumerate(symbols)}
    return tuple(draws[i] for i in symbols), tuple(_moved(form, place) for form in forms)


def _moved(form: Form, place: dict[int, int]) -> Form:
    found = renamed(form, lambda i: place.get(i, i))
    assert isinstance(found, Form)  # noqa: S101 - renaming keeps all terms
    return found


def _forms(state: State) -> Iterator[Form]:
    """Every form among the values of a run."""
    waiting: list[Value] = [*state.stack, *state.out, *state.heap.values()]
    waiting += [value for frame in state.frames for value in frame.names.values()]
    budget = Budget()
    while waiting:
        budget.spend(1)
        value = waiting.pop()
        if isinstance(value, Form):
            yield value
        elif isinstance(value, tuple):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()


def _rewrite(state: State, change: Callable[[Form], Form]) -> None:
    def of(value: Value) -> Value:
        if isinstance(value, Form):
            return change(value)
        return tuple(map(of, value)) if isinstance(value, tuple) else value

    for frame in state.frames:
        frame.names = {name: of(value) for name, value in frame.names.items()}
    state.stack = [of(value) for value in state.stack]
    state.out = tuple(map(of, state.out))
    state.heap = {
        at: {key: of(item) for key, item in content.items()}
        if isinstance(content, dict)
        else tuple(map(of, content))
        for at, content in state.heap.items()
    }
