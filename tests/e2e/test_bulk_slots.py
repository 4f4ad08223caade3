"""How many bulk actions one API process carries out at a time."""

from __future__ import annotations

import asyncio
from pathlib import Path

from e2e.api_client import Answer, Api
from e2e.running import running, until
from webloom.entrypoints.api.context import BULK_ACTIONS_AT_ONCE


async def test_a_few_bulk_actions_run_at_a_time_and_one_that_is_left_makes_room(
    tmp_path: Path,
) -> None:
    """They wait because the queue is full and has no worker."""
    async with running("api", data_dir=tmp_path / "data", queue_limit=1) as it:
        api = Api(it.client, it.base)
        urls = ["https://a.test/", "https://b.test/"]
        refetch = {"action": "refetch", "urls": urls}

        async def another(path: str = "/api/feeds/bulk") -> Answer:
            return await api.call("POST", path, json={"action": "run", "ids": ["x"]})

        async def is_free() -> bool:
            return (await another()).status == 200

        waiting = {
            asyncio.create_task(api.call("POST", "/metadata/bulk", json=refetch))
            for _ in range(BULK_ACTIONS_AT_ONCE + 1)
        }
        try:
            [one_too_many], left = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert one_too_many.result().status == 503
            for path in ("/api/feeds/bulk", "/api/watches/bulk", "/api/import-logs/bulk"):
                refused = await another(path)
                assert refused.is_problem(503, "4 bulk actions are running already. Try again.")
                assert int(refused.headers["retry-after"]) > 0
            left.pop().cancel()
            await until(is_free, what="a slot")
            assert not any(each.done() for each in left)
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
