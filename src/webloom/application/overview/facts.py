"""What is known about this installation now: the same facts for /health, /metrics, the admin UI and
`webloom doctor`. troubles.py says what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from webloom.domain.errors import Exhausted
from webloom.domain.feed import Feed
from webloom.domain.notification import Notification
from webloom.domain.watch import Watch
from webloom.ports.connection import Connection
from webloom.ports.heartbeats import ALIVE_SECONDS, Heartbeat, SeenProcess
from webloom.ports.watches import WatchCounts

if TYPE_CHECKING:
    from webloom.application.move.restore import UnfinishedRestore


@dataclass(frozen=True, kw_only=True, slots=True)
class Backend:
    """The store or a broker."""

    name: str
    connection: Connection
    queues: Sequence[str] = ()  # of a broker
    problem: str | None = None  # why it, or one of its queues, can't be used
    answers: bool = True  # a broker does as long as its first queue can be used
    milliseconds: float = 0.0  # that its first answer took


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueState:
    name: str
    limit: int
    ready: int | None = None  # None, here and below: the broker can't say
    delayed: int | None = None
    in_flight: int | None = None
    dead: int | None = None
    handled: Sequence[int] = ()  # per minute, up to 60, oldest first; the last is in progress
    handled_per_minute: float = 0.0  # over the last five minutes


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """What only a scheduler starts and ends."""

    feeds: int = 0  # on a schedule, or with a run in progress
    watches: int = 0  # the same; a lower bound

    @classmethod
    def of(cls, feeds: Iterable[Feed], watches: WatchCounts) -> Self:
        return cls(
            feeds=sum(feed.config.enabled or feed.active_run_id is not None for feed in feeds),
            watches=max(watches.enabled, watches.checking),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    store: Backend
    brokers: Sequence[Backend] = ()  # the one of metadata_queue first
    queues: Sequence[QueueState] = ()
    processes: Sequence[SeenProcess] = ()  # also those that ended a few minutes ago
    waiting: Waiting = Waiting()  # for a scheduler; known while none is alive
    is_full: bool = False  # the storage budget is used up
    full: Exhausted | None = None  # the database
    restore: UnfinishedRestore | None = None  # that has not ended
    is_restoring: bool = False  # it goes on; if not, it was interrupted
    failing_feeds: Sequence[Feed] = ()
    failing_watches: Sequence[Watch] = ()
    watch_errors: Mapping[str, str] = field(default_factory=dict)  # of the first, by last run
    failing_targets: Sequence[Notification] = ()  # the latest failed one of each
    are_more_failing_targets: bool = False
    notifying: Mapping[str, Watch] = field(default_factory=dict)  # the watches of the first, by id
    failed_pages: int = 0  # of watches that do not fail themselves
    are_more_failed_pages: bool = False

    @property
    def alive(self) -> list[Heartbeat]:
        return [each.heartbeat for each in self.processes if each.age <= ALIVE_SECONDS]

    @property
    def roles(self) -> frozenset[str] | None:
        """Of live processes. None: unknown, as one that can't write its heartbeat may be alive."""
        if self.store.problem is not None or self.full is not None:
            return None
        return frozenset(beat.role for beat in self.alive)


def unserved(queues: Iterable[str], alive: Collection[Heartbeat]) -> list[str]:
    """The queues that no live process serves, in their order."""
    return [queue for queue in queues if not any(beat.serves(queue) for beat in alive)]
