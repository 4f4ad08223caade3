"""What is known of an installation now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from webloom.application.overview.missing_scheduler import Waiting
from webloom.domain.feed import Feed
from webloom.domain.watch import Watch


@dataclass(frozen=True, kw_only=True, slots=True)
class Down:
    """A dependency that does not answer."""

    name: str
    kind: str
    address: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueState:
    name: str
    limit: int
    ready: int | None  # None, here and below: the broker does not tell
    delayed: int | None
    in_flight: int | None
    dead: int | None
    handled: Sequence[int]  # per minute, up to 60, the oldest first; the last minute is going on
    handled_per_minute: float  # over the last five minutes


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    down: Sequence[Down] = ()
    roles: frozenset[str] | None = None  # of processes that are alive; None: nobody knows
    waiting: Waiting = field(default_factory=Waiting)  # for a scheduler
    queues: Sequence[QueueState] = ()
    unserved: Sequence[str] = ()  # queues that no living process serves
    is_full: bool = False  # the storage budget is used up
    full: str | None = None  # of the database: what is full and what to do about it
    exhausted: str | None = None  # what processes have run out of, and what to do about it
    imports_wait: str | None = None  # why: there is no room for feeds
    failing_feeds: Sequence[Feed] = ()
    failing_watches: Sequence[Watch] = ()
    failed_pages: int = 0
    are_more_failed_pages: bool = False
