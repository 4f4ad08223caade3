from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from e2e.api_client import Api, calling
from e2e.running import Webloom, environment
from servers.mongod import MongoServer


@pytest.fixture
async def api(whole: Webloom) -> AsyncIterator[Api]:
    """`whole` is what the module or the folder of the test runs."""
    async with calling(whole) as api:
        yield api


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Of commands that have a data folder and a home for themselves."""
    return environment(tmp_path / "home" / "data")


@pytest.fixture
def mongodb(mongod: MongoServer) -> Iterator[str]:
    """The address of a database that this test has for itself."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    yield f"mongodb://127.0.0.1:{mongod.port}/{name}?directConnection=true"
    with mongod.database(name) as database:
        database.client.drop_database(name)
