"""Imports while there is no room for feeds, as /health and the overview show it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from e2e.feed_site import FeedSite, item, rss
from e2e.import_runs import ended_run, start_import
from e2e.running import until
from e2e.watched_site import ALLOWED
from webloom.adapters.http import spool_room
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import build_overview
from webloom.domain.import_run import RunStatus
from webloom.entrypoints import heartbeat
from webloom.entrypoints.api.health import get_readiness
from webloom.entrypoints.scheduler import run_scheduler
from webloom.entrypoints.worker import run_worker
from webloom.settings import load_settings

BUDGET = 1 << 20
REASON = "the spool takes 1 MB of the 1 MB that it may have (WEBLOOM_SPOOL_BUDGET)"


@asynccontextmanager
async def working(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Services]:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(spool_room, "LOOK_SECONDS", 0.05)
    settings = load_settings(
        {
            "WEBLOOM_DATA_DIR": str(folder),
            "WEBLOOM_ALLOW_ADDRESSES": ALLOWED,
            "WEBLOOM_SPOOL_BUDGET": str(BUDGET),
            "WEBLOOM_SPOOL_FREE_SPACE": "0",
            "WEBLOOM_RETRY_DELAY": "0",
        }
    )
    async with open_services(settings) as services:
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(run_worker(services, stop))
            group.create_task(run_scheduler(services, stop))
            try:
                yield services
            finally:
                stop.set()


async def health_of(services: Services) -> tuple[int, dict[str, Any]]:
    context: Any = SimpleNamespace(services=services, beat=heartbeat.first_beat(services, "api"))
    answer = await get_readiness(context)
    return answer.status_code, msgspec.json.decode(answer.body)


async def test_imports_wait_for_room_and_health_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / "spool" / "of another process.page"
    full.parent.mkdir()
    async with FeedSite() as site, working(tmp_path, monkeypatch) as services:
        site.feed = rss(*map(item, range(3)))
        full.write_bytes(bytes(BUDGET))
        run_id = await start_import(services, site.url("/feed"))
        beat = heartbeat.first_beat(services, "api")
        overview = build_overview(services, lambda: beat)

        async def is_reported() -> bool:
            return (await health_of(services))[1]["imports"] is not None

        await until(is_reported, what="a reason in /health")
        status, health = await health_of(services)
        assert (status, health["status"]) == (200, "degraded")
        assert health["imports"].startswith("Imports wait for room: on ")
        assert REASON in health["imports"]
        [trouble] = [each for each in (await overview.overview()).troubles if "room" in each.what]
        assert (trouble.level, REASON in trouble.what) == ("error", True)
        run = await services.imports.listed_runs.find(run_id)
        assert run is not None
        assert run.status is RunStatus.RUNNING
        assert site.requests == []
        full.unlink()
        run = await ended_run(services, run_id)
        assert (run.status, run.counts.new) == (RunStatus.COMPLETED, 3)
        assert len(site.requests) == 1
        [feed] = await services.imports.feeds.all()
        assert feed.failures == 0

        async def is_well() -> bool:
            return bool((await health_of(services))[1]["status"] == "ok")

        await until(is_well, what="/health is well again")


async def test_a_feed_that_never_fits_fails_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FeedSite() as site, working(tmp_path, monkeypatch) as services:
        site.feed = rss(item(1, description="x" * BUDGET))
        run = await ended_run(services, await start_import(services, site.url("/feed")))
        assert run.status is RunStatus.FAILED
        assert run.error == (
            "the feed is larger than the whole spool may be: 1 MB (WEBLOOM_SPOOL_BUDGET)"
        )
        assert len(site.requests) == 1, "trying again does not help"
