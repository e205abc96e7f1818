"""Small fits run on one thread.

The learned scores are fitted often, to few rows, where more threads gain nothing; and threads that
wait for each other on a busy machine spin, which made audits ten times as dear.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[object]:
    """Within the block OpenMP and BLAS use one thread; import what uses them before.

    >>> with one_thread():
    ...     2 + 2
    4
    """
    limited: AbstractContextManager[object] = _controller().limit(limits=1)
    return limited


@functools.cache
def _controller() -> ThreadpoolController:
    from sklearn.ensemble import HistGradientBoostingClassifier as _  # noqa: F401 - loads OpenMP
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
