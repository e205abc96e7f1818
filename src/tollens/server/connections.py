"""Connections of clients: one that keeps the server waiting takes no place from others."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 200


class Connection(H11Protocol):
    """A connection that makes room for a new one, and for the end of the server.

    Where there are too many, the one that has waited for its client the longest is closed: for a
    request, for the rest of one, or for an answer to be taken. So no client can hold all places.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, that of another if none is free."""
        super().connection_made(transport)
        self._since = self.loop.time()
        others = {one for one in self.connections if isinstance(one, Connection)} - {self}
        waiting = [one for one in others if one.waits]
        if len(self.connections) >= MOST_CONNECTIONS and waiting:
            oldest = min(waiting, key=lambda one: one._since)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._since = self.loop.time()
        super().on_response_complete()

    def shutdown(self) -> None:
        """End with the server: at once where the rest of a request is missing."""
        super().shutdown()
        if self.waits and not self.transport.is_closing():
            self.transport.abort()

    @property
    def waits(self) -> bool:
        """Whether it is the turn of the client, not of the server."""
        cycle = self.cycle
        return cycle is None or cycle.more_body or cycle.response_started or self.flow.write_paused
