"""Several watches by their ids, in one request."""

from __future__ import annotations

import pytest

from e2e.api_client import Api
from e2e.watch_api.calls import added


async def test_watches_that_exist_are_listed_by_name(api: Api) -> None:
    second, first, other, gone = [
        await added(api, url="https://shop.test/by-id", name=name)
        for name in ("By id, B", "By id, A", "By id, C", "By id, D")
    ]
    assert (await api.call("DELETE", f"/api/watches/{gone['jobId']}")).status == 204
    ids = [second["jobId"], gone["jobId"], "never-there", first["jobId"], second["jobId"], ""]
    answer = await api.call("GET", "/api/watches", params=[("jobId", each) for each in ids])
    assert answer.status == 200, answer.text
    assert answer.body.pop("at")
    assert answer.body == {
        "data": [first, second], "nextCursor": None, "total": 2, "totalIsExact": True,
    }  # fmt: skip
    for each in (first, second, other):
        assert (await api.call("DELETE", f"/api/watches/{each['jobId']}")).status == 204


async def test_an_id_that_no_watch_has_is_no_error(api: Api) -> None:
    answer = await api.call("GET", "/api/watches", params={"jobId": "never-there"})
    assert (answer.status, answer.body["data"], answer.body["total"]) == (200, [], 0)


async def test_without_an_id_all_are_listed(api: Api) -> None:
    watch = await added(api, url="https://shop.test/by-id", name="By id, E")
    answer = await api.call("GET", "/api/watches", params={"jobId": "", "limit": "200"})
    assert watch in answer.body["data"]
    assert (await api.call("DELETE", f"/api/watches/{watch['jobId']}")).status == 204


@pytest.mark.parametrize("ids", [["x"] * 201, ["x" * 201]], ids=["too many", "too long"])
async def test_too_many_or_too_long_ids_are_refused(api: Api, ids: list[str]) -> None:
    answer = await api.call("GET", "/api/watches", params=[("jobId", each) for each in ids])
    assert answer.status == 422, answer.text
    assert "jobId" in answer.body["detail"]
