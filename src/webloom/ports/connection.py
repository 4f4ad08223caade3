from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    kind: str  # sqlite, mongodb, rabbitmq, bullmq
    address: str  # where, without credentials
    state: str  # READY, or how far the way back to it has got
    detail: str | None = None  # what went wrong last, while it is not READY


class Connected(Protocol):
    def connection(self) -> Connection:
        """As far as this process knows, without asking the server."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokerLink:
    connected: Connected
    queues: list[str]
