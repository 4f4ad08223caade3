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
from webloom.entrypoints.api.responses import Refusal
from webloom.ports.heartbeats import Heartbeat

PREVIEWS_AT_ONCE = 2  # of feeds, and as many of pages
PREVIEW_RETRY_SECONDS = 2


class PreviewSlots:
    def __init__(self, what: str) -> None:
        self._what = what
        self._taken = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        if self._taken == PREVIEWS_AT_ONCE:
            raise Refusal(
                503,
                f"{PREVIEWS_AT_ONCE} previews of {self._what} are running already. Try again.",
                {"Retry-After": str(PREVIEW_RETRY_SECONDS)},
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


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
    feed_previews: PreviewSlots = field(default_factory=lambda: PreviewSlots("feeds"))
    page_previews: PreviewSlots = field(default_factory=lambda: PreviewSlots("pages"))

    @cached_property
    def submit_url(self) -> SubmitUrl:
        return self.services.submit_url

    @cached_property
    def look_up_url(self) -> LookUpUrl:
        return self.services.look_up_url
