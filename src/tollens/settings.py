"""Settings: a flag wins over the environment, that over a file, that over the default."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tollens.errors import UsageError


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError
    return int(str(value).replace("_", ""))


def _real(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: how its value is read, its default, and what it is, for help and docs."""

    read: Callable[[object], object]
    default: object
    kind: str
    help: str


KEYS: dict[str, Key] = {
    "alpha": Key(_real, 1e-6, "a number", "Error probability of the whole command."),
    "budget": Key(
        _whole, 20_000, "a whole number", "Pairs of runs of a promise, all inputs together."
    ),
    "until": Key(_text, "refuted", "a text", "When to stop: refuted, or budget (certifies more)."),
    "method": Key(_text, "projection", "a text", "The kind of bet: projection, or mmd to compare."),
    "outputs": Key(_text, "numeric", "a text", "What of the outputs is looked at: numeric."),
    "coupling": Key(_text, "auto", "a text", "Draws on x and x': common, independent or auto."),
    "seed": Key(_whole, None, "a whole number", "Makes runs of mechanisms that take rng repeat."),
    "workers": Key(
        _whole, 1, "a whole number", "Processes that run; verdicts do not depend on it."
    ),
    "timeout": Key(_real, None, "a number", "Seconds that one run may take."),
    "delta": Key(_real, None, "a number", "Where a leak is stated if the claim has no delta."),
}
"""All settings that a file, the environment or a flag may set."""


def resolve(
    flags: Mapping[str, object], *, environ: Mapping[str, str], config: Path | None, folder: Path
) -> dict[str, object]:
    """The settings in force.

    `flags` holds what the command line gave (None where it gave nothing). `config` names a file;
    otherwise the nearest `tollens.toml`, or `pyproject.toml` with a table `[tool.tollens]`, in
    `folder` or above is read. `UsageError` lists every unknown key and unreadable value.

    >>> resolve({"alpha": 0.05}, environ={"TOLLENS_BUDGET": "100"}, config=None,
    ...         folder=Path("/"))["budget"]
    100
    """
    findings: list[str] = []
    found: dict[str, object] = {name: key.default for name, key in KEYS.items()}
    found.update(_from_file(config, folder, findings))
    found.update(_from_environment(environ, findings))
    found.update({name: value for name, value in flags.items() if value is not None})
    if findings:
        raise UsageError(findings)
    return found


def _from_environment(environ: Mapping[str, str], findings: list[str]) -> dict[str, object]:
    given = {
        name.removeprefix("TOLLENS_").lower(): value
        for name, value in environ.items()
        if name.startswith("TOLLENS_")
    }
    return _read(given, "environment", lambda name: f"TOLLENS_{name.upper()}", findings)


def _from_file(config: Path | None, folder: Path, findings: list[str]) -> dict[str, object]:
    place = config if config is not None else _nearest(folder)
    if place is None:
        return {}
    try:
        content = tomllib.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        findings.append(f"{place} cannot be read: {error.strerror}")
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        findings.append(f"{place} is not TOML: {error}")
        return {}
    table: object = content
    if place.name == "pyproject.toml":
        tools = content.get("tool", {})
        table = tools.get("tollens", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        findings.append(f"{place}: [tool.tollens] must be a table")
        return {}
    return _read(table, str(place), str, findings)


def _nearest(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        own = place / "tollens.toml"
        if own.is_file():
            return own
        project = place / "pyproject.toml"
        if project.is_file():
            try:
                found = "[tool.tollens" in project.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                found = False
            return project if found else None
    return None


def _read(
    given: Mapping[str, object], place: str, spell: Callable[[str], str], findings: list[str]
) -> dict[str, object]:
    read: dict[str, object] = {}
    for name, value in given.items():
        key = KEYS.get(name)
        if key is None:
            near = difflib.get_close_matches(name, KEYS, n=1)
            hint = f"; did you mean {spell(near[0])}?" if near else f"; known: {', '.join(KEYS)}"
            findings.append(f"{place}: unknown setting {spell(name)}{hint}")
            continue
        try:
            read[name] = key.read(value)
        except ValueError:
            findings.append(f"{place}: {spell(name)} is {value!r}; it must be {key.kind}")
    return read
