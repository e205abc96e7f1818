"""What one step of private training tells: plain numbers, from any framework."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """The numbers of one step; what a trainer cannot tell is None and is not looked at.

    The step adds normal noise to a sum of clipped gradients. A *canary* is a gradient of norm C
    or more, C being the clipping norm, in a direction u; it is put into the step or left out.

    `with_canary` and `without_canary` are the noisy sum's projections on the canary in the two
    worlds, in units of C; best on the direction in which the canary moved the sum, and less the
    projection of the clean sum without it. `sensitivity` is the norm of the difference that the
    canary makes to the sum before noise, in units of C: at most 1 if clipping works. `residual`
    is the noise, noisy minus clean sum over all coordinates, in units of the claimed standard
    deviation, shape (n,): claimed to be n independent standard normal numbers. `batch_size` is
    the number of records in the batch, `records` their positions in the data, shape
    (batch_size,).
    """

    with_canary: float | None = None
    without_canary: float | None = None
    sensitivity: float | None = None
    residual: Array | None = None
    batch_size: int | None = None
    records: NDArray[np.intp] | None = None
