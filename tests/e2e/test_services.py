"""HTTP services of the examples, as real processes behind the shim: the broken one is caught."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import numpy as np
import pytest

import tollens
from tollens.mechanism import Mechanism
from tollens.outputs import Raised

EXAMPLES = Path(__file__).parents[2] / "examples" / "programs"
RNG = np.random.default_rng(0)
SERVICES = {
    "python": [sys.executable, str(EXAMPLES / "count_service.py"), "0"],
    "java": ["java", str(EXAMPLES / "CountService.java"), "0"],
}


class Service:
    """A service that runs, on a port that the system chose."""

    def __init__(self, words: list[str]) -> None:
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("serving on port "), line
        self.url = f"http://127.0.0.1:{line.split()[-1]}"

    def mechanism(self, path: str) -> Mechanism:
        return tollens.command([sys.executable, str(EXAMPLES / "http_shim.py"), self.url + path])

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture(scope="module", params=SERVICES)
def service(request):
    if which(SERVICES[request.param][0]) is None:
        pytest.skip(f"needs {request.param}")
    running = Service(SERVICES[request.param])
    yield running
    running.stop()


def test_the_right_endpoint_is_spared_and_the_broken_one_is_caught(service):
    right, broken = (
        tollens.audit(
            service.mechanism(path), "epsilon=1", neighbours=([1, 1, 1], [1, 1]), budget=1000
        )
        for path in ("/count", "/v2/count")
    )
    assert right.outcome is tollens.Outcome.UNREFUTED
    assert broken.refuted


def test_outputs_are_fresh_floats_around_the_count(service):
    outputs = service.mechanism("/count").sample([7] * 100, 300, RNG)
    assert all(type(output) is float for output in outputs)
    assert len(set(outputs)) == 300
    assert abs(np.median(outputs) - 100) < 0.5


def test_a_status_that_is_no_success_is_an_output(service):
    assert service.mechanism("/count").sample(5, 2, RNG) == [Raised("HTTP 400")] * 2


def test_a_service_that_stops_ends_the_audit_with_its_address():
    running = Service(SERVICES["python"])
    mechanism = running.mechanism("/count")
    try:
        assert mechanism.sample([1], 1, RNG)
    finally:
        running.stop()
    with pytest.raises(tollens.UsageError, match=f"no answer from {running.url}/count"):
        mechanism.sample([1], 2, RNG)


def test_on_the_command_line(service, tmp_path):
    words = f"command:{sys.executable} {EXAMPLES / 'http_shim.py'} {service.url}/v2/count"
    promise = ("--claim", "epsilon=1", "--neighbours", "add_remove:[1, 1, 1]")
    done = subprocess.run(
        [sys.executable, "-m", "tollens", "audit", words, *promise], cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if not k.startswith("TOLLENS_")},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("REFUTED")
