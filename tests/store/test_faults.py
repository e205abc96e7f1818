"""What goes wrong says what, where, and what to do; and leaves everything as it was."""

from __future__ import annotations

import os
import socket
import sqlite3
import sys
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import text

from tollens.errors import UsageError
from tollens.store import Store, StoreError, engines
from tollens.store.places import read_place

from .conftest import end_connections

SECRET = "s3cret%2Fpa%20ss"
SECRETS = (SECRET, "s3cret", "pa ss")


def refusal(where, **options):
    """The message of opening a place, which is one line and shows no password."""
    with pytest.raises(StoreError) as caught:
        Store.open(where, **options)
    message = str(caught.value)
    assert isinstance(caught.value, UsageError)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "\n" not in message
    assert "Traceback" not in message
    assert "sqlalche.me" not in message
    for secret in SECRETS:
        assert secret not in message
    return message


# Places


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("", "names no file"),
        (":memory:", "names no file"),
        ("a\0b", "names no file"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///a.db?mode=ro", "names no file"),
        (f"mysql://ann:{SECRET}@host/db", "mysql:// is no place for a store"),
        (f"postgresql+psycopg2://ann:{SECRET}@host/db", "is no place for a store"),
        (f"postgresql://ann:{SECRET}@host:port/db", "cannot be read; write"),
        (f"postgres://ann:{SECRET}@[::1/db", "cannot be read; write"),
        (7, "the store is a int"),
        ("~nobody-of-this-name/a.db", "no such home folder"),
    ],
)
def test_places_that_are_none(where, says):
    assert says in refusal(where)


def test_paths_and_urls_of_a_file_are_the_same_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a folder" / "50% ?#.db"
    with Store.open(path) as store:
        store.enter("counts", "d", {})
    for where in (
        str(path),
        f"sqlite:///{path}",
        "a folder/50% ?#.db",
        "sqlite:///a folder/50% ?#.db",
    ):
        if "?" in where and where.startswith("sqlite"):
            assert "names no file" in refusal(where)
            continue
        with Store.open(where, create=False) as store:
            assert len(store.series()) == 1


def test_the_wait_is_seconds(sqlite):
    assert "wait is -1" in refusal(sqlite, wait=-1)
    assert "wait is nan" in refusal(sqlite, wait=float("nan"))


def test_nothing_is_made_where_it_should_not_be(where):
    assert "there is no store at" in refusal(where, create=False)
    if not where.startswith("postgres"):
        assert not Path(where).exists()
        Path(where).touch()
        assert "there is no store at" in refusal(where, create=False)
        assert Path(where).read_bytes() == b""


# Files


def test_a_folder(tmp_path):
    assert "is a folder; give a file in it" in refusal(tmp_path)


def test_a_path_through_a_file(tmp_path):
    (tmp_path / "file").write_text("text")
    assert "cannot be made" in refusal(tmp_path / "file" / "monitor.db")
    assert "cannot be made" in refusal(tmp_path / "file" / "deeper" / "monitor.db")


def test_a_device():
    assert "is a device, not a file" in refusal("/dev/null")


@pytest.mark.parametrize("content", [b"no database\n" * 500, b"short", bytes(5000)])
def test_a_file_of_something_else(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    assert "is no SQLite database" in refusal(path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("what", ["TABLE users (id INTEGER)", "VIEW users AS SELECT 1 AS id"])
def test_a_database_of_something_else(where, what):
    engine = engines.make_engine(read_place(where), 1)
    with engines.writing(engine) as connection:
        connection.execute(text(f"CREATE {what}"))
    before = None if where.startswith("postgres") else Path(where).read_bytes()
    assert "is a database of something else (it has a table users" in refusal(where)
    if before is not None:
        assert Path(where).read_bytes() == before
    with engines.reading(engine) as connection:
        connection.execute(text("SELECT id FROM users"))
    engine.dispose()


def test_a_store_of_a_newer_tollens(where):
    with Store.open(where) as store, engines.writing(store._engine) as connection:
        connection.execute(text("UPDATE tollens_version SET version_num = '0999'"))
    for migrate in (False, True):
        assert "made by a newer tollens (its schema is 0999" in refusal(where, migrate=migrate)


def test_a_damaged_file(sqlite, step):
    with Store.open(sqlite) as store:
        series = store.enter("counts", "d", {})
        with store.turn(series.id) as turn:
            for number in range(1, 200):
                turn.record(step(number), checkpoint=b"c" * 5000)
    with Path(sqlite).open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (Path(sqlite).stat().st_size - 4096))
    with pytest.raises(StoreError, match=r"is damaged|no SQLite"), Store.open(sqlite) as store:
        list(store.steps(series.id))


def test_a_file_that_another_process_keeps(sqlite):
    Store.open(sqlite).close()
    keeper = sqlite3.connect(sqlite)
    keeper.execute("BEGIN IMMEDIATE")
    with Store.open(sqlite, wait=0.1) as store:
        with pytest.raises(StoreError, match="is locked by another process"):
            store.enter("counts", "d", {})
        keeper.close()
        assert store.enter("counts", "d", {}).id == 1


def test_an_empty_file_that_another_process_keeps(sqlite):
    keeper = sqlite3.connect(sqlite)
    keeper.execute("BEGIN EXCLUSIVE")
    assert "is locked by another process" in refusal(sqlite, wait=0.1)
    keeper.close()


def test_a_file_that_is_gone_or_replaced(sqlite, step, tmp_path):
    with Store.open(sqlite) as store:
        store.enter("counts", "d", {})
        for file in list(tmp_path.iterdir()):
            file.rename(tmp_path / f"old-{file.name}")
        with pytest.raises(StoreError, match="is gone"):
            store.series()
        with Store.open(sqlite) as other:
            other.enter("new", "d", {})
        assert [one.name for one in store.series()] == ["new"]


@pytest.fixture
def as_somebody():
    """Run a function as a user without rights, in a folder that this user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)

        def run(function):
            mine, theirs = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    if os.getuid() == 0:
                        os.setgid(65534)
                        os.setuid(65534)
                    answer = function()
                except StoreError as error:
                    answer = str(error)
                except BaseException as error:
                    answer = repr(error)
                os.write(theirs, str(answer).encode())
                os._exit(0)
            os.close(theirs)
            with os.fdopen(mine, encoding="utf-8") as pipe:
                answer = pipe.read()
            os.waitpid(child, 0)
            return answer

        yield Path(folder), run


def test_a_folder_that_cannot_be_written(as_somebody):
    folder, run = as_somebody
    folder.chmod(0o555)
    assert "cannot be opened: this user may not" in run(lambda: Store.open(folder / "monitor.db"))
    assert "cannot be made: " in run(lambda: Store.open(folder / "a" / "monitor.db"))
    folder.chmod(0o755)
    assert list(folder.iterdir()) == []


def test_a_store_that_cannot_be_written(as_somebody, step):
    folder, run = as_somebody
    path = folder / "monitor.db"
    with Store.open(path) as store:
        store.enter("counts", "d", {})
    path.chmod(0o444)

    def enter():
        with Store.open(path) as store:
            store.enter("other", "d", {})

    for mode in (0o555, 0o777):
        folder.chmod(mode)
        assert "make both writable, or give another place" in run(enter)
    folder.chmod(0o755)
    path.chmod(0o000)
    assert "this user may not read and write the file" in run(enter)


# PostgreSQL


def test_a_password_is_taken_out_of_what_a_driver_says():
    place = read_place(f"postgresql://ann:{SECRET}@host/db?sslpassword=other")
    said = place.discreet("no entry for ann with s3cret/pa ss, key other\nsecond line")
    assert said == "no entry for ann with ***, key ***"


def test_psycopg_is_missing(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    message = refusal(f"postgresql://ann:{SECRET}@host/db")
    assert message == (
        "postgresql://ann@host/db: PostgreSQL needs psycopg; install it with "
        "pip install 'tollens[postgres]'"
    )


@pytest.mark.postgres
def test_no_server():
    pytest.importorskip("psycopg")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        for query in ("", f"?password={SECRET}"):
            message = refusal(f"postgresql://ann:{SECRET}@127.0.0.1:{port}/db{query}")
            assert "the database cannot be reached" in message
            assert "ann@127.0.0.1" in message
    assert "cannot be reached" in refusal(f"postgresql://ann:{SECRET}@no-such-host.invalid/db")
    assert "cannot be" in refusal(f"postgresql://ann:{SECRET}@127.0.0.1/db?sslmod=x")
    for host in ("a..b", "a" * 70, "one,a..b"):
        assert "no host of this name" in refusal(f"postgresql://ann:{SECRET}@{host}/db")
    assert "non-integer port" in refusal(f"postgresql://ann:{SECRET}@/db?host=h&port=p")


@pytest.mark.postgres
def test_a_wrong_password(server):
    right = server.split("://", 1)[1].split("@", 1)[0]
    message = refusal(server.replace(right, f"{right.split(':')[0]}:{SECRET}"))
    assert "the password was refused; check user and password" in message


@pytest.mark.postgres
def test_a_database_that_is_not_there(server):
    assert "there is no database of this name" in refusal(
        server.replace("/postgres?", "/not_there?")
    )


@pytest.mark.postgres
def test_a_schema_that_is_not_there(server):
    assert "no schema to make tables in" in refusal(f"{server}&options=-csearch_path%3Dnone")


@pytest.mark.postgres
def test_a_user_who_may_read_only(postgres, tell):
    Store.open(postgres).close()
    read_only = postgres.replace("options=", "options=-cdefault_transaction_read_only%3Don%20")
    with Store.open(read_only) as store:
        assert store.series() == []
        with pytest.raises(StoreError, match="read-only for this user"):
            store.enter("counts", "d", {})


@pytest.mark.postgres
@pytest.mark.parametrize("moment", ["before", "within"])
def test_a_connection_that_is_lost_in_a_turn(postgres, tell, step, moment):
    with Store.open(postgres) as store:
        series = store.enter("counts", "d", {})
        with pytest.raises(StoreError) as caught, store.turn(series.id) as turn:
            if moment == "before":
                end_connections(tell, postgres)
                turn.record(step(1), checkpoint=b"lost")
            else:
                turn.record(step(1), checkpoint=b"lost")
                end_connections(tell, postgres)
                turn.find("v1", "r")
        assert str(caught.value).endswith(
            "the connection to the database was lost; nothing of this turn was recorded, and the "
            "step may be sent again"
        )
        with store.turn(series.id) as turn:
            assert (turn.number, turn.checkpoint) == (1, None)
            turn.record(step(1), checkpoint=b"kept")
        assert list(store.steps(series.id)) == [step(1)]


@pytest.mark.postgres
def test_a_connection_that_is_lost_at_the_commit(postgres, tell, step):
    """Nobody can tell what became of it, so the message does not pretend."""
    with Store.open(postgres) as store:
        series = store.enter("counts", "d", {})
        unknown = pytest.raises(StoreError, match="as a whole or not at all: send it again")
        with unknown, store.turn(series.id) as turn:
            turn.record(step(1), checkpoint=b"lost")
            end_connections(tell, postgres)
        assert list(store.steps(series.id)) == []


@pytest.mark.postgres
def test_a_connection_that_is_lost_between_turns_is_not_noticed(postgres, tell, step):
    with Store.open(postgres) as store:
        series = store.enter("counts", "d", {})
        end_connections(tell, postgres)
        with store.turn(series.id) as turn:
            turn.record(step(1), checkpoint=None)
        end_connections(tell, postgres)
        assert list(store.steps(series.id)) == [step(1)]


def test_the_error_of_the_body_counts_not_that_of_the_rollback(store, series, step, monkeypatch):
    with pytest.raises(KeyboardInterrupt), store.turn(series.id) as turn:
        turn.record(step(1), checkpoint=None)
        turn._connection.connection.dbapi_connection.close()
        raise KeyboardInterrupt
    with store.turn(series.id) as turn:
        assert turn.number == 1


def test_the_repr_shows_no_password(where):
    with Store.open(where) as store:
        assert ":tollens@" not in repr(store)
        assert repr(store).startswith("Store('")
