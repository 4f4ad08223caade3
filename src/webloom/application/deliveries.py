"""What the handlers of queues share: reading a request, putting it off, publishing what follows."""

from __future__ import annotations

import asyncio
from typing import Protocol, TypeVar

import msgspec

from webloom.application.retrying import retry_until_available
from webloom.domain.errors import QueueFull, UrlRefused
from webloom.jitter import jittered
from webloom.parsing.web_url import normalise
from webloom.ports.broker import Broker, Delivery, Message


class _HasUrl(Protocol):
    @property
    def url(self) -> str: ...


Request = TypeVar("Request", bound=_HasUrl)


async def request_in(
    delivery: Delivery, decoder: msgspec.json.Decoder[Request], what: str
) -> Request | None:
    """The request about a URL; None: it can't be used, and has become a dead letter."""
    try:
        request = decoder.decode(delivery.body)
        if normalise(request.url) != request.url:
            raise UrlRefused(f"{request.url!r} is not in its normal form")
    except (msgspec.MsgspecError, UrlRefused, UnicodeError) as error:
        reason = f"not {what}: {error}"
        await retry_until_available(lambda: delivery.dead_letter(reason))
        return None
    return request


async def defer(
    delivery: Delivery, broker: Broker, queue: str, message: Message, seconds: float
) -> None:
    """Publish `message` in place of the delivery. If the queue is full, the delivery is retried as
    it is."""
    try:
        await retry_until_available(lambda: broker.publish(queue, message, delay=seconds))
    except QueueFull:
        await retry_until_available(lambda: delivery.retry(seconds))
    else:
        await retry_until_available(delivery.ack)


async def publish_when_room(broker: Broker, queue: str, message: Message, pause: float) -> None:
    """Waits while the queue is full, for about `pause` seconds at a time."""
    while True:
        try:
            await retry_until_available(lambda: broker.publish(queue, message))
        except QueueFull:
            await asyncio.sleep(jittered(pause))
        else:
            return
