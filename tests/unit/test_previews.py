"""The time that a preview may take in all its steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from fakes.page_reader import InProcessPageReader
from fakes.web import Answer, FakeWeb
from webloom.adapters.feed_process.reader import ProcessFeedReader
from webloom.application.host_turns import HostTurns, Turn
from webloom.application.imports.preview_feed import PreviewFeed
from webloom.application.watch.preview_page import PreviewPage
from webloom.domain.errors import FetchFailed
from webloom.domain.feed import FeedConfig, LastFetch
from webloom.domain.page import Selection
from webloom.domain.politeness import HostLimits
from webloom.ports.feed_reader import FeedReader, ReadBatch, ReadOptions
from webloom.ports.fetcher import Downloaded
from webloom.ports.page_reader import PageOrder, PageRead

FEED = FeedConfig(url="https://feeds.test/", name="")
PAGE = "https://pages.test/"
ITEMS = "".join(f"<item><title>Job {n}</title><guid>{n}</guid></item>" for n in range(12))
BODY = f"<rss><channel><title>Jobs</title>{ITEMS}</channel></rss>".encode()
MOMENT = 0.05  # seconds: the limit in these tests, which something that never ends runs into


def files_in(spool: Path) -> list[Path]:
    return list(spool.rglob("*"))


async def for_ever() -> None:
    await asyncio.Event().wait()


class StallingWeb(FakeWeb):
    """Writes a body to its file, and waits for more that never comes."""

    def __init__(self) -> None:
        super().__init__()
        self.stalled = asyncio.Event()

    async def download(self, url: str, into: Path, *, known: LastFetch) -> Downloaded:
        await super().download(url, into, known=known)
        self.stalled.set()
        await for_ever()
        raise AssertionError


Web = TypeVar("Web", bound=FakeWeb)


def furnished(web: Web) -> Web:
    web.pages = {FEED.url: Answer(body=BODY), PAGE: Answer(body=b"<p>A page")}
    return web


@pytest.fixture
def web() -> FakeWeb:
    return furnished(FakeWeb())


class StuckFeedReader(ProcessFeedReader):
    """Never gets to the first batch."""

    @asynccontextmanager
    async def read(
        self, path: Path, options: ReadOptions
    ) -> AsyncIterator[AsyncIterator[ReadBatch]]:
        self.learnt(path).touch()  # as its child does
        yield self._nothing()

    async def _nothing(self) -> AsyncIterator[ReadBatch]:
        await for_ever()
        for batch in list[ReadBatch]():
            yield batch


class SlowFeedReader(ProcessFeedReader):
    """Its time is over after the first batch."""

    @asynccontextmanager
    async def read(
        self, path: Path, options: ReadOptions
    ) -> AsyncIterator[AsyncIterator[ReadBatch]]:
        async with super().read(path, replace(options, batch_size=5)) as batches:
            yield self._first(batches)

    async def _first(self, batches: AsyncIterator[ReadBatch]) -> AsyncIterator[ReadBatch]:
        yield await anext(batches)
        raise TimeoutError


class StuckPageReader(InProcessPageReader):
    async def read(self, order: PageOrder) -> PageRead:
        await for_ever()
        raise AssertionError


def one_at_a_time(delay: float = 0.0) -> HostTurns:
    return HostTurns(HostLimits(concurrency=1, delay=delay))


def preview_feed(
    spool: Path,
    web: FakeWeb,
    reader: FeedReader | None = None,
    seconds: float = MOMENT,
    turns: HostTurns | None = None,
) -> PreviewFeed:
    return PreviewFeed(
        downloader=web,
        reader=reader or StuckFeedReader(),
        turns=turns or one_at_a_time(),
        spool=spool,
        max_bytes=10_000,
        seconds=seconds,
    )


def preview_page(spool: Path, web: FakeWeb, turns: HostTurns | None = None) -> PreviewPage:
    return PreviewPage(
        downloader=web,
        reader=StuckPageReader(),
        turns=turns or one_at_a_time(),
        spool=spool,
        seconds=MOMENT,
    )


@pytest.mark.parametrize("is_silent", [True, False], ids=["server", "reader"])
async def test_a_feed_that_takes_too_long_is_given_up(
    tmp_path: Path, web: FakeWeb, is_silent: bool
) -> None:
    if is_silent:
        web.may_answer.clear()
    with pytest.raises(FetchFailed, match=r"within the 0\.05 s of a preview"):
        await preview_feed(tmp_path, web)(FEED)
    assert not files_in(tmp_path)


async def test_what_was_read_of_a_feed_in_time_is_shown(tmp_path: Path, web: FakeWeb) -> None:
    preview = preview_feed(tmp_path, web, SlowFeedReader(), seconds=1000.0)
    seen, last = await preview(FEED)
    assert (last.count, last.is_last) == (5, False)
    assert [posting.title for posting in seen.postings] == [f"Job {n}" for n in range(5)]
    assert seen.bytes == len(BODY)
    assert not files_in(tmp_path)


@pytest.mark.parametrize("is_silent", [True, False], ids=["server", "reader"])
async def test_a_page_that_takes_too_long_is_given_up(
    tmp_path: Path, web: FakeWeb, is_silent: bool
) -> None:
    if is_silent:
        web.may_answer.clear()
    with pytest.raises(FetchFailed, match=r"within the 0\.05 s of a preview"):
        await preview_page(tmp_path, web)(PAGE, Selection())
    assert not files_in(tmp_path)


async def test_a_preview_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    web = furnished(StallingWeb())
    async with asyncio.TaskGroup() as group:
        preview = preview_feed(tmp_path, web, seconds=1000.0)
        previewing = group.create_task(preview(FEED))
        await web.stalled.wait()
        assert any(path.is_file() for path in files_in(tmp_path))
        previewing.cancel()
    assert not files_in(tmp_path)


async def test_an_unwritable_spool_is_reported(tmp_path: Path, web: FakeWeb) -> None:
    spool = tmp_path / "spool"
    spool.write_text("a file")
    with pytest.raises(FetchFailed, match="can't be created: Not a directory"):
        await preview_feed(spool, web)(FEED)


@pytest.mark.parametrize("delay", [0.0, 1000.0], ids=["concurrency", "delay"])
async def test_a_preview_does_not_ask_a_host_out_of_turn(
    tmp_path: Path, web: FakeWeb, delay: float
) -> None:
    turns = one_at_a_time(delay)
    for host in ("feeds.test", "pages.test"):
        turn = await turns.take(host)
        assert isinstance(turn, Turn)
        if delay:
            turn.end()
    with pytest.raises(FetchFailed, match="of a preview"):
        await preview_feed(tmp_path, web, turns=turns)(FEED)
    with pytest.raises(FetchFailed, match="of a preview"):
        await preview_page(tmp_path, web, turns)(PAGE, Selection())
    assert web.requested == []


async def test_a_preview_takes_its_turn_when_it_comes_and_gives_it_back(
    tmp_path: Path, web: FakeWeb
) -> None:
    turns = one_at_a_time()
    turn = await turns.take("feeds.test")
    assert isinstance(turn, Turn)
    async with asyncio.TaskGroup() as group:
        preview = preview_feed(tmp_path, web, seconds=1000.0, turns=turns)
        previewing = group.create_task(preview(FEED))
        while not turns._hosts["feeds.test"].waiting:  # turns of the event loop
            await asyncio.to_thread(files_in, tmp_path)
        turn.end()
        await web.started.wait()
        async with asyncio.timeout(60):
            while not isinstance(await turns.take("feeds.test"), Turn):  # while the feed is read
                await asyncio.to_thread(files_in, tmp_path)  # the machine is busy
        previewing.cancel()
