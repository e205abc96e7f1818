"""Claims of dp_accounting: events, loss distributions, accountants, always on the safe side."""

import math

import numpy as np
import pytest

import tollens
from tollens.accounting import NEIGHBOURS
from tollens.errors import ClaimError

pytestmark = pytest.mark.libraries
dpa = pytest.importorskip("dp_accounting")
pld = pytest.importorskip("dp_accounting.pld")
rdp = pytest.importorskip("dp_accounting.rdp")
loss = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

Relation = dpa.NeighboringRelation
DENSE = np.concatenate([np.linspace(0, 8, 1601), np.linspace(8, 60, 261)]).tolist()
SAMPLED = dpa.PoissonSampledDpEvent(0.1, dpa.GaussianDpEvent(1.0))
EVENTS = {
    "gaussian": dpa.GaussianDpEvent(1.0),
    "little noise": dpa.GaussianDpEvent(0.2),
    "much noise": dpa.GaussianDpEvent(50.0),
    "laplace": dpa.LaplaceDpEvent(1.0),
    "sampled laplace": dpa.PoissonSampledDpEvent(0.1, dpa.LaplaceDpEvent(0.5)),
    "sampled gaussian": SAMPLED,
    "composed": dpa.ComposedDpEvent([dpa.GaussianDpEvent(3.0), dpa.LaplaceDpEvent(2.0), SAMPLED]),
    "self-composed": dpa.SelfComposedDpEvent(SAMPLED, 20),
    "nested": dpa.SelfComposedDpEvent(dpa.ComposedDpEvent([dpa.LaplaceDpEvent(9.0)] * 2), 5),
}
by_event = pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)


def replacing(event):
    return pld.PLDAccountant(Relation.REPLACE_ONE).compose(event)


@by_event
def test_an_event_is_claimed_on_the_safe_side_of_its_accountant(event):
    theirs, claim = pld.PLDAccountant().compose(event), tollens.accountant(event)
    for epsilon in DENSE:
        assert claim.delta(epsilon) >= theirs.get_delta(epsilon) - 1e-12
    for epsilon in np.linspace(0.5, 3, 11).tolist():  # and not far from it
        assert claim.delta(epsilon) <= theirs.get_delta(epsilon) + 2e-3
    assert tollens.claim_from_json(claim.to_json()) == claim


@pytest.mark.parametrize(
    "distribution",
    [
        loss.from_gaussian_mechanism(0.7),
        loss.from_laplace_mechanism(1.0).self_compose(3),
        loss.from_gaussian_mechanism(1.0, sampling_prob=0.2),  # one order leaks more than the other
        loss.from_randomized_response(0.5, 2),
        loss.from_privacy_parameters(loss.common.DifferentialPrivacyParameters(1.0, 1e-3)),
    ],
)
def test_a_loss_distribution_is_claimed_on_its_safe_side(distribution):
    claim = tollens.accountant(distribution)
    for epsilon in DENSE:
        assert claim.delta(epsilon) >= distribution.get_delta_for_epsilon(epsilon) - 1e-12
    assert "for inputs" not in claim.words()  # a loss distribution does not say for which
    assert tollens.claim_from_json(claim.to_json()) == claim


@pytest.mark.parametrize(
    "made",
    [
        pld.PLDAccountant().compose(SAMPLED, 10),
        rdp.RdpAccountant().compose(SAMPLED, 10),
        rdp.RdpAccountant().compose(dpa.ZCDpEvent(0.5)),
        rdp.RdpAccountant(neighboring_relation=Relation.REPLACE_ONE).compose(
            dpa.SampledWithoutReplacementDpEvent(100, 10, dpa.GaussianDpEvent(2.0))
        ),
        replacing(dpa.RandomizedResponseDpEvent(0.5, 2)),
    ],
)
def test_an_accountant_is_claimed_at_points_of_its_own(made):
    claim = tollens.accountant(made)
    assert str(claim).startswith("accountant: epsilon=")
    for epsilon, delta in zip(claim.epsilons, claim.deltas, strict=True):
        assert delta >= min(1.0, made.get_delta(epsilon))
        assert delta == pytest.approx(made.get_delta(epsilon), abs=1e-12)


def test_later_events_do_not_change_a_claim_that_was_made():
    accountant = pld.PLDAccountant().compose(dpa.GaussianDpEvent(1.0))
    claim = tollens.accountant(accountant)
    before = claim.delta(1)
    accountant.compose(dpa.GaussianDpEvent(1.0))
    assert claim.delta(1) == before < tollens.accountant(accountant).delta(1)


@pytest.mark.parametrize(
    ("made", "neighbours"),
    [
        (dpa.GaussianDpEvent(1.0), "one of which has one record more than the other"),
        (replacing(dpa.GaussianDpEvent(1.0)), "that differ in the value of one record"),
        (
            rdp.RdpAccountant(neighboring_relation=Relation.REPLACE_SPECIAL).compose(
                dpa.GaussianDpEvent(1.0)
            ),
            "one of which has a special value, such as zero, in place of one record",
        ),
    ],
)
def test_the_words_name_the_neighbours(made, neighbours):
    claim = tollens.accountant(made)
    assert claim.words().endswith(f", for inputs {neighbours}")
    again = tollens.claim_from_json(claim.to_json())
    assert again == claim
    assert again.words() == claim.words()


def test_every_relation_of_the_library_has_words():
    assert set(NEIGHBOURS) == {relation.name for relation in Relation}


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (dpa.ZCDpEvent(0.5), r"cannot compose.*ZCDpEvent.*RdpAccountant"),
        (dpa.UnsupportedDpEvent(), "cannot compose"),
        (dpa.RandomizedResponseDpEvent(0.5, 2), "must be `REPLACE_ONE`.*give that accountant"),
        (dpa.ComposedDpEvent([SAMPLED, dpa.ZCDpEvent(0.5)]), "caused by subevent ZCDpEvent"),
        (dpa.NonPrivateDpEvent(), "delta is 1 at every epsilon up to 50, which promises nothing"),
        (dpa.GaussianDpEvent(0.0), "promises nothing"),
        (dpa.GaussianDpEvent, "GaussianDpEvent is a class; give an object"),
        (pld.PLDAccountant(), "has composed no event yet"),
        (rdp.RdpAccountant(), "has composed no event yet"),
        (
            loss.from_gaussian_mechanism(1.0, pessimistic_estimate=False, use_connect_dots=False),
            "an estimate from below.*pessimistic_estimate=True",
        ),
        (Relation.REPLACE_ONE, "a NeighboringRelation is none of these"),
    ],
)
def test_what_states_no_curve_is_refused(made, reason):
    with pytest.raises(ClaimError, match=f"(?s)^accountant: .*{reason}"):
        tollens.accountant(made)


def test_an_accountant_without_delta_is_refused():
    class Silent(dpa.PrivacyAccountant):
        def _maybe_compose(self, event, count, do_compose):
            return None

        def get_epsilon(self, target_delta):
            return 1.0

    silent = Silent(Relation.REPLACE_ONE).compose(dpa.GaussianDpEvent(1.0))
    with pytest.raises(ClaimError, match="a Silent computes no delta"):
        tollens.accountant(silent)


def test_the_noise_of_the_event_is_spared_and_half_of_it_refuted():
    claim = tollens.accountant(dpa.GaussianDpEvent(1.0))

    @tollens.batched
    def right(value, n, rng):
        return value + rng.normal(size=n)

    @tollens.batched
    def half(value, n, rng):
        return value + rng.normal(scale=0.5, size=n)

    assert not tollens.audit(right, claim, neighbours=(0.0, 1.0), budget=2500, seed=1).refuted
    assert tollens.audit(half, claim, neighbours=(0.0, 1.0), budget=2500, seed=1).refuted


def test_a_sampled_event_is_the_one_that_the_code_must_keep():
    event = dpa.PoissonSampledDpEvent(0.5, dpa.GaussianDpEvent(0.5))

    @tollens.batched
    def sampled(rows, n, rng):
        kept = rng.binomial(len(rows), 0.5, size=n)
        return kept + rng.normal(scale=0.5, size=n)

    @tollens.batched
    def unsampled(rows, n, rng):
        return len(rows) + rng.normal(scale=0.5, size=n)

    claim, pair = tollens.accountant(event), ([1], [])
    assert not tollens.audit(sampled, claim, neighbours=pair, budget=2500, seed=1).refuted
    assert tollens.audit(unsampled, claim, neighbours=pair, budget=2500, seed=1).refuted
    assert math.isclose(claim.delta(0), pld.PLDAccountant().compose(event).get_delta(0.0))
