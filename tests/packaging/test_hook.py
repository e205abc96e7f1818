"""The hook for other repositories: pre-commit installs it from a repository, as its users do."""

from __future__ import annotations

import shutil
import sys

import pytest

AUTHOR = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=no")
COUNT = """\
import tollens


@tollens.promise("epsilon=1", neighbours=([1, 1, 1], [1, 1]))
def noisy_count(rows, rng):
    return len(rows) + rng.laplace(scale={scale})
"""


def test_pre_commit_installs_and_runs_it(sources, run, succeed, tmp_path):
    pytest.importorskip("pre_commit")
    hook, project = tmp_path / "hook", tmp_path / "project"
    shutil.copytree(sources, hook)
    project.mkdir()

    def git(*words):
        return succeed("git", *AUTHOR, *words, cwd=tmp_path).strip()

    git("-C", hook, "init", "--quiet")
    git("-C", hook, "add", "--all")
    git("-C", hook, "commit", "--quiet", "--message", "a release")
    revision = git("-C", hook, "rev-parse", "HEAD")
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hook}\n  rev: {revision}\n  hooks: [{{id: tollens-check}}]\n",
        encoding="utf-8",
    )
    (project / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    git("-C", project, "init", "--quiet")
    for scale, code in (("0.5", 1), ("1.00", 0)):
        (project / "counts.py").write_text(COUNT.format(scale=scale), encoding="utf-8")
        git("-C", project, "add", "--all")
        command = (sys.executable, "-m", "pre_commit", "run", "--all-files")
        done = run(*command, cwd=project, PRE_COMMIT_HOME=str(tmp_path / "home"))
        assert done.returncode == code, done.stdout + done.stderr
        assert ("REFUTED    noisy_count" in done.stdout) == bool(code)
