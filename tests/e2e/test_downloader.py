"""The downloader against a site that does what it should not."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import random
import resource
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest

from e2e.hostile_site import PAGE, STATIC, HostileSite, Request, answer, ok
from e2e.running import until
from webloom.adapters.http.download import DownloadLimits, HttpDownloader
from webloom.domain.errors import FetchFailed
from webloom.domain.feed import LastFetch
from webloom.domain.network_policy import NetworkPolicy

SMALL = DownloadLimits(
    total_seconds=60.0, stall_seconds=60.0, connect_seconds=60.0, max_bytes=4 << 20
)
NEW = LastFetch()
LARGE = random.Random(7).randbytes(1 << 19).hex().encode() * 3 + b"the end"  # of several blocks

ZEROS = bytes((1 << 20) + 5)


class FeedSite(HostileSite):
    async def do_whole(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(ok(LARGE, "Content-Type: application/rss+xml"))
        await writer.drain()

    async def do_packed(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(ok(packed(request.query["as"]), f"Content-Encoding: {request.query['name']}"))
        await writer.drain()

    async def do_without_length(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """?as= for its form; cut so many bytes before its end."""
        body = packed(request.query["as"])[: -int(request.query["cut"])]
        writer.write(answer(200, "Content-Encoding: gzip", "Connection: close") + body)
        await writer.drain()
        raise ConnectionResetError

    async def do_endless_junk(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Behind a body that is complete."""
        writer.write(answer(200, "Content-Encoding: gzip") + gzip.compress(PAGE))
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    async def do_zeros(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """The last bytes come out of the decoder when all of its input is used up."""
        writer.write(ok(zlib.compress(ZEROS, 9)[2:-4], "Content-Encoding: deflate"))
        await writer.drain()

    async def do_cut(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200, f"Content-Length: {len(LARGE)}") + LARGE[:2_000_000])
        await writer.drain()
        raise ConnectionResetError

    async def do_stops(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200, f"Content-Length: {len(LARGE)}") + LARGE[:2_000_000])
        await writer.drain()
        await asyncio.Event().wait()

    async def do_known(self, request: Request, writer: asyncio.StreamWriter) -> None:
        is_known = request.headers.get("if-none-match") == '"v1"'
        is_known |= request.headers.get("if-modified-since") == "yesterday"
        headers = ('ETag: "v1"', "Last-Modified: yesterday")
        writer.write(answer(304, *headers) if is_known else ok(PAGE, *headers))

    async def do_moved(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(301, "Location: /known", "Content-Length: 0"))

    async def do_error(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """?code=, ?retry-after=, with a body."""
        after = f"Retry-After: {request.query['retry-after']}"
        status = answer(int(request.query["code"]), "Content-Length: 5", after)
        writer.write(status + b"sorry")

    async def do_part(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(206, "Content-Length: 5", "Content-Range: bytes 0-4/10") + b"hello")


@cache
def packed(form: str) -> bytes:
    match form:
        case "gzip":
            return gzip.compress(LARGE, 1)
        case "members":
            third = len(LARGE) // 3
            parts = LARGE[:third], LARGE[third : 2 * third], b"", LARGE[2 * third :]
            return b"".join(gzip.compress(part, 1) for part in parts)
        case "zlib":
            return zlib.compress(LARGE, 1)
        case "raw":
            return zlib.compress(LARGE, 1)[2:-4]
        case "plain":
            return LARGE
        case "gzip and junk":
            return gzip.compress(LARGE, 1) + b"\x1f" + b"junk" * 1000
    raise AssertionError(form)


@pytest.fixture
async def site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        yield site


@pytest.fixture
async def downloader(site: FeedSite) -> AsyncIterator[HttpDownloader]:
    async with HttpDownloader(policy=only(site), limits=SMALL) as downloader:
        yield downloader


def only(site: HostileSite) -> NetworkPolicy:
    return NetworkPolicy.parse([f"{site.host}:{site.port}"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "feed"


def size_of(file: Path) -> int:
    return file.stat().st_size if file.exists() else -1


def content_of(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


async def failure_of(downloader: HttpDownloader, url: str, file: Path) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await downloader.download(url, file, known=NEW)
    return caught.value


async def test_a_body_lies_in_the_file_as_it_was_sent(
    downloader: HttpDownloader, site: FeedSite, file: Path
) -> None:
    got = await downloader.download(site.url("/whole"), file, known=NEW)
    assert content_of(file) == LARGE
    assert (got.status_code, got.final_url) == (200, site.url("/whole"))
    assert (got.bytes, got.sha256) == (len(LARGE), hashlib.sha256(LARGE).hexdigest())
    assert got.content_type == "application/rss+xml"
    assert (got.etag, got.last_modified, got.retry_after) == (None, None, None)
    [request] = site.requests
    assert "application/rss+xml" in request.headers["accept"]
    assert request.headers["accept-encoding"] == "gzip, deflate"
    assert request.headers.keys().isdisjoint({"if-none-match", "if-modified-since", "cookie"})


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("gzip", "gzip"),
        ("gzip", "X-GZIP"),
        ("members", "gzip"),
        ("gzip and junk", "gzip"),
        ("zlib", "deflate"),
        ("raw", "deflate"),
        ("plain", "identity"),
    ],
)
async def test_a_compressed_body_lies_in_the_file_as_it_was_meant(
    downloader: HttpDownloader, site: FeedSite, file: Path, form: str, name: str
) -> None:
    url = site.url(f"/packed?as={quote(form)}&name={name}")
    got = await downloader.download(url, file, known=NEW)
    assert content_of(file) == LARGE
    assert (got.bytes, got.sha256) == (len(LARGE), hashlib.sha256(LARGE).hexdigest())


async def test_what_the_decoder_still_holds_is_not_lost(
    downloader: HttpDownloader, site: FeedSite, file: Path
) -> None:
    got = await downloader.download(site.url("/zeros"), file, known=NEW)
    assert (got.bytes, got.sha256) == (len(ZEROS), hashlib.sha256(ZEROS).hexdigest())


async def test_an_empty_body_is_an_empty_file(
    downloader: HttpDownloader, site: FeedSite, file: Path
) -> None:
    await downloader.download(site.url("/page"), file, known=NEW)
    got = await downloader.download(site.url("/text"), file, known=NEW)
    assert (got.bytes, got.sha256) == (0, hashlib.sha256(b"").hexdigest())
    assert content_of(file) == b""


@pytest.mark.parametrize("path", ["/known", "/moved"])
@pytest.mark.parametrize(
    "known", [LastFetch(etag='"v1"'), LastFetch(last_modified="yesterday")], ids=["etag", "date"]
)
async def test_what_is_known_is_not_sent_again(
    downloader: HttpDownloader, site: FeedSite, file: Path, path: str, known: LastFetch
) -> None:
    first = await downloader.download(site.url(path), file, known=NEW)
    assert (first.status_code, first.etag, first.last_modified) == (200, '"v1"', "yesterday")
    elsewhere = file.with_name("elsewhere")
    again = await downloader.download(site.url(path), elsewhere, known=known)
    assert (again.status_code, again.bytes, again.sha256) == (304, 0, None)
    assert (again.etag, again.final_url) == ('"v1"', site.url("/known"))
    assert content_of(elsewhere) is None


@pytest.mark.parametrize("odd", ["caf\u00e9", "a\r\nX-Evil: 1", "a\x00b", ""])
async def test_an_unprintable_etag_is_not_sent(
    downloader: HttpDownloader, site: FeedSite, file: Path, odd: str
) -> None:
    got = await downloader.download(site.url("/known"), file, known=LastFetch(etag=odd))
    assert got.status_code == 200
    assert site.requests[-1].headers.keys().isdisjoint({"if-none-match", "x-evil"})


@pytest.mark.parametrize(("code", "low", "high"), [(503, 120, 120), (429, 3000, 3600)])
async def test_the_body_of_an_error_is_not_kept_and_its_retry_after_is_read(
    downloader: HttpDownloader,
    site: FeedSite,
    file: Path,
    code: int,
    low: float,
    high: float,
) -> None:
    in_an_hour = format_datetime(datetime.now(UTC) + timedelta(hours=1))
    retry_after = "120" if code == 503 else in_an_hour
    url = site.url(f"/error?code={code}&retry-after={quote(retry_after)}")
    got = await downloader.download(url, file, known=NEW)
    assert (got.status_code, got.bytes, got.sha256) == (code, 0, None)
    assert got.retry_after is not None
    assert low <= got.retry_after <= high
    assert content_of(file) is None


async def test_the_body_of_an_error_is_kept_where_any_answer_is_wanted(
    site: FeedSite, file: Path
) -> None:
    async with HttpDownloader(policy=only(site), limits=SMALL, any_status=True) as downloader:
        url = site.url("/error?code=403&retry-after=1")
        got = await downloader.download(url, file, known=NEW)
    assert (got.status_code, got.bytes) == (403, 5)
    assert content_of(file) == b"sorry"


BROKEN = [
    ("/cut", True, "ended before the body did"),
    ("/content-length-too-long", True, "ended before the body did"),
    ("/chunk-cut", True, "ended before the body did"),
    ("/without-length?as=gzip&cut=100", True, "ends too early"),
    ("/gzip-cut", True, "ends too early"),
    ("/reset", True, "connection"),
    ("/gzip-corrupt", False, "is corrupt"),
    ("/gzip-not", False, "is corrupt"),
    ("/gzip-many-members", False, "is corrupt"),
    ("/gzip-twice", False, "which was not asked for"),
    ("/brotli", False, "which was not asked for"),
    ("/endless-body", False, "larger than 4194304 bytes"),
    ("/endless-junk", False, "larger than 4194304 bytes"),
    ("/content-length-huge", False, "larger than 4194304 bytes"),
    ("/bomb?encoding=gzip&mebibytes=30", False, "larger than 4194304 bytes"),
    ("/bomb?encoding=deflate&mebibytes=30", False, "larger than 4194304 bytes"),
    ("/part", False, "206"),
    ("/hops?left=6", False, "more than 5 redirects"),
    ("/circle", False, "circle"),
    ("/redirect?to=http://127.0.0.2/", False, "127.0.0.2"),
    ("/redirect?to=ftp://site.test/", False, "http:// or https://"),
    ("/not-http", False, "not valid HTTP"),
]


@pytest.mark.parametrize(("path", "retryable", "reason"), BROKEN, ids=[row[0] for row in BROKEN])
async def test_a_failed_download_says_why(
    downloader: HttpDownloader, site: FeedSite, file: Path, path: str, retryable: bool, reason: str
) -> None:
    failure = await failure_of(downloader, site.url(path), file)
    assert reason in failure.reason
    assert failure.retryable is retryable
    # It is ready for the next one.
    assert (await downloader.download(site.url("/whole"), file, known=NEW)).bytes == len(LARGE)


SLOW = [
    ("/stops", replace(SMALL, stall_seconds=1.0), "the server sent nothing for 1 s"),
    ("/silence", replace(SMALL, stall_seconds=1.0), "the server sent nothing for 1 s"),
    ("/drip-body", replace(SMALL, total_seconds=2.0), "no complete answer within 2 s"),
    (
        "/drip-body",
        replace(SMALL, rate_window=1.0),
        "in 1 s, less than 1 KB/s (WEBLOOM_MIN_RATE)",
    ),
]


@pytest.mark.parametrize(("path", "limits", "reason"), SLOW)
async def test_what_takes_too_long_may_be_tried_again(
    site: FeedSite, file: Path, path: str, limits: DownloadLimits, reason: str
) -> None:
    async with HttpDownloader(policy=only(site), limits=limits) as downloader:
        failure = await failure_of(downloader, site.url(path), file)
    assert reason in failure.reason
    assert failure.retryable


async def test_a_small_body_is_not_too_slow(site: FeedSite, file: Path) -> None:
    limits = replace(SMALL, min_rate=1 << 30)
    async with HttpDownloader(policy=only(site), limits=limits) as downloader:
        got = await downloader.download(site.url("/page"), file, known=NEW)
    assert got.bytes == len(PAGE)


async def test_a_bomb_does_not_fill_the_memory(
    downloader: HttpDownloader, site: FeedSite, file: Path
) -> None:
    url = site.url("/bomb?encoding=gzip&mebibytes=300")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await failure_of(downloader, url, file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


async def test_the_limit_itself_is_allowed(site: FeedSite, file: Path) -> None:
    for spare, fits in ((0, True), (-1, False)):
        limits = DownloadLimits(max_bytes=len(LARGE) + spare)
        async with HttpDownloader(policy=only(site), limits=limits) as downloader:
            for path in ("/whole", "/packed?as=raw&name=deflate"):
                if fits:
                    got = await downloader.download(site.url(path), file, known=NEW)
                    assert got.bytes == len(LARGE)
                else:
                    failure = await failure_of(downloader, site.url(path), file)
                    assert f"larger than {len(LARGE) - 1} bytes" in failure.reason


@pytest.mark.parametrize("place", ["/dev/full", "missing/feed"])
async def test_an_unwritable_disk_is_reported(
    downloader: HttpDownloader, site: FeedSite, tmp_path: Path, place: str
) -> None:
    file = tmp_path / place
    for path in ("/page", "/whole"):
        failure = await failure_of(downloader, site.url(path), file)
        assert f"can't be written to {file}: No s" in failure.reason
        assert failure.retryable


async def test_a_cancelled_download_ends_and_leaves_its_file_alone(
    site: FeedSite, file: Path
) -> None:
    async with HttpDownloader(policy=only(site)) as downloader:
        downloading = asyncio.create_task(downloader.download(site.url("/stops"), file, known=NEW))
        await until(lambda: size_of(file) > 0, what="a part of the file")
        downloading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await downloading


async def test_a_private_address_is_never_connected_to(file: Path) -> None:
    async with FeedSite() as canary, HttpDownloader(policy=NetworkPolicy.parse([])) as downloader:
        failure = await failure_of(downloader, canary.url("/page"), file)
        assert "127.0.0.1" in failure.reason
        assert not failure.retryable
        assert canary.connections == 0


def test_the_site_serves_every_broken_answer_of_the_table() -> None:
    for path, *_ in BROKEN:
        name = path.partition("?")[0]
        assert name in STATIC or hasattr(FeedSite, "do_" + name.strip("/").replace("-", "_"))
