"""Makes the table of quantiles that the Brownian monitor ships: about ten minutes on one core.

python -m benchmarks.brownian_quantiles
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from tollens.monitoring.brownian import quantiles
from tollens.monitoring.brownian.quantiles import PATHS, SEED, simulate

BETAS = (0.0, 0.1, 0.25, 0.4)
HORIZONS = (50, 100, 200, 500, 1000, None)


def _paths(horizon: int | None) -> int:
    """More paths where they cost little."""
    return PATHS if horizon is None else max(PATHS, min(1_000_000, 200_000_000 // horizon))


def main() -> None:
    curves = []
    for beta in BETAS:
        for horizon in HORIZONS:
            if beta == 0 and horizon is None:
                continue  # known exactly
            start = time.perf_counter()
            paths = _paths(horizon)
            curve = simulate(beta, horizon, paths=paths, seed=SEED)
            found = curve.at(0.05)
            print(
                f"beta {beta}, {horizon or 'limit'} steps: {found.value:.4f} ± {found.error:.4f} "
                f"({paths} paths, {time.perf_counter() - start:.0f} s)",
                flush=True,
            )
            curves.append({"paths": paths, **curve.to_json()})
    path = Path(quantiles.__file__).with_name("quantiles.json")
    lines = ",\n".join(json.dumps(curve) for curve in curves)
    head = f'{{"seed": {SEED}, "curves": ['
    path.write_text(f"{head}\n{lines}\n]}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
