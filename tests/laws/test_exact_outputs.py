"""Outputs looked at exactly: bits of numbers, values seen before, and what bets on them may do."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tollens
import tollens.auditing.product as product
import tollens.auditing.score as scores
import tollens.auditing.sequential as sequential
from tollens.auditing.cells import Seen
from tollens.auditing.experts import EXACT, EXACT_SHARE, SLOTS, View, bets, padded_laws
from tollens.auditing.lenses import fit_lenses
from tollens.auditing.product import ProductBets
from tollens.auditing.record import Recorder, rescore
from tollens.auditing.score import fit_bits, rows_of
from tollens.auditing.sequential import Gambler
from tollens.auditing.smoothing import Counted
from tollens.bits import LOOKED_AT, NAMES, bits_of, name_of
from tollens.errors import UsageError
from tollens.outputs import Encoder, Outputs
from tollens.verdict import Verdict

TRUE = 1 / (1 + math.exp(-1))
STOP = 1 - math.exp(-1)
WORDS = ("alpha", "beta", "gamma", "delta")


def response(x, n, rng):
    return (rng.random(n) < TRUE) == (x > 0)


def geometric(x, n, rng):
    return x + rng.geometric(STOP, n) - rng.geometric(STOP, n)


def strings(x, n, rng):
    """The right one of four words e times as often as each other one."""
    right = rng.random(n) < math.e / (math.e + 3)
    other = (x + rng.integers(1, 4, n)) % 4
    return [WORDS[i] for i in np.where(right, x, other)]


def naive(x, n, rng):
    """Laplace noise as textbooks draw it, in doubles."""
    u = rng.random(n) - 0.5
    return x - np.sign(u) * np.log(1 - 2 * np.abs(u))


def vectors(x, n, rng):
    return np.column_stack([naive(x, n, rng), rng.normal(size=(n, 2))])


def audited(mechanism, claim="epsilon=1", **chosen):
    settings_ = {"neighbours": (0, 1), "seed": 0, "outputs": "exact", **chosen}
    return tollens.audit(tollens.batched(mechanism), claim, **settings_)


# Bits


def oracle(value):
    """What `bits_of` says of a number, worked out in whole numbers."""
    if not math.isfinite(value):
        return [math.nan] * len(NAMES)
    exact = abs(Fraction(value))
    if not exact:
        return [64.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    top, bottom = exact.numerator, exact.denominator  # the latter is a power of two
    lattice = (top & -top).bit_length() - 1 if bottom == 1 else 1 - bottom.bit_length()
    exponent = top.bit_length() - bottom.bit_length() + 1
    while Fraction(2) ** (exponent - 1) > exact:
        exponent -= 1
    while Fraction(2) ** exponent <= exact:
        exponent += 1
    mantissa = exact / Fraction(2) ** (exponent - 53)
    assert mantissa.denominator == 1
    bits = [float(mantissa.numerator >> k & 1) for k in range(3)]
    fraction = float(Fraction(value) - math.floor(Fraction(value)))
    return [float(lattice), float(exponent), *bits, fraction, float(exact % 2)]


@given(st.floats())
@example(0.0)
@example(-0.0)
@example(5e-324)
@example(-2.2250738585072014e-308)
@example(1.7976931348623157e308)
@example(-1e-300)
@example(math.inf)
@example(math.nan)
@example(2.0**53 + 2)
@settings(max_examples=500)
def test_bits_of_a_number(value):
    found = bits_of(np.array([[value]]))
    assert found.shape == (1, len(NAMES))
    np.testing.assert_array_equal(found[0], oracle(value))


@given(st.lists(st.lists(st.floats(), min_size=6, max_size=6), min_size=1, max_size=4))
@settings(max_examples=50)
def test_bits_of_several_numbers(rows):
    found = bits_of(np.array(rows))
    assert found.shape == (len(rows), LOOKED_AT * len(NAMES))
    for row, line in zip(rows, found.tolist(), strict=True):
        wanted = [bit for value in row[:LOOKED_AT] for bit in oracle(value)]
        np.testing.assert_array_equal(line, wanted)


def test_names_of_columns():
    names = [name_of(i) for i in range(LOOKED_AT * len(NAMES))]
    assert names[0] == "lattice of output[0]"
    assert names[-1] == "modulo 2 of output[3]"
    assert len(set(names)) == len(names)


def test_rows_have_the_bits_of_four_numbers_whatever_their_width():
    encoder = Encoder(exact=True)
    for width in (1, 3, 6):
        outputs = encoder.encode(np.arange(2.0 * width).reshape(2, width))
        rows = rows_of(outputs, exact=True)
        assert rows.shape == (2, LOOKED_AT * len(NAMES) + width)
        np.testing.assert_array_equal(rows[:, -width:], outputs.numbers)
        assert np.isnan(rows[:, len(NAMES) * min(width, LOOKED_AT) : LOOKED_AT * len(NAMES)]).all()
        assert rows_of(outputs, exact=False) is outputs.numbers


def test_bits_tell_apart_what_values_do_not():
    """Numbers of one law on two lattices: even and odd multiples of 2^-40."""
    rng = np.random.default_rng(0)
    steps = np.round(rng.normal(size=(2, 400)) * 2**38)
    x, y = 2 * steps[0] * 2.0**-40, (2 * steps[1] + 1) * 2.0**-40
    encoder = Encoder(exact=True)
    rows = [rows_of(encoder.encode(side), exact=True) for side in (x, y)]
    fitted = fit_bits(*rows, np.random.default_rng(1))
    assert fitted is not None
    assert fitted.score.exact
    assert (fitted.x.mean() > 0) and (fitted.y.mean() < 0)
    assert np.mean(fitted.x > 0) > 0.95
    assert "of output[0]" in fitted.score.describe()


# Values seen before

KEYS = st.lists(st.integers(0, 6), min_size=1, max_size=12).map(
    lambda keys: np.array(keys, dtype=np.uint64)
)


@given(KEYS, KEYS, KEYS)
def test_cells_of_values_seen_before(x, y, new):
    cells = Seen.of(x, y)
    assert cells.size == 4
    assert cells.index(outputs_of(new)).tolist() == [(k in x) + 2 * (k in y) for k in new]


@given(KEYS, KEYS, st.none() | st.integers(0, 12))
def test_a_past_run_is_counted_as_if_it_and_its_twin_had_not_been_seen(x, y, shared):
    """The first `shared` runs of both sides had the same draws; None: draws are not known."""
    draws_x, draws_y = None, None
    if shared is not None:
        draws_x = np.arange(len(x))
        draws_y = np.where(np.arange(len(y)) < shared, np.arange(len(y)), 100 + np.arange(len(y)))
    found = Seen.of(x, y).left_out(outputs_of(x, draws_x), outputs_of(y, draws_y))

    def naive_cells(own, other, one, two):
        """1 where among others of x, 2 more where among others of x'."""
        for i, key in enumerate(own):
            rest = [k for j, k in enumerate(own) if j != i]
            across = [k for j, k in enumerate(other) if shared is None or j != i or j >= shared]
            yield one * (key in rest) + two * (key in across)

    assert found[0].tolist() == list(naive_cells(x.tolist(), y.tolist(), 1, 2))
    assert found[1].tolist() == list(naive_cells(y.tolist(), x.tolist(), 2, 1))


def outputs_of(keys, draws=None):
    n = len(keys)
    return Outputs(np.zeros(n, dtype=np.int64), keys, np.zeros((n, 1)), exact=True, draws=draws)


def test_words_of_values_seen_before():
    cells = Seen.of(np.array([1], dtype=np.uint64), np.array([2], dtype=np.uint64))
    text = cells.describe(np.array([False, True, False, False]), Encoder())
    assert text == "the exact value was seen before on x only"
    assert "on neither or on x' only" in cells.describe(
        np.array([True, False, True, False]), Encoder()
    )


def learned(x, y, *, exact=True):
    """Product bets against epsilon = 1 that have learned from these outputs."""
    encoder = Encoder(exact=exact)
    sides = encoder.encode(x), encoder.encode(y)
    made = ProductBets(tollens.pure(1).promises(), pull=1.0, exact=exact)
    made.learn(*sides, fit_lenses(*sides, np.random.default_rng(0)))
    made.bet()
    return made


def test_counting_a_run_as_seen_before_by_itself_would_flatter(monkeypatch):
    """Under one law for both sides nothing is to be gained, and nothing seems to be."""
    rng = np.random.default_rng(0)
    x, y = rng.laplace(size=(2, 60))
    fair = learned(x, y)
    assert fair.growth <= 0
    monkeypatch.setattr(Seen, "left_out", lambda self, a, b: (self.index(a), self.index(b)))
    flattered = learned(x, y)
    assert flattered.growth > 0.2


@pytest.mark.parametrize("mechanism", [response, geometric, strings, naive])
def test_nothing_seems_to_be_gained_at_the_edge_of_the_claim(mechanism):
    rng = np.random.default_rng(3)
    growth = [learned(mechanism(1, 40, rng), mechanism(0, 40, rng)).growth for _ in range(12)]
    assert np.mean(np.array(growth) > 0) <= 0.5
    assert np.mean(growth) < 0.02


# Fairness, and false alarms


@given(
    st.tuples(*[st.integers(0, 300)] * 8), st.sampled_from(["epsilon=1", "epsilon=0.3, delta=0.1"])
)
@settings(max_examples=60)
def test_no_bet_on_values_seen_before_gains_where_the_claim_holds(counts, claim):
    """At the corners of what the claim allows on four cells, for whatever was counted."""
    made = tollens.parse_claim(claim)
    n = np.array(counts, dtype=np.float64) + 0.5
    none = np.zeros(0, dtype=np.uint64)
    view = View(Seen.of(none, none), Counted(0.5), 0.0, n[:4], n[4:])
    factors = bets(*padded_laws([view]), made.promises())
    rng = np.random.default_rng(sum(counts))
    for k, promise in enumerate(made.promises()):
        a, b = factors.a[0, k], factors.b[0, k]
        for q in rng.dirichlet(np.ones(4), size=20):
            p = _edge(q, promise.epsilon, promise.delta, rng)
            first, second = (p, q) if promise.order >= 0 else (q, p)
            assert (first @ a) * (second @ b) <= 1 + 1e-9


def _edge(q, epsilon, delta, rng):
    """A law p with P(S) <= e^epsilon q(S) + delta and, for delta = 0, the other order too."""
    low, high = q * math.exp(-epsilon), q * math.exp(epsilon)
    p, order = low.copy(), rng.permutation(len(q))
    for i in order:
        p[i] += min(high[i] - low[i], 1 - p.sum())
    moved = min(delta, p[order[-1]])
    p[order[0]], p[order[-1]] = p[order[0]] + moved, p[order[-1]] - moved
    return p


ALPHA, AUDITS = 0.2, 100


@pytest.fixture
def _exact_bets_only(monkeypatch):
    """Nearly the whole stake on bits and values seen before; fewer and smaller fits are quick."""
    monkeypatch.setattr(product, "EXACT_SHARE", 0.9)
    monkeypatch.setattr(sequential, "REBET", 1.2)
    monkeypatch.setattr(sequential, "REFIT", 2.0)
    monkeypatch.setattr(scores, "TREES", 4)
    monkeypatch.setattr(scores, "_FOLDS", 2)


@pytest.mark.usefixtures("_exact_bets_only")
@pytest.mark.parametrize("mechanism", [response, geometric, strings])
def test_a_claim_at_its_edge_is_seldom_refuted(mechanism):
    refuted = 0
    for seed in range(AUDITS):
        rng = np.random.default_rng(seed)
        gambler = Gambler(tollens.pure(1), alpha=ALPHA, delta=None, seed=seed, exact=True)
        gambler.update(*(gambler.encoder.encode(mechanism(x, 80, rng)) for x in (1, 0)))
        refuted += gambler.refuted
    assert refuted <= AUDITS * ALPHA + 3 * math.sqrt(AUDITS * ALPHA * (1 - ALPHA))


@pytest.mark.usefixtures("_exact_bets_only")
@pytest.mark.parametrize("mechanism", [response, geometric, strings])
def test_a_third_of_it_is_refuted(mechanism):
    verdict = audited(mechanism, "epsilon=0.3", alpha=1e-3, budget=3000, seed=1)
    assert verdict.refuted


# What is found, and what is not


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("coupling", ["auto", "independent"])
def test_the_bits_of_naive_noise_are_found(seed, coupling):
    verdict = audited(naive, budget=50_000, seed=seed, coupling=coupling)
    assert verdict.refuted
    assert verdict.epsilon_lower >= 1
    assert sum(verdict.evidence.shares[name] for name in EXACT) > 0.5


def test_its_values_alone_keep_the_claim():
    verdict = audited(naive, budget=50_000, outputs="numeric", coupling="independent")
    assert verdict.outcome is tollens.Outcome.UNREFUTED
    assert verdict.pairs == 50_000


def test_they_are_found_in_a_vector_too():
    assert audited(vectors, budget=20_000).refuted
    assert not audited(vectors, budget=2000, outputs="numeric", coupling="independent").refuted


def test_noise_that_is_rounded_to_one_lattice_is_not_refuted():
    """The naive sampler, snapped to multiples of 1/1024 that both inputs lie on."""

    def snapped(x, n, rng):
        return np.round(naive(x, n, rng) * 1024) / 1024

    assert not audited(snapped, "epsilon=1.001", budget=4000).refuted


@pytest.mark.libraries
def test_the_noise_of_opendp_is_not_refuted():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.atom_domain(T=float, nan=False)
    laplace = dp.m.make_laplace(domain, dp.absolute_distance(T=float), scale=1.0)
    verdict = tollens.audit(laplace, neighbours=(0.0, 1.0), budget=4000, outputs="exact")
    assert verdict.outcome is tollens.Outcome.UNREFUTED


# Shares, words, files


def test_shares_of_the_stake():
    for given_ in (None, "it"):
        for several in (False, True):
            made = ProductBets(tollens.pure(1).promises(), pull=1.0, exact=True, given=given_)
            made._several = several
            shares = np.exp(made.log_weights)
            assert shares.sum() == pytest.approx(1)
            assert np.all(shares[:-1] > 0)
            assert (shares[-1] > 0) == several
            exact = shares[len(SLOTS) : len(SLOTS) + len(EXACT)]
            assert exact.sum() == pytest.approx(EXACT_SHARE)
            learned_ = shares[: len(SLOTS)].sum() + shares[-1]
            assert learned_ == pytest.approx(made.learned_share)


def test_it_goes_with_an_event_given_beforehand():
    def above(output):
        return bool(output[0] > 0.5)

    verdict = audited(vectors, "epsilon=0.5", budget=3000, witness=above)
    assert verdict.refuted
    assert math.isfinite(verdict.log_e_value)


def test_the_verdict_says_what_was_looked_at():
    exact = audited(naive, budget=100, alpha=0.05)
    assert "and the bits of numbers" in str(exact)
    assert exact.evidence.outputs == "exact"
    assert "not the bits of floats" in str(audited(naive, budget=100, outputs="numeric"))
    again = Verdict.from_json(exact.to_json())
    assert again == exact
    assert again.evidence.outputs == "exact"


def mixed(x, n, rng):
    drawn = rng.random(n)
    numbers = naive(x, n, rng)
    return [
        None if d < 0.1 else math.nan if d < 0.2 else "a" if d < 0.3 else (number, -0.0)
        for d, number in zip(drawn.tolist(), numbers.tolist(), strict=True)
    ]


FILES = {
    "refuted": (naive, {"budget": 2000}),
    "unrefuted": (geometric, {"budget": 300, "alpha": 0.01}),
    "mixed": (mixed, {"budget": 400, "alpha": 0.01}),
    "vectors": (vectors, {"budget": 300, "alpha": 0.01, "coupling": "independent"}),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_evidence(name, same):
    mechanism, chosen = FILES[name]
    recorder = Recorder()
    verdict = audited(mechanism, recorder=recorder, **chosen)
    again = rescore(recorder.document)
    assert same(again, verdict)
    assert again.evidence.outputs == "exact"
    data = json.loads(recorder.document)
    data["verdict"]["evidence"]["outputs"] = "numeric"
    with pytest.raises(UsageError, match="does not follow"):
        rescore(json.dumps(data))


def test_a_seed_gives_the_same_verdict():
    one, two = (audited(mixed, budget=300, alpha=0.01, seed=4) for _ in range(2))
    assert one.log_e_value == two.log_e_value
    assert one.evidence.digest == two.evidence.digest


@pytest.mark.parametrize(
    "chosen, problem",
    [
        ({"coupling": "common"}, "outputs='exact' bets on independent runs: it does not go with"),
        ({"method": "mmd"}, "it does not go with method='mmd'"),
        ({"outputs": "bits"}, "outputs is 'bits'; it must be one of numeric, exact"),
        ({"budget": 10}, "can never refute"),
    ],
)
def test_what_is_refused(chosen, problem):
    with pytest.raises(UsageError) as caught:
        audited(naive, **chosen)
    assert problem in str(caught.value)
