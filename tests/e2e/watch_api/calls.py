"""API calls that the tests of watches share."""

from __future__ import annotations

from typing import Any

from e2e.api_client import Answer, Api


async def added(api: Api, **fields: Any) -> dict[str, Any]:
    answer = await api.call("POST", "/api/watches", json={"enabled": False, **fields})
    assert answer.status == 201, answer.text
    return dict(answer.body)


async def pages(api: Api, path: str = "", **parameters: str | int) -> Answer:
    return await api.call("GET", f"/api/watch/pages{path}", params=parameters)


async def got(api: Api, path: str, **parameters: str | int) -> Any:
    answer = await pages(api, path, **parameters)
    assert answer.status == 200, answer.text
    return answer.body


async def all_ids(api: Api) -> set[str]:
    answer = await api.call("GET", "/api/watches", params={"limit": "200"})
    return {watch["jobId"] for watch in answer.body["data"]}
