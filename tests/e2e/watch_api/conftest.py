"""Watches, runs and pages through the API: real processes, a shop on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from e2e.running import Webloom, running_for_module
from e2e.shop_site import (
    ShopSite,
)
from e2e.watched_site import ALLOWED


@pytest.fixture(scope="package")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    folder = tmp_path_factory.mktemp("watch")
    with running_for_module(
        "up", data_dir=folder / "data", allow_addresses=ALLOWED, retry_delay=0.02
    ) as it:
        yield it


@pytest.fixture
async def site() -> AsyncIterator[ShopSite]:
    async with ShopSite() as site:
        yield site
