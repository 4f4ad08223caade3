"""Limits on connections, in all and per client.

At a limit, the connection that has been idle longest is closed in favour of the new one. If all are
busy, the new one is refused.
"""

from __future__ import annotations

from typing import Protocol

from webloom.entrypoints.api.client_log import ClientLog
from webloom.entrypoints.api.clients import TrustedProxies, client_of


class Connection(Protocol):
    def drop(self) -> None:
        """Close it without sending what is buffered."""


class Connections:
    def __init__(self, *, most: int, most_of_client: int, proxies: TrustedProxies) -> None:
        self.most = most
        self.most_of_client = most_of_client
        self._proxies = proxies
        self._client_log = ClientLog(
            "a client is at its limit of connections (WEBLOOM_CONNECTIONS_PER_ADDRESS)"
        )
        self._log = ClientLog("the limit of connections is reached (half of the open files)")
        self._clients: dict[Connection, str] = {}
        self._counts: dict[str, int] = {}
        # In the order in which they became idle.
        self._idle: dict[Connection, None] = {}
        self._idle_of: dict[str, dict[Connection, None]] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def admit(self, connection: Connection, peer: str) -> int | None:
        """Count it as idle and return None, or return the status to refuse it with."""
        client = client_of(peer)
        # A proxy's clients are counted by their requests.
        if self._counts.get(client, 0) >= self.most_of_client and not self._proxies.include(peer):
            self._client_log.note(client)
            if not self._drop_oldest(self._idle_of.get(client, {})):
                return 429
        elif len(self._clients) >= self.most:
            self._log.note(client)
            if not self._drop_oldest(self._idle):
                return 503
        self._clients[connection] = client
        self._counts[client] = self._counts.get(client, 0) + 1
        self.note_idle(connection)
        return None

    def note_idle(self, connection: Connection) -> None:
        """It waits for a request."""
        if client := self._clients.get(connection):
            self._idle[connection] = None
            self._idle_of.setdefault(client, {})[connection] = None

    def note_busy(self, connection: Connection) -> None:
        """It has a request."""
        self._idle.pop(connection, None)
        client = self._clients.get(connection)
        if client and (idle := self._idle_of.get(client)):
            idle.pop(connection, None)
            if not idle:
                del self._idle_of[client]

    def forget(self, connection: Connection) -> None:
        self.note_busy(connection)
        if client := self._clients.pop(connection, None):
            self._counts[client] -= 1
            if not self._counts[client]:
                del self._counts[client]

    def _drop_oldest(self, idle: dict[Connection, None]) -> bool:
        oldest = next(iter(idle), None)
        if oldest is None:
            return False
        self.forget(oldest)
        oldest.drop()
        return True
