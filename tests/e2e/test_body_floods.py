"""Bodies within the size limit that would take many times their size to decode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from changedetection import archive
from e2e.api_client import Answer, Api, calling
from e2e.running import Webloom, running_for_module
from proc import forget_peak, memory, peak_memory

MEBIBYTE = 1 << 20
LARGEST = 16 * MEBIBYTE
MOST_ADDED = 120 * MEBIBYTE  # by two of them; their bytes alone take 32, and 64 as they come in

BATCH = "/metadata/batch"
EVENTS = "/api/watch/events"
WATCHES = "/api/watches/import"
OPML = "/api/feeds/opml"
LINES = {"Content-Type": "application/x-ndjson"}
WIDE = b'{"x":[%s0]}' % (b"{}," * 300_000)  # more than a watch has
MakeBody = Callable[[], bytes]  # in the test that sends it: together they take much memory


def filled(start: bytes, each: bytes, end: bytes, size: int = LARGEST) -> MakeBody:
    """As large as possible."""
    return lambda: start + each * ((size - len(start) - len(end)) // len(each)) + end


def message(field: bytes, start: bytes, each: bytes, end: bytes) -> MakeBody:
    head = b'{"jobId":"a","url":"https://a.test/",' + field
    return filled(head + start, each, end + b"}", 11_999_999)


def numbered(start: bytes, each: bytes, end: bytes) -> MakeBody:
    """As `filled`, with a number in each."""

    def make() -> bytes:
        parts, size = [start], len(start) + len(end)
        for number in range(LARGEST):
            parts.append(each % number)
            size += len(parts[-1])
            if size > LARGEST:
                return b"".join(parts[:-1]) + end
        raise AssertionError

    return make


# Path, headers, body, a part of what is answered.
FLOODS = {
    "URLs: empty objects": (BATCH, {}, filled(b"[", b"{},", b"{}]"), "more than 10,000 URLs"),
    "URLs: short texts": (BATCH, {}, filled(b"[", b'"a",', b'"a"]'), "more than 10,000 URLs"),
    "URLs: lines": (BATCH, LINES, filled(b"", b'"a"\n', b""), "more than 10,000 URLs"),
    "URLs: lines of a byte": (BATCH, LINES, filled(b"", b"1\n", b""), "Line 1"),
    "events: empty objects": (EVENTS, {}, filled(b"[", b"{},", b"{}]"), "more than 1,000 events"),
    "events: fields": (
        EVENTS, {}, numbered(b'[{"jobId":"a","url":"https://a.test/"', b',"%d":0', b"}]"),
        "more than 1,000,000 values",
    ),
    "one event: in its content": (
        EVENTS, {}, message(b'"parsed":', b'{"metadata":[', b"{},", b"{}]}"),
        "more than 1,000,000 values",
    ),
    "one event: in its price": (
        EVENTS, {}, message(b'"price":', b"[", b'{"a":0},', b"0]"), "more than 1,000,000 values",
    ),
    "watches: empty objects": (
        WATCHES, {}, filled(b"[", b"{},", b"{}]"), "more than 10,000 entries",
    ),
    "watches: in an object": (
        WATCHES, {}, filled(b'{"data":[', b"[],", b"[]]}"), "more than 10,000 entries",
    ),
    "watches: in one entry": (
        WATCHES, {}, filled(b'[{"urls":[', b'"a",', b'"a"]}]'), "more than 1,000,000 values",
    ),
    "watches: lines": (WATCHES, {}, filled(b"", b"a\n", b""), "more than 10,000 entries"),
    "watches: long lines of wide characters": (
        WATCHES, {}, filled(b"", "\U0001f600".encode() * 1000 + b"\n", b""), '"refused":',
    ),
    "watches: comments": (WATCHES, {}, filled(b"", b"#\n", b""), "more than 100,000 lines"),
    "watches: OPML": (
        WATCHES, {}, filled(b"<opml><body>", b"<outline/>", b"</body></opml>"),
        "more than 500,000 tags",
    ),
    "watches: files of an archive": (
        WATCHES, {}, lambda: archive({f"{each:0140}": b"" for each in range(42_000)}),
        "more than 30,000 files",
    ),
    "watches: an archive of watches": (
        WATCHES, {}, lambda: archive({f"{each}/watch.json": WIDE for each in range(60)}),
        '"refused":60',
    ),
    "watches: fields of an old backup": (
        WATCHES, {}, lambda: archive({"url-watches.json": numbered(
            b'{"watching":{"a":0', b',"%d":0', b"}}")()[:LARGEST]}),
        "more than 10,000 watches",
    ),
    "feeds: elements": (
        OPML, {}, filled(b"<opml>", b"<a/>", b"</opml>"), "more than 500,000 tags",
    ),
    "feeds: nested elements": (
        OPML, {}, filled(b"<opml>" + b"<a>" * 400_000, b" ", b""), "levels deep",
    ),
    "feeds: ampersands": (OPML, {}, filled(b"<opml>", b"&", b"</opml>"), "ampersands"),
    "feeds: attributes": (OPML, {}, numbered(b"<opml><a ", b" a%d=''", b"/></opml>"), "attributes"),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """What the first large bodies leave behind is there before anything is measured."""
    with running_for_module("api", data_dir=tmp_path_factory.mktemp("floods") / "data") as it:
        asyncio.run(twice(it, BATCH, {}, b" " * LARGEST))
        yield it


async def twice(it: Webloom, path: str, headers: dict[str, str], body: bytes) -> list[Answer]:
    async with calling(it) as api:
        return await asyncio.gather(
            *(api.call("POST", path, data=body, headers=headers) for _ in range(2))
        )


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_two_floods_at_once_are_refused_before_they_are_decoded(
    whole: Webloom, api: Api, flood: tuple[str, dict[str, str], MakeBody, str]
) -> None:
    path, headers, make_body, part = flood
    body = make_body()
    forget_peak(whole.pid)
    before = memory(whole.pid)
    flooding = asyncio.create_task(twice(whole, path, headers, body))
    served = await api.call("POST", "/metadata", json={"url": "http://good.test/"})
    answers = await flooding
    added = peak_memory(whole.pid) - before
    assert served.status == 202
    assert all(part in each.text for each in answers), answers[0].text
    assert added < MOST_ADDED, f"{added / MEBIBYTE:.0f} MiB"
