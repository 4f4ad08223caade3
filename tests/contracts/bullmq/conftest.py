from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from servers.redis import RedisServer


@pytest.fixture
async def raw(redis_server: RedisServer) -> AsyncIterator[Redis]:
    """Redis as another program sees it."""
    async with redis_server.client() as client:
        yield client
