"""The time that a preview may take, whoever spends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from webloom.application.host_turns import HostTurns, Turn
from webloom.application.imports.preview_feed import PreviewFeed
from webloom.application.watch.preview_page import PreviewPage
from webloom.domain.errors import FetchFailed
from webloom.domain.feed import FeedConfig, LastFetch
from webloom.domain.page import Selection
from webloom.domain.politeness import HostLimits
from webloom.ports.feed_reader import FeedReader, ReadBatch, ReadOptions, SeenKeys
from webloom.ports.fetcher import Downloaded
from webloom.ports.page_reader import PageOrder, PageRead

FEED = FeedConfig(url="https://feeds.test/", name="")
MOMENT = 0.05  # seconds: the limit in these tests, which something that never ends runs into


def files_in(spool: Path) -> list[Path]:
    return list(spool.rglob("*"))


def write(path: Path) -> None:
    """In no thread: one that is left alone might write after all was removed."""
    path.write_bytes(b"something")


async def for_ever() -> None:
    await asyncio.Event().wait()


class Server:
    """Answers at once, or never."""

    def __init__(self, *, is_silent: bool = False) -> None:
        self._is_silent = is_silent
        self.was_asked = asyncio.Event()

    async def download(self, url: str, into: Path, *, known: LastFetch) -> Downloaded:
        write(into)
        self.was_asked.set()
        if self._is_silent:
            await for_ever()
        return Downloaded(status_code=200, final_url=url, bytes=9)


class StuckFeedReader:
    """Never ends; or its time is over at once after the batches that it is given."""

    def __init__(self, *batches: ReadBatch) -> None:
        self._given = batches

    @asynccontextmanager
    async def read(
        self, path: Path, options: ReadOptions
    ) -> AsyncIterator[AsyncIterator[ReadBatch]]:
        path.with_name("feed.learnt").touch()  # as the real one does
        yield self._batches()

    async def _batches(self) -> AsyncIterator[ReadBatch]:
        for each in self._given:
            yield each
        if self._given:
            raise TimeoutError
        await for_ever()

    def learnt(self, path: Path) -> Path:
        raise NotImplementedError

    def seen_keys(self, path: Path) -> SeenKeys:
        raise NotImplementedError


class StuckPageReader:
    async def read(self, order: PageOrder) -> PageRead:
        await for_ever()
        raise AssertionError


def one_at_a_time(delay: float = 0.0) -> HostTurns:
    return HostTurns(HostLimits(concurrency=1, delay=delay))


def preview_feed(
    spool: Path,
    server: Server,
    reader: FeedReader | None = None,
    seconds: float = MOMENT,
    turns: HostTurns | None = None,
) -> PreviewFeed:
    return PreviewFeed(
        downloader=server,
        reader=reader or StuckFeedReader(),
        turns=turns or one_at_a_time(),
        spool=spool,
        max_bytes=1000,
        seconds=seconds,
    )


def preview_page(spool: Path, server: Server, turns: HostTurns | None = None) -> PreviewPage:
    return PreviewPage(
        downloader=server,
        reader=StuckPageReader(),
        turns=turns or one_at_a_time(),
        spool=spool,
        seconds=MOMENT,
    )


@pytest.mark.parametrize("is_silent", [True, False], ids=["server", "reader"])
async def test_a_feed_that_takes_too_long_is_given_up(tmp_path: Path, is_silent: bool) -> None:
    preview = preview_feed(tmp_path, Server(is_silent=is_silent))
    with pytest.raises(FetchFailed, match=r"within the 0\.05 s of a preview"):
        await preview(FEED)
    assert not files_in(tmp_path)


async def test_what_was_read_of_a_feed_in_time_is_shown(tmp_path: Path) -> None:
    batch = ReadBatch(
        jobs=b"[]", count=0, fetched=7, duplicates=1, failed=2, bytes_read=9, format="rss",
        is_last=False,
    )  # fmt: skip
    preview = preview_feed(tmp_path, Server(), StuckFeedReader(batch), seconds=1000.0)
    seen, last = await preview(FEED)
    assert last is batch
    assert seen.bytes == 9
    assert not files_in(tmp_path)


@pytest.mark.parametrize("is_silent", [True, False], ids=["server", "reader"])
async def test_a_page_that_takes_too_long_is_given_up(tmp_path: Path, is_silent: bool) -> None:
    preview = preview_page(tmp_path, Server(is_silent=is_silent))
    with pytest.raises(FetchFailed, match=r"within the 0\.05 s of a preview"):
        await preview("https://pages.test/", Selection())
    assert not files_in(tmp_path)


async def test_a_preview_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    server = Server(is_silent=True)
    async with asyncio.TaskGroup() as group:
        preview = preview_feed(tmp_path, server, seconds=1000.0)
        previewing = group.create_task(preview(FEED))
        await server.was_asked.wait()
        assert files_in(tmp_path)
        previewing.cancel()
    assert not files_in(tmp_path)


async def test_a_spool_that_can_not_be_written_to_is_told(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.write_text("a file")
    with pytest.raises(FetchFailed, match="can't be made: Not a directory"):
        await preview_feed(spool, Server())(FEED)


@pytest.mark.parametrize("delay", [0.0, 1000.0], ids=["concurrency", "delay"])
async def test_a_preview_does_not_ask_a_host_out_of_turn(tmp_path: Path, delay: float) -> None:
    server, turns = Server(), one_at_a_time(delay)
    for host in ("feeds.test", "pages.test"):
        turn = await turns.take(host)
        assert isinstance(turn, Turn)
        if delay:
            turn.end()
    with pytest.raises(FetchFailed, match="of a preview"):
        await preview_feed(tmp_path, server, turns=turns)(FEED)
    with pytest.raises(FetchFailed, match="of a preview"):
        await preview_page(tmp_path, server, turns)("https://pages.test/", Selection())
    assert not server.was_asked.is_set()


async def test_a_preview_takes_its_turn_when_it_comes_and_gives_it_back(tmp_path: Path) -> None:
    server, turns = Server(), one_at_a_time()
    turn = await turns.take("feeds.test")
    assert isinstance(turn, Turn)
    async with asyncio.TaskGroup() as group:
        preview = preview_feed(tmp_path, server, seconds=1000.0, turns=turns)
        previewing = group.create_task(preview(FEED))
        while not turns._hosts["feeds.test"].waiting:  # turns of the event loop
            await asyncio.to_thread(files_in, tmp_path)
        turn.end()
        await server.was_asked.wait()
        async with asyncio.timeout(60):
            while not isinstance(await turns.take("feeds.test"), Turn):  # while the feed is read
                await asyncio.to_thread(files_in, tmp_path)  # the machine is busy
        previewing.cancel()
