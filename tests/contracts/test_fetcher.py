"""The contract of Fetcher, and of Downloader."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.web_adapters import FORBIDDEN, MAX_BYTES, WEBS, Web, WebAdapter
from fakes.web import Answer
from timeouts import TIMEOUT_SECONDS
from webloom.domain.errors import FetchFailed
from webloom.domain.feed import LastFetch
from webloom.domain.inventory import Received
from webloom.ports.fetcher import Downloaded

BODY = "<p>Hällo".encode()
HTML = {"Content-Type": "text/html; charset=utf-8"}
NEW = LastFetch()
SHORT = 0.3  # seconds, that a site which never answers is waited for

each_adapter = pytest.mark.parametrize("adapter", WEBS, ids=lambda adapter: adapter.name)
each_verb = pytest.mark.parametrize("verb", ["fetch", "download"])


@pytest.fixture(params=WEBS, ids=lambda adapter: adapter.name)
async def web(request: pytest.FixtureRequest) -> AsyncIterator[Web]:
    adapter: WebAdapter = request.param
    async with adapter.open(TIMEOUT_SECONDS) as opened:
        opened.put("/page", Answer(headers=HTML, body=BODY))
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "body"


def content_of(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


async def requested(web: Web, verb: str, url: str, file: Path) -> Received | Downloaded:
    if verb == "fetch":
        return await web.fetcher.fetch(url)
    return await web.downloader.download(url, file, known=NEW)


async def failure(web: Web, verb: str, url: str, file: Path) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await requested(web, verb, url, file)
    assert caught.value.reason
    return caught.value


# Fetcher


@pytest.mark.parametrize("status", [200, 203, 400, 404, 410, 429, 500, 503])
async def test_a_response_of_any_status_is_returned(web: Web, status: int) -> None:
    web.put("/some", Answer(status=status, headers=HTML, body=BODY))
    received = await web.fetcher.fetch(web.url("/some"))
    assert (received.status_code, received.page_source) == (status, "<p>Hällo")
    assert (received.final_url, received.retry_after) == (web.url("/some"), None)


async def test_headers_have_lower_case_names_and_cookies_are_taken_from_them(web: Web) -> None:
    web.put("/some", Answer(headers={"X-Odd": "One", "Set-Cookie": 'sid="a b"; Path=/'}))
    received = await web.fetcher.fetch(web.url("/some"))
    assert received.headers["x-odd"] == "One"
    assert received.cookies == {"sid": "a b"}


async def test_what_is_not_text_has_no_page_source(web: Web) -> None:
    png = b"\x89PNG\r\n\x1a\n\x00\x00"
    web.put("/some", Answer(headers={"Content-Type": "image/png"}, body=png))
    assert (await web.fetcher.fetch(web.url("/some"))).page_source is None


async def test_a_body_that_is_too_large_is_read_up_to_the_limit(web: Web) -> None:
    headers = {**HTML, "Set-Cookie": "seen=yes"}
    web.put("/oversized", Answer(headers=headers, body=b"x" * (MAX_BYTES + 1)))
    received = await web.fetcher.fetch(web.url("/oversized"))
    assert (received.status_code, received.final_url) == (200, web.url("/oversized"))
    assert received.headers["content-type"] == HTML["Content-Type"]
    assert received.cookies == {"seen": "yes"}
    assert received.page_source == "x" * MAX_BYTES
    assert received.details["body_truncated_at"] == MAX_BYTES
    assert received.details["content_length"] is received.details["content_hash"] is None


async def test_cookies_of_a_redirect_are_kept(web: Web) -> None:
    headers = {"Location": "/page", "Set-Cookie": "seen=yes"}
    web.put("/start", Answer(status=302, headers=headers))
    assert (await web.fetcher.fetch(web.url("/start"))).cookies == {"seen": "yes"}


# Downloader


async def test_the_body_is_in_the_file_as_it_was_sent(web: Web, file: Path) -> None:
    headers = {"Content-Type": "text/xml", "ETag": '"1"', "Last-Modified": "Mon"}
    web.put("/some", Answer(headers=headers, body=BODY))
    assert await web.downloader.download(web.url("/some"), file, known=NEW) == Downloaded(
        status_code=200,
        final_url=web.url("/some"),
        bytes=len(BODY),
        sha256=hashlib.sha256(BODY).hexdigest(),
        etag='"1"',
        last_modified="Mon",
        content_type="text/xml",
    )
    assert content_of(file) == BODY


async def test_a_file_is_written_over_even_by_an_empty_body(web: Web, file: Path) -> None:
    await web.downloader.download(web.url("/page"), file, known=NEW)
    web.put("/page", Answer())
    got = await web.downloader.download(web.url("/page"), file, known=NEW)
    assert (got.bytes, got.sha256) == (0, hashlib.sha256(b"").hexdigest())
    assert content_of(file) == b""


KNOWN = [
    (LastFetch(etag='"1"'), 304, "the same tag"),
    (LastFetch(last_modified="Mon"), 304, "the same date"),
    (LastFetch(etag='"1"', last_modified="Mon"), 304, "both"),
    (LastFetch(etag='"0"'), 200, "another tag"),
    (LastFetch(last_modified="Sun"), 200, "another date"),
    (LastFetch(content_hash="1"), 200, "no condition"),
]


@pytest.mark.parametrize("path", ["/some", "/start"])
@pytest.mark.parametrize(
    ("known", "status"), [row[:2] for row in KNOWN], ids=[row[2] for row in KNOWN]
)
async def test_what_is_known_makes_the_request_conditional(
    web: Web, file: Path, path: str, known: LastFetch, status: int
) -> None:
    web.put("/some", Answer(headers={"ETag": '"1"', "Last-Modified": "Mon"}, body=BODY))
    web.put("/start", Answer(status=301, headers={"Location": "/some"}))
    got = await web.downloader.download(web.url(path), file, known=known)
    assert (got.status_code, got.etag, got.final_url) == (status, '"1"', web.url("/some"))
    assert content_of(file) == (BODY if status == 200 else None)
    assert (got.bytes, got.sha256 is None) == ((len(BODY), False) if status == 200 else (0, True))


async def test_the_body_of_an_error_is_not_kept(web: Web, file: Path) -> None:
    web.put("/some", Answer(status=503, body=b"sorry"))
    got = await web.downloader.download(web.url("/some"), file, known=NEW)
    assert (got.status_code, got.bytes, got.sha256) == (503, 0, None)
    assert content_of(file) is None


async def test_a_part_of_a_body_is_never_a_download(web: Web, file: Path) -> None:
    web.put("/oversized", Answer(headers=HTML, body=b"x" * (MAX_BYTES + 1)))
    failed = await failure(web, "download", web.url("/oversized"), file)
    assert not failed.retryable
    assert f"larger than {MAX_BYTES} bytes" in failed.reason


async def test_a_file_that_can_not_be_written_is_a_failure(web: Web, tmp_path: Path) -> None:
    failed = await failure(web, "download", web.url("/page"), tmp_path / "missing" / "body")
    assert failed.retryable


# Both


@each_verb
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(web: Web, verb: str, status: int, file: Path) -> None:
    web.put("/start", Answer(status=status, headers={"Location": "next"}))
    web.put("/next", Answer(status=status, headers={"Location": web.url("/page")}))
    got = await requested(web, verb, web.url("/start"), file)
    assert (got.status_code, got.final_url) == (200, web.url("/page"))


@each_verb
@pytest.mark.parametrize(("reported", "seconds"), [("120", 120.0), ("soon", None)])
async def test_retry_after_is_given_in_seconds(
    web: Web, verb: str, reported: str, seconds: float | None, file: Path
) -> None:
    web.put("/some", Answer(status=429, headers={"Retry-After": reported}))
    assert (await requested(web, verb, web.url("/some"), file)).retry_after == seconds


@each_verb
async def test_the_number_of_redirects_is_bounded(web: Web, verb: str, file: Path) -> None:
    for hop in range(10):
        web.put(f"/hop{hop}", Answer(status=302, headers={"Location": f"/hop{hop + 1}"}))
    web.put("/hop10", Answer())
    assert (await requested(web, verb, web.url("/hop5"), file)).final_url == web.url("/hop10")
    assert not (await failure(web, verb, web.url("/hop4"), file)).retryable
    web.put("/round", Answer(status=302, headers={"Location": "/round"}))
    assert not (await failure(web, verb, web.url("/round"), file)).retryable


@each_verb
async def test_a_body_as_large_as_the_limit_is_whole(web: Web, verb: str, file: Path) -> None:
    web.put("/fits", Answer(headers=HTML, body=b"x" * MAX_BYTES))
    got = await requested(web, verb, web.url("/fits"), file)
    assert got.status_code == 200
    assert not isinstance(got, Received) or "body_truncated_at" not in got.details


@each_verb
async def test_a_host_that_does_not_answer_may_be_asked_again(
    web: Web, verb: str, file: Path
) -> None:
    assert (await failure(web, verb, web.nowhere, file)).retryable


@each_verb
@pytest.mark.parametrize("url", [FORBIDDEN, "ftp://site.example/", "http://"])
@pytest.mark.parametrize("is_redirect", [False, True], ids=["asked", "redirected"])
async def test_what_the_gate_refuses_is_refused_for_good(
    web: Web, verb: str, url: str, is_redirect: bool, file: Path
) -> None:
    if is_redirect:
        web.put("/away", Answer(status=302, headers={"Location": url}))
    failed = await failure(web, verb, web.url("/away") if is_redirect else url, file)
    assert not failed.retryable


@each_adapter
@each_verb
async def test_the_time_for_an_answer_is_bounded(
    adapter: WebAdapter, verb: str, file: Path
) -> None:
    async with adapter.open(SHORT) as web:
        web.put("/page", Answer(body=BODY))
        web.silence()
        assert (await failure(web, verb, web.url("/page"), file)).retryable


@each_adapter
@each_verb
async def test_waiting_for_an_answer_can_be_cancelled(
    adapter: WebAdapter, verb: str, file: Path
) -> None:
    async with adapter.open(TIMEOUT_SECONDS) as web:
        web.put("/page", Answer(body=BODY))
        web.silence()
        asking = asyncio.create_task(requested(web, verb, web.url("/page"), file))
        await web.was_asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
