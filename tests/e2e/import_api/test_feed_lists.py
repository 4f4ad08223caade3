"""Lists of feeds, and actions on many of them."""

from __future__ import annotations

import json
from typing import Any

from e2e.api_client import Api
from e2e.import_api.calls import added, new_url, new_word


async def bulk(api: Api, path: str = "feeds", **body: Any) -> dict[str, Any]:
    answer = await api.call("POST", f"/api/{path}/bulk", json=body)
    assert answer.status == 200, answer.text
    last: dict[str, Any] = json.loads(answer.text.splitlines()[-1])
    assert last["done"] == last["total"] == last["succeeded"] + last["failed"]
    return last


async def listed(api: Api, **query: str) -> list[dict[str, Any]]:
    answer = await api.call("GET", "/api/feeds", params=query)
    assert answer.status == 200, answer.text
    return list(answer.body["data"])


async def test_feeds_that_come_after_a_list_was_read_are_left_alone(front: Api) -> None:
    word = new_word("late")
    early = await added(front, new_url(), name=f"early {word}", enabled=False)
    at = (await front.call("GET", "/api/feeds", params={"q": word})).body["at"]
    await added(front, new_url(), name=f"late {word}", enabled=False)
    done = await bulk(front, action="tag", tags=["seen"], filter={"q": word, "before": at})
    assert done["before"] == [{"id": early["feedId"], "tags": []}]


async def test_feeds_are_searched_sorted_paged_and_changed_together(front: Api) -> None:
    word = new_word("bulk")
    made = [
        await added(front, new_url(), name=f"{name} {word}", tags=["Shop"], enabled=False)
        for name in ("C", "A", "B")
    ]
    ids = [feed["feedId"] for feed in made]
    assert await listed(front, q=word, tag="shop", sort="createdAt") == made
    first = await front.call("GET", "/api/feeds", params={"q": word, "limit": "2", "sort": "-name"})
    assert [first.body["data"], first.body["total"]] == [[made[0], made[2]], 3]
    rest = {"q": word, "limit": "2", "sort": "-name", "cursor": first.body["nextCursor"]}
    assert await listed(front, **rest) == [made[1]]
    tags = (await front.call("GET", "/api/feeds/tags")).body["data"]
    assert [each["count"] for each in tags if each["tag"] == "Shop"] == [3]

    done = await bulk(front, action="schedule", filter={"q": word}, intervalMinutes=90)
    assert done["before"] == [{"id": each, "intervalMinutes": None} for each in ids]
    assert {feed["intervalMinutes"] for feed in await listed(front, q=word)} == {90}
    done = await bulk(front, action="restore", items=done["before"])
    assert done["before"] == [{"id": each, "intervalMinutes": 90} for each in ids]
    assert (await bulk(front, action="untag", ids=ids, tags=["SHOP"]))["succeeded"] == 3
    assert [feed["tags"] for feed in await listed(front, q=word)] == [[], [], []]
    started = await bulk(front, action="run", ids=ids[:1])
    again = await bulk(front, action="run", ids=ids[:2])
    assert (started["failed"], again["succeeded"]) == (0, 1)
    [failure] = again["failures"]
    assert (failure["id"], failure["name"]) == (ids[0], made[0]["name"])
    for wrong in ({"tags": [""]}, {"intervalMinutes": 0}):
        items = [{"id": ids[0]}, {"id": "never-there", **wrong}]
        refused = await front.call(
            "POST", "/api/feeds/bulk", json={"action": "restore", "items": items}
        )
        assert refused.status == 422, "it is no old value of any feed"
    refused = await front.call("POST", "/api/feeds/bulk", json={"action": "schedule", "ids": ids})
    assert refused.is_problem(422, "schedule")
    retried = await bulk(front, "import-logs", action="retry", filter={"q": word})
    assert (retried["total"], retried["failed"]) == (2, 2)
    assert {each["name"] for each in retried["failures"]} == {made[0]["name"], made[1]["name"]}
    unknown = await bulk(front, "import-logs", action="retry", ids=["never-there"])
    assert unknown["failures"][0]["id"] == "never-there"
    for path, columns in {
        "/api/feeds/export": "name,feedId",
        "/api/import-logs/export": "sourceName,feedId",
    }.items():
        answer = await front.call("GET", path, params={"q": word, "columns": columns})
        assert answer.text.splitlines()[0] == columns, answer.text
        assert f"{made[0]['name']},{ids[0]}" in answer.text
    assert (await bulk(front, action="remove", filter={"q": word}))["succeeded"] == 3
    assert await listed(front, q=word) == []
