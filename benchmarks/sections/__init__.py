"""The sections of the benchmark, in the order in which they are measured.

Each module has a TITLE, NOTE (what the table says, in a line or two), RUNS (short, full), SECONDS
(the time after which the short form makes no more rounds) and `measure(runner) -> rows`.
"""

from __future__ import annotations

from types import ModuleType

from benchmarks.sections import (
    certified,
    coupling,
    dashboard,
    dimensions,
    gaussian,
    martingale,
    means,
    moments,
    monitor,
    noise,
    peers,
    refute,
    report,
    scale,
    speed,
    training,
    worst_case,
)

SECTIONS: dict[str, ModuleType] = {
    "noise": noise,
    "coupling": coupling,
    "gaussian": gaussian,
    "means": means,
    "dimensions": dimensions,
    "certified": certified,
    "monitor": monitor,
    "peers": peers,
    "refute": refute,
    "martingale": martingale,
    "moments": moments,
    "training": training,
    "report": report,
    "worst cases": worst_case,
    "scale": scale,
    "speed": speed,
    "dashboard": dashboard,
}
