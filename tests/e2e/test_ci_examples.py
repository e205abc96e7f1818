"""The Action, the GitLab job and the pre-commit hook of the examples are run, not only shown."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "ci"
COUNT = """\
import tollens


@tollens.promise("epsilon=1", neighbours=([1, 1, 1], [1, 1]))
def noisy_count(rows, rng):
    return len(rows) + rng.laplace(scale={scale})
"""
RIGHT, BROKEN = "1.0", "0.5"


def load(name: str):
    return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


def environment(**more: object) -> dict[str, str]:
    """Ours with the programs of this interpreter first, and no settings of tollens."""
    dropped = ("TOLLENS_", "GITHUB_", "GIT_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    clean["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return clean | {k: str(v) for k, v in more.items()}


def bash(script: str, folder: Path, **more: object) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub's runner does."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
        cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip


def project(folder: Path, scale: str) -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "counts.py").write_text(COUNT.format(scale=scale), encoding="utf-8")
    return folder


class Runner:
    """Runs the steps of the action that are commands, and notes the others."""

    def __init__(self, workspace: Path, temp: Path, **inputs: str) -> None:
        self.action = load("action.yml")
        defaults = {k: v["default"] for k, v in self.action["inputs"].items()}
        self.inputs = defaults | inputs
        self.workspace, self.temp = workspace, temp
        temp.mkdir()
        self.summary, self.output = temp / "summary.md", temp / "output.txt"
        self.outputs: dict[str, str] = {}
        self.used: list[dict[str, str]] = []

    def value(self, text: str) -> str:
        """What GitHub puts in place of an expression; only these two kinds are used."""
        text = re.sub(r"\${{ inputs\.(\w+) }}", lambda m: self.inputs[m[1]], text)
        known = self.outputs
        text = re.sub(r"\${{ steps\.check\.outputs\.(\w+) }}", lambda m: known.get(m[1], ""), text)
        assert "${{" not in text
        return text

    def wanted(self, condition: str | None) -> bool:
        found = {
            None: True,
            "inputs.install != ''": self.inputs["install"] != "",
            "inputs.upload == 'true' && steps.check.outputs.sarif != ''": (
                self.inputs["upload"] == "true" and self.outputs.get("sarif", "") != ""
            ),
        }
        return found[condition]

    def run(self) -> int:
        """The exit code of the first step that fails, or 0; later steps are then left out."""
        for step in self.action["runs"]["steps"]:
            if not self.wanted(step.get("if")):
                continue
            if "uses" in step:
                self.used.append({k: self.value(v) for k, v in step["with"].items()})
                continue
            given = {k: self.value(v) for k, v in step["env"].items()}
            assert step["shell"] == "bash" and "${{" not in step["run"], "no input is made code"
            done = bash(
                step["run"], self.workspace, **given, GITHUB_STEP_SUMMARY=self.summary,
                GITHUB_OUTPUT=self.output, GITHUB_WORKSPACE=self.workspace, RUNNER_TEMP=self.temp,
                GITHUB_ACTIONS="true", CI="true",
            )  # fmt: skip
            self.stderr = done.stderr
            if self.output.exists():
                lines = self.output.read_text().splitlines()
                self.outputs = dict(line.split("=", 1) for line in lines)
            if done.returncode:
                return done.returncode
        return 0


@pytest.mark.parametrize("scale, code, outcome", [(BROKEN, 1, "REFUTED"), (RIGHT, 0, "UNREFUTED")])
def test_the_action_on_a_broken_promise_and_on_a_right_one(tmp_path, scale, code, outcome):
    workspace = project(tmp_path / "work", scale)
    runner = Runner(workspace, tmp_path / "temp", paths="src", budget="3000", install="")
    assert runner.run() == code, runner.stderr
    assert runner.outputs["code"] == str(code)
    summary = unescape(runner.summary.read_text(encoding="utf-8"))
    assert outcome in summary and "noisy_count" in summary
    verdicts = json.loads(Path(runner.outputs["verdicts"]).read_text(encoding="utf-8"))
    assert verdicts["alpha"] == 1e-6
    assert [row["verdict"]["outcome"] for row in verdicts["verdicts"]] == [outcome]
    (upload,) = runner.used
    assert upload == {"sarif_file": runner.outputs["sarif"], "category": "tollens"}
    found = json.loads(Path(upload["sarif_file"]).read_text(encoding="utf-8"))["runs"][0]["results"]
    places = [result["locations"][0]["physicalLocation"] for result in found]
    uris = [place["artifactLocation"]["uri"] for place in places]
    assert uris == (["src/counts.py"] if code else [])
    assert not list(workspace.glob("*.json")), "nothing is left in the workspace"


def test_the_action_fails_where_nothing_was_tested(tmp_path):
    (tmp_path / "work").mkdir()
    runner = Runner(tmp_path / "work", tmp_path / "temp", install="")
    assert runner.run() == 3
    assert runner.outputs["code"] == "3"


def test_the_action_fails_on_wrong_settings_and_takes_no_input_for_code(tmp_path):
    workspace = project(tmp_path / "work", RIGHT)
    hostile = "$(touch hacked); touch hacked"
    runner = Runner(workspace, tmp_path / "temp", paths=hostile, budget="many", install="")
    assert runner.run() == 2
    assert not list(workspace.rglob("hacked"))


def test_the_workflow_gives_the_action_what_it_takes():
    job = load("workflow.yml")["jobs"]["check"]
    assert set(job["steps"][-1]["with"]) <= set(load("action.yml")["inputs"])
    for step in (*job["steps"], *load("action.yml")["runs"]["steps"]):
        assert re.search(r"@v\d+$|^\./", step.get("uses", "./")), step


@pytest.mark.parametrize("scale, code", [(BROKEN, 1), (RIGHT, 0)])
def test_the_job_for_gitlab_runs(tmp_path, scale, code):
    job = load("gitlab-ci.yml")["promises"]
    install, *commands = job["script"]
    assert install.startswith("python -m pip install")
    done = bash("\n".join(commands), project(tmp_path / "work", scale), TOLLENS_BUDGET="3000")
    assert done.returncode == code, done.stderr
    report = tmp_path / "work" / job["artifacts"]["reports"]["junit"]
    assert ("<failure" in report.read_text(encoding="utf-8")) == bool(code)


def git(folder: Path, *words: str) -> None:
    author = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=no")
    subprocess.run(
        ["git", "-C", str(folder), *author, *words], env=environment(), check=True,
        capture_output=True,
    )  # fmt: skip


@pytest.mark.parametrize("scale, code", [(BROKEN, 1), (RIGHT, 0)])
def test_the_hook_of_pre_commit_stops_a_broken_promise(tmp_path, scale, code):
    pytest.importorskip("pre_commit")
    folder = project(tmp_path / "work", scale)
    config = (EXAMPLES / "pre-commit-config.yaml").read_text(encoding="utf-8")
    (folder / ".pre-commit-config.yaml").write_text(config, encoding="utf-8")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    done = bash("python -m pre_commit run --all-files", folder, PRE_COMMIT_HOME=tmp_path / "home")
    assert done.returncode == code, done.stdout + done.stderr
    assert ("REFUTED    noisy_count" in done.stdout) == bool(code)
    assert ("Passed" in done.stdout) != bool(code)


def test_the_hook_for_others_runs_the_same_command():
    (ours,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (example,) = load("pre-commit-config.yaml")["repos"][0]["hooks"]
    assert {k: ours[k] for k in ("id", "entry", "types_or", "pass_filenames")} == {
        k: example[k] for k in ("id", "entry", "types_or", "pass_filenames")
    }
