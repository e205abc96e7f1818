"""The mechanisms of the demonstration: what they promise and what they release."""

import runpy
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from tollens.adapters import adapt
from tollens.claim import pure
from tollens.outputs import Encoder, Raised

pytestmark = pytest.mark.libraries
pytest.importorskip("opendp.prelude")
pytest.importorskip("diffprivlib")
if not metadata.version("opendp").startswith("0.16."):
    pytest.skip("the faults shown are those of OpenDP 0.16", allow_module_level=True)

DEMO = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "demo.py"))["DEMO"]


def test_three_hold_and_three_are_broken():
    assert sorted(demo.expected for demo in DEMO) == ["broken"] * 3 + ["holds"] * 3
    assert len({demo.title for demo in DEMO}) == 6


@pytest.mark.parametrize("demo", DEMO, ids=[demo.title for demo in DEMO])
def test_each_promises_something_and_its_outputs_can_be_compared(demo):
    mechanism = adapt(demo.mechanism)
    assert (demo.claim is None) == (mechanism.promise is not None)
    encoder = Encoder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of the division before the crash
        for data in demo.neighbours:
            assert len(encoder.encode(mechanism.sample(data, 10, np.random.default_rng(0)))) == 10


def test_the_promises_are_those_that_the_texts_name():
    count, response, bounded, _, bits, median = (adapt(demo.mechanism).promise for demo in DEMO)
    assert count == bounded == median == pure(1)
    assert response.delta(0) == pytest.approx(pure("ln 3").delta(0))
    assert bits.delta(0) == pytest.approx(pure("ln 9").delta(0))


def test_the_faults_are_where_the_texts_say():
    rng = np.random.default_rng(0)
    _, _, _, payments, bits, median = DEMO
    x, x_prime = payments.neighbours
    assert sum(x) - sum(x_prime) == 20
    for data in bits.neighbours:
        outputs = adapt(bits.mechanism).sample(data, 20, rng)
        assert {len(output) for output in outputs} == {len(data)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        fine, crashing = (adapt(median.mechanism).sample(x, 5, rng) for x in median.neighbours)
    assert not any(isinstance(output, Raised) for output in fine)
    assert all(isinstance(output, Raised) for output in crashing)
