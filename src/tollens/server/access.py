"""Who may do what: tokens, sessions of browsers, and how often a wrong token may be tried."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from tollens.server.settings import ServeSettings

Clock = Callable[[], float]

SESSION_SECONDS = 12 * 3600.0
MOST_SESSIONS = 1000


class Right(IntEnum):
    """What a request may do; each includes those before it."""

    NONE = 0
    READ = 1
    ACKNOWLEDGE = 2


class TooManyError(Exception):
    """A client gave too many wrong tokens; it may try again after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = max(1, math.ceil(seconds))


class Attempts:
    """Wrong tokens of each client: at most `most` within `seconds`, then none is looked at.

    It remembers at most `clients` clients, and forgets those first that failed the longest ago.
    """

    def __init__(
        self,
        *,
        most: int = 10,
        seconds: float = 60.0,
        clients: int = 10_000,
        clock: Clock = time.monotonic,
    ) -> None:
        self._most, self._seconds, self._clients, self._clock = most, seconds, clients, clock
        self._failed: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def refuse(self, client: str) -> None:
        """Raise `TooManyError` for a client that failed too often."""
        count, since = self._failed.get(client, (0, 0.0))
        left = since + self._seconds - self._clock()
        if left <= 0:
            self._failed.pop(client, None)
        elif count >= self._most:
            raise TooManyError(left)

    def failed(self, client: str) -> None:
        """Count a wrong token."""
        count, since = self._failed.pop(client, (0, self._clock()))
        self._failed[client] = (count + 1, since)
        while len(self._failed) > self._clients:
            self._failed.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that gave a token: its right, and when it ends."""

    right: Right
    ends: float


class Access:
    """Gives rights to tokens and sessions. Used by one thread, that of the event loop."""

    def __init__(
        self,
        settings: ServeSettings,
        *,
        clock: Clock = time.monotonic,
        attempts: Attempts | None = None,
    ) -> None:
        self._tokens = [
            (_digest(token), right)
            for token, right in (
                (settings.token, Right.READ),
                (settings.acknowledge_token, Right.ACKNOWLEDGE),
            )
            if token is not None
        ]
        self.anybody = Right.NONE if settings.token is not None else Right.READ
        if not self._tokens:
            self.anybody = Right.ACKNOWLEDGE
        self.can_acknowledge = not self._tokens or settings.acknowledge_token is not None
        self._clock, self._attempts = clock, attempts or Attempts(clock=clock)
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._key = secrets.token_bytes(32)

    @property
    def has_tokens(self) -> bool:
        """Whether there is anything to log in with."""
        return bool(self._tokens)

    def right_of_token(self, token: str, client: str) -> Right:
        """The right that a token gives: NONE for a wrong one, `TooManyError` after many.

        All tokens are compared, each in constant time.
        """
        client = _network(client)
        self._attempts.refuse(client)
        digest, found = _digest(token), Right.NONE
        for known, right in self._tokens:
            if hmac.compare_digest(known, digest):
                found = right
        if found is Right.NONE:
            self._attempts.failed(client)
        return found

    def right_of_session(self, session: str | None) -> Right:
        """The right of a browser: that of its session, or that of anybody."""
        found = self._sessions.get(session) if session is not None else None
        if found is not None and session is not None and found.ends <= self._clock():
            del self._sessions[session]
            found = None
        return self.anybody if found is None else max(found.right, self.anybody)

    def begin(self, right: Right) -> str:
        """A new session with a right; the oldest ends where there are too many."""
        name = secrets.token_urlsafe(32)
        self._sessions[name] = Session(right, self._clock() + SESSION_SECONDS)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return name

    def end(self, session: str | None) -> None:
        """End a session, if there is one."""
        if session is not None:
            self._sessions.pop(session, None)

    def csrf(self, session: str) -> str:
        """What a form of this browser must hold: another page cannot know it."""
        return hmac.new(self._key, session.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def is_csrf(self, session: str | None, given: str) -> bool:
        """Whether a form comes from a page of this browser."""
        if session is None:
            return False
        return hmac.compare_digest(self.csrf(session).encode(), given.encode("utf-8", "replace"))


def _digest(token: str) -> bytes:
    """Digests are compared, so that not even the length of a token shows."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _network(client: str) -> str:
    """The client of an address: of IPv6 its /64, of which one customer has all addresses.

    >>> _network("2001:db8::1:2"), _network("192.0.2.7")
    ('2001:db8::/64', '192.0.2.7')
    """
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    if address.version == 4:
        return client
    return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))
