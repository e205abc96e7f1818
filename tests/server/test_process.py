"""`tollens serve` as a process: what it says before it listens, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager

import pytest
from click.testing import CliRunner

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tollens.cli import main
from tollens.errors import UsageError
from tollens.server.connections import MOST_CONNECTIONS
from tollens.server.settings import serve_settings

from .conftest import CLOSE, READ


def refused(*arguments):
    found = CliRunner().invoke(main, ["serve", *arguments])
    assert found.exit_code == 2
    return " ".join(found.stderr.split())


def hear():
    """Hear SIGINT even where the shell that runs the tests ignores it (as jobs with `&` do)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def running(*arguments):
    """A server at a free port, and its address."""
    command = [sys.executable, "-m", "tollens", "serve", "--port", "0", *arguments]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear,  # noqa: PLW1509
    ) as process:
        try:
            line = process.stderr.readline()
            yield process, re.search(r"http://\S+/", line)[0]
        finally:
            if process.poll() is None:
                process.kill()


def connect(address):
    """A connection to a server that sends nothing by itself."""
    host, port = re.search(r"//(.*):(\d+)/", address).groups()
    return socket.create_connection((host, int(port)), timeout=20)


def begin(client, address, path, *headers):
    """Send the head of a request, and wait until the server waits for its body."""
    lines = [
        f"POST {path} HTTP/1.1", f"Host: {address[7:-1]}", f"Origin: {address[:-1]}",
        "Content-Length: 14", "Expect: 100-continue", *headers,
    ]  # fmt: skip
    client.sendall("\r\n".join([*lines, "", ""]).encode())
    assert b" 100 " in client.recv(1000)


def secret(path, text=READ, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def test_another_host_needs_a_token():
    assert "reading needs a token: give --token-file" in refused("--host", "0.0.0.0")


@pytest.mark.parametrize("host", ["a..b", "a" * 70])
def test_a_host_that_cannot_be(store_path, tmp_path, host):
    token = str(secret(tmp_path / "token"))
    said = refused("--host", host, "--store", str(store_path), "--token-file", token)
    assert f"--host {host} --port 8317: there is no such address here" in said


def test_a_store_that_is_not_there(tmp_path):
    said = refused("--store", str(tmp_path / "none.db"))
    assert "the first step of a monitor makes it" in said


def test_a_port_that_is_taken(store_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refused("--store", str(store_path), "--port", port)
    assert f"--port {port}: another program listens there" in said


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    short, open_ = secret(tmp_path / "short", "abc"), secret(tmp_path / "open", READ, 0o644)
    with pytest.raises(UsageError) as caught:
        serve_settings(
            host="no host", port=99999, names=["http://x"], token_file=short,
            acknowledge_token_file=open_,
        )  # fmt: skip
    said = "\n".join(caught.value.findings)
    assert len(caught.value.findings) == 5
    for words in ("--host is 'no host'", "--port is 99999", "--allow-host is 'http://x'",
                  "must hold one token of 20", f"chmod 600 {open_}"):  # fmt: skip
        assert words in said
    assert READ not in said


def test_the_two_tokens_differ(tmp_path):
    one, same = secret(tmp_path / "one"), secret(tmp_path / "same", READ + "\n")
    with pytest.raises(UsageError, match="separate rights"):
        serve_settings(token_file=one, acknowledge_token_file=same)
    assert READ not in repr(serve_settings(token_file=one))


@pytest.mark.parametrize("content", ["", "ä" * 40, "two words " * 5, "x" * 9999])
def test_files_that_hold_no_token(tmp_path, content):
    with pytest.raises(UsageError, match="must hold one token"):
        serve_settings(token_file=secret(tmp_path / "token", content))
    with pytest.raises(UsageError, match="cannot be read"):
        serve_settings(token_file=tmp_path / "none")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_and_ends_at_once(store_path, number):
    with running("--store", str(store_path)) as (process, address):
        assert urllib.request.urlopen(address + "healthz", timeout=20).read() == b"ok\n"
        with connect(address), connect(address) as head, connect(address) as body:
            head.sendall(b"POST /login HTTP/1.1\r\n")
            begin(body, address, "/login")
            body.sendall(b"half")
            process.send_signal(number)
            code = process.wait(20)
        left = process.stderr.read()
    assert code == 0 if number == signal.SIGINT else code in (0, -number)
    assert left == ""


def test_clients_that_keep_the_server_waiting_take_no_place_from_others(store_path, tmp_path):
    """Nor do they end what the server is at."""
    token = secret(tmp_path / "token", CLOSE)
    half = b"POST /login HTTP/1.1\r\nHost: %b\r\nOrigin: %b\r\nContent-Length: 9\r\n\r\nhalf"
    with (
        running("--store", str(store_path), "--acknowledge-token-file", str(token)) as (_, address),
        ExitStack() as held,
        connect(address) as worked_on,
    ):
        keeper = sqlite3.connect(store_path)
        keeper.execute("BEGIN IMMEDIATE")
        begin(worked_on, address, "/api/series/1/acknowledge", f"Authorization: Bearer {CLOSE}")
        worked_on.sendall(b'{"reason":"r"}')
        half %= address[7:-1].encode(), address[:-1].encode()
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: 127", half):
            assert urllib.request.urlopen(address + "healthz", timeout=20).read() == b"ok\n"
            for _ in range(MOST_CONNECTIONS + 20):
                held.enter_context(connect(address)).sendall(sent)
        assert urllib.request.urlopen(address + "healthz", timeout=20).read() == b"ok\n"
        keeper.close()
        assert b" 200 OK" in worked_on.recv(1000)


def test_a_request_of_ten_megabytes_is_not_read(store_path):
    with running("--store", str(store_path)) as (_, address):
        with connect(address) as client:
            client.sendall(
                f"POST /login HTTP/1.1\r\nHost: {address[7:-1]}\r\nOrigin: {address[:-1]}\r\n"
                "Content-Length: 10000000\r\n\r\n".encode()
            )  # and nothing of the body
            answer = b""
            while part := client.recv(65536):
                answer += part
        assert b" 413 " in answer.splitlines()[0]
        assert urllib.request.urlopen(address + "healthz", timeout=20).status == 200


def test_tokens_of_files(store_path, tmp_path):
    token = secret(tmp_path / "token")
    with running("--store", str(store_path), "--token-file", str(token)) as (process, address):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(address + "metrics", timeout=20)
        assert caught.value.code == 401
        request = urllib.request.Request(address + "metrics")
        request.add_header("Authorization", f"Bearer {READ}")
        assert b"tollens_alarm" in urllib.request.urlopen(request, timeout=20).read()
        process.send_signal(signal.SIGINT)
        process.wait(20)
        assert READ not in process.stderr.read()
    assert os.environ.get("TOLLENS_TOKEN") is None
