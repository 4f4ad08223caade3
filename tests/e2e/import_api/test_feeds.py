"""Feeds are added, edited and removed, exported and imported as OPML."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from e2e.api_client import Api
from e2e.import_api.calls import added, logs, new_url, started
from e2e.running import running
from webloom.parsing.opml import Outline, read_opml, write_opml


async def test_a_feed_is_added_shown_and_listed(front: Api) -> None:
    url = new_url()
    before = datetime.now(UTC)
    answer = await front.call(
        "POST", "/api/feeds", json={"url": url.replace("https://", "HTTPS://"), "name": "Jobs"}
    )
    assert answer.status == 201
    feed = answer.body
    assert answer.headers["location"] == f"/api/feeds/{feed['feedId']}"
    created, next_run = (datetime.fromisoformat(feed.pop(k)) for k in ("createdAt", "nextRunAt"))
    assert created - timedelta(minutes=1) < before < next_run
    assert feed.pop("updatedAt")
    feed_id = feed.pop("feedId")
    assert feed == {
        "url": url,
        "sourceUrl": url,
        "name": "Jobs",
        "format": "auto",
        "intervalMinutes": None,
        "enabled": True,
        "mapping": {},
        "closeMissing": False,
        "tags": [],
        "activeRunId": None,
        "lastRunId": None,
        "lastRunAt": None,
        "lastStatus": None,
        "lastError": None,
        "consecutiveFailures": 0,
    }
    shown = await front.call("GET", f"/api/feeds/{feed_id}")
    assert shown.body.items() >= feed.items()
    listed = (await front.call("GET", "/api/feeds")).body
    assert shown.body in listed["data"]
    assert listed["total"] == len(listed["data"])


async def test_the_url_of_a_feed_is_https_where_its_scheme_is_missing(front: Api) -> None:
    url = new_url()
    feed = await added(front, url.removeprefix("https://"))
    assert (feed["url"], feed["name"]) == (url, url)
    path, moved = f"/api/feeds/{feed['feedId']}", new_url()
    edited = await front.call("PATCH", path, json={"url": moved.removeprefix("https://")})
    assert edited.body["url"] == moved


async def test_adding_a_known_feed_is_a_conflict_with_its_id(front: Api) -> None:
    url = new_url()
    feed = await added(front, url, name="First")
    again = await front.call("POST", "/api/feeds", json={"url": url, "name": "Second"})
    assert again.is_problem(409, "'First'", feed["feedId"])
    assert again.body["feedId"] == feed["feedId"]
    assert again.body["feed"] == feed


async def test_a_feed_is_edited_paused_resumed_and_removed(front: Api) -> None:
    path = f"/api/feeds/{(await added(front, new_url(), name='Old'))['feedId']}"
    changes = {
        "name": " New\n name ",
        "intervalMinutes": 5,
        "format": "rss",
        "mapping": {"company": "author"},
        "closeMissing": True,
    }
    edited = await front.call("PATCH", path, json=changes)
    assert edited.status == 200, edited.text
    assert edited.body.items() >= (changes | {"name": "New name"}).items()
    usual = await front.call("PATCH", path, json={"intervalMinutes": None})
    assert usual.body["intervalMinutes"] is None
    assert usual.body["format"] == "rss"

    paused = await front.call("POST", f"{path}/pause")
    assert (paused.body["enabled"], paused.body["nextRunAt"]) == (False, None)
    resumed = await front.call("POST", f"{path}/resume")
    assert resumed.body["enabled"]
    assert resumed.body["nextRunAt"]

    assert (await front.call("DELETE", path)).status == 204
    gone = [
        await front.call("GET", path),
        await front.call("DELETE", path),
        await front.call("PATCH", path, json={"name": "x"}),
        await front.call("POST", f"{path}/pause"),
        await front.call("POST", f"{path}/resume"),
    ]
    for answer in gone:
        assert answer.is_problem(404, "GET /api/feeds")


async def test_a_feed_that_has_moved_keeps_its_identity(front: Api) -> None:
    old, new = new_url(), new_url()
    feed = await added(front, old, intervalMinutes=60)
    path = f"/api/feeds/{feed['feedId']}"
    moved = await front.call("PATCH", path, json={"url": new.replace("https://", "HTTPS://")})
    assert moved.status == 200, moved.text
    assert (moved.body["url"], moved.body["sourceUrl"], moved.body["name"]) == (new, old, new)
    assert (moved.body["feedId"], moved.body["closeMissing"]) == (feed["feedId"], False)
    again = await front.call("POST", "/api/feeds", json={"url": new})
    assert again.is_problem(409, feed["feedId"])
    exported = (await front.call("GET", "/api/feeds/opml")).text
    assert new in exported
    assert old not in exported
    back = await front.call("PATCH", path, json={"url": old, "name": "Jobs"})
    assert (back.body["url"], back.body["sourceUrl"], back.body["name"]) == (old, old, "Jobs")


async def test_a_feed_does_not_move_to_the_url_of_another(front: Api) -> None:
    feed, there = await added(front, new_url()), await added(front, new_url(), name="There")
    path = f"/api/feeds/{feed['feedId']}"
    refused = await front.call("PATCH", path, json={"url": there["url"], "name": "Moved"})
    assert refused.is_problem(409, "'There'", there["feedId"])
    assert refused.body["feed"] == there
    for url, part in (("http://10.0.0.1/feed", "private"), ("ftp://feed.xml", "http://")):
        assert (await front.call("PATCH", path, json={"url": url})).is_problem(422, part)
    assert (await front.call("GET", path)).body == feed


BAD_FEEDS: list[tuple[object, int, str]] = [
    ({}, 422, "url"),
    ([], 422, "object"),
    ({"url": 1}, 422, "url"),
    ({"url": "ftp://a.test/"}, 422, "http:// or https://"),
    ({"url": "http://10.0.0.1/feed"}, 422, "private"),
    ({"url": "http://localhost:8081/"}, 422, "127.0.0.1"),
    ({"url": "https://a.test/", "name": " "}, 422, "name: it is empty"),
    ({"url": "https://a.test/", "name": "a\0b"}, 422, "name: it contains a control character"),
    ({"url": "https://a.test/", "name": "x" * 201}, 422, "name: longer than 200"),
    ({"url": "https://a.test/", "format": "pdf"}, 422, "format: 'pdf'"),
    ({"url": "https://a.test/", "intervalMinutes": 0}, 422, "interval: 0 minutes"),
    ({"url": "https://a.test/", "intervalMinutes": "1"}, 422, "intervalMinutes"),
    ({"url": "https://a.test/", "mapping": {"nothing": "a"}}, 422, "nothing"),
    ({"url": "https://a.test/", "mapping": {"title": "a b//"}}, 422, "mapping"),
    ({"url": "https://a.test/", "colour": "red"}, 422, "colour"),
]


@pytest.mark.parametrize(
    ("body", "status", "part"), BAD_FEEDS, ids=[str(row[0])[:60] for row in BAD_FEEDS]
)
async def test_a_bad_feed_is_refused_with_its_reason(
    front: Api, body: object, status: int, part: str
) -> None:
    answer = await front.call("POST", "/api/feeds", json=body)
    assert answer.is_problem(status, part)


async def test_a_bad_change_is_refused_and_changes_nothing(front: Api) -> None:
    feed = await added(front, new_url(), name="Kept")
    path = f"/api/feeds/{feed['feedId']}"
    for change, part in (
        ({"url": None}, "url"),
        ({"format": "pdf"}, "pdf"),
        ({"name": None}, "name"),
        ({"name": ""}, "name: it is empty"),
        ({"enabled": "no"}, "enabled"),
        ({"intervalMinutes": -1}, "-1 minutes"),
    ):
        assert (await front.call("PATCH", path, json=change)).is_problem(422, part)
    assert (await front.call("PATCH", path, data=b"{")).is_problem(400, "not JSON")
    assert (await front.call("GET", path)).body == feed


async def test_how_a_feed_is_read_does_not_change_while_it_is(front: Api) -> None:
    feed = await added(front, new_url(), name="Busy")
    path = f"/api/feeds/{feed['feedId']}"
    run = await started(front, feed["url"])
    for change in ({"format": "rss"}, {"mapping": {"company": "author"}}, {"url": new_url()}):
        assert (await front.call("PATCH", path, json=change)).is_problem(409, "being imported")
    renamed = await front.call("PATCH", path, json={"name": "Renamed"})
    assert (renamed.body["name"], renamed.body["activeRunId"]) == ("Renamed", run["runId"])


HOSTILE_NAMES = [
    "<script>alert(document.domain)</script>",
    "\"quotes\" & 'more'",
    "'; DROP TABLE feeds; --",
    '{"$gt": ""}',
    "\u202egnp.exe",
    "Jobs & Café ☕ 漢字 👩‍👩‍👧",
    "x" * 200,
    "../../etc/passwd",
    "%00%0a",
]


async def test_a_hostile_name_is_a_name_like_any_other(front: Api, tmp_path: Path) -> None:
    feeds = {new_url(): name for name in HOSTILE_NAMES}
    for url, name in feeds.items():
        feed = await added(front, url, name=name)
        assert feed["name"] == name
        assert (await started(front, url))["sourceName"] == name
        found = await logs(front, q=name)
        assert [run["sourceName"] for run in found.body["data"]] == [name]
    opml = await front.call("GET", "/api/feeds/opml")
    read = {each.url: each.name for each in read_opml(opml.text.encode())}
    assert feeds.items() <= read.items()


# OPML.


async def test_feeds_go_out_as_opml_and_come_back(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data") as it:
        api = Api(it.client, it.base)
        feeds = {f"https://{number}.test/?a=1&b=2": f"R&D <{number}>" for number in range(250)}
        outlines = [Outline(url, name, ("a tag", "b")) for url, name in feeds.items()]
        refused = [Outline("http://10.0.0.1/", "inside"), Outline("mailto:a@b.test", "no feed")]
        opml = write_opml(outlines + refused, title="Mine", created=datetime.now(UTC))
        opml = opml.replace(b"</body>", b'<outline htmlUrl="https://page.test/"/></body>')

        shown = (await api.call("POST", "/api/feeds/opml/preview", data=opml)).body
        assert {name: count for name, count in shown.items() if name != "entries"} == {
            "total": 252, "new": 250, "known": 0, "repeated": 0, "refused": 2, "pages": 1,
        }  # fmt: skip
        assert "private" in shown["entries"][250]["reason"]
        assert (await api.call("GET", "/api/feeds")).body["total"] == 0
        first = (await api.call("POST", "/api/feeds/opml", data=opml)).body
        assert (first["added"], first["known"], first["refused"]) == (250, 0, 2)
        assert [(each["url"], each["name"], ()) for each in first["refusals"]] == refused
        assert "private" in first["refusals"][0]["reason"]
        assert "http:// or https://" in first["refusals"][1]["reason"]
        listed = (await api.call("GET", "/api/feeds?limit=1")).body["data"]
        due = datetime.fromisoformat(listed[0]["nextRunAt"])
        assert due <= datetime.now(UTC) + timedelta(minutes=1), "a first import does not wait"

        exported = await api.call("GET", "/api/feeds/opml")
        assert exported.headers["content-type"].startswith("text/x-opml")
        assert {*read_opml(exported.text.encode())} == {*outlines}
        again = (await api.call("POST", "/api/feeds/opml", data=exported.text.encode())).body
        assert (again["added"], again["known"], again["refused"]) == (0, 250, 0)
        more = [Outline("https://0.test/?a=1&b=2", "known"), Outline("https://new.test", "new")]
        more.append(Outline("https://new.test:443/", "again"))
        opml = write_opml(more, title="More", created=datetime.now(UTC))
        shown = (await api.call("POST", "/api/feeds/opml/preview", data=opml)).body
        assert [(each["state"], each["reason"]) for each in shown["entries"]] == [
            ("known", "R&D <0>"), ("new", None), ("repeated", "new"),
        ]  # fmt: skip
        assert (await api.call("GET", "/api/feeds")).body["total"] == 250


async def test_a_large_opml_is_taken_and_a_huge_one_is_not(front: Api) -> None:
    opml = write_opml([Outline(new_url(), "Large")], title="Mine", created=datetime.now(UTC))
    large = opml + b"<!--" + b"x" * (2 << 20) + b"-->"
    answer = await front.call("POST", "/api/feeds/opml", data=large)
    assert (answer.status, answer.body["added"]) == (200, 1)
    assert (await front.call("POST", "/api/feeds/opml", data=bytes(17 << 20))).is_problem(413)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "not OPML"),
        (b"<html></html>", "begins with <html>"),
        (b'<!DOCTYPE opml [<!ENTITY a "a">]><opml>&a;</opml>', "DTD"),
        (b"<opml><body><outline", "broken in line 1"),
    ],
)
async def test_what_is_no_opml_is_refused(front: Api, content: bytes, part: str) -> None:
    assert (await front.call("POST", "/api/feeds/opml", data=content)).is_problem(422, part)
