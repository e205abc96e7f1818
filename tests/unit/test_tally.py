"""Tallies: counts of outputs by place and by event, against counting one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tollens
from tollens.errors import UsageError
from tollens.tally import Side, Tally
from tollens.verdict import Verdict

ROWS = ([1, 1, 1], [1, 1])


def audited(function, claim="epsilon=1", **settings):
    return tollens.audit(function, claim, neighbours=ROWS, seed=1, **settings)


def test_the_marked_counts_are_those_of_the_witness():
    @tollens.batched
    def count(rows, n, rng):
        return len(rows) + rng.laplace(scale=0.5, size=n)

    verdict = audited(count)
    tally, witness = verdict.tally, verdict.witness
    assert tally.what == "output" and not tally.labels and tally.marked
    assert tally.x.total + tally.x_prime.total >= 2 * verdict.pairs
    low = float(witness.text.removeprefix("output <= "))
    for side, wanted in (
        (tally.x, witness.frequency_x),
        (tally.x_prime, witness.frequency_x_prime),
    ):
        assert sum(side.inside) / side.total == pytest.approx(wanted, abs=0.03)
        beyond = [i for i in range(len(side.inside)) if tally.edges[i] > low]
        before = [i for i in range(len(side.inside)) if tally.edges[i + 1] < low]
        assert not any(side.inside[i] for i in beyond)
        assert not any(side.outside[i] for i in before)
    assert Verdict.from_json(verdict.to_json()).tally == tally


def test_bins_hold_what_was_drawn():
    drawn = {3: [], 2: []}

    @tollens.batched
    def noise(rows, n, rng):
        values = rng.normal(size=n)
        drawn[len(rows)].extend(values.tolist())
        return values

    tally = audited(noise, budget=800, until="budget").tally
    assert not tally.marked
    for side, values in ((tally.x, drawn[3]), (tally.x_prime, drawn[2])):
        expected, _ = np.histogram(values, [-math.inf, *tally.edges[1:-1], math.inf])
        assert side.bins == tuple(expected)


def test_few_values_and_texts_are_counted_by_value():
    def answer(rows, rng):
        return ["yes", "no", "<b>"][min(int(rng.geometric(0.5)), 3) - 1]

    tally = audited(answer, budget=400).tally
    assert tally.edges == () and set(tally.labels) == {"'yes'", "'no'", "'<b>'"}
    assert sum(tally.x.labels) == tally.x.total

    tally = audited(lambda rows, rng: min(int(rng.geometric(0.3)), 12), budget=400).tally
    assert tally.labels == tuple(str(i) for i in range(1, 13))


def test_many_texts_keep_the_most_frequent():
    def name(rows, rng):
        return f"n{min(int(rng.geometric(0.1)), 40)}"

    tally = audited(name, budget=1000).tally
    assert len(tally.labels) == 16 and tally.labels[-1] == "all others"
    assert "'n1'" in tally.labels and tally.x.total == 1000


def test_what_is_no_number_stands_beside_the_axis():
    def mixed(rows, rng):
        kind = rng.random()
        if kind < 0.1:
            raise ValueError("no")
        if kind < 0.2:
            return math.nan
        return math.inf if kind < 0.3 else rng.normal()

    tally = audited(mixed, budget=600).tally
    assert {"nan", "∞"} <= set(tally.labels) and len(tally.edges) > 10
    assert any("ValueError" in label for label in tally.labels)
    assert tally.x.total == 600


def test_the_number_in_which_the_sides_differ_is_counted():
    @tollens.batched
    def vector(rows, n, rng):
        values = rng.normal(size=(n, 5))
        values[:, 3] += 0.5 * len(rows)
        return values

    assert audited(vector, "mu=1", budget=600).tally.what == "output[3]"


@pytest.mark.parametrize("scale", [1e-300, 1e300, 1e-12])
def test_extreme_numbers_do_not_break_it(scale):
    @tollens.batched
    def huge(rows, n, rng):
        return 1.0 + scale * rng.normal(size=n) if scale < 1 else scale * rng.normal(size=n)

    assert audited(huge, budget=300).tally.x.total == 300


def test_the_first_outputs_are_counted_once_there_are_many():
    @tollens.batched
    def count(rows, n, rng):
        return len(rows) + rng.laplace(size=n)

    tally = audited(count, budget=160_000).tally
    assert tally.x.total == tally.x_prime.total == 16_384


@pytest.mark.parametrize(
    "change",
    [
        {"edges": [1.0]},
        {"edges": [2.0, 1.0, 3.0]},
        {"edges": [0.0, "NaN", 2.0]},
        {"labels": ["a"]},
        {"edges": list(range(1003))},
        {"x": {"inside": [1]}},
        {"x": None},
        {
            "x_prime": {
                "inside": [-1, 0],
                "outside": [0, 0],
                "label_inside": [],
                "label_outside": [],
            }
        },
    ],
)
def test_damaged_tallies_are_refused(change):
    side = Side((1, 0), (2, 3), (), ())
    good = Tally("output", (0.0, 1.0, 2.0), (), side, side).to_json()
    with pytest.raises(UsageError, match=r"tally|whole number"):
        Tally.from_json({**good, **change})
