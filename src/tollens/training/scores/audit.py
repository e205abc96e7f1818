"""The audit of canary scores that are already there: of pairs of runs, or of one training run."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tollens.auditing.api import Audit
from tollens.auditing.power import fewest_pairs
from tollens.auditing.sequential import DEFAULT_DELTA
from tollens.claim import Claim, gaussian, parse_claim
from tollens.errors import UsageError, collect
from tollens.evidence import Wealth
from tollens.neighbours import Pair
from tollens.training.scores.files import CanaryScores, PairScores, Scores, read_scores
from tollens.training.scores.fixed_size import (
    FixedBound,
    binomial_bound,
    curve_bound,
    gaussian_fit,
    guesses,
    threshold_bound,
)
from tollens.training.scores.normal import GaussianScores
from tollens.training.scores.one_run import OneRun, one_run
from tollens.training.scores.one_run_power import detectable_excess
from tollens.verdict import Outcome, Reason, Verdict
from tollens.versions import versions
from tollens.witness import Witness

RELATION = "canary in or out"
"""The neighbours that scores are about, in words."""

BESIDE = "not part of the verdict, valid at this size only"
"""What is said of every bound of fixed size."""

ASIDE = "not part of the verdict, valid at every size"
"""What is said of the bound that holds whenever one stops."""

_NEEDED = 'no claim was given; say what was promised, such as "mu=1", "epsilon=1" or '
_NEEDED += '"epsilon=1, delta=1e-5"'


def audit_scores(
    scores: Scores | Path | str,
    claim: Claim | str | None,
    *,
    alpha: float = 1e-6,
    delta: float | None = None,
    coupling: str = "independent",
    seed: int = 0,
    name: str | None = None,
    bounds: bool = True,
) -> Verdict:
    """Bet against a claim on scores of canaries; a verdict like that of `tollens.audit`.

    `scores` is the path of a file (see `tollens.training.scores.files.read_scores`), a `PairScores`
    or a `CanaryScores`. Pairs are fed to `tollens.Audit` in their order, so row i may depend on
    earlier rows in no way; the claim is about what one score is made from (a step, or a whole
    run). With `coupling="common"` the two scores of a row may share their noise. The canaries of
    one run are judged by `tollens.training.scores.one_run`; there the claim is about the run.
    Both hold whenever you stop, at error probability `alpha`.

    Bounds of fixed size, as most audits report them, stand in the notes (unless `bounds` is
    false), each with what it assumes; they are not part of the verdict. `delta` is where leaks are
    stated for claims without a delta of their own (default 1e-5). `seed` steers learned cells, or
    the order of the canaries. `UsageError` where the file or the settings are wrong, or where so
    few scores could refute nothing.

    >>> rng = np.random.default_rng(0)
    >>> made = PairScores(rng.normal(2.0, size=300), rng.normal(size=300))
    >>> verdict = audit_scores(made, "epsilon=1", alpha=0.01)
    >>> verdict.outcome.name, verdict.pairs, verdict.evidence.method
    ('REFUTED', 300, 'scores')
    """
    started = time.perf_counter()
    findings: list[str] = []
    made = None
    if claim is None:
        findings.append(_NEEDED)
    else:
        made = collect(findings, lambda: _claim(claim))
    if not 0 < alpha < 1 or alpha < 1e-290:
        findings.append(f"alpha is {alpha}; it must lie strictly between 0 and 1")
    if delta is not None and not 0 <= delta <= 1:
        findings.append(f"delta is {delta}; it must lie in [0, 1]")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        findings.append(f"seed is {seed}; it must be a whole number of at least 0")
    if coupling not in ("independent", "common"):
        findings.append(f"coupling is {coupling!r}; it must be one of independent, common")
    read = collect(findings, lambda: _checked(scores))
    if isinstance(read, CanaryScores) and coupling == "common":
        findings.append("coupling is 'common', but the canaries of one run come in no pairs")
    if findings or read is None or made is None:
        raise UsageError(findings)
    called = name if name is not None else "scores"
    if name is None and isinstance(scores, Path | str):
        called = Path(scores).name
    if isinstance(read, PairScores):
        verdict = _pairs(read, made, alpha, delta, coupling, seed)
    else:
        verdict = _canaries(read, made, alpha, delta, seed)
    beside = _beside(read, verdict.delta, alpha, coupling, seed) if bounds else []
    return replace(
        verdict,
        mechanism=called,
        notes=(*verdict.notes, *read.remarks, *beside),
        seconds=time.perf_counter() - started,
    )


def _claim(claim: Claim | str) -> Claim:
    made = parse_claim(claim) if isinstance(claim, str) else claim
    if not isinstance(made, Claim):
        raise UsageError(f"the claim is a {type(made).__name__}; give one such as gaussian(1)")
    return made


def _checked(scores: Scores | Path | str) -> Scores:
    """The scores of a file, or given ones if they fit together."""
    if isinstance(scores, Path | str):
        return read_scores(scores)
    if not isinstance(scores, PairScores | CanaryScores):
        kind = type(scores).__name__
        raise UsageError(f"scores is a {kind}; give a path, PairScores or CanaryScores")
    two = isinstance(scores, PairScores)
    first = np.asarray(scores.inside if isinstance(scores, PairScores) else scores.scores)
    second = np.asarray(scores.outside if isinstance(scores, PairScores) else scores.included)
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise UsageError(
            f"scores of shapes {first.shape} and {second.shape}; give two of shape (n,), n > 0"
        )
    if not two and not np.isin(second, (0, 1)).all():
        raise UsageError("included must hold true and false, or 1 and 0")
    try:
        values = [np.asarray(part, dtype=np.float64) for part in (first, second)]
    except (TypeError, ValueError):
        raise UsageError("scores must be numbers") from None
    if any(np.isnan(part).any() for part in values):
        raise UsageError("scores must not be NaN")
    if two:
        return PairScores(values[0], values[1], scores.remarks)
    return CanaryScores(values[0], values[1].astype(np.bool_), scores.remarks)


# Pairs of runs


def _pairs(
    read: PairScores, claim: Claim, alpha: float, delta: float | None, coupling: str, seed: int
) -> Verdict:
    need = fewest_pairs(claim, alpha, coupling)
    if need is None or need > len(read):
        then = "no number would do" if need is None else f"that takes {need:,}"
        raise UsageError(
            f"{len(read):,} pairs of scores can never refute {claim} at alpha = {alpha:g}, not "
            f"even where the scores give the canary away: {then}; give more rows or a larger alpha"
        )
    stream = Audit(claim, alpha=alpha, coupling=coupling, delta=delta, seed=seed)
    stream.update(read.inside, read.outside)
    found = stream.verdict()
    if not isinstance(found.evidence, Wealth):
        raise AssertionError("a stream is judged by a wager")
    reason = Reason.SCORES_SPENT if found.reason is Reason.BUDGET_SPENT else found.reason
    return replace(
        found,
        neighbours=Pair("canary in", "canary out", RELATION),
        evidence=replace(found.evidence, method="scores"),
        reason=reason,
        seed=seed,
    )


# One training run


def _canaries(
    read: CanaryScores, claim: Claim, alpha: float, delta: float | None, seed: int
) -> Verdict:
    found = one_run(read.scores, read.included, claim, alpha=alpha, delta=delta, seed=seed)
    notes = [
        f"{found.canaries:,} canaries of one training run, {found.included:,} of them in; an "
        "e-value multiplied over the canaries, which are no pairs of runs"
    ]
    if found.delta > 0:
        notes.append(
            f"bet against epsilon = {found.epsilon:.4g}, delta = {found.delta:.3g}, which the "
            f"claim implies; delta takes {found.delta_term:.2g} of alpha"
        )
    outcome, reason, excess = Outcome.UNREFUTED, Reason.SCORES_SPENT, None
    if found.refuted:
        outcome, reason = Outcome.REFUTED, Reason.WEALTH_REACHED
    elif read.scores.min() == read.scores.max():
        outcome, reason = Outcome.UNDECIDED, Reason.EQUAL_CONSTANTS
    else:
        excess = detectable_excess(claim, alpha, len(read))
    return Verdict(
        outcome=outcome,
        reason=reason,
        claim=claim,
        mechanism="scores",
        neighbours=Pair("canary in", "canary out", RELATION),
        witness=_witness(read, found) if found.refuted else None,
        epsilon_lower=found.epsilon_lower,
        delta=found.leak_delta,
        pairs=0,
        runs=1,
        alpha=alpha,
        evidence=Wealth(
            log_e_value=found.log_e_value,
            threshold=found.threshold,
            crossed_at=found.crossed_at,
            burn_in=0,
            curve=found.curve,
            shares={"coin flips": 1.0},
            digest=_digest(read, found),
            level=found.level,
            method="one-run",
        ),
        seed=seed,
        replayable=False,
        seconds=0.0,
        detectable_excess=excess,
        versions=versions(),
        notes=tuple(notes),
    )


def _witness(read: CanaryScores, found: OneRun) -> Witness:
    """The half-line of scores that tells most, with its frequencies among canaries in and out."""
    order = np.argsort(read.scores, kind="stable")
    scores, bits = read.scores[order], read.included[order]
    n, k = int(bits.sum()), int((~bits).sum())
    inside = (n - np.concatenate([[0], np.cumsum(bits)[:-1]])) / n
    outside = (k - np.concatenate([[0], np.cumsum(~bits)[:-1]])) / k
    first = np.concatenate([[True], scores[1:] != scores[:-1]])  # a threshold takes equal scores
    gain = np.where(first, np.abs(inside - outside), -1.0)
    best = int(np.argmax(gain))
    high = inside[best] >= outside[best]
    cut = f"{scores[best]:.6g}"
    p, q = (inside[best], outside[best]) if high else (1 - inside[best], 1 - outside[best])
    return Witness(
        f"score >= {cut}" if high else f"score < {cut}",
        "x", float(p), float(q), found.epsilon, found.delta, "canaries",
    )  # fmt: skip


def _digest(read: CanaryScores, found: OneRun) -> str:
    made = hashlib.blake2b(digest_size=16)
    made.update(np.ascontiguousarray(read.scores[found.order]).tobytes())
    made.update(np.ascontiguousarray(read.included[found.order]).tobytes())
    return made.hexdigest()


# What stands beside the verdict


def _beside(read: Scores, delta: float, alpha: float, coupling: str, seed: int) -> list[str]:
    found = fixed_size_bounds(read, delta=delta, alpha=alpha, coupling=coupling, seed=seed)
    lines = [f"{BESIDE}: {bound.words()}" for bound in found]
    always = normal_bound(read, delta=delta, alpha=alpha, coupling=coupling)
    return lines if always is None else [f"{ASIDE}: {always.words()}", *lines]


def normal_bound(
    scores: Scores, *, delta: float = 1e-5, alpha: float = 0.05, coupling: str = "independent"
) -> FixedBound | None:
    """The lower confidence sequence for mu of pairs of scores that are asserted to be normal.

    Valid at every number of pairs at once; see `tollens.training.scores.normal`. None for the
    canaries of one run, and where scores with common noise differ by more than a constant.
    """
    if isinstance(scores, CanaryScores):
        return None
    sums = GaussianScores(coupling=coupling)
    try:
        sums.update(scores.inside, scores.outside)
    except UsageError:
        return None
    mu, curved = sums.mu_lower(alpha), delta if delta > 0 else DEFAULT_DELTA
    epsilon = gaussian(mu).epsilon(curved) if mu > 0 else 0.0
    return FixedBound(
        "normal scores, a confidence sequence", epsilon, curved, mu, alpha, len(scores),
        sums.assumes,
    )  # fmt: skip


def fixed_size_bounds(
    scores: Scores,
    *,
    delta: float = 1e-5,
    alpha: float = 0.05,
    coupling: str = "independent",
    seed: int = 0,
) -> Sequence[FixedBound]:
    """The bounds of fixed size that these scores allow; see `tollens.training.scores.fixed_size`.

    Of pairs: the Gaussian fit with shared spread, and the held-out threshold in both forms (with
    common noise only these). Of the canaries of one run: the binomial and the f-DP bound on a
    quarter of the canaries, guessed at by score. At delta = 0 no finite epsilon follows from a mu,
    so bounds by mu are stated at 1e-5.
    """
    curved = delta if delta > 0 else DEFAULT_DELTA
    if isinstance(scores, CanaryScores):
        shuffled = np.random.default_rng(seed).permutation(len(scores))
        made, right = guesses(scores.scores[shuffled], scores.included[shuffled])
        if not made:
            return []
        return [
            binomial_bound(len(scores), made, right, delta=delta, alpha=alpha),
            curve_bound(len(scores), made, right, delta=curved, alpha=alpha),
        ]
    x, y = scores.inside, scores.outside
    found: list[FixedBound] = []
    if len(x) < 2 * _FEW:
        return found
    fits = np.isfinite(x).all() and np.isfinite(y).all() and min(np.ptp(x), np.ptp(y)) > 0
    if coupling == "independent" and fits:
        found.append(gaussian_fit(x, y, delta=curved, alpha=alpha))
    found.append(threshold_bound(x, y, delta=delta, alpha=alpha, seed=seed))
    found.append(threshold_bound(x, y, delta=curved, alpha=alpha, form="mu", seed=seed))
    return [bound for bound in found if math.isfinite(bound.epsilon)]


_FEW = 4
