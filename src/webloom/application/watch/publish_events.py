"""Check events of other programs, and publish them for the storage agent.

raw messages -> check each -> refuse pages that a watch checks itself -> publish all
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from webloom.domain.errors import BackendRefused, EventRefused, StoreUnavailable
from webloom.domain.event_admission import maintained_urls, refuse_far_future, refuse_maintained
from webloom.domain.storage_event import Origin, milliseconds_of
from webloom.parsing.storage_event import event_of, refuse_long, with_fields
from webloom.parsing.web_url import normalise
from webloom.ports.broker import Broker, Message
from webloom.ports.clock import Clock
from webloom.ports.watches import Watches

log = logging.getLogger(__name__)

SMALL_BYTES = 65_536  # checked faster than a thread starts
STORE_SECONDS = 1.0  # for which events wait for a slow store


class BadEvent(Exception):
    """One event can't be stored; none was published."""

    def __init__(self, index: int, reason: EventRefused) -> None:
        super().__init__(str(reason))
        self.index = index


class _Event(NamedTuple):
    body: bytes
    watch_id: str
    url: str  # normalised


@dataclass(frozen=True, kw_only=True, slots=True)
class FindMaintained:
    """Finds pages that our own checker maintains."""

    watches: Watches
    seconds: float | None  # None: the store is the broker too, so nothing works without it

    async def __call__(self, pages: Mapping[str, AbstractSet[str]]) -> dict[str, set[str]]:
        """Those among the given URLs, by watch. While the store is unavailable or slow, some are
        missing: the storage agent checks again."""
        found: dict[str, set[str]] = {}
        try:
            async with asyncio.timeout(self.seconds):
                for watch_id, urls in pages.items():
                    watch = await self.watches.find_watch(watch_id)
                    found[watch_id] = {each for each in maintained_urls(watch) if each in urls}
        except (TimeoutError, StoreUnavailable, BackendRefused) as error:
            if self.seconds is None:
                raise
            log.warning("accepting without the store", extra={"error": str(error) or "too slow"})
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishEvents:
    broker: Broker
    queue: str
    clock: Clock
    find_maintained: FindMaintained

    async def __call__(self, bodies: Sequence[bytes]) -> list[int]:
        """The indexes of events that did not fit on the queue. Raises BadEvent before any is
        published, BrokerUnavailable."""
        now = self.clock.now()
        if sum(map(len, bodies)) <= SMALL_BYTES:
            events = _checked(bodies, now)
        else:
            events = await asyncio.to_thread(_checked, bodies, now)
        await self._refuse_maintained(events)
        messages = [Message(id=uuid.uuid4().hex, body=each.body) for each in events]
        published = await self.broker.publish_many(self.queue, messages)
        return [index for index, taken in enumerate(published) if taken is None]

    async def _refuse_maintained(self, events: list[_Event]) -> None:
        pages: dict[str, set[str]] = {}
        for each in events:
            pages.setdefault(each.watch_id, set()).add(each.url)
        maintained = await self.find_maintained(pages)
        for index, each in enumerate(events):
            try:
                refuse_maintained(each.url, maintained.get(each.watch_id, ()))
            except EventRefused as error:
                raise BadEvent(index, error) from error


def _checked(bodies: Sequence[bytes], now: datetime) -> list[_Event]:
    events = []
    for index, body in enumerate(bodies):
        try:
            events.append(_event(body, now))
        except EventRefused as error:
            raise BadEvent(index, error) from error
    return events


def _event(body: bytes, now: datetime) -> _Event:
    """Without a time it gets the current one: otherwise each delivery would have its own."""
    event = event_of(body, received=now)
    refuse_far_future(event.ts, now)
    fields: dict[str, Any] = {"origin": Origin.API.value}
    if not event.has_ts:
        fields["ts"] = milliseconds_of(now)
    body = with_fields(body, **fields)
    refuse_long(body)
    return _Event(body, event.watch_id, normalise(event.url))
