"""Feeds, runs and postings through the API: real processes, feeds on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from e2e.api_client import Api, calling
from e2e.feed_site import FeedSite
from e2e.running import Webloom, running_for_module
from e2e.watched_site import ALLOWED


@pytest.fixture(scope="package")
def apis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Webloom, Webloom]]:
    """Two API processes without an importer: a run that is started here stays as it is."""
    data_dir = tmp_path_factory.mktemp("apis") / "data"
    with (
        running_for_module("api", data_dir=data_dir) as one,
        running_for_module("api", data_dir=data_dir) as other,
    ):
        yield one, other


@pytest.fixture
async def front(apis: tuple[Webloom, Webloom]) -> AsyncIterator[Api]:
    async with calling(apis[0]) as api:
        yield api


@pytest.fixture
async def other(apis: tuple[Webloom, Webloom]) -> AsyncIterator[Api]:
    async with calling(apis[1]) as api:
        yield api


@pytest.fixture(scope="package")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    folder = tmp_path_factory.mktemp("whole")
    with running_for_module(
        "up", data_dir=folder / "data", allow_addresses=ALLOWED, retry_delay=0.05
    ) as it:
        yield it


@pytest.fixture
async def site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        yield site
