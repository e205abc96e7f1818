"""The list of entries, the look-up by name, and the logic of the self-test."""

from __future__ import annotations

import inspect
import json
import math
import pickle
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import numpy as np
import pytest

from tollens.claim import claim_from_json
from tollens.errors import UsageError
from tollens.mechanism import from_callable
from tollens.outputs import Encoder
from tollens.zoo import entries, get, self_test
from tollens.zoo.self_test import seed_of

ENTRIES = [pytest.param(entry, id=entry.name) for entry in entries()]


def verdict(outcome: str, *, pairs: int = 100, epsilon_lower: float = 0.0):
    return SimpleNamespace(
        outcome=SimpleNamespace(name=outcome), pairs=pairs, epsilon_lower=epsilon_lower
    )


def entry_of(mechanism):
    return next(entry for entry in entries() if entry.mechanism is mechanism)


def oracle(mechanism, claim, *, neighbours, alpha, budget, seed):
    """An audit that knows the truth and certifies a little less than it."""
    entry = entry_of(mechanism)
    assert (claim, neighbours) == (entry.claim, entry.neighbours)
    if entry.holds:
        return verdict("UNREFUTED", pairs=budget, epsilon_lower=entry.true_epsilon * 0.9)
    return verdict("REFUTED", epsilon_lower=min(entry.true_epsilon, 10.0) - 0.01)


def lenient(mechanism, claim, *, neighbours, alpha, budget, seed):
    return verdict("UNREFUTED", pairs=budget)


def strict(mechanism, claim, *, neighbours, alpha, budget, seed):
    return verdict("REFUTED", epsilon_lower=min(p.epsilon for p in claim.promises()))


# entries


def test_there_are_enough_entries_of_both_kinds():
    assert len(entries()) >= 40
    assert sum(entry.holds for entry in entries()) >= 18
    assert sum(not entry.holds for entry in entries()) >= 18
    assert any(math.isinf(entry.true_epsilon) for entry in entries())


def test_names_and_titles_are_unique_and_short():
    names = [entry.name for entry in entries()]
    titles = [entry.title for entry in entries()]
    assert len(set(names)) == len(names)
    assert len(set(titles)) == len(titles)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)
    assert all(len(title) <= 60 for title in titles)


@pytest.mark.parametrize("entry", ENTRIES)
def test_claims_round_trip_through_json(entry):
    assert claim_from_json(json.loads(json.dumps(entry.claim.to_json()))) == entry.claim


def test_logarithms_are_kept_as_text():
    assert get("rr-tight").claim.to_json()["epsilon"] == "ln 3"


@pytest.mark.parametrize("entry", ENTRIES)
def test_entries_are_described(entry):
    assert entry.title
    assert entry.truth
    assert entry.source
    assert 1000 <= entry.budget <= 60_000
    assert json.loads(json.dumps(entry.neighbours))
    assert entry.neighbours[0] != entry.neighbours[1]


@pytest.mark.parametrize("entry", ENTRIES)
def test_mechanisms_can_be_sampled_sent_and_encoded(entry):
    mechanism = from_callable(entry.mechanism)
    assert mechanism.takes_rng
    assert mechanism.vectorised
    assert "<" not in mechanism.name
    copy = pickle.loads(pickle.dumps(entry)).mechanism
    for data in entry.neighbours:
        first = mechanism.sample(data, 30, np.random.default_rng(1))
        again = copy(data, 30, np.random.default_rng(1))
        assert isinstance(first, np.ndarray)
        assert np.array_equal(first, again)
        assert len(Encoder().encode(first)) == 30


def test_entries_are_frozen():
    with pytest.raises(FrozenInstanceError):
        get("svt1").holds = False


def test_listing_loads_no_scipy_integrate():
    code = (
        "import sys; from tollens.zoo import entries; entries();"
        "heavy = 'integrate optimize stats';"
        "print([m for m in heavy.split() if 'scipy.' + m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# get


def test_get_finds_every_entry():
    assert all(get(entry.name) is entry for entry in entries())


def test_get_suggests_a_close_name():
    with pytest.raises(UsageError, match="did you mean 'laplace-tight'"):
        get("laplace-tigth")


def test_get_lists_the_names_when_none_is_close():
    with pytest.raises(UsageError, match="its names are laplace-tight, "):
        get("zzzz")


# self-test


def test_an_audit_that_is_right_passes_everywhere():
    rows = self_test(oracle)
    assert [row.name for row in rows] == [entry.name for entry in entries()]
    assert all(row.ok for row in rows), [row for row in rows if not row.ok]


def test_an_audit_that_refutes_nothing_fails_on_broken_entries_only():
    rows = self_test(lenient)
    assert {row.name for row in rows if not row.ok} == {e.name for e in entries() if not e.holds}
    assert {row.problem for row in rows if not row.ok} == {"broken, but not refuted"}


def test_an_audit_that_refutes_everything_fails_on_correct_entries():
    rows = self_test(strict)
    assert all(row.ok is (not row.holds) for row in rows)
    assert {row.problem for row in rows if row.holds} == {"correct, but refuted"}


@pytest.mark.parametrize(
    ("name", "outcome", "lower", "ok"),
    [
        ("laplace-half-noise", "REFUTED", 1.0, True),
        ("laplace-half-noise", "REFUTED", 2.0, True),
        ("laplace-half-noise", "REFUTED", 2.01, False),
        ("laplace-half-noise", "REFUTED", 0.99, False),
        ("laplace-half-noise", "UNDECIDED", 1.5, False),
        ("laplace-half-noise", "REFUTED", math.nan, False),
        ("laplace-tight", "UNREFUTED", 0.9, True),
        ("laplace-tight", "UNDECIDED", 0.0, True),
        ("laplace-tight", "UNREFUTED", 1.01, False),
        ("laplace-tight", "REFUTED", 0.9, False),
        ("gaussian-mu-small-noise", "REFUTED", 2.0, True),
        ("gaussian-mu-small-noise", "REFUTED", 6.0, False),
        ("svt5", "REFUTED", math.inf, True),
    ],
)
def test_rows_compare_the_verdict_with_the_truth(name, outcome, lower, ok):
    def audit(mechanism, claim, *, neighbours, alpha, budget, seed):
        return verdict(outcome, epsilon_lower=lower)

    (row,) = self_test(audit, entries=[get(name)])
    assert row.ok is ok
    assert bool(row.problem) is not ok


def test_settings_and_seeds_reach_the_audit():
    seen = []

    def audit(mechanism, claim, *, neighbours, alpha, budget, seed):
        seen.append((alpha, budget, seed))
        return verdict("UNREFUTED")

    chosen = [get("svt6"), get("rr-tight")]
    self_test(audit, entries=chosen)
    self_test(audit, entries=chosen, alpha=0.01, budget=7)
    seeds = [seed_of(entry) for entry in chosen]
    assert seen[:2] == [(1e-6, e.budget, s) for e, s in zip(chosen, seeds, strict=True)]
    assert seen[2:] == [(0.01, 7, s) for s in seeds]
    assert len({seed_of(entry) for entry in entries()}) == len(entries())


def test_progress_sees_each_row_as_it_is_finished():
    rows = []
    result = self_test(lenient, progress=rows.append)
    assert tuple(rows) == result


def test_the_self_test_takes_the_audit_as_its_only_positional_argument():
    kinds = [p.kind.name for p in inspect.signature(self_test).parameters.values()]
    assert kinds[0] == "POSITIONAL_OR_KEYWORD"
    assert set(kinds[1:]) == {"KEYWORD_ONLY"}
