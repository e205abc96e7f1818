"""The workflow, the crontab and the units in examples/monitor are run, not only shown."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "monitor"
OTHER_STEPS = (
    "actions/checkout",
    "actions/setup-python",
    "actions/cache",
    "actions/upload-artifact",
)


@pytest.fixture
def project(tmp_path):
    """A repository with the mechanism, as the workflow finds it after its checkout."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(EXAMPLES / "counts.py", folder)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a mechanism with a promise")
    return folder


def git(folder, *words):
    author = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=no")
    done = subprocess.run(
        ["git", "-C", str(folder), *author, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def shell(command, folder, **environment):
    """Run a line as the runner of GitHub and cron do, with `tollens` on the path.

    The examples have no seed: at their alpha of .05 a test would fail now and then.
    """
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TOLLENS_")}
    return subprocess.run(
        ["sh", "-e", "-c", command], cwd=folder,
        env={**clean, "PATH": places, "TOLLENS_MONITOR_ALPHA": "1e-6", **environment},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def workflow():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((EXAMPLES / "github-actions.yml").read_text(encoding="utf-8"))


def test_the_commands_of_the_workflow_run(project):
    """Twice with good versions and once with a broken one: 0, 0 and then 1 at the step."""
    job = workflow()["jobs"]["monitor"]
    store = re.search(r"\|\| '(.*)' }}", job["env"]["TOLLENS_STORE"])[1]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands[0].startswith("python -m pip install")
    step, *others = commands[1:]
    for scale, code in ((1.0, 0), (1.0, 0), (0.4, 1)):
        text = (project / "counts.py").read_text()
        (project / "counts.py").write_text(re.sub(r"scale=[\d.]+", f"scale={scale}", text))
        git(project, "commit", "--quiet", "--all", "--allow-empty", "--message", f"scale {scale}")
        version = git(project, "rev-parse", "HEAD")
        line = step.replace("${{ github.sha }}", version)
        assert "${{" not in line
        done = shell(line, project, TOLLENS_STORE=store)
        assert done.returncode == code, done.stderr
        for other in others:
            shown = shell(other, project, TOLLENS_STORE=store)
            assert shown.returncode == 0, shown.stderr
            assert version[:12] in shown.stdout
    assert (project / store).is_file()
    kept = [step["with"]["path"] for step in job["steps"] if "path" in step.get("with", {})]
    assert set(kept) == {str(Path(store).parent)}, "what is carried over is the folder of the store"


def test_the_workflow_uses_what_exists_and_little_else():
    content = workflow()
    job = content["jobs"]["monitor"]
    assert content[True] == {"push": {"branches": ["main"]}}, "YAML reads `on` as true"
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step)
        if "uses" in step:
            assert step["uses"].startswith(OTHER_STEPS)
            assert re.search(r"@v\d+$", step["uses"])
    restored, saved = (
        step["with"]["key"] for step in job["steps"] if "key" in step.get("with", {})
    )
    assert restored == saved
    assert content["concurrency"]["cancel-in-progress"] is False


def cron_lines():
    lines = (EXAMPLES / "crontab").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_lines_of_the_crontab_run(project, tmp_path):
    metrics = tmp_path / "tollens.prom"
    for line in cron_lines():
        *times, command = line.split(maxsplit=5)
        assert all(re.fullmatch(r"[\d*/,-]+", time) for time in times)
        assert not re.search(r"(?<!\\)%", command), "cron reads a bare % as the end of the line"
        command = command.replace("\\%", "%").replace("/srv/project", str(project))
        command = command.replace("/var/lib/node_exporter/tollens.prom", str(metrics))
        done = shell(command, tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout == done.stderr == "", "cron mails whatever is printed"
    assert 'tollens_alarm{series="nightly",method="exact"} 0' in metrics.read_text()


def test_the_crontab_prints_the_history_of_an_alarm(project):
    text = (project / "counts.py").read_text()
    (project / "counts.py").write_text(text.replace("scale=1.0", "scale=0.4"))
    line = cron_lines()[0].split(maxsplit=5)[5].replace("\\%", "%")
    done = shell(line.replace("/srv/project", str(project)), project)
    assert "ALARM" in done.stdout


def units():
    return [EXAMPLES / "tollens-monitor.service", EXAMPLES / "tollens-monitor.timer"]


def test_the_command_of_the_unit_runs(project):
    text = units()[0].read_text(encoding="utf-8")
    command = re.search(r"^ExecStart=/bin/sh -c '(.*)'$", text, re.MULTILINE)[1]
    done = shell(command.replace("%%", "%"), project)
    assert done.returncode == 0, done.stderr
    assert re.search(r"nightly at version \d{4}-\d\d-\d\d", done.stdout)


def test_systemd_takes_the_units():
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd here")
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, units())], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_pages_show_the_examples_and_their_mechanism_is_that_of_the_examples():
    docs = EXAMPLES.parents[1] / "docs"
    pages = [(docs / name).read_text(encoding="utf-8") for name in ("monitor.md", "dashboard.md")]
    for path in EXAMPLES.iterdir():
        if path.suffix == ".json":  # long, and made to be imported
            assert f"`examples/monitor/{path.name}`" in pages[1]
        elif path.suffix != ".py" and path.name != "__pycache__":
            shown = "{include} ../examples/monitor/" + path.name + "\n"
            assert any(shown in page for page in pages)
    assert (
        "return len(rows) + rng.laplace(scale=1.0, size=n)" in (EXAMPLES / "counts.py").read_text()
    )
