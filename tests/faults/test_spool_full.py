"""A disk that is nearly full: imports leave its last blocks alone, and go on when there is room."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from faults.client import client_of
from faults.conftest import MakeFleet
from faults.feed_site import FeedSite, Served
from faults.processes import SmallDisk, eventually, eventually_async
from faults.stack import Say
from faults.test_import_bad_feeds import jobs, rss

MIB = 1 << 20
LEFT = 46 * MIB // 10  # less than 5 % of the disk


def fill(filler: Path) -> bool:
    """False: Webloom has taken some of the space between the look and the allocation."""
    found = os.statvfs(filler.parent)
    with filler.open("wb") as file, suppress(OSError):
        os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - LEFT)
        return True
    filler.unlink()
    return False


@pytest.fixture
async def feed_site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as running:
        yield running


@pytest.mark.parametrize("disk", ["96m"], indirect=True)
async def test_imports_wait_while_the_disk_is_nearly_full(
    feed_site: FeedSite, fleets: MakeFleet, disk: SmallDisk, say: Say
) -> None:
    feed_site.feeds["/feed"] = Served.of(rss(jobs(100)))
    fleet = fleets(feed_site, data=disk.inside, prefix=disk.enter)
    process = await fleet.start("up")
    reserve = disk.seen / "webloom.db-reserve"
    await eventually(
        lambda: reserve.exists() and reserve.stat().st_size > 16 * MIB, what="the reserve is made"
    )
    filler = disk.seen / "filler"
    await eventually(lambda: fill(filler), what="the disk is nearly full")
    async with client_of(fleet.base) as client:

        async def health() -> dict[str, Any]:
            answer: dict[str, Any]
            status, answer = await client.get("/health")
            assert status == 200
            return answer

        async def is_short() -> bool:
            return (await health())["imports"] is not None

        await eventually_async(is_short, what="/health says that imports would wait")
        url = feed_site.url("/feed")
        assert (await client.send("/api/feeds", {"url": url, "enabled": False}))[0] == 201
        status, started = await client.send("/api/import/run", {"sourceUrl": url})
        assert status == 202, started
        run_id = started["runs"][0]["runId"]
        reported = await health()
        assert reported["status"] == "degraded"
        assert "stay free (WEBLOOM_SPOOL_FREE_SPACE)" in reported["imports"]
        say(reported["imports"])
        await process.said("imports wait for room in the spool")
        assert feed_site.requested["/feed"] == 0
        filler.unlink()

        async def is_done() -> bool:
            _, run = await client.get(f"/api/import-logs/{run_id}")
            return bool(run["status"] == "completed")

        await eventually_async(is_done, what="the import is complete")
        assert feed_site.requested["/feed"] == 1

        async def is_well() -> bool:
            return (await health())["imports"] is None

        await eventually_async(is_well, what="/health is well")
        assert process.output.count("imports wait for room in the spool") == 1
