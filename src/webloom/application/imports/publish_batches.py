"""Put the batches of a feed on the queue, a few at a time and in their order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import msgspec

from webloom.application.retrying import retry_until_available
from webloom.domain.errors import QueueFull
from webloom.domain.import_run import IMPORT_QUEUE, ImportRun
from webloom.jitter import jitter
from webloom.ports.broker import Broker, Message
from webloom.ports.feed_reader import ReadBatch

FULL_SECONDS = 0.05  # between two looks at a full queue
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
        """Those whose index is wanted. `total` is the number of all batches, if it is known: then
        each message has it, and else the last one. `on_published` hears of each, in order, once the
        broker has it. Waits, however long, while the queue is full or the broker away."""
        on_their_way: deque[asyncio.Task[None]] = deque()
        index = 0

        async def first() -> None:
            await asyncio.shield(on_their_way[0])
            on_their_way.popleft()
            on_published()

        try:
            async for batch in batches:
                on_read(batch)
                if batch.count:
                    if wanted(index):
                        task = asyncio.create_task(self._publish(run, index, batch, total))
                        on_their_way.append(task)
                    index += 1
                while len(on_their_way) >= AT_ONCE:
                    await first()
            while on_their_way:
                await first()
        finally:
            for task in on_their_way:
                task.cancel()
            await asyncio.gather(*on_their_way, return_exceptions=True)

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
        while True:
            try:
                await retry_until_available(lambda: self.broker.publish(IMPORT_QUEUE, message))
            except QueueFull:
                await asyncio.sleep(FULL_SECONDS * (1 + jitter()))
            else:
                return
