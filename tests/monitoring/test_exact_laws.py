"""Laws of the exact monitor: its evidence worked out again, its order, fairness and level."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import tollens
from tollens.auditing.experts import SLOTS, pull_of
from tollens.auditing.ville import Factors, worst_approx, worst_pure
from tollens.monitoring.detectors import Runs
from tollens.monitoring.exact import detector as exact_detector
from tollens.monitoring.exact import evidence as exact
from tollens.monitoring.exact import leak
from tollens.monitoring.exact.data import Histograms, StepEvents, StepRuns
from tollens.monitoring.exact.detector import ExactDetector
from tollens.monitoring.exact.leak import grid_promises
from tollens.monitoring.plan import make_plan
from tollens.monitoring.weights import log_weight
from tollens.outputs import Encoder


def laplace(scale=1.0):
    return lambda rng, shift, n: shift + rng.laplace(scale=scale, size=n)


def normal(rng, shift, n):
    return shift + rng.normal(size=n)


def wide_normal(rng, shift, n):
    return shift + rng.normal(scale=math.sqrt(2), size=n)


def response(rng, shift, n):
    return (rng.random(n) < math.e / (1 + math.e)) == bool(shift)


def rare(p):
    """An event of probability e p on x and p on x'."""
    return lambda rng, shift, n: rng.random(n) < (math.e * p if shift else p)


def vectors(rng, shift, n):
    return shift * np.eye(3)[0] + rng.laplace(size=(n, 3))


def new(claim="epsilon=1", *, alpha=0.05, horizon=None, events=None, pairs=100, delta=None):
    plan = make_plan(
        claim, method="exact", alpha=alpha, horizon=horizon, beta=0.25, events=events, pairs=pairs,
        delta=delta,
    )  # fmt: skip
    return ExactDetector(plan, None)


class Life:
    """A detector that is fed, and whose alarms are acknowledged at once if so asked."""

    def __init__(self, detector, seed, *, pairs=100, acknowledging=False):
        self.detector, self.rng = detector, np.random.default_rng(seed)
        self.pairs, self.acknowledging = pairs, acknowledging
        self.alarms, self.bounds, self.readings = [], [], []

    def step(self, draw):
        outputs = draw(self.rng, 1, self.pairs), draw(self.rng, 0, self.pairs)
        reading = self.detector.take(
            Runs(self.pairs, outputs), latched=bool(self.alarms) and not self.acknowledging,
            seed=int(self.rng.integers(2**32)),
        )  # fmt: skip
        self.readings.append(reading)
        self.bounds.append(reading.epsilon_lower)
        if reading.alarm:
            self.alarms.append(len(self.readings))
            if self.acknowledging:
                self.detector.restart()
        return reading


def false_alarms(draw, runs, steps, *, pairs=100, first_seed=0, **settings):
    """In how many of the runs there is any alarm; the first step of each, for those with one."""
    found = []
    for seed in range(first_seed, first_seed + runs):
        life = Life(new(pairs=pairs, **settings), seed, pairs=pairs)
        for _ in range(steps):
            if life.step(draw).alarm:
                found.append(len(life.readings))
                break
    return found


def at_most(alpha, runs):
    """The most false alarms that are within three standard errors of the level."""
    return runs * alpha + 3 * math.sqrt(runs * alpha * (1 - alpha))


class Spied:
    """Data of a step that remember after which sub-batches was learned from them."""

    def __init__(self, data):
        self._data, self.learned = data, []
        self.pairs, self.batches = data.pairs, data.batches

    def histograms(self, experts):
        return self._data.histograms(experts)

    def learn(self, batches, rng):
        self.learned.append(batches)
        return self._data.learn(batches, rng)


@pytest.fixture
def made(monkeypatch):
    """All that `make_bets` returns, call by call."""
    calls = []
    original = exact.make_bets

    def spy(many, promises):
        calls.append(original(many, promises))
        return calls[-1]

    monkeypatch.setattr(exact, "make_bets", spy)
    return calls


class Setting:
    """A claim with its promises, and how outputs of it become data of a step."""

    def __init__(self, claim, events=0):
        self.claim = tollens.parse_claim(claim) if isinstance(claim, str) else claim
        self.promises = self.claim.promises()
        delta = self.claim.leak_delta
        self.grid = grid_promises(1e-5 if delta is None else delta, ordered=self.claim.ordered)
        self.pull, self.events = pull_of(self.claim.support(1, 1)), events
        self.encoder = Encoder()

    def begin(self):
        slots = 2 * self.events if self.events else len(SLOTS)
        return exact.begin(slots, len(self.promises), len(self.grid))

    def data(self, x, y):
        if self.events:
            cuts = np.arange(self.events)
            return StepEvents.of(x[:, None] <= cuts, y[:, None] <= cuts, self.pull)
        return StepRuns(self.encoder.encode(x), self.encoder.encode(y), self.pull)

    def advance(self, state, data, weight=0.0, seed=0):
        rng = np.random.default_rng(seed)
        return exact.advance(state, data, self.promises, self.grid, weight, rng)


# The oracle


class Strategy:
    """The evidence of one strategy as a list: for each start, its weight times the product."""

    def __init__(self, share):
        self.share, self.starts = share, []

    def pay(self, log_gain):
        self.starts = [start * math.exp(log_gain) for start in self.starts]

    @property
    def value(self):
        return self.share * math.fsum(self.starts)


def gain_of_pairs(bets, view, promise, pairs):
    """The log e-value of some pairs, given as the cells of x and of y, one pair after the other."""
    a, b = bets.log_a[view, promise].tolist(), bets.log_b[view, promise].tolist()
    return math.fsum(a[i] + b[j] for i, j in pairs)


def in_cells(setting, view, x, y):
    """The cells of a view that outputs fall into."""
    if setting.events:
        return [[0 if v <= view.cells.main else 1 for v in side] for side in (x, y)]
    return [view.cells.index(setting.encoder.encode(side)).tolist() for side in (x, y)]


def most_promising(bets):
    """The rate, view and promise of the best bet, the first of equals."""
    rates = bets.rates.tolist()
    found = [(r, -i, -j) for i, row in enumerate(rates) for j, r in enumerate(row)]
    rate, i, j = max(found)
    return rate, -i, -j


class Oracle:
    def __init__(self, setting, rows, slots):
        self.setting = setting
        several = rows * slots * len(setting.promises)
        self.slots = {
            (row, slot, promise): Strategy(0.25 / several)
            for row in range(rows)
            for slot in range(slots)
            for promise in range(len(setting.promises))
        }
        self.favourites = [Strategy(0.25 / rows) for _ in range(rows)]
        self.overall = Strategy(0.5)

    @property
    def everyone(self):
        return [*self.slots.values(), *self.favourites, self.overall]

    def step(self, weight, x, y, size, standing, own):
        """Score a step; `standing` are bets by row, `own` (first sub-batch, bets) in order."""
        for strategy in self.everyone:
            strategy.starts.append(weight)
        path, last = [], len(self.favourites) - 1
        for batch, start in enumerate(range(0, len(x), size)):
            end = start + size
            now = dict(standing)
            for first, bets in own:
                if first <= batch:
                    now[last] = bets
            best = max(now, key=lambda row: most_promising(now[row])[0]) if now else None
            for row, bets in now.items():
                views = bets.experts.views
                pairs = [
                    list(
                        zip(*in_cells(self.setting, view, x[start:end], y[start:end]), strict=True)
                    )
                    for view in views
                ]
                for (at, slot, promise), strategy in self.slots.items():
                    if at == row:
                        view = int(bets.experts.slots[slot])
                        strategy.pay(gain_of_pairs(bets, view, promise, pairs[view]))
                rate, view, promise = most_promising(bets)
                if rate > 0:
                    gain = gain_of_pairs(bets, view, promise, pairs[view])
                    self.favourites[row].pay(gain)
                    if row == best:
                        self.overall.pay(gain)
            path.append(math.log(math.fsum(strategy.value for strategy in self.everyone)))
        return path


def whole_numbers(rng, shift, n):
    return np.round(1.5 * shift + rng.laplace(size=n)).astype(np.int64)


@pytest.mark.parametrize("horizon", [None, 10, "arl"])
@pytest.mark.parametrize(
    "claim, draw, events",
    [
        ("epsilon=1", whole_numbers, 0),
        ("epsilon=1", laplace(0.4), 0),
        ("epsilon=0.5, delta=0.05", whole_numbers, 2),
        ("epsilon=0.5, ordered", vectors, 0),
    ],
)
def test_the_evidence_is_a_mixture_over_all_starts(made, claim, draw, events, horizon):
    setting = Setting(claim, events)
    state, rng = setting.begin(), np.random.default_rng(3)
    oracle = Oracle(setting, len(state.favourites), state.slots.shape[1])
    for number in range(1, 9):
        n = (44, 61, 30)[number % 3]
        x, y = draw(rng, 1, n), draw(rng, 0, n)
        data = Spied(setting.data(x, y))
        rows = [row for row, rung in enumerate(state.rungs) if rung.standing is not None]
        made.clear()
        weight = log_weight(number, horizon)
        scored = setting.advance(state, data, weight, seed=number)
        if number == 1:
            assert not made[0]  # nothing was known before the first step
        standing = dict(zip(rows, made[0], strict=True))
        own = [(first, bets[0]) for first, bets in zip(data.learned, made[1:], strict=False)]
        assert own.pop()[0] == data.batches  # what is learned last serves the next step
        expected = oracle.step(math.exp(weight), x, y, n // 4, standing, own)
        assert scored.path == pytest.approx(expected, abs=1e-8)
        assert state.log_value == pytest.approx(expected[-1], abs=1e-8)


# Order


def changed(outputs, at, other):
    return [*outputs[:at], *other[at:]]


@pytest.mark.parametrize("other", ["numbers", "texts", "vectors", "none"])
def test_evidence_does_not_look_ahead(made, other):
    """The path up to a sub-batch is the same whatever comes in it or later, even of other types."""
    setting, rng, n = Setting("epsilon=1"), np.random.default_rng(5), 160
    state = setting.begin()
    for number in range(5):
        x, y = (laplace(0.5)(rng, shift, n).tolist() for shift in (1, 0))
        setting.advance(state, setting.data(x, y), -1.0, seed=number)
    x, y = (laplace(0.5)(rng, shift, n).tolist() for shift in (1, 0))
    strange = {
        "numbers": [7.0] * n,
        "texts": [f"text {i}" for i in range(n)],
        "vectors": [(1.0, float(i), 2.0) for i in range(n)],
        "none": [None] * n,
    }[other]
    made.clear()
    whole = setting.advance(copy.deepcopy(state), setting.data(x, y), -1.0, seed=9)
    first = made[0]
    for batch in range(4):
        late = [changed(side, 40 * batch, strange) for side in (x, y)]
        made.clear()
        found = setting.advance(copy.deepcopy(state), setting.data(*late), -1.0, seed=9)
        assert found.path[:batch] == pytest.approx(whole.path[:batch], abs=1e-10)
        for one, same in zip(made[0], first, strict=True):
            assert np.array_equal(one.log_a, same.log_a)
            assert np.array_equal(one.log_b, same.log_b)
            assert np.array_equal(one.rates, same.rates)
    assert not np.allclose(found.path, whole.path)


def test_a_step_without_past_bets_nothing_on_its_first_sub_batch():
    setting, rng = Setting("epsilon=0.1"), np.random.default_rng(0)
    data = setting.data(rng.normal(size=100), 50 + rng.normal(size=100))
    path = setting.advance(setting.begin(), data, -2.0).path
    assert path[0] == pytest.approx(-2.0)
    assert path[-1] > 5


# Fairness

CLAIMS = {
    "pure": "epsilon=1",
    "perfect": "epsilon=0",
    "large": "epsilon=20",
    "ordered": "epsilon=1, ordered",
    "approx": "epsilon=0.7, delta=0.01",
    "loose": "epsilon=0.1, delta=0.5",
    "mu": "mu=1",
    "rho": "rho=0.5",
    "renyi": "order=8, epsilon=0.3",
}


def worst_of(log_a, log_b, promise):
    a, b = np.exp(log_a), np.exp(log_b)
    if promise.order == 0:
        return worst_pure(Factors(a, b), np.array(promise.epsilon))
    pair = Factors(a, b) if promise.order == 1 else Factors(b, a)
    return worst_approx(pair, np.array(promise.epsilon), np.array(promise.delta))


@pytest.mark.parametrize("name", CLAIMS)
def test_every_bet_is_certified(made, monkeypatch, name):
    grids = []
    original = leak.GridBets.__init__

    def spy(self, view, promises):
        original(self, view, promises)
        one, none = np.eye(view.cells.size)[:, None], np.zeros((1, view.cells.size))
        log_a = [self.score(Histograms(cell, none)) for cell in one]
        log_b = [self.score(Histograms(none, cell)) for cell in one]
        grids.append((np.stack(log_a, axis=1), np.stack(log_b, axis=1)))

    monkeypatch.setattr(leak.GridBets, "__init__", spy)
    setting, rng = Setting(CLAIMS[name]), np.random.default_rng(1)
    state = setting.begin()
    for number, draw in enumerate([laplace(0.3), vectors, laplace(0.3), response]):
        data = setting.data(draw(rng, 1, 80), draw(rng, 0, 80))
        setting.advance(state, data, -1.0, seed=number)
    bets = [one for call in made for one in call]
    assert bets and grids
    for one in bets:
        for number, promise in enumerate(setting.promises):
            assert np.all(worst_of(one.log_a[:, number], one.log_b[:, number], promise) <= 2 + 1e-9)
    for log_a, log_b in grids:
        for number, promise in enumerate(setting.grid):
            assert worst_of(log_a[number], log_b[number], promise) <= 2 + 1e-9


# Level

EXACT_DELTA = tollens.gaussian(1).delta(1)
RUNS, STEPS = 24, 15

LEVELS = {
    "laplace": (laplace(), {"horizon": None}),
    "laplace, horizon": (laplace(), {"horizon": STEPS, "alpha": 0.1}),
    "response": (response, {"horizon": STEPS, "alpha": 0.1}),
    "normal, delta": (normal, {"claim": f"epsilon=1, delta={EXACT_DELTA!r}", "horizon": STEPS}),
    "normal, mu": (normal, {"claim": "mu=1", "horizon": STEPS}),
    "event .2": (rare(0.2), {"events": ["output = true"], "horizon": STEPS}),
    "event .01": (rare(0.01), {"events": ["output = true"], "horizon": STEPS}),
    "event .001": (rare(0.001), {"events": ["output = true"], "horizon": STEPS}),
    "event .0001": (rare(0.0001), {"events": ["output = true"], "horizon": None}),
}


@pytest.mark.parametrize("name", LEVELS)
def test_the_level_at_the_boundary(name):
    draw, settings = LEVELS[name]
    runs = RUNS // 2 if name == "normal, mu" else RUNS
    alarms = false_alarms(draw, runs, STEPS, **settings)
    assert len(alarms) <= at_most(settings.get("alpha", 0.05), runs)


def test_the_mean_time_to_a_false_alarm():
    """Runs are cut off after 24 steps, so the mean is at least that of the cut-off times."""
    alpha, steps, runs = 0.1, 24, 20
    times = false_alarms(response, runs, steps, alpha=alpha, horizon="arl", pairs=60)
    every = np.array([*times, *[steps] * (runs - len(times))], dtype=float)
    assert every.mean() + 3 * every.std() / math.sqrt(runs) >= 1 / alpha


# Sabotage


def test_factors_that_are_a_little_too_large_would_be_caught(monkeypatch):
    original = exact.make_bets

    def unfair(many, promises):
        made = original(many, promises)
        for bets in made:
            bets.log_a[:] += math.log(1.02)
        return made

    monkeypatch.setattr(exact, "make_bets", unfair)
    assert len(false_alarms(response, 6, 8, horizon=8)) > at_most(0.05, 6)


def test_weights_that_sum_to_more_than_one_would_be_caught(monkeypatch):
    monkeypatch.setattr(exact_detector, "log_weight", lambda step, horizon: math.log(2.0))
    assert len(false_alarms(response, 6, 15, horizon=15)) > at_most(0.05, 6)


@pytest.mark.parametrize("claim, draw", [("epsilon=1", laplace), ("mu=1", None)])
def test_too_little_noise_is_found_and_the_right_amount_is_not(claim, draw):
    def noise(scale):
        if draw is not None:
            return draw(scale)
        return lambda rng, shift, n: shift + rng.normal(scale=scale, size=n)

    for scale, broken in ((0.7, True), (1.0, False), (1.3, False)):
        for seed in range(2):
            detector = new(claim, horizon=8, pairs=600, alpha=0.01)
            life = Life(detector, seed, pairs=600)
            while len(life.readings) < 8 and not life.alarms:
                life.step(noise(scale))
            assert bool(life.alarms) == broken


# The leak


@pytest.mark.parametrize("claim", ["epsilon=0.5", "epsilon=1", "epsilon=2"])
def test_the_bound_of_the_leak_keeps_to_the_truth(claim):
    runs, worst = 8, []
    for seed in range(runs):
        life = Life(new(claim, horizon=10, pairs=200), seed, pairs=200)
        for _ in range(10):
            life.step(laplace())
        worst.append(max(life.bounds))
    assert sum(bound > 1 for bound in worst) <= at_most(0.05, runs)
    assert np.mean(worst) > (0.5 if claim == "epsilon=0.5" else 0.2)


def test_the_bound_of_the_leak_falls_after_a_fix():
    life = Life(new("epsilon=1", pairs=400), 0, pairs=400)
    for _ in range(6):
        life.step(laplace(0.4))
    assert life.bounds[-1] > 1.4
    for _ in range(12):
        life.step(laplace())
    assert life.bounds[-1] <= 1.0 + 1e-12


# Acknowledged alarms


def test_acknowledging_never_raises_evidence():
    """The same runs, with and without: at every step the one that forgot has no more."""
    rng = np.random.default_rng(4)
    kept, forgot = new(pairs=80), new(pairs=80)
    for number in range(14):
        scale = 0.5 if number < 5 or number > 10 else 1.0
        outputs = tuple(laplace(scale)(rng, shift, 80) for shift in (1, 0))
        if number in (4, 9):
            forgot.restart()
        one = kept.take(Runs(80, outputs), latched=True, seed=number)
        other = forgot.take(Runs(80, outputs), latched=True, seed=number)
        assert other.evidence <= one.evidence + 1e-9
        assert other.peak <= one.peak + 1e-9
        assert other.epsilon_lower <= one.epsilon_lower
        if number < 4:
            assert other.evidence == one.evidence


def test_the_level_holds_after_acknowledged_alarms():
    """A broken version, an acknowledged alarm, and then versions that are right."""
    runs, again = 8, 0
    for seed in range(runs):
        life = Life(new(horizon=30, pairs=200), seed, pairs=200, acknowledging=True)
        while not life.alarms and len(life.readings) < 15:
            life.step(laplace(0.4))
        assert life.alarms
        first = len(life.alarms)
        for _ in range(10):
            life.step(laplace())
        again += len(life.alarms) > first
    assert again <= at_most(0.05, runs)


# The time of the break


def located(before, after, seed, *, pairs=400, at=8, most=40):
    """Likely, earliest and latest step of the break, counted from it; None where it was missed."""
    life = Life(new(pairs=pairs, horizon=at + most), seed, pairs=pairs)
    for _ in range(at):
        if life.step(before).alarm:
            return None
    for _ in range(most):
        if life.step(after).alarm:
            found = life.detector.locate([reading.trace for reading in life.readings])
            return found.likely - at, found.earliest - at, found.latest - at
    return None


@pytest.mark.parametrize("name, after", [("half", laplace(0.5)), ("normal", wide_normal)])
def test_the_break_is_in_its_set(name, after):
    runs = 6
    found = [place for seed in range(runs) if (place := located(laplace(), after, seed))]
    assert len(found) >= runs - 1
    covered = sum(early <= 0 <= late for _, early, late in found)
    assert covered >= len(found) - 1
    assert np.mean([late - early for _, early, late in found]) <= (2 if name == "half" else 20)
