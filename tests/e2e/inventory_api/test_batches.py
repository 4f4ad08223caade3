"""Many URLs in one request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from e2e.api_client import Api
from e2e.inventory_api.names import is_request_id, new_host
from e2e.running import running

NDJSON = {"Content-Type": "application/x-ndjson"}


def _as_array(urls: list[str]) -> dict[str, Any]:
    return {"json": urls}


def _as_objects(urls: list[str]) -> dict[str, Any]:
    return {"json": [{"url": url} for url in urls]}


def _as_mixed(urls: list[str]) -> dict[str, Any]:
    return {"json": [{"url": url} if n % 2 else url for n, url in enumerate(urls)]}


def _as_lines(urls: list[str]) -> dict[str, Any]:
    lines = b"\n".join(msgspec.json.encode(url) for url in urls)
    return {"data": lines, "headers": NDJSON}


def _as_lines_of_objects(urls: list[str]) -> dict[str, Any]:
    lines = b"\r\n\n".join(msgspec.json.encode({"url": url}) for url in urls) + b"\n"
    return {"data": lines, "headers": NDJSON}


FORMS = [
    (_as_array, "an array"),
    (_as_objects, "an array of objects"),
    (_as_mixed, "an array of both"),
    (_as_lines, "lines, the last without its end"),
    (_as_lines_of_objects, "lines of objects, with empty ones between them"),
]


@pytest.mark.parametrize(("form", "why"), FORMS, ids=[row[1] for row in FORMS])
async def test_a_batch_has_one_result_per_url_in_order(front: Api, form: Any, why: str) -> None:
    host = new_host()
    urls = [f"http://{host}/{n}" for n in range(5)]
    urls[2:2] = ["ftp://no.test/", urls[0], f"http://{host.upper()}/1#x"]
    answer = await front.call("POST", "/metadata/batch", **form(urls))
    assert answer.status == 202
    answers = answer.body
    if answers is None:
        assert answer.headers["content-type"] == "application/x-ndjson"
        answers = [msgspec.json.decode(line) for line in answer.text.splitlines()]
    assert [each["url"] for each in answers] == [
        *(f"http://{host}/0", f"http://{host}/1", "ftp://no.test/"),
        *(f"http://{host}/0", f"http://{host}/1"),
        *(f"http://{host}/{n}" for n in (2, 3, 4)),
    ]
    assert [each["accepted"] for each in answers] == [True, True, False, *[True] * 5]
    assert answers[2] == {
        "url": "ftp://no.test/",
        "accepted": False,
        "error": "the URL must begin with http:// or https://",
    }
    ids = [each.get("request_id") for each in answers]
    assert ids[3:5] == ids[:2]
    assert len({*ids} - {None}) == 5
    assert all(is_request_id(each) for each in ids if each)
    page = await front.records(host=host)
    assert [record["url"] for record in page.body["data"]] == [
        f"http://{host}/{n}" for n in (4, 3, 2, 1, 0)
    ]


async def test_an_empty_batch_has_an_empty_answer(front: Api) -> None:
    before = await front.contents()
    array = await front.call("POST", "/metadata/batch", data=b"[]")
    assert (array.status, array.body) == (202, [])
    lines = await front.call("POST", "/metadata/batch", data=b"\n", headers=NDJSON)
    assert (lines.status, lines.text) == (202, "")
    assert await front.contents() == before


async def test_what_does_not_fit_into_the_queue_is_reported_and_not_dropped(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data", queue_limit=4) as it:
        api = Api(it.client, it.base)
        await api.submit("http://example.test/known")
        paths = ["a", "b", "a", "c", "d", "known", "e", "c"]
        answer = await api.call(
            "POST", "/metadata/batch", json=[f"http://example.test/{path}" for path in paths]
        )
        assert answer.status == 202
        assert answer.headers["retry-after"] == "1"
        accepted = {path: each["accepted"] for path, each in zip(paths, answer.body, strict=True)}
        fits = {"a": True, "b": True, "c": True, "d": False, "known": True, "e": False}
        assert accepted == fits
        rest = [each for each in answer.body if not each["accepted"]]
        assert rest == [
            {"url": f"http://example.test/{path}", "accepted": False, "error": "the queue is full"}
            for path in "de"
        ]
        assert (await api.queue())["ready"] == 4
        assert len((await api.records()).body["data"]) == 4


async def test_a_batch_takes_ten_thousand_urls_and_no_more(front: Api) -> None:
    host = new_host()
    urls = [f"http://{host}/{'x' * 100}/{number}" for number in range(10_001)]
    before = await front.contents()
    for form in (_as_array, _as_lines):
        refused = await front.call("POST", "/metadata/batch", **form(urls))
        assert refused.is_problem(422, "more than 10,000 URLs")
    assert await front.contents() == before
    answer = await front.call("POST", "/metadata/batch", json=urls[:10_000])
    assert answer.status == 202
    assert [each["url"] for each in answer.body] == urls[:10_000]
    assert all(each["accepted"] for each in answer.body)
    assert len({each["request_id"] for each in answer.body}) == 10_000
