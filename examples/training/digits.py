"""Train a classifier of digits with Opacus, audited while it trains; about ten seconds.

    python examples/training/digits.py
    python examples/training/digits.py --model mlp --plot training.svg
    python examples/training/digits.py --fault per-layer-clipping

Needs `pip install 'tollens[opacus]'`. The exit code is 1 if something is broken.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import torch
from faults import FAULTS, Fault
from opacus import PrivacyEngine
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import tollens.opacus
from tollens.opacus import Watch

RECORDS, BATCH = 1437, 64
NOISE_MULTIPLIER, CLIPPING_NORM = 1.0, 4.0

warnings.filterwarnings("ignore", module="opacus|torch")
warnings.filterwarnings("ignore", message="Full backward hook")


def make_model(kind: str, fault: Fault) -> nn.Module:
    layers: list[nn.Module] = [nn.Linear(64, 10)]
    if kind == "mlp":
        layers = [nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)]
    return nn.Sequential(*([] if fault.layer is None else [fault.layer()]), *layers)


def train(
    kind: str = "logistic",
    fault_name: str = "none",
    *,
    steps: int = 300,
    stop: bool = False,
    seed: int = 0,
    progress: bool = False,
) -> tuple[Watch, float]:
    """Train for some steps; the watch, and the accuracy on digits that were held out."""
    fault = FAULTS[fault_name]
    torch.manual_seed(seed)
    digits = load_digits()
    x = torch.tensor(digits.data / 16.0, dtype=torch.float32)
    y = torch.tensor(digits.target)
    x, y = x[(order := torch.randperm(len(x)))], y[order]
    held_out = x[RECORDS:], y[RECORDS:]
    x, y = x[: fault.records or RECORDS], y[: fault.records or RECORDS]

    model = make_model(kind, fault)
    loss = nn.CrossEntropyLoss()
    engine = PrivacyEngine()
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=DataLoader(TensorDataset(x, y), batch_size=BATCH, shuffle=True),
        noise_multiplier=NOISE_MULTIPLIER,
        max_grad_norm=CLIPPING_NORM,
        poisson_sampling=fault.poisson,
    )
    if fault.optimizer is not None:
        optimizer.__class__ = fault.optimizer
    if fault.account is not None:
        fault.account(optimizer, engine, 1 / len(loader))

    def backward(batch: tuple[torch.Tensor, torch.Tensor]) -> None:
        inputs, labels = batch
        loss(model(inputs), labels).backward()

    private_size = fault.records is not None
    with tollens.opacus.watch(
        optimizer, engine, stop=stop, private_size=private_size, progress=progress
    ) as w:
        # Layers that mix a batch show from the inputs on only; the record may be any, so: extreme.
        more = torch.cat([x[:63], 10 * x[63:64]])
        w.check_inputs(model, backward, (x[:63], y[:63]), (more, y[:64]))
        done = 0
        while done < steps:
            for batch in loader:
                optimizer.zero_grad()
                backward(batch)
                optimizer.step()
                done += 1
                if done == steps:
                    break

    with torch.no_grad():
        right = model(held_out[0]).argmax(dim=1) == held_out[1]
    return w, float(right.float().mean())


def main() -> int:
    options = argparse.ArgumentParser(description="Audited training of a classifier of digits.")
    options.add_argument("--model", choices=("logistic", "mlp"), default="logistic")
    options.add_argument("--fault", choices=tuple(FAULTS), default="none", metavar="NAME",
                         help=f"a bug to train with: {', '.join(FAULTS)}")  # fmt: skip
    options.add_argument("--steps", type=int, default=300)
    options.add_argument("--plot", metavar="FILE.svg", help="draw the bounds over the steps")
    options.add_argument("--stop", action="store_true", help="stop once something is broken")
    given = options.parse_args()

    w, accuracy = train(given.model, given.fault, steps=given.steps, stop=given.stop, progress=True)
    report = w.report()
    print(report)
    print(f"accuracy on digits that were held out: {accuracy:.3f}")
    if given.plot:
        from tollens.report.training_figure import training_svg

        Path(given.plot).write_text(training_svg(report), encoding="utf-8")
    return int(report.refuted)


if __name__ == "__main__":
    sys.exit(main())
