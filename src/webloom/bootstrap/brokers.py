"""Brokers that are servers of their own, and the limits of their queues."""

from __future__ import annotations

from contextlib import AsyncExitStack

from webloom.bootstrap.extras import extra
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.page import CHECK_QUEUE
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock
from webloom.ports.connection import Connected
from webloom.settings import Settings

MOST_CHECKS = 1_000_000  # of pages, that wait on their queue


def queue_limits(settings: Settings) -> dict[str, int]:
    """How many ready messages each queue may hold, in the order in which queues are shown."""
    return {
        METADATA_QUEUE: settings.queue_limit,
        IMPORT_QUEUE: settings.import_queue_limit,
        CHECK_QUEUE: MOST_CHECKS,
        settings.input_queue: settings.queue_limit,
    }


async def server_broker(
    url: str, settings: Settings, clock: Clock, stack: AsyncExitStack
) -> tuple[Broker, Connected]:
    """RabbitMQ or BullMQ, open until the stack is closed."""
    limits = queue_limits(settings)
    if url.startswith("amqp"):
        with extra("rabbitmq", url):
            from webloom.adapters.rabbitmq.broker import open_rabbitmq
        rabbitmq = await stack.enter_async_context(
            open_rabbitmq(url, clock, limits=limits, quorum=settings.quorum_queues)
        )
        return rabbitmq, rabbitmq
    with extra("bullmq", url):
        from webloom.adapters.bullmq.broker import open_bullmq
    bullmq = await stack.enter_async_context(
        open_bullmq(url, clock, limits=limits, lease=settings.lease)
    )
    return bullmq, bullmq
