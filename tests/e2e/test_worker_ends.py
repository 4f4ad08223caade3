"""A worker that has to end because another part of its process failed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from e2e.hostile_site import HostileSite
from timeouts import TIMEOUT_SECONDS
from webloom.bootstrap.connections import open_services
from webloom.domain.inventory import METADATA_QUEUE, Status
from webloom.entrypoints.worker import run_worker
from webloom.settings import load_settings


async def test_a_worker_that_is_cancelled_gives_back_what_it_holds_and_ends(tmp_path: Path) -> None:
    async with HostileSite() as site, asyncio.timeout(TIMEOUT_SECONDS):
        settings = load_settings(
            {
                "WEBLOOM_DATA_DIR": str(tmp_path),
                "WEBLOOM_ALLOW_ADDRESSES": f"127.0.0.1:{site.port}",
                "WEBLOOM_LEASE": "600",
            }
        )
        url = site.url("/silence")
        async with open_services(settings) as services:
            await services.submit_url.one(url)
            worker = asyncio.create_task(run_worker(services, asyncio.Event()))
            record = await services.store.find(url)
            while record is None or record.status is not Status.IN_PROGRESS:
                await asyncio.sleep(0.01)
                record = await services.store.find(url)
            worker.cancel()
            with pytest.raises(asyncio.CancelledError):
                await worker
            given_back = await services.store.find(url)
            assert given_back is not None
            assert (given_back.status, given_back.processing.attempt_number) == (Status.PENDING, 0)
            depth = await services.broker.depth(METADATA_QUEUE)
            assert (depth.ready, depth.in_flight) == (1, 0)
