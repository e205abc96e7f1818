"""Bugs of private training as they are written: each one is a few lines around Opacus's optimiser.

`digits.py --fault NAME` trains with one of them. Nearly all leave the accountant's number as it
is: nothing that such a run prints looks wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer
from torch import nn


def draw(optimizer: DPOptimizer, sd: float, generator: torch.Generator | None = None) -> None:
    """What Opacus's `add_noise` does, with any standard deviation and any generator."""
    for p in optimizer.params:
        noise = torch.zeros_like(p.summed_grad).normal_(0.0, sd, generator=generator)
        p.grad = (p.summed_grad + noise).view_as(p)


# The noise


class NoiseLow(DPOptimizer):
    """Noise cut off at 2.45 standard deviations, "for stability": its spread is 5 % smaller."""

    def add_noise(self):
        sd = self.noise_multiplier * self.max_grad_norm
        for p in self.params:
            noise = torch.empty_like(p.summed_grad)
            nn.init.trunc_normal_(noise, 0.0, sd, -2.45 * sd, 2.45 * sd)
            p.grad = p.summed_grad + noise


class SigmaHalved(DPOptimizer):
    """Half of the noise: a factor for another definition of neighbours, applied by mistake."""

    def add_noise(self):
        draw(self, 0.5 * self.noise_multiplier * self.max_grad_norm)


class NoiseAveraged(DPOptimizer):
    """Noise is drawn for each of four microbatches and averaged together with the gradients."""

    def add_noise(self):
        sd = self.noise_multiplier * self.max_grad_norm
        for p in self.params:
            draws = [torch.zeros_like(p.summed_grad).normal_(0.0, sd) for _ in range(4)]
            p.grad = p.summed_grad + torch.stack(draws).mean(dim=0)


class NoiseWithoutNorm(DPOptimizer):
    """The multiplier is taken for the standard deviation; right as long as C is 1."""

    def add_noise(self):
        draw(self, self.noise_multiplier)


class NoiseDividedTwice(DPOptimizer):
    """Noise made for the mean is added to the sum, which is divided by the batch size later."""

    def add_noise(self):
        draw(self, self.noise_multiplier * self.max_grad_norm / self.expected_batch_size)


class SameSeed(DPOptimizer):
    """A generator made anew in every step, "so that runs can be repeated"."""

    def add_noise(self):
        same = torch.Generator().manual_seed(0)
        draw(self, self.noise_multiplier * self.max_grad_norm, same)


class NoiseOnceAnEpoch(DPOptimizer):
    """The generator is seeded with the number of the epoch in every step."""

    taken, an_epoch = 0, 23

    def pre_step(self, closure=None):
        done = super().pre_step(closure)
        self.taken += 1
        return done

    def add_noise(self):
        epoch = torch.Generator().manual_seed(self.taken // self.an_epoch)
        draw(self, self.noise_multiplier * self.max_grad_norm, epoch)


class DividedByBatch(DPOptimizer):
    """The mean over the records that happen to be in the batch; their number is private."""

    def scale_grad(self):
        for p in self.params:
            p.grad /= len(self.grad_samples[0])


# Clipping


class NoClipping(DPOptimizer):
    """Gradients are added up as they are."""

    def clip_and_accumulate(self):
        for p in self.params:
            p.summed_grad = self._get_flat_grad_sample(p).sum(dim=0)


class ClippingAfterAveraging(DPOptimizer):
    """The mean of the batch is clipped, and not each gradient of a record."""

    def clip_and_accumulate(self):
        samples = self.grad_samples
        means = [g.mean(dim=0) for g in samples]
        norm = torch.stack([m.norm() for m in means]).norm()
        factor = (self.max_grad_norm / norm).clamp(max=1.0)
        for p, mean in zip(self.params, means, strict=True):
            p.summed_grad = mean * factor * len(samples[0])


class ClippingByMaximumNorm(DPOptimizer):
    """The norm that is held against C is the largest coordinate, and not the Euclidean one."""

    def clip_and_accumulate(self):
        largest = [g.flatten(1).abs().amax(dim=1) for g in self.grad_samples]
        factor = (self.max_grad_norm / torch.stack(largest).amax(dim=0)).clamp(max=1.0)
        for p in self.params:
            p.summed_grad = torch.einsum("i,i...", factor, self._get_flat_grad_sample(p))


class PerLayerClipping(DPOptimizer):
    """Every parameter is clipped to C by itself; the noise is still that for C in all."""

    def clip_and_accumulate(self):
        for p in self.params:
            g = self._get_flat_grad_sample(p)
            factor = (self.max_grad_norm / g.flatten(1).norm(dim=1)).clamp(max=1.0)
            p.summed_grad = torch.einsum("i,i...", factor, g)


# Around the optimiser


class OwnBatchNorm(nn.Module):
    """Opacus refuses `nn.BatchNorm1d`, for it mixes records; so somebody wrote it out."""

    def forward(self, x):
        return (x - x.mean(dim=0)) / (x.var(dim=0) + 1e-2).sqrt()


def wrong_rate(optimizer: DPOptimizer, engine: PrivacyEngine, rate: float) -> None:
    """The accountant is told the rate of another configuration, with batches half as large."""
    optimizer.attach_step_hook(engine.accountant.get_optimizer_hook_fn(sample_rate=rate / 2))


def lost_hook(optimizer: DPOptimizer, engine: PrivacyEngine, rate: float) -> None:
    """A hook for a progress bar takes the one slot, in which the accountant was."""
    optimizer.attach_step_hook(lambda _: None)


@dataclass(frozen=True)
class Fault:
    """A bug: in the optimiser, in a layer, in how batches are made, or in the accounting."""

    words: str
    optimizer: type[DPOptimizer] | None = None
    layer: type[nn.Module] | None = None
    poisson: bool = True
    account: Callable[[DPOptimizer, PrivacyEngine, float], None] | None = None
    records: int | None = None


FAULTS = {
    "none": Fault("correct training"),
    "noise-low": Fault("noise 5 % too low", NoiseLow),
    "sigma-halved": Fault("sigma halved", SigmaHalved),
    "noise-averaged": Fault("noise averaged over 4 microbatches", NoiseAveraged),
    "noise-without-norm": Fault("noise not multiplied by C = 4", NoiseWithoutNorm),
    "noise-divided-twice": Fault("noise divided by the batch size twice", NoiseDividedTwice),
    "same-seed": Fault("the same seed in each step", SameSeed),
    "noise-once-an-epoch": Fault("noise drawn once an epoch", NoiseOnceAnEpoch),
    "divided-by-batch": Fault("noisy sum divided by the size of the batch", DividedByBatch),
    "no-clipping": Fault("no clipping", NoClipping),
    "clipping-after-averaging": Fault("clipping after averaging", ClippingAfterAveraging),
    "clipping-by-maximum-norm": Fault("clipping by the maximum norm", ClippingByMaximumNorm),
    "per-layer-clipping": Fault("per-layer clipping with flat noise", PerLayerClipping),
    "mixing-layer": Fault("a layer that mixes the batch", layer=OwnBatchNorm),
    "shuffled": Fault("shuffled batches accounted as Poisson samples", poisson=False),
    "wrong-rate": Fault("wrong sampling rate in the accountant", account=wrong_rate),
    "lost-hook": Fault("lost hook of the accountant", account=lost_hook),
    "private-size": Fault("a scale that depends on the private number of records", records=1426),
}
