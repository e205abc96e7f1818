"""A series as a verdict: the same object that an audit gives, with the evidence of a watch."""

from __future__ import annotations

from collections.abc import Mapping

from tollens.evidence import Alarm
from tollens.monitoring.plan import plan_from_settings
from tollens.monitoring.series import last_step, state_of
from tollens.neighbours import Pair
from tollens.serial import data_from_json
from tollens.store import SeriesRecord, Store
from tollens.verdict import Outcome, Reason, Verdict
from tollens.versions import versions


def verdict_of(store: Store, series: SeriesRecord) -> Verdict:
    """What a series has shown: REFUTED while an alarm is open, UNDECIDED before the first step."""
    state, last = state_of(store, series), last_step(store, series)
    plan = plan_from_settings(dict(series.settings))
    summary: Mapping[str, object] = {} if last is None else last.summary
    raised = state.raised if state.alarm else None
    place = None if raised is None else raised.likely_break
    pairs = _whole(summary.get("pairs_so_far"))
    outcome, reason = Outcome.UNREFUTED, Reason.NO_ALARM
    if raised is not None:
        outcome, reason = Outcome.REFUTED, Reason.ALARM
    elif not state.steps:
        outcome, reason = Outcome.UNDECIDED, Reason.NO_STEPS
    inputs = series.settings.get("neighbours")
    known = inputs if isinstance(inputs, Mapping) else {}
    return Verdict(
        outcome=outcome,
        reason=reason,
        claim=plan.claim,
        mechanism=str(summary.get("mechanism", series.name)),
        neighbours=Pair(
            data_from_json(known.get("x")), data_from_json(known.get("x_prime")), "explicit"
        ),
        witness=None if raised is None else raised.witness,
        epsilon_lower=state.epsilon_lower,
        delta=plan.delta,
        pairs=pairs,
        runs=2 * pairs,
        alpha=plan.alpha,
        evidence=Alarm(
            log_e_value=state.evidence,
            threshold=state.threshold,
            raised_at=None if raised is None else raised.step,
            steps=state.steps,
            likely=None if place is None else place.step,
            earliest=None if place is None else place.earliest,
            latest=None if place is None else place.latest,
            version=None if place is None else place.version,
            version_before=None if place is None else place.version_before,
            level=plan.alpha,
            method=plan.method,
        ),
        seed=None,
        replayable=False,
        seconds=0.0,
        detectable_excess=None,
        versions=versions(),
        notes=(*_break(place), *state.notes),
    )


def _break(place: object) -> tuple[str, ...]:
    return () if place is None else (f"likely break: {place}",)


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
