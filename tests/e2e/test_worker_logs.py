"""What processes log, over the API and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from e2e.api_client import Api
from e2e.running import environment, finished, running, until_some
from e2e.watched_site import ALLOWED, WatchedSite


async def test_why_a_url_failed_is_in_the_logs(tmp_path: Path) -> None:
    async with (
        WatchedSite() as site,
        running("up", data_dir=tmp_path / "data", allow_addresses=ALLOWED) as it,
    ):
        api = Api(it.client, it.base)
        url = site.url("/in-turn?codes=404")
        await api.submitted(url)

        async def failure() -> dict[str, Any] | None:
            page = (await api.raw("/api/worker-logs?level=warning&role=up&limit=10")).body
            return next((each for each in page["data"] if each["fields"].get("url") == url), None)

        entry = await until_some(failure)
        assert entry["message"] == "a URL failed"
        assert "404" in entry["fields"]["error"]
        assert (entry["level"], entry["pid"]) == ("warning", it.pid)
        assert (await api.raw("/api/worker-logs?level=loud")).is_problem(422)
        assert (await api.raw("/api/worker-logs?cursor=x")).is_problem(422)
        assert await it.stop() == 0
    shown = await finished("logs", env=environment(tmp_path / "data"))
    other = await finished("logs", "--role", "cook", env=environment(tmp_path / "data"))
    assert "no log entries of cook; the roles are up, api, worker, " in other.stderr
    lines = shown.stdout.splitlines()
    assert any(
        f'a URL failed process=up@{entry["host"]}:{it.pid} url="{url}"' in each for each in lines
    )
    assert any("worker stopped" in each for each in lines)  # what was logged at the very end
    printed = await finished(
        "logs", "--level", "warning", "--json", env=environment(tmp_path / "data")
    )
    assert entry in [json.loads(each) for each in printed.stdout.splitlines()]
