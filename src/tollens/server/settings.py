"""What `tollens serve` was asked for: all findings at once, before anything listens."""

from __future__ import annotations

import ipaddress
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tollens.errors import UsageError

PORT = 8317

_LONGEST, _SHORTEST = 512, 20
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOW = "make one with: (umask 077; openssl rand -hex 32 > FILE)"


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Where the server listens, under which names, and which tokens give which right.

    Without tokens everybody who reaches the server may read and acknowledge. With `token` reading
    needs it; with any of the two, acknowledging needs `acknowledge_token`.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    names: frozenset[str] = frozenset()
    token: str | None = field(default=None, repr=False)
    acknowledge_token: str | None = field(default=None, repr=False)

    @property
    def known_names(self) -> frozenset[str]:
        """The names under which a request may ask for this server."""
        own = _LOOPBACK_NAMES if is_loopback(self.host) else frozenset({self.host.lower()})
        return own | self.names

    @property
    def any_address(self) -> bool:
        """Whether the server listens at all addresses, so that each of them is a name of it."""
        return self.host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound


def serve_settings(
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    names: Sequence[str] = (),
    token_file: Path | None = None,
    acknowledge_token_file: Path | None = None,
) -> ServeSettings:
    """Checked settings; `UsageError` lists all that is wrong with them.

    >>> serve_settings(host="0.0.0.0")
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: --host 0.0.0.0 can be reached from other machines, so reading needs \
a token: give --token-file FILE (make one with: (umask 077; openssl rand -hex 32 > FILE)), or \
listen on 127.0.0.1
    """
    findings: list[str] = []
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,253}", host):
        findings.append(f"--host is {host!r}; give an address or a name of this machine")
    elif token_file is None and not is_loopback(host):
        findings.append(
            f"--host {host} can be reached from other machines, so reading needs a token: give "
            f"--token-file FILE ({_HOW}), or listen on 127.0.0.1"
        )
    if not 0 <= port <= 65535:
        findings.append(f"--port is {port}; it must be a whole number from 0 to 65535")
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,253}", name):
            findings.append(f"--allow-host is {name!r}; give a name alone, such as dp.example.org")
    token = _token(token_file, "--token-file", findings)
    acknowledge_token = _token(acknowledge_token_file, "--acknowledge-token-file", findings)
    if token is not None and token == acknowledge_token:
        findings.append(
            "the two tokens are the same, but reading and acknowledging are separate rights; give "
            "two files with different tokens"
        )
    if findings:
        raise UsageError(findings)
    known = frozenset(name.lower() for name in names)
    return ServeSettings(host, port, known, token, acknowledge_token)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("192.168.0.1")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _token(path: Path | None, option: str, findings: list[str]) -> str | None:
    """The token in a file; a finding where the file cannot be used."""
    if path is None:
        return None
    try:
        about = path.stat()
        with path.open("rb") as stream:
            content = stream.read(_LONGEST + 2)
    except OSError as error:
        findings.append(f"{option}: {path} cannot be read: {error.strerror}; {_HOW}")
        return None
    if os.name == "posix" and stat.S_IMODE(about.st_mode) & 0o007:
        findings.append(f"{option}: everybody may read {path}; run: chmod 600 {path}")
    token = content.decode("ascii", "replace").strip()
    if not re.fullmatch(rf"[\x21-\x7e]{{{_SHORTEST},{_LONGEST}}}", token):
        findings.append(
            f"{option}: {path} must hold one token of {_SHORTEST} to {_LONGEST} letters, digits "
            f"and signs; {_HOW}"
        )
        return None
    return token
