"""POST /api/watch/events: `storage-agent` for programs without a broker's client."""

from __future__ import annotations

import uuid
from datetime import datetime
from functools import partial

import msgspec
from fastapi import HTTPException, Request
from starlette.responses import Response

from webloom.bootstrap import Services
from webloom.domain.errors import EventRefused
from webloom.domain.storage_event import milliseconds_of
from webloom.entrypoints.api.answers import RETRY_WHEN_FULL, answer, problem
from webloom.entrypoints.api.asked import decode, off_loop
from webloom.entrypoints.api.watch_page_schemas import EventsAccepted, EventsNotAccepted
from webloom.parsing.json_limits import JsonLimits
from webloom.parsing.storage_event import event_of, with_fields
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

    async def take(self, request: Request) -> Response:
        """Take one message of `storage-agent`, or an array of them, 1,000 at most. 202 means that
        they are on the queue: what is sent twice is stored once. All are looked at first: with one
        that can't be stored, none is taken."""
        read = partial(_read, now=self._clock.now())
        messages = await off_loop(read, await request.body())
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


def _read(content: bytes, now: datetime) -> list[Message]:
    given = decode(_body, content, LIMITS)
    if given == []:
        raise HTTPException(422, f"0 events; 1 to {MOST_EVENTS:,} is possible.")
    messages = []
    for index, event in enumerate(given if isinstance(given, list) else [content]):
        try:
            body = _timed(bytes(event), now)
        except EventRefused as error:
            which = f"Event {index}: " if isinstance(given, list) else ""
            raise HTTPException(422, f"{which}{error}.") from error
        messages.append(Message(id=uuid.uuid4().hex, body=body))
    return messages


def _timed(body: bytes, now: datetime) -> bytes:
    """Where it has no time, with that of now: each delivery of it would have another one. Raises
    EventRefused."""
    if event_of(body, received=now).has_ts:
        return body
    return with_fields(body, ts=milliseconds_of(now))
