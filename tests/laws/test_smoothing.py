"""Smoothing: positive laws, totals, and the numbers of plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollens.auditing.density import density_cells
from tollens.auditing.experts import SMOOTHING, TABLE, fit_experts
from tollens.auditing.lenses import fit_lenses
from tollens.auditing.smoothing import LAWS, Calibrated, Counted, Kernel, Noise
from tollens.outputs import Encoder
from tollens.streams import SearchStream


@st.composite
def counts(draw, fewest=1, most=9):
    k = draw(st.integers(fewest, most))
    side = st.lists(st.integers(0, 10**6) | st.just(0), min_size=k, max_size=k)
    return np.array(draw(side), dtype=float), np.array(draw(side), dtype=float)


class TestCounted:
    @given(counts(), st.floats(0.01, 2))
    def test_it_adds_to_each_cell(self, both, extra):
        smooth = Counted(extra).smooth(*both)
        for found, given_ in zip(smooth, both, strict=True):
            assert found.tolist() == [count + extra for count in given_.tolist()]

    @pytest.mark.parametrize(("used", "parameters"), [(0, 0), (1, 0), (2, 1), (9, 8)])
    def test_one_parameter_less_than_cells(self, used, parameters):
        assert Counted(0.5).parameters(used) == parameters


class TestKernel:
    @given(counts(4), st.floats(0.01, 2), st.floats(0, 3))
    def test_it_is_a_plain_double_loop(self, both, extra, resolution):
        size = len(both[0])
        fine = size - 2  # the last cells are no intervals
        bell = [
            [math.exp(-((resolution * (i - j)) ** 2) / 2) for j in range(fine)] for i in range(fine)
        ]
        sums = [math.fsum(bell[i][j] for i in range(fine)) for j in range(fine)]
        matrix = np.array([[bell[i][j] / sums[j] for j in range(fine)] for i in range(fine)])
        found = Kernel("k", resolution, extra, fine).smooth(*both)
        for smooth, raw in zip(found, both, strict=True):
            for i in range(size):
                if i < fine:
                    expected = extra / fine + math.fsum(matrix[i, j] * raw[j] for j in range(fine))
                else:
                    expected = raw[i] + extra
                assert smooth[i] == pytest.approx(expected, rel=1e-12)
            assert smooth.sum() == pytest.approx(raw.sum() + extra * (1 + size - fine), rel=1e-12)
            assert np.all(smooth > 0)

    @pytest.mark.parametrize("factor", [0.5, 1.0])
    def test_real_matrices_keep_what_they_share_out(self, factor):
        values = np.random.default_rng(0).laplace(size=300)
        cuts, resolution = density_cells(values, factor)
        matrix = Kernel("k", resolution, 0.5).matrix
        assert matrix.shape == (len(cuts) + 1, len(cuts) + 1)
        assert matrix.sum(axis=0) == pytest.approx(np.ones(len(matrix)))
        assert np.all(matrix >= 0)

    def test_counts_are_left_as_they_are(self):
        x, y = np.array([3.0, 1.0, 4.0]), np.array([1.0, 5.0, 9.0])
        for how in (
            Counted(0.5),
            Kernel("k", 1.0, 0.5, 2),
            Calibrated(np.array([-1.0, 1.0]), 0.5),
            *(Noise(name, True, np.zeros(1), np.array([-1.0, 1.0]), 0.5) for name in LAWS),
        ):
            how.smooth(x, y)
            assert x.tolist() == [3, 1, 4]
            assert y.tolist() == [1, 5, 9]


def likelihood(theta, levels, x, y):
    """The penalised log likelihood of the sides given the levels, and what a step changes."""
    odds = theta[0] + theta[1] * levels
    log_share = -np.logaddexp(0, -odds)
    return float(x @ log_share + y @ (log_share - odds) - 0.5 * theta @ theta)


class TestCalibrated:
    @given(counts(), st.floats(0.01, 2), st.integers(0, 1000))
    def test_laws_are_positive_and_what_both_sides_have_stays(self, both, extra, seed):
        x, y = both
        intervals = max(len(x) - 2, 1)
        levels = np.random.default_rng(seed).normal(size=intervals)
        smooth = Calibrated(levels, extra).smooth(x, y)
        for found in smooth:
            assert np.all(found > 0)
            assert np.all(np.isfinite(found))
        k = intervals
        assert smooth[0] + smooth[1] == pytest.approx(x + y + 2 * extra, rel=1e-12)
        assert smooth[0][k:].tolist() == (x[k:] + extra).tolist()
        assert smooth[1][k:].tolist() == (y[k:] + extra).tolist()

    @pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (0.3, -2.0), (-0.5, 0.0), (0.0, 0.4)])
    def test_it_recovers_a_known_line(self, a, b):
        levels = np.linspace(-2, 2, 15)
        share = 1 / (1 + np.exp(-(a + b * levels)))
        both = np.full(15, 2e5)
        x = np.append(both * share, 0.0)
        y = np.append(both * (1 - share), 0.0)
        how = Calibrated(levels, SMOOTHING)
        smooth = how.smooth(x, y)
        odds = np.log(smooth[0][:15] / smooth[1][:15])
        assert odds == pytest.approx(a + b * levels, abs=1e-3)

    def test_it_recovers_the_line_from_samples(self):
        rng = np.random.default_rng(0)
        levels, n = np.linspace(-2, 2, 15), 4000
        x = rng.binomial(n, 1 / (1 + np.exp(-(0.2 + 0.7 * levels)))).astype(float)
        smooth = Calibrated(levels, SMOOTHING).smooth(x, n - x)
        slope, offset = np.polyfit(levels, np.log(smooth[0] / smooth[1]), 1)
        error = 3 / math.sqrt(15 * n / 4)
        assert slope == pytest.approx(0.7, abs=error)
        assert offset == pytest.approx(0.2, abs=error)

    @given(st.integers(0, 10_000))
    @settings(max_examples=40)
    def test_it_is_the_maximum_of_the_penalised_likelihood(self, seed):
        rng = np.random.default_rng(seed)
        levels = rng.normal(size=8)
        x, y = (rng.integers(0, 60, size=8).astype(float) for _ in range(2))
        theta = np.array(Calibrated(levels, 0.5)._fit(x, y))
        best = likelihood(theta, levels, x, y)
        for step in rng.normal(scale=0.05, size=(40, 2)):
            assert likelihood(theta + step, levels, x, y) <= best + 1e-9

    def test_nothing_seen_leaves_both_sides_alike(self):
        smooth = Calibrated(np.array([-1.0, 0.0, 1.0]), 0.5).smooth(np.zeros(4), np.zeros(4))
        assert smooth[0] == pytest.approx(smooth[1])

    def test_levels_are_the_standardised_means_between_the_cuts(self):
        rng = np.random.default_rng(0)
        values = rng.normal(3, 5, size=200)
        cuts = np.array([-1.0, 3.0, 8.0])
        how = Calibrated.of(cuts, values, 0.5)
        parts = [
            values[(values > low) & (values <= high)]
            for low, high in zip([-np.inf, *cuts], [*cuts, np.inf], strict=True)
        ]
        expected = [(part.mean() - values.mean()) / values.std() for part in parts]
        assert how.levels == pytest.approx(expected)

    def test_equal_values_are_no_division_by_zero(self):
        how = Calibrated.of(np.zeros(0), np.full(5, 7.0), 0.5)
        assert how.levels.tolist() == [0.0]


def drawn(family, place, scale, n, seed):
    rng = np.random.default_rng(seed)
    return (rng.laplace if family == "Laplace" else rng.normal)(place, scale, n)


def counted(cuts, values, further=1):
    """Counts between the cuts, and of `further` cells that are no intervals."""
    cells = np.searchsorted(cuts, values, side="left")
    return np.bincount(cells, minlength=len(cuts) + 1 + further).astype(float)


class TestNoise:
    CUTS = np.linspace(-6, 9, 61)

    @pytest.mark.parametrize("family", LAWS)
    @pytest.mark.parametrize("two_scales", [False, True])
    @given(counts(4), st.floats(0.01, 2), st.integers(0, 1000))
    @settings(max_examples=50)
    def test_laws_are_positive_and_each_side_keeps_its_runs(
        self, family, two_scales, both, extra, seed
    ):
        k = len(both[0]) - 2
        levels = np.sort(np.random.default_rng(seed).normal(size=k))
        noise = Noise(family, two_scales, (levels[1:] + levels[:-1]) / 2, levels, extra)
        for found, raw in zip(noise.smooth(*both), both, strict=True):
            assert np.all(found > 0) and np.all(np.isfinite(found))
            assert found[k:].tolist() == (raw[k:] + extra).tolist()
            most = raw[:k].sum() + k * extra
            assert raw[:k].sum() <= found[:k].sum() * (1 + 1e-9) <= most * (1 + 2e-9)

    @pytest.mark.parametrize("family", LAWS)
    @pytest.mark.parametrize("scales", [(1.0, 1.0), (2.0, 0.7)])
    def test_the_laws_of_the_noise_are_found(self, family, scales):
        two_scales, n = scales[0] != scales[1], 200_000
        sides = [
            drawn(family, place, scale, n, seed)
            for seed, (place, scale) in enumerate(zip((1.0, 0.0), scales, strict=True))
        ]
        pooled = np.concatenate(sides)
        noise = Noise.of(family, self.CUTS, pooled, SMOOTHING, two_scales=two_scales)
        found = noise.smooth(*(counted(self.CUTS, side) for side in sides))
        for law, side in zip(found, sides, strict=True):
            truth = counted(self.CUTS, side)
            assert np.abs(law - truth).max() / n < 0.006

    def test_one_scale_is_that_of_all_runs(self):
        wide, narrow = drawn("Laplace", 0, 2, 3000, 1), drawn("Laplace", 0, 1, 1000, 2)
        pooled = np.concatenate([wide, narrow])
        noise = Noise.of("Laplace", self.CUTS, pooled, SMOOTHING, two_scales=False)
        x, y = noise.smooth(counted(self.CUTS, wide), counted(self.CUTS, narrow))
        common = (3 * np.abs(wide).mean() + np.abs(narrow).mean()) / 4
        for law in (x, y):
            tail = law[: np.searchsorted(self.CUTS, -3.0 + 1e-9)].sum() / law.sum()
            assert tail == pytest.approx(0.5 * math.exp(-3 / common), rel=0.1)

    def test_whole_numbers_are_parted_between_them(self):
        values = np.arange(-3.0, 4.0)
        noise = Noise.of("Laplace", values[:-1], values, SMOOTHING, two_scales=True)
        assert noise.ends.tolist() == [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]
        assert noise.levels.tolist() == values.tolist()

    @pytest.mark.parametrize(
        "values", [[], [1.0] * 50, [0, 1, 2, 3], [0, 1, 2, 3, np.inf], [0, 1, 2, 3, 1e200]]
    )
    def test_there_is_none_of_few_or_endless_values(self, values):
        found = np.array(values, dtype=float)
        assert Noise.of("normal", np.zeros(1), found, SMOOTHING, two_scales=True) is None

    @pytest.mark.parametrize("counts_x", [[0.0, 0.0, 5.0], [4.0, 0.0, 5.0]])
    def test_a_side_without_numbers_or_spread_counts_as_it_is(self, counts_x):
        x, y = np.array(counts_x), np.array([7.0, 0.0, 1.0])
        noise = Noise("normal", False, np.zeros(1), np.array([-1.0, 1.0]), 0.5)
        for found, raw in zip(noise.smooth(x, y), (x, y), strict=True):
            assert found.tolist() == (raw + 0.5).tolist()

    @pytest.mark.parametrize(("two_scales", "parameters"), [(False, 3), (True, 4)])
    def test_places_and_scales_are_learned(self, two_scales, parameters):
        noise = Noise("normal", two_scales, np.zeros(1), np.zeros(2), 0.5)
        assert noise.parameters(60) == parameters


class TestViews:
    @pytest.mark.parametrize("kind", ["numbers", "vectors", "bits", "mixed"])
    @pytest.mark.parametrize("pull", [0.0, 1.0, 200.0])
    def test_every_law_is_positive_and_sums_to_one(self, kind, pull):
        rng = np.random.default_rng(1)
        make = {
            "numbers": lambda: rng.laplace(size=90),
            "vectors": lambda: rng.normal(size=(90, 3)),
            "bits": lambda: rng.random(90) < 0.5,
            "mixed": lambda: [[None, 1.5, "a", (1.0, 2)][int(i)] for i in rng.integers(4, size=90)],
        }[kind]
        encoder = Encoder()
        x, y = encoder.encode(make()), encoder.encode(make())
        experts = fit_experts(x, y, fit_lenses(x, y, SearchStream(0).generator(0)), pull=pull)
        assert len(experts.slots) == len(TABLE)
        for view in experts.views:
            assert view.counts_x.sum() == len(x)
            for law in view.laws():
                assert len(law) == view.cells.size
                assert np.all(law > 0)
                assert law.sum() == pytest.approx(1)

    def test_the_pull_adds_that_many_runs_of_the_common_mean(self):
        """Sides of unequal numbers of runs count alike in the mean."""
        encoder = Encoder()
        x, y = encoder.encode([True] * 30 + [False] * 10), encoder.encode([True, False] * 60)
        seen = fit_lenses(x, y, SearchStream(0).generator(0))
        for view in fit_experts(x, y, seen, pull=8.0).views:
            if view.smoothing.style != "counted" or not view.pull:
                continue
            mean = (view.counts_x / 40 + view.counts_y / 120) / 2
            for law, own in zip(view.laws(), (view.counts_x, view.counts_y), strict=True):
                smooth = own + 8 * mean + SMOOTHING
                assert law == pytest.approx(smooth / smooth.sum())
