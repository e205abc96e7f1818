"""The store: opened at a path or a URL, read freely, written in turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine, Select, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from tollens.errors import StoreError
from tollens.store import engines, queries, rows
from tollens.store.faults import explain, translated
from tollens.store.places import Place, prepare_file, read_place
from tollens.store.records import AlarmRecord, PointRecord, SeriesRecord, StepRecord
from tollens.store.schema import prepare
from tollens.store.tables import ALARMS, CHECKPOINTS, OUTPUTS, SERIES, STEPS
from tollens.store.turns import AGAIN, Turn

_BATCH = 100
"""Steps that are read at a time: memory does not grow with the length of a series."""


class Store:
    """Series, their steps, running states and alarms; use it as a context manager.

    Made by `Store.open`. May be used by several threads, and after a fork in both processes.
    Everything raises `StoreError` where the database fails.
    """

    def __init__(self, place: Place, wait: float) -> None:
        self._place = place
        with translated(place):
            self._engine = engines.make_engine(place, wait)
        self._closed = False

    @classmethod
    def open(
        cls, where: str | Path, *, create: bool = True, migrate: bool = False, wait: float = 30.0
    ) -> Store:
        """Open a store: a path is SQLite, postgresql://... is PostgreSQL.

        `create` makes the file with its folders and the tables where there is nothing yet. A store
        of an older tollens is brought to the schema of this one only with `migrate`. `wait` is how
        many seconds to wait for a lock of another process. `StoreError` for anything that is not a
        store, or that cannot be reached; it is left as it was.
        """
        if not 0 <= wait <= 1e6:
            raise StoreError(f"wait is {wait}; it must be seconds, 0 or more")
        place = read_place(where)
        if place.path is not None:
            prepare_file(place.path, create=create)
        store = cls(place, wait)
        try:
            prepare(store._engine, place, create=create, migrate=migrate)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Let go of all connections; the store cannot be used afterwards."""
        self._closed = True
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def place(self) -> str:
        """Where the store is, without a password."""
        return str(self._place)

    def __repr__(self) -> str:
        return f"Store({self.place!r})"

    def enter(
        self,
        name: str,
        digest: str,
        settings: Mapping[str, object],
        *,
        stale_after: float | None = None,
    ) -> SeriesRecord:
        """The series of this name and digest; made, and then the newest, if there is none.

        The settings of a series that is there stay as they are; `stale_after` is brought up to
        date. Two processes that enter the same series at once get the same one.
        """
        values = rows.series_values(name, digest, settings, stale_after)
        query = select(SERIES).where(SERIES.c.name == name, SERIES.c.digest == digest)
        with self._reading() as connection:
            row = connection.execute(query).first()
        if row is not None and row.stale_after == values["stale_after"]:
            return rows.read_series(row)
        add = postgresql.insert if self._place.path is None else sqlite.insert
        with translated(self._place), engines.writing(self._ready()) as connection:
            if connection.execute(query).first() is None:
                connection.execute(add(SERIES).values(**values).on_conflict_do_nothing())
            connection.execute(
                update(SERIES)
                .where(SERIES.c.name == name, SERIES.c.digest == digest)
                .values(stale_after=values["stale_after"])
            )
            return rows.read_series(connection.execute(query).one())

    def series(self, name: str | None = None) -> list[SeriesRecord]:
        """All series, or those of a name, oldest first: the last of a name is in force."""
        query = select(SERIES).order_by(SERIES.c.id)
        if name is not None:
            rows.refuse(rows.bad_text("name", name))
            query = query.where(SERIES.c.name == name)
        with self._reading() as connection:
            return [rows.read_series(row) for row in connection.execute(query)]

    @contextmanager
    def turn(self, series_id: int) -> Iterator[Turn]:
        """The exclusive right to add to one series, for as long as the block lasts.

        All that the block recorded is kept when it ends, and nothing of it when it raises. Others
        wait for their turn (on SQLite those of all series), so draw runs before, not within.
        """
        with translated(self._place, AGAIN):
            connection = engines.begun(self._ready())
        try:
            with translated(self._place, AGAIN):
                transaction = connection.begin()
            try:
                turn = Turn(connection, self._place, series_id)
                yield turn
                turn.end()
            except BaseException:
                with suppress(SQLAlchemyError):
                    transaction.rollback()
                raise
            try:
                transaction.commit()
            except SQLAlchemyError as error:
                raise StoreError(explain(self._place, error) + _fate(error)) from None
        finally:
            with suppress(SQLAlchemyError):
                connection.close()

    def steps(
        self, series_id: int, *, after: int = 0, last: int | None = None
    ) -> Iterator[StepRecord]:
        """The steps of a series in order: those after a number, only the last k of them if asked.

        They are read in batches, so that neither memory nor a lock grows with their number.
        """
        if last is not None:
            after = max(after, self._newest(series_id) - max(0, last))
        while True:
            query = _steps_after(series_id, after)
            with self._reading() as connection:
                batch = [rows.read_step(row) for row in connection.execute(query)]
            yield from batch
            if len(batch) < _BATCH:
                return
            after = batch[-1].number

    def alarms(self, series_id: int) -> list[AlarmRecord]:
        """All alarms of a series, oldest first."""
        query = select(ALARMS).where(ALARMS.c.series_id == series_id).order_by(ALARMS.c.id)
        with self._reading() as connection:
            return [rows.read_alarm(row) for row in connection.execute(query)]

    def newest_steps(self) -> dict[int, StepRecord]:
        """The last step of every series that has one, by the id of the series."""
        with self._reading() as connection:
            found = connection.execute(queries.newest_steps())
            return {row.series_id: rows.read_step(row) for row in found}

    def newest_alarms(self) -> dict[int, AlarmRecord]:
        """The last alarm of every series that had one, by the id of the series."""
        with self._reading() as connection:
            found = connection.execute(queries.newest_alarms())
            return {row.series_id: rows.read_alarm(row) for row in found}

    def scored_since(self, series_id: int, number: int, moment: datetime) -> bool:
        """Whether a step after this number was scored, and recorded after this moment."""
        query = queries.scored_since(series_id, number, moment.astimezone(UTC))
        with self._reading() as connection:
            return connection.execute(query).first() is not None

    def points(self, series_id: int, *, stretches: int = 200) -> list[PointRecord]:
        """The steps of a series for a figure, in order; a long series is thinned.

        Where it has more than six times as many steps as `stretches`, so many equal stretches of
        it give their first step, those with the least and the most evidence and leak, and their
        first failed one. The last step is always there.
        """
        steps = self._newest(series_id)
        with self._reading() as connection:
            if steps <= 6 * stretches:
                query = queries.all_points(series_id)
            else:
                chosen = connection.execute(queries.thinned(series_id, steps, stretches))
                numbers = {n for row in chosen for n in row if n is not None} | {steps}
                query = queries.points_at(series_id, numbers)
            return [rows.read_point(row) for row in connection.execute(query)]

    def checkpoint(self, series_id: int) -> bytes | None:
        """The running state of a series; None before the first."""
        query = select(CHECKPOINTS.c.state).where(CHECKPOINTS.c.series_id == series_id)
        with self._reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else bytes(row.state)

    def raw(self, series_id: int, number: int) -> tuple[bytes, bytes] | None:
        """The outputs of both sides of a step, where they were kept."""
        query = select(OUTPUTS.c.x, OUTPUTS.c.x_prime).where(
            OUTPUTS.c.series_id == series_id, OUTPUTS.c.number == number
        )
        with self._reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else (bytes(row.x), bytes(row.x_prime))

    def _newest(self, series_id: int) -> int:
        query = select(func.max(STEPS.c.number)).where(STEPS.c.series_id == series_id)
        with self._reading() as connection:
            return int(connection.execute(query).scalar() or 0)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with translated(self._place), engines.reading(self._ready()) as connection:
            yield connection

    def _ready(self) -> Engine:
        """The engine, unless the store is closed or gone."""
        if self._closed:
            raise StoreError(f"the store {self._place} is closed; open it again")
        if self._place.path is not None and not self._place.path.exists():
            raise StoreError(f"the file {self._place} is gone; put it back, or open the store anew")
        return self._engine


def _steps_after(series_id: int, after: int) -> Select[tuple[object, ...]]:
    mine = select(STEPS).where(STEPS.c.series_id == series_id, STEPS.c.number > after)
    return mine.order_by(STEPS.c.number).limit(_BATCH)


def _fate(error: SQLAlchemyError) -> str:
    """What became of a turn whose commit failed."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return (
            " while the step was committed; it is recorded as a whole or not at all: send it "
            "again with the same version and run_id"
        )
    return AGAIN
