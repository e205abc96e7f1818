"""Files of canary scores: CSV, Parquet and npy, read with bounds on everything.

Two layouts are read. *Pairs*: each row has a score of a run with the canary and one of a run
without it. *Canaries*: each row is a canary of one training run, with its score and whether it was
in the training data. All findings of a file are gathered, each with its line or row. Nothing in a
file is run: npy files with pickled objects are refused.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from tollens.errors import UsageError

Array = NDArray[np.float64]
Bits = NDArray[np.bool_]
Column = Sequence[object] | NDArray[Any]

MOST_BYTES = 2**28
"""The largest file that is read, 256 MiB."""

MOST_ROWS = 2_000_000
"""The most rows that are read."""

MOST_COLUMNS = 200
"""The most columns a file may have."""

SUFFIXES = (".csv", ".parquet", ".npy")
"""The ends of names of files of scores."""

INSIDE = (
    "in", "with", "member", "members", "included", "inside", "present", "canary", "x",
    "with_canary", "canary_in", "score_in", "in_score", "scores_in", "in_scores", "train",
)  # fmt: skip
OUTSIDE = (
    "out", "without", "non_member", "non_members", "nonmember", "nonmembers", "excluded",
    "outside", "absent", "no_canary", "x_prime", "without_canary", "canary_out", "score_out",
    "out_score", "scores_out", "out_scores", "test", "holdout", "held_out",
)  # fmt: skip
SCORE = ("score", "scores", "value", "statistic", "observation", "observations", "projection")
MEMBERSHIP = (
    "included", "member", "membership", "is_member", "label", "labels", "bit", "bits", "b",
    "inserted", "in_training", "is_in", "in",
)  # fmt: skip
_TRUE, _FALSE = ("1", "true", "1.0"), ("0", "false", "0.0")

_MOST_FINDINGS = 12
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.I)


@dataclass(frozen=True)
class PairScores:
    """Scores with and without the canary, shape (n,) each, no NaN; row i is a pair of runs."""

    inside: Array
    outside: Array
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.inside)


@dataclass(frozen=True)
class CanaryScores:
    """Scores of the canaries of one run, shape (m,), no NaN, and which of them were in."""

    scores: Array
    included: Bits
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.scores)


Scores = PairScores | CanaryScores


@dataclass(frozen=True)
class _Table:
    """Columns as they stand in a file. `place` names a row, from 0, as a reader finds it."""

    path: Path
    names: tuple[str, ...] | None
    columns: tuple[Column, ...]
    place: Callable[[int], str]


class _Findings:
    """Findings, of which the first are kept and the others counted."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.more = 0

    def add(self, finding: str) -> None:
        if len(self.kept) < _MOST_FINDINGS:
            self.kept.append(finding)
        else:
            self.more += 1

    def end(self) -> None:
        """Raise what was found."""
        if self.more:
            self.kept.append(f"and {self.more:,} more of this kind")
        if self.kept:
            raise UsageError(self.kept)


def read_scores(path: Path | str) -> Scores:
    r"""The scores in a file, by the end of its name and the names of its columns.

    A column with a name such as `in` beside one such as `out` makes pairs; a column `score` beside
    one such as `included` makes the canaries of one run. Other columns are passed over. Without
    such names the first of exactly two columns of numbers is taken as in, the second as out.
    Infinite scores are read (they can be compared), missing ones and NaN are not. `UsageError`
    with everything that is wrong.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.csv"
    ...     _ = path.write_text("in,out\n1.5,0.25\n2,-1\n")
    ...     read_scores(path).outside.tolist()
    [0.25, -1.0]
    """
    place = Path(path)
    readers = {".csv": _csv, ".parquet": _parquet, ".npy": _npy}
    reader = readers.get(place.suffix.lower())
    if reader is None:
        raise UsageError(f"{place}: a file of scores ends in {', '.join(SUFFIXES)}")
    try:
        if not place.is_file():
            what = "is no file" if place.exists() else "does not exist"
            raise UsageError(f"{place} {what}")
        size = place.stat().st_size
        if size == 0:
            raise UsageError(f"{place} is empty")
        if size > MOST_BYTES:
            raise UsageError(
                f"{place} has {size / 2**20:,.0f} MiB; {MOST_BYTES // 2**20} MiB is the most that "
                "is read"
            )
        table = reader(place)
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise UsageError(f"{place} needs more memory than there is") from None
    return _scores(table)


# From columns to scores


def _scores(table: _Table) -> Scores:
    findings = _Findings()
    roles = _roles(table)
    kind, first, second = roles
    if not len(table.columns[first]):
        raise UsageError(f"{table.path} has no rows of scores")
    one = _numbers(table, first, findings)
    if kind == "canaries":
        bits = _membership(table, second, findings)
        findings.end()
        if bits.all() or not bits.any():
            which = "in" if bits.all() else "out"
            raise UsageError(
                f"{table.path}: all {len(bits):,} canaries are {which}; some must be in, some out"
            )
        return CanaryScores(one, bits, _remarks(table, roles, one))
    two = _numbers(table, second, findings)
    findings.end()
    return PairScores(one, two, _remarks(table, roles, one, two))


def _roles(table: _Table) -> tuple[str, int, int]:
    """Which layout it is, and the two columns that matter."""
    if table.names is not None:
        names = [_plain(name) for name in table.names]
        doubled = sorted({name for name in names if names.count(name) > 1 and name})
        if doubled:
            raise UsageError(f"{table.path}: two columns are called {', '.join(doubled)}")
        inside, outside = _find(names, INSIDE), _find(names, OUTSIDE)
        if inside is not None and outside is not None:
            return "pairs", inside, outside
        score = _find(names, SCORE)
        member = _find(names, MEMBERSHIP)
        if score is not None and member is not None:
            return "canaries", score, member
    numeric = [i for i, column in enumerate(table.columns) if _all_numbers(column)]
    if len(numeric) == 2:
        bits = [i for i in numeric if _all_bits(table.columns[i])]
        if not bits:
            return "pairs", numeric[0], numeric[1]
        raise UsageError(
            f"{table.path}: column {bits[-1] + 1} holds only 0 and 1; is it membership or a "
            "score? Name the columns score,included or in,out"
        )
    shown = "no names" if table.names is None else ", ".join(table.names[:12])
    raise UsageError(
        f"{table.path}: {len(table.columns)} columns ({shown}), {len(numeric)} of them of numbers; "
        "give two columns of scores called in and out, or a column score and a column included"
    )


def _plain(name: str) -> str:
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def _find(names: Sequence[str], known: Sequence[str]) -> int | None:
    """The column with the first of the known names."""
    return next((names.index(name) for name in known if name in names), None)


def _all_numbers(column: Column) -> bool:
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "fiub"
    return all(isinstance(v, str) and _number(v) is not None for v in column)


def _all_bits(column: Column) -> bool:
    if isinstance(column, np.ndarray):
        return bool(np.isin(column, (0, 1)).all())
    return all(str(v).strip().lower() in _TRUE + _FALSE for v in column)


def _number(text: str) -> float | None:
    """The number of a text, infinite ones too; None for anything else."""
    stripped = text.strip()
    if len(stripped) > 400 or _NUMBER.fullmatch(stripped) is None:
        return None
    return float(stripped)


def _numbers(table: _Table, index: int, findings: _Findings) -> Array:
    """A column as numbers, with findings where there are none."""
    column = table.columns[index]
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        values = column.astype(np.float64)
        for row in np.flatnonzero(np.isnan(values))[: _MOST_FINDINGS + 1].tolist():
            findings.add(f"{_at(table, row, index)} no score (NaN or missing)")
        return np.asarray(values)
    made = np.empty(len(column))
    for row, value in enumerate(column):
        found = _number(value) if isinstance(value, str) else None
        if found is None:
            findings.add(f"{_at(table, row, index)} {_instead(value)}")
        made[row] = math.nan if found is None else found
    return made


def _membership(table: _Table, index: int, findings: _Findings) -> Bits:
    """A column as bits."""
    column = table.columns[index]
    made = np.zeros(len(column), dtype=np.bool_)
    for row, value in enumerate(column.tolist() if isinstance(column, np.ndarray) else column):
        text = str(value).strip().lower()
        if text in _TRUE:
            made[row] = True
        elif text not in _FALSE:
            findings.add(
                f"{_at(table, row, index)} {_short(value)}; membership is 0, 1, true or false"
            )
    return made


def _instead(value: object) -> str:
    text = str(value).strip() if value is not None else ""
    if not text or text.lower() in ("nan", "na", "n/a", "null", "none", "-nan"):
        return "no score (NaN or missing)"
    hint = "; write decimals with a point" if re.fullmatch(r"[+-]?\d+,\d+", text) else ""
    return f"{_short(value)}, which is no number{hint}"


def _at(table: _Table, row: int, index: int) -> str:
    name = f"column {index + 1}" if table.names is None else f"column {table.names[index][:40]!r}"
    return f"{table.path}, {table.place(row)}, {name}:"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _remarks(table: _Table, roles: tuple[str, int, int], *columns: Array) -> tuple[str, ...]:
    """What a reader of the verdict should know about how the file was read."""
    names = table.names or tuple(f"column {i + 1}" for i in range(len(table.columns)))
    kind, first, second = roles
    said = ("in", "out") if kind == "pairs" else ("the score", "membership")
    read = f"of {table.path.name}, {names[first]!r} was read as {said[0]} and {names[second]!r} as"
    found = [f"{read} {said[1]}"]
    infinite = sum(int(np.isinf(column).sum()) for column in columns)
    if infinite:
        found.append(f"{infinite:,} scores are infinite; they count as larger or smaller than all")
    return tuple(found)


# Readers


def _csv(path: Path) -> _Table:
    try:
        path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start + 1:,})") from None
    with path.open(encoding="utf-8-sig", newline="") as stream:
        first = stream.readline(2**20)
        stream.seek(0)
        return _csv_table(path, stream, max(",;\t", key=first.count))


def _csv_table(path: Path, stream: TextIO, delimiter: str) -> _Table:
    rows = csv.reader(stream, delimiter=delimiter)
    findings, kept, lines = _Findings(), list[list[str]](), list[int]()
    width = 0
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            width = width or len(row)
            if width > MOST_COLUMNS:
                raise UsageError(f"{path} has {width:,} columns; {MOST_COLUMNS} are the most")
            if len(row) != width:
                findings.add(
                    f"{path}, line {rows.line_num}: {len(row)} columns where the first line has "
                    f"{width}"
                )
                continue
            kept.append(row)
            lines.append(rows.line_num)
            if len(kept) > MOST_ROWS + 1:
                raise UsageError(f"{path} has more than {MOST_ROWS:,} rows, the most that are read")
    except csv.Error as error:
        findings.add(f"{path}, line {rows.line_num}: {error}")
    if not kept and not findings.kept:
        raise UsageError(f"{path} is empty")
    findings.end()
    names: tuple[str, ...] | None = None
    if any(cell.strip() and _number(cell) is None for cell in kept[0]) and not _has_nan(kept[0]):
        names = tuple(cell.strip() for cell in kept[0])
        del kept[0], lines[0]
    columns = tuple([row[i] for row in kept] for i in range(width))
    return _Table(path, names, columns, lambda row: f"line {lines[row]}")


def _has_nan(cells: Iterable[str]) -> bool:
    """Whether a row is one of numbers with gaps, and not a header."""
    return all(_number(cell) is not None or "no score" in _instead(cell) for cell in cells)


def _npy(path: Path) -> _Table:
    with path.open("rb") as stream:
        if stream.read(6) != b"\x93NUMPY":
            raise UsageError(f"{path} is no npy file (it does not begin like one)")
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - numpy parses the header in ways of its own
        words = str(error)
        if "object" in words.lower() or "pickle" in words.lower():
            raise UsageError(
                f"{path} holds pickled Python objects, which are not read: they could run code; "
                "save an array of numbers"
            ) from None
        raise UsageError(f"{path} is damaged or cut off: {_first_line(words)}") from None
    rows = loaded.shape[0] if loaded.ndim else 0
    if rows > MOST_ROWS:
        raise UsageError(f"{path} has {rows:,} rows; {MOST_ROWS:,} are the most that are read")
    if loaded.dtype.names:
        if loaded.ndim != 1 or any(loaded.dtype[i].shape for i in range(len(loaded.dtype))):
            raise UsageError(
                f"{path}: a structured array of scores has shape (n,) and plain fields"
            )
        names = tuple(loaded.dtype.names)
        if len(names) > MOST_COLUMNS:
            raise UsageError(f"{path} has {len(names):,} columns; {MOST_COLUMNS} are the most")
        return _Table(path, names, tuple(_plain_array(loaded[name]) for name in names), _row)
    if loaded.ndim != 2 or loaded.shape[1] != 2:
        hint = "; is it transposed?" if loaded.ndim == 2 and loaded.shape[0] == 2 else ""
        raise UsageError(
            f"{path} has shape {loaded.shape}{hint}; give (n, 2) with the scores in and out, or a "
            "structured array with the fields score and included"
        )
    return _Table(path, None, tuple(_plain_array(loaded[:, i]) for i in range(2)), _row)


def _first_line(words: str) -> str:
    return (words.splitlines() or ["no reason given"])[0][:120]


def _plain_array(column: NDArray[Any]) -> Column:
    if column.dtype.kind in "fiub":
        return np.array(column)
    return [str(value) for value in column.tolist()]


def _row(row: int) -> str:
    return f"row {row + 1}"


def _parquet(path: Path) -> _Table:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise UsageError(
            f'{path}: Parquet is read by pyarrow; install it with pip install "tollens[parquet]"'
        ) from None
    try:
        opened = parquet.ParquetFile(path)
        schema, rows = opened.schema_arrow, opened.metadata.num_rows
        if rows > MOST_ROWS:
            raise UsageError(f"{path} has {rows:,} rows; {MOST_ROWS:,} are the most that are read")
        if len(schema.names) > MOST_COLUMNS:
            raise UsageError(
                f"{path} has {len(schema.names):,} columns; {MOST_COLUMNS} are the most"
            )
        groups = range(opened.metadata.num_row_groups)
        unpacked = sum(opened.metadata.row_group(i).total_byte_size for i in groups)
        if unpacked > 4 * MOST_BYTES:
            raise UsageError(
                f"{path} unpacks to {unpacked / 2**20:,.0f} MiB; {4 * MOST_BYTES // 2**20} MiB is "
                "the most that is read"
            )
        wanted = [field.name for field in schema if _readable(pa, field.type)]
        table = opened.read(columns=wanted, use_threads=False)
        columns = tuple(_arrow_column(pa, table.column(name)) for name in wanted)
    except (pa.ArrowException, ValueError, KeyError, OverflowError) as error:
        words = _first_line(str(error))
        raise UsageError(f"{path} is no Parquet file, or damaged: {words}") from None
    return _Table(path, tuple(wanted), columns, _row)


def _readable(pa: Any, kind: Any) -> bool:
    tests = pa.types
    return bool(
        tests.is_integer(kind) or tests.is_floating(kind) or tests.is_boolean(kind)
        or tests.is_string(kind) or tests.is_large_string(kind) or tests.is_decimal(kind)
    )  # fmt: skip


def _arrow_column(pa: Any, column: Any) -> Column:
    kind = column.type
    if pa.types.is_boolean(kind) or (column.null_count and pa.types.is_integer(kind)):
        return ["" if value is None else str(value).lower() for value in column.to_pylist()]
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column.to_numpy()  # type: ignore[no-any-return]
    return ["" if value is None else str(value) for value in column.to_pylist()]
