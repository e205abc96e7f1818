"""A fault of Opacus itself: gradients are divided by a number that is made of the private size.

    python examples/training/expected_batch.py

With 32 records in batches of 8, `make_private` takes 8 for the expected batch size; with 31
records, and as many batches, it takes int(31 / 4) = 7. All that a step releases, noise and all, is
then larger by 8/7, and the size of the gradient gives the missing record away. Seen twice here:
by a watch of training that is told that the size is private, and from outside, by an audit of the
score log |g|^2 of single steps, which knows nothing of Opacus.

Needs `pip install 'tollens[opacus]'`. The exit code is 1, for both refute.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import tollens
import tollens.opacus
from tollens.training.report import TrainingReport

warnings.filterwarnings("ignore", module="opacus|torch")
warnings.filterwarnings("ignore", message="Full backward hook")

DIGITS = load_digits()


class Training:
    """Private training on the first so many digits, in batches of 8."""

    def __init__(self, records: int) -> None:
        x = torch.tensor(DIGITS.data[:records] / 16.0, dtype=torch.float32)
        y = torch.tensor(DIGITS.target[:records])
        model = nn.Linear(64, 10)
        nn.init.zeros_(model.weight)
        nn.init.zeros_(model.bias)
        self.engine = PrivacyEngine()
        self.model, self.optimizer, self.loader = self.engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=DataLoader(TensorDataset(x, y), batch_size=8),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(x), y).backward()
        self.optimizer.step()


def watched() -> TrainingReport:
    """The report on one epoch with 32 records, whose number is private."""
    torch.manual_seed(0)
    training = Training(32)
    with tollens.opacus.watch(training.optimizer, training.engine, private_size=True) as w:
        for x, y in training.loader:
            training.step(x, y)
    return w.report()


def log_squared_norm(records: int, rng: np.random.Generator) -> float:
    """What one step on so many records releases, as one number: log |g|^2."""
    torch.manual_seed(int(rng.integers(2**62)))
    training = Training(records)
    training.step(*next(iter(training.loader)))
    gradient = torch.cat([p.grad.flatten() for p in training.model.parameters()])
    return float(gradient.square().sum().log())


def audited(alpha: float = 0.01, seed: int = 1) -> tollens.Verdict:
    """The audit of a step with 32 and with 31 records, against what noise of this size promises."""
    return tollens.audit(
        log_squared_norm, "mu=1", neighbours=(32, 31), alpha=alpha, budget=2000, seed=seed
    )


if __name__ == "__main__":
    report, verdict = watched(), audited()
    print(report, verdict, sep="\n\n")
    sys.exit(int(report.refuted or verdict.refuted))
