"""What the routes of one API process share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from prometheus_client import CollectorRegistry

from webloom.application.inventory.look_up_url import LookUpUrl
from webloom.application.inventory.submit_url import SubmitUrl
from webloom.bootstrap.services import Services
from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.live_runs import LiveRuns
from webloom.entrypoints.api.memory_room import TRY_LATER
from webloom.entrypoints.api.responses import Refusal
from webloom.ports.heartbeats import Heartbeat

PREVIEWS_AT_ONCE = 2  # of feeds, and as many of pages
BULK_ACTIONS_AT_ONCE = 4
RETRY_SECONDS = 2


class Slots:
    def __init__(self, what: str, most: int) -> None:
        self._what = what
        self._most = most
        self._taken = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        if self._taken == self._most:
            raise Refusal(
                503,
                f"{self._most} {self._what} are running already. Try again.",
                {"Retry-After": str(RETRY_SECONDS)},
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


def preview_slots(what: str) -> Slots:
    return Slots(f"previews of {what}", PREVIEWS_AT_ONCE)


class OneAtATime:
    """Of what takes much of a process."""

    def __init__(self, busy: str) -> None:
        self._busy = busy
        self._is_taken = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if self._is_taken:
            raise Refusal(429, self._busy, TRY_LATER)
        self._is_taken = True
        try:
            yield
        finally:
            self._is_taken = False


@dataclass(frozen=True, kw_only=True)
class Context:
    services: Services
    beat: Heartbeat
    activity: Activity
    live_runs: LiveRuns
    registry: CollectorRegistry
    started_at: datetime
    reading_source: asyncio.Lock = field(default_factory=asyncio.Lock)  # a large one
    diffing: asyncio.Lock = field(default_factory=asyncio.Lock)  # two large texts take seconds
    feed_previews: Slots = field(default_factory=lambda: preview_slots("feeds"))
    page_previews: Slots = field(default_factory=lambda: preview_slots("pages"))
    bulk_actions: Slots = field(default_factory=lambda: Slots("bulk actions", BULK_ACTIONS_AT_ONCE))
    making_backup: OneAtATime = field(
        default_factory=lambda: OneAtATime("A backup is being downloaded at the moment. Try again.")
    )
    reading_backup: OneAtATime = field(
        default_factory=lambda: OneAtATime("Another backup is being read at the moment. Try again.")
    )

    @cached_property
    def submit_url(self) -> SubmitUrl:
        return self.services.submit_url

    @cached_property
    def look_up_url(self) -> LookUpUrl:
        return self.services.look_up_url
