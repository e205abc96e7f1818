"""Quantiles of the largest window: against the published table, exact laws and a naive oracle."""

from __future__ import annotations

import json
import math
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from benchmarks.sections.monitor_brownian import PUBLISHED_LEVELS, PUBLISHED_QUANTILES

from tollens.errors import UsageError
from tollens.monitoring.brownian import quantiles
from tollens.monitoring.brownian.quantiles import ALPHAS, Curve, Quantile, quantile, simulate
from tollens.monitoring.brownian.suprema import (
    finite_sample,
    largest_window,
    largest_windows_so_far,
    limit_samples,
    sup_abs_quantile,
)


@pytest.mark.parametrize(("beta", "horizon"), sorted(PUBLISHED_QUANTILES))
def test_the_table_agrees_with_the_published_one(beta: float, horizon: int) -> None:
    # the published error of 0.005 is for T <= 100; fewer paths were run beyond
    stated = 0.005 if horizon <= 100 else 0.012
    for alpha, published in zip(PUBLISHED_LEVELS, PUBLISHED_QUANTILES[beta, horizon], strict=True):
        found = quantile(alpha, beta=beta, horizon=horizon)
        assert found.value == pytest.approx(published, abs=2 * found.error + 2 * stated)
        assert 0 < found.error < 0.01


def test_beta_zero_has_the_exact_limit() -> None:
    assert sup_abs_quantile(0.05) == pytest.approx(2.2414, abs=1e-4)
    assert sup_abs_quantile(0.1) == pytest.approx(1.9600, abs=1e-4)
    assert quantile(0.05, beta=0).error == 0


def test_the_simulated_limit_agrees_with_the_exact_one_where_there_is_one() -> None:
    fine, coarse = limit_samples(0.0, 20_000, seed=3, cells=256)
    for alpha in (0.5, 0.1, 0.05):
        tail = [float((sample > sup_abs_quantile(alpha)).mean()) for sample in (fine, coarse)]
        assert tail == pytest.approx([alpha] * 2, abs=4 * math.sqrt(alpha / 20_000))


@pytest.mark.parametrize("beta", [0.1, 0.25, 0.4])
def test_quantiles_rise_with_the_horizon_up_to_the_limit(beta: float) -> None:
    found = [quantile(0.05, beta=beta, horizon=t) for t in (50, 100, 200, 500, 1000, None)]
    assert all(a.value < b.value for a, b in pairwise(found))
    assert quantile(0.05, beta=beta, horizon=5000) == found[-1]


@pytest.mark.parametrize("beta", [0.0, 0.25, 0.45])
def test_the_largest_window_is_that_of_a_double_loop(beta: float) -> None:
    steps = np.random.default_rng(4).standard_normal((13, 5))
    whole, so_far = largest_window(steps, beta), largest_windows_so_far(steps, beta)
    for path in range(5):
        best = -math.inf
        for end in range(13):
            ending = max(
                (end - start + 1) ** -beta * 13 ** (beta - 0.5) * steps[start : end + 1, path].sum()
                for start in range(end + 1)
            )
            assert so_far[end, path] == pytest.approx(ending)
            best = max(best, ending)
        assert whole[path] == pytest.approx(best)


def test_one_step_is_a_normal_and_errors_are_honest() -> None:
    curve = simulate(0.25, 1, paths=50_000, seed=2)
    for alpha, exact in ((0.05, 1.64485), (0.01, 2.32635)):
        found = curve.at(alpha)
        assert abs(found.value - exact) < 4 * found.error
        assert found.error < 0.03


def test_the_upper_end_keeps_the_level_on_fresh_paths() -> None:
    fresh = finite_sample(0.25, 100, 20_000, seed=99)
    for alpha in (0.05, 0.0125):
        share = float((fresh > quantile(alpha, beta=0.25, horizon=100).upper).mean())
        assert share <= alpha + 3 * math.sqrt(alpha / 20_000)
        assert share >= 0.85 * alpha


def test_levels_between_and_below_the_tabulated_ones() -> None:
    inside = [quantile(alpha, horizon=100).value for alpha in (0.05, 0.0476, 0.045)]
    assert inside == sorted(inside)
    # on the exact law of one normal step, lines beyond the table lie above it
    from scipy.special import ndtri

    levels = [alpha for alpha in ALPHAS if alpha >= 1e-3]
    exact = tuple(float(-ndtri(alpha)) for alpha in levels)
    curve = Curve(0.25, 1, tuple(levels), exact, (0.0,) * len(levels))
    for alpha in (5e-4, 1e-4, 1e-5):
        assert -ndtri(alpha) <= curve.at(alpha).value < -ndtri(alpha) + 0.5
    for alpha in (0.3, 0.06, 0.002):
        assert curve.at(alpha).value == pytest.approx(-ndtri(alpha), abs=5e-4)


def test_all_settings_out_of_range_are_reported() -> None:
    with pytest.raises(UsageError) as caught:
        quantile(0, beta=0.5, horizon=0)
    assert len(caught.value.findings) == 3


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    real = quantiles.simulate

    def counting(beta: float, horizon: int | None, *, paths: int) -> Curve:
        calls.append(paths)
        return real(beta, horizon, paths=2000)

    monkeypatch.setattr(quantiles, "simulate", counting)
    return calls


def test_others_are_simulated_once_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _counted(monkeypatch)
    folder = tmp_path / "new" / "cache"
    first = quantile(0.05, beta=0.3, horizon=7, cache=folder)
    second = quantile(0.05, beta=0.3, horizon=7, cache=folder)
    assert len(calls) == 1
    assert second.value == pytest.approx(first.value, abs=1e-4)
    [path] = folder.iterdir()
    assert path.suffix == ".json"


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"schema": "other"}', "\x00"])
def test_an_unreadable_cache_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    calls = _counted(monkeypatch)
    quantile(0.05, beta=0.3, horizon=7, cache=tmp_path)
    [path] = tmp_path.iterdir()
    path.write_text(damage)
    quantile(0.05, beta=0.3, horizon=7, cache=tmp_path)
    assert len(calls) == 2
    assert json.loads(path.read_text())["horizon"] == 7


def test_a_curve_of_other_settings_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _counted(monkeypatch)
    quantile(0.05, beta=0.3, horizon=7, cache=tmp_path)
    [path] = tmp_path.iterdir()
    path.write_text(path.read_text().replace('"horizon": 7', '"horizon": 8'))
    quantile(0.05, beta=0.3, horizon=7, cache=tmp_path)
    assert len(calls) == 2


def test_a_cache_that_cannot_be_written_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _counted(monkeypatch)
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert isinstance(quantile(0.05, beta=0.3, horizon=7, cache=blocked), Quantile)


def test_writers_at_the_same_time_leave_one_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _counted(monkeypatch)
    threads = [
        threading.Thread(target=lambda: quantile(0.05, beta=0.3, horizon=7, cache=tmp_path))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [path] = tmp_path.iterdir()
    assert json.loads(path.read_text())["beta"] == 0.3
