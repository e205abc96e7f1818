"""SmartNoise SQL: a query of a private reader on data frames.

It cannot be installed beside the newest OpenDP, so these tests also run in the environment
`snsql1010` of the catalogue (`python -m catalogue.environments snsql1010`), where there is one.
"""

import functools
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import tollens
from tollens.adapters import adapt, promised
from tollens.claim import approx
from tollens.errors import UsageError
from tollens.outputs import Raised

pytestmark = pytest.mark.libraries

THERE = importlib.util.find_spec("snsql") is not None
needs_snsql = pytest.mark.skipif(not THERE, reason="SmartNoise SQL is not installed here")

RNG = np.random.default_rng(0)
COUNT = "SELECT COUNT(*) AS n FROM db.people"


@pytest.mark.skipif(THERE, reason="SmartNoise SQL is installed here")
def test_it_holds_in_an_environment_of_its_own(run_in_environment):
    assert "8 passed, 1 skipped" in run_in_environment("snsql1010", __file__)


def reader(epsilon=1.0, **table):
    import pandas
    import snsql

    described = {
        "age": {"type": "int", "lower": 0, "upper": 10},
        "city": {"type": "string"},
        "row_privacy": True,
        "censor_dims": False,
        "rows": 100,
        **table,
    }
    nobody = pandas.DataFrame({"age": [99], "city": ["x"]})  # is not looked at
    privacy = snsql.Privacy(epsilon=epsilon, delta=0.01)
    return snsql.from_df(nobody, privacy=privacy, metadata={"": {"db": {"people": described}}})


def frame(rows):
    import pandas

    return pandas.DataFrame({"age": rows, "city": ["a"] * len(rows)})


@needs_snsql
def test_a_query_promises_what_the_reader_says_that_it_costs():
    count = functools.partial(reader().execute, COUNT)
    epsilon, delta = reader().get_privacy_cost(COUNT)
    assert promised(count) == approx(float(epsilon), float(delta)) == adapt(count).promise
    mean = promised(functools.partial(reader().execute, "SELECT AVG(age) AS a FROM db.people"))
    assert mean.to_json()["epsilon"] == 2


@needs_snsql
def test_each_run_asks_anew_of_the_frame():
    mechanism = adapt(functools.partial(reader(epsilon=20.0).execute, COUNT))
    outputs = mechanism.sample(frame([1, 2, 3]), 10, RNG)
    assert not any(isinstance(output, Raised) for output in outputs), outputs
    assert {len(output) for output in outputs} == {1}
    assert abs(np.mean([output[0][0] for output in outputs]) - 3) < 1
    assert mechanism.name == f"SmartNoise SQL {COUNT}"
    assert mechanism.packages[0] == "smartnoise-sql"


@needs_snsql
def test_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "libraries" / "smartnoise.md"
    text = page.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    names = {}
    exec(code.partition("verdict = ")[0], names)  # the audit takes a minute
    query, relation = names["query"], names["one_more"]
    for data in (relation[0].x, relation[0].x_prime):
        assert not any(isinstance(each, Raised) for each in adapt(query).sample(data, 2, RNG))


@needs_snsql
def test_the_readers_own_budget_is_not_spent():
    own = reader()
    adapt(functools.partial(own.execute, COUNT)).sample(frame([1]), 3, RNG)
    assert own.odometer.spent[0] == 0


@needs_snsql
def test_a_right_count_is_spared_and_a_broken_claim_found():
    import pandas

    pair = (frame([1, 1]), frame([1]))
    right = functools.partial(reader().execute, COUNT)
    assert not tollens.audit(right, neighbours=pair, budget=60).refuted
    count = functools.partial(reader(epsilon=4.0).execute, COUNT)
    verdict = tollens.audit(count, "epsilon=0.2", neighbours=pair, budget=300, alpha=0.01)
    assert verdict.refuted and verdict.versions["smartnoise-sql"]
    assert isinstance(verdict.neighbours.x, pandas.DataFrame)


@needs_snsql
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (reader, "PrivateReader is not sampled by itself; give functools.partial"),
        (lambda: functools.partial(reader().execute, COUNT, True), "is one text"),
    ],
)
def test_what_is_no_query_is_refused(make, reason):
    made = make()
    with pytest.raises(UsageError, match=reason):
        adapt(made)


@needs_snsql
def test_a_query_that_cannot_be_asked_promises_nothing():
    wrong = functools.partial(reader().execute, "SELECT nothing FROM db.people")
    assert adapt(wrong).promise is None
    with pytest.raises(UsageError, match="promises nothing"):
        promised(wrong)
    with pytest.raises(UsageError, match="for one person"):
        promised(functools.partial(reader().execute, COUNT), d_in=2)
