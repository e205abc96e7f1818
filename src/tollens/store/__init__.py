"""The store of `tollens monitor`: what was seen of a series of versions, and is never changed.

    with Store.open(".tollens/monitor.db") as store:
        series = store.enter("counts", digest, settings)
        with store.turn(series.id) as turn:                  # one writer at a time
            turn.record(step, checkpoint=state)              # all of it at the end, or nothing

The store knows nothing of statistics: sums, running states and details of alarms are opaque to it.
It is SQLite in a file, or PostgreSQL; `tollens.store.tables` describes the schema, which is the
same in both. SQLite must not be put on a network file system, whose locks cannot be relied on.
`import tollens` does not load this package, nor SQLAlchemy.

>>> import tempfile
>>> from datetime import UTC, datetime
>>> with tempfile.TemporaryDirectory() as folder, Store.open(f"{folder}/monitor.db") as store:
...     series = store.enter("counts", "1f0c", {"alpha": 0.05})
...     with store.turn(series.id) as turn:
...         turn.record(StepRecord(turn.number, "v1", "build-7", "scored", 750, datetime.now(UTC),
...                                "77ab", 1.5, 0.0, {"n": 750}, b""), checkpoint=b"state")
...     [(step.version, step.log_e_value) for step in store.steps(series.id)]
[('v1', 1.5)]
"""

from tollens.errors import StoreError
from tollens.store.records import AlarmRecord, PointRecord, SeriesRecord, StepRecord
from tollens.store.store import Store
from tollens.store.turns import OutOfDateError, Turn

__all__ = [
    "AlarmRecord",
    "OutOfDateError",
    "PointRecord",
    "SeriesRecord",
    "StepRecord",
    "Store",
    "StoreError",
    "Turn",
]
