"""Audits on a real Ray cluster of one machine with two workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tollens
from tollens.errors import MechanismError
from tollens.mechanism import from_callable
from tollens.neighbours import Pair
from tollens.parallel import ParallelRuns
from tollens.sampling import DirectRuns
from tollens.streams import EvidenceStream

pytest.importorskip("ray")
pytest.importorskip("grpc")

STREAM, PAIR = EvidenceStream(3), Pair(0, 1)


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


@pytest.fixture(scope="module")
def ray_url(tmp_path_factory):
    """A head in a session of processes of its own, all of which end with the module."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block"]
    command += ["--num-cpus", "2", "--port", "0", "--ray-client-server-port", str(port)]
    command += ["--min-worker-port", "0", "--max-worker-port", "0", "--disable-usage-stats"]
    command += ["--include-dashboard=false", "--object-store-memory", "100000000"]
    head = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > deadline or head.poll() is not None:
                    pytest.skip("no Ray cluster could be started here")
                time.sleep(0.2)
        url = f"ray://127.0.0.1:{port}"
        own = "import ray, sys; ray.init(sys.argv[1]); ray.get(ray.remote(lambda: 1).remote())"
        try:  # without us: what Ray itself cannot do here is no fault of ours
            answer = subprocess.run(
                [sys.executable, "-c", own, url], capture_output=True, timeout=120, check=False
            )
        except subprocess.TimeoutExpired:
            pytest.skip("Ray's own client gets no answer here")
        if answer.returncode:
            pytest.skip("Ray's own client cannot work here")
        yield url
    finally:
        os.killpg(head.pid, signal.SIGKILL)
        head.wait()


def content(verdict):
    found = json.loads(verdict.to_json())
    del found["seconds"]
    return found


def test_the_verdict_is_that_of_one_process(ray_url):
    shift = 0.25

    def noisy(rows, rng):
        return len(rows) + shift + rng.laplace(scale=0.5)

    settings = {"neighbours": ([1, 1], [1]), "seed": 2, "budget": 600}
    one = tollens.audit(noisy, "epsilon=1", **settings)
    assert content(tollens.audit(noisy, "epsilon=1", backend=ray_url, **settings)) == content(one)


def test_lost_chunks_are_drawn_again_but_only_once(ray_url, tmp_path):
    flag = tmp_path / "crashed"

    def crashes_once(data, rng):
        value = rng.random()
        if value > 0.9 and not flag.exists():
            flag.touch()
            os._exit(3)
        return data + value

    mechanism = from_callable(crashes_once)
    with ParallelRuns(mechanism, STREAM, 1, backend=ray_url) as runs:
        found = runs.both(PAIR, 0, 64, coupled=False)
    assert flag.exists()
    assert found == DirectRuns(mechanism, STREAM).both(PAIR, 0, 64, coupled=False)
    fatal = from_callable(lambda data, rng: os._exit(3), name="fatal")
    with (
        ParallelRuns(fatal, STREAM, 1, backend=ray_url) as runs,
        pytest.raises(MechanismError, match=r"fatal: .*did so again"),
    ):
        runs.both(PAIR, 0, 4, coupled=False)
