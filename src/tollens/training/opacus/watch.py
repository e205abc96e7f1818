"""A tap on the steps of an Opacus optimiser: each step is replayed with a canary, then taken.

`DPOptimizer.step` clips per-sample gradients and adds them up, adds noise, scales the result,
tells the accountant, and lets the inner optimiser move. The tap stands around the first two: it
appends a canary's row to the per-sample gradients, lets the library's own code clip and add
noise, reads the result, puts everything back (the state of the random generator too), and lets
the step happen. Training is bit-identical to a run without it, and the one slot for step hooks,
in which the accountant sits, is not touched.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer

from tollens.errors import UsageError
from tollens.training.opacus.account import (
    ACCOUNTANT,
    OpacusAccount,
    batch_size_finding,
    counted,
)
from tollens.training.opacus.tap import Tap, stand_in
from tollens.training.parts.part import Finding
from tollens.training.parts.reading import Reading
from tollens.training.parts.sensitivity import TOLERANCE
from tollens.training.report import TrainingReport
from tollens.training.step_audit import StepAudit
from tollens.training.watching import StopTraining, WatchSettings

REPLAYED = "the step is replayed as it was taken"

RELEASE_FIRST, RELEASE_EVERY = 32, 8
"""What the inner optimiser gets is compared in so many first steps, and in one of so many later."""

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
        self._tap = Tap(optimizer, settings.seed)
        self._rows = 0
        self._steps = 0
        self._early: list[Finding] = []
        self._counted = counted(privacy_engine)

    def __enter__(self) -> Watch:
        if hasattr(self.optimizer, _PATCHED):
            raise UsageError("this optimizer is watched already; leave that block first")
        setattr(self.optimizer, _PATCHED, self)
        self._pre_step = self.optimizer.pre_step
        self._put_back = stand_in(self.optimizer, "pre_step", self._step)
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
        released = None
        if self._steps <= RELEASE_FIRST or self._steps % RELEASE_EVERY == 0:
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


def _rows(samples: list[Any]) -> int | None:
    """The number of records whose gradients are there; None where they are not kept."""
    first = samples[0] if samples else None
    if isinstance(first, list):
        return sum(len(part) for part in first)
    return None if first is None else len(first)
