"""Where a store is: a path or a URL, read into what connects to it and what may be printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from tollens.errors import StoreError

_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
_EXPECTED = "give the path of a file (SQLite) or postgresql://user@host/name"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is; `path` is None for PostgreSQL. `str` shows no password."""

    url: URL
    path: Path | None

    def __str__(self) -> str:
        if self.path is not None:
            return str(self.path)
        user = f"{self.url.username}@" if self.url.username else ""
        port = f":{self.url.port}" if self.url.port else ""
        return f"postgresql://{user}{self.url.host or ''}{port}/{self.url.database or ''}"

    def discreet(self, message: str) -> str:
        """The first line of a driver's message, with what is secret taken out."""
        options = (value for key, value in self.url.query.items() if "password" in key)
        for secret in (self.url.password, *options):
            if secret:
                message = message.replace(str(secret), "***")
        return " ".join(message.strip().splitlines()[:1])


def read_place(where: str | Path) -> Place:
    """Read a path, sqlite:///path or postgresql://...; `StoreError` says what is wrong.

    >>> str(read_place("postgres://ann:secret@db.example/dp?sslmode=require"))
    'postgresql://ann@db.example/dp'
    >>> str(read_place("sqlite:////var/monitor.db"))
    '/var/monitor.db'
    """
    if isinstance(where, Path):
        return _file(str(where))
    if not isinstance(where, str):
        raise StoreError(f"the store is a {type(where).__name__}; {_EXPECTED}")
    scheme = re.match(r"([A-Za-z0-9+._-]+)://", where)
    if scheme is None:
        return _file(where)
    name = scheme[1].lower()
    if name == "sqlite":
        path = where[len("sqlite://") :]
        if not path.startswith("/") or "?" in path:
            raise StoreError(f"{where} names no file; write sqlite:///path, or the path alone")
        return _file(path[1:])
    if name not in _POSTGRES:
        raise StoreError(f"{scheme[0]} is no place for a store; {_EXPECTED}")
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise StoreError(
            f"the {scheme[0]} URL of the store cannot be read; write "
            "postgresql://user:password@host:port/name, with special characters of the password "
            "as %xx"
        ) from None
    return Place(url.set(drivername="postgresql+psycopg"), None)


def _file(text: str) -> Place:
    if not text.strip() or text == ":memory:" or "\0" in text:
        raise StoreError(f"{text!r} names no file; a store needs one, such as .tollens/monitor.db")
    try:
        path = Path(text).expanduser().absolute()
    except RuntimeError:  # ~somebody who does not exist
        raise StoreError(f"{text}: there is no such home folder; give the path in full") from None
    return Place(URL.create("sqlite", database=str(path)), path)


def prepare_file(path: Path, *, create: bool) -> None:
    """Make the folders of a file that is to be made; `StoreError` where there can be none."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder; give a file in it, such as {path / 'monitor.db'}")
    if path.exists():
        if not path.is_file():
            raise StoreError(f"{path} is a device, not a file; give the path of a file")
        return
    if not create:
        raise StoreError(f"there is no store at {path}; the first step of a monitor makes it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise StoreError(f"{path} cannot be made: a part of its path is a file") from None
    except OSError as error:
        raise StoreError(
            f"{path} cannot be made: {error.filename}: {error.strerror}; "
            "give a place that you may write to"
        ) from None
