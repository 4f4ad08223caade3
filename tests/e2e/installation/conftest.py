"""A whole installation, as it tells about itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from e2e.running import (
    Webloom,
    running_for_module,
)
from e2e.watched_site import ALLOWED, WatchedSite


@pytest.fixture(scope="package")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    folder = tmp_path_factory.mktemp("installation")
    with running_for_module(
        "up",
        data_dir=folder / "data",
        allow_addresses=ALLOWED,
        deny_addresses="127.1.255.0/24",
        slots=7,
        queue_limit=50,
    ) as it:
        yield it


@pytest.fixture
async def site() -> AsyncIterator[WatchedSite]:
    async with WatchedSite() as site:
        yield site
