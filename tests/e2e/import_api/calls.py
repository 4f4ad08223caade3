"""API calls that the tests of imports share."""

from __future__ import annotations

import itertools
from typing import Any

from e2e.api_client import Answer, Api
from e2e.feed_site import finished_run

_numbers = itertools.count(1)


def new_word(beginning: str) -> str:
    return f"{beginning}{next(_numbers)}"


def new_url() -> str:
    return f"https://{new_word('feeds-')}.test/jobs.xml"


async def added(api: Api, url: str, **fields: Any) -> dict[str, Any]:
    answer = await api.call("POST", "/api/feeds", json={"url": url, **fields})
    assert answer.status == 201, answer.text
    return dict(answer.body)


async def started(api: Api, source_url: str) -> dict[str, Any]:
    answer = await api.call("POST", "/api/import/run", json={"sourceUrl": source_url})
    assert answer.status == 202, answer.text
    [run] = answer.body["runs"]
    return dict(run)


async def imported(api: Api, source_url: str) -> dict[str, Any]:
    return await finished_run(api, (await started(api, source_url))["runId"])


async def logs(api: Api, **parameters: str | int) -> Answer:
    return await api.call("GET", "/api/import-logs", params=parameters)


async def jobs(api: Api, **parameters: str | int) -> Answer:
    return await api.call("GET", "/api/jobs", params=parameters)
