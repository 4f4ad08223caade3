"""Publish the batches of a feed, a few at a time and in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import msgspec

from webloom.application.deliveries import publish_when_room
from webloom.cancellation import cancel_and_wait
from webloom.domain.import_run import IMPORT_QUEUE, ImportRun
from webloom.ports.broker import Broker, Message
from webloom.ports.feed_reader import ReadBatch

FULL_PAUSE = 0.075  # seconds between two attempts on a full queue
AT_ONCE = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishBatches:
    broker: Broker

    async def __call__(
        self,
        run: ImportRun,
        batches: AsyncIterator[ReadBatch],
        *,
        wanted: Callable[[int], bool],
        total: int | None = None,
        on_read: Callable[[ReadBatch], None],
        on_published: Callable[[], None],
    ) -> None:
        """Those whose index is wanted. `total` is the number of all batches, if known: then every
        message carries it, otherwise only the last. `on_published` is called for each, in order,
        once the broker has it. Waits while the queue is full or the broker unavailable."""
        pending: deque[asyncio.Task[None]] = deque()
        index = 0

        async def first() -> None:
            await asyncio.shield(pending[0])
            pending.popleft()
            on_published()

        try:
            async for batch in batches:
                on_read(batch)
                if batch.count:
                    if wanted(index):
                        task = asyncio.create_task(self._publish(run, index, batch, total))
                        pending.append(task)
                    index += 1
                while len(pending) >= AT_ONCE:
                    await first()
            while pending:
                await first()
        finally:
            await cancel_and_wait(*pending)

    async def _publish(
        self, run: ImportRun, index: int, batch: ReadBatch, total: int | None
    ) -> None:
        if batch.is_last and total is None:
            total = index + 1
        message = Message(
            id=f"{run.run_id}-{index}",
            body=b'{"runId":%b,"sourceUrl":%b,"batchIndex":%d,"totalBatches":%b,"jobs":%b%b}'
            % (
                msgspec.json.encode(run.run_id),
                msgspec.json.encode(run.source_url),
                index,
                b"null" if total is None else b"%d" % total,
                batch.jobs,
                b',"known":"%b"' % batch.known.hex().encode() if batch.known else b"",
            ),
        )
        await publish_when_room(self.broker, IMPORT_QUEUE, message, FULL_PAUSE)
