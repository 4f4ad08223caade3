from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    kind: str  # of backend, such as sqlite
    address: str  # where, without credentials
    state: str  # READY, or the stage that reconnecting has reached
    detail: str | None = None  # the last error, while it is not READY


class Connected(Protocol):
    def connection(self) -> Connection:
        """As far as this process knows, without asking the server."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokerConnection:
    connected: Connected
    queues: list[str]
