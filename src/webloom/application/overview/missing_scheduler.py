"""Whether anything waits for a scheduler while none is alive: the one rule for /health, the admin
UI and `webloom doctor`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

from webloom.domain.feed import Feed
from webloom.ports.watches import WatchCounts


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """What only a scheduler begins and ends."""

    feeds: int = 0  # on a schedule, or with a run that has not ended
    watches: int = 0  # the same; at least so many

    @classmethod
    def of(cls, feeds: Iterable[Feed], watches: WatchCounts) -> Self:
        return cls(
            feeds=sum(feed.config.enabled or feed.active_run_id is not None for feed in feeds),
            watches=max(watches.enabled, watches.checking),
        )


def missing_scheduler(waiting: Waiting, roles: Collection[str]) -> str | None:
    """What is wrong, as a sentence. `roles` are those of the processes that are alive."""
    if "scheduler" in roles or not (waiting.feeds or waiting.watches):
        return None
    counts = ((waiting.feeds, "feed", "feeds"), (waiting.watches, "watch", "watches"))
    names = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    wait = "waits" if waiting.feeds + waiting.watches == 1 else "wait"
    return (
        f"No scheduler is running, and {' and '.join(names)} {wait} for one: "
        "no import and no check begins or ends."
    )
