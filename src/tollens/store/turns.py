"""A turn: the exclusive right to add to one series, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Executable, Row, insert, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tollens.errors import StoreError
from tollens.store import rows
from tollens.store.faults import explain
from tollens.store.places import Place
from tollens.store.records import AlarmRecord, SeriesRecord, StepRecord
from tollens.store.tables import ALARMS, CHECKPOINTS, OUTPUTS, SERIES, STEPS

NOTHING = "nothing of this turn was recorded"
AGAIN = f"; {NOTHING}, and the step may be sent again"


class OutOfDateError(StoreError):
    """The alarm that was to be closed is not the open one: somebody else was faster."""


class Turn:
    """What a series is at now, and how to add to it; made by `Store.turn`.

    `series`, `number` (of the next step), `checkpoint`, `alarm` (the open one) and `last` (the
    last step) follow what the turn records. All is kept at the end of the turn, or nothing.
    """

    def __init__(self, connection: Connection, place: Place, series_id: int) -> None:
        self._connection, self._place = connection, place
        self._over = self._broken = False
        row = self._first(select(SERIES).where(SERIES.c.id == series_id).with_for_update())
        if row is None:
            raise StoreError(f"{place} has no series {series_id}; enter it first")
        self.series: SeriesRecord = rows.read_series(row)
        self.last: StepRecord | None = self._last()
        self.checkpoint: bytes | None = self._state()
        self.alarm: AlarmRecord | None = self._open_alarm()

    @property
    def number(self) -> int:
        """The number that the next step must have."""
        return 1 if self.last is None else self.last.number + 1

    def find(self, version: str, run_id: str) -> StepRecord | None:
        """The step that was recorded for this run of this version, if any."""
        rows.refuse([*rows.bad_text("version", version), *rows.bad_text("run_id", run_id)])
        row = self._first(
            select(STEPS).where(
                STEPS.c.series_id == self.series.id,
                STEPS.c.version == version,
                STEPS.c.run_id == run_id,
            )
        )
        return None if row is None else rows.read_step(row)

    def record(
        self,
        step: StepRecord,
        *,
        checkpoint: bytes | None,
        alarm: Mapping[str, object] | None = None,
        raw: tuple[bytes, bytes] | None = None,
    ) -> None:
        """Add the next step, with the running state after it (None keeps the old state).

        `alarm` raises an alarm with these details; `raw` keeps the outputs of both sides.
        `StoreError` where the number is not the next, where this run of this version is recorded
        already, or where an alarm is open already.
        """
        if step.number != self.number:
            raise StoreError(f"the step is numbered {step.number}; the next is {self.number}")
        if alarm is not None and self.alarm is not None:
            raise StoreError(f"the alarm of step {self.alarm.step} is open; acknowledge it first")
        rows.check_extras(checkpoint, alarm, raw)
        values = rows.step_values(step)
        self._change(
            insert(STEPS).values(series_id=self.series.id, **values),
            taken=f"version {step.version}, run {step.run_id} is recorded already; another run of "
            "it needs another run_id",
        )
        self.last = rows.read_step(values)
        key = {"series_id": self.series.id, "number": step.number}
        if raw is not None:
            self._change(insert(OUTPUTS).values(**key, x=raw[0], x_prime=raw[1]))
        self._keep(checkpoint)
        if alarm is not None:
            self._change(
                insert(ALARMS).values(
                    series_id=self.series.id,
                    step=step.number,
                    raised_at=values["recorded_at"],
                    details=rows.json_text(alarm),
                )
            )
            self.alarm = self._open_alarm()

    def acknowledge(
        self, reason: str, *, checkpoint: bytes | None, step: int | None = None
    ) -> AlarmRecord:
        """Close the open alarm with a reason and go on from another running state.

        `step` is the step that raised the alarm that was seen; another that is open since then is
        left as it is, with `OutOfDateError`. None takes whichever is open.
        """
        rows.refuse(rows.bad_text("reason", reason))
        if not reason.strip():
            raise StoreError("the reason is empty; say why the alarm is closed")
        if self.alarm is None:
            raise OutOfDateError(f"{self.series.name} has no open alarm; there is nothing to close")
        if step not in (None, self.alarm.step):
            raise OutOfDateError(
                f"the alarm of step {step} is closed, and another is open, of step "
                f"{self.alarm.step}; look at that one first"
            )
        rows.check_extras(checkpoint, None, None)
        number = self.alarm.id
        self._change(
            update(ALARMS)
            .where(ALARMS.c.id == number)
            .values(acknowledged_at=datetime.now(UTC), reason=reason)
        )
        self._keep(checkpoint)
        self.alarm = None
        row = self._first(select(ALARMS).where(ALARMS.c.id == number))
        assert row is not None  # noqa: S101 - this transaction holds the row
        return rows.read_alarm(row)

    def end(self) -> None:
        """No more can be done in this turn; `StoreError` where a part of it had failed."""
        self._over = True
        if self._broken:
            raise StoreError(f"{self._place}: a part of the turn failed{AGAIN}")

    def _keep(self, checkpoint: bytes | None) -> None:
        if checkpoint is None:
            return
        step = 0 if self.last is None else self.last.number
        mine = CHECKPOINTS.c.series_id == self.series.id
        kept = {"step": step, "state": checkpoint}
        if self._change(update(CHECKPOINTS).where(mine).values(**kept)) == 0:
            self._change(insert(CHECKPOINTS).values(series_id=self.series.id, **kept))
        self.checkpoint = checkpoint

    def _last(self) -> StepRecord | None:
        mine = select(STEPS).where(STEPS.c.series_id == self.series.id)
        row = self._first(mine.order_by(STEPS.c.number.desc()).limit(1))
        return None if row is None else rows.read_step(row)

    def _state(self) -> bytes | None:
        mine = CHECKPOINTS.c.series_id == self.series.id
        row = self._first(select(CHECKPOINTS.c.state).where(mine))
        return None if row is None else bytes(row.state)

    def _open_alarm(self) -> AlarmRecord | None:
        row = self._first(
            select(ALARMS).where(
                ALARMS.c.series_id == self.series.id, ALARMS.c.acknowledged_at.is_(None)
            )
        )
        return None if row is None else rows.read_alarm(row)

    def _first(self, query: Executable) -> Row[Any] | None:
        self._check()
        try:
            return self._connection.execute(query).first()
        except SQLAlchemyError as error:
            raise self._failure(error) from None

    def _change(self, statement: Executable, *, taken: str = "such a row is there already") -> int:
        """Run a statement that changes rows; how many it changed. `taken`: the key is not free."""
        self._check()
        try:
            return self._connection.execute(statement).rowcount
        except IntegrityError:
            self._broken = True
            name = self.series.name
            raise StoreError(f"{name} in {self._place}: {taken}; {NOTHING}") from None
        except SQLAlchemyError as error:
            raise self._failure(error) from None

    def _check(self) -> None:
        if self._over:
            raise StoreError("the turn is over; take another one with Store.turn")
        if self._broken:
            raise StoreError(f"{self._place}: a part of the turn failed{AGAIN}")

    def _failure(self, error: SQLAlchemyError) -> StoreError:
        self._broken = True
        return StoreError(explain(self._place, error) + AGAIN)
