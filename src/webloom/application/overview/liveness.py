"""What the heartbeats of live processes say, and what is missing among them: the same rules for
/health, the admin UI and `webloom doctor`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

from webloom.domain.feed import Feed
from webloom.ports.heartbeats import Heartbeat
from webloom.ports.watches import WatchCounts


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


def missing_scheduler(waiting: Waiting, roles: Collection[str]) -> str | None:
    """A sentence if something waits for a scheduler and none is among `roles`, which are those of
    live processes."""
    if "scheduler" in roles or not (waiting.feeds or waiting.watches):
        return None
    counts = ((waiting.feeds, "feed", "feeds"), (waiting.watches, "watch", "watches"))
    names = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    wait = "waits" if waiting.feeds + waiting.watches == 1 else "wait"
    return (
        f"No scheduler is running, and {' and '.join(names)} {wait} for one: "
        "no import and no check begins or ends."
    )


def unserved(queues: Iterable[str], alive: Iterable[Heartbeat]) -> list[str]:
    """The queues that no live process serves, in their order."""
    beats = list(alive)
    return [queue for queue in queues if not any(beat.serves(queue) for beat in beats)]


def exhausted(alive: Iterable[Heartbeat]) -> str | None:
    """Resources that processes wait for, and what to do about it. The same shortage is listed once,
    however many processes report it."""
    reported = {beat.exhausted: beat for beat in alive if beat.exhausted}
    parts = [f"{beat.role} {beat.pid} on {beat.host}: {why}" for why, beat in reported.items()]
    return "; ".join(parts) or None


def no_room_for_feeds(alive: Iterable[Heartbeat]) -> str | None:
    """A sentence about the first process whose imports wait for disk space."""
    for beat in alive:
        if beat.imports_wait is not None:
            return f"Imports wait for room: on {beat.host}, {beat.imports_wait}."
    return None
