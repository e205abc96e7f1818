"""What becomes of the noisy sum: it should go on as it is, divided by a number that is public."""

from __future__ import annotations

import torch

from tollens.training.parts.part import Finding

_RELATIVE = 1e-4
"""Of the largest coordinate: what rounding may change in a multiple of the noisy sum."""


class Release:
    """Compares the gradient that the inner optimiser gets with the noisy sum that was looked at.

    >>> release = Release()
    >>> for step, rows in enumerate((3, 4, 5), 1):
    ...     release.begin()
    ...     release.keep(torch.ones(2))
    ...     found = release.finding(torch.ones(2) / rows, torch.zeros(2), rows, step)
    >>> found.level, found.step
    ('fault', 2)
    """

    def __init__(self) -> None:
        self._noisy: torch.Tensor | None = None
        self._sizes: set[int] = set()
        self._others = False
        self._fault: Finding | None = None

    def begin(self) -> None:
        """A new step: no noise has been added yet."""
        self._noisy = None

    def keep(self, noisy: torch.Tensor) -> None:
        """The noisy sum, all coordinates in one row."""
        self._noisy = noisy

    def finding(
        self, released: torch.Tensor, clean: torch.Tensor, rows: int | None, step: int
    ) -> Finding | None:
        """What is wrong with the gradient that was released from a batch of so many records.

        `clean` is the sum before noise.
        """
        noisy = self._noisy
        if noisy is None:
            if _factor(released, clean):
                text = "the sum of clipped gradients is released without noise"
                return Finding("release", "fault", step, text, "nothing: numbers are compared")
            return _warning(
                step, "add_noise was not called in a step, so its noise was not looked at"
            )
        if not bool(torch.isfinite(noisy).all() and noisy.any()):
            return None
        factor = _factor(released, noisy)
        if factor is None:
            return _warning(
                step,
                "the gradient was changed after the noise was added, by more than a factor; what "
                "was added then is not audited",
            )
        if rows and self._fault is None:
            self._look_at_size(factor, rows, step)
        return self._fault

    def _look_at_size(self, factor: float, rows: int, step: int) -> None:
        """Whether the sum is divided by the number of records in each batch, whatever it is."""
        self._others |= abs(factor * rows - 1.0) > _RELATIVE
        self._sizes.add(rows)
        if self._others or len(self._sizes) < 2:
            return
        text = (
            f"the noisy sum is divided by the number of records in the batch ({rows} now), which "
            "is private where batches are drawn at random: its scale gives one record away"
        )
        self._fault = Finding("release", "fault", step, text, "the size of a batch is private")


def _factor(released: torch.Tensor, total: torch.Tensor) -> float | None:
    """The number that the sum was multiplied by; None if it was changed in another way."""
    square = float(torch.dot(total, total))
    if square == 0.0:
        return None
    factor = float(torch.dot(released, total)) / square
    off = float((released - factor * total).abs().max())
    return factor if off <= _RELATIVE * float(released.abs().max()) else None


def _warning(step: int, text: str) -> Finding:
    return Finding("release", "warning", step, text, "nothing: numbers are compared")
