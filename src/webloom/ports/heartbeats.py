from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

ALIVE_SECONDS = 20.0  # without a beat for so long, a process counts as gone
SEEN_SECONDS = 24 * 3600  # for which a process that is gone is remembered


@dataclass(frozen=True, kw_only=True, slots=True)
class Heartbeat:
    process_id: str  # unique for the life of the process
    role: str  # worker, storage-agent, scheduler, api
    host: str
    pid: int
    slots: int
    in_flight: int
    completed: int  # since the process started
    retried: int
    failed: int
    started_at: datetime
    # Deliveries that were settled since the process started, by queue.
    handled: Mapping[str, int] = field(default_factory=dict)
    queues: tuple[str, ...] = ()  # that it serves; workers of older versions leave it empty
    # Connections that the gate refused since the process started, by reason.
    refused: Mapping[str, int] = field(default_factory=dict)
    exhausted: str | None = None  # what this machine has run out of, so that the process waits
    remedy: str | None = None  # for that; older versions have it in `exhausted`, after a colon
    imports_wait: str | None = None  # why: there is no room for feeds where it downloads them

    def serves(self, queue: str) -> bool:
        """A worker that names no queue is of a version whose workers served all of them."""
        return queue in self.queues or (self.role == "worker" and not self.queues)


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenProcess:
    heartbeat: Heartbeat
    age: float  # seconds since the last beat

    @property
    def place(self) -> tuple[str, datetime]:
        """In a list."""
        return self.heartbeat.role, self.heartbeat.started_at


class Heartbeats(Protocol):
    """Signs of life: which processes are alive, and what they do.

    Raises StoreUnavailable.
    """

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Remember the newest heartbeat of a process; the same again only renews its age."""

    async def leave(self, process_id: str) -> None:
        """The process ends in good order. Unknown ids change nothing."""

    async def seen(self, within: float) -> list[SeenProcess]:
        """Processes with a heartbeat in the last `within` seconds, by role and start."""
