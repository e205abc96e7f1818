"""Audits on a real Dask cluster: the same verdict, whatever happens to its workers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import tollens
from tollens.adapters import adapt
from tollens.backends import open_pool
from tollens.errors import BackendError, MechanismError, UsageError
from tollens.mechanism import from_callable
from tollens.neighbours import Pair
from tollens.parallel import ParallelRuns
from tollens.sampling import DirectRuns
from tollens.streams import EvidenceStream
from tollens.targets import load_target
from tollens.zoo import entries

pytest.importorskip("distributed")

STREAM = EvidenceStream(3)
PAIR = Pair(0, 1)


def content(verdict):
    """All that a verdict says but for the time it took."""
    found = json.loads(verdict.to_json())
    del found["seconds"]
    return found


@pytest.fixture(scope="module")
def pools(dask_url):
    """One pool of each kind for many audits: to start processes for each takes a second."""
    made = {backend: open_pool(backend, 2) for backend in (None, dask_url)}
    yield made
    for pool in made.values():
        pool.close()


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_mechanism_of_the_zoo_has_the_same_verdict_everywhere(
    entry, dask_url, pools, monkeypatch
):
    monkeypatch.setattr("tollens.parallel.open_pool", lambda backend, workers: pools[backend])
    monkeypatch.setattr(ParallelRuns, "close", lambda self: None)
    settings = {"neighbours": entry.neighbours, "seed": 5, "budget": 100, "alpha": 0.05}
    one = content(tollens.audit(entry.mechanism, entry.claim, **settings))
    for where in ({"workers": 2}, {"backend": dask_url}):
        assert content(tollens.audit(entry.mechanism, entry.claim, **settings, **where)) == one


def test_runs_one_by_one_of_a_function_that_workers_cannot_import(dask_url):
    shift = 0.25

    def noisy(rows, rng):
        return len(rows) + shift + rng.laplace(scale=0.5), {"kept": rng.integers(3)}

    settings = {"neighbours": tollens.add_remove([3, 1, 1]), "seed": 2, "budget": 2000}
    one = tollens.audit(noisy, "epsilon=1", **settings)
    assert one.refuted
    assert content(tollens.audit(noisy, "epsilon=1", backend=dask_url, **settings)) == content(one)


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(dask_cluster, dask_url, tmp_path):
    pids = tmp_path / "pids"

    def slow(rows, rng):
        with pids.open("a") as file:
            print(os.getpid(), file=file)
        time.sleep(0.002)
        return len(rows) + rng.laplace()

    settings = {"neighbours": ([1, 1], [1]), "seed": 4, "budget": 600}
    killed = []

    def kill(state):
        if state.pairs > 100 and not killed:
            killed.append(int(pids.read_text().split()[-1]))
            threading.Timer(0.05, os.kill, (killed[0], signal.SIGKILL)).start()

    verdict = tollens.audit(slow, "epsilon=1", backend=dask_url, progress=kill, **settings)
    with pytest.raises(ProcessLookupError):
        os.kill(killed[0], 0)
    after = set(map(int, pids.read_text().split()))
    dask_cluster.wait_for_workers(2, timeout=30)
    assert len(after - {os.getpid()}) >= 2
    assert content(verdict) == content(tollens.audit(slow, "epsilon=1", **settings))


def test_a_run_that_kills_every_worker_is_an_error(dask_cluster, dask_url):
    fatal = from_callable(lambda data, rng: os._exit(3), name="fatal")
    with (
        ParallelRuns(fatal, STREAM, 1, backend=dask_url) as runs,
        pytest.raises(MechanismError, match=r"fatal: a run ended its process, and did so again"),
    ):
        runs.both(PAIR, 0, 4, coupled=False)
    dask_cluster.wait_for_workers(2, timeout=30)


def test_data_are_sent_once_to_each_worker(dask_url):
    large = np.arange(2_000_000.0)
    mechanism = from_callable(lambda data, rng: data[5] + rng.random())
    pair, direct = Pair(large, large + 1), DirectRuns(mechanism, STREAM)
    with ParallelRuns(mechanism, STREAM, 1, backend=dask_url) as runs:
        sent = []
        submit = runs._pool.submit

        def count(work, *args):
            sent.append(any(part is pair for part in args))
            return submit(work, *args)

        runs._pool.submit = count
        for block in range(4):
            x, y = runs.both(pair, block, 64, coupled=False)
            assert (x, y) == direct.both(pair, block, 64, coupled=False)
    assert sum(sent) <= 6  # to see that it can be sent, and by orders that met a new worker
    assert len(sent) > 20


def test_a_target_is_loaded_by_the_workers(dask_url, tmp_path):
    path = tmp_path / "counts.py"
    path.write_text("def f(data, rng):\n    return data + rng.random()\n")
    mechanism = replace(adapt(load_target(f"{path}::f")), target=f"{path}::f")
    with ParallelRuns(mechanism, STREAM, 1, backend=dask_url) as runs:
        found = runs.both(PAIR, 0, 20, coupled=False)
    assert found == DirectRuns(mechanism, STREAM).both(PAIR, 0, 20, coupled=False)
    path.unlink()
    with (
        ParallelRuns(mechanism, STREAM, 1, backend=dask_url) as runs,
        pytest.raises(UsageError, match=r"a worker on .* cannot load the target .*does not exist"),
    ):
        runs.both(PAIR, 0, 20, coupled=False)


class TestRefusals:
    def test_a_cluster_that_is_not_there(self):
        with pytest.raises(BackendError, match=r"nobody answers at dask://127.0.0.1:9 .*refused"):
            tollens.audit(
                lambda data, rng: pytest.fail("it ran"),
                "epsilon=1",
                neighbours=(0, 1),
                backend="dask://127.0.0.1:9",
            )

    def test_what_answers_is_no_scheduler(self, monkeypatch):
        monkeypatch.setattr("tollens.backends.dask.CONNECT", 0.4)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            backend = f"dask://127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(BackendError, match="is no Dask scheduler that fits"):
                ParallelRuns(from_callable(lambda data, rng: 1), STREAM, 1, backend=backend)

    def test_all_that_is_wrong_with_the_settings(self):
        with pytest.raises(UsageError) as caught:
            tollens.audit(
                len, "epsilon=1", neighbours=([], [1]), backend="dask://head:8786", timeout=1.0
            )
        first, second = caught.value.findings
        assert "timeout does not go with a backend" in first
        assert "len takes no rng: the runs of a worker that is lost could not be made" in second

    @pytest.mark.parametrize(
        "backend",
        [
            *("dask:head:1", "spark://head:1", "dask://head", "dask://head:x", "dask://:5"),
            *("dask://me@head:1", "dask://head:1/path", 3),
        ],
    )
    def test_addresses_that_are_none(self, backend):
        with pytest.raises(UsageError, match="must be local, dask://host:port or ray://host:port"):
            tollens.audit(len, "epsilon=1", neighbours=([], [1]), backend=backend)

    def test_a_cluster_without_workers_and_one_with_another_tollens(self, tmp_path):
        other = tmp_path / "tollens-99.9.dist-info"
        other.mkdir()
        (other / "METADATA").write_text("Metadata-Version: 2.1\nName: tollens\nVersion: 99.9\n")
        mechanism = from_callable(lambda data, rng: 1)
        with run("dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1") as where:
            url = where.replace("tcp://", "dask://")
            with pytest.raises(BackendError, match=r"has no workers; start some with: dask worker"):
                ParallelRuns(mechanism, STREAM, 1, backend=url)
            options = ("--no-nanny", "--no-dashboard", "--nthreads", "1")
            with run("dask_worker", where, *options, path=tmp_path) as _:
                wait_for_a_worker(where)
                with pytest.raises(BackendError, match=r"has tollens 99\.9, and .* is here"):
                    ParallelRuns(mechanism, STREAM, 1, backend=url)


@contextlib.contextmanager
def run(program, *arguments, path=None):
    """A process of Dask; gives the address that it prints."""
    from distributed import Client  # noqa: F401 - it is installed

    command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments]
    environ = os.environ if path is None else {**os.environ, "PYTHONPATH": str(path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ) as process:
        try:
            for line in process.stderr:
                found = re.search(r"(?:Scheduler|worker) at:\s+(tcp://\S+)", line)
                if found:
                    yield found[1]
                    break
        finally:
            process.kill()


def wait_for_a_worker(address):
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=30)
