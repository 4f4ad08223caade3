"""A worker whose lease was lost changes nothing; a wall clock that jumps costs no lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from faults.client import Client, client_of
from faults.conftest import MakeFleet
from faults.database import DatabaseFile
from faults.processes import Fleet, Process, eventually
from faults.site import Page, Site

Say = Callable[[str], None]
LEASE = 5  # seconds, which only a stopped process loses, even on a busy machine


async def fall_asleep(fleet: Fleet, client: Client, site: Site) -> Process:
    """A worker that is stopped while it fetches /slow, which another one then fetches, too."""
    site.page = lambda path, which: Page(body=f"answer {which}")
    await fleet.start("api")
    first = await fleet.start("worker")
    site.hold("/slow")
    await client.insist([site.url("/slow")], batch=1)
    await eventually(lambda: site.count("/slow") == 1, what="the first fetch")
    DatabaseFile(fleet.database).stop(first)
    await fleet.start("worker")
    await eventually(lambda: site.count("/slow") == 2, what="the second fetch")
    return first


async def test_a_worker_that_slept_past_its_lease_changes_nothing_when_it_wakes(
    site: Site, fleets: MakeFleet, say: Say
) -> None:
    fleet = fleets(site, lease=LEASE)
    database = DatabaseFile(fleet.database)
    url = site.url("/slow")
    async with client_of(fleet.base) as client:
        first = await fall_asleep(fleet, client, site)
        site.release("/slow")  # both get their answer; the first can't be read yet
        await database.settled()
        before = await client.get("/metadata", url=url)
        first.go_on()
        await first.said("attempt was superseded")
        await client.insist([site.url("/next")], batch=1)
        await database.settled()
        after = await client.get("/metadata", url=url)
    assert before == after
    status, record = after
    say(f"{record['metadata']['page_source']!r} {record['processing']}")
    assert (status, record["status"]) == (200, "COMPLETED")
    assert record["metadata"]["page_source"] == "answer 2"
    assert record["processing"]["attempt_number"] == 2
    assert record["processing"]["retry_count"] == 1
    assert database.dead_letter_count() == 0
    fleet.check()
    database.check()


async def test_a_worker_that_slept_while_the_other_is_still_fetching_leaves_the_attempt_to_it(
    site: Site, fleets: MakeFleet
) -> None:
    fleet = fleets(site, lease=LEASE)
    database = DatabaseFile(fleet.database)
    url = site.url("/slow")
    async with client_of(fleet.base) as client:
        first = await fall_asleep(fleet, client, site)
        first.go_on()
        await asyncio.sleep(2 * LEASE)  # which both try to renew
        assert site.count("/slow") == 2, "the second worker's lease holds"
        assert database.row(url).status == "IN_PROGRESS"
        site.release("/slow")
        await database.settled()
        _, record = await client.get("/metadata", url=url)
    assert record["metadata"]["page_source"] == "answer 2"
    assert record["processing"]["attempt_number"] == 2
    assert "attempt was superseded" in first.output
    assert database.dead_letter_count() == 0
    fleet.check()


async def test_leases_and_retries_keep_their_time_while_the_wall_clock_jumps(
    site: Site, fleets: MakeFleet, tmp_path: Path, say: Say
) -> None:
    site.page = lambda path, which: Page(status=503 if path == "/flaky" and which == 1 else 200)
    fleet = fleets(site, lease=LEASE, retry_delay=2)
    database = DatabaseFile(fleet.database)
    clocks = [tmp_path / f"clock{number}" for number in range(3)]
    set_clocks(clocks, (0, 0, 0))
    await fleet.start("api", clock_file=str(clocks[0]))
    await fleet.start("worker", clock_file=str(clocks[1]))
    await fleet.start("worker", clock_file=str(clocks[2]))
    hour, year = 3600.0, 365 * 86400.0
    jumps = [
        (-hour, -hour, -hour), (hour, hour, hour), (0, hour, -hour), (-year, year, 0),
        (year, -year, year), (0, -10 * year, 10 * year), (-hour, 0, 60), (0, 0, 0),
    ]  # fmt: skip
    async with client_of(fleet.base) as client:
        site.hold("/long")
        urls = [site.url(path) for path in ("/long", "/flaky")]
        await client.insist(urls, batch=2)
        await eventually(lambda: site.count("/long") == 1, what="the long fetch")
        for number, jump in enumerate(jumps):
            set_clocks(clocks, jump)
            urls.append(site.url(f"/page/{number}"))
            await client.insist(urls[-1:], batch=1)
            await asyncio.sleep(LEASE / 5)
        site.release("/long")
        await database.settled()
    first, second = site.arrivals["/flaky"]
    say(f"the retry came after {second - first:.2f} s; {site.requests} requests")
    assert 2.0 <= second - first < 60.0, "2 s, lengthened by up to half, or a jump of a clock"
    assert set(site.most_at_once.values()) == {1}, "nothing is fetched twice at once"
    assert site.requests == len(urls) + 1
    assert database.statuses() == {"COMPLETED": len(urls)}
    assert database.row(site.url("/long")).attempt_number == 1
    assert database.row(site.url("/flaky")).attempt_number == 2
    fleet.check()
    database.check()


def set_clocks(clocks: list[Path], shifts: tuple[float, ...]) -> None:
    for clock, shift in zip(clocks, shifts, strict=True):
        new = clock.with_suffix(".new")
        new.write_text(str(shift))
        new.rename(clock)
