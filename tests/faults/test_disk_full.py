"""A disk without a single free block: another program takes every one that becomes free. What is
superseded makes room in the file, and events go on."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from faults.client import Client, client_of
from faults.conftest import MakeFleet
from faults.database import DatabaseFile
from faults.processes import SmallDisk, eventually, eventually_async
from faults.site import Site
from faults.stack import Say
from faults.test_watch_bad_input import large_event, storage_health
from faults.watch_room import WatchRoom, all_pages
from webloom.bootstrap.connections import open_services
from webloom.domain.page import STORAGE_QUEUE
from webloom.ports.pages import PageFilter
from webloom.ports.watch_run_listing import RunFilter
from webloom.settings import load_settings

PAGES = 5
URLS = [f"https://shop.example/{number}" for number in range(PAGES)]
JOB = "versions"
MIB = 1 << 20


@asynccontextmanager
async def reading(client: Client) -> AsyncIterator[list[int]]:
    """What is stored is asked for all the time; the statuses of the answers."""
    statuses: list[int] = []

    async def read_on() -> None:
        while True:
            statuses.append(await client.get_status("/api/watch/pages", jobId=JOB, url=URLS[0]))
            await asyncio.sleep(0.1)

    task = asyncio.create_task(read_on())
    try:
        yield statuses
    finally:
        task.cancel()
        await asyncio.wait([task])


async def send(client: Client, rng: random.Random, first: int, last: int) -> None:
    """These versions of every page."""
    for version in range(first, last + 1):
        for url in URLS:
            await client.insist_on_event(large_event(rng, JOB, url, version))


async def stored(client: Client) -> None:
    async def look() -> bool:
        _, health = await client.get("/health")
        return any(
            queue["name"] == STORAGE_QUEUE
            and queue["ready"] + queue["delayed"] + queue["in_flight"] == 0
            for queue in health["queues"]
        )

    await eventually_async(look, what="every event is stored")


async def check(data: Path, versions: int) -> int:
    """Each page has its last version, and each event was counted once. How many versions are
    kept."""
    DatabaseFile(data / "webloom.db").check()
    async with open_services(load_settings({"WEBLOOM_DATA_DIR": str(data)})) as services:
        pages = await all_pages(services, PageFilter(watch_id=JOB))
        assert {page.url: page.version for page in pages} == dict.fromkeys(URLS, versions)
        assert (await services.broker.depth(STORAGE_QUEUE)).dead == 0
        [run], _ = await services.watch_run_listing.runs(RunFilter(watch_id=JOB), limit=10)
        assert run.tally.processed == PAGES * versions
        assert run.tally.changes == PAGES * (versions - 1)
        kept = [await services.page_history.versions(JOB, url, limit=100) for url in URLS]
    return sum(len([each for each in of_page if each.bytes]) for of_page in kept)


@pytest.mark.timeout(300)  # events that are refused wait for seconds, and then for longer
@pytest.mark.parametrize("disk", ["96m"], indirect=True)
async def test_a_disk_without_a_free_block_is_pruned_and_written(
    site: Site, fleets: MakeFleet, disk: SmallDisk, rng: random.Random, tmp_path: Path, say: Say
) -> None:
    fleet = fleets(site, data=disk.inside, prefix=disk.enter, lease=5, retry_delay=0.1)
    room = WatchRoom(fleet=fleet)
    roles = ("api", "storage-agent", "scheduler")
    for role in roles:
        await room.start(role)
    reserve = disk.seen / "webloom.db-reserve"

    def left() -> int:
        return reserve.stat().st_size if reserve.exists() else 0

    await eventually(lambda: left() > 16 * MIB, what="the reserve is made")
    assert reserve.stat().st_mode & 0o777 == 0o600
    whole = left()
    assert reserve.stat().st_blocks * 512 >= whole, "it takes room"
    async with client_of(fleet.base) as client:
        await send(client, rng, 1, 8)
        await stored(client)
        with disk.kept_full():
            began = time.monotonic()
            async with reading(client) as statuses:
                await send(client, rng, 9, 18)
                accepted = time.monotonic() - began
                await stored(client)
            say(
                f"{10 * PAGES} events on a full disk: accepted within {accepted:.1f} s, stored "
                f"after {time.monotonic() - began:.1f} s; {left() / MIB:.1f} of {whole / MIB:.1f} "
                f"MiB of the reserve are left; {dict(client.answers)}"
            )
            assert set(statuses) == {200}, "it is read all the time"
            assert client.server_errors, "some had to wait"
            for reported in client.server_errors:
                assert "webloom.db is full: superseded versions are being pruned" in reported
                assert "MiB on it" in reported
            assert left() < whole
            await room.shut_down()  # the log and its room are gone with the last process
            for role in roles:
                await room.start(role)
            began = time.monotonic()
            await send(client, rng, 19, 20)
            await stored(client)
            say(
                f"processes that start on it store {2 * PAGES} more within "
                f"{time.monotonic() - began:.1f} s; {left() / MIB:.1f} MiB are left"
            )
        freed = time.monotonic()
        await send(client, rng, 21, 21)
        await eventually(lambda: left() == whole, what="the reserve is complete")
        await stored(client)

        async def is_well() -> bool:
            return (await storage_health(client))[1] is None

        await eventually_async(is_well, what="/health is well")
        say(f"complete and well {time.monotonic() - freed:.1f} s after there is room")
    await room.shut_down()
    kept = await check(disk.copy(tmp_path / "copy"), 21)
    say(f"{kept} of {21 * PAGES} versions are kept")
