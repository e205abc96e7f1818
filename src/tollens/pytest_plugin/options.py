"""The options `--dp-...`, and what a session chooses from them, the environment and a file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from tollens.settings import DP_BUDGETS, KEYS, PYTEST_KEYS, Key, resolve

_METAVARS = {"dp-mode": "off|quick|full", "dp-alpha": "A", "dp-budget": "N", "dp-seed": "S"}
_OF_SESSION = ("alpha", "budget", "seed")
"""Settings of an audit that a session gives by keys of its own."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What holds for the audits of a session.

    `audit` are further settings of each audit, `again` the options with which another run of
    pytest chooses the same.
    """

    mode: str
    alpha: float
    budget: int
    seed: int | None
    store: Path | None
    show_evidence: bool
    audit: Mapping[str, object] = field(default_factory=dict)
    again: tuple[str, ...] = ()


def add_options(parser: pytest.Parser) -> None:
    """Add the options to pytest's own."""
    group = parser.getgroup("differential privacy (tollens)")
    for name, key in PYTEST_KEYS.items():
        text = key.help + ("" if key.default in (None, False) else f" Default: {key.default}.")
        if isinstance(key.default, bool):
            group.addoption(f"--{name}", action="store_const", const=True, help=text)
        else:
            group.addoption(
                f"--{name}", type=_reader(key), metavar=_METAVARS.get(name, "PATH"), help=text
            )
    group.addoption(
        "--dp-promises",
        action="store_true",
        help="Also collect what is declared with @tollens.promise in the files given, a test each.",
    )


def _reader(key: Key) -> Callable[[str], object]:
    def read(text: str) -> object:
        try:
            return key.read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"it is {text!r}; it must be {key.kind}") from None

    return read


def choices(config: pytest.Config) -> Choices:
    """What holds in this session; `UsageError` for a wrong environment or settings file."""
    flags = {name: config.getoption(_dest(name)) for name in PYTEST_KEYS}
    found = _resolve(flags, os.environ, config)
    others = _resolve({}, os.environ, config, KEYS)
    usual = _resolve({}, {}, config)
    mode = str(found["dp-mode"])
    return Choices(
        mode=mode,
        alpha=cast("float", found["dp-alpha"]),
        budget=cast("int", found["dp-budget"] or DP_BUDGETS.get(mode, 0)),
        seed=cast("int | None", found["dp-seed"]),
        store=None if found["dp-store"] is None else Path(str(found["dp-store"])),
        show_evidence=bool(found["dp-show-evidence"]),
        audit={name: value for name, value in others.items() if name not in _OF_SESSION},
        again=tuple(
            f"--{name}={found[name]}"
            for name in ("dp-mode", "dp-budget")
            if found[name] != usual[name]
        ),
    )


def _resolve(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    config: pytest.Config,
    keys: Mapping[str, Key] = PYTEST_KEYS,
) -> dict[str, object]:
    return resolve(flags, environ=environ, config=None, folder=config.rootpath, keys=keys)


def _dest(name: str) -> str:
    return name.replace("-", "_")
