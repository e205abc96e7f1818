"""The stated truths: against the exact laws, against other formulas, and against samples."""

from __future__ import annotations

import itertools
import math
import zlib

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from tollens.claim import gaussian
from tollens.zoo import Entry, Law, entries, get
from tollens.zoo.gaussian import analytic_scale
from tollens.zoo.laplace import laplace_count
from tollens.zoo.law import noise_masses
from tollens.zoo.sparse_vector_law import THRESHOLD, Rule, outcomes

ENTRIES = [pytest.param(entry, id=entry.name) for entry in entries()]
BROKEN = [pytest.param(entry, id=entry.name) for entry in entries() if not entry.holds]
CORRECT = [pytest.param(entry, id=entry.name) for entry in entries() if entry.holds]

SAMPLES = 100_000
LEVEL = 1e-8
ROUNDING = 1e-12


def p_value(outputs, law: Law, data) -> float:
    """Chi-square of outputs against the exact masses; cells that expect few are pooled."""
    masses = law.probabilities(data)
    observed = np.bincount(law.cells(outputs), minlength=len(masses))
    expected = masses * len(outputs)
    if observed[masses == 0].any():
        return 0.0
    large = expected >= 20
    if not large.all():
        observed = np.append(observed[large], observed[~large].sum())
        expected = np.append(expected[large], expected[~large].sum())
        if expected[-1] < 1e-9:
            observed, expected = observed[:-1], expected[:-1]
    if len(expected) == 1:
        return 1.0
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


def draw(entry: Entry, side: int, n: int = SAMPLES):
    rng = np.random.default_rng([zlib.crc32(entry.name.encode()), side])
    return entry.mechanism(entry.neighbours[side], n, rng)


# the laws


@pytest.mark.parametrize("entry", ENTRIES)
def test_masses_are_a_law(entry):
    for data in entry.neighbours:
        masses = entry.law.probabilities(data)
        assert masses.ndim == 1
        assert np.all(masses >= 0)
        assert abs(masses.sum() - 1) < 1e-10


@pytest.mark.parametrize("entry", ENTRIES)
def test_stated_epsilon_is_that_of_the_law_in_both_orders(entry):
    stated = entry.true_epsilon
    computed = entry.law.least_epsilon(entry.neighbours, entry.delta)
    swapped = entry.law.least_epsilon(entry.neighbours[::-1], entry.delta)
    assert computed == swapped
    assert computed == pytest.approx(stated, abs=1e-9)


@pytest.mark.parametrize("entry", ENTRIES)
def test_hockey_stick_crosses_delta_at_the_stated_epsilon(entry):
    stated = entry.true_epsilon
    if math.isinf(stated):
        assert entry.law.hockey_stick(entry.neighbours, 50.0) > entry.delta + 1e-3
        return
    assert entry.law.hockey_stick(entry.neighbours, stated) <= entry.delta + ROUNDING
    assert stated > 0
    assert entry.law.hockey_stick(entry.neighbours, stated * 0.999) > entry.delta


@pytest.mark.parametrize("entry", CORRECT)
def test_correct_entries_keep_their_whole_claim(entry):
    for epsilon in [0.0, *np.linspace(0.01, 8, 200), *(p.epsilon for p in entry.claim.promises())]:
        allowed = entry.claim.delta(float(epsilon))
        assert entry.law.hockey_stick(entry.neighbours, float(epsilon)) <= allowed + ROUNDING


@pytest.mark.parametrize("entry", BROKEN)
def test_broken_entries_break_a_promise_of_their_claim(entry):
    excess = [
        entry.law.hockey_stick(entry.neighbours, promise.epsilon) - promise.delta
        for promise in entry.claim.promises()
    ]
    assert max(excess) > 1e-3
    if entry.claim.leak_delta is not None:
        assert entry.true_epsilon > entry.claim.promises()[0].epsilon + 0.1


def test_tight_entries_are_exactly_at_their_claim():
    tight = [entry for entry in entries() if entry.name.endswith("-tight")]
    assert len(tight) >= 8
    for entry in tight:
        claimed = entry.claim.epsilon(entry.delta)
        assert entry.holds
        assert entry.true_epsilon == pytest.approx(claimed, abs=1e-9), entry.name


def test_least_epsilon_is_the_maximum_over_all_events():
    rng = np.random.default_rng(5)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(6), 2)
        law = Law(lambda data, both=(p, q): both[data], lambda outputs: outputs)
        for delta in (0.0, 0.01, 0.2):
            worst = 0.0
            for event in itertools.product((False, True), repeat=6):
                chosen = np.array(event)
                for a, b in ((p, q), (q, p)):
                    if a[chosen].sum() > delta:
                        worst = max(worst, math.log((a[chosen].sum() - delta) / b[chosen].sum()))
            assert law.least_epsilon((0, 1), delta) == pytest.approx(worst, abs=1e-12)


# the same truths from other formulas


def test_analytic_scale_is_the_root_of_the_profile():
    def excess(sigma):
        first = stats.norm.cdf(0.5 / sigma - 0.5 * sigma)
        return first - math.exp(0.5) * stats.norm.cdf(-0.5 / sigma - 0.5 * sigma) - 0.01

    assert analytic_scale(0.5, 0.01) == pytest.approx(optimize.brentq(excess, 0.1, 100), rel=1e-10)


def test_gaussian_cells_have_the_masses_of_scipy():
    entry = get("gaussian-mu-small-noise")
    edges = np.asarray(entry.law.cells.keywords["edges"])
    expected = np.diff(np.r_[0, stats.norm.cdf(edges, 1, 0.8), 1])
    assert np.allclose(entry.law.probabilities((1, 0)), expected, atol=1e-14)
    assert entry.true_epsilon == pytest.approx(gaussian(1.25).epsilon(1e-5))


def test_noise_masses_keep_their_digits_in_both_tails():
    edges = tuple(np.linspace(-30, 30, 61).tolist())
    masses = noise_masses(stats.laplace.cdf, 0.0, edges)
    assert np.allclose(masses, masses[::-1], rtol=1e-12, atol=0)


def quad_probability(answers, data, rule: Rule, threshold_scale: float) -> float:
    def integrand(r):
        value = math.exp(-abs(r) / threshold_scale) / (2 * threshold_scale)
        for answer, query in zip(answers, data, strict=True):
            below = stats.laplace.cdf(THRESHOLD + r - query, scale=rule.query_scale)
            value *= below if answer == 0 else 1 - below
        return value

    ends = [-80, -10, -1.5, -0.5, 0, 0.5, 1.5, 10, 80]
    return sum(integrate.quad(integrand, a, b, limit=200)[0] for a, b in itertools.pairwise(ends))


@pytest.mark.parametrize("name", ["svt4", "svt6"])
def test_sparse_vector_loss_by_adaptive_quadrature(name):
    entry = get(name)
    rule = entry.law.masses.keywords["rule"]
    event = (0,) * 5 + (1,) * 5
    place = outcomes(10, rule.cutoff).index(event)
    masses = [entry.law.probabilities(data)[place] for data in entry.neighbours]
    other = [quad_probability(event, data, rule, rule.threshold_scale) for data in entry.neighbours]
    assert masses == pytest.approx(other, rel=1e-7)
    assert entry.true_epsilon == pytest.approx(math.log(other[0] / other[1]), abs=1e-6)
    assert round(entry.true_epsilon, 3) == {"svt4": 5.872, "svt6": 4.061}[name]


def test_fresh_thresholds_multiply():
    entry = get("svt2")
    rule = entry.law.masses.keywords["rule"]
    place = outcomes(10, 2).index((0, 0, 0, 0, 1) * 2)
    for data in entry.neighbours:
        half = quad_probability((0, 0, 0, 0, 1), data[:5], rule, rule.threshold_scale)
        assert entry.law.probabilities(data)[place] == pytest.approx(half**2, rel=1e-7)


def test_sparse_vector_without_query_noise_has_an_impossible_answer():
    entry = get("svt5")
    place = outcomes(10, None).index((0,) * 5 + (1,) * 5)
    first, second = (entry.law.probabilities(data)[place] for data in entry.neighbours)
    assert first == pytest.approx(1 - math.exp(-1 / 4), rel=1e-12)
    assert second == 0


def test_noisy_max_index_by_adaptive_quadrature():
    entry = get("noisy-max-exponential-tight")
    counts = (2, 2, 2, 2, 0)
    for i in (0, 4):

        def density(v, i=i):
            value = stats.expon.pdf(v - counts[i], scale=2)
            for j, count in enumerate(counts):
                value *= 1 if j == i else stats.expon.cdf(v - count, scale=2)
            return value

        expected = integrate.quad(density, 2, 100, limit=200)[0]
        assert entry.law.probabilities(counts)[i] == pytest.approx(expected, rel=1e-8)


# the samplers


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("side", [0, 1])
def test_sampler_follows_its_law(entry, side):
    assert p_value(draw(entry, side), entry.law, entry.neighbours[side]) > LEVEL


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_test_of_samplers_tells_the_neighbours_apart(entry):
    assert p_value(draw(entry, 0), entry.law, entry.neighbours[1]) < LEVEL


@pytest.mark.parametrize("scale", [0.95, 1.05])
def test_the_test_of_samplers_sees_a_wrong_scale(scale):
    law, data = get("laplace-tight").law, (1, 0)
    outputs = laplace_count(data, SAMPLES, np.random.default_rng(3), scale=scale)
    assert p_value(outputs, law, data) < LEVEL


@pytest.mark.parametrize("entry", ENTRIES)
def test_one_seed_uses_the_same_draws_on_both_inputs(entry):
    states = []
    for data in entry.neighbours:
        rng = np.random.default_rng(8)
        entry.mechanism(data, 50, rng)
        states.append(rng.bit_generator.state)
    assert states[0] == states[1]
