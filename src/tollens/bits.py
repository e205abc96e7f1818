"""The bits of numbers: on which lattice a float lies, and its lowest bits.

A sampler that computes in floating point can return only some floats, and adding the true answer
moves or rounds them: two inputs then have outputs that the other can hardly have, whatever their
values are (Mironov 2012, doi 10.1145/2382196.2382264).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NAMES = ("lattice", "exponent", "bit 0", "bit 1", "bit 2", "fraction", "modulo 2")
"""What is looked at of each number."""

LOOKED_AT = 4
"""The first numbers of an output whose bits are looked at."""

_ZERO = 64.0


def bits_of(numbers: Array) -> Array:
    """The bits of the first `LOOKED_AT` numbers of each output, (n, d) to (n, len(NAMES) * min).

    Of a float m 2^g with an odd whole m: g (64 for zero), its binary exponent, the three lowest
    of its 53 bits, its fractional part, its remainder modulo 2. NaN where it is not finite.

    >>> bits_of(np.array([[0.75], [6.0], [0.0]]))[:, 0].tolist()
    [-2.0, 1.0, 64.0]
    """
    kept = numbers[:, :LOOKED_AT]
    finite = np.isfinite(kept)
    values = np.where(finite, kept, 0.0)
    fraction, exponent = np.frexp(values)
    mantissa = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    lowest = mantissa & -mantissa
    lattice = exponent - 53.0 + np.log2(np.maximum(lowest, 1))
    lattice[mantissa == 0] = _ZERO
    found = np.stack(
        [lattice, exponent, *(mantissa >> k & 1 for k in range(3)),
         values - np.floor(values), np.fmod(np.abs(values), 2.0)],
        axis=2,
    ).astype(np.float64)  # fmt: skip
    found[~finite] = np.nan
    return found.reshape(len(numbers), kept.shape[1] * len(NAMES))


def name_of(column: int) -> str:
    """The column of `bits_of` in words.

    >>> name_of(0), name_of(9)
    ('lattice of output[0]', 'bit 0 of output[1]')
    """
    number, which = divmod(column, len(NAMES))
    return f"{NAMES[which]} of output[{number}]"
