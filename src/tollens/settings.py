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


def _probability(value: object) -> float:
    found = _real(value)
    if not 0 < found < 1:
        raise ValueError
    return found


def _positive(value: object) -> int:
    found = _whole(value)
    if found < 1:
        raise ValueError
    return found


def _not_negative(value: object) -> int:
    found = _whole(value)
    if found < 0:
        raise ValueError
    return found


def _mode(value: object) -> str:
    if value not in ("off", *DP_BUDGETS):
        raise ValueError
    return str(value)


def _yes(value: object) -> bool:
    known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    found = known.get(str(value).lower())
    if found is None:
        raise ValueError
    return found


def _horizon(value: object) -> int | str:
    return "arl" if value == "arl" else _whole(value)


def _span(value: object) -> str | float:
    return value if isinstance(value, str) else _real(value)


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
    "outputs": Key(_text, "numeric", "a text", "Looked at: numeric, exact (bits too), timed."),
    "coupling": Key(_text, "auto", "a text", "Draws on x and x': common, independent or auto."),
    "seed": Key(_whole, None, "a whole number", "Makes runs of mechanisms that take rng repeat."),
    "workers": Key(
        _whole, 1, "a whole number", "Processes that run; verdicts do not depend on it."
    ),
    "backend": Key(
        _text, None, "a text", "Whose workers run: local, dask://host:port or ray://host:port."
    ),
    "timeout": Key(_real, None, "a number", "Seconds that one run may take."),
    "delta": Key(_real, None, "a number", "Where a leak is stated if the claim has no delta."),
}
"""Settings of `audit` and `check` that a file, the environment or a flag may set."""

CHECK_KEYS: dict[str, Key] = {
    "proof-timeout": Key(
        _real,
        10.0,
        "a number",
        "Seconds for which a proof of each promise is looked for; 0: never.",
    ),
}
"""Settings of `check` alone."""

ALL_OF_CHECK = {**KEYS, **CHECK_KEYS}
"""All settings of `check`."""

MONITOR_KEYS: dict[str, Key] = {
    "store": Key(
        _text, ".tollens/monitor.db", "a text", "Path (SQLite) or URL (PostgreSQL) of the store."
    ),
    "method": Key(_text, "exact", "a text", "How evidence is added up: exact or brownian."),
    "alpha": Key(_real, 0.05, "a number", "Probability of any false alarm, see --horizon."),
    "horizon": Key(
        _horizon,
        None,
        'a whole number or "arl"',
        "Steps for which alpha holds; without one for all time; arl: 1 over the mean number of "
        "steps to a false alarm.",
    ),
    "pairs": Key(_whole, 750, "a whole number", "Runs of a step on each input."),
    "beta": Key(_real, 0.25, "a number", "Of method brownian: weight of short stretches."),
    "stale-after": Key(_span, None, "a time such as 2d", "How long may pass between two steps."),
    "small-counts": Key(
        _text, "refuse", "a text", "Of method brownian, on counts below its theory: refuse or warn."
    ),
    **{name: KEYS[name] for name in ("delta", "seed", "workers", "timeout")},
}
"""Settings of `monitor`: a table of their own, for alpha and method mean something else there."""

DP_BUDGETS = {"quick": 5_000, "full": 200_000}
"""Pairs of runs of each audit in a session of pytest, by its mode; there is a mode "off", too."""

PYTEST_KEYS: dict[str, Key] = {
    "dp-mode": Key(
        _mode,
        "quick",
        "off, quick or full",
        "Tests that use dp are skipped (off), or each of their audits gets "
        f"{DP_BUDGETS['quick']:,} (quick) or {DP_BUDGETS['full']:,} (full) pairs of runs.",
    ),
    "dp-alpha": Key(
        _probability,
        1e-6,
        "a number between 0 and 1",
        "Error probability of the whole session, shared out among its tests.",
    ),
    "dp-budget": Key(
        _positive,
        None,
        "a whole number of at least 1",
        "Pairs of runs of each audit, in place of what the mode gives.",
    ),
    "dp-seed": Key(
        _not_negative,
        None,
        "a whole number of at least 0",
        "Seed of each audit: makes runs of mechanisms that take rng repeat.",
    ),
    "dp-store": Key(
        _text,
        None,
        "a text",
        "Where verdicts are added as JSON: a folder (a file each), or a file .jsonl (a line each).",
    ),
    "dp-show-evidence": Key(
        _yes, False, "true or false", "Show the wealth of every audit, also where nothing failed."
    ),
}
"""Settings of a session of pytest; each is also an option of the same name."""

SHARED = ("store", "delta", "seed", "workers", "timeout")
"""Settings of `monitor` that may also stand in the table and under the names of `audit`."""

_AUDIT_TABLE = {**ALL_OF_CHECK, **PYTEST_KEYS, "store": MONITOR_KEYS["store"]}

PROMISES = "promises"
"""The tables of a settings file that declare promises; `tollens.promise_tables` reads them."""


def resolve(
    flags: Mapping[str, object],
    *,
    environ: Mapping[str, str],
    config: Path | None,
    folder: Path,
    keys: Mapping[str, Key] = KEYS,
) -> dict[str, object]:
    """The settings in force, those in `keys`.

    `flags` holds what the command line gave (None where it gave nothing). `config` names a file;
    otherwise the nearest `tollens.toml`, or `pyproject.toml` with a table `[tool.tollens]`, in
    `folder` or above is read. `UsageError` lists every unknown key and unreadable value.

    >>> resolve({"alpha": 0.05}, environ={"TOLLENS_BUDGET": "100"}, config=None,
    ...         folder=Path("/"))["budget"]
    100
    """
    found = {name: key.default for name, key in keys.items()}
    table, _ = _given(environ, config, folder)
    found.update({name: value for name, value in table.items() if name in keys})
    found.update({name: value for name, value in flags.items() if value is not None})
    return found


def resolve_monitor(
    flags: Mapping[str, object], *, environ: Mapping[str, str], config: Path | None, folder: Path
) -> dict[str, object]:
    """The settings of `monitor` in force, from `[tool.tollens.monitor]` and `TOLLENS_MONITOR_*`.

    Those in `SHARED` may also stand one level up. A path of a store in a file is taken from the
    folder of that file.

    >>> environ = {"TOLLENS_ALPHA": "0.5", "TOLLENS_STORE": "m.db", "TOLLENS_MONITOR_PAIRS": "500"}
    >>> found = resolve_monitor({}, environ=environ, config=None, folder=Path("/"))
    >>> found["alpha"], found["store"], found["pairs"]
    (0.05, 'm.db', 500)
    """
    found = {name: key.default for name, key in MONITOR_KEYS.items()}
    table, own = _given(environ, config, folder)
    found.update({name: value for name, value in table.items() if name in SHARED})
    found.update(own)
    found.update({name: value for name, value in flags.items() if value is not None})
    return found


def _given(
    environ: Mapping[str, str], config: Path | None, folder: Path
) -> tuple[dict[str, object], dict[str, object]]:
    """What a file and the environment give: for all commands, and for `monitor` alone."""
    findings: list[str] = []
    table, own = _from_file(config, folder, findings)
    named = {
        name.removeprefix("TOLLENS_").lower(): value
        for name, value in environ.items()
        if name.startswith("TOLLENS_")
    }
    for_monitor = {
        name.removeprefix("monitor_").replace("_", "-"): value
        for name, value in named.items()
        if name.startswith("monitor_")
    }
    others = {
        name.replace("_", "-"): value
        for name, value in named.items()
        if not name.startswith("monitor_")
    }
    table |= _read(_AUDIT_TABLE, others, "environment", _variable("TOLLENS_"), findings)
    spell = _variable("TOLLENS_MONITOR_")
    own |= _read(MONITOR_KEYS, for_monitor, "environment", spell, findings)
    for name in SHARED:  # the environment wins over a file, whatever the table
        if name in others and name not in for_monitor:
            own.pop(name, None)
    if findings:
        raise UsageError(findings)
    return table, own


def _variable(prefix: str) -> Callable[[str], str]:
    return lambda name: prefix + name.upper().replace("-", "_")


def _from_file(
    config: Path | None, folder: Path, findings: list[str]
) -> tuple[dict[str, object], dict[str, object]]:
    place, table = _table(config, folder, findings)
    if place is None:
        return {}, {}
    table.pop(PROMISES, None)
    for_monitor = table.pop("monitor", {})
    if not isinstance(for_monitor, dict):
        findings.append(f"{place}: monitor must be a table")
        for_monitor = {}
    read = _read(_AUDIT_TABLE, table, str(place), str, findings)
    own = _read(MONITOR_KEYS, for_monitor, f"{place}, table monitor", str, findings)
    for found, name in ((read, "store"), (own, "store"), (read, "dp-store")):
        if name in found:
            found[name] = _from_folder(str(found[name]), place)
    return read, own


def promise_tables(config: Path | None, folder: Path) -> tuple[Path, object] | None:
    """The settings file in force and its tables of promises; None where it has none."""
    findings: list[str] = []
    place, table = _table(config, folder, findings)
    if findings:
        raise UsageError(findings)
    return (place, table[PROMISES]) if place is not None and PROMISES in table else None


def _table(
    config: Path | None, folder: Path, findings: list[str]
) -> tuple[Path | None, dict[str, object]]:
    """The settings file in force, and what it says of tollens."""
    place = config if config is not None else _nearest(folder)
    if place is None:
        return None, {}
    try:
        content = tomllib.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        findings.append(f"{place} cannot be read: {error.strerror}")
        return None, {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        findings.append(f"{place} is not TOML: {error}")
        return None, {}
    table: object = content
    if place.name == "pyproject.toml":
        tools = content.get("tool", {})
        table = tools.get("tollens", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        findings.append(f"{place}: [tool.tollens] must be a table")
        return None, {}
    return place, table


def _from_folder(store: str, place: Path) -> str:
    """A relative path of a store, as seen from the folder of the settings file."""
    if "://" in store or store.startswith("~"):
        return store
    return str(place.absolute().parent / store)


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
    keys: Mapping[str, Key],
    given: Mapping[str, object],
    place: str,
    spell: Callable[[str], str],
    findings: list[str],
) -> dict[str, object]:
    read: dict[str, object] = {}
    for name, value in given.items():
        key = keys.get(name)
        if key is None:
            near = difflib.get_close_matches(name, keys, n=1)
            hint = f"; did you mean {spell(near[0])}?" if near else f"; known: {', '.join(keys)}"
            if not near and name in MONITOR_KEYS:
                hint = "; it belongs in the table monitor"
            findings.append(f"{place}: unknown setting {spell(name)}{hint}")
            continue
        try:
            read[name] = key.read(value)
        except ValueError:
            findings.append(f"{place}: {spell(name)} is {value!r}; it must be {key.kind}")
    return read
