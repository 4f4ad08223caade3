"""What is known of an installation now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
class Observed:
    down: Sequence[Down] = ()
    roles: frozenset[str] | None = None  # of processes that are alive; None: nobody knows
    queues: Sequence[QueueState] = ()
    unserved: Sequence[str] = ()  # queues that no living process serves
    is_full: bool = False
    failing_feeds: Sequence[Feed] = ()
    failing_watches: Sequence[Watch] = ()
    failed_pages: int = 0
    are_more_failed_pages: bool = False
