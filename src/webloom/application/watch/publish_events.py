"""Check events of other programs, and put them on the storage agent's queue.

raw messages -> check each -> refuse pages that a watch checks itself -> publish all
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from webloom.application.watch.find_maintained import FindMaintained
from webloom.domain.errors import EventRefused
from webloom.domain.event_admission import refuse_far_future, refuse_maintained
from webloom.domain.storage_event import Origin, milliseconds_of
from webloom.parsing.storage_event import event_of, refuse_long, with_fields
from webloom.parsing.web_url import normalise
from webloom.ports.broker import Broker, Message
from webloom.ports.clock import Clock

SMALL_BYTES = 65_536  # that take less time to check than a thread to begin


class BadEvent(Exception):
    """One that can't be stored; none of the others was published."""

    def __init__(self, index: int, reason: EventRefused) -> None:
        super().__init__(str(reason))
        self.index = index


class _Event(NamedTuple):
    body: bytes
    job_id: str
    url: str  # normalised


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishEvents:
    broker: Broker
    queue: str
    clock: Clock
    find_maintained: FindMaintained

    async def __call__(self, bodies: Sequence[bytes]) -> list[int]:
        """The places of those that the queue had no room for. Raises BadEvent before any is
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
            pages.setdefault(each.job_id, set()).add(each.url)
        maintained = await self.find_maintained(pages)
        for index, each in enumerate(events):
            try:
                refuse_maintained(each.url, maintained.get(each.job_id, ()))
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
    """One without a time gets the current one: each delivery of it would have another."""
    event = event_of(body, received=now)
    refuse_far_future(event.ts, now)
    fields: dict[str, Any] = {"origin": Origin.API.value}
    if not event.has_ts:
        fields["ts"] = milliseconds_of(now)
    body = with_fields(body, **fields)
    refuse_long(body)
    return _Event(body, event.job_id, normalise(event.url))
