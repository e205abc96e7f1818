"""Learned scores: what each kind finds, and that no past run is scored by what it taught."""

from __future__ import annotations

import numpy as np
import pytest

from tollens.auditing.lenses import fit_lenses
from tollens.auditing.score import (
    FEWEST_FOR_TREES,
    KINDS,
    MAX_TRAINING,
    Frame,
    SingleScore,
    fit_scores,
    frame_of,
)
from tollens.outputs import Encoder
from tollens.streams import SearchStream

FOLDS = 5


def generator(seed=0):
    return SearchStream(seed).generator(7)


def shifted(rng, n=60, d=4, by=1.0):
    """Two sides of n rows; the first number of x is larger."""
    x, y = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    x[:, 0] += by
    return x, y


def auc(above, below):
    """How often a score of one side is larger than one of the other."""
    gaps = above[:, None] - below[None, :]
    return float(np.mean(gaps > 0) + 0.5 * np.mean(gaps == 0))


class TestOutOfFold:
    @pytest.mark.parametrize("kind", KINDS)
    def test_each_past_run_is_scored_by_a_fit_to_the_other_folds(self, kind):
        """Refitted here, fold by fold; the frame is that of all runs, which knows no labels."""
        x, y = shifted(np.random.default_rng(0))
        fitted = fit_scores(x, y, generator())[kind]
        pooled = np.concatenate([x, y])
        labels = np.repeat([1.0, 0.0], len(x))
        fold = generator().permuted(np.arange(len(pooled)) % FOLDS)
        frame = frame_of(pooled)
        expected = np.empty(len(pooled))
        for i in range(len(pooled)):
            if i == np.flatnonzero(fold == fold[i])[0]:  # one fit for each fold
                others = fold != fold[i]
                part = KINDS[kind](frame, frame.standard(pooled[others]), labels[others])
                expected[fold == fold[i]] = part(pooled[fold == fold[i]])
        assert np.concatenate([fitted.x, fitted.y]) == pytest.approx(expected, abs=1e-9)
        if kind != "single":  # each fold finds the same number there
            assert np.concatenate([fitted.x, fitted.y]) != pytest.approx(fitted.score(pooled))

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_label_of_a_run_does_not_change_its_score(self, kind):
        """Two runs of one fold swap sides: their own scores, and no others, stay as they were."""
        x, y = shifted(np.random.default_rng(1))
        fold = generator().permuted(np.arange(120) % FOLDS)
        i = int(np.flatnonzero(fold[:60] == 0)[0])
        j = int(np.flatnonzero(fold[60:] == 0)[0])
        other_x, other_y = x.copy(), y.copy()
        other_x[i], other_y[j] = y[j], x[i]
        before = fit_scores(x, y, generator())[kind]
        after = fit_scores(other_x, other_y, generator())[kind]
        assert after.x[i] == pytest.approx(before.y[j], abs=1e-9)
        assert after.y[j] == pytest.approx(before.x[i], abs=1e-9)

    @pytest.mark.parametrize("kind", KINDS)
    def test_where_nothing_differs_the_past_does_not_look_as_if_it_did(self, kind):
        """In the fit itself noise separates the sides; out of its folds it does not."""
        inside, outside = [], []
        for seed in range(8):
            rng = np.random.default_rng(seed)
            x, y = rng.normal(size=(50, 20)), rng.normal(size=(50, 20))
            found = fit_scores(x, y, generator(seed))[kind]
            inside.append(auc(found.score(x), found.score(y)))
            outside.append(auc(found.x, found.y))
        assert np.mean(inside) > 0.6
        assert abs(np.mean(outside) - 0.5) < 0.08

    def test_runs_before_the_last_are_scored_by_the_whole_fit(self, monkeypatch):
        monkeypatch.setattr("tollens.auditing.score.MAX_TRAINING", 40)
        x, y = shifted(np.random.default_rng(2), n=100)
        found = fit_scores(x, y, generator())
        latest = fit_scores(x[-40:], y[-40:], generator())
        for kind, fitted in found.items():
            assert len(fitted.x) == len(fitted.y) == 100
            assert fitted.x[:60] == pytest.approx(latest[kind].score(x[:60]))
            assert fitted.x[60:] == pytest.approx(latest[kind].x)
            assert fitted.y[60:] == pytest.approx(latest[kind].y)
        assert MAX_TRAINING > 1000


class TestKinds:
    @pytest.mark.parametrize("seed", range(5))
    def test_the_single_score_finds_the_changed_cell_of_fifty_with_forty_pairs(self, seed):
        rng = np.random.default_rng(seed)
        x, y = rng.laplace(size=(40, 50)), rng.laplace(size=(40, 50))
        x[:, 31] += 2
        score = fit_scores(x, y, generator())["single"].score
        assert (score.column, score.distance, score.sign) == (31, False, 1.0)
        assert "output[31]" in score.describe()
        later_x, later_y = rng.laplace(size=(2000, 50)), rng.laplace(size=(2000, 50))
        later_x[:, 31] += 2
        assert auc(score(later_x), score(later_y)) > 0.8

    def test_the_single_score_finds_a_spread_too(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(60, 9)), rng.normal(size=(60, 9))
        x[:, 4] *= 4
        score = fit_scores(x, y, generator())["single"].score
        assert (score.column, score.distance, score.sign) == (4, True, 1.0)
        assert score.describe().count("|") == 2

    def test_the_single_score_orients_itself(self):
        x, y = shifted(np.random.default_rng(0), by=3.0)
        assert fit_scores(x, y, generator())["single"].score.sign == 1
        assert fit_scores(y, x, generator())["single"].score.sign == -1

    def test_boosted_trees_find_a_conjunction_that_no_line_can(self):
        """Both numbers have one and the same law on both sides; only together do they differ."""
        rng = np.random.default_rng(0)

        def draw(n, same):
            signs = rng.choice([-1.0, 1.0], size=n)
            others = signs * (1 if same else -1)
            return np.stack([signs, others], axis=1) * rng.uniform(0.5, 2, size=(n, 2))

        found = fit_scores(draw(150, True), draw(150, False), generator())
        later_x, later_y = draw(2000, True), draw(2000, False)
        scores = {kind: auc(f.score(later_x), f.score(later_y)) for kind, f in found.items()}
        assert scores["boosted"] > 0.95
        assert abs(scores["linear"] - 0.5) < 0.15
        assert abs(scores["single"] - 0.5) < 0.15
        assert auc(found["boosted"].x, found["boosted"].y) > 0.9

    def test_boosted_trees_say_where_they_are_high(self):
        rng = np.random.default_rng(0)
        x, y = rng.uniform(size=(200, 3)), rng.uniform(size=(200, 3))
        x[:, 2] = rng.uniform(0.5, 1, size=200)
        text = fit_scores(x, y, generator())["boosted"].score.describe()
        high, low = text.split("high where ")[1].split(" and low where ")
        assert "output[2] > 0." in high
        assert "output[2] <= 0." in low

    def test_the_linear_score_adds_many_small_differences(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(400, 16)) + 0.35, rng.normal(size=(400, 16))
        found = fit_scores(x, y, generator())
        later_x, later_y = rng.normal(size=(2000, 16)) + 0.35, rng.normal(size=(2000, 16))
        scores = {kind: auc(f.score(later_x), f.score(later_y)) for kind, f in found.items()}
        assert scores["linear"] > 0.8
        assert scores["linear"] > scores["boosted"] > scores["single"]

    def test_few_runs_grow_no_trees(self):
        fewest = FEWEST_FOR_TREES // 2
        x, y = shifted(np.random.default_rng(0), n=fewest - 1)
        assert set(fit_scores(x, y, generator())) == {"linear", "single"}
        x, y = shifted(np.random.default_rng(0), n=fewest)
        assert set(fit_scores(x, y, generator())) == set(KINDS)


class TestEdges:
    def test_the_same_runs_give_the_same_scores(self):
        x, y = shifted(np.random.default_rng(0), n=100)
        first, again = fit_scores(x, y, generator()), fit_scores(x, y, generator())
        for kind in KINDS:
            assert np.array_equal(first[kind].x, again[kind].x)
            assert np.array_equal(first[kind].y, again[kind].y)
            assert np.array_equal(first[kind].score(x), again[kind].score(x))
            assert first[kind].score.describe() == again[kind].score.describe()

    def test_one_row_at_a_time_or_all_at_once(self):
        x, y = shifted(np.random.default_rng(0), n=60)
        for fitted in fit_scores(x, y, generator()).values():
            single = [float(fitted.score(x[i : i + 1])[0]) for i in range(20)]
            assert single == pytest.approx(fitted.score(x[:20]).tolist(), abs=1e-12)
            assert fitted.score(x[:0]).shape == (0,)

    @pytest.mark.parametrize("sides", [(0, 5), (1, 5), (5, 1)])
    def test_too_few_runs_give_no_scores(self, sides):
        x, y = (np.zeros((n, 3)) for n in sides)
        assert fit_scores(x, y, generator()) == {}

    def test_equal_constants_give_no_score_that_tells_them_apart(self):
        found = fit_scores(np.ones((40, 3)), np.ones((40, 3)), generator())
        assert "single" not in found
        assert "linear" not in found
        for fitted in found.values():
            assert len(set(fitted.score(np.ones((5, 3))).tolist())) == 1

    def test_what_is_not_finite_has_a_score_all_the_same(self):
        rng = np.random.default_rng(0)
        x, y = shifted(rng)
        x[3], x[5, 1], y[7, 2], y[:, 3], x[:, 3] = np.nan, np.inf, -np.inf, np.nan, np.nan
        for fitted in fit_scores(x, y, generator()).values():
            for values in (fitted.x, fitted.y, fitted.score(np.full((2, 4), np.nan))):
                assert np.all(np.isfinite(values))

    def test_rows_of_another_width(self):
        x, y = shifted(np.random.default_rng(0))
        wide = np.concatenate([x, np.full((60, 3), 99.0)], axis=1)
        for fitted in fit_scores(x, y, generator()).values():
            assert fitted.score(wide) == pytest.approx(fitted.score(x))
            narrow, padded = x[:, :2], x.copy()
            padded[:, 2:] = np.nan
            if not (isinstance(fitted.score, SingleScore) and fitted.score.column >= 2):
                assert fitted.score(narrow) == pytest.approx(fitted.score(padded))

    def test_unequal_numbers_of_runs(self):
        rng = np.random.default_rng(0)
        x, y = shifted(rng, n=180)
        found = fit_scores(x[:60], y, generator())
        for fitted in found.values():
            assert (len(fitted.x), len(fitted.y)) == (60, 180)
            assert auc(fitted.x, fitted.y) > 0.6


class TestFrame:
    def test_medians_and_mean_distances(self):
        rng = np.random.default_rng(0)
        numbers = rng.normal(size=(101, 3)) * [1, 10, 0]
        frame = frame_of(numbers)
        for i in range(3):
            column = sorted(numbers[:, i].tolist())
            assert frame.center[i] == column[50]
            distance = sum(abs(value - column[50]) for value in column) / 101
            assert frame.scale[i] == pytest.approx(distance if distance > 0 else 1)

    def test_standard_numbers_are_clipped(self):
        frame = Frame(np.array([1.0, 0.0]), np.array([2.0, 1.0]))
        rows = np.array([[3.0, np.nan], [1e300, -np.inf], [np.inf, 0.5]])
        assert frame.standard(rows).tolist() == [[1, 0], [8, -8], [8, 0.5]]
        assert frame.standard(np.array([[5.0]])).tolist() == [[2, 0]]


class TestLenses:
    def test_one_number_is_looked_at_as_it_is(self):
        rng = np.random.default_rng(0)
        encoder = Encoder()
        values = rng.normal(size=30), rng.normal(size=30)
        seen = fit_lenses(*(encoder.encode(v) for v in values), generator())
        assert list(seen.lenses) == ["value"]
        assert seen.lenses["value"].score is None
        assert seen.lenses["value"].x.tolist() == values[0].tolist()

    def test_several_numbers_have_three(self):
        encoder = Encoder()
        x, y = shifted(np.random.default_rng(0))
        seen = fit_lenses(encoder.encode(x), encoder.encode(y), generator())
        found = fit_scores(x, y, generator())
        kinds = {"value": "linear", "single": "single", "boosted": "boosted"}
        assert set(seen.lenses) == set(kinds)
        for name, kind in kinds.items():
            assert np.array_equal(seen.lenses[name].x, found[kind].x)
            assert np.array_equal(seen.lenses[name].y, found[kind].y)

    def test_runs_of_other_shapes_have_the_number_zero(self):
        encoder = Encoder()
        x, y = ([*side] for side in shifted(np.random.default_rng(0), n=40))
        x[3], y[5], y[6] = None, "a", 2.5
        seen = fit_lenses(encoder.encode(x), encoder.encode(y), generator())
        assert np.flatnonzero(~seen.in_x).tolist() == [3]
        assert np.flatnonzero(~seen.in_y).tolist() == [5, 6]
        for lens in seen.lenses.values():
            assert lens.x[3] == lens.y[5] == lens.y[6] == 0
        assert np.count_nonzero(seen.lenses["value"].x) == 39


def test_within_one_thread_no_pool_has_more_than_one() -> None:
    from threadpoolctl import threadpool_info

    from tollens.auditing.threads import one_thread

    with one_thread():
        inside = {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}
    assert inside and set(inside.values()) == {1}
