"""What databases raise, said in words: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tollens.errors import StoreError
from tollens.store.places import Place

LOST = "the connection to the database was lost"

_READ_ONLY = "cannot be written: it is read-only for this user; make it writable or take another"
_FULL = "cannot be written: the disk is full"
_RIGHTS = "the user of the URL may not do this; grant the right, or name another user"

_SQLITE = {
    "SQLITE_NOTADB": "is no SQLite database; give the path of a store, or one where no file is yet",
    "SQLITE_READONLY": "cannot be written: the file or its folder is read-only for this user; make "
    "both writable, or give another place",
    "SQLITE_CANTOPEN": "cannot be opened: this user may not read and write the file and its "
    "folder; make both writable, or give another place",
    "SQLITE_PERM": "cannot be opened: this user may not read and write it",
    "SQLITE_FULL": _FULL,
    "SQLITE_CORRUPT": "is damaged; put a copy in its place, or begin a new store",
}

_POSTGRES = {
    "28P01": "the password was refused; check user and password of the URL",
    "28000": "the user was refused; check user and database of the URL",
    "3D000": "there is no database of this name; make it with createdb, or name another",
    "3F000": "there is no schema to make tables in; check search_path",
    "53300": "the server takes no more connections; try again",
    "57P03": "the server is starting or stopping; try again",
    "42501": _RIGHTS,
    "25006": _READ_ONLY,
    "53100": _FULL,
}

_WORDS = {  # a connection that was refused carries no code, only words
    "password authentication failed": _POSTGRES["28P01"],
    "no password supplied": _POSTGRES["28P01"],
    "no pg_hba.conf entry": _POSTGRES["28000"],
    "too many clients": _POSTGRES["53300"],
    "starting up": _POSTGRES["57P03"],
}


@contextmanager
def translated(place: Place, consequence: str = "") -> Iterator[None]:
    """Turn what SQLAlchemy raises into a `StoreError` that ends with the consequence."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreError(explain(place, error) + consequence) from None
    except UnicodeError as error:  # psycopg looks a host up before it connects
        raise StoreError(f"{place}: there can be no host of this name ({error})") from None


def explain(place: Place, error: SQLAlchemyError) -> str:
    """What went wrong, in one line that shows no password."""
    if isinstance(error, PoolTimeout):
        return f"{place}: all connections of this process are taken; end turns before new ones"
    if not isinstance(error, DBAPIError):
        return f"{place}: {place.discreet(str(error))}"
    message = place.discreet(str(error.orig)) or type(error.orig).__name__
    if place.path is not None:
        return f"{place} {_of_sqlite(str(getattr(error.orig, 'sqlite_errorname', '')), message)}"
    code = getattr(error.orig, "sqlstate", None)
    return f"{place}: {_of_postgres(code, message, lost=error.connection_invalidated)}"


def _of_sqlite(code: str, message: str) -> str:
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return (
            "is locked by another process that did not release it in time; let it end, or try again"
        )
    for known, words in _SQLITE.items():
        if code.startswith(known):
            return words
    return f"cannot be used ({message})"


def _of_postgres(code: str | None, message: str, *, lost: bool) -> str:
    if lost:
        return LOST
    if code == "55P03":
        return (
            "the series is locked by another process that did not release it in time; let it "
            "end, or try again"
        )
    if code is not None:
        return _POSTGRES.get(code, f"the database refused ({message})")
    for part, words in _WORDS.items():
        if part in message:
            return words
    if 'database "' in message and "does not exist" in message:
        return _POSTGRES["3D000"]
    return f"the database cannot be reached ({message}); check the URL, and that the server runs"
