"""The dashboard on both kinds of stores: acknowledging at once, and a server that goes away."""

from __future__ import annotations

import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import make_url

pytest.importorskip("starlette")

import tollens
from tollens.cli import main
from tollens.server import views
from tollens.server.app import make_app
from tollens.server.settings import ServeSettings
from tollens.store import Store

from .conftest import end_connections

TOKEN = "t" * 40
HERE = "/api/series/1/acknowledge"


def watch(where):
    """Make a series whose alarm, of step 2, is open."""
    with tollens.Monitor.open("counts", "epsilon=1", store=where, events=["E"]) as monitor:
        monitor.step_counts({"E": (700, 10)}, version="v1")
        assert monitor.step_counts({"E": (700, 10)}, version="v2").alarm


@contextmanager
def dashboard(where):
    from starlette.testclient import TestClient

    with Store.open(where, create=False) as store:
        app = make_app(store, ServeSettings(acknowledge_token=TOKEN))
        headers = {"authorization": f"Bearer {TOKEN}"}
        yield TestClient(app, base_url="http://localhost", headers=headers)


def test_of_two_who_acknowledge_at_once_one_is_told_so(where, monkeypatch):
    watch(where)
    both, close = threading.Barrier(2), views.acknowledge

    def at_once(*arguments):
        both.wait(20)
        return close(*arguments)

    monkeypatch.setattr(views, "acknowledge", at_once)
    with dashboard(where) as client, ThreadPoolExecutor(2) as pool:
        answers = list(
            pool.map(lambda who: client.post(HERE, json={"reason": who, "step": 2}), ("ann", "bob"))
        )
        done, late = sorted(answers, key=lambda answer: answer.status_code)
        assert (done.status_code, late.status_code) == (200, 409)
        assert late.json()["findings"] == ["counts has no open alarm; there is nothing to close"]
        kept = client.get("/api/series/1").json()["alarms"][0]["reason"]
        assert kept == done.json()["alarm"]["reason"]


@pytest.mark.parametrize("reason", ["a\0b", "\udcff"])
def test_a_reason_that_cannot_be_stored(where, reason):
    watch(where)
    arguments = ["monitor", "acknowledge", "counts", "--store", where, "--reason", reason]
    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == 2
    assert "reason holds a character that a database cannot store" in found.stderr
    with Store.open(where) as store:
        assert store.alarms(1)[0].reason is None


@pytest.mark.postgres
def test_a_server_that_goes_away_and_comes_back(postgres, tell):
    watch(postgres)
    places = ("/", "/series/1", "/series/1/figure.svg", "/api/series", "/metrics", "/healthz")
    with tempfile.TemporaryDirectory() as folder:
        real = Path(make_url(postgres).query["host"])
        (name,) = (path.name for path in real.glob(".s.PGSQL.*[0-9]"))
        way = Path(folder) / name  # by which this dashboard reaches the server
        way.symlink_to(real / name)
        with dashboard(postgres.replace(f"host={real}", f"host={folder}")) as client:
            for _ in range(2):
                assert [client.get(place).status_code for place in places] == [200] * 6
                way.unlink()
                end_connections(tell, postgres)
                for place in places:
                    answer = client.get(place, headers={"accept": "text/html"})
                    assert answer.status_code == 503
                    words = "store cannot be read" if place == "/healthz" else "cannot be reached ("
                    assert words in answer.text
                    assert "tollens:tollens" not in answer.text
                way.symlink_to(real / name)
