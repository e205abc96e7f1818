"""`check`: proofs first, audits for the rest, and what becomes of a search that fails."""

from __future__ import annotations

import pytest

import tollens
from tollens import promise_check
from tollens.checking import check
from tollens.errors import UsageError
from tollens.outcome import Outcome, Reason
from tollens.refutation import engine
from tollens.refutation.found import Found
from tollens.settings import ALL_OF_CHECK

TEXT = """
import tollens
from tollens import noise

@tollens.promise("epsilon=1", neighbours=(1, 0))
def ours(data):
    return data + noise.laplace(0.5)

@tollens.promise("epsilon=1", neighbours=(1, 0))
def numpy_noise(data, rng):
    return data + rng.laplace(scale=0.5)
"""


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "counts.py"
    path.write_text(TEXT)
    return path


def settings(**given):
    defaults = {name: key.default for name, key in ALL_OF_CHECK.items()}
    return {**defaults, "budget": 2000, "seed": 1, **given}


def outcomes(report):
    return {target.split("::")[1]: verdict for target, verdict in report.verdicts}


def test_only_texts_that_draw_from_our_noise_are_searched(place, monkeypatch):
    searched = []
    real = engine.search

    def search(program, *rest):
        searched.append(program.name)
        return real(program, *rest)

    monkeypatch.setattr(engine, "search", search)
    found = outcomes(check([place], settings()))
    assert searched == ["ours"]
    assert found["ours"].reason is Reason.PROVED
    assert found["numpy_noise"].reason is Reason.WEALTH_REACHED


@pytest.mark.parametrize(
    ("result", "note"),
    [
        (Found(best_epsilon=0.9, engine="events"), "no proof was found"),
        (Found(notes=("events: no",)), "no proof was looked for: events: no"),
        (RecursionError("deep"), "the search for a proof failed: RecursionError: deep"),
        (UsageError(["one", "two", "three", "four"]), "1 more of this kind"),
    ],
)
def test_where_there_is_no_proof_the_audit_decides_and_says_so(place, monkeypatch, result, note):
    def search(*_):
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(engine, "search", search)
    verdict = outcomes(check([place], settings()))["ours"]
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.reason is Reason.WEALTH_REACHED
    assert any(note in each for each in verdict.notes)


def test_the_best_event_is_bet_on(place, monkeypatch):
    event = {"event": [{"between": ["1/2", None]}], "likely_under": "x"}
    monkeypatch.setattr(
        engine, "search", lambda *_: Found(None, 0.5, None, "events", witness=event)
    )
    verdict = outcomes(check([place], settings()))["ours"]
    assert "given event" in verdict.evidence.shares
    assert "given event" not in outcomes(check([place], settings()))["numpy_noise"].evidence.shares


@pytest.mark.parametrize("witness", [None, {}, {"event": []}, {"event": [3]}, {"kind": "square"}])
def test_witnesses_that_are_no_events_are_left_out(witness):
    assert promise_check._event(Found(witness=witness)) is None


def test_interruption_of_a_search_ends_the_check(place, monkeypatch):
    def search(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "search", search)
    report = check([place], settings())
    assert report.interrupted
    assert [v.reason for _, v in report.verdicts] == [Reason.SEARCH_INTERRUPTED]


def test_alpha_is_shared_whatever_is_proved(place):
    report = check([place], settings(alpha=0.01))
    assert outcomes(report)["numpy_noise"].alpha == 0.005
    assert outcomes(report)["ours"].alpha == 0


@pytest.mark.parametrize("given", [{"proof-timeout": -1.0}, {"proof-timeout": float("inf")}])
def test_the_time_for_proofs(place, given):
    with pytest.raises(UsageError, match="proof-timeout is"):
        check([place], settings(**given))


def test_constants_for_help_and_defaults():
    assert ALL_OF_CHECK["proof-timeout"].default == 10.0
    assert "proof-timeout" not in tollens.settings.KEYS


def test_mechanisms_that_yield_are_audited_by_what_they_yield(tmp_path):
    path = tmp_path / "steps.py"
    path.write_text(
        "import tollens\nfrom tollens import noise\n"
        '@tollens.promise("epsilon=1", neighbours=(1, 0))\n'
        "def steps(data):\n    yield data + noise.laplace(0.25)\n    yield 3\n"
    )
    audited = outcomes(check([path], settings(**{"proof-timeout": 0.0})))["steps"]
    assert audited.reason is Reason.WEALTH_REACHED
    assert outcomes(check([path], settings()))["steps"].reason is Reason.PROVED
