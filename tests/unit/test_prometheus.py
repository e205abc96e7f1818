"""Metrics are read back by the parser of Prometheus' own client."""

import math
import stat
from datetime import UTC, datetime

import pytest

from tollens.monitoring.overview import Standing
from tollens.monitoring.series import unborn
from tollens.monitoring.state import MonitorState
from tollens.report.files import write_whole
from tollens.report.prometheus import prometheus_document

parser = pytest.importorskip("prometheus_client.parser")


def row(name, *, current=True, evidence=1.5, elsewhere=(), **changes):
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    values = {
        "alarm": False, "threshold": 3.25, "epsilon_lower": 0.5, "steps": 12, "failed": 2,
        "version": "v1", "last_outcome": "scored", "updated_at": moment, "stale": False,
        "raised": None, **changes,
    }  # fmt: skip
    state = MonitorState(name=name, method="exact", evidence=evidence, **values)
    return Standing(state, "epsilon=1", 0.05, None, 750, 0.0, current, (), elsewhere)


def samples(rows):
    text = prometheus_document(rows) + "\n"
    return {
        (sample.name, sample.labels["series"]): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_all_values_come_back():
    found = samples([row("count")])
    assert found == {
        ("tollens_alarm", "count"): 0,
        ("tollens_stale", "count"): 0,
        ("tollens_evidence", "count"): 1.5,
        ("tollens_evidence_threshold", "count"): 3.25,
        ("tollens_epsilon_lower", "count"): 0.5,
        ("tollens_steps_total", "count"): 12,
        ("tollens_failed_steps_total", "count"): 2,
        ("tollens_last_step_timestamp_seconds", "count"): 1772366400,
    }


@pytest.mark.parametrize(
    "name", ['a "quoted" one', "back\\slash", "two\nlines", "\\n", "{series=}", "ε, ünï", "a,b=c #"]
)
def test_any_name_may_be_a_label(name):
    assert samples([row(name)])["tollens_steps_total", name] == 12


def test_infinities_and_nan():
    rows = [
        row("up", evidence=math.inf),
        row("down", evidence=-math.inf),
        row("no", evidence=math.nan),
    ]
    found = samples(rows)
    assert found["tollens_evidence", "up"] == math.inf
    assert found["tollens_evidence", "down"] == -math.inf
    assert math.isnan(found["tollens_evidence", "no"])
    text = prometheus_document(rows)
    assert "+Inf" in text
    assert "-Inf" in text


def test_types_and_help_are_said_once_for_each_metric():
    text = prometheus_document([row("a"), row("b")])
    families = list(parser.text_string_to_metric_families(text + "\n"))
    assert {family.type for family in families} == {"gauge", "counter"}
    assert all(family.documentation for family in families)
    assert text.count("# TYPE") == text.count("# HELP") == len(families) == 8


def test_an_alarm_of_an_older_series_is_an_alarm_of_the_name_and_no_second_sample():
    rows = [row("count", elsewhere=(object(),)), row("count", current=False, alarm=True)]
    assert samples(rows)["tollens_alarm", "count"] == 1
    assert prometheus_document(rows).count("tollens_alarm{") == 1


def test_a_series_without_steps_has_no_time_of_a_last_step():
    state = unborn("new", "exact", 0.05, ())
    found = samples([Standing(state, "epsilon=1", 0.05, None, 750, 0.0, True)])
    assert ("tollens_last_step_timestamp_seconds", "new") not in found
    assert found["tollens_steps_total", "new"] == 0


def test_no_series_is_a_valid_document():
    assert samples([]) == {}


def test_a_file_is_replaced_as_a_whole_and_readable_by_others(tmp_path):
    place = tmp_path / "tollens.prom"
    place.write_text("old")
    inode = place.stat().st_ino
    write_whole(place, "new\n")
    assert place.read_text() == "new\n"
    assert place.stat().st_ino != inode
    assert place.stat().st_mode & stat.S_IRUSR
    assert [path.name for path in tmp_path.iterdir()] == ["tollens.prom"]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    with pytest.raises(OSError, match="tollens"):
        write_whole(tmp_path / "missing" / "tollens.prom", "new")
    (tmp_path / "folder.prom").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_whole(tmp_path / "folder.prom", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.prom"]
