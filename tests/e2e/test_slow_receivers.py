"""Notifications to receivers, some of which never answer."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from e2e.receiver import Receiver
from e2e.running import until
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import open_notifications
from webloom.domain.notification import Notification
from webloom.domain.schedule import Schedule
from webloom.domain.watch import Target, WatchConfig
from webloom.settings import load_settings

HANGING = 24
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


async def add(services: Services, name: str, *urls: str) -> None:
    """A watch with a notice for each of its targets."""
    config = WatchConfig(
        name=name,
        urls=["https://shop.test/"],
        schedule=Schedule(every_minutes=60),
        targets=[Target(url=url) for url in urls],
    )
    await services.watches.add_watch(name, config, next_run_at=None)
    await services.notifications.add(
        [
            Notification(
                notification_id=f"{name} {number}",
                watch_id=name,
                target_url=url,
                run_id="run",
                due_at=LONG_AGO,
                lines=["it changed"],
            )
            for number, url in enumerate(urls)
        ]
    )


async def is_sent(services: Services, watch_id: str) -> bool:
    notices, _ = await services.notifications.of_watch(watch_id, limit=100)
    return all(each.sent_at is not None for each in notices)


async def test_hanging_webhooks_do_not_delay_the_notification_of_another_watch(
    tmp_path: Path,
) -> None:
    async with Receiver("127.0.0.1") as receiver:
        settings = load_settings(
            {"WEBLOOM_DATA_DIR": str(tmp_path), "WEBLOOM_ALLOW_ADDRESSES": receiver.endpoint}
        )
        async with open_services(settings) as services, open_notifications(services) as people:
            await add(services, "slow", *(receiver.url(f"/silence/{n}") for n in range(HANGING)))
            await add(services, "healthy", receiver.url("/hook"))
            sending = asyncio.create_task(people.send_due())
            await until(lambda: is_sent(services, "healthy"), what="a notification")
            await until(lambda: len(receiver.got) == HANGING + 1, what="all messages")
            assert not await is_sent(services, "slow")
            assert not sending.done(), "all of the others hang"
            receiver.silent.set()
            await sending
            assert await is_sent(services, "slow")
        assert len(receiver.got) == HANGING + 1, "each was sent once"
