"""A full disk and a locked database: 503 or a wait, no loss, and no restart afterwards."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from faults.client import Client, client_of
from faults.conftest import MakeFleet
from faults.database import DatabaseFile
from faults.processes import SmallDisk, eventually, eventually_async
from faults.site import Site
from webloom.domain.inventory import METADATA_QUEUE

Say = Callable[[str], None]


async def submit_all_the_time(client: Client, site: Site, stop: asyncio.Event) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        await client.post(site.url(f"/steady/{number}"))
        await asyncio.sleep(0.02)


async def is_completed(client: Client, url: str) -> bool:
    status, record = await client.get("/metadata", url=url)
    return status == 200 and record["status"] == "COMPLETED"


async def is_well(client: Client) -> bool:
    _, health = await client.get("/health")
    return bool(health["status"] == "ok")


async def is_queue_empty(client: Client) -> bool:
    _, health = await client.get("/health")
    return any(
        queue["name"] == METADATA_QUEUE
        and queue["ready"] + queue["delayed"] + queue["in_flight"] == 0
        for queue in health["queues"]  # without those that were not read in time
    )


async def test_a_full_disk_is_answered_with_503_and_work_goes_on_once_there_is_room(
    site: Site, fleets: MakeFleet, disk: SmallDisk, tmp_path: Path, say: Say
) -> None:
    fleet = fleets(site, data=disk.inside, prefix=disk.enter, lease=2, retry_delay=0.2)
    await fleet.start("api")
    await fleet.start("worker")
    known, held = site.url("/known"), [f"/held/{number}" for number in range(3)]
    async with client_of(fleet.base) as client:
        await client.insist([known], batch=1)
        await eventually_async(lambda: is_completed(client, known), what="it is fetched")
        for path in held:
            site.hold(path)
        await client.insist([site.url(path) for path in held], batch=3)
        await eventually(lambda: all(site.count(path) for path in held), what="three fetches run")
        stop = asyncio.Event()
        submitting = asyncio.create_task(submit_all_the_time(client, site, stop))
        try:
            await asyncio.sleep(0.5)
            size = disk.fill()
            full = time.monotonic()
            await eventually(lambda: client.answers["503"] >= 3, what="503")

            async def is_reported() -> bool:
                """A busy machine may only report a timeout."""
                status, health = await client.get("/health")
                assert (status, health["status"]) == (503, "down")
                [trouble, *others] = (await client.get("/api/overview"))[1]["troubles"]
                assert not any(" is alive" in each["what"] for each in others), "that is unknown"
                return "full" in str(health["storage"]) and "full" in trouble["what"]

            await eventually_async(is_reported, what="the reason in /health")
            assert await is_completed(client, known), "what is known can be read"
            for path in held:  # their outcomes wait, or find a page that is free
                site.release(path)
            await asyncio.sleep(4 - (time.monotonic() - full))  # twice the lease
            disk.free()
            freed = time.monotonic()
            accepted = client.answers["202"]
            await eventually(lambda: client.answers["202"] > accepted, what="202")
            recovered = time.monotonic() - freed
        finally:
            stop.set()
            await submitting
        await eventually_async(lambda: is_queue_empty(client), what="the queue is empty")
        say(
            f"{size >> 10} KiB filled it; {dict(client.answers)}; accepted again after "
            f"{recovered:.2f} s, all answered after {time.monotonic() - freed:.1f} s"
        )
        await eventually_async(lambda: is_well(client), what="/health is well")
    fleet.check()
    assert len(fleet.processes) == 2, "nothing was restarted"
    assert set(client.answers) == {"202", "503"}
    fleet.end()
    database = DatabaseFile(disk.copy(tmp_path / "copy") / "webloom.db")
    assert client.accepted <= {row.url for row in database.rows()}
    assert database.statuses().keys() == {"COMPLETED"}
    assert database.queued_count() == 0
    assert database.dead_letter_count() == 0
    database.check()


async def test_a_lock_that_outlasts_the_lease_starts_nothing_twice(
    site: Site, fleets: MakeFleet
) -> None:
    """No one can renew meanwhile; afterwards all attempts still belong to their holders."""
    paths = [f"/long/{n}" for n in range(4)]
    for path in paths:
        site.hold(path)
    fleet = fleets(site, lease=6, slots=8)
    database = DatabaseFile(fleet.database)
    await fleet.start("api")
    for _ in range(2):
        await fleet.start("worker")
    async with client_of(fleet.base) as client:
        await client.insist([site.url(path) for path in paths], batch=4)
        await eventually(lambda: site.requests == 4, what="four fetches")
        with closing(database.hold_write_lock()):
            await asyncio.sleep(7.6)
        await asyncio.sleep(6)  # a whole lease for anybody to take over
        for path in paths:
            site.release(path)
        await database.settled()
    assert {path: site.count(path) for path in paths} == dict.fromkeys(paths, 1)


async def test_a_locked_database_is_waited_for_or_answered_with_503_and_is_read_meanwhile(
    site: Site, fleets: MakeFleet, say: Say
) -> None:
    site.seconds = 0.05
    fleet = fleets(site, lease=2, retry_delay=0.2)
    database = DatabaseFile(fleet.database)
    await fleet.start("api")
    await fleet.start("worker")
    known, reading = site.url("/known"), []
    async with client_of(fleet.base) as client:
        await client.insist([known], batch=1)
        await database.settled()
        stop = asyncio.Event()
        await client.insist([site.url(f"/before/{n}") for n in range(300)], batch=300)
        submitting = [
            asyncio.create_task(client.insist([site.url(f"/during/{n}")], batch=1))
            for n in range(40)
        ]
        steady = asyncio.create_task(submit_all_the_time(client, site, stop))
        try:
            with closing(database.hold_write_lock()):
                locked = time.monotonic()
                accepted = client.accepted.copy()
                while time.monotonic() < locked + 8:
                    started = time.monotonic()
                    assert (await client.get("/metadata", url=known))[0] == 200
                    reading.append(time.monotonic() - started)
                    await asyncio.sleep(0.1)
                status, health = await client.get("/health")
                assert (status, health["status"]) == (503, "down")
                gained = client.accepted - accepted
            freed = time.monotonic()
            await asyncio.gather(*submitting)
            recovered = time.monotonic() - freed
        finally:
            stop.set()
            await asyncio.gather(steady, *submitting)
        await database.settled()
    say(
        f"{dict(client.answers)}; {len(reading)} reads meanwhile, the slowest "
        f"{max(reading) * 1000:.0f} ms; accepting again {recovered:.2f} s after the lock, all "
        f"answered after {time.monotonic() - freed:.1f} s"
    )
    assert len(gained) <= 1, "nothing is accepted that can't be stored"
    assert statistics.median(reading) < 2, "a reader waits for no lock"
    assert set(client.answers) <= {"202", "503"}
    assert client.accepted <= {row.url for row in database.rows()}
    assert database.statuses().keys() == {"COMPLETED"}
    assert max(row.retry_count for row in database.rows()) <= 2
    assert database.dead_letter_count() == 0
    fleet.check()
    database.check()


async def test_a_worker_that_is_stopped_with_the_write_lock_in_its_hands_blocks_no_reader(
    site: Site, fleets: MakeFleet, say: Say
) -> None:
    fleet = fleets(site, lease=2, queue_limit=10_000)
    database = DatabaseFile(fleet.database)
    await fleet.start("api")
    worker = await fleet.start("worker")
    known = site.url("/known")
    async with client_of(fleet.base) as client:
        await client.insist([known], batch=1)
        await database.settled()
        await client.insist([site.url(f"/page/{n}") for n in range(4000)], batch=4000)
        tries = 1
        worker.stop()
        while not database.is_write_locked():
            worker.go_on()
            await asyncio.sleep(0.003)
            worker.stop()
            tries += 1
            assert database.queued_count(), "it was never caught"
        waiting = asyncio.create_task(client.post(site.url("/waiting")))
        assert (await client.get("/metadata", url=known))[0] == 200
        assert await waiting == 503
        worker.go_on()
        await client.insist([site.url("/waiting")], batch=1)
        await database.settled()
    say(f"caught with the lock at try {tries}; {database.statuses()}")
    assert client.accepted <= {row.url for row in database.rows()}
    assert database.statuses().keys() == {"COMPLETED"}
    assert database.dead_letter_count() == 0
    fleet.check()
    database.check()
