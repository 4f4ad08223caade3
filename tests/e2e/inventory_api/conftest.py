"""The inventory through its API: real processes, a site on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from e2e.api_client import Api, calling
from e2e.running import Webloom, running_for_module
from e2e.watched_site import ALLOWED, WatchedSite


@pytest.fixture(scope="package")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """API and worker; what a test leaves behind lies under the address of its own site."""
    folder = tmp_path_factory.mktemp("whole")
    with running_for_module(
        "up", data_dir=folder / "data", allow_addresses=ALLOWED, retry_delay=0.05
    ) as it:
        yield it


@pytest.fixture(scope="package")
def without_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """What is submitted here stays in the queue, so that URLs of any host may be used."""
    folder = tmp_path_factory.mktemp("without_worker")
    with running_for_module("api", data_dir=folder / "data", queue_limit=100_000) as it:
        yield it


@pytest.fixture
async def front(without_worker: Webloom) -> AsyncIterator[Api]:
    async with calling(without_worker) as api:
        yield api


@pytest.fixture
async def site() -> AsyncIterator[WatchedSite]:
    async with WatchedSite() as site:
        yield site
