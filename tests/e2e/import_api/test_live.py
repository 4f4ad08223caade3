"""Changes of runs as Server-Sent Events."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from e2e.api_client import Api
from e2e.feed_site import listening
from e2e.import_api.calls import added, logs, new_url, started
from e2e.running import running


@pytest.mark.parametrize("path", ["/api/import-logs/stream", "/api/import-logs/sse"])
async def test_changes_by_any_process_are_streamed(front: Api, other: Api, path: str) -> None:
    feed = await added(front, new_url(), name="Before")
    run = await started(front, feed["url"])
    async with listening(other, path) as stream:
        event = await stream.until(run["runId"])
        assert stream.retry == "2000"
        assert event.name == "import_log"
        assert event.data["status"] == "running"
        [row] = (await logs(front, sourceUrl=feed["url"])).body["data"]
        assert event.data == row

        second = await started(front, (await added(front, new_url()))["url"])
        await stream.until(second["runId"], cancelRequested=False)
        await front.call("POST", f"/api/import-logs/{second['runId']}/cancel")
        await stream.until(second["runId"], cancelRequested=True)


async def test_a_listener_resumes_anywhere_with_all_that_it_missed(front: Api, other: Api) -> None:
    seen = await started(front, (await added(front, new_url()))["url"])
    missed = await added(front, new_url())
    async with listening(front) as stream:
        last = await stream.until(seen["runId"])
    assert last.id is not None
    assert last.id.isdigit()
    run = await started(front, missed["url"])
    await front.call("POST", f"/api/import-logs/{run['runId']}/cancel")
    ways: tuple[dict[str, Any], ...] = (
        {"headers": {"Last-Event-ID": last.id}},
        {"params": {"lastEventId": last.id}},
        {"headers": {"Last-Event-ID": last.id}, "params": {"lastEventId": "9" * 16}},
    )
    for options in ways:
        async with listening(other, **options) as stream:
            event = await stream.until(run["runId"], cancelRequested=True)
            assert int(event.id or 0) >= int(last.id)


@pytest.mark.parametrize("position", ["x", "-1", "1" * 17, "1.5", "\u0661"])
async def test_a_position_that_is_none_is_refused(front: Api, position: str) -> None:
    answer = await front.raw(f"/api/import-logs/stream?lastEventId={quote(position)}")
    assert answer.is_problem(422, "Last-Event-ID")


async def test_a_process_with_listeners_stops_at_once(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data") as it:
        api = Api(it.client, it.base)
        run = await started(api, (await added(api, new_url()))["url"])
        async with listening(api) as stream:
            await stream.until(run["runId"])
            assert await it.stop() == 0
            await stream.end()
    assert "timeout graceful shutdown exceeded" not in it.log
