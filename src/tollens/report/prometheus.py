"""Metrics of series as Prometheus reads them, for the textfile collector of node_exporter.

The text format is version 0.0.4 of https://prometheus.io/docs/instrumenting/exposition_formats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tollens.monitoring.overview import Standing

Value = Callable[[Standing], float | None]


def _moment(row: Standing) -> float | None:
    return None if row.state.updated_at is None else row.state.updated_at.timestamp()


_METRICS: tuple[tuple[str, str, str, Value], ...] = (
    ("alarm", "gauge", "1 while an alarm is not acknowledged.", lambda row: row.alarm),
    ("stale", "gauge", "1 if no step came for longer than expected.", lambda row: row.state.stale),
    ("evidence", "gauge", "Evidence against the claim.", lambda row: row.state.evidence),
    (
        "evidence_threshold",
        "gauge",
        "Evidence at which an alarm is raised.",
        lambda row: row.state.threshold,
    ),
    (
        "epsilon_lower",
        "gauge",
        "Lower bound for the epsilon of now; 0 if there is none.",
        lambda row: row.state.epsilon_lower,
    ),
    ("steps_total", "counter", "Steps that were scored.", lambda row: row.state.steps),
    (
        "failed_steps_total",
        "counter",
        "Steps whose version could not be run.",
        lambda row: row.state.failed,
    ),
    ("last_step_timestamp_seconds", "gauge", "When the last step was recorded.", _moment),
)


def prometheus_document(rows: Sequence[Standing]) -> str:
    """The metrics of all series in force; a line ends each."""
    current = [row for row in rows if row.current]
    lines = []
    for name, kind, words, value_of in _METRICS:
        lines += [f"# HELP tollens_{name} {words}", f"# TYPE tollens_{name} {kind}"]
        for row in current:
            value = value_of(row)
            if value is not None:
                labels = f'series="{escaped(row.state.name)}",method="{escaped(row.state.method)}"'
                lines.append(f"tollens_{name}{{{labels}}} {number(value)}")
    return "\n".join(lines)


def escaped(text: str) -> str:
    r"""The value of a label.

    >>> print(escaped('a "b"\n\\'))
    a \"b\"\n\\
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def number(value: float) -> str:
    """A number as Prometheus spells it.

    >>> number(True), number(math.inf), number(-math.inf), number(math.nan), number(0.25)
    ('1', '+Inf', '-Inf', 'NaN', '0.25')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
