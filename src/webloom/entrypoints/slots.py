"""N slots, each handling one delivery at a time, until they are stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from webloom.application.retrying import retry_until_available
from webloom.domain.errors import BackendRefused, Unavailable
from webloom.domain.exhaustion import exhaustion_in
from webloom.jitter import jittered
from webloom.ports.broker import Delivery

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0  # for a message that this machine has no resources for
GIVE_BACK_SECONDS = 10.0  # for giving back what the grace period did not finish


class Slots:
    def __init__(
        self, handle: Callable[[Delivery], Awaitable[None]], deliveries: AsyncIterator[Delivery]
    ) -> None:
        self.handled = 0  # messages; those that were given back come again
        self._handle_delivery = handle
        self._deliveries = deliveries
        self._idle: set[asyncio.Task[None]] = set()
        self._all: list[asyncio.Task[None]] = []
        self._stopping = False

    def start(self, slots: int) -> None:
        self._all = [asyncio.create_task(self._serve()) for _ in range(slots)]

    async def serve_until(self, stop: asyncio.Event) -> None:
        """A slot ends early only by an error that can't be handled here: it is raised."""
        stopping = asyncio.create_task(stop.wait())
        done, _ = await asyncio.wait({stopping, *self._all}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        for slot in done - {stopping}:
            slot.result()

    async def drain(self, grace: float) -> None:
        """Take no more deliveries, and wait for those in flight."""
        self._stopping = True
        for task in self._idle:
            task.cancel()
        await asyncio.wait(self._all, timeout=grace)

    async def give_back(self) -> None:
        """Cancel what is still running: its deliveries come again."""
        if busy := [task for task in self._all if not task.done()]:
            log.warning("giving back what is unfinished", extra={"deliveries": len(busy)})
            for task in busy:
                task.cancel()
            await asyncio.wait(busy, timeout=GIVE_BACK_SECONDS)

    async def _serve(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has a task
        while not self._stopping:
            self._idle.add(task)
            try:
                delivery = await anext(self._deliveries)
            finally:
                self._idle.discard(task)
            await self._handle(delivery)

    async def _handle(self, taken: Delivery) -> None:
        delivery = _Tracked(taken)
        try:
            await self._handle_delivery(delivery)
        except asyncio.CancelledError:
            with suppress(Unavailable):
                await delivery.retry()  # changes nothing if it was settled
            raise
        except BackendRefused:  # the message is not to blame, and comes again
            raise
        except Exception as error:
            if exhaustion_in(error) is not None:  # the message is not to blame, and comes again
                extra = {"message_id": delivery.message_id, "error": str(error)}
                log.warning("a delivery is put off", extra=extra)
                await retry_until_available(lambda: delivery.retry(jittered(PAUSE_SECONDS)))
                return
            log.exception("a delivery failed", extra={"message_id": delivery.message_id})
            reason = f"unexpected {type(error).__name__}: {error}"
            await retry_until_available(lambda: delivery.dead_letter(reason))
        self.handled += not delivery.comes_again


class _Tracked:
    """A delivery that records whether it was given back."""

    def __init__(self, delivery: Delivery) -> None:
        self.message_id = delivery.message_id
        self.body = delivery.body
        self.attempt = delivery.attempt
        self.redelivered = delivery.redelivered
        self.ack = delivery.ack
        self.comes_again = False
        self._dead_letter = delivery.dead_letter
        self._give_back = delivery.retry

    async def dead_letter(self, reason: str) -> None:
        await self._dead_letter(reason)
        extra = {"message_id": self.message_id, "error": reason}
        log.warning("a message became a dead letter", extra=extra)

    async def retry(self, after: float = 0.0) -> None:
        await self._give_back(after)
        self.comes_again = True
