"""What a monitor says besides its figures: events that never come, breaks in other directions."""

from __future__ import annotations

import numpy as np
import pytest

import tollens
from tollens.errors import UsageError


def opened(tmp_path, events, **settings):
    return tollens.Monitor.open(
        "s", "epsilon=1", store=tmp_path / "m.db", events=events, seed=1, **settings
    )


def broken(rows, n, rng):
    return len(rows) + rng.laplace(scale=0.5, size=n)


def pairs(rows, n, rng):
    return [(float(value), 0.0) for value in broken(rows, n, rng)]


@pytest.mark.parametrize("settings", [{}, {"method": "brownian", "horizon": 20}])
@pytest.mark.parametrize(
    ("mechanism", "event", "word"),
    [
        (pairs, "output <= 1", "none of 1,500"),
        (broken, "len(output) > 0", "none of 1,500"),
        (broken, "output > -1000", "every one of 1,500"),
    ],
)
def test_an_event_that_tests_nothing_is_named(tmp_path, settings, mechanism, event, word):
    with opened(tmp_path, [event], **settings) as monitor:
        state = monitor.step(tollens.batched(mechanism), neighbours=([1], []), version="v1")
    assert any(word in note and event in note for note in state.notes)


@pytest.mark.parametrize("settings", [{}, {"method": "brownian", "horizon": 20}])
def test_an_event_that_comes_is_not(tmp_path, settings):
    with opened(tmp_path, ["output > 0.5"], **settings) as monitor:
        state = monitor.step(tollens.batched(broken), neighbours=([1], []), version="v1")
    assert not any("nothing is tested" in note for note in state.notes)


def test_a_function_that_gives_no_truth_is_refused(tmp_path):
    with opened(tmp_path, {"odd": lambda output: "yes"}) as monitor:
        with pytest.raises(UsageError, match="must return True or False"):
            monitor.step(tollens.batched(broken), neighbours=([1], []), version="v1")
        assert monitor.state.steps == 0


@pytest.mark.parametrize(
    ("event", "pair", "what"),
    [
        ("output <= 0.5", ([1], []), "break the claim"),
        ("output > 0.5", ([], [1]), "break the claim"),
        ("output <= 0.5", ([], [1]), None),
    ],
)
def test_the_brownian_method_says_where_it_does_not_look(tmp_path, event, pair, what):
    with opened(tmp_path, [event], method="brownian", horizon=20) as monitor:
        for step in range(3):
            state = monitor.step(tollens.batched(broken), neighbours=pair, version=f"v{step}")
    said = [note for note in state.notes if "standard errors" in note]
    assert (what is not None and what in said[0]) if said else what is None
    assert state.epsilon_lower == 0


def test_the_last_good_version_is_known_after_an_acknowledged_alarm(tmp_path):
    def mechanism(scale):
        def noisy(rows, n, rng):
            return len(rows) + rng.laplace(scale=scale, size=n)

        return tollens.batched(noisy)

    with tollens.Monitor.open("s", "epsilon=1", store=tmp_path / "m.db", seed=2) as monitor:
        for version, scale in (("v1", 1.0), ("v2", 0.3)):
            state = monitor.step(mechanism(scale), neighbours=([1], []), version=version)
        assert state.alarm
        monitor.acknowledge("known")
        state = monitor.step(mechanism(0.3), neighbours=([1], []), version="v3")
        assert state.alarm
        assert state.likely_break is not None
        assert (state.likely_break.version_before, state.likely_break.version) == ("v2", "v3")
        verdict = monitor.verdict()
    assert verdict.refuted
    assert "history of the series" in str(verdict)
    assert np.isfinite(verdict.log_e_value)


def test_a_state_turns_into_json_and_back(tmp_path):
    with tollens.Monitor.open("s", "epsilon=1", store=tmp_path / "m.db", seed=2) as monitor:
        states = [monitor.state]
        for version in ("v1", "v2"):
            states.append(
                monitor.step(tollens.batched(broken), neighbours=([1], []), version=version)
            )
        states.append(monitor.acknowledge("because"))
    assert states[1].alarm
    for state in states:
        again = tollens.MonitorState.from_json(state.to_json())
        assert again == state
        assert again.word in state._repr_html_()


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"schema": "tollens/monitor/1"}', '{"schema": "tollens/verdict/1"}']
)
def test_other_documents_are_no_state(text):
    with pytest.raises(UsageError):
        tollens.MonitorState.from_json(text)
