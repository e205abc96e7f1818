"""What is in the wheel and in the sdist: all of ours, and nothing else."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STRAY = ("__pycache__", ".pyc", ".venv", "_build", ".db", ".tollens", ".hypothesis", ".whl")


def members(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def in_sdist(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def in_repository() -> set[str]:
    """What git keeps or would keep: neither ignored nor removed."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode != 0:
        pytest.skip("this is no git repository")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


def test_the_sdist_is_the_repository(distributions):
    assert in_sdist(distributions.sdist) == in_repository() | {"PKG-INFO"}


def test_the_wheel_has_the_files_of_the_package_and_its_metadata(distributions):
    package = {name[4:] for name in in_repository() if name.startswith("src/tollens/")}
    found = set(members(distributions.wheel))
    assert {name for name in found if name.startswith("tollens/")} == package
    assert "tollens/py.typed" in found
    others = {Path(name).name for name in found if not name.startswith("tollens/")}
    assert others == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE"}


def test_nothing_stray_is_packed(distributions):
    for name in (*members(distributions.wheel), *in_sdist(distributions.sdist)):
        assert not any(part in name for part in STRAY), name


def test_the_sdist_builds_the_same_wheel(distributions):
    assert members(distributions.wheel) == members(distributions.direct)


def test_the_metadata_are_complete(distributions):
    (text,) = (v for k, v in members(distributions.wheel).items() if k.endswith("/METADATA"))
    metadata = Parser().parsestr(text.decode("utf-8"))
    assert metadata["Name"] == "tollens"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata["Summary"] and "Typing :: Typed" in metadata.get_all("Classifier")
    assert metadata.get_payload().lstrip().startswith("# tollens")
    assert {"libraries", "opacus", "jax", "postgres"} <= set(metadata.get_all("Provides-Extra"))
    packaging = pytest.importorskip("packaging.metadata")
    packaging.Metadata.from_email(text, validate=True)


def test_the_wheel_is_small(distributions, record_property):
    size = distributions.wheel.stat().st_size
    record_property("wheel_bytes", size)
    print(f"wheel: {size / 1e6:.2f} MB")  # noqa: T201 - shown by pytest -s
    assert size < 3e6
