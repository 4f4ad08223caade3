"""What is stored of a good answer."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from e2e.fetcher.fetching import only
from e2e.hostile_site import PAGE, HostileSite
from webloom import __version__
from webloom.adapters.http.fetcher import HttpFetcher
from webloom.adapters.http.headers import seconds_to_wait


async def test_a_page_is_kept_with_all_that_is_known_of_it(
    fetcher: HttpFetcher, site: HostileSite
) -> None:
    received = await fetcher.fetch(site.url("/page", host="site.test"))
    assert received.status_code == 200
    assert received.headers == {
        "content-length": str(len(PAGE)),
        "content-type": "text/html; charset=utf-8",
    }
    assert received.cookies == {}
    assert received.page_source == PAGE.decode()
    assert received.final_url == site.url("/page", host="site.test")
    assert received.retry_after is None
    details = json.loads(json.dumps(received.details))
    timings = details.pop("timings_ms")
    assert details == {
        "redirect_chain": [],
        "http_version": "1.1",
        "content_type": "text/html; charset=utf-8",
        "content_length": len(PAGE),
        "content_hash": f"sha256:{hashlib.sha256(PAGE).hexdigest()}",
        "tls": None,
    }
    assert timings.keys() == {"dns", "connect", "first_byte", "total"}
    assert all(value >= 0 for value in timings.values())


async def test_the_request_is_plain(fetcher: HttpFetcher, site: HostileSite) -> None:
    await fetcher.fetch(site.url("/page?a=%2F&b=ä"))
    (request,) = site.requests
    assert request.target == "/page?a=%2F&b=%C3%A4"
    assert request.headers == {
        "host": f"127.0.0.1:{site.port}",
        "user-agent": f"Webloom/{__version__} (+self-hosted)",
        "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "accept-encoding": "gzip, deflate",
    }


async def test_a_reused_connection_has_no_times_for_connecting(
    fetcher: HttpFetcher, site: HostileSite
) -> None:
    await fetcher.fetch(site.url("/page"))
    again = await fetcher.fetch(site.url("/page"))
    assert site.connections == 1
    assert again.details["timings_ms"]["dns"] is None
    assert again.details["timings_ms"]["connect"] is None


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/gzip", PAGE * 10),
        ("/gzip-members", b"ab"),
        ("/deflate", PAGE),
        ("/deflate-raw", PAGE),
    ],
)
async def test_a_compressed_page_is_kept_decompressed(
    fetcher: HttpFetcher, site: HostileSite, path: str, body: bytes
) -> None:
    received = await fetcher.fetch(site.url(path))
    assert received.page_source == body.decode()
    assert received.details["content_length"] == len(body)
    assert received.details["content_hash"] == f"sha256:{hashlib.sha256(body).hexdigest()}"


async def test_a_long_page_is_cut_and_says_so(site: HostileSite) -> None:
    async with HttpFetcher(policy=only(site)) as fetcher:
        received = await fetcher.fetch(site.url("/large"))
    assert received.page_source is not None
    assert len(received.page_source) == 1_000_000
    assert received.details["source_truncated_at"] == 1_000_000
    assert received.details["source_characters"] == 1_200_003
    assert received.details["content_length"] == 1_200_003


async def test_what_is_not_text_has_no_source(fetcher: HttpFetcher, site: HostileSite) -> None:
    received = await fetcher.fetch(site.url("/binary"))
    assert received.page_source is None
    assert received.details["source_omitted"] == "not text"


async def test_headers_are_kept_in_a_form_that_can_be_stored(
    fetcher: HttpFetcher, site: HostileSite
) -> None:
    received = await fetcher.fetch(site.url("/headers-odd"))
    assert received.headers["x-raw"] == "caf\ufffd"
    assert received.headers["x-twice"] == "a, b"
    assert received.headers["set-cookie"] == "a=1\nb=2, 3"
    assert received.cookies == {"a": "1", "b": "2, 3"}


@pytest.mark.parametrize("status", [204, 304, 404, 418, 500, 503])
async def test_an_answer_with_any_status_is_an_answer(
    fetcher: HttpFetcher, site: HostileSite, status: int
) -> None:
    received = await fetcher.fetch(site.url(f"/status?code={status}&retry-after=7"))
    assert received.status_code == status
    assert received.retry_after == 7.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        (" 120 ", 120.0),
        ("9" * 5000, 1e10),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        ("Fri, 31 Feb 2025 99:00:00 GMT", None),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_never_negative(
    value: str, seconds: float | None
) -> None:
    assert seconds_to_wait(value) == seconds


def test_retry_after_counts_to_its_date() -> None:
    seconds = seconds_to_wait(format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True))
    assert seconds is not None
    assert 3500 < seconds <= 3600
