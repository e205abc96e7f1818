"""Files of evidence: scored again they give the same verdict, and only untouched ones do."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens.auditing.record import Recorder, rescore
from tollens.errors import UsageError


def count(rows, rng):
    return len(rows) + rng.laplace(scale=0.5)


def mixed(rows, rng):
    draw = rng.random()
    if draw < 0.1:
        raise ValueError("too few")
    if draw < 0.3:
        return None
    return ("a" if draw < 0.5 else "b", len(rows) + rng.laplace(), rng.random() < 0.5)


def vector(rows, rng):
    return len(rows) * np.eye(3)[0] + rng.laplace(scale=0.5, size=3)


def recorded(mechanism, claim="epsilon=1", **settings):
    recorder = Recorder()
    settings = {"neighbours": ([1, 1], [1]), "seed": 1, "alpha": 0.01, "budget": 600, **settings}
    verdict = tollens.audit(mechanism, claim, recorder=recorder, **settings)
    assert recorder.document is not None
    return verdict, recorder.document


def above(output):
    return bool(output[0] > 1)


CASES = {
    "refuted": (count, {}),
    "to the budget": (count, {"until": "budget"}),
    "unrefuted": (count, {"claim": "epsilon=2"}),
    "mixed outputs": (mixed, {}),
    "vectors": (vector, {}),
    "approx": (count, {"claim": "epsilon=1, delta=0.01"}),
    "curved": (count, {"claim": "mu=2", "budget": 150}),
    "another delta": (count, {"delta": 0.001}),
    "given event": (vector, {"witness": above}),
}


@pytest.mark.parametrize("name", CASES)
def test_scoring_again_gives_the_same_verdict(name, same):
    mechanism, settings = CASES[name]
    verdict, document = recorded(mechanism, **settings)
    assert same(rescore(document), verdict)
    assert verdict.evidence.curve


def test_what_differs_is_seen(same):
    verdict, _ = recorded(count)
    other = recorded(count, seed=2)[0]
    assert not same(other, verdict)
    assert not same(replace(verdict, epsilon_lower=verdict.epsilon_lower * (1 - 1e-9)), verdict)


def test_long_audits_can_be_scored_again():
    verdict, document = recorded(count, claim="epsilon=2", budget=1500, coupling="independent")
    again = rescore(document)
    assert again.evidence.digest == verdict.evidence.digest
    assert again.log_e_value == pytest.approx(verdict.log_e_value, abs=1e-9)
    assert again.epsilon_lower == verdict.epsilon_lower


def test_coupled_audits_can_be_scored_again(same):
    for coupling in ("common", "auto", "independent"):
        verdict, document = recorded(count, claim="epsilon=1.5", coupling=coupling, budget=300)
        assert same(rescore(document), verdict)


def test_the_document_is_strict_json():
    _, document = recorded(mixed)
    data = json.loads(document, parse_constant=lambda name: pytest.fail(f"bare {name}"))
    assert data["schema"] == "tollens/evidence/1"
    assert len(data["x"]["keys"]) == len(data["x_prime"]["keys"]) == 600


@pytest.fixture(scope="module")
def document():
    return recorded(count)[1]


def tampered(document, change):
    data = json.loads(document)
    change(data)
    return json.dumps(data)


def swap_sides(data):
    data["x"], data["x_prime"] = data["x_prime"], data["x"]


def drop_last(data):
    for side in ("x", "x_prime"):
        for name in ("shapes", "keys", "numbers"):
            data[side][name].pop()


def reverse(data):
    for name in ("shapes", "keys", "numbers"):
        data["x"][name].reverse()


TAMPERINGS = {
    "more wealth": lambda d: d["verdict"]["evidence"].update(log_e_value=50.0),
    "another claim": lambda d: d["verdict"]["claim"].update(epsilon=0.5),
    "a sharper level": lambda d: d["verdict"].update(alpha=1e-9),
    "not refuted": lambda d: d["verdict"].update(outcome="UNREFUTED", reason="BUDGET_SPENT"),
    "sides swapped": swap_sides,
    "one pair fewer": drop_last,
    "another order": reverse,
    "another number": lambda d: d["x"]["numbers"][8].__setitem__(0, 1e9),
    "another key": lambda d: d["x"]["keys"].__setitem__(3, 12345),
    "another digest": lambda d: d["verdict"]["evidence"].update(digest="00"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampered_files_are_refused(document, name):
    with pytest.raises(UsageError, match=r"does not follow|cannot be REFUTED|its evidence refutes"):
        rescore(tampered(document, TAMPERINGS[name]))


@pytest.mark.parametrize(
    "boast",
    [
        {"epsilon_lower": 9.0},
        {"detectable_excess": 0.01},
        {"pairs": 1},
        {"witness": {"text": "anything at all"}},
    ],
    ids=str,
)
def test_what_the_outputs_do_not_show_is_refused(document, boast):
    def change(data):
        for name, value in boast.items():
            known = data["verdict"][name]
            data["verdict"][name] = {**known, **value} if isinstance(value, dict) else value

    with pytest.raises(UsageError, match=f"scored again, {next(iter(boast))} differs"):
        rescore(tampered(document, change))


def test_names_are_those_of_the_file(document):
    """Where outputs came from cannot be scored; the documentation says so."""

    def rename(data):
        data["verdict"].update(mechanism="other", seed=1)

    again = rescore(tampered(document, rename))
    assert (again.mechanism, again.seed) == ("other", 1)


BROKEN = {
    "other schema": (lambda d: d.update(schema="tollens/evidence/0"), "schema"),
    "no verdict": (lambda d: d.pop("verdict"), "not a verdict"),
    "no outputs": (lambda d: d.pop("x"), "cannot be read"),
    "no keys": (lambda d: d["x"].pop("keys"), "cannot be read"),
    "keys too few": (lambda d: d["x"]["keys"].pop(), "cannot be read"),
    "negative key": (lambda d: d["x"]["keys"].__setitem__(0, -1), "cannot be read"),
    "huge key": (lambda d: d["x"]["keys"].__setitem__(0, 2**70), "cannot be read"),
    "text for a number": (
        lambda d: d["x"]["numbers"][0].__setitem__(0, "1.0"),
        "expected a number",
    ),
    "shape of no name": (
        lambda d: d["x"]["shapes"].__setitem__(0, 99),
        "not in the list of shapes",
    ),
    "sides of two lengths": (
        lambda d: [d["x"][k].pop() for k in ("keys", "shapes", "numbers")],
        "does not follow from the recorded outputs: of 160 of x",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_say_what_is_wrong(document, name):
    change, problem = BROKEN[name]
    with pytest.raises(UsageError, match=problem):
        rescore(tampered(document, change))


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"schema": "tollens/verdict/1"}'])
def test_what_is_no_file_of_evidence(text):
    with pytest.raises(UsageError):
        rescore(text)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | st.text(max_size=3)
    | st.lists(st.integers(-2, 2), max_size=3)
    | st.just([[0], [1]])
    | st.just({})
)


@given(st.data())
@settings(max_examples=60)
def test_damage_anywhere_is_a_usage_error_or_changes_nothing(data):
    original = small_document()
    content = json.loads(original)
    place: object = content
    for _ in range(data.draw(st.integers(1, 3))):
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
        if not (isinstance(place[key], dict | list) and place[key]):
            break
        parent, place = place, place[key]
    else:
        place = parent
    place[key] = data.draw(VALUES)
    try:
        again = rescore(json.dumps(content))
    except UsageError as error:
        assert str(error)
    else:
        assert again.evidence.digest == json.loads(original)["verdict"]["evidence"]["digest"]


_SMALL: list[str] = []


def small_document():
    if not _SMALL:

        def bit(d, rng):
            return bool(rng.random() < 0.5 + d / 4)

        _SMALL.append(recorded(bit, budget=60, neighbours=(0, 1), alpha=0.5)[1])
    return _SMALL[0]


@pytest.mark.parametrize("side", ["x", "x_prime"])
def test_marks_of_a_given_event_must_fit(side):
    _, document = recorded(vector, witness=above, budget=100)
    data = json.loads(document)
    assert data["given"] == "above(output)"
    for change in (lambda marks: marks[:-1], lambda marks: [not mark for mark in marks]):
        changed = json.loads(document)
        changed[side]["marks"] = change(changed[side]["marks"])
        with pytest.raises(UsageError, match="evidence"):
            rescore(json.dumps(changed))
    del data[side]["marks"]
    with pytest.raises(UsageError, match="not marked"):
        rescore(json.dumps(data))
