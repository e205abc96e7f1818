"""The audit of private training, step by step: numbers in, evidence out, for any framework."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tollens.claim import Claim, gaussian, parse_claim
from tollens.errors import UsageError, collect
from tollens.training.curve import Curve, Point
from tollens.training.parts.kernel import KernelScores
from tollens.training.parts.noise_reuse import NoiseReuse
from tollens.training.parts.noise_scale import NoiseScale
from tollens.training.parts.part import Finding, Part
from tollens.training.parts.projection import Projection
from tollens.training.parts.reading import Reading
from tollens.training.parts.sampling import Sampling
from tollens.training.parts.sensitivity import Sensitivity
from tollens.training.report import PartSummary, TrainingReport, claimed_mu
from tollens.training.run_leak import RunAccount, run_leak
from tollens.versions import versions

Array = NDArray[np.float64]

SHARES = {"projection": 0.4, "kernel": 0.4, "noise scale": 0.4, "noise reuse": 0.1, "sampling": 0.1}
"""The stake of each part; those of the parts in use are scaled to sum to 1."""


PARTS = ("projection", "noise scale", "noise reuse", "sampling")
"""The pieces of a step that are bet on."""


TOLD = tuple(Reading.__dataclass_fields__)
"""The numbers of a step, by name."""

LOOK = 50
"""Steps between looks at whether the noise is too large."""


class StepAudit:
    """Bets, step by step, that private training is not what its accountant assumes.

    A step adds N(0, (sigma C)^2) to a sum of gradients of norm at most C; sigma is
    `noise_multiplier`. Each step is then a Gaussian mechanism with `mu = 1 / sigma`, the default
    `claim` of a step. With `records` and `rate`, batches are said to be Poisson samples of that
    many records. `alpha` is the probability with which anything is ever called broken if all is
    as said: the parts share it, each with a stake of its own, and only the average of their
    wealths counts (Ville 1939). `delta` is where epsilons are stated. `method="mmd"` bets by the
    published kernel audit in place of the projection, for comparison.

    Steps must be fresh: the noise of a step is independent of all that came before it, or (with
    `fresh=False`) given all that, it is normal with at least the promised standard deviation.

    >>> import numpy as np
    >>> audit, rng = StepAudit(1.0, alpha=0.05), np.random.default_rng(0)
    >>> for _ in range(3):                                  # noise with half the spread
    ...     noise = 0.5 * rng.normal(size=650)
    ...     audit.update(with_canary=1 + noise[0], without_canary=noise[0], residual=noise)
    >>> audit.refuted, audit.refuted_at, audit.part
    (True, 1, 'noise scale')
    """

    def __init__(
        self,
        noise_multiplier: float,
        *,
        claim: Claim | str | None = None,
        records: int | None = None,
        rate: float | None = None,
        alpha: float = 0.01,
        delta: float = 1e-5,
        method: str = "projection",
        parts: Sequence[str] | None = None,
        name: str = "training",
        account: RunAccount | None = None,
        fresh: bool = True,
        progress: Callable[[StepAudit], None] | None = None,
    ) -> None:
        """`account` is what composes steps; `progress` is called after each step.

        `fresh=False`: noise is correlated over steps on purpose (matrix factorisation), so its
        reuse is no fault and more of it no waste.

        `parts` names the pieces that are bet on, where not all can be: a stake on one whose
        numbers never come is lost. "projection" stands for the kernel audit too.

        Raises `UsageError` with all problems of the settings at once.
        """
        findings = _findings(noise_multiplier, alpha, delta, method) + _part_findings(parts)
        if (records is None) != (rate is None):
            findings.append("records and rate say together how batches are sampled; give both")
        made = collect(findings, lambda: _claim(claim, noise_multiplier)) if not findings else None
        sampling = None
        if records is not None and rate is not None:
            sampling = collect(findings, lambda: Sampling(records, rate))
        if findings or made is None:
            raise UsageError(findings)
        self.claim: Claim = made
        self.noise_multiplier = float(noise_multiplier)
        self.alpha, self.delta, self.method, self.name = alpha, delta, method, name
        self.sensitivity = Sensitivity()
        self.projection = Projection(made, scale=self.noise_multiplier)
        self.noise = NoiseScale(alpha)
        first = self.projection if method == "projection" else KernelScores(made)
        all_parts: list[Part] = [first, self.noise, *([NoiseReuse()] if fresh else [])]
        all_parts += [] if sampling is None else [sampling]
        used = PARTS if parts is None else tuple(parts)
        self.parts: tuple[Part, ...] = tuple(
            part for part in all_parts if part.name in used or (part is first and PARTS[0] in used)
        )
        if not self.parts:
            raise UsageError("parts names sampling alone; then records and rate must be given")
        given = np.array([SHARES[part.name] for part in self.parts])
        self._shares: Array = given / given.sum()
        self._log_shares: Array = np.log(self._shares)
        self.steps = 0
        self.refuted_at: int | None = None
        self.part: str | None = None
        self.notes: dict[str, str] = {}
        self._account = account
        self._fresh = fresh
        self._progress = progress
        self._crossed = -math.inf
        self._found: dict[tuple[str, str], Finding] = {}
        self._curve = Curve()
        self._skipped = self._scored = 0
        self._mu_claimed = claimed_mu(made)
        self._started = time.perf_counter()

    def update(
        self,
        *,
        with_canary: float | None = None,
        without_canary: float | None = None,
        sensitivity: float | None = None,
        residual: Sequence[float] | Array | None = None,
        batch_size: int | None = None,
        records: Sequence[int] | NDArray[np.intp] | None = None,
    ) -> None:
        """Take the numbers of one step, those that are known; see `Reading` for their units.

        `UsageError` for half of a pair of projections, or a batch of negative size.
        """
        findings = []
        if (with_canary is None) != (without_canary is None):
            findings.append("with_canary and without_canary are a pair; give both or none")
        if batch_size is not None and batch_size < 0:
            findings.append(f"batch_size is {batch_size}; it must be at least 0")
        if findings:
            raise UsageError(findings)
        self.read(
            Reading(
                with_canary=with_canary,
                without_canary=without_canary,
                sensitivity=sensitivity,
                residual=None if residual is None else np.asarray(residual, dtype=np.float64),
                batch_size=batch_size,
                records=None if records is None else np.asarray(records, dtype=np.intp),
            )
        )

    def read(self, reading: Reading) -> None:
        """Take one step: look at its pieces, pay the bets on it, and say what is broken now."""
        self.steps += 1
        if not _finite(reading):
            self._skipped += 1
            self.add(_not_finite(self.steps, self._skipped))
        elif any(getattr(reading, name) is not None for name in TOLD):
            self._scored += 1
        self.sensitivity.update(reading)
        if self.sensitivity.finding is not None:
            self.add(self.sensitivity.finding)
        for part in self.parts:
            part.update(reading)
        stakes, threshold = self._log_stakes(), -math.log(self.alpha)
        log_e = _log_sum(stakes)
        if self.refuted_at is None and log_e >= threshold:
            self.refuted_at, self._crossed = self.steps, log_e
            self.part = self.parts[int(np.argmax(stakes))].name
        for part, log_stake in zip(self.parts, stakes, strict=True):
            if log_stake >= threshold or part.name == self.part:
                self._fault(part)
        if self._fresh and (self.steps & (self.steps - 1) == 0 or self.steps % LOOK == 0):
            warning = self.noise.warning()
            if warning is not None:
                self.add(warning)
        if self._curve.wants(self.steps):
            self._curve.add(self._point())
        if self._progress is not None:
            self._progress(self)

    def add(self, finding: Finding) -> None:
        """Keep a finding; one that comes again keeps the step at which it showed first."""
        key = (finding.part, finding.level)
        first = self._found[key].step if key in self._found else finding.step
        self._found[key] = replace(finding, step=first)

    def _fault(self, part: Part) -> None:
        """Keep that a part won, in words that say what is known by now."""
        value = part.log_e_value
        self.add(Finding(part.name, "fault", self.steps, part.words(), part.assumes, value))

    def _log_stakes(self) -> Array:
        """The log wealth of each part, its stake included, shape (parts,)."""
        return np.array([part.log_e_value for part in self.parts]) + self._log_shares

    @property
    def log_wealth(self) -> float:
        """The natural log of the average of the parts' wealths, now."""
        return _log_sum(self._log_stakes())

    @property
    def log_e_value(self) -> float:
        """The natural log of the wealth; once refuted, at least what it was when it crossed."""
        return max(self.log_wealth, self._crossed)

    @property
    def refuted(self) -> bool:
        """Whether the wealth has ever reached 1/alpha."""
        return self.refuted_at is not None

    @property
    def broken(self) -> bool:
        """Whether anything is known to be broken: refuted, or a fault found without chance."""
        return self.refuted or any(finding.level == "fault" for finding in self.findings)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is not as promised, in the order in which it showed, faults first."""
        found = self._found.values()
        return tuple(sorted(found, key=lambda finding: (finding.level != "fault", finding.step)))

    @property
    def mu_lower(self) -> float:
        """A step is mu-GDP for no mu below this; nothing is assumed; right at all times at once."""
        return self.projection.mu_lower(self.alpha * self._share_of(self.projection))

    @property
    def mu_lower_normal(self) -> float:
        """A lower bound for the mu of some step if the noise is normal; inf if there is none.

        The sensitivity that was seen over an upper bound of the noise's standard deviation.
        """
        share = self._share_of(self.noise)
        ratio = self.noise.ratio_upper(self.alpha * share) if share else math.inf
        return math.inf if ratio == 0 else 1.0 / (ratio * self.noise_multiplier)

    def _share_of(self, part: Part) -> float:
        """The stake of a part: what its own lower bound may spend of alpha; 0 if not in use."""
        return float(sum(s for p, s in zip(self.parts, self._shares, strict=True) if p is part))

    @property
    def epsilon_lower(self) -> float:
        """A lower bound for the epsilon of a step at `delta`; nothing is assumed.

        What was shown is a total variation t, and (epsilon, delta)-DP in both orders allows
        `t <= (e^epsilon - 1 + 2 delta) / (e^epsilon + 1)`.
        """
        apart = 2.0 * float(ndtr(self.mu_lower / 2.0)) - 1.0
        return max(0.0, math.log((1.0 + apart - 2.0 * self.delta) / (1.0 - apart)))

    @property
    def epsilon_normal(self) -> float:
        """The epsilon at `delta` of a step with normal noise and the mu of `mu_lower`."""
        return gaussian(self.mu_lower).epsilon(self.delta) if self.mu_lower > 0 else 0.0

    def metrics(self) -> dict[str, float]:
        """Plain floats for loggers of experiments, cheap enough for every step.

        `TrainingReport.metrics` has the accountant's numbers too.
        """
        return {
            "refuted": float(self.refuted),
            "broken": float(self.broken),
            "steps": float(self.steps),
            "log_e_value": min(self.log_e_value, 1e300),
            "mu_claimed": self._mu_claimed,
            "mu_lower": self.mu_lower,
            "epsilon_lower": self.epsilon_lower,
            "epsilon_normal": self.epsilon_normal,
            "faults": float(sum(finding.level == "fault" for finding in self.findings)),
            "warnings": float(sum(finding.level == "warning" for finding in self.findings)),
        }

    def _point(self) -> Point:
        return Point(self.steps, self.log_e_value, self.mu_lower)

    def report(self) -> TrainingReport:
        """What was promised, shown and not tested so far."""
        curve = self._curve.to(self._point())
        return TrainingReport(
            name=self.name,
            claim=self.claim,
            noise_multiplier=self.noise_multiplier,
            alpha=self.alpha,
            delta=self.delta,
            method=self.method,
            steps=self.steps,
            scored=self._scored,
            pairs=self.projection.pairs,
            log_e_value=self.log_e_value,
            refuted_at=self.refuted_at,
            part=self.part,
            mu_lower=self.mu_lower,
            mu_lower_normal=self.mu_lower_normal,
            epsilon_lower=self.epsilon_lower,
            epsilon_normal=self.epsilon_normal,
            largest_sensitivity=self.sensitivity.largest,
            parts=tuple(
                PartSummary(part.name, float(share), part.log_e_value, part.assumes)
                for part, share in zip(self.parts, self._shares, strict=True)
            ),
            findings=self.findings,
            run=run_leak(self._account, curve, self.noise_multiplier, self.delta),
            curve=curve,
            seconds=time.perf_counter() - self._started,
            versions=versions(),
            notes=tuple(self.notes.values()),
        )


def _log_sum(logs: Array) -> float:
    """log(sum(exp(logs))), inf if one of them is."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum())) if math.isfinite(top) else top


def _claim(claim: Claim | str | None, noise_multiplier: float) -> Claim:
    if claim is None:
        return gaussian(1.0 / noise_multiplier)
    made = parse_claim(claim) if isinstance(claim, str) else claim
    if not isinstance(made, Claim):
        raise UsageError(f"the claim is a {type(made).__name__}; give one such as 'mu=1'")
    return made


def _findings(noise_multiplier: float, alpha: float, delta: float, method: str) -> list[str]:
    findings = []
    if not _real(noise_multiplier) or not 0 < noise_multiplier < math.inf:
        findings.append(
            f"noise_multiplier is {noise_multiplier}; it must be a positive number: the standard "
            "deviation of the noise over the clipping norm (without noise nothing is private)"
        )
    if not _real(alpha) or not 1e-290 <= alpha < 1:
        findings.append(f"alpha is {alpha}; it must lie strictly between 0 and 1")
    if not _real(delta) or not 0 < delta < 1:
        findings.append(f"delta is {delta}; it must lie strictly between 0 and 1")
    if method not in ("projection", "mmd"):
        findings.append(f"method is {method!r}; it must be one of projection, mmd")
    return findings


def _part_findings(parts: Sequence[str] | None) -> list[str]:
    if parts is None:
        return []
    if not parts:
        return [f"parts is empty; name some of {', '.join(PARTS)}"]
    return [
        f"parts has {part!r}; it must be one of {', '.join(PARTS)}"
        for part in parts
        if part not in PARTS
    ]


def _real(value: object) -> bool:
    return isinstance(value, int | float | np.floating) and not isinstance(value, bool)


def _finite(reading: Reading) -> bool:
    numbers = (reading.with_canary, reading.without_canary)
    scores = all(value is None or math.isfinite(value) for value in numbers)
    return scores and (reading.residual is None or bool(np.isfinite(reading.residual).all()))


def _not_finite(step: int, skipped: int) -> Finding:
    return Finding(
        "gradients",
        "warning",
        step,
        f"{skipped} step{'s' if skipped > 1 else ''} had gradients that are not finite and were "
        "not scored; a record that makes a sum NaN gives itself away, whatever the noise",
        "nothing",
    )
