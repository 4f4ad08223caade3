"""Bodies that are too large, or declare a hostile charset."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from e2e.fetcher.fetching import SMALL, only
from e2e.hostile_site import PAGE, STATIC, HostileSite, ok
from webloom.adapters.http.fetcher import HttpFetcher

LIMIT = SMALL.max_body_bytes
OVERSIZED = [
    ("/endless-body", LIMIT, "a body without end"),
    ("/bomb?encoding=gzip&mebibytes=32", LIMIT, "gzip bomb"),
    ("/bomb?encoding=deflate&mebibytes=32", LIMIT, "deflate bomb"),
    ("/content-length-huge", len(PAGE), "a length that is too large, and an early end"),
    ("/large", LIMIT, "a long page"),
]


@pytest.mark.parametrize(("path", "size", "why"), OVERSIZED, ids=[row[2] for row in OVERSIZED])
async def test_a_body_that_is_too_large_is_an_answer_without_length_and_hash(
    fetcher: HttpFetcher, site: HostileSite, path: str, size: int, why: str
) -> None:
    received = await fetcher.fetch(site.url(path))
    assert (received.status_code, received.final_url) == (200, site.url(path))
    assert received.headers
    details = received.details
    assert details["body_truncated_at"] == size
    assert (details["content_length"], details["content_hash"]) == (None, None)
    if received.page_source is not None:
        kept = min(size, 1_000_000)
        assert len(received.page_source) == details["source_truncated_at"] == kept
        assert details["source_characters"] is None
    assert (await fetcher.fetch(site.url("/page"))).status_code == 200  # unharmed


CUT = "é" * 1000  # two bytes each, so that an odd limit cuts one in two
CUT_BODIES = [
    ([], CUT.encode(), "on the wire"),
    (["Content-Encoding: gzip"], gzip.compress(CUT.encode()), "decompressed"),
    (["Content-Encoding: gzip"], gzip.compress(CUT.encode(), 0), "on the wire, compressed"),
]


@pytest.mark.parametrize(("headers", "body", "why"), CUT_BODIES, ids=[r[2] for r in CUT_BODIES])
async def test_a_character_that_the_limit_cuts_in_two_is_left_out(
    site: HostileSite, monkeypatch: pytest.MonkeyPatch, headers: list[str], body: bytes, why: str
) -> None:
    monkeypatch.setitem(STATIC, "/cut", ok(body, "Content-Type: text/html", *headers))
    limits = replace(SMALL, max_body_bytes=1501)
    async with HttpFetcher(policy=only(site), limits=limits) as fetcher:
        received = await fetcher.fetch(site.url("/cut"))
    assert received.page_source
    assert set(received.page_source) == {"é"}
    assert 1450 <= received.details["body_truncated_at"] <= 1501
    assert received.details["source_truncated_at"] == len(received.page_source)


async def test_a_body_that_ends_at_the_limit_is_whole(
    site: HostileSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        STATIC, "/zipped", ok(gzip.compress(CUT.encode()), "Content-Encoding: gzip")
    )
    limits = replace(SMALL, max_body_bytes=2000)
    async with HttpFetcher(policy=only(site), limits=limits) as fetcher:
        received = await fetcher.fetch(site.url("/zipped"))
    assert received.details["content_length"] == 2000
    assert "body_truncated_at" not in received.details


CHARSETS = ["punycode", "zlib", "idna", "utf-7", "no-such-charset", "utf-16", "x" * 3000]


@pytest.mark.parametrize("charset", CHARSETS)
async def test_a_hostile_charset_costs_nothing(
    fetcher: HttpFetcher, site: HostileSite, charset: str
) -> None:
    url = site.url(f"/text?type=text/html;charset={charset}&body=caf%25C3%25A9")
    received = await fetcher.fetch(url)
    assert received.page_source is not None
    assert received.page_source == "café" or charset == "utf-16"
