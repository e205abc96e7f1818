"""The distributions, built once, and an environment in which the wheel alone is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTING = ("pytest", "pytest-xdist", "hypothesis", "syrupy")


def clean_environment() -> dict[str, str]:
    """Ours, without what would let a process find this repository or our settings."""
    dropped = ("TOLLENS_", "PYTHON", "VIRTUAL_ENV", "GITHUB_")
    return {k: v for k, v in os.environ.items() if not k.startswith(dropped)}


def _run(*words: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program outside the repository."""
    return subprocess.run(
        [str(word) for word in words], cwd=cwd, env=clean_environment() | environment,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def _succeed(*words: object, cwd: Path, **environment: str) -> str:
    done = _run(*words, cwd=cwd, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def run():
    """Run a program; it returns the process that has ended."""
    return _run


@pytest.fixture(scope="session")
def succeed():
    """Run a program that must exit with 0; it returns what it printed."""
    return _succeed


@dataclass(frozen=True)
class Distributions:
    """What was built: the sdist, the wheel made of it, and the wheel made of the repository."""

    sdist: Path
    wheel: Path
    direct: Path


@pytest.fixture(scope="session")
def distributions(tmp_path_factory) -> Distributions:
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "build")
    _succeed(*build, "--outdir", folder / "both", ROOT, cwd=folder)
    _succeed(*build, "--wheel", "--outdir", folder / "direct", ROOT, cwd=folder)
    (sdist,) = (folder / "both").glob("*.tar.gz")
    (wheel,) = (folder / "both").glob("*.whl")
    (direct,) = (folder / "direct").glob("*.whl")
    return Distributions(sdist, wheel, direct)


@pytest.fixture(scope="session")
def sources(distributions, tmp_path_factory) -> Path:
    """The folder of an unpacked sdist."""
    folder = tmp_path_factory.mktemp("sources")
    _succeed("tar", "xzf", distributions.sdist, "-C", folder, cwd=folder)
    (unpacked,) = folder.iterdir()
    return unpacked


@pytest.fixture(scope="session")
def scripts(distributions, tmp_path_factory) -> Path:
    """The folder of programs of a fresh environment with the wheel, and with pytest."""
    folder = tmp_path_factory.mktemp("fresh")
    _succeed(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    scripts = folder / "venv" / "bin"
    pip = (scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _succeed(*pip, f"{distributions.wheel}[report,server]", *TESTING, cwd=folder)
    return scripts
