"""Calls that several suites of this folder make."""

from __future__ import annotations

from typing import Any

from e2e.api_client import Api
from e2e.running import (
    until_some,
)

QUEUE = "metadata_queue"


async def healthy(api: Api) -> dict[str, Any]:
    """The first heartbeat comes a moment after the first answer."""

    async def look() -> dict[str, Any] | None:
        answer = await api.call("GET", "/health")
        if answer.body["status"] != "ok":
            return None
        assert answer.status == 200
        return dict(answer.body)

    return await until_some(look, what="a worker's heartbeat")
