"""Workers as a site sees them: how hard they ask, how they end, what hostile sites do to them."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bombs import bomb
from e2e.api_client import Api, calling
from e2e.hostile_site import PAGE, HostileSite
from e2e.running import Webloom, running, running_for_module, until
from e2e.watched_site import ALLOWED, Watch, WatchedSite


@pytest.fixture
async def site() -> AsyncIterator[WatchedSite]:
    async with WatchedSite() as site:
        yield site


@pytest.fixture
async def other() -> AsyncIterator[WatchedSite]:
    async with WatchedSite() as site:
        yield site


def given(tmp_path: Path, **settings: object) -> dict[str, Any]:
    return {"data_dir": tmp_path / "data", "allow_addresses": ALLOWED, **settings}


async def completed(api: Api, *urls: str) -> list[dict[str, Any]]:
    records = [await api.record(url, source="false") for url in urls]
    assert {record["status"] for record in records} == {"COMPLETED"}, records
    return records


# Politeness.


async def test_a_host_is_asked_by_so_many_at_a_time(
    tmp_path: Path, site: WatchedSite, other: WatchedSite
) -> None:
    urls = [site.url(f"/gated?{number}") for number in range(3)]
    urls += [site.url(f"/slow?seconds=0.1&{number}") for number in range(9)]
    async with running("up", **given(tmp_path, slots=16, host_concurrency=3)) as it:
        api = Api(it.client, it.base)
        await api.submitted(*urls)
        await until(lambda: site.watch.inside.total() == 3)
        await api.submitted(other.url("/page"))
        await completed(api, other.url("/page"))  # there are slots for more, but not at this host
        site.opened.set()
        await completed(api, *urls)
    assert site.watch.most_inside == 3
    assert len(site.requests) == 12


async def test_a_host_is_left_alone_between_two_requests(
    tmp_path: Path, site: WatchedSite, other: WatchedSite
) -> None:
    urls = [site.url(f"/slow?seconds=0&{number}") for number in range(4)]
    others = [other.url(f"/gated?{number}") for number in range(2)]
    async with running("up", **given(tmp_path, host_delay=1)) as it:
        api = Api(it.client, it.base)
        before = time.monotonic()
        await api.submitted(*urls, *others)
        await completed(api, *urls)
        await until(lambda: len(other.requests) == 2)  # whose hosts do not wait for each other
    starts = sorted(moment for moment, _ in site.watch.starts)
    for number, moment in enumerate(starts):  # the site may be late to see who comes, never early
        assert moment - before >= number - 0.1


async def test_a_host_that_asks_for_a_pause_gets_it(tmp_path: Path, site: WatchedSite) -> None:
    busy, next_one = site.url("/in-turn?codes=429,200&after=2"), site.url("/slow?seconds=0")
    async with running("up", **given(tmp_path, retry_delay=0.05)) as it:
        api = Api(it.client, it.base)
        await api.submit(busy)
        await api.listed_as(busy, "FAILED_RETRYABLE")
        await api.submit(next_one)
        [record, _] = await completed(api, busy, next_one)
    assert record["processing"]["attempt_number"] == 2
    first, second = site.watch.of(busy)
    assert second - first >= 1.9
    [meanwhile] = site.watch.of(next_one)
    assert meanwhile - first >= 1.9


async def test_one_slot_does_one_thing_at_a_time(tmp_path: Path) -> None:
    watch = Watch()
    async with AsyncExitStack() as stack:
        sites = [await stack.enter_async_context(WatchedSite(watch=watch)) for _ in range(3)]
        urls = [site.url(f"/slow?seconds=0.05&{number}") for number in range(4) for site in sites]
        it = await stack.enter_async_context(running("up", **given(tmp_path, slots=1)))
        api = Api(it.client, it.base)
        await api.submitted(*urls)
        await completed(api, *urls)
    assert watch.most_inside == 1
    assert [url for _, url in watch.starts] == urls  # and in the order of the queue


async def test_slots_work_side_by_side(tmp_path: Path) -> None:
    watch = Watch()
    async with AsyncExitStack() as stack:
        sites = [await stack.enter_async_context(WatchedSite(watch=watch)) for _ in range(3)]
        urls = [site.url(f"/gated?{number}") for number in range(4) for site in sites]
        it = await stack.enter_async_context(running("up", **given(tmp_path, slots=6)))
        api = Api(it.client, it.base)
        await api.submitted(*urls)
        await until(lambda: watch.inside.total() == 6)
        assert (await api.queue())["in_flight"] == 6
        for site in sites:
            site.opened.set()
        await completed(api, *urls)
    assert watch.most_inside == 6


async def test_a_slow_host_does_not_delay_the_others(
    tmp_path: Path, site: WatchedSite, other: WatchedSite
) -> None:
    slow = [site.url(f"/gated?{number}") for number in range(40)]
    quick = [other.url(f"/page?{number}") for number in range(5)]
    async with running("up", **given(tmp_path, slots=4, host_concurrency=2)) as it:
        api = Api(it.client, it.base)
        await api.submitted(*slow)
        await site.started.wait()
        await api.submitted(*quick)
        await completed(api, *quick)
        assert not site.opened.is_set()
        assert site.watch.most_inside == 2
        site.opened.set()
        await completed(api, *slow)


async def test_one_url_is_fetched_by_one_worker_at_a_time(
    tmp_path: Path, site: WatchedSite
) -> None:
    urls = [site.url(f"/slow?seconds=0.03&{number}") for number in range(6)]
    settings = given(tmp_path, host_concurrency=32, lease=30)
    async with (
        running("api", **settings) as it,
        running("worker", **settings),
        running("worker", **settings),
    ):
        api = Api(it.client, it.base)
        rounds = 0
        while len(site.requests) < 60:  # a URL that is done is fetched again
            rounds += 1
            assert rounds < 500
            answers = await asyncio.gather(*(api.submit(url) for url in urls for _ in range(5)))
            assert {answer.status for answer in answers} == {202}

        async def at_rest() -> bool:
            queue = await api.queue()
            return bool(queue["ready"] + queue["delayed"] + queue["in_flight"] == 0)

        await until(at_rest)
        await completed(api, *urls)

        async def both_are_seen() -> bool:
            return len((await api.call("GET", "/health")).body["workers"]) == 2

        await until(both_are_seen)
    assert site.watch.most_of_one == 1
    assert site.watch.most_inside > 1


# Ending.


async def test_a_worker_that_is_asked_to_stop_finishes_what_it_began(
    tmp_path: Path, site: WatchedSite
) -> None:
    begun, late = site.url("/gated"), site.url("/page?late")
    settings = given(tmp_path)
    async with running("api", **settings) as it, running("worker", **settings) as worker:
        api = Api(it.client, it.base)
        await api.submit(begun)
        await site.started.wait()
        worker.send(signal.SIGTERM)
        await worker.logged("stopping")
        await api.submit(late)
        assert (await api.look_up(begun)).body["status"] == "IN_PROGRESS"
        assert worker.alive
        site.opened.set()
        assert await worker.ended() == 0
        [record] = await completed(api, begun)
        assert record["processing"]["attempt_number"] == 1
        assert [request.target for request in site.requests] == ["/gated"]  # nothing new
        assert (await api.look_up(late)).body["status"] == "PENDING"
        assert (await api.queue())["ready"] == 1


async def test_what_a_worker_cannot_finish_in_time_is_given_back_uncounted(
    tmp_path: Path, site: WatchedSite
) -> None:
    url = site.url("/gated")
    settings = given(tmp_path, grace=0.3, lease=600)
    async with running("api", **settings) as it:
        api = Api(it.client, it.base)
        accepted = await api.submit(url)
        async with running("worker", **settings) as worker:
            await site.started.wait()
            assert await worker.stop() == 0
            assert "giving back what is unfinished" in worker.log
        record = await api.listed(url)
        assert record["status"] == "PENDING"
        assert record["processing"]["attempt_number"] == 0
        assert record["processing"]["retry_count"] == 0
        assert (await api.queue())["ready"] == 1

        site.opened.set()
        async with running("worker", **settings):  # and it need not wait for a lease
            [record] = await completed(api, url)
        assert record["processing"]["attempt_number"] == 1
        assert record["processing"]["retry_count"] == 0
        assert record["processing"]["last_request_id"] == accepted.body["request_id"]
    assert len(site.requests) == 2


SECOND_SIGNALS = [
    (signal.SIGTERM, signal.SIGTERM, "asked twice by a service manager"),
    (signal.SIGINT, signal.SIGINT, "Ctrl-C twice"),
]


@pytest.mark.parametrize(
    ("first", "second", "why"), SECOND_SIGNALS, ids=[row[2] for row in SECOND_SIGNALS]
)
async def test_a_second_signal_ends_at_once(
    tmp_path: Path, site: WatchedSite, first: signal.Signals, second: signal.Signals, why: str
) -> None:
    url = site.url("/gated")
    settings = given(tmp_path, lease=5, grace=600)
    async with running("api", **settings) as it:
        api = Api(it.client, it.base)
        await api.submit(url)
        async with running("worker", **settings) as worker:
            await site.started.wait()
            worker.send(first)
            await worker.logged("stopping")
            worker.send(second)
            assert await worker.ended() == 128 + second
        site.opened.set()
        async with running("worker", **settings):  # gets it when the lease has run out
            [record] = await completed(api, url)
        assert record["processing"]["attempt_number"] == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_whole_installation_ends_in_good_order(
    tmp_path: Path, site: WatchedSite, number: signal.Signals
) -> None:
    url = site.url("/gated")
    async with running("up", **given(tmp_path)) as it:
        await Api(it.client, it.base).submit(url)
        await site.started.wait()
        it.send(number)
        await it.logged("stopping")
        site.opened.set()
        assert await it.ended() == 0
        assert "Traceback" not in it.log
    async with running("api", **given(tmp_path)) as it:
        await completed(Api(it.client, it.base), url)


async def test_an_idle_worker_ends_at_once(tmp_path: Path) -> None:
    async with running("worker", **given(tmp_path, grace=600)) as it:
        assert await it.stop() == 0
    async with running("scheduler", **given(tmp_path)) as it:
        assert await it.stop() == 0


# Hostile sites.


@pytest.fixture(scope="module")
def wary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """Small limits, and enough slots for all at once."""
    with running_for_module(
        "up",
        **given(tmp_path_factory.mktemp("wary")),
        fetch_timeout=5,
        max_body=MAX_BODY,
        retry_delay=0.02,
        slots=100,
        host_concurrency=100,
    ) as it:
        yield it


@pytest.fixture
async def api(wary: Webloom) -> AsyncIterator[Api]:
    async with calling(wary) as api:
        yield api


MAX_BODY = 1 << 18
TOO_SLOW = "no complete answer within 5 s"

# Path, what the record says, whether it was tried three times, the reason of the row.
FAILURES: list[tuple[str, str, bool, str]] = [
    ("/silence", TOO_SLOW, True, "no answer"),
    ("/drip-body", TOO_SLOW, True, "a body in drops"),
    ("/drip-headers", TOO_SLOW, True, "headers in drops"),
    ("/endless-continue", TOO_SLOW, True, "a promise again and again"),
    ("/gzip-corrupt", "corrupt", False, "corrupt"),
    ("/gzip-cut", "corrupt", False, "cut"),
    ("/brotli", "not asked for", False, "an encoding that was not asked for"),
    ("/circle", "round in a circle", False, "redirects in a circle"),
    ("/hops?left=20", "more than 5 redirects", False, "redirects without end"),
    ("/redirect?to=file:///etc/passwd", "redirect cannot be followed", False, "to a file"),
    ("/content-length-too-long", "ended before the body did", True, "a size that is too large"),
    ("/content-length-negative", "not valid HTTP", False, "a size below nothing"),
    ("/content-length-twice", "not valid HTTP", False, "two sizes"),
    ("/chunk-size-wrong", "not valid HTTP", False, "a chunk without a size"),
    ("/endless-header", "not valid HTTP", False, "a header without end"),
    ("/endless-headers", "not valid HTTP", False, "headers without end"),
    ("/headers-too-many", "not valid HTTP", False, "a thousand headers"),
    ("/not-http", "not valid HTTP", False, "another protocol"),
    ("/status-999", "means nothing", False, "a status that there is not"),
    ("/unasked-101", "means nothing", False, "another protocol, unasked"),
    ("/no-bytes", "connection was lost", True, "nothing"),
    ("/reset", "connection was lost", True, "a connection that is torn down"),
]


async def test_what_hostile_sites_do_is_recorded_and_delays_nobody(
    api: Api, wary: Webloom, site: WatchedSite, other: WatchedSite
) -> None:
    pages = [other.url(f"/page?{number}") for number in range(5)]
    hostile = [site.url(path) for path, *_ in FAILURES]
    await api.submitted(*hostile)
    await until(lambda: len(site.requests) >= len(hostile))
    await api.submitted(*pages)
    await completed(api, *pages)
    silent = await api.look_up(site.url("/silence"))
    assert silent.status == 202  # the pages did not have to wait for it

    found = [await api.record(url) for url in hostile]
    wrong = [
        (why, record["status"], record["processing"])
        for (_, reason, retried, why), record in zip(FAILURES, found, strict=True)
        if record["status"] != "FAILED_PERMANENT"
        or reason not in (record["processing"]["error_message"] or "")
        or (retried and record["processing"]["retry_count"] != 3)
    ]
    assert not wrong
    assert "unexpected" not in wary.log
    await api.ready()
    assert (await api.queue())["dead"] == 0


# Path, bytes that are read, the reason of the row.
OVERSIZED: list[tuple[str, int, str]] = [
    ("/endless-body", MAX_BODY, "a body without end"),
    ("/one-byte-chunks", MAX_BODY, "a body without end, byte by byte"),
    ("/bomb?encoding=gzip&mebibytes=20", MAX_BODY, "a bomb"),
    ("/bomb?encoding=deflate&mebibytes=20", MAX_BODY, "another bomb"),
    ("/large", MAX_BODY, "a long page"),
    ("/content-length-huge", len(PAGE), "a size that is far too large"),
]


async def test_a_page_that_is_too_large_is_completed_with_its_metadata(
    api: Api, wary: Webloom, site: WatchedSite
) -> None:
    for encoding in ("gzip", "deflate"):
        bomb(encoding, 20)  # is made but once, and takes a moment in which the site does nothing
    urls = [site.url(path) for path, *_ in OVERSIZED]
    await api.submitted(*urls)
    for (_, size, why), url in zip(OVERSIZED, urls, strict=True):
        record = await api.record(url)
        metadata, details = record["metadata"], record["additional_details"]
        assert record["status"] == "COMPLETED", (why, record["processing"])
        assert record["processing"]["error_message"] is None, why
        assert (metadata["status_code"], metadata["final_url"]) == (200, url), why
        assert metadata["headers"] is not None, why
        assert metadata["cookies"] == {}, why
        assert details["body_truncated_at"] == size, why
        assert (details["content_length"], details["content_hash"]) == (None, None), why
        if metadata["page_source"] is None:  # zeros
            assert details["source_omitted"] == "not text", why
        else:
            assert len(metadata["page_source"]) == size == details["source_truncated_at"], why
            assert details["source_characters"] is None, why
    assert "unexpected" not in wary.log


# Type, body, the source that is kept, the reason of the row.
CHARSETS: list[tuple[str, bytes, str, str]] = [
    ("text/html; charset=utf-8", b"caf\xc3\xa9", "caf\u00e9", "what it says"),
    ("text/html; charset=latin1", b"caf\xe9", "caf\u00e9", "an old one"),
    ("text/html; charset=utf-8", b"caf\xe9", "caf\ufffd", "a lie"),
    ("text/html; charset=nonsense", b"caf\xc3\xa9", "caf\u00e9", "an unknown one"),
    ("text/html; charset=zlib", b"plain", "plain", "a codec that is none"),
    ("text/html; charset=punycode", b"plain-abc", "plain-abc", "a codec that is slow"),
    ("text/html; charset=idna", b"plain", "plain", "another"),
    ("text/html", b"caf\xe9", "caf", "none, and not UTF-8"),
    ('text/html; charset="utf-8', b"plain", "plain", "a quote that is not closed"),
]


async def test_whatever_the_charset_a_text_is_kept(api: Api, site: WatchedSite) -> None:
    urls = [
        site.url(f"/text?type={quote(kind, safe='')}&body={quote(quote(body))}&{number}")
        for number, (kind, body, *_) in enumerate(CHARSETS)
    ]
    await api.submitted(*urls)
    for (_, _, text, why), record in zip(CHARSETS, await completed_whole(api, urls), strict=True):
        assert record["metadata"]["page_source"] is not None, why
        assert text in record["metadata"]["page_source"], why


async def completed_whole(api: Api, urls: list[str]) -> list[dict[str, Any]]:
    await completed(api, *urls)
    return [await api.record(url) for url in urls]


async def test_odd_headers_can_be_kept_and_read(api: Api, site: WatchedSite) -> None:
    record = await api.record(site.url("/headers-odd"))
    assert record["metadata"]["headers"]["x-twice"] == "a, b"
    assert record["metadata"]["cookies"] == {"a": "1", "b": "2, 3"}
    assert record["metadata"]["page_source"] == PAGE.decode()


REDIRECTS = [
    ("http://{canary}/", "to a forbidden address"),
    ("//{canary}/", "scheme-relative"),
    ("/redirect?to=http://{canary}/", "by way of another redirect"),
    ("http://127.0.0.1:{own}/metadata/records", "to Webloom's own API"),
    ("http://169.254.169.254/latest/meta-data/", "to the cloud's metadata"),
    ("http://[::ffff:127.0.0.2]:{port}/", "to the address in another form"),
]


async def test_a_redirect_to_a_forbidden_address_leads_nowhere(
    api: Api, wary: Webloom, site: WatchedSite
) -> None:
    async with HostileSite(host="127.0.0.2") as canary:
        urls = []
        for to, _ in REDIRECTS:
            target = to.format(canary=f"127.0.0.2:{canary.port}", port=canary.port, own=wary.port)
            urls.append(site.url(f"/redirect?to={quote(target, safe='')}"))
        await api.submitted(*urls)
        for (_, why), url in zip(REDIRECTS, urls, strict=True):
            record = await api.record(url)
            assert record["status"] == "FAILED_PERMANENT", why
            message = record["processing"]["error_message"]
            assert "address" in message or "Webloom's own API" in message, why
            assert record["processing"]["attempt_number"] == 1, why
            assert record["metadata"]["page_source"] is None, why
        assert canary.connections == 0
