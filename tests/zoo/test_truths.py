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
from tollens.zoo.means_law import two_normals
from tollens.zoo.sampling import sampled_gaussian_delta
from tollens.zoo.sparse_vector_law import THRESHOLD, Rule, outcomes

ENTRIES = [pytest.param(entry, id=entry.name) for entry in entries()]
UNBOUNDED = {"laplace-swapped-for-gaussian", "mean-public-count"}  # no output is impossible
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
    if entry.name in UNBOUNDED:
        assert math.isinf(stated)
        assert 15 < computed < math.inf
    else:
        assert computed == pytest.approx(stated, abs=1e-9)


@pytest.mark.parametrize("entry", ENTRIES)
def test_hockey_stick_crosses_delta_at_the_stated_epsilon(entry):
    stated = entry.true_epsilon
    if math.isinf(stated):
        far = 15.0 if entry.name in UNBOUNDED else 50.0
        least = 0.0 if entry.name in UNBOUNDED else 1e-3
        assert entry.law.hockey_stick(entry.neighbours, far) > entry.delta + least
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


@pytest.mark.parametrize(
    ("name", "laws"),
    [
        ("laplace-swapped-for-gaussian", (stats.norm(0, 2**0.5), stats.norm(1, 2**0.5))),
        ("mean-public-count", (stats.laplace(0, 20), stats.laplace(0.5, 10))),
    ],
)
def test_the_loss_of_unbounded_entries_grows_without_end(name, laws):
    entry = get(name)
    assert math.isinf(entry.true_epsilon)
    p, q = laws
    far = [p.logpdf(y) - q.logpdf(y) for y in (-100.0, -1000.0, -1900.0)]
    assert far[0] > entry.claim.epsilon(0.0)
    assert far[2] - far[1] == pytest.approx(far[1] - far[0])
    edges = np.asarray(entry.law.cells.keywords["edges"])
    for data, law in zip(entry.neighbours, laws, strict=True):
        assert np.allclose(entry.law.probabilities(data)[:-1], np.diff([0, *law.cdf(edges)]))


def test_two_normals_by_the_worst_event_of_a_fine_grid():
    wide, narrow = stats.norm(0.0, 2.0), stats.norm(0.5, 1.0)
    epsilon, edges = two_normals((0.0, 2.0), (0.5, 1.0), 1e-3)
    y = np.linspace(-30, 30, 600_001)
    p, q = wide.pdf(y) * 1e-4, narrow.pdf(y) * 1e-4
    for ratio in (0.999, 1.001):
        bound = math.exp(ratio * epsilon)
        delta = max(np.maximum(p - bound * q, 0).sum(), np.maximum(q - bound * p, 0).sum())
        assert bool(delta > 1e-3) is (ratio < 1)
    assert len(edges) > 80


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.25, 0.3, 1.0, 3.0])
def test_sampled_gaussian_profile_on_a_fine_grid(epsilon):
    y = np.linspace(-12, 14, 520_001)
    plain = stats.norm.pdf(y, 0, 0.7) * 5e-5
    mixture = 0.75 * plain + 0.25 * stats.norm.pdf(y, 1, 0.7) * 5e-5
    bound = math.exp(epsilon)
    expected = max(
        np.maximum(mixture - bound * plain, 0).sum(), np.maximum(plain - bound * mixture, 0).sum()
    )
    assert sampled_gaussian_delta(epsilon, rate=0.25, sigma=0.7) == pytest.approx(
        expected, rel=1e-4, abs=1e-9
    )


def test_the_norm_entry_by_its_likelihood_ratio():
    entry = get("expected-batch-size")
    rng = np.random.default_rng(4)
    sample = rng.normal(0, 3.0, (200_000, 30))
    loss = (stats.norm.logpdf(sample, 0, 3.0) - stats.norm.logpdf(sample, 0, 1.5)).sum(axis=1)
    for epsilon in (0.0, 5.0, 20.0, 40.0):
        expected = np.maximum(0.0, 1 - np.exp(epsilon - loss)).mean()
        exact = entry.law.hockey_stick(entry.neighbours, epsilon)
        assert exact == pytest.approx(expected, abs=0.02)
    end = (entry.true_epsilon + 30 * math.log(2)) * 2 / 3
    spent = stats.chi2.sf(end, 30) - math.exp(entry.true_epsilon) * stats.chi2.sf(4 * end, 30)
    assert spent == pytest.approx(1e-3, rel=1e-9)


@pytest.mark.parametrize("data", [(0,), (0, 1)])
def test_private_mean_by_adaptive_quadrature(data):
    entry = get("mean-private-count-tight")
    edges = np.asarray(entry.law.cells.keywords["edges"])
    total, count = sum(data), len(data)

    def below(t):
        def integrand(n):
            return stats.laplace.pdf(n, count, 2) * stats.laplace.cdf(t * n - total, scale=2)

        ends = [1e-12, *sorted({0.01, 0.1, 1.0, float(count), 10.0, 120.0})]
        inner = [
            integrate.quad(integrand, a, b, limit=400, epsabs=1e-13)[0]
            for a, b in itertools.pairwise(ends)
        ]
        floored = stats.laplace.cdf(1e-12, count, 2) * stats.laplace.cdf(t * 1e-12 - total, scale=2)
        return sum(inner) + floored

    moderate = [i for i, t in enumerate(edges) if abs(t) <= 10]
    masses = entry.law.probabilities(data).cumsum()
    expected = [below(edges[i]) for i in moderate]
    assert masses[moderate] == pytest.approx(expected, abs=1e-9)


def test_values_of_sparse_vectors_by_adaptive_quadrature():
    for name in ("svt3", "numerical-svt"):
        entry = get(name)
        rule = entry.law.masses.keywords["rule"]
        data = entry.neighbours[1]
        law = stats.laplace(scale=rule.query_scale)

        def density(r, rule=rule, data=data, law=law):
            ahead = stats.laplace.pdf(r, scale=rule.threshold_scale)
            ahead *= law.cdf(r - data[0]) * law.cdf(r - data[1])
            if rule.value_scale is not None:
                return ahead * law.sf(r - data[2])
            return ahead * max(0.0, law.cdf(1 - data[2]) - law.cdf(min(max(0.0, r), 1) - data[2]))

        ends = [-60, -10, -1, 0, 1, 10, 60]
        expected = sum(integrate.quad(density, a, b)[0] for a, b in itertools.pairwise(ends))
        if rule.value_scale is not None:
            fresh = stats.laplace(loc=data[2], scale=rule.value_scale)
            expected *= fresh.cdf(1) - fresh.cdf(0)
        assert entry.law.probabilities(data)[2 * 4 + 1] == pytest.approx(expected, rel=1e-7)


def test_permute_and_flip_over_all_orders():
    entry = get("permute-and-flip-tight")
    for scores in (*entry.neighbours, (3, 1, 2)):
        keep = np.exp(0.5 * (np.asarray(scores) - max(scores)))
        masses = np.zeros(len(scores))
        orders = list(itertools.permutations(range(len(scores))))
        for order in orders:
            left = 1 / len(orders)
            for item in order:
                masses[item] += left * keep[item]
                left *= 1 - keep[item]
        assert entry.law.probabilities(scores) == pytest.approx(masses, abs=1e-12)


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
