"""The search for a proof: engines in the order of their cost, the first proof ends it.

An engine is a function of a `Task` that gives an `Attempt`. Whatever an engine finds is a
certificate, which the independent checker has to confirm before anybody believes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tollens.checker.compiling import compile_text
from tollens.checker.errors import Refused
from tollens.checker.program import Program
from tollens.refutation import program as texts
from tollens.refutation.by_events import by_balls, by_events
from tollens.refutation.by_martingale import by_martingale
from tollens.refutation.by_moments import by_moments
from tollens.refutation.found import Found, Json, Progress
from tollens.refutation.objectives import objective
from tollens.refutation.task import Attempt, Task
from tollens.relations import Relation

_ENGINES: Mapping[str, Callable[[Task], Attempt]] = {
    "events": by_events,
    "balls": by_balls,
    "moments": by_moments,
    "martingale": by_martingale,
}
ENGINES = ("auto", *_ENGINES)
"""What `engine` may be."""


def search(
    source: texts.Program,
    claim: Json,
    pairs: Relation,
    engine: str,
    deadline: float,
    progress: Progress | None = None,
) -> Found:
    """Look for a proof that the claim is false; inputs and claim are in exact form.

    `deadline` is a time of `time.monotonic`.
    """
    try:
        program = compile_text(source.text, source.name)
    except Refused as refused:
        return Found(refusals=refused.findings)
    task = Task(
        program, source.text, claim, objective(claim), pairs, deadline, progress, engine != "auto"
    )
    attempts: list[Attempt] = []
    refused_by: Refused | None = None
    for name in _applicable(program) if engine == "auto" else (engine,):
        try:
            attempts.append(_ENGINES[name](task))
        except Refused as refusal:
            refused_by = refusal
            break
        except ArithmeticError:
            attempts.append(Attempt(name, "numbers that are too large or too small for its floats"))
        if attempts[-1].document is not None or task.late:
            break
    return _found(attempts, refused_by, late=task.late)


def _applicable(program: Program) -> Iterator[str]:
    """The engines, cheapest first; without normal draws balls would only repeat exact events."""
    normal = any(
        (step.op, step.arg) == ("DRAW", "gauss")
        for code in program.functions.values()
        for step in code.instructions
    )
    for name in _ENGINES:
        if name != "balls" or normal:
            yield name


def _found(attempts: list[Attempt], refused: Refused | None, *, late: bool) -> Found:
    """What the attempts come to: the proof, or else the best that any of them saw."""
    made = [attempt for attempt in attempts if attempt.pair is not None]
    best = max(
        made, key=lambda attempt: (attempt.document is not None, attempt.value), default=None
    )
    notes = tuple(f"{each.engine}: {each.note}" for each in attempts if each.note)
    refusals = refused.findings if refused is not None else ()
    if best is None:
        looked = next((each.engine for each in attempts if each.looked), None)
        return Found(engine=looked, notes=notes, refusals=refusals, timed_out=late)
    events = [attempt.event for attempt in made if attempt.event is not None]
    return Found(
        certificate=best.document,
        best_epsilon=best.epsilon,
        pair=best.pair,
        engine=best.engine,
        notes=notes,
        refusals=refusals,
        timed_out=late and best.document is None,
        witness=best.event or next(iter(events), None),
    )
