"""Lower bounds under the assertion of normal scores: fair at the boundary, near to the truth."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize

import tollens
from tollens.errors import UsageError
from tollens.training.parts.noise_scale import ALTERNATIVES, LOG_SHARES
from tollens.training.scores.normal import (
    SCALES,
    CommonNumbers,
    GaussianScores,
    KnownSpread,
    Sums,
    UniversalInference,
    UnknownSpread,
    log_largest_likelihood,
)

KINDS = {
    "known": {"sd": 2.0},
    "unknown": {},
    "universal": {"universal": True},
    "common": {"coupling": "common"},
}


def chance(runs, alpha):
    """The largest number of runs in which an event of probability alpha may happen here."""
    return runs * alpha + 3 * math.sqrt(runs * alpha * (1 - alpha))


def scores(rng, n, mu, *, common=False, sd=2.0, origin=5.0):
    y = origin + sd * rng.normal(size=n)
    return (y if common else origin + sd * rng.normal(size=n)) + mu * sd, y


def pairs(n=12, mu=1.0, seed=0):
    return scores(np.random.default_rng(seed), n, mu)


def sums_of(x, y):
    sums = Sums()
    sums.add(x, y)
    return sums


def averaged(log_ratio):
    """The log of the average of a likelihood ratio over the half-normal shifts, by quadrature."""

    def log_integrand(h, s):
        return math.log(2) + stats.norm(0, s).logpdf(h) + log_ratio(h)

    top = max(log_integrand(h, s) for s in SCALES for h in np.linspace(0, 9 * s, 200))
    parts = [
        quad(lambda h, s=s: math.exp(log_integrand(h, s) - top), 0, 9 * s, limit=200)[0]
        for s in SCALES
    ]
    return top + math.log(np.mean(parts))


@pytest.mark.parametrize("mu0", [0.0, 0.5, 2.0])
def test_the_evidence_for_a_known_spread_is_an_average_of_likelihood_ratios(mu0):
    x, y = pairs()
    evidence = KnownSpread(2.0)
    evidence.update(x, y)
    gaps = (x - y) / 2.0

    def log_ratio(h):
        law = stats.norm(0, math.sqrt(2))
        return (law.logpdf(gaps - mu0 - h) - law.logpdf(gaps - mu0)).sum()

    assert evidence.log_e_value(mu0) == pytest.approx(averaged(log_ratio), abs=1e-7)


@pytest.mark.parametrize("n", [2, 3, 10, 200])
@pytest.mark.parametrize(
    ("mu", "mu0"), [(1.0, 0.0), (1.0, 0.5), (-1.0, 1.0), (3.0, 3.0), (9.0, 2.0)]
)
def test_the_evidence_for_an_unknown_spread_is_a_ratio_of_laws_of_t(n, mu, mu0):
    """By another road: the noncentral t density as an integral over the chi-square law."""
    sums = sums_of(*pairs(n, mu, seed=n))
    evidence = UnknownSpread()
    evidence.update(*pairs(n, mu, seed=n))
    t = sums.gap * math.sqrt(n / 2) / math.sqrt(sums.within / (2 * n - 2))
    nodes, weights = np.polynomial.legendre.leggauss(400)
    chi = stats.chi(2 * n - 2)
    high = chi.isf(1e-300)
    r = high * (nodes + 1) / 2
    base = np.log(weights * r) + chi.logpdf(r)

    def log_density(m):
        z = t * r / math.sqrt(2 * n - 2) - m * math.sqrt(n / 2)
        return np.logaddexp.reduce(base - z * z / 2)

    at = log_density(mu0)
    expected = averaged(lambda h: log_density(mu0 + h) - at)
    assert evidence.log_e_value(mu0) == pytest.approx(expected, abs=1e-4)


def test_the_law_of_t_is_that_of_scipy():
    n, mu0 = 6, 0.4
    sums = sums_of(*pairs(n))
    t = sums.gap * math.sqrt(n / 2) / math.sqrt(sums.within / (2 * n - 2))
    evidence = UnknownSpread()
    evidence.update(*pairs(n))

    def log_density(m):
        return stats.nct(2 * n - 2, m * math.sqrt(n / 2)).logpdf(t)

    at = log_density(mu0)
    expected = averaged(lambda h: log_density(mu0 + h) - at)
    assert evidence.log_e_value(mu0) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("n", [2, 3, 20])
def test_the_evidence_for_an_unknown_spread_has_expectation_one(n):
    """Over the exact law of t at the boundary, from samples with that t."""
    mu0 = 0.7
    law = stats.nct(2 * n - 2, mu0 * math.sqrt(n / 2))

    def integrand(t):
        x = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
        x -= x.mean()
        pooled = math.sqrt(2 * np.sum(x**2) / (2 * n - 2))
        evidence = UnknownSpread()
        evidence.update(x + t * pooled * math.sqrt(2 / n), x)
        return math.exp(evidence.log_e_value(mu0)) * law.pdf(t)

    cuts = [-60.0, -5.0, 0.0, 2.0, 5.0, 10.0, 60.0, 1000.0]
    found = sum(quad(integrand, a, b, limit=100, epsabs=1e-6)[0] for a, b in pairwise(cuts))
    assert found == pytest.approx(1.0, abs=0.01 if n == 2 else 1e-3)


def test_universal_inference_predicts_by_student_and_divides_by_the_largest_likelihood():
    x, y = pairs(9)
    evidence, mu0 = UniversalInference(), 0.3
    evidence.update(x[:1], y[:1])
    evidence.update(x[1:6], y[1:6])
    evidence.update(x[6:], y[6:])
    predicted = 0.0
    for n in range(2, 9):
        past = sums_of(x[:n], y[:n])
        degrees, width = 2 * n - 2, math.sqrt(past.within / (2 * n - 2) * (1 + 1 / n))
        shape = np.eye(2) * width**2
        law = stats.multivariate_t([x[:n].mean(), y[:n].mean()], shape, degrees)
        predicted += law.logpdf([x[n], y[n]])

    def loss(p):
        """X has a mean that is mu0 sd - b^2 larger, for any b."""
        mean, b, sd = p[0], p[1], math.exp(p[2])
        logs = stats.norm(mean + mu0 * sd - b * b, sd).logpdf(x[2:])
        return -(logs + stats.norm(mean, sd).logpdf(y[2:])).sum()

    best = minimize(loss, [5.0, 0.1, 0.5], method="Nelder-Mead", options={"xatol": 1e-9}).fun
    assert evidence.log_e_value(mu0) == pytest.approx(predicted + best, abs=1e-5)


@pytest.mark.parametrize("mu0", [0.0, 0.4, 5.0])
def test_the_largest_likelihood(mu0):
    sums = sums_of(*pairs(8))
    sds = np.geomspace(0.1, 50, 20_001)
    excess = np.maximum(sums.gap - mu0 * sds, 0.0)
    squares = (sums.within + 8 * excess**2 / 2) / sds**2
    logs = -8 * math.log(2 * math.pi) - 16 * np.log(sds) - squares / 2
    assert log_largest_likelihood(sums, mu0) == pytest.approx(logs.max(), abs=1e-5)


def test_common_numbers_bet_on_the_distances_from_earlier_means():
    x, y = scores(np.random.default_rng(0), 7, 0.5, common=True)
    evidence = CommonNumbers()
    for part in (slice(0, 1), slice(1, 4), slice(4, 7)):
        evidence.update(x[part], y[part])
    distances = np.array([y[i] - y[:i].mean() for i in range(1, 7)]) / 1.0
    logs = [
        w
        + (
            stats.norm(0, k / 0.8).logpdf(distances) - stats.norm(0, 1 / 0.8).logpdf(distances)
        ).sum()
        for k, w in zip(ALTERNATIVES, LOG_SHARES, strict=True)
    ]
    assert evidence.log_e_value(0.8) == pytest.approx(np.logaddexp.reduce(logs), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("mu", "mu0"), [(1.0, 1.0), (0.0, 0.0), (4.0, 4.0), (0.3, 0.6)])
def test_claims_that_hold_are_rarely_refuted(kind, mu, mu0):
    if kind == "common" and mu == 0.0:
        mu, mu0 = 0.1, 0.1
    rng, runs = np.random.default_rng(7), 250
    highest = np.zeros(runs)
    for i in range(runs):
        x, y = scores(rng, 60, mu, common=kind == "common")
        audit = GaussianScores(**KINDS[kind])
        for start, end in [
            (0, 1),
            *((k, k + 1) for k in range(1, 12)),
            (12, 16),
            (16, 25),
            (25, 60),
        ]:
            audit.update(x[start:end], y[start:end])
            highest[i] = max(highest[i], audit.log_e_value(mu0))
    for alpha in (0.05, 0.2):
        assert np.sum(highest >= -math.log(alpha)) <= chance(runs, alpha)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_covers_mu_and_is_where_the_evidence_reaches_the_threshold(kind):
    rng, runs, alpha = np.random.default_rng(8), 60, 0.2
    missed = 0
    for _ in range(runs):
        x, y = scores(rng, 40, 1.0, common=kind == "common")
        audit, miss = GaussianScores(**KINDS[kind]), False
        for start in range(0, 40, 8):
            audit.update(x[start : start + 8], y[start : start + 8])
            lower = audit.mu_lower(alpha)
            miss |= lower > 1.0
            if lower > 0.0:
                assert audit.log_e_value(lower) == pytest.approx(math.log(5), abs=1e-5)
        missed += miss
    assert missed <= chance(runs, alpha)


@pytest.mark.parametrize("kind", KINDS)
def test_the_evidence_decreases_in_the_claim(kind):
    for seed, mu in enumerate((-1.0, 0.0, 0.5, 1.0, 6.0)):
        for n in (2, 3, 50):
            x, y = scores(np.random.default_rng(seed), n, mu, common=kind == "common")
            audit = GaussianScores(**KINDS[kind])
            audit.update(x, y)
            values = [audit.log_e_value(mu0) for mu0 in np.linspace(0, 12, 60)]
            assert all(later <= earlier + 1e-9 for earlier, later in pairwise(values))


@pytest.mark.parametrize(
    ("kind", "least"), [("known", 2.85), ("unknown", 2.8), ("universal", 1.9), ("common", 3.5)]
)
def test_what_250_pairs_show(kind, least):
    """A Gaussian mechanism of mu = 1, which is (4.38, 1e-5)-DP."""
    rng, bounds = np.random.default_rng(0), []
    for _ in range(21):
        audit = GaussianScores(**KINDS[kind])
        audit.update(*scores(rng, 250, 1.0, common=kind == "common"))
        bounds.append(audit.mu_lower(0.05))
    assert least < tollens.gaussian(float(np.median(bounds))).epsilon(1e-5) < 4.38


@pytest.mark.parametrize("kind", KINDS)
def test_how_the_pairs_are_cut_does_not_matter(kind):
    x, y = scores(np.random.default_rng(3), 30, 1.0, common=kind == "common")
    whole, single = GaussianScores(**KINDS[kind]), GaussianScores(**KINDS[kind])
    whole.update(x, y)
    for i in range(30):
        single.update(x[i : i + 1], y[i])
    assert single.log_e_value(0.5) == pytest.approx(whole.log_e_value(0.5), abs=1e-8)
    assert single.pairs == whole.pairs == 30


@pytest.mark.parametrize("kind", ["unknown", "universal", "common"])
def test_origin_and_unit_do_not_matter(kind):
    x, y = scores(np.random.default_rng(3), 30, 1.0, common=kind == "common")
    plain, moved = GaussianScores(**KINDS[kind]), GaussianScores(**KINDS[kind])
    plain.update(x, y)
    moved.update(1e-6 * (x + 1e3), 1e-6 * (y + 1e3))
    assert moved.mu_lower(0.05) == pytest.approx(plain.mu_lower(0.05), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_few_and_hostile_scores(kind):
    audit = GaussianScores(**KINDS[kind])
    assert audit.log_e_value(1.0) == 0.0
    audit.update([], [])
    audit.update([math.nan, 1.0, math.inf], [0.0, math.nan, 0.0])
    assert audit.pairs == 0
    assert audit.mu_lower(0.05) == 0.0
    audit.update([2.0], [1.0])
    audit.update([3.5], [2.5])
    audit.update([5.0], [4.0])
    assert not math.isnan(audit.log_e_value(0.0))
    assert math.isfinite(audit.log_e_value(100.0))
    with pytest.raises(UsageError, match="give pairs"):
        audit.update([1.0, 2.0], [1.0])


@pytest.mark.parametrize("kind", ["unknown", "universal", "common"])
def test_scores_without_noise(kind):
    audit = GaussianScores(**KINDS[kind])
    audit.update([1.0] * 5, [0.0] * 5)
    assert audit.log_e_value(3.0) == math.inf
    assert audit.mu_lower(0.05) == math.inf
    equal = GaussianScores(**KINDS[kind])
    equal.update([1.0] * 5, [1.0] * 5)
    assert equal.log_e_value(0.0) == 0.0


def test_a_canary_that_lowers_the_scores_says_nothing():
    for kind, settings in KINDS.items():
        audit = GaussianScores(**settings)
        audit.update(*scores(np.random.default_rng(1), 100, -2.0, common=kind == "common"))
        assert audit.mu_lower(0.05) == 0.0


def test_numbers_that_are_not_common_are_noticed():
    with pytest.raises(UsageError, match="use 'independent'"):
        GaussianScores(coupling="common").update(*pairs())
    y = np.random.default_rng(0).normal(size=20).astype(np.float32)
    GaussianScores(coupling="common").update(y + np.float32(1e-3), y)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"sd": 0.0}, "sd is 0.0"),
        ({"sd": math.nan}, "sd is nan"),
        ({"sd": "1"}, "sd is '1'"),
        ({"coupling": "none"}, "coupling is 'none'"),
        ({"sd": 1.0, "coupling": "common"}, "sd is known"),
        ({"sd": 1.0, "universal": True}, "sd is known"),
        ({"coupling": "common", "universal": True}, "leave out one"),
    ],
)
def test_impossible_settings_are_refused(settings, match):
    with pytest.raises(UsageError, match=match):
        GaussianScores(**settings)
