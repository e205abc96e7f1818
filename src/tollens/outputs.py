"""What a mechanism released, as arrays that can be scored at array speed.

An output may be a number, a boolean, a string, bytes, None, NaN or an infinity, an exception
(`Raised`), or a tuple, list, dictionary or array of these. Each becomes

* a *shape*: its types, lengths and keys (`float`, `str`, `(2,) float`, `raised ValueError`, ...),
* a *key*: a 64-bit digest of its exact value, equal for equal outputs,
* *numbers*: the numeric leaves in order, one row per output, NaN where there is none.

Any function of these is a fair test: two outputs that look the same only make a test weaker.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tollens.errors import UsageError

MAX_NUMBERS = 4096
"""How many numeric leaves of an output are looked at one by one; the key sees all of them."""

_REMEMBERED = 10_000
_TEXT_WIDTH = 60
_ENDS, _BUCKETS = 3, 16


@dataclass(frozen=True, slots=True)
class Raised:
    """A run that ended in an exception instead of an output: an output too.

    Only the type is looked at by tests; the message is for people (it may hold addresses).

    >>> Raised("ValueError", "no rows")
    Raised(type='ValueError', message='no rows')
    """

    type: str
    message: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


TIMEOUT = Raised("Timeout", "the run exceeded the time limit")
CRASH = Raised("Crash", "the process of the run ended")


@dataclass(frozen=True, slots=True)
class Outputs:
    """n encoded outputs.

    `shapes` (n,) are numbers of shapes known to the `Encoder`, `keys` (n,) digests, `numbers`
    (n, d) the numeric leaves. `marks` (n,) says which outputs are in the event that the encoder
    was given, None where it was given none. `exact` says that bets may look at the bits of numbers.
    `draws` (n,) numbers the draws of randomness: runs of both sides with the same number shared
    theirs. None where none did.
    """

    shapes: NDArray[np.int64]
    keys: NDArray[np.uint64]
    numbers: NDArray[np.float64]
    marks: NDArray[np.bool_] | None = None
    exact: bool = False
    draws: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, index: slice | NDArray[np.bool_] | NDArray[np.intp]) -> Outputs:
        marks = None if self.marks is None else self.marks[index]
        parts = self.shapes[index], self.keys[index], self.numbers[index]
        draws = None if self.draws is None else self.draws[index]
        return Outputs(*parts, marks, self.exact, draws)


def concatenate(parts: Sequence[Outputs]) -> Outputs:
    """Stack outputs; rows with fewer numbers are filled up with NaN."""
    width = max(part.numbers.shape[1] for part in parts)
    numbers = [_widen(part.numbers, width) for part in parts]
    marks = [part.marks for part in parts if part.marks is not None]
    draws = [part.draws for part in parts if part.draws is not None]
    return Outputs(
        np.concatenate([part.shapes for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate(numbers),
        np.concatenate(marks) if len(marks) == len(parts) else None,
        all(part.exact for part in parts),
        np.concatenate(draws) if len(draws) == len(parts) else None,
    )


def _widen(numbers: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    missing = width - numbers.shape[1]
    if not missing:
        return numbers
    return np.pad(numbers, ((0, 0), (0, missing)), constant_values=np.nan)


class Encoder:
    """Turns outputs into `Outputs` and remembers names for what it has seen.

    >>> encoder = Encoder()
    >>> out = encoder.encode([1.5, None, 1.5])
    >>> [encoder.shape_name(s) for s in out.shapes], out.numbers[:, 0].tolist()
    (['float', 'None', 'float'], [1.5, nan, 1.5])
    >>> bool(out.keys[0] == out.keys[2]), encoder.text_of(int(out.keys[1]))
    (True, 'None')
    """

    def __init__(
        self, event: Callable[[object], bool] | None = None, *, exact: bool = False
    ) -> None:
        """An encoder that marks the outputs for which `event` holds, if one is given.

        With `exact` its outputs say that the bits of their numbers may be looked at.
        """
        self._event, self._exact = event, exact
        self._shapes: dict[int, str] = {}
        self._texts: dict[int, str] = {}

    def shape_name(self, shape: int) -> str:
        """The name of a shape number, such as `float` or `(2,) float`."""
        return self._shapes[shape]

    def text_of(self, key: int) -> str | None:
        """A readable form of an exact value seen before; None where it was not remembered."""
        return self._texts.get(key)

    @property
    def shape_names(self) -> list[str]:
        """The names of all shapes seen, in the order in which they came."""
        return list(self._shapes.values())

    @property
    def texts(self) -> dict[int, str]:
        """Readable forms of remembered exact values, by key."""
        return dict(self._texts)

    def restore(self, shape_names: Sequence[str], texts: Mapping[int, str]) -> None:
        """Make an empty encoder know the shapes and texts of another."""
        for name in shape_names:
            self._shape(name)
        self._texts = dict(texts)

    def knows(self, shapes: NDArray[np.int64]) -> bool:
        """Whether all of these shape numbers have names."""
        return set(np.unique(shapes).tolist()) <= set(self._shapes)

    def encode(self, outputs: Sequence[object] | NDArray[np.generic]) -> Outputs:
        """Encode a batch: an array whose first axis counts the outputs, or a sequence of them."""
        encoded = self._encode(outputs)
        marks = None if self._event is None else self._marks(outputs)
        return replace(encoded, marks=marks, exact=self._exact)

    def _marks(self, outputs: Iterable[object]) -> NDArray[np.bool_]:
        """Which outputs are in the event; a run that raised is in none."""
        if self._event is None:
            raise AssertionError("there is no event")
        try:
            found = [not isinstance(o, Raised) and bool(self._event(o)) for o in outputs]
        except Exception as error:
            raise UsageError(
                f"the witness raised {type(error).__name__} on an output: {error}"
            ) from error
        return np.array(found, dtype=bool)

    def _encode(self, outputs: Sequence[object] | NDArray[np.generic]) -> Outputs:
        if isinstance(outputs, np.ndarray):
            odd = isinstance(outputs, np.ma.MaskedArray) or (
                outputs.dtype == np.uint64 and outputs.size and int(outputs.max()) >= 2**63
            )
            if outputs.dtype.kind in "biuf" and outputs.ndim >= 1 and not odd:
                return self._encode_array(outputs)
            return self._encode_each(list(outputs))
        return self._encode_each(list(outputs))

    def _shape(self, name: str) -> int:
        """A number that depends on the name alone, not on what came before."""
        number = _digest(name) >> 1
        self._shapes.setdefault(number, name)
        return number

    def _remember(self, key: int, text: Callable[[], str]) -> None:
        if key not in self._texts and len(self._texts) < _REMEMBERED:
            self._texts[key] = _shorten(text())

    def _encode_array(self, array: NDArray[np.generic], name: str | None = None) -> Outputs:
        n = len(array)
        kind = _number_kind(array.dtype)
        flat = array.reshape(n, math.prod(array.shape[1:]))
        numbers = flat.astype(np.float64)
        keys = _row_keys(numbers, flat if kind == "int" else None)
        if array.ndim == 1:
            shapes = np.full(n, self._shape(kind), dtype=np.int64)
            nan = np.isnan(numbers[:, 0])
            if nan.any():
                shapes[nan] = self._shape("NaN")
                keys[nan] = 0
        else:
            name = name or f"{array.shape[1:]} {kind}"
            shapes = np.full(n, self._shape(name), dtype=np.int64)
        keys ^= np.uint64(_digest(name or kind))
        self._remember_rows(keys, array)
        return Outputs(shapes, keys, numbers[:, :MAX_NUMBERS])

    def _remember_rows(self, keys: NDArray[np.uint64], array: NDArray[np.generic]) -> None:
        room = _REMEMBERED - len(self._texts)
        if room <= 0:
            return
        for key, value in zip(keys[:room].tolist(), array[:room], strict=True):
            self._remember(key, lambda value=value: _readable(value))  # type: ignore[misc]

    def _encode_each(self, batch: Sequence[object]) -> Outputs:
        """Outputs of one plain kind go through an array together, the others one by one."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for i, output in enumerate(batch):
            groups.setdefault(_array_group(output), []).append(i)
        parts, order = [], []
        for group, members in groups.items():
            chosen = batch if len(members) == len(batch) else [batch[i] for i in members]
            parts.append(self._encode_group(group, chosen))
            order.extend(members)
        if not parts:
            return Outputs(
                np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64), np.zeros((0, 0))
            )
        if len(parts) == 1:
            return parts[0]
        return concatenate(parts)[np.argsort(np.array(order))]

    def _encode_group(self, group: tuple[object, ...], batch: Sequence[object]) -> Outputs:
        kind = group[0]
        if kind == "scalar":
            return self._encode_array(np.array(batch, dtype=_SCALARS[str(group[1])]))
        if kind == "array":
            return self._encode_array(np.stack([np.asarray(output) for output in batch]))
        if kind == "tuple":
            name, leaf = str(group[1]), str(group[2])
            array = np.array(batch, dtype=_SCALARS[leaf])
            return self._encode_array(array, f"{name} of {_runs([leaf] * array.shape[1])}")
        return self._encode_one_by_one(batch)

    def _encode_one_by_one(self, batch: Sequence[object]) -> Outputs:
        shapes, keys, rows = [], [], []
        for output in batch:
            leaves: list[float] = []
            exact: list[str] = []
            try:
                name = self._walk(output, leaves, exact, depth=0)
            except UsageError:
                raise
            except Exception as error:  # noqa: BLE001 - an object of the caller's misbehaves
                raise UsageError(
                    f"an output of type {type(output).__name__} cannot be looked at: "
                    f"{type(error).__name__}: {error}"
                ) from None
            key = _digest(name + "\x00" + "\x00".join(exact))
            self._remember(key, lambda output=output: _readable(output))  # type: ignore[misc]
            shapes.append(self._shape(name))
            keys.append(key)
            rows.append(leaves[:MAX_NUMBERS])
        width = max((len(row) for row in rows), default=0)
        numbers = np.full((len(batch), width), np.nan)
        for i, row in enumerate(rows):
            numbers[i, : len(row)] = row
        return Outputs(np.array(shapes, dtype=np.int64), np.array(keys, dtype=np.uint64), numbers)

    def _walk(self, output: object, leaves: list[float], exact: list[str], depth: int) -> str:
        """Append the leaves of an output and return the name of its shape."""
        if depth > 32:
            raise UsageError("an output is nested more than 32 deep; release a flatter one")
        if isinstance(output, np.datetime64 | np.timedelta64):
            exact.append(str(output))
            leaves.append(float(output.astype(np.int64)))
            return str(output.dtype)
        if isinstance(output, np.generic) or (isinstance(output, np.ndarray) and not output.ndim):
            plain = output.item()
            output = float(plain) if isinstance(plain, np.floating) else plain
        if output is None or output is np.ma.masked:
            exact.append("None")
            return "None"
        if isinstance(output, bool | int | float):
            return _number(output, leaves, exact)
        if isinstance(output, Decimal | Fraction | complex | date | timedelta):
            return _other_scalar(output, leaves, exact)
        if isinstance(output, str | bytes):
            return _text(output, leaves, exact)
        if isinstance(output, Raised):
            exact.append(output.type)
            return f"raised {output.type}"
        if isinstance(output, Mapping):
            return self._mapping(output, leaves, exact, depth)
        if isinstance(output, set | frozenset):
            exact.extend(sorted(map(repr, output)))
            leaves.append(float(len(output)))
            return type(output).__name__
        masked = isinstance(output, np.ma.MaskedArray)
        if isinstance(output, np.ndarray) and output.dtype.kind in "biuf" and not masked:
            leaves.extend(np.asarray(output, dtype=np.float64).ravel().tolist())
            exact.append(_plain_bytes(output))
            return f"{output.shape} {_number_kind(output.dtype)}"
        if isinstance(output, (Sequence, np.ndarray)):
            items: Iterable[object] = output.tolist() if isinstance(output, np.ndarray) else output
            names = [self._walk(item, leaves, exact, depth + 1) for item in items]
            return f"{type(output).__name__}[{len(names)}] of {_runs(names)}"
        if hasattr(output, "to_numpy"):
            columns = [str(column) for column in getattr(output, "columns", ())]
            exact.extend(columns)
            return f"{type(output).__name__}{columns or ''} " + self._walk(
                np.asarray(output.to_numpy()), leaves, exact, depth + 1
            )
        raise UsageError(
            f"an output is of type {type(output).__name__}, which tollens cannot compare; "
            "release numbers, strings, bytes, None, or tuples, lists, dictionaries or arrays of "
            "these (wrap the mechanism in a function that converts)"
        )

    def _mapping(
        self, output: Mapping[object, object], leaves: list[float], exact: list[str], depth: int
    ) -> str:
        parts = []
        for key, value in sorted(output.items(), key=lambda item: repr(item[0])):
            exact.append(repr(key))
            parts.append(f"{key!r}: {self._walk(value, leaves, exact, depth + 1)}")
        return f"dict{{{', '.join(parts)}}}"


_SCALARS: dict[str, type[np.generic]] = {"float": np.float64, "int": np.int64, "bool": np.bool_}


def _array_group(output: object) -> tuple[object, ...]:
    """What outputs may share an array: scalars by type, arrays by shape, tuples by leaves.

    A function of the output alone: how an output is encoded must not depend on its company.
    """
    kind = type(output)
    if output is np.ma.masked or isinstance(output, np.timedelta64):
        return ("other",)
    if kind is float or isinstance(output, np.floating):
        return ("scalar", "float")
    if kind is bool or isinstance(output, np.bool_):
        return ("scalar", "bool")
    if kind is int or isinstance(output, np.integer):
        return ("scalar", "int") if _fits(output) else ("other",)
    if isinstance(output, np.ndarray):
        if not output.ndim:
            return _array_group(output.item())
        plain = output.dtype.kind in "biuf" and output.ndim > 0
        if plain and not isinstance(output, np.ma.MaskedArray):
            return ("array", output.shape, output.dtype.str)
        return ("other",)
    if (kind is tuple or kind is list) and isinstance(output, Sequence) and len(output):
        return _tuple_group(output, f"{kind.__name__}[{len(output)}]")
    return ("other",)


def _tuple_group(output: Sequence[object], name: str) -> tuple[object, ...]:
    leaves = set(map(type, output))
    leaf = leaves.pop() if len(leaves) == 1 else None
    if leaf is float:
        return ("other",) if np.isnan(np.array(output)).any() else ("tuple", name, "float")
    if leaf is int:
        return ("tuple", name, "int") if all(map(_fits, output)) else ("other",)
    return ("tuple", name, "bool") if leaf is bool else ("other",)


def _fits(number: object) -> bool:
    """Whether an integer fits into 64 bits."""
    return isinstance(number, int | np.integer) and -(2**63) <= int(number) < 2**63


def _number(output: bool | int | float, leaves: list[float], exact: list[str]) -> str:
    if isinstance(output, float) and math.isnan(output):
        leaves.append(np.nan)
        exact.append("NaN")
        return "NaN"
    try:
        leaves.append(float(output))
    except OverflowError:
        leaves.append(np.inf if output > 0 else -np.inf)
    exact.append(repr(output + 0.0 if isinstance(output, float) else output))
    return type(output).__name__ if type(output) in (bool, int, float) else "int"


def _other_scalar(
    output: Decimal | Fraction | complex | date | timedelta, leaves: list[float], exact: list[str]
) -> str:
    exact.append(repr(output))
    if isinstance(output, complex):
        leaves.extend([output.real, output.imag])
    elif isinstance(output, Decimal | Fraction):
        try:
            leaves.append(float(output))
        except (OverflowError, ValueError):
            leaves.append(np.nan)
    elif isinstance(output, timedelta):
        leaves.append(output.total_seconds())
    else:
        leaves.append(float(output.toordinal()))
        if isinstance(output, datetime):
            leaves.append(output.hour * 3600.0 + output.minute * 60.0 + output.second)
    return type(output).__name__


def _text(output: str | bytes, leaves: list[float], exact: list[str]) -> str:
    """Bits of bytes; of a string its length, both ends, and how often characters occur.

    All are functions of the text alone.
    """
    exact.append(repr(output))
    if isinstance(output, bytes):
        bits = np.unpackbits(np.frombuffer(output[:MAX_NUMBERS], dtype=np.uint8))
        leaves.extend(bits.astype(np.float64).tolist())
        return f"bytes[{len(output)}]"
    codes = [ord(character) for character in output]
    padded = codes + [-1] * max(0, _ENDS - len(codes))
    leaves.append(float(len(codes)))
    leaves.extend(float(code) for code in padded[:_ENDS])
    leaves.extend(float(code) for code in padded[-_ENDS:])
    counts = np.bincount([code % _BUCKETS for code in codes], minlength=_BUCKETS)
    leaves.extend(counts.astype(np.float64).tolist())
    return "str"


def _number_kind(dtype: np.dtype[np.generic]) -> str:
    return {"b": "bool", "i": "int", "u": "int", "f": "float"}[dtype.kind]


def _runs(names: Sequence[str]) -> str:
    """`float, float, float, str` as `float x 3, str`: short names for long uniform outputs."""
    parts: list[tuple[str, int]] = []
    for name in names:
        if parts and parts[-1][0] == name:
            parts[-1] = (name, parts[-1][1] + 1)
        else:
            parts.append((name, 1))
    return ", ".join(name if count == 1 else f"{name} x {count}" for name, count in parts)


def _digest(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int(struct.unpack("<Q", digest)[0])


def _plain_bytes(array: NDArray[np.generic]) -> str:
    widest = {"f": np.float64, "i": np.int64, "u": np.uint64, "b": np.bool_}
    wide: NDArray[np.generic] = array.astype(widest[array.dtype.kind])
    if array.dtype.kind == "f":
        wide = np.add(wide, 0.0)  # -0.0 counts as 0.0
    return hashlib.blake2b(np.ascontiguousarray(wide).tobytes(), digest_size=16).hexdigest()


def _row_keys(
    numbers: NDArray[np.float64], integers: NDArray[np.generic] | None
) -> NDArray[np.uint64]:
    """A 64-bit multiplicative hash of each row; -0.0 counts as 0.0."""
    words = (
        integers.astype(np.int64).view(np.uint64)
        if integers is not None
        else np.ascontiguousarray(numbers + 0.0).view(np.uint64)
    )
    odd = np.random.default_rng(0x746F6C6C).integers(0, 2**63, size=words.shape[1], dtype=np.int64)
    multipliers = odd.astype(np.uint64) * np.uint64(2) + np.uint64(1)
    mixed = words ^ (words >> np.uint64(29))
    total = (mixed * multipliers).sum(axis=1, dtype=np.uint64)
    return np.asarray(total ^ (total >> np.uint64(32)), dtype=np.uint64)


def _readable(value: object) -> str:
    if value is np.ma.masked:
        return "None"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return f"[{', '.join(_readable(item) for item in value.ravel()[:40])}]"
    if isinstance(value, Raised):
        return f"raises {value.type}"
    return repr(value)


def _shorten(text: str) -> str:
    return text if len(text) <= _TEXT_WIDTH else text[: _TEXT_WIDTH - 3] + "..."
