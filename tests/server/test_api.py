"""JSON and metrics: the same as the command line prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("starlette")

from tollens.cli import main

from .conftest import CLOSE, READ

EXAMPLES = Path(__file__).parents[2] / "examples" / "monitor"


def printed(*arguments):
    return CliRunner().invoke(main, ["monitor", *arguments, "--format", "json"])


def test_the_list_is_what_the_command_line_prints(serve, store_path):
    answer = serve().get("/api/series?sort=name").json()
    said = json.loads(printed("status", "--store", str(store_path)).stdout)
    assert answer["schema"] == said["schema"]
    for row in said["series"]:
        assert row.pop("recent")  # here steps have an address of their own
    for row in [*answer["series"], *said["series"]]:
        del row["notes"]  # they tell the time
    assert answer == said
    assert len(answer["series"]) == 5


def test_one_series_and_its_steps(serve, store_path):
    client = serve()
    here = f"/api/series/{client.ids['quiet']}"
    answer = client.get(here).json()
    said = json.loads(printed("history", "quiet", "--store", str(store_path)).stdout)
    assert answer == said
    steps = client.get(here + "/steps?after=1").json()
    assert steps["steps"] == said["steps"][1:]
    assert steps["next_after"] is None
    wrong = client.get(here + "/steps?after=-1")
    assert wrong.status_code == 400
    assert "after is '-1'" in wrong.json()["findings"][0]


def test_acknowledging_by_a_program(serve):
    client = serve(token=READ, acknowledge_token=CLOSE)
    here = f"/api/series/{client.ids['alarmed']}/acknowledge"
    reader = {"authorization": f"Bearer {READ}"}
    closer = {"authorization": f"Bearer {CLOSE}"}
    assert client.post(here, json={"reason": "r"}).status_code == 403
    assert client.post(here, json={"reason": "r"}, headers=reader).status_code == 403
    for body in ({}, {"reason": 3}, {"reason": "r", "step": "2"}, {"reason": ""}):
        assert client.post(here, json=body, headers=closer).status_code == 400, body
    for text in ("a\0b", "\ud800"):
        odd = client.post(here, content=json.dumps({"reason": text}), headers=closer)
        assert odd.status_code == 400
        assert odd.json()["findings"] == [
            "the reason holds a character that a database cannot store"
        ]
    assert client.post(here, content=b"\xff", headers=closer).status_code == 400
    assert client.post(here, content=b"[" * 60000, headers=closer).status_code == 400
    stale = client.post(here, json={"reason": "r", "step": 1}, headers=closer)
    assert stale.status_code == 409
    done = client.post(here, json={"reason": "mended", "step": 2}, headers=closer)
    assert done.status_code == 200
    assert done.json()["alarm"]["reason"] == "mended"
    assert done.json()["series"]["alarm"] is False
    assert client.post(here, json={"reason": "r"}, headers=closer).status_code == 409


def test_without_tokens_a_program_cannot_acknowledge(serve):
    client = serve()
    here = f"/api/series/{client.ids['alarmed']}/acknowledge"
    for headers in ({}, {"origin": "http://127.0.0.1:8317"}):
        answer = client.post(here, json={"reason": "r"}, headers=headers)
        assert answer.status_code == 403


def metrics_of(text):
    return set(re.findall(r"\btollens_[a-z_]+", text))


def test_metrics_and_the_examples_that_use_them(serve):
    parser = pytest.importorskip("prometheus_client.parser")
    yaml = pytest.importorskip("yaml")
    client = serve(token=READ)
    assert client.get("/metrics").status_code == 401
    answer = client.get("/metrics", headers={"authorization": f"Bearer {READ}"})
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = list(parser.text_string_to_metric_families(answer.text))
    values = {
        (sample.name, sample.labels["series"]): sample.value
        for family in families
        for sample in family.samples
    }
    assert values["tollens_alarm", "alarmed"] == 1
    assert values["tollens_alarm", "quiet"] == 0
    known = {name for name, _ in values}
    rules = yaml.safe_load((EXAMPLES / "prometheus-rules.yml").read_text())
    found = [rule for group in rules["groups"] for rule in group["rules"]]
    assert {rule["alert"] for rule in found} >= {"TollensAlarm", "TollensStale"}
    assert metrics_of(" ".join(rule["expr"] for rule in found)) <= known
    scrape = yaml.safe_load((EXAMPLES / "prometheus.yml").read_text())
    assert scrape["scrape_configs"][0]["metrics_path"] == "/metrics"
    board = json.loads((EXAMPLES / "grafana.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert queries
    assert metrics_of(" ".join(queries)) <= known
