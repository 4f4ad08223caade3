"""Lists of pages to watch, shown before they are imported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from changedetection import archive, backup, watch
from e2e.api_client import Api
from e2e.watch_api.calls import all_ids

IMPORT = "/api/watches/import"
PREVIEW = f"{IMPORT}/preview"
SKIP = {"skipKnown": "true"}
COUNTS = ("kind", "total", "new", "known", "repeated", "refused")
# The keys of groups, filters and targets are what changedetection.io has.
BACKUP = backup(
    watch(
        "https://list.test/price",
        title="A <b>price</b>",
        tags=["shops"],
        time_between_check={"hours": 2},
        time_between_check_use_default=False,
        include_filters=["#price", "//a[", "json:$.x"],
        ignore_text=["/(/", "/[0-9]+ visitors/"],
        notification_urls=["https://hook.test/pa55word", "nonsense://pa55word/"],
        headers={"Cookie": "pa55word"},
    ),
    watch("https://list.test/price", include_filters=["#price"], ignore_text=["/[0-9]+ visitors/"]),
    watch("https://list.test/price", include_filters=["#stock"]),
    watch("https://list.test/paused", paused=True),
    watch("ftp://list.test/"),
    groups={"shops": {"title": "Shops"}},
)


@pytest.fixture
async def clean(api: Api) -> AsyncIterator[Api]:
    yield api
    removed = await api.call(
        "POST", "/api/watches/bulk", json={"action": "remove", "filter": {"q": "list.test"}}
    )
    assert removed.status == 200


def counts(body: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(body[name] for name in COUNTS)


async def test_a_list_is_shown_before_it_is_imported(clean: Api) -> None:
    assert (await clean.call("POST", IMPORT, data=b"list.test/known")).body["added"] == 1
    before = await all_ids(clean)
    lines = b"# mine\n\nlist.test/new\nhttp://list.test/new\nhttps://LIST.test/new\nlist.test/known\nmailto:a@b\n"
    shown = (await clean.call("POST", PREVIEW, data=lines)).body
    assert counts(shown) == ("lines", 5, 2, 1, 1, 1)
    found = [(each["state"], each["reason"]) for each in shown["entries"]]
    assert found == [
        ("new", None),
        ("new", None),
        ("repeated", "https://list.test/new"),
        ("known", "https://list.test/known"),
        ("refused", found[4][1]),
    ]
    assert "http:// or https://" in str(found[4][1])
    assert await all_ids(clean) == before, "nothing is stored"

    imported = (await clean.call("POST", IMPORT, data=lines, params=SKIP)).body
    assert (imported["added"], imported["known"], imported["refused"]) == (2, 2, 1)
    again = (await clean.call("POST", IMPORT, data=lines, params=SKIP)).body
    assert (again["added"], again["known"]) == (0, 4)


async def test_a_backup_of_changedetection_is_shown_and_imported(clean: Api) -> None:
    answer = await clean.call(
        "POST", PREVIEW, data=BACKUP, headers={"Content-Type": "application/zip"}
    )
    shown = answer.body
    assert counts(shown) == ("changedetection", 5, 3, 0, 1, 1)
    price, same, stock, paused, refused = shown["entries"]
    assert price["watch"] == {
        "url": "https://list.test/price",
        "pages": 1,
        "schedule": {"everyMinutes": 120.0, "cron": None, "timeZone": "UTC"},
        "enabled": True,
        "tags": ["Shops"],
        "targets": ["https://hook.test/…"],
    }
    lost = " ".join(price["notes"])
    for part in ("Request headers", "json:$.x", "//a[", "nonsense://…", "(?i)("):
        assert part in lost, lost
    assert "pa55word" not in answer.text
    assert (same["state"], same["reason"]) == ("repeated", "A <b>price</b>")
    assert [each["state"] for each in (stock, paused, refused)] == ["new", "new", "refused"]
    assert paused["watch"]["enabled"] is False
    assert {"note": "Request headers", "count": 1} in shown["noteCounts"]
    assert shown["notes"] == ["Snapshots and history"]

    imported = (await clean.call("POST", IMPORT, data=BACKUP, params=SKIP)).body
    assert (imported["added"], imported["known"], imported["refused"]) == (3, 1, 1)
    listing = (await clean.call("GET", "/api/watches", params={"q": "price"})).body["data"]
    [added] = [each for each in listing if each["name"] == "A <b>price</b>"]
    assert added["selection"]["keep"] == ["#price"]
    assert added["selection"]["ignorePattern"] == ["(?i)[0-9]+ visitors"]
    assert [each["url"] for each in added["targets"]] == ["https://hook.test/…"]
    again = (await clean.call("POST", PREVIEW, data=BACKUP)).body
    assert counts(again) == ("changedetection", 5, 0, 4, 0, 1)


async def test_progress_is_sent_line_by_line(clean: Api) -> None:
    url = "https://list.test/{}".format
    paused = [{"url": url(number), "enabled": False} for number in range(600)]
    answer = await clean.call("POST", IMPORT, json=paused, params={"progress": "true"})
    assert answer.headers["content-type"] == "application/x-ndjson"
    *progress, last = [msgspec.json.decode(line) for line in answer.text.splitlines()]
    done = [each["done"] for each in progress]
    assert done == sorted(done)
    assert {each["total"] for each in progress} <= {600}
    assert last == {"added": 600, "known": 0, "refused": 0, "refusals": []}
    shown = (await clean.call("POST", PREVIEW, json=[*paused, {"url": url("new")}])).body
    assert (shown["known"], shown["new"], len(shown["entries"])) == (600, 1, 501)


@pytest.mark.parametrize(
    ("body", "media_type", "part"),
    [
        (b"PK\x03\x04", "application/zip", "damaged or cut off"),
        (archive({"a.zip": b""}), "application/zip", "unpack it"),
        (b"https://a.test/", "application/zip", "not a zip archive"),
        (b"https://a.test/", "application/json", "not a list in JSON"),
        (b"", "text/plain", "empty"),
    ],
)
async def test_what_is_no_list_is_refused(
    api: Api, body: bytes, media_type: str, part: str
) -> None:
    for path in (IMPORT, PREVIEW):
        answer = await api.call("POST", path, data=body, headers={"Content-Type": media_type})
        assert answer.is_problem(422, part), answer.text
