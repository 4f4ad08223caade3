"""The inbox: changes of all watches, and what someone has decided about them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from yarl import URL

from e2e.api_client import Answer, Api
from e2e.feed_site import listening
from e2e.running import until as wait_until
from e2e.shop_site import ShopSite, article, checked, watched

NO_ENTRY = "page-" + 32 * "0"


async def inbox(api: Api, path: str = "", **parameters: str | int) -> Any:
    answer = await api.call("GET", f"/api/changes{path}", params=parameters)
    assert answer.status == 200, answer.text
    return answer.body


async def decide(api: Api, **body: Any) -> Answer:
    return await api.call("POST", "/api/changes/state", json=body)


async def mute(api: Api, **body: Any) -> Answer:
    return await api.call("POST", "/api/changes/mute", json=body)


async def changed(api: Api, site: ShopSite, *texts: str) -> dict[str, Any]:
    """A watch of a page that has said all of this."""
    url = site.url("/story")
    watch: dict[str, Any] = {}
    for text in texts:
        site.pages["/story"] = article(text)
        watch = watch or await watched(api, url, name="Stories")
        await checked(api, watch["jobId"])
    return {"jobId": watch["jobId"], "url": url}


async def test_an_entry_shows_name_host_change_and_time(api: Api, site: ShopSite) -> None:
    page = await changed(api, site, "The first word.", "The second word.")
    answer = await inbox(api, jobId=page["jobId"])
    assert (answer["total"], answer["totalIsExact"], answer["nextCursor"]) == (1, True, None)
    [entry] = answer["data"]
    changes = await api.call("GET", "/api/watch/pages/changes", params=page)
    [change] = changes.body["data"]
    assert entry.items() >= change.items()
    more = {name: value for name, value in entry.items() if name not in change}
    assert more == {
        "id": entry["id"],
        "kind": "page",
        "name": "Stories",
        "host": URL(page["url"]).host,
        "state": "unread",
        "snoozedUntil": None,
        "isMuted": False,
    }
    assert entry["id"].startswith("page-")


async def test_decisions_move_entries_between_the_lists(api: Api, site: ShopSite) -> None:
    page = await changed(api, site, "one", "two", "three", "four")

    async def shown() -> dict[str, list[int]]:
        lists = {}
        for state in ("unread", "snoozed", "done"):
            found = (await inbox(api, jobId=page["jobId"], state=state))["data"]
            lists[state] = [each["version"]["current"] for each in found]
        return lists

    before = await inbox(api, "/counts")
    entries = (await inbox(api, jobId=page["jobId"]))["data"]
    four, three, two = (each["id"] for each in entries)
    answer = await decide(api, ids=[four, NO_ENTRY, four], state="done")
    assert answer.body == {"found": 1, "notFound": [NO_ENTRY]}
    until = (datetime.now(UTC) + timedelta(days=1)).replace(microsecond=0)
    await decide(api, ids=[three], state="snoozed", until=until.isoformat())
    assert await shown() == {"unread": [2], "snoozed": [3], "done": [4]}
    [snoozed] = (await inbox(api, state="snoozed", jobId=page["jobId"]))["data"]
    assert datetime.fromisoformat(snoozed["snoozedUntil"]) == until
    counts = await inbox(api, "/counts")
    assert counts["unread"] == before["unread"] - 2
    assert counts["snoozed"] == before["snoozed"] + 1
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    await decide(api, ids=[two], state="snoozed", until=soon)

    async def is_back() -> bool:
        return (await shown())["unread"] == [2]

    await wait_until(is_back, what="the entry that was snoozed for a second")
    await decide(api, ids=[two, three, four], state="unread")
    assert await shown() == {"unread": [2, 4, 3], "snoozed": [], "done": []}
    assert await inbox(api, "/counts") == before


async def test_entries_come_in_pages(api: Api, site: ShopSite) -> None:
    page = await changed(api, site, "one", "two", "three", "four")
    for state in ("unread", ""):
        seen: list[int] = []
        cursor: dict[str, str] = {}
        while True:
            answer = await inbox(api, jobId=page["jobId"], state=state, limit=1, **cursor)
            assert (answer["total"], answer["totalIsExact"]) == (3, True)
            seen += [each["version"]["current"] for each in answer["data"]]
            if answer["nextCursor"] is None:
                break
            cursor = {"cursor": answer["nextCursor"]}
        assert seen == [4, 3, 2]


async def test_a_muted_page_does_not_wait(api: Api, site: ShopSite) -> None:
    page = await changed(api, site, "one", "two")
    assert (await mute(api, **page)).body == page | {"isMuted": True}
    site.pages["/story"] = article("three")
    await checked(api, page["jobId"])
    [entry] = (await inbox(api, jobId=page["jobId"], state="unread"))["data"]
    assert (entry["version"]["current"], entry["isMuted"]) == (2, True)
    [entry] = (await inbox(api, jobId=page["jobId"], state="muted"))["data"]
    assert (entry["version"]["current"], entry["state"]) == (3, "muted")
    muted = (await inbox(api, "/muted"))["data"]
    assert page in [{"jobId": each["jobId"], "url": each["url"]} for each in muted]
    spelt = page | {"url": page["url"].replace("http://", "HTTP://"), "isMuted": False}
    assert (await mute(api, **spelt)).body == page | {"isMuted": False}
    muted = (await inbox(api, "/muted"))["data"]
    assert page not in [{"jobId": each["jobId"], "url": each["url"]} for each in muted]


async def test_other_tabs_hear_of_a_decision(api: Api, site: ShopSite) -> None:
    page = await changed(api, site, "one", "two")
    [entry] = (await inbox(api, jobId=page["jobId"]))["data"]
    async with listening(api, "/api/live?topics=watch") as stream:
        first = await stream.next()
        await decide(api, ids=[entry["id"]], state="done")
        assert (await stream.next()).data != first.data


async def test_what_is_wrong_with_a_request_is_said(api: Api) -> None:
    later = "2100-01-01T00:00:00Z"
    for body, part in (
        ({"ids": [NO_ENTRY], "state": "muted"}, "state"),
        ({"ids": [NO_ENTRY]}, "state"),
        ({"ids": NO_ENTRY, "state": "done"}, "ids"),
        ({"ids": [], "state": "snoozed"}, "until"),
        ({"ids": [], "state": "done", "until": later}, "until"),
        ({"ids": [NO_ENTRY] * 1001, "state": "done"}, "more than 1,000 ids"),
    ):
        assert (await decide(api, **body)).is_problem(422, part), body
    most = await decide(api, ids=[NO_ENTRY] * 1000, state="done")
    assert most.body == {"found": 0, "notFound": [NO_ENTRY]}
    unknown = {"jobId": "none", "url": "https://example.com/"}
    assert (await mute(api, **unknown)).is_problem(404, "GET /api/watch/pages")
    assert (await mute(api, **unknown, for_ever=True)).is_problem(422, "for_ever")
    for path, part in (
        ("?state=odd", "state"),
        ("?limit=201", "limit"),
        ("?cursor=x", "cursor"),
        ("?state=unread&cursor=x", "cursor"),
        ("/muted?cursor=x", "cursor"),
        ("/counts?jobId=x", "jobId"),
    ):
        assert (await api.call("GET", f"/api/changes{path}")).is_problem(422, part)
