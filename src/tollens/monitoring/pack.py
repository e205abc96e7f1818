"""A running state as bytes: plain JSON with arrays beside it, compressed.

Layout before compression: the length of the header (8 bytes, little-endian), the header (JSON:
format, tree, and the type and shape of each array), the arrays one after the other. Nothing in
it is ever executed, and every length is checked before it is used.
"""

from __future__ import annotations

import json
import math
import zlib

import numpy as np
from numpy.typing import NDArray

from tollens.errors import UsageError

FORMAT = "tollens/state/1"

LARGEST, LARGEST_HEADER = 2**28, 2**24
"""Bytes of a state, and of its header, at most."""

_TYPES = ("<f8", "<i8", "<u8")
_ARRAY = "@"

Tree = object


def pack(tree: Tree) -> bytes:
    """Bytes of dictionaries, lists, texts, numbers and arrays of 64-bit numbers.

    `UsageError` where there are more of them than `unpack` would read.

    >>> unpack(pack({"counts": np.arange(3.0), "steps": 7}))["counts"].tolist()
    [0.0, 1.0, 2.0]
    """
    arrays: list[NDArray[np.generic]] = []

    def walk(value: Tree) -> Tree:
        if isinstance(value, np.ndarray):
            arrays.append(np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<")))
            return {_ARRAY: len(arrays) - 1}
        if isinstance(value, dict):
            return {str(key): walk(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [walk(item) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}
        return value

    header = {"format": FORMAT, "tree": walk(tree)}
    header["arrays"] = [[array.dtype.str, list(array.shape)] for array in arrays]
    text = json.dumps(header, allow_nan=False).encode("utf-8")
    parts = [len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in arrays)]
    size = sum(map(len, parts))
    if len(text) > LARGEST_HEADER or size > LARGEST:
        raise UsageError(
            f"what is to be kept of this step has {size} bytes, {len(text)} of them names; it may "
            f"have {LARGEST} and {LARGEST_HEADER}: release outputs with fewer numbers or names"
        )
    return zlib.compress(b"".join(parts), 1)


def unpack(data: bytes) -> dict[str, object]:
    """The tree of `pack`; `UsageError` for anything else.

    >>> unpack(b"no state")
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: a stored state cannot be read: Error -3 while decompressing ...
    """
    try:
        engine = zlib.decompressobj()
        raw = engine.decompress(data, LARGEST)
        if engine.unconsumed_tail or engine.unused_data or not engine.eof:
            raise ValueError("it is cut off or too large")
        size = int.from_bytes(raw[:8], "little")
        if size > LARGEST_HEADER:
            raise ValueError(f"its header has {size} bytes, more than {LARGEST_HEADER}")
        header = json.loads(raw[8 : 8 + size].decode("utf-8"))
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}, not {FORMAT!r}")
        arrays = _arrays(raw, 8 + size, header["arrays"])
        tree = _restored(header["tree"], arrays)
    except (zlib.error, ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise UsageError(f"a stored state cannot be read: {error}") from None
    if not isinstance(tree, dict):
        raise UsageError("a stored state cannot be read: it is not an object")
    return tree


def _arrays(raw: bytes, at: int, kinds: list[list[object]]) -> list[NDArray[np.generic]]:
    found = []
    for kind, shape in kinds:
        if kind not in _TYPES or not isinstance(shape, list):
            raise ValueError(f"it holds an array of type {kind!r}")
        sizes = [int(size) for size in shape]
        count = math.prod(sizes)
        if min(sizes, default=0) < 0 or at + 8 * count > len(raw):
            raise ValueError("an array is cut off")
        array = np.frombuffer(raw, dtype=np.dtype(kind), count=count, offset=at)
        found.append(array.reshape(sizes).astype(array.dtype.newbyteorder("=")))
        at += 8 * count
    return found


def _restored(value: object, arrays: list[NDArray[np.generic]]) -> object:
    if isinstance(value, dict):
        if set(value) == {_ARRAY}:
            return arrays[int(value[_ARRAY])]
        if set(value) == {"float"}:
            return float(value["float"])
        return {key: _restored(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_restored(item, arrays) for item in value]
    return value
