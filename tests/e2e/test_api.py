"""The inventory through its API: real processes, a site on loopback."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
import trustme
from yarl import URL

from e2e.api_client import Answer, Api, calling
from e2e.hostile_site import PAGE
from e2e.running import Webloom, running, running_for_module, until
from e2e.watched_site import ALLOWED, WatchedSite

SCRIPT = "<script>alert(document.domain)</script><img src=x onerror=alert(1)>"
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """API and worker; what a test leaves behind lies under the address of its own site."""
    folder = tmp_path_factory.mktemp("whole")
    with running_for_module(
        "up", data_dir=folder / "data", allow_addresses=ALLOWED, retry_delay=0.05
    ) as it:
        yield it


@pytest.fixture(scope="module")
def without_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """What is submitted here stays in the queue, so that URLs of any host may be used."""
    folder = tmp_path_factory.mktemp("without_worker")
    with running_for_module("api", data_dir=folder / "data", queue_limit=100_000) as it:
        yield it


@pytest.fixture
async def api(whole: Webloom) -> AsyncIterator[Api]:
    async with calling(whole) as api:
        yield api


@pytest.fixture
async def front(without_worker: Webloom) -> AsyncIterator[Api]:
    async with calling(without_worker) as api:
        yield api


@pytest.fixture
async def site() -> AsyncIterator[WatchedSite]:
    async with WatchedSite() as site:
        yield site


_numbers = itertools.count(1)


def new_host() -> str:
    return f"host-{next(_numbers)}.test"


def is_request_id(value: object) -> bool:
    return isinstance(value, str) and str(uuid.UUID(value)) == value


# One URL, from the request to its record.


async def test_a_submitted_url_becomes_a_whole_record(api: Api, site: WatchedSite) -> None:
    page = "/text?type=text/html&body=%3Cp%3EHello"
    url = site.url(f"/redirect?cookie=seen%3Dyes&to={quote(page, safe='')}")
    accepted = await api.submit(url)
    assert accepted.status == 202
    assert accepted.body.keys() == {"url", "status", "request_id"}
    assert is_request_id(accepted.body["request_id"])
    assert accepted.headers["retry-after"] == "1"
    assert (await api.raw(accepted.headers["location"])).status in (200, 202)

    record = await api.record(url)
    assert record.keys() == {
        *("url", "status", "metadata", "processing", "additional_details"),
        *("created_at", "updated_at", "stale"),
    }
    assert (record["url"], record["status"], record["stale"]) == (url, "COMPLETED", False)
    assert record["metadata"] == {
        "status_code": 200,
        "headers": {"content-type": "text/html", "content-length": "8"},
        "cookies": {"seen": "yes"},
        "page_source": "<p>Hello",
        "final_url": site.url(page),
    }
    processing = record["processing"]
    began = datetime.fromisoformat(processing.pop("last_attempt_at"))
    assert processing == {
        "retry_count": 0,
        "attempt_number": 1,
        "error_message": None,
        "last_request_id": accepted.body["request_id"],
    }
    created, updated = (
        datetime.fromisoformat(record[f"{verb}_at"]) for verb in ("created", "updated")
    )
    assert created <= began <= updated <= datetime.now(UTC) + timedelta(minutes=1)
    details = record["additional_details"]
    timings = details.pop("timings_ms")
    assert timings.keys() == {"dns", "connect", "first_byte", "total"}
    assert timings["total"] > 0
    assert details == {
        "redirect_chain": [{"url": url, "status_code": 302}],
        "http_version": "1.1",
        "content_type": "text/html",
        "content_length": 8,
        "content_hash": f"sha256:{hashlib.sha256(b'<p>Hello').hexdigest()}",
        "tls": None,
    }


async def test_the_record_of_an_https_page_tells_its_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    site = WatchedSite()
    async with (
        site.secured_by(authority),
        running("up", data_dir=tmp_path / "data", allow_addresses=ALLOWED) as it,
    ):
        record = await Api(it.client, it.base).record(site.url("/page"))
    assert record["status"] == "COMPLETED", record["processing"]
    tls = record["additional_details"]["tls"]
    assert tls["version"].startswith("TLSv1.")
    assert datetime.fromisoformat(tls["certificate_expires_at"]) > datetime.now(UTC)


EQUIVALENT = [
    ("HTTP://{host}/a", "http://{host}/a", "the case of the scheme"),
    ("http://{HOST}/a", "http://{host}/a", "the case of the host"),
    ("http://{host}:80/a", "http://{host}/a", "the default port"),
    ("https://{host}:443/a", "https://{host}/a", "the default port of https"),
    ("http://{host}/a#part", "http://{host}/a", "a fragment"),
    ("http://{host}", "http://{host}/", "no path"),
    ("http://{host}./a", "http://{host}/a", "the root's dot"),
    ("http://bücher.{host}/a", "http://xn--bcher-kva.{host}/a", "an international name"),
    ("http://BÜCHER.{host}/a", "http://xn--bcher-kva.{host}/a", "its case"),
    ("http://{host}/b/../a", "http://{host}/a", "dots"),
    ("http://{host}/%61", "http://{host}/a", "a needless escape"),
    ("  http://{host}/a\n", "http://{host}/a", "white space around it"),
]


@pytest.mark.parametrize(
    ("spelling", "kept", "why"), EQUIVALENT, ids=[row[2] for row in EQUIVALENT]
)
async def test_spellings_of_a_url_are_one_record(
    front: Api, spelling: str, kept: str, why: str
) -> None:
    host = new_host()
    first = await front.submit(kept.format(host=host))
    again = await front.submit(spelling.format(host=host, HOST=host.upper()))
    assert again.body == first.body
    assert again.body["url"] == kept.format(host=host)
    looked_up = await front.look_up(spelling.format(host=host, HOST=host.upper()))
    assert (looked_up.status, looked_up.body) == (202, first.body)


DIFFERENT = [
    ("http://{host}/a", "https://{host}/a", "another scheme"),
    ("http://{host}/a", "http://{host}:8080/a", "another port"),
    ("http://{host}/a", "http://{host}/A", "the case of the path"),
    ("http://{host}/a", "http://{host}/a/", "a slash at the end"),
    ("http://{host}/a?b=1&c=2", "http://{host}/a?c=2&b=1", "the order of the query"),
    ("http://{host}/a%2Fb", "http://{host}/a/b", "an escape that means something"),
]


@pytest.mark.parametrize(("one", "other", "why"), DIFFERENT, ids=[row[2] for row in DIFFERENT])
async def test_urls_that_may_lead_elsewhere_are_two_records(
    front: Api, one: str, other: str, why: str
) -> None:
    host = new_host()
    first, second = [await front.submit(url.format(host=host)) for url in (one, other)]
    assert first.body["request_id"] != second.body["request_id"]
    assert first.body["url"] != second.body["url"]


async def test_a_second_request_joins_one_that_waits(front: Api) -> None:
    url = f"http://{new_host()}/"
    before = await front.queue()
    answers = await asyncio.gather(*(front.submit(url) for _ in range(20)))
    assert len({answer.body["request_id"] for answer in answers}) == 1
    looked_up = await front.look_up(url)
    assert looked_up.body == answers[0].body
    assert (await front.queue())["ready"] == before["ready"] + 1


async def test_a_second_request_joins_one_that_is_being_fetched(
    api: Api, site: WatchedSite
) -> None:
    url = site.url("/gated")
    first = await api.submit(url)
    await site.started.wait()
    second = await api.submit(url)
    looked_up = await api.look_up(url)
    for answer in (second, looked_up):
        assert answer.status == 202
        assert answer.body["request_id"] == first.body["request_id"]
        assert answer.body["status"] == "IN_PROGRESS"
    site.opened.set()
    record = await api.record(url)
    assert record["processing"]["last_request_id"] == first.body["request_id"]
    assert len(site.requests) == 1


REFUSED_URLS = [
    ("", "must begin with http", "nothing"),
    ("example.test", "must begin with http", "no scheme"),
    ("//example.test/", "must begin with http", "scheme-relative"),
    ("ftp://example.test/", "must begin with http", "ftp"),
    ("file:///etc/passwd", "must begin with http", "a file"),
    ("javascript:alert(1)", "must begin with http", "a script"),
    ("data:text/html,x", "must begin with http", "data"),
    ("http:///path", "no host", "no host"),
    ("http://a b.test/", "not a valid name", "a space in the host"),
    ("http://example.test:0/", "port", "port 0"),
    ("http://example.test:65536/", "port", "a port beyond ports"),
    ("http://example.test:x/", "port", "a port that is no number"),
    ("http://user:secret@example.test/", "user name or password", "a password"),
    ("http://example.test\\@127.0.0.1/", "backslash", "a backslash"),
    ("http://exa%6dple.test/", "percent", "an escape in the host"),
    ("http://example.test/\0", "control character", "NUL"),
    ("http://example.test/\r\nX: y", "control character", "a line break"),
    (f"http://{'a' * 64}.test/", "too long", "a label that is too long"),
    (f"http://example.test/{'a' * 8192}", "longer than 8192", "over 8 KB"),
    ("http://2130706433/", "plain IPv4", "an address as one number"),
    ("http://127.0.0.1/", "loopback", "loopback"),
    ("http://localhost:8000/", "loopback", "loopback by name"),
    ("http://[::1]/", "loopback", "IPv6 loopback"),
    ("http://[::ffff:10.0.0.1]/", "private", "a private address, mapped"),
    ("http://10.0.0.1/", "private", "a private address"),
    ("http://169.254.169.254/latest/meta-data/", "metadata", "the cloud's metadata"),
    ("http://8.8.8.8:6379/", "port 6379", "the port of a database"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "reason", "why"), REFUSED_URLS, ids=[row[2] for row in REFUSED_URLS]
)
async def test_a_url_that_cant_be_fetched_is_refused_with_the_reason(
    front: Api, url: str, reason: str, why: str
) -> None:
    before = await front.contents()
    assert (await front.submit(url)).is_problem(422, reason)
    assert (await front.look_up(url)).is_problem(422, reason)
    assert (await front.call("DELETE", "/metadata", params={"url": url})).is_problem(422, reason)
    source = await front.call("GET", "/metadata/source", params={"url": url})
    assert source.is_problem(422, reason)
    batch = await front.call("POST", "/metadata/batch", json=[url])
    [refused] = batch.body
    assert refused == {"url": url, "accepted": False, "error": refused["error"]}
    assert reason in refused["error"]
    assert await front.contents() == before


# A full queue.


async def test_a_full_queue_refuses_the_next_url_and_says_when_to_come_again(
    tmp_path: Path, site: WatchedSite
) -> None:
    settings = {"data_dir": tmp_path / "data", "queue_limit": 3, "allow_addresses": ALLOWED}
    async with running("api", **settings) as it:  # type: ignore[arg-type]  # a table of settings
        api = Api(it.client, it.base)
        urls = [site.url(f"/page?{number}") for number in range(4)]
        assert [(await api.submit(url)).status for url in urls[:3]] == [202] * 3
        for refused in (await api.submit(urls[3]), await api.look_up(urls[3])):
            assert refused.is_problem(503, "metadata_queue", "3 ready messages")
            assert int(refused.headers["retry-after"]) > 0
        assert (await api.submit(urls[0])).status == 202  # joins what is in the queue
        assert (await api.records(host=site.host)).body["records"][0]["url"] == urls[2]
        async with running("worker", **settings):  # type: ignore[arg-type]
            for url in urls[:3]:
                assert (await api.record(url))["status"] == "COMPLETED"
            assert (await api.record(urls[3]))["status"] == "COMPLETED"


async def test_of_many_requests_at_once_a_queue_takes_exactly_its_limit(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data", queue_limit=20) as it:
        api = Api(it.client, it.base)
        answers = await asyncio.gather(
            *(api.submit(f"http://example.test/{number}") for number in range(50))
        )
        statuses = [answer.status for answer in answers]
        assert (statuses.count(202), statuses.count(503)) == (20, 30)
        assert all("retry-after" in answer.headers for answer in answers)
        assert (await api.queue())["ready"] == 20
        page = await api.records(limit=200)
        kept = {record["url"] for record in page.body["records"]}
        assert kept == {answer.body["url"] for answer in answers if answer.status == 202}


# Batches.


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
async def test_a_batch_is_answered_url_by_url_in_order(front: Api, form: Any, why: str) -> None:
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
    assert [record["url"] for record in page.body["records"]] == [
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
        assert len((await api.records()).body["records"]) == 4


async def test_a_batch_takes_ten_thousand_urls_and_no_more(front: Api) -> None:
    host = new_host()
    urls = [f"http://{host}/{'x' * 100}/{number}" for number in range(10_001)]
    before = await front.contents()
    for form in (_as_array, _as_lines):
        refused = await front.call("POST", "/metadata/batch", **form(urls))
        assert refused.is_problem(422, "10000", "10001")
    assert await front.contents() == before
    answer = await front.call("POST", "/metadata/batch", json=urls[:10_000])
    assert answer.status == 202
    assert [each["url"] for each in answer.body] == urls[:10_000]
    assert all(each["accepted"] for each in answer.body)
    assert len({each["request_id"] for each in answer.body}) == 10_000


# Looking up.


async def test_looking_up_an_unknown_url_requests_it(front: Api) -> None:
    url = f"http://{new_host()}/"
    before = await front.queue()
    first, again = await front.look_up(url), await front.look_up(url)
    assert first.status == again.status == 202
    assert first.body == again.body
    assert first.body["status"] == "PENDING"
    assert is_request_id(first.body["request_id"])
    assert (await front.queue())["ready"] == before["ready"] + 1


FINAL_FAILURES = [
    (404, "most common"),
    (401, "needs a password"),
    (410, "gone"),
    (451, "a rare one"),
]


@pytest.mark.parametrize(("code", "why"), FINAL_FAILURES, ids=[row[1] for row in FINAL_FAILURES])
async def test_a_page_that_answers_4xx_fails_for_good_and_is_kept(
    api: Api, site: WatchedSite, code: int, why: str
) -> None:
    record = await api.record(site.url(f"/in-turn?codes={code}"))
    assert record["status"] == "FAILED_PERMANENT"
    assert record["metadata"]["status_code"] == code
    assert record["metadata"]["page_source"] == PAGE.decode()
    assert record["processing"]["error_message"] == f"the server answered {code}"
    assert record["processing"]["retry_count"] == 0
    assert len(site.requests) == 1


async def test_a_site_that_keeps_failing_fails_for_good_after_three_attempts(
    api: Api, site: WatchedSite
) -> None:
    rows = [("503", "overloaded"), ("500", "broken"), ("429", "asked too often")]
    urls = [site.url(f"/in-turn?codes={code}") for code, _ in rows]
    await api.submitted(*urls)
    for (code, why), url in zip(rows, urls, strict=True):
        record = await api.record(url)
        assert record["status"] == "FAILED_PERMANENT", why
        assert record["metadata"]["status_code"] == int(code)
        assert record["metadata"]["page_source"] == PAGE.decode()
        assert record["processing"]["retry_count"] == 3
        assert record["processing"]["attempt_number"] == 3
        assert record["processing"]["error_message"] == f"the server answered {code}"
    assert len(site.requests) == 3 * len(rows)


async def test_a_failure_that_passes_is_tried_again(api: Api, site: WatchedSite) -> None:
    url = site.url("/in-turn?codes=503,200")
    record = await api.record(url)
    assert record["status"] == "COMPLETED"
    first, second = site.watch.of(url)
    assert 0.05 <= second - first < 4  # when it is due, not when a heartbeat happens to wake
    assert record["metadata"]["status_code"] == 200
    assert record["processing"]["attempt_number"] == 2
    assert record["processing"]["retry_count"] == 1
    assert record["processing"]["error_message"] is None


async def test_a_url_that_waits_for_its_retry_is_pending_to_its_readers(
    api: Api, site: WatchedSite
) -> None:
    url = site.url("/in-turn?codes=503,200&after=600")
    accepted = await api.submit(url)
    waiting = await api.listed_as(url, "FAILED_RETRYABLE")
    assert waiting["processing"]["retry_count"] == 1
    assert waiting["processing"]["error_message"] == "the server answered 503"
    for answer in (await api.look_up(url), await api.submit(url)):
        assert answer.status == 202
        assert answer.body == accepted.body | {"status": "FAILED_RETRYABLE"}
    source = await api.call("GET", "/metadata/source", params={"url": url})
    assert (source.status, source.body["status"]) == (202, "FAILED_RETRYABLE")
    assert len(site.requests) == 1


async def test_a_host_that_refuses_connections_is_tried_three_times(
    api: Api, site: WatchedSite
) -> None:
    url = site.url("/page")
    await site.__aexit__(None, None, None)
    record = await api.record(url)
    assert record["status"] == "FAILED_PERMANENT"
    assert record["processing"]["retry_count"] == 3
    assert "no connection could be made" in record["processing"]["error_message"]
    assert record["metadata"] == dict.fromkeys(record["metadata"])
    assert record["additional_details"] is None
    source = await api.call("GET", "/metadata/source", params={"url": url})
    assert source.is_problem(404, "No text")


async def test_a_stale_record_is_answered_while_it_is_refreshed(
    tmp_path: Path, site: WatchedSite
) -> None:
    url = site.url("/gated")
    async with running(
        "up", data_dir=tmp_path / "data", allow_addresses=ALLOWED, cache_ttl=0
    ) as it:
        api = Api(it.client, it.base)
        site.opened.set()
        first = (await api.submit(url)).body["request_id"]
        record = await api.listed_as(url, "COMPLETED")
        assert record["processing"]["last_request_id"] == first
        site.opened.clear()
        asked = len(site.requests)

        stale = await api.look_up(url)
        assert (stale.status, stale.body["stale"]) == (200, True)
        assert stale.body["metadata"]["page_source"] == PAGE.decode()
        await until(lambda: len(site.requests) > asked)
        during = [await api.look_up(url), await api.look_up(url, source="false")]
        source = await api.call("GET", "/metadata/source", params={"url": url})
        for answer in during:
            assert (answer.status, answer.body["status"]) == (200, "COMPLETED")
            assert answer.body["stale"] is True
            assert answer.body["metadata"]["status_code"] == 200
        assert (source.status, source.text) == (200, PAGE.decode())
        assert len(site.requests) == asked + 1  # one refresh, however many readers

        site.opened.set()
        newer = await api.record(
            url, ready=lambda record: record["updated_at"] > stale.body["updated_at"]
        )
        assert newer["processing"]["last_request_id"] != first
        assert newer["created_at"] == stale.body["created_at"]


async def test_a_stale_record_survives_a_refresh_that_fails(
    tmp_path: Path, site: WatchedSite
) -> None:
    url = site.url("/in-turn?codes=200,503")
    async with running(
        *("up",), data_dir=tmp_path / "data", allow_addresses=ALLOWED, cache_ttl=0, retry_delay=0.05
    ) as it:
        api = Api(it.client, it.base)
        await api.submit(url)
        await api.listed_as(url, "COMPLETED")
        seen: list[Answer] = []

        async def failed() -> bool:
            seen.append(await api.look_up(url))
            return bool(seen[-1].body["status"] == "FAILED_PERMANENT")

        await until(failed)
        assert {answer.status for answer in seen} == {200}  # never unreadable in between
        assert all(answer.body["metadata"]["page_source"] == PAGE.decode() for answer in seen)


async def test_a_fresh_record_is_not_fetched_again(api: Api, site: WatchedSite) -> None:
    url = site.url("/page")
    first = await api.record(url)
    assert await api.record(url) == first
    assert first["stale"] is False
    assert len(site.requests) == 1


async def test_submitting_a_known_url_fetches_it_again(api: Api, site: WatchedSite) -> None:
    url = site.url("/page")
    first = await api.record(url)
    again = await api.submit(url)
    assert again.status == 202
    newer = await api.record(
        url,
        ready=lambda record: record["processing"]["last_request_id"] == again.body["request_id"],
    )
    assert newer["created_at"] == first["created_at"]
    assert len(site.requests) == 2


async def test_the_source_can_be_left_out(api: Api, site: WatchedSite) -> None:
    url = site.url("/page")
    whole = await api.record(url)
    without = await api.record(url, source="false")
    whole["metadata"]["page_source"] = None
    assert without == whole


async def test_an_invalidated_url_is_fetched_anew(api: Api, site: WatchedSite) -> None:
    url = site.url("/page")
    await api.record(url)
    deleted = await api.call(
        "DELETE", "/metadata", params={"url": url.upper().replace("PAGE", "page")}
    )
    assert (deleted.status, deleted.text) == (204, "")
    assert (await api.records(host=site.host)).body["records"] == []
    gone = await api.call("DELETE", "/metadata", params={"url": url})
    assert gone.is_problem(404, "not in the inventory")
    assert (await api.look_up(url)).status == 202
    assert (await api.record(url))["status"] == "COMPLETED"
    assert len(site.requests) == 2


async def test_invalidating_a_url_that_is_being_fetched_keeps_its_request(
    api: Api, site: WatchedSite
) -> None:
    url = site.url("/gated")
    accepted = await api.submit(url)
    await site.started.wait()
    assert (await api.call("DELETE", "/metadata", params={"url": url})).status == 204
    assert (await api.look_up(url)).body["request_id"] == accepted.body["request_id"]
    site.opened.set()
    record = await api.record(url)
    assert record["processing"]["last_request_id"] == accepted.body["request_id"]
    assert len(site.requests) == 1


# The page source.


async def test_the_source_is_served_as_text_that_no_browser_runs(
    api: Api, site: WatchedSite
) -> None:
    url = site.url(f"/text?type=text/html&body={quote(SCRIPT)}")
    await api.record(url)
    source = await api.call("GET", "/metadata/source", params={"url": url})
    assert source.status == 200
    assert source.text == SCRIPT
    assert source.headers["content-type"] == "text/plain; charset=utf-8"
    assert source.headers["x-content-type-options"] == "nosniff"
    assert source.headers["content-disposition"].startswith("attachment")
    policy = source.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "sandbox"} <= {*policy}


async def test_a_long_source_is_cut_and_the_record_says_so(api: Api, site: WatchedSite) -> None:
    record = await api.record(site.url("/large"))
    assert len(record["metadata"]["page_source"]) == 1_000_000
    details = record["additional_details"]
    assert details["source_truncated_at"] == 1_000_000
    assert details["source_characters"] == details["content_length"] == 1_200_003


async def test_a_body_that_is_not_text_has_no_source(api: Api, site: WatchedSite) -> None:
    url = site.url("/binary")
    record = await api.record(url)
    assert record["status"] == "COMPLETED"
    assert record["metadata"]["page_source"] is None
    assert record["additional_details"]["source_omitted"] == "not text"
    source = await api.call("GET", "/metadata/source", params={"url": url})
    assert source.is_problem(404, "No text")


# The listing.


async def test_pages_of_the_listing_hold_every_record_once_the_newest_first(front: Api) -> None:
    host = new_host()
    urls = [f"http://{host}/{number}" for number in range(25)]
    for part in (urls[:9], urls[9:10], urls[10:]):
        await front.submitted(*part)
    for filters in ({"host": host}, {"q": host}, {"host": host, "status": "PENDING"}):
        found: list[str] = []
        cursor: dict[str, str] = {}
        for _ in range(10):
            page = (await front.records(limit=7, **filters, **cursor)).body
            assert len(page["records"]) <= 7
            found += [record["url"] for record in page["records"]]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert found == urls[::-1], filters


async def test_records_that_come_while_paging_do_not_disturb_it(front: Api) -> None:
    host = new_host()
    urls = [f"http://{host}/{number}" for number in range(6)]
    await front.submitted(*urls)
    first = (await front.records(host=host, limit=3)).body
    await front.submitted(f"http://{host}/new")
    second = (await front.records(host=host, limit=3, cursor=first["next_cursor"])).body
    pages = [*first["records"], *second["records"]]
    assert [record["url"] for record in pages] == urls[::-1]
    assert second["next_cursor"] is None


async def test_the_listing_can_be_filtered(api: Api, site: WatchedSite) -> None:
    done, failed = site.url("/page?shoes"), site.url("/in-turn?codes=404")
    running_now, retrying = site.url("/gated"), site.url("/in-turn?codes=503&after=600")
    states = {
        done: "COMPLETED",
        failed: "FAILED_PERMANENT",
        running_now: "IN_PROGRESS",
        retrying: "FAILED_RETRYABLE",
    }
    for url, state in states.items():  # one after another, as the last closes the host
        await api.submit(url)
        await api.listed_as(url, state)
    waiting = site.url("/page?waits")
    await api.submit(waiting)
    await api.listed_as(waiting, "PENDING")
    everything = {*states, waiting}
    now = datetime.now(UTC)
    soon, before = (now + timedelta(days=1)).isoformat(), (now - timedelta(days=1)).isoformat()
    host = site.host
    rows: list[tuple[dict[str, str], set[str], str]] = [
        ({"status": "COMPLETED"}, {done}, "a final status"),
        ({"status": "FAILED_PERMANENT"}, {failed}, "the other final status"),
        ({"status": "IN_PROGRESS"}, {running_now}, "being fetched"),
        ({"status": "FAILED_RETRYABLE"}, {retrying}, "to be tried again"),
        ({"status": "PENDING"}, {waiting}, "not begun"),
        ({}, everything, "no filter but the host"),
        ({"q": "shoes"}, {done}, "a word"),
        ({"q": "sho*"}, {done}, "the beginning of a word"),
        ({"q": "sho"}, set(), "no star, no beginning"),
        ({"q": "SHOES"}, {done}, "the case of a word"),
        ({"q": "hoes"}, set(), "the end of a word is no word"),
        ({"q": "shoes", "status": "PENDING"}, set(), "two filters"),
        ({"q": host}, everything, "the host is words too"),
        ({"from": before}, everything, "since yesterday"),
        ({"from": soon}, set(), "since tomorrow"),
        ({"to": soon}, everything, "until tomorrow"),
        ({"to": before}, set(), "until yesterday"),
        ({"from": before, "to": soon}, everything, "both"),
        ({"from": soon, "to": before}, set(), "turned round"),
        ({"from": before[:10], "to": soon[:10]}, everything, "days"),
        ({"from": "0001-01-01"}, everything, "the first day there is"),
        ({"to": "9999-12-31T23:59:59-12:00"}, everything, "beyond the last one"),
        ({"host": "nobody.test"}, set(), "another host"),
        ({"host": ""}, set(), "no host"),
    ]
    for filters, expected, why in rows:
        answer = await api.records(**{"host": host, "limit": "200", **filters})
        assert answer.status == 200, why
        assert {record["url"] for record in answer.body["records"]} == expected, why
        assert all(record["metadata"]["page_source"] is None for record in answer.body["records"])


BAD_FILTERS = [
    ("cursor=x", "cursor", "not a cursor"),
    ("cursor=", "cursor", "an empty cursor"),
    ("cursor=%C3%A9", "cursor", "a cursor that is not ASCII"),
    ("cursor=LS4t", "cursor", "a cursor of signs"),
    ("cursor=MS4y%00", "NUL", "NUL in a cursor"),
    ("cursor=ODAwMDAwMDAwMDAwMDAwMC4x", "cursor", "a cursor beyond numbers"),
    ("cursor=" + "MS4y" * 50, "cursor", "a long cursor"),
    ("status=DONE", "status", "an unknown status"),
    ("status=completed", "status", "the case of a status"),
    ("status=", "status", "an empty status"),
    ("limit=0", "limit", "no records"),
    ("limit=201", "limit", "too many"),
    ("limit=-1", "limit", "fewer than none"),
    ("limit=many", "limit", "a word for a number"),
    ("limit=9223372036854775808", "limit", "more than 63 bits"),
    ("from=yesterday", "from", "a word for a date"),
    ("from=2024-13-01", "from", "a thirteenth month"),
    ("to=99999-01-01", "to", "a far year"),
    ("to=nan", "to", "not a number"),
    ("q=%00", "NUL", "NUL"),
    ("q=" + "a" * 201, "q", "a long text"),
    ("host=a%00b", "NUL", "NUL in a host"),
    ("q=%FF", "UTF-8", "bytes that are not UTF-8"),
    ("sort=url", "sort", "an unknown parameter"),
    ("q%5B%24gt%5D=", "q[$gt]", "an operator of another database"),
]


@pytest.mark.parametrize(("query", "part", "why"), BAD_FILTERS, ids=[row[2] for row in BAD_FILTERS])
async def test_a_filter_that_makes_no_sense_is_refused(
    front: Api, query: str, part: str, why: str
) -> None:
    assert (await front.raw(f"/metadata/records?{query}")).is_problem(422, part)


HOSTILE_TEXTS = [
    ("'", "a quote"),
    ('"', "a double quote"),
    ('""', "two of them"),
    ('a" OR "b', "out of the phrase"),
    ("' OR 1=1 --", "out of the statement"),
    ("'; DROP TABLE records; --", "another statement"),
    ("*", "every word"),
    ("a*", "a pattern"),
    ("%", "a wildcard"),
    ("_", "one more"),
    ("NEAR(a b)", "an operator"),
    ("a AND NOT b", "operators"),
    ("url:a", "a column"),
    ("^a", "the beginning"),
    ("{a b}:c", "columns"),
    ("-", "a sign"),
    ("((((", "brackets"),
    ("\\", "a backslash"),
    ("\x1b[31m", "an escape of terminals"),
    ("\u202e", "turned round"),
    ("\U0001f9f5", "beyond the basic plane"),
    ("\ufffe", "not a character"),
    ("a" * 200, "as long as it may be"),
    (" ", "a space"),
    ("{}", "an object"),
    ("$where", "a word of another database"),
]


@pytest.mark.parametrize(("text", "why"), HOSTILE_TEXTS, ids=[row[1] for row in HOSTILE_TEXTS])
async def test_whatever_is_searched_for_is_only_searched_for(
    front: Api, text: str, why: str
) -> None:
    known = f"http://{new_host()}/"
    await front.submitted(known)
    for parameter in ("q", "host"):
        answer = await front.records(**{parameter: text})
        assert (answer.status, answer.body["next_cursor"]) == (200, None), answer.text
        assert known not in [record["url"] for record in answer.body["records"]]
    assert (await front.listed(known))["status"] == "PENDING"


BAD_QUERIES = [
    ("", "url is missing", "no URL"),
    ("?uri=http%3A%2F%2Fa.test%2F", "url is missing", "a misspelt name"),
    ("?url=http://a.test/?b=1&c=2", "'c'", "an ampersand that was not encoded"),
    ("?url=http://a.test/caf%E9", "UTF-8", "a byte that would become another URL"),
    ("?url=http%3A%2F%2Fa.test%2F%00", "control character", "NUL"),
    ("?url=http%3A%2F%2Fa.test%2F" + "a" * 8192, "longer than 8192", "over 8 KB"),
]


@pytest.mark.parametrize(("query", "part", "why"), BAD_QUERIES, ids=[row[2] for row in BAD_QUERIES])
async def test_a_query_that_means_another_url_is_refused(
    front: Api, query: str, part: str, why: str
) -> None:
    before = await front.contents()
    for path in ("/metadata", "/metadata/source"):
        assert (await front.raw(path + query)).is_problem(422, part)
    encoded = URL(f"{front.base}/metadata{query}", encoded=True)
    assert (await front.call("DELETE", encoded)).is_problem(422, part)
    assert await front.contents() == before


async def test_the_source_parameter_is_a_yes_or_no(front: Api) -> None:
    answer = await front.look_up("http://a.test/", source="maybe")
    assert answer.is_problem(422, "source")
