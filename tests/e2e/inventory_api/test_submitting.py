"""Submitted URLs: what is accepted, what is refused, and the result."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
import trustme

from e2e.api_client import Api
from e2e.inventory_api.names import is_request_id, new_host
from e2e.running import running
from e2e.watched_site import ALLOWED, WatchedSite

# One URL, from the request to its record.


async def test_a_submitted_url_becomes_a_whole_record(api: Api, site: WatchedSite) -> None:
    page = "/text?type=text/html&header=X-Odd:%20One&body=%3Cp%3EHello"
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
        "headers": {"content-type": "text/html", "content-length": "8", "x-odd": "One"},
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


async def test_the_record_of_an_https_page_shows_its_tls(
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
    ("http://example.test:x/", "port", "a port that is not a number"),
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
        assert (await api.records(host=site.host)).body["data"][0]["url"] == urls[2]
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
        kept = {record["url"] for record in page.body["data"]}
        assert kept == {answer.body["url"] for answer in answers if answer.status == 202}
