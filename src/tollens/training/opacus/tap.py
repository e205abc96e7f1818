"""Around one step of an Opacus optimiser: it is replayed with a canary, and its noise is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from opacus.optimizers import DPOptimizer

from tollens.training.opacus.release import Release
from tollens.training.parts.part import Finding
from tollens.training.parts.reading import Reading

CANARY_NORM, NORM_A_TENSOR = 10.0, 2.0
"""Least norm of the canary's gradient, and of each tensor of it, in units of the clipping norm.

Unclipped it stands out, and it is long enough for clipping tensor by tensor.
"""

MOST_COORDINATES = 2**17
"""Coordinates of the noise that are looked at; of larger models a random choice, made once."""

_CHECKED, _CHECKED_EVERY = 1024, 16
"""Coordinates by which the noise of both worlds is compared, and in one of how many replays."""


class World(NamedTuple):
    """What the library made of the canary's world, all coordinates in one row."""

    clean: torch.Tensor
    noisy: torch.Tensor


class Tap:
    """Replays one step with a canary and reads the noise of the real one."""

    def __init__(self, optimizer: DPOptimizer, seed: int) -> None:
        self.optimizer = optimizer
        self.notes: list[str] = []
        self._direction = _direction(optimizer.params, seed)
        self._flat_direction = _flat(self._direction)
        self._kept = _coordinates(optimizer.params, seed)
        self._buffers = [torch.empty(0, device=p.device) for p in optimizer.params]
        self._add_noise: Callable[[], None] = optimizer.add_noise
        self._scaled: tuple[float, list[torch.Tensor]] = (0.0, [])
        self._replaying = False
        self._replays = 0
        self._canary: World | None = None
        self._read = Reading()
        self._silent: list[int] = []
        self._release = Release()

    def begin(self) -> None:
        """A new step: what was read of the last one is forgotten."""
        self._canary, self._read, self._silent = None, Reading(), []
        self._release.begin()

    def attach(self) -> None:
        """Stand around the optimiser's `add_noise`."""
        self._add_noise = self.optimizer.add_noise
        self._put_back = stand_in(self.optimizer, "add_noise", self._noise)

    def detach(self) -> None:
        """Leave the optimiser as it was."""
        self._put_back()

    @torch.no_grad()
    def replay(self, samples: list[Any]) -> None:
        """Clip and add noise in a world that has the canary; put everything back."""
        optimizer, params = self.optimizer, self.optimizer.params
        if any(sample is None for sample in samples):
            self._note(
                "per-sample gradients are not kept (ghost clipping), so no canary can be put in: "
                "only noise and its reuse are looked at, and no batches"
            )
            return
        sums = [p.summed_grad for p in params]
        grads = [p.grad for p in params]
        norm = max(CANARY_NORM, NORM_A_TENSOR * math.sqrt(len(params)))
        rows = self._rows(norm * float(optimizer.max_grad_norm))
        with self._same_draws():
            try:
                for i, (p, sample) in enumerate(zip(params, samples, strict=True)):
                    p.grad_sample = self._appended(i, sample, rows[i])
                    p.summed_grad = None if p.summed_grad is None else p.summed_grad.clone()
                optimizer.clip_and_accumulate()
                clean = _flat([p.summed_grad for p in params])
                self._replaying = True
                self._add_noise()
                self._canary = World(clean, _flat([p.grad for p in params]))
            finally:
                self._replaying = False
                for p, sample, total, grad in zip(params, samples, sums, grads, strict=True):
                    p.grad_sample, p.summed_grad, p.grad = sample, total, grad

    def _rows(self, norm: float) -> list[torch.Tensor]:
        """The canary's gradients, made anew when the clipping norm changes."""
        if norm != self._scaled[0]:
            self._scaled = norm, [norm * part for part in self._direction]
        return self._scaled[1]

    def _appended(self, i: int, sample: Any, row: torch.Tensor) -> torch.Tensor:
        """Per-sample gradients and one row more: the one copy that is made of them.

        It lies in a buffer that is kept, for asking for new memory costs more than copying.
        """
        parts = list(sample) if isinstance(sample, list) else [sample]
        rows = sum(len(part) for part in parts) + 1
        like = parts[0]
        buffer = self._buffers[i]
        if len(buffer) < rows or buffer.dtype != like.dtype or buffer.device != like.device:
            shape = (rows + rows // 4, *row.shape)
            buffer = torch.empty(shape, dtype=like.dtype, device=like.device)
            self._buffers[i] = buffer
        whole = buffer[:rows]
        torch.cat([*parts, row.to(dtype=like.dtype, device=like.device)[None]], out=whole)
        return whole.detach()

    @torch.no_grad()
    def _noise(self) -> None:
        """What `optimizer.add_noise` is in the block: the library's own, and a look at it."""
        self._add_noise()
        if self._replaying:
            return
        optimizer, params = self.optimizer, self.optimizer.params
        norm = float(optimizer.max_grad_norm)
        spread = float(optimizer.noise_multiplier) * norm
        clean = _flat([p.summed_grad for p in params])
        noisy = _flat([p.grad for p in params])
        self._release.keep(noisy)
        noise = noisy - clean
        self._silent = [] if bool(noise.all()) else _silent(noise, params)
        kept = noise if self._kept is None else noise[self._kept]
        self._read = Reading(residual=kept.cpu().numpy() / spread)
        if self._canary is None:
            return
        moved = self._canary.clean - clean
        change = float(torch.linalg.vector_norm(moved))
        known = math.isfinite(change) or math.isfinite(float(clean.sum()))
        direction = moved / change if change > 0 else self._flat_direction
        replayed = self._canary.noisy - clean
        self._read = replace(
            self._read,
            with_canary=float(torch.dot(replayed, direction)) / norm,
            without_canary=float(torch.dot(noise, direction)) / norm,
            sensitivity=change / norm if known else None,
        )
        self._replays += 1
        if self._replays % _CHECKED_EVERY != 1:
            return
        drawn = self._canary.noisy[:_CHECKED] - self._canary.clean[:_CHECKED]
        if float((drawn - noise[:_CHECKED]).abs().max()) > 1e-3 * spread:  # false for NaN
            self._note(
                "the noise could not be replayed (its generator is out of reach), so both worlds "
                "have draws of their own: more steps are needed, and the draws of this run differ "
                "from those of a run that is not watched"
            )

    def reading(self, batch_size: int | None) -> Reading:
        """What the step told, in the units of `Reading`."""
        return replace(self._read, batch_size=batch_size)

    @torch.no_grad()
    def released(self, rows: int | None, step: int) -> Finding | None:
        """What is wrong with what the inner optimiser gets of the noisy sum."""
        params = self.optimizer.params
        if any(p.grad is None or p.summed_grad is None for p in params):
            return None
        clean = _flat([p.summed_grad for p in params])
        return self._release.finding(_flat([p.grad for p in params]), clean, rows, step)

    def silent(self, step: int) -> Finding | None:
        """A fault if some parameter's gradient got no noise at all."""
        if not self._silent or self.optimizer.noise_multiplier == 0:
            return None
        shapes = [tuple(self.optimizer.params[i].shape) for i in self._silent[:4]]
        text = (
            f"{len(self._silent)} of {len(self._direction)} parameters got no noise, among them "
            f"those of shape {', '.join(str(shape) for shape in shapes)}"
        )
        return Finding("noise", "fault", step, text, "nothing: noise that is exactly zero")

    def input_sensitivity(
        self, model: torch.nn.Module, backward: Callable[[Any], object], batch: Any, more: Any
    ) -> float:
        """The norm of the change of the clipped sum, in units of C, with everything put back."""
        params = self.optimizer.params
        kept = [(p.grad, getattr(p, "grad_sample", None), p.summed_grad) for p in params]
        buffers = {name: value.clone() for name, value in model.named_buffers()}
        sums = []
        for data in (batch, more):
            for p in params:
                p.grad, p.grad_sample, p.summed_grad = None, None, None
            with _cpu_draws():
                backward(data)
            with torch.no_grad():
                self.optimizer.clip_and_accumulate()
            sums.append(_flat([p.summed_grad for p in params]))
            for name, value in model.named_buffers():
                value.copy_(buffers[name])
        for p, (grad, sample, total) in zip(params, kept, strict=True):
            p.grad, p.grad_sample, p.summed_grad = grad, sample, total
        change = torch.linalg.vector_norm(sums[1] - sums[0])
        return float(change) / float(self.optimizer.max_grad_norm)

    @contextmanager
    def _same_draws(self) -> Iterator[None]:
        """Put the generator of the noise back, so that the step draws what the replay drew."""
        generator = self.optimizer.generator
        if generator is not None:
            try:
                state = generator.get_state()
            except Exception:  # noqa: BLE001 - cryptographic generators have no state to give
                yield
                return
            try:
                yield
            finally:
                generator.set_state(state)
            return
        devices = {p.device for p in self.optimizer.params if p.device.type == "cuda"}
        cuda = {device: torch.cuda.get_rng_state(device) for device in devices}
        with _cpu_draws():
            try:
                yield
            finally:
                for device, state in cuda.items():
                    torch.cuda.set_rng_state(state, device)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


@contextmanager
def _cpu_draws() -> Iterator[None]:
    """Put the state of torch's default generator back at the end."""
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


def stand_in(owner: object, name: str, method: Callable[..., object]) -> Callable[[], None]:
    """Put a method in the place of the owner's; returns what puts the old state back."""
    own = vars(owner).get(name)
    setattr(owner, name, method)

    def put_back() -> None:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)

    return put_back


def _direction(params: list[torch.nn.Parameter], seed: int) -> list[torch.Tensor]:
    """A random direction of norm 1 that has as much of every tensor, small ones too."""
    generator = torch.Generator().manual_seed(seed)
    share = 1.0 / math.sqrt(max(1, sum(p.numel() > 0 for p in params)))
    drawn = [torch.randn(p.shape, generator=generator, dtype=torch.float32) for p in params]
    return [
        (part * (share / max(float(part.norm()), 1e-30))).to(p.device)
        for part, p in zip(drawn, params, strict=True)
    ]


def _coordinates(params: list[torch.nn.Parameter], seed: int) -> torch.Tensor | None:
    """The coordinates of the noise that are looked at; None for all."""
    total = sum(p.numel() for p in params)
    if total <= MOST_COORDINATES:
        return None
    picked = np.random.default_rng(seed).choice(total, MOST_COORDINATES, replace=False)
    return torch.from_numpy(np.sort(picked)).to(params[0].device)


def _flat(parts: list[Any]) -> torch.Tensor:
    """All coordinates in one row, in single precision or better."""
    flat = torch.cat([part.reshape(-1) for part in parts])
    return flat if flat.dtype in (torch.float32, torch.float64) else flat.float()


def _silent(noise: torch.Tensor, params: list[torch.nn.Parameter]) -> list[int]:
    """The parameters whose noise is zero in every coordinate."""
    parts = torch.split(noise, [p.numel() for p in params])
    return [i for i, part in enumerate(parts) if len(part) and not bool(part.any())]
