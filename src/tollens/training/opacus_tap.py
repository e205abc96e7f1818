"""A tap on the steps of an Opacus optimiser: each step is replayed with a canary, then taken.

`DPOptimizer.step` clips per-sample gradients and adds them up, adds noise, scales the result,
tells the accountant, and lets the inner optimiser move. The tap stands around the first two: it
appends a canary's row to the per-sample gradients, lets the library's own code clip and add
noise, reads the result, puts everything back (the state of the random generator too), and lets
the step happen. Training is bit-identical to a run without it, and the one slot for step hooks,
in which the accountant sits, is not touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer

from tollens.errors import UsageError
from tollens.training.opacus_account import (
    ACCOUNTANT,
    OpacusAccount,
    batch_size_finding,
    counted,
)
from tollens.training.opacus_release import Release
from tollens.training.part import Finding
from tollens.training.reading import Reading
from tollens.training.report import TrainingReport
from tollens.training.sensitivity import TOLERANCE
from tollens.training.step_audit import StepAudit
from tollens.training.watching import StopTraining, WatchSettings

CANARY_NORM, NORM_A_TENSOR = 10.0, 2.0
"""Least norm of the canary's gradient, and of each tensor of it, in units of the clipping norm.

Unclipped it stands out, and it is long enough for clipping tensor by tensor.
"""

MOST_COORDINATES = 2**17
"""Coordinates of the noise that are looked at; of larger models a random choice, made once."""

_CHECKED = 1024
"""Coordinates by which the noise of both worlds is compared."""

REPLAYED = "the step is replayed as it was taken"

_PATCHED = "_tollens_watch"


class Watch:
    """An audit of training with Opacus while it runs; made by `tollens.opacus.watch`.

    Within its `with` block every step of the optimiser is audited. Afterwards, and at any time
    during it, `report()`, `findings`, `refuted` and `metrics()` say what was shown.
    """

    def __init__(
        self,
        optimizer: DPOptimizer,
        privacy_engine: PrivacyEngine | None,
        settings: WatchSettings,
        *,
        data_loader: Any,
        private_size: bool,
    ) -> None:
        _refuse(optimizer, privacy_engine)
        settings.audit(float(optimizer.noise_multiplier), name="")  # refuses wrong settings early
        self.optimizer = optimizer
        self.engine = privacy_engine
        self.audit: StepAudit | None = None
        self._settings = settings
        self._loader, self._private_size = data_loader, private_size
        self._tap = _Tap(optimizer, settings.seed)
        self._rows = 0
        self._steps = 0
        self._early: list[Finding] = []
        self._counted = counted(privacy_engine)

    def __enter__(self) -> Watch:
        if hasattr(self.optimizer, _PATCHED):
            raise UsageError("this optimizer is watched already; leave that block first")
        setattr(self.optimizer, _PATCHED, self)
        self._pre_step = self.optimizer.pre_step
        self._put_back = _stand_in(self.optimizer, "pre_step", self._step)
        self._tap.attach()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._tap.detach()
        self._put_back()
        delattr(self.optimizer, _PATCHED)
        if self._settings.close is not None:
            self._settings.close()
        return isinstance(error, StopTraining)

    def _step(self, closure: Callable[[], float] | None = None) -> object:
        """What `optimizer.pre_step` is in the block: replay, step, read, score."""
        optimizer = self.optimizer
        samples = [getattr(p, "grad_sample", None) for p in optimizer.params]
        rows = _rows(samples)
        self._rows += 0 if rows is None else rows
        if not samples or optimizer._check_skip_next_step(pop_next=False):
            return self._pre_step(closure)
        looked = self._steps % self._settings.every == 0
        self._tap.begin()
        if looked:
            self._tap.replay(samples)
        result = self._pre_step(closure)
        self._steps += 1
        if self.audit is None:
            self._start()
        self._read(looked, None if rows is None else self._rows)
        self._rows = 0
        return result

    def _start(self) -> None:
        """Make the audit at the end of the first step, when the accountant knows its rate."""
        optimizer, engine = self.optimizer, self.engine
        size, rate = _sampling(engine, self._loader)
        account = None if engine is None else OpacusAccount(engine.accountant, rate)
        self.audit = self._settings.audit(
            float(optimizer.noise_multiplier),
            records=size,
            rate=rate,
            name=type(optimizer.original_optimizer).__name__ + " with Opacus",
            account=account,
        )
        found = batch_size_finding(optimizer, size, rate, private=self._private_size)
        for finding in (found, *self._early):
            if finding is not None:
                self.audit.add(finding)

    def _read(self, looked: bool, batch_size: int | None) -> None:
        """Score what the step told, and compare it with what the accountant wrote down."""
        audit = self.audit
        if audit is None:
            raise AssertionError("the audit starts before it reads")
        reading = self._tap.reading(batch_size) if looked else Reading(batch_size=batch_size)
        if float(self.optimizer.noise_multiplier) < audit.noise_multiplier * (1 - 1e-9):
            audit.notes["schedule"] = (
                "the noise multiplier fell during training; projections of those steps are not "
                "scored, for the claim is about the first one"
            )
            reading = Reading(residual=reading.residual, batch_size=batch_size)
        for text in self._tap.notes:
            audit.notes[text] = text
        released = self._tap.released(batch_size, self._steps)
        for finding in (self._tap.silent(self._steps), released, self._accountant()):
            if finding is not None:
                audit.add(finding)
        audit.read(reading)
        self._settings.stop_if_broken(audit)

    def _accountant(self) -> Finding | None:
        """Whether the accountant counts this step, with the noise that was added."""
        if self.engine is None:
            return None
        total = counted(self.engine)
        new, self._counted = total - self._counted, total
        text = None
        if new != 1:
            text = (
                f"the accountant counted {new} steps where 1 was taken: its step hook is not "
                "attached (there is one slot only: another hook may have taken it)"
            )
        else:
            noted = float(self.engine.accountant.history[-1][0])
            added = float(self.optimizer.noise_multiplier)
            if noted > added * (1 + 1e-9):
                text = (
                    f"the accountant wrote down a noise multiplier of {noted:.6g}; the optimizer "
                    f"has {added:.6g}"
                )
        return (
            None if text is None else Finding("accountant", "fault", self._steps, text, ACCOUNTANT)
        )

    @property
    def refuted(self) -> bool:
        """Whether the bets have refuted what the accountant assumes."""
        return self.audit is not None and self.audit.refuted

    @property
    def broken(self) -> bool:
        """Whether anything is known to be broken: refuted, or a fault found without chance."""
        return bool(self._early) if self.audit is None else self.audit.broken

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is not as promised, faults first."""
        return tuple(self._early) if self.audit is None else self.audit.findings

    @property
    def mu_lower(self) -> float:
        """A lower bound for the mu of a step; see `StepAudit.mu_lower`."""
        return 0.0 if self.audit is None else self.audit.mu_lower

    def report(self) -> TrainingReport:
        """What was promised, shown and not tested so far; `UsageError` before the first step."""
        if self.audit is None:
            raise UsageError("no step was taken yet, so there is nothing to report")
        return self.audit.report()

    def metrics(self) -> dict[str, float]:
        """Plain floats for loggers of experiments, cheap enough for every step."""
        if self.audit is None:
            return {}
        return self.audit.metrics()

    def check_inputs(
        self,
        model: torch.nn.Module,
        backward: Callable[[Any], object],
        batch: Any,
        with_record: Any,
    ) -> float:
        """Measure the sensitivity from the *input* on: also layers that mix a batch are seen.

        `backward(batch)` runs the model forward and backward as a step of training does; it is
        called with `batch` and with `with_record`, the same batch and one record more, with the
        same random draws. Returns the norm of the change of the clipped sum in units of C, at
        most 1 if all is well; more is kept as a fault. Gradients, buffers and random generators
        are put back.
        """
        value = self._tap.input_sensitivity(model, backward, batch, with_record)
        if not value <= 1.0 + TOLERANCE:
            text = (
                f"one record more in the batch changes the clipped sum by {value:.5g} C, the "
                "promise is at most 1 C: a layer mixes the records of a batch, or clipping fails"
            )
            self._keep(Finding("input sensitivity", "fault", self._steps, text, REPLAYED))
        return value

    def _keep(self, finding: Finding) -> None:
        """Keep a finding, until there is an audit to keep it in."""
        self._early.append(finding)
        if self.audit is not None:
            self.audit.add(finding)


class _World(NamedTuple):
    """What the library made of the canary's world, all coordinates in one row."""

    clean: torch.Tensor
    noisy: torch.Tensor


class _Tap:
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
        self._canary: _World | None = None
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
        self._put_back = _stand_in(self.optimizer, "add_noise", self._noise)

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
                "only noise, its reuse and batches are looked at"
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
                self._canary = _World(clean, _flat([p.grad for p in params]))
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


def _stand_in(owner: object, name: str, method: Callable[..., object]) -> Callable[[], None]:
    """Put a method in the place of the owner's; returns what puts the old state back."""
    own = vars(owner).get(name)
    setattr(owner, name, method)

    def put_back() -> None:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)

    return put_back


def _refuse(optimizer: object, engine: object) -> None:
    findings = []
    if not isinstance(optimizer, DPOptimizer):
        findings.append(
            f"the optimizer is a {type(optimizer).__name__}, which adds no noise: give the one "
            "that privacy_engine.make_private returned"
        )
    elif type(optimizer).__name__.startswith(("Distributed", "FSDP")):
        findings.append(
            f"the optimizer is a {type(optimizer).__name__}: only one of its processes adds noise; "
            "run the script in one process to audit it"
        )
    if engine is not None and not isinstance(engine, PrivacyEngine):
        findings.append(f"privacy_engine is a {type(engine).__name__}; give Opacus's own, or None")
    if findings:
        raise UsageError(findings)


def _sampling(engine: PrivacyEngine | None, loader: Any) -> tuple[int | None, float | None]:
    """The number of records and the sampling rate, from the engine, its accountant, the loader."""
    dataset = getattr(loader, "dataset", None)
    if dataset is None:
        dataset = getattr(engine, "dataset", None)
    size = len(dataset) if dataset is not None and hasattr(dataset, "__len__") else None
    history = () if engine is None else engine.accountant.history
    rate = float(history[-1][1]) if history else None
    if rate is None and loader is not None:
        rate = float(getattr(loader, "sample_rate", 1.0 / max(len(loader), 1)))
    return size, rate if rate is None or 0 < rate < 1 else None


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


def _rows(samples: list[Any]) -> int | None:
    """The number of records whose gradients are there; None where they are not kept."""
    first = samples[0] if samples else None
    if isinstance(first, list):
        return sum(len(part) for part in first)
    return None if first is None else len(first)


def _flat(parts: list[Any]) -> torch.Tensor:
    """All coordinates in one row, in single precision or better."""
    flat = torch.cat([part.reshape(-1) for part in parts])
    return flat if flat.dtype in (torch.float32, torch.float64) else flat.float()


def _silent(noise: torch.Tensor, params: list[torch.nn.Parameter]) -> list[int]:
    """The parameters whose noise is zero in every coordinate."""
    parts = torch.split(noise, [p.numel() for p in params])
    return [i for i, part in enumerate(parts) if len(part) and not bool(part.any())]
