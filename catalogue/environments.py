"""Make the virtual environments of the catalogue: `python -m catalogue.environments [LABEL...]`.

Each label of `environments.toml` becomes a folder under `$TOLLENS_ENVIRONMENTS` (by default
`~/.cache/tollens/environments`). One that is there and was made of the same words is left as it
is. What cannot be had is named, with the reason, and the others are made all the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

FILE = Path(__file__).with_name("environments.toml")
STAMP = "tollens-environment.json"
SHOWN = 12
"""Lines of pip that are shown where it fails."""


class CannotBeHad(Exception):
    """An environment that cannot be made here, with the reason."""


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter (`"3.8"`) and the packages that are installed in it, pinned."""

    label: str
    python: str
    packages: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where it is, or will be."""
        return root() / self.label

    @property
    def interpreter(self) -> Path:
        """Its Python."""
        windows = sys.platform == "win32"
        return self.folder / ("Scripts/python.exe" if windows else "bin/python")

    @property
    def digest(self) -> str:
        """Changes with every word of its description."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()

    @property
    def ready(self) -> bool:
        """Whether it was made of these very words."""
        try:
            stamp = json.loads((self.folder / STAMP).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return isinstance(stamp, dict) and stamp.get("digest") == self.digest


def root() -> Path:
    """The folder of all environments."""
    named = os.environ.get("TOLLENS_ENVIRONMENTS")
    return Path(named) if named else Path.home() / ".cache" / "tollens" / "environments"


def environments() -> dict[str, Environment]:
    """All environments by their label, in the order of the file."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        label: Environment(label, table["python"], tuple(table["packages"]))
        for label, table in tables.items()
    }


def make(environment: Environment) -> None:
    """Make an environment anew; `CannotBeHad` says why there is none."""
    base = find_interpreter(environment.python)
    shutil.rmtree(environment.folder, ignore_errors=True)
    environment.folder.parent.mkdir(parents=True, exist_ok=True)
    _run([str(base), "-m", "venv", str(environment.folder)], "venv")
    pip = [str(environment.interpreter), "-m", "pip", "install", "--quiet", "--prefer-binary"]
    # the newest setuptools has no pkg_resources, which old releases import
    _run([*pip, "setuptools<81", *environment.packages], "pip")
    made = {"digest": environment.digest, **asdict(environment)}
    (environment.folder / STAMP).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def find_interpreter(version: str) -> Path:
    """A Python of this version: `pythonX.Y` on the path, or one that pyenv installed."""
    for candidate in _candidates(version):
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run(
            [str(candidate), "-c", code], capture_output=True, text=True, check=False
        )
        if done.returncode == 0 and done.stdout.strip() == version:
            return candidate
    raise CannotBeHad(f"no python{version} on the path, and none among the versions of pyenv")


def _candidates(version: str) -> Iterator[Path]:
    found = shutil.which(f"python{version}")
    if found:
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)


def _run(words: list[str], what: str) -> None:
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if not line.startswith("WARNING")]
        last = "\n".join(lines[-SHOWN:])
        raise CannotBeHad(f"{what} failed:\n{last}")


@click.command()
@click.argument("labels", nargs=-1)
def main(labels: tuple[str, ...]) -> None:
    """Make the environments LABELS, or all of them; those that are ready are left as they are."""
    known = environments()
    wrong = [label for label in labels if label not in known]
    if wrong:
        raise click.UsageError(f"no environment {', '.join(wrong)}; there are {', '.join(known)}")
    missing = []
    for label in labels or known:
        environment = known[label]
        if environment.ready:
            click.echo(f"{label}: ready", err=True)
            continue
        try:
            make(environment)
        except CannotBeHad as error:
            missing.append(label)
            click.echo(f"{label}: cannot be had: {error}", err=True)
        else:
            click.echo(f"{label}: made in {environment.folder}", err=True)
    if missing:
        raise click.ClickException(f"cannot be had: {', '.join(missing)}")


if __name__ == "__main__":
    main()
