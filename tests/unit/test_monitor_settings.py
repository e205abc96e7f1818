"""Settings of monitors: a table of their own, beside that of audits."""

from pathlib import Path

import pytest

from tollens.errors import UsageError
from tollens.settings import KEYS, resolve, resolve_monitor


def monitor(folder, flags=None, **environ):
    return resolve_monitor(flags or {}, environ=environ, config=None, folder=folder)


def written(folder, text, name="pyproject.toml"):
    (folder / name).write_text(text)
    return folder


BOTH = """
[tool.tollens]
alpha = 1e-9
method = "mmd"
budget = 7
workers = 2
store = "shared.db"

[tool.tollens.monitor]
alpha = 0.01
pairs = 400
horizon = "arl"
stale-after = "2d"
"""


def test_each_command_reads_its_own_table(tmp_path):
    folder = written(tmp_path, BOTH)
    audit = resolve({}, environ={}, config=None, folder=folder)
    assert set(audit) == set(KEYS)
    assert (audit["alpha"], audit["method"], audit["budget"]) == (1e-9, "mmd", 7)
    found = monitor(folder)
    assert (found["alpha"], found["method"], found["pairs"]) == (0.01, "exact", 400)
    assert (found["horizon"], found["stale-after"], found["workers"]) == ("arl", "2d", 2)


def test_the_alpha_of_audits_never_applies_to_a_monitor(tmp_path):
    folder = written(tmp_path, "[tool.tollens]\nalpha = 1e-9\n")
    assert monitor(folder, TOLLENS_ALPHA="0.5")["alpha"] == 0.05


def test_a_store_in_a_file_is_seen_from_the_folder_of_that_file(tmp_path):
    below = tmp_path / "below"
    below.mkdir()
    written(tmp_path, BOTH)
    assert monitor(below)["store"] == str(tmp_path / "shared.db")
    url = "postgresql://host/name"
    written(tmp_path, f'monitor.store = "{url}"\n', "tollens.toml")
    assert monitor(below)["store"] == url


def test_flag_then_environment_then_file_then_default(tmp_path):
    assert monitor(tmp_path)["store"] == ".tollens/monitor.db"
    written(tmp_path, '[tool.tollens.monitor]\nstore = "own.db"\n')
    assert monitor(tmp_path)["store"] == str(tmp_path / "own.db")
    assert monitor(tmp_path, TOLLENS_STORE="env.db")["store"] == "env.db"
    both = {"TOLLENS_STORE": "env.db", "TOLLENS_MONITOR_STORE": "nearer.db"}
    assert monitor(tmp_path, **both)["store"] == "nearer.db"
    assert monitor(tmp_path, {"store": "flag.db"}, **both)["store"] == "flag.db"
    assert monitor(tmp_path, TOLLENS_MONITOR_STALE_AFTER="36h")["stale-after"] == "36h"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.tollens.monitor]\npair = 3\n", "unknown setting pair; did you mean pairs?"),
        ("[tool.tollens.monitor]\nstale_after = 3\n", "did you mean stale-after?"),
        ("[tool.tollens.monitor]\nbudget = 3\n", "table monitor: unknown setting budget"),
        ("[tool.tollens]\nhorizon = 3\n", "horizon; it belongs in the table monitor"),
        ("[tool.tollens.monitor]\npairs = true\n", "pairs is True; it must be a whole number"),
        ('[tool.tollens.monitor]\nhorizon = "x"\n', "horizon is 'x'; it must be a whole number or"),
        ("[tool.tollens]\nmonitor = 3\n", "monitor must be a table"),
    ],
)
def test_faults_are_named_for_every_command(tmp_path, text, message):
    written(tmp_path, text)
    for read in (resolve, resolve_monitor):
        with pytest.raises(UsageError) as caught:
            read({}, environ={}, config=None, folder=tmp_path)
        assert message in str(caught.value)


def test_unknown_variables_are_named():
    with pytest.raises(
        UsageError, match="TOLLENS_MONITOR_PAIR; did you mean TOLLENS_MONITOR_PAIRS"
    ):
        monitor(Path("/"), TOLLENS_MONITOR_PAIR="3")
    assert resolve({}, environ={"TOLLENS_STORE": "m.db"}, config=None, folder=Path("/"))
