"""What is known about an installation now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from webloom.application.overview.liveness import Waiting
from webloom.domain.feed import Feed
from webloom.domain.watch import Watch
from webloom.ports.connection import Connected


@dataclass(frozen=True, kw_only=True, slots=True)
class Down:
    """A dependency that does not answer."""

    name: str
    kind: str
    address: str
    reason: str

    @classmethod
    def of(cls, name: str, connected: Connected, reason: str) -> Down:
        link = connected.connection()
        return cls(name=name, kind=link.kind, address=link.address, reason=reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueState:
    name: str
    limit: int
    ready: int | None = None  # None, here and below: the broker can't say
    delayed: int | None = None
    in_flight: int | None = None
    dead: int | None = None
    handled: Sequence[int]  # per minute, up to 60, oldest first; the last minute is in progress
    handled_per_minute: float  # over the last five minutes


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    down: Sequence[Down] = ()
    roles: frozenset[str] | None = None  # of live processes; None: unknown
    waiting: Waiting = field(default_factory=Waiting)  # for a scheduler
    queues: Sequence[QueueState] = ()
    unserved: Sequence[str] = ()  # queues that no live process serves
    is_full: bool = False  # the storage budget is used up
    full: str | None = None  # what fills the database, and what to do about it
    exhausted: str | None = None  # resources that processes wait for, and what to do about it
    imports_wait: str | None = None  # why: there is no room for feeds
    failing_feeds: Sequence[Feed] = ()
    failing_watches: Sequence[Watch] = ()
    failed_pages: int = 0
    are_more_failed_pages: bool = False
