"""Audits of private training: pairs of steps, lower bounds, the published experiment, the cost."""

from __future__ import annotations

import itertools
import math
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tollens
from benchmarks.harness import ALPHA, DELTA, Found, Row, Runner, pairs_row, spared_row
from tollens.training.parts.projection import Projection
from tollens.training.parts.reading import Reading
from tollens.training.step_audit import StepAudit

TITLE = "Audits of private training"
NOTE = (
    "Steps of DP-SGD with true μ = 1, each replayed with a canary, with the same noise (common) or "
    "with noise of its own (independent); α = 0.05. Bounds are lower confidence sequences for μ, "
    "written as the ε of a Gaussian mechanism at δ = 1e-5, means over runs; the truth is 4.38. The "
    "published experiment is repeated on scikit-learn's digits: batches of 8, clipping norm 0.1, a "
    "canary in every second step, an MLP. The tap's share is the part of a watched training's time "
    "that a run without the tap does not take (Opacus, batches of 64)."
)
RUNS = (24, 200)
SECONDS = 60.0

PAIRS = {(0.5, True): (80, 188), (0.8, True): (423, 1453), (0.5, False): (153, 188),
         (0.8, False): (1023, 1453)}  # fmt: skip
"""Mean pairs aimed at for a claimed mu and a coupling, and those of APT."""

BOUNDS = {50: 1.06, 100: 2.41, 250: 2.91, 1000: 3.59, 2500: 3.83}
"""Steps, and the lower bound for epsilon aimed at with common random numbers."""

PUBLISHED = {0.01: 60, 0.1: 75}
"""Claimed epsilons, and the pairs after which the published audit rejects plain SGD."""

SIZES = {"650 parameters": None, "10 060 parameters": (134,), "1 009 010 parameters": (1000, 930)}
"""Models of the cost table, by their hidden layers."""

MOST_SHARE = 0.40
STEPS = 300


def measure(runner: Runner) -> list[Row]:
    """All rows; those that need Opacus only where it is installed."""
    rows = _pairs(runner) + _bounds(runner) + _correct(runner)
    try:
        import opacus  # noqa: F401
    except ImportError:
        return rows
    return rows + _correct_opacus(runner) + _published(runner) + _cost(runner)


def _pairs(runner: Runner) -> list[Row]:
    found = runner.repeat(pairs_to_reject, list(PAIRS))
    rows = []
    for ((mu, common), (target, apt)), runs in zip(PAIRS.items(), found, strict=True):
        design = "common" if common else "independent"
        rows.append(pairs_row(f"claim μ = {mu:g}, {design}", runs, at_most=target, APT=apt))
    return rows


def pairs_to_reject(job: tuple[tuple[float, bool], int]) -> Found:
    """Steps until a claim is refuted; the noise has standard deviation 1, the canary norm 1."""
    (mu, common), seed = job
    audit = StepAudit(1.0 / mu, alpha=ALPHA, parts=["projection"])
    rng = np.random.default_rng(seed)
    while not audit.refuted and audit.steps < 10_000:
        y = rng.normal()
        audit.update(with_canary=1 + (y if common else rng.normal()), without_canary=y)
    return Found(audit.steps, audit.refuted)


def _bounds(runner: Runner) -> list[Row]:
    most = max(3, runner.runs // 6)
    designs = [True, False]
    found = runner.repeat(bounds, designs, runs=lambda _: most)
    rows = []
    for common, runs in zip(designs, found, strict=True):
        for steps, target in BOUNDS.items():
            mean = statistics.fmean(run[steps] for run in runs)
            design = "common" if common else "independent"
            rows.append(
                Row(
                    what=f"lower bound for ε after {steps} steps, {design}",
                    target=f"≥ {target}" if common else "",
                    ok=mean >= target if common else None,
                    mean=mean,
                    of=len(runs),
                )
            )
    return rows


def bounds(job: tuple[bool, int]) -> dict[int, float]:
    """Lower bounds for epsilon along one run."""
    common, seed = job
    part, rng = Projection(tollens.gaussian(1), scale=1.0), np.random.default_rng(seed)
    found = {}
    for steps in BOUNDS:
        while part.pairs < steps:
            y = rng.normal()
            x = 1 + (y if common else rng.normal())
            part.update(Reading(with_canary=x, without_canary=y))
        mu = part.mu_lower(ALPHA)
        found[steps] = tollens.gaussian(mu).epsilon(DELTA) if mu > 0 else 0.0
    return found


def _correct(runner: Runner) -> list[Row]:
    (found,) = runner.repeat(correct, ["650 parameters"])
    return [spared_row(f"correct training, {STEPS} steps, all parts", found, ALPHA)]


def correct(job: tuple[str, int]) -> Found:
    """One correct run in numbers: all parts, 650 coordinates, Poisson batches of 1797 records."""
    _, seed = job
    rng = np.random.default_rng(seed)
    audit = StepAudit(1.0, records=1797, rate=64 / 1797, alpha=ALPHA)
    for _ in range(STEPS):
        noise = rng.normal(size=650)
        audit.update(
            with_canary=1 + noise[0],
            without_canary=noise[0],
            sensitivity=1.0,
            residual=noise,
            batch_size=int(rng.binomial(1797, 64 / 1797)),
        )
    return Found(audit.steps, audit.broken)


def _correct_opacus(runner: Runner) -> list[Row]:
    (found,) = runner.repeat(correct_opacus, ["650 parameters"])
    what = f"correct training with Opacus, {STEPS} steps, all parts"
    return [spared_row(what, found, ALPHA)]


def correct_opacus(job: tuple[str, int]) -> Found:
    """One correct run of Opacus on the digits, watched; a warning is no alarm."""
    import tollens.opacus

    optimizer, engine, loop = _training(None, STEPS, seed=job[1])
    with tollens.opacus.watch(optimizer, engine, alpha=ALPHA, seed=job[1]) as w:
        loop()
    return Found(STEPS, w.broken)


def _published(runner: Runner) -> list[Row]:
    keys = [(epsilon, private) for epsilon in PUBLISHED for private in (False, True)]
    found = runner.repeat(published, keys, runs=lambda _: max(2, runner.runs // 15))
    rows = []
    for (epsilon, private), runs in zip(keys, found, strict=True):
        if private:
            what = f"private SGD, claim ε = {epsilon:g}, 500 samples"
            rows.append(spared_row(what, runs, ALPHA))
        else:
            what = f"SGD without noise, claim ε = {epsilon:g}"
            target = PUBLISHED[epsilon]
            rows.append(pairs_row(what, runs, at_most=target, published=target))
    return rows


def published(job: tuple[tuple[float, bool], int]) -> Found:
    """The published per-step experiment: the canary is in every second step, nothing is replayed.

    Private training adds the noise that the claim at delta = 1e-5 needs; plain SGD neither clips
    nor adds noise. Scores are projections of the released sum on the canary, in units of C.
    """
    import torch
    from sklearn.datasets import load_digits

    (epsilon, private), seed = job
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    claim, norm = tollens.approx(epsilon, DELTA), 0.1
    sigma = _noise_multiplier(epsilon)
    data, labels = load_digits(return_X_y=True)
    x, y = torch.tensor(data / 16, dtype=torch.float32), torch.tensor(labels)
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    params = dict(model.named_parameters())
    names = list(params)
    loss = torch.nn.CrossEntropyLoss()

    def one(weights: dict[str, Any], a: Any, b: Any) -> Any:
        return loss(torch.func.functional_call(model, weights, (a[None],)), b[None])

    gradients = torch.func.vmap(torch.func.grad(one), in_dims=(None, 0, 0))
    size = sum(p.numel() for p in params.values())
    direction = torch.randn(size)
    direction /= direction.norm()
    audit = StepAudit(sigma, claim=claim, alpha=ALPHA, parts=["projection"])
    score: list[float] = []
    for step in range(1000):
        batch = torch.randint(0, len(x), (8,))
        made = gradients({n: p.detach() for n, p in params.items()}, x[batch], y[batch])
        rows = torch.cat([made[n].reshape(8, -1) for n in names], dim=1)
        if step % 2 == 0:
            rows = torch.cat([rows, 10 * norm * direction[None]])
        if private:
            rows = rows * (norm / (rows.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1.0)
        total = rows.sum(dim=0)
        if private:
            total = total + torch.randn(size) * sigma * norm
        score.append(float(total @ direction) / norm)
        at = 0
        for p in params.values():
            p.data -= 0.05 / 8 * total[at : at + p.numel()].view_as(p) * (0.01 if private else 1)
            at += p.numel()
        if step % 2 == 1:
            audit.update(with_canary=score[-2], without_canary=score[-1])
            if audit.refuted:
                break
    return Found(audit.steps, audit.refuted)


def _noise_multiplier(epsilon: float) -> float:
    """The least noise multiplier with which a step is (epsilon, 1e-5)-DP, by bisection."""
    low, high = 1e-3, 1e6
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (
            (low, middle)
            if tollens.gaussian(1 / middle).delta(epsilon) <= DELTA
            else (middle, high)
        )
    return high


def _cost(runner: Runner) -> list[Row]:
    rows = []
    for name, hidden in SIZES.items():
        large = hidden == (1000, 930)
        share, plain, watched = tap_share(
            hidden, steps=10 if large else 150, turns=2 if large else 4
        )
        small = name.startswith("10 ")
        rows.append(
            Row(
                what=f"the tap's share of a step, {name}",
                target=f"< {MOST_SHARE:.0%}" if small else "",
                ok=share < MOST_SHARE if small else None,
                mean=share,
                more={"ms a step": round(plain, 2), "ms watched": round(watched, 2)},
            )
        )
    return rows


def tap_share(
    hidden: tuple[int, ...] | None, *, steps: int, turns: int
) -> tuple[float, float, float]:
    """(share, ms of a plain step, ms of a watched one): the best of some rounds, in turns."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(2 * turns):
        times[turn % 2 == 1].append(_train(hidden, steps, watched=turn % 2 == 1))
    plain, watched = (1000 * min(times[key]) / steps for key in (False, True))
    return 1.0 - plain / watched, plain, watched


def _train(hidden: tuple[int, ...] | None, steps: int, *, watched: bool) -> float:
    """Seconds of the loop of a private training on the digits."""
    import tollens.opacus

    optimizer, engine, loop = _training(hidden, steps, seed=0)
    started = time.perf_counter()
    if watched:
        with tollens.opacus.watch(optimizer, engine):
            loop()
    else:
        loop()
    return time.perf_counter() - started


def _training(
    hidden: tuple[int, ...] | None, steps: int, *, seed: int
) -> tuple[Any, Any, Callable[[], None]]:
    """An Opacus optimizer, its engine, and the loop of a private training on the digits."""
    import torch
    from opacus import PrivacyEngine
    from sklearn.datasets import load_digits

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    data, labels = load_digits(return_X_y=True)
    records = torch.utils.data.TensorDataset(
        torch.tensor(data / 16, dtype=torch.float32), torch.tensor(labels)
    )
    widths, layers = (64, *(hidden or ()), 10), []
    for i, (a, b) in enumerate(itertools.pairwise(widths)):
        layers += [torch.nn.ReLU()] if i else []
        layers.append(torch.nn.Linear(a, b))
    model = torch.nn.Sequential(*layers)
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(records, batch_size=64),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    loss = torch.nn.CrossEntropyLoss()

    def loop() -> None:
        done = 0
        while done < steps:
            for x, y in loader:
                optimizer.zero_grad()
                loss(model(x), y).backward()
                optimizer.step()
                done += 1
                if done == steps:
                    return

    return optimizer, engine, loop
