"""Many processes over one file; and processes that had nothing to do for a long time."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from faults.client import client_of
from faults.conftest import MakeFleet
from faults.database import DatabaseFile
from faults.processes import Fleet, eventually, eventually_async
from faults.site import Site
from servers.private import free_port

Say = Callable[[str], None]
IDLE_SECONDS = 36.0  # longer than every poll, heartbeat and back-off


async def test_four_workers_and_two_apis_over_one_file_fetch_every_url_once(
    site: Site, fleets: MakeFleet, say: Say
) -> None:
    fleet = fleets(site, slots=16, queue_limit=500)
    database = DatabaseFile(fleet.database)
    second = free_port()
    started = time.monotonic()
    roles = [("api", fleet.port), ("api", second)] + [("worker", None)] * 4
    await asyncio.gather(*(fleet.start(role, port=port) for role, port in roles))
    ready = time.monotonic()
    urls = [site.url(f"/page/{number}") for number in range(2000)]
    async with client_of(fleet.base, f"http://127.0.0.1:{second}") as client:
        async with asyncio.TaskGroup() as group:
            for start in range(0, 1000, 50):
                group.create_task(client.insist(urls[start : start + 50], batch=1))
            for start in range(1000, 2000, 250):
                group.create_task(client.insist(urls[start : start + 250], batch=50))
        await database.settled()

        async def four_are_seen() -> bool:
            _, health = await client.get("/health")
            return len(health["workers"]) == 4

        await eventually_async(four_are_seen, what="four workers")
    say(
        f"started in {ready - started:.1f} s, done in {time.monotonic() - ready:.1f} s; "
        f"{dict(client.answers)}"
    )
    assert client.accepted == set(urls)
    assert set(client.answers) <= {"202", "503"}
    assert all("which is its limit" in detail for detail in client.server_errors)
    assert database.statuses() == {"COMPLETED": 2000}
    assert Counter(len(times) for times in site.arrivals.values()) == {1: 2000}
    assert {row.attempt_number for row in database.rows()} == {1}
    assert database.dead_letter_count() == 0
    fleet.check()
    database.check()


async def test_a_submit_after_idling_is_picked_up_at_once(
    site: Site, fleets: MakeFleet, say: Say
) -> None:
    installations = [fleets(site) for _ in range(3)]
    for fleet in installations:
        await fleet.start("api")
        await fleet.start("worker")
    await asyncio.sleep(IDLE_SECONDS)
    delays = [await _pickup(site, fleet, n) for n, fleet in enumerate(installations)]
    say(f"picked up after {[f'{delay * 1000:.1f} ms' for delay in delays]}")
    assert min(delays) < 1, "they look now and then"  # the machine may be busy at one of them
    for fleet in installations:
        await DatabaseFile(fleet.database).settled()
        fleet.check()


async def _pickup(site: Site, fleet: Fleet, number: int) -> float:
    """Seconds from the answer to the POST until the site is asked."""
    path = f"/page/{number}"
    async with client_of(fleet.base) as client:
        assert await client.post(site.url(path)) == 202
        answered = time.monotonic()
        await eventually(lambda: site.count(path), what="the site is asked")
    return max(0.0, site.arrivals[path][0] - answered)
