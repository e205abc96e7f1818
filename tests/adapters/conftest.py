"""Tests of libraries that cannot be installed beside the others run where they can."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run_in_environment():
    """Run a file of tests in an environment of the catalogue; skips where it has not been made."""

    def run(label, file):
        named = os.environ.get("TOLLENS_ENVIRONMENTS")
        folder = Path(named) if named else Path.home() / ".cache" / "tollens" / "environments"
        python = folder / label / "bin" / "python"
        if not python.exists():
            pytest.skip(f"no environment {label}: python -m catalogue.environments {label}")
        words = ["-q", "--noconftest", "-p", "no:cacheprovider", "-o", "addopts=", str(file)]
        done = subprocess.run(
            [str(python), "-m", "pytest", *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
        return done.stdout

    return run
