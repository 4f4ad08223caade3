"""POST /api/watch/events: `storage-agent` for programs without a broker's client."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import msgspec
from fastapi import HTTPException, Request
from starlette.responses import Response

from webloom.bootstrap import Services
from webloom.domain.errors import EventRefused
from webloom.domain.event_admission import refuse_far_future, refuse_maintained
from webloom.domain.storage_event import Origin, milliseconds_of
from webloom.entrypoints.api.answers import RETRY_WHEN_FULL, answer, problem
from webloom.entrypoints.api.asked import decode, off_loop
from webloom.entrypoints.api.watch_page_schemas import EventsAccepted, EventsNotAccepted
from webloom.parsing.json_limits import JsonLimits
from webloom.parsing.storage_event import event_of, refuse_long, with_fields
from webloom.parsing.web_url import normalise
from webloom.ports.broker import Message

MOST_EVENTS = 1000

LIMITS = JsonLimits(values=1_000_000, items=MOST_EVENTS, called="events")


class _Message(msgspec.Struct):
    """Any object, of which nothing is made yet."""


_body = msgspec.json.Decoder(_Message | list[msgspec.Raw])


class EventRoutes:
    def __init__(self, services: Services) -> None:
        self._broker = services.broker
        self._queue = services.settings.input_queue
        self._clock = services.clock
        self._find_maintained = services.find_maintained

    async def take(self, request: Request) -> Response:
        """Take one message of `storage-agent`, or an array of them, 1,000 at most. 202 means that
        they are on the queue: what is sent twice is stored once. All are looked at first: with one
        that can't be stored, none is taken. Pages that a watch checks itself are refused, unless it
        has `acceptsEvents`."""
        read = partial(_read, now=self._clock.now())
        events = await off_loop(read, await request.body())
        await self._refuse_maintained(events)
        messages = [Message(id=uuid.uuid4().hex, body=each.body) for each in events]
        published = await self._broker.publish_many(self._queue, messages)
        refused = [index for index, taken in enumerate(published) if taken is None]
        if not refused:
            return answer(EventsAccepted(accepted=len(messages)), 202)
        accepted = len(messages) - len(refused)
        return problem(
            503,
            f"The queue is full: {accepted:,} of {len(messages):,} events were accepted. "
            "Send the others again; notAccepted has their places.",
            {"Retry-After": str(RETRY_WHEN_FULL)},
            kind=EventsNotAccepted,
            accepted=accepted,
            not_accepted=refused,
        )

    async def _refuse_maintained(self, events: list[_Read]) -> None:
        pages: dict[str, set[str]] = {}
        for each in events:
            pages.setdefault(each.job_id, set()).add(each.url)
        maintained = await self._find_maintained(pages)
        for each in events:
            with _refused(each.called):
                refuse_maintained(each.url, maintained.get(each.job_id, ()))


class _Read(NamedTuple):
    body: bytes
    job_id: str
    url: str  # normalised
    called: str  # "Event 3: ", where there are several


def _read(content: bytes, now: datetime) -> list[_Read]:
    given = decode(_body, content, LIMITS)
    if given == []:
        raise HTTPException(422, f"0 events; 1 to {MOST_EVENTS:,} is possible.")
    if not isinstance(given, list):
        return [_checked(content, "", now)]
    return [_checked(bytes(each), f"Event {index}: ", now) for index, each in enumerate(given)]


def _checked(body: bytes, called: str, now: datetime) -> _Read:
    """Where it has no time, with that of now: each delivery of it would have another one."""
    with _refused(called):
        event = event_of(body, received=now)
        refuse_far_future(event.ts, now)
        fields: dict[str, Any] = {"origin": Origin.API.value}
        if not event.has_ts:
            fields["ts"] = milliseconds_of(now)
        body = with_fields(body, **fields)
        refuse_long(body)
    return _Read(body, event.job_id, normalise(event.url), called)


@contextmanager
def _refused(called: str) -> Iterator[None]:
    try:
        yield
    except EventRefused as error:
        raise HTTPException(422, f"{called}{error}.") from error
