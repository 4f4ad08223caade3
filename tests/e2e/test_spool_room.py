"""Downloads to a spool that has little room."""

from __future__ import annotations

import asyncio
import gzip
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e.hostile_site import HostileSite, Request, answer, ok
from e2e.running import until
from webloom.adapters.http import spool_room
from webloom.adapters.http.download import DownloadLimits, HttpDownloader
from webloom.adapters.http.spool_room import NoRoom, SpoolRoom
from webloom.domain.errors import FetchFailed
from webloom.domain.feed import LastFetch
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.spool import KNOWN_FOLDER, SpoolLimits
from webloom.ports.fetcher import Downloaded

KB, MB = 1 << 10, 1 << 20
BODY = bytes(range(256)) * (2 * MB // 256)
FIRST = 3 * MB // 2


class LargeSite(HostileSite):
    """Feeds of 2 MB."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        self.go_on_too = asyncio.Event()

    async def do_declared(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(ok(BODY))
        await writer.drain()

    async def do_packed(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(ok(gzip.compress(BODY), "Content-Encoding: gzip"))
        await writer.drain()

    async def do_undeclared(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Most of it at once, and the rest when the test says so."""
        await self._in_two_parts(writer, self.go_on)

    async def do_undeclared_too(self, request: Request, writer: asyncio.StreamWriter) -> None:
        await self._in_two_parts(writer, self.go_on_too)

    async def _in_two_parts(self, writer: asyncio.StreamWriter, go_on: asyncio.Event) -> None:
        writer.write(answer(200, "Connection: close") + BODY[:FIRST])
        await writer.drain()
        await go_on.wait()
        writer.write(BODY[FIRST:])
        await writer.drain()
        writer.close()


@pytest.fixture
async def site() -> AsyncIterator[LargeSite]:
    async with LargeSite() as site:
        yield site
        site.go_on.set()
        site.go_on_too.set()


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(spool_room, "LOOK_SECONDS", 0.0)  # a file of another is seen at once
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


@asynccontextmanager
async def downloading(site: LargeSite, room: SpoolRoom) -> AsyncIterator[HttpDownloader]:
    policy = NetworkPolicy.parse([f"{site.host}:{site.port}"])
    limits = DownloadLimits(total_seconds=60.0, connect_seconds=60.0)
    async with HttpDownloader(policy=policy, limits=limits, room=room) as downloader:
        yield downloader


def room_of(spool: Path, budget: int, **options: float) -> SpoolRoom:
    return SpoolRoom(spool, SpoolLimits(budget=budget, free_space=0), **options)


def start(downloader: HttpDownloader, url: str, into: Path) -> asyncio.Task[Downloaded]:
    return asyncio.create_task(downloader.download(url, into, known=LastFetch()))


def size_of(file: Path) -> int:
    return file.stat().st_size if file.exists() else -1


async def has(file: Path, size: int) -> None:
    await until(lambda: size_of(file) >= size, what="a part of the file")


async def waits_for(room: SpoolRoom) -> str:
    await until(lambda: room.full is not None, what="a reason")
    return str(room.full)


async def test_a_download_waits_for_room_before_it_asks_the_server(
    site: LargeSite, spool: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    other, file = spool / "other.feed", spool / "one.part"
    other.write_bytes(bytes(3 * MB))
    room = room_of(spool, 3 * MB)
    async with downloading(site, room) as downloader:
        waits = start(downloader, site.url("/declared"), file)
        assert await waits_for(room) == (
            "the spool takes 3 MB of the 3 MB that it may have (WEBLOOM_SPOOL_BUDGET)"
        )
        assert site.requests == []
        other.unlink()
        assert (await waits).bytes == len(BODY)
    assert file.read_bytes() == BODY
    assert room.full is None
    said = [record.message for record in caplog.records if "room" in record.message]
    assert said == [
        "imports wait for room in the spool",
        "imports no longer wait for room in the spool",
    ]


async def test_a_download_without_room_for_what_is_declared_starts_again_later(
    site: LargeSite, spool: Path
) -> None:
    other, file = spool / "other.feed", spool / "one.part"
    other.write_bytes(bytes(2 * MB))
    room = room_of(spool, 3 * MB)
    async with downloading(site, room) as downloader:
        waits = start(downloader, site.url("/declared"), file)
        await waits_for(room)
        assert size_of(file) == -1
        other.unlink()
        assert (await waits).bytes == len(BODY)
    assert len(site.requests) == 2


async def test_a_download_waits_in_its_middle_and_goes_on(site: LargeSite, spool: Path) -> None:
    other, file = spool / "other.feed", spool / "one.part"
    room = room_of(spool, 5 * MB // 2)
    async with downloading(site, room) as downloader:
        waits = start(downloader, site.url("/undeclared"), file)
        await has(file, MB)
        other.write_bytes(bytes(MB))
        site.go_on.set()
        await waits_for(room)
        assert size_of(file) < len(BODY)
        other.unlink()
        assert (await waits).bytes == len(BODY)
    assert file.read_bytes() == BODY
    assert len(site.requests) == 1


async def test_a_download_that_has_waited_in_its_middle_for_long_makes_room(
    site: LargeSite, spool: Path
) -> None:
    other, file = spool / "other.feed", spool / "one.part"
    room = room_of(spool, 5 * MB // 2, pause_seconds=0.05)
    async with downloading(site, room) as downloader:
        waits = start(downloader, site.url("/undeclared"), file)
        await has(file, MB)
        other.write_bytes(bytes(MB))
        site.go_on.set()
        await until(lambda: size_of(file) == -1, what="the file to be removed")
        assert room.full is not None
        other.unlink()
        assert (await waits).bytes == len(BODY)
    assert len(site.requests) == 2


async def test_of_two_downloads_that_need_the_same_room_the_older_goes_on(
    site: LargeSite, spool: Path
) -> None:
    """Otherwise they would wait for each other forever."""
    older, newer = spool / "one.part", spool / "two.part"
    room = room_of(spool, 2 * FIRST + MB // 4)
    async with downloading(site, room) as downloader:
        goes_on = start(downloader, site.url("/undeclared"), older)
        await has(older, MB)
        makes_room = start(downloader, site.url("/undeclared-too"), newer)
        await has(newer, MB)
        site.go_on.set()
        await waits_for(room)
        site.go_on_too.set()
        await until(lambda: size_of(newer) == -1, what="the newer to make room")
        assert (await goes_on).bytes == len(BODY)
        assert not makes_room.done()
        older.unlink()
        assert (await makes_room).bytes == len(BODY)
    assert newer.read_bytes() == BODY
    assert len(site.requests) == 3


async def test_a_download_that_ends_during_a_measurement_is_still_counted(
    spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes are no longer promised, nor those of a download in progress."""
    monkeypatch.setattr(spool_room, "LOOK_SECONDS", 60.0)
    measured, started, ended = spool_room._measured, threading.Event(), threading.Event()

    def slowly(*args: Any) -> tuple[int, int, int, int, int]:
        found = measured(*args)
        started.set()
        ended.wait(10)
        return found

    room = room_of(spool, 3 * MB)
    async with room.reserve(spool / "new.part", 1) as newer:
        async with room.reserve(spool / "old.part", 2 * MB) as older:
            await older.more(2 * MB)
            (spool / "old.part").write_bytes(bytes(MB))
            monkeypatch.setattr(spool_room, "_measured", slowly)
            looks = asyncio.create_task(room.use(is_fresh=True))
            await asyncio.to_thread(started.wait, 10)
            (spool / "old.part").write_bytes(bytes(2 * MB))
        ended.set()
        await looks
        await newer.more(MB)
        use = await room.use()
        assert use.used == 2 * MB + newer.granted


@pytest.mark.parametrize("path", ["/declared", "/packed", "/undeclared"])
async def test_a_feed_that_is_larger_than_the_whole_spool_fails(
    site: LargeSite, spool: Path, path: str
) -> None:
    site.go_on.set()
    file = spool / "one.part"
    async with downloading(site, room_of(spool, MB)) as downloader:
        with pytest.raises(FetchFailed) as caught:
            await downloader.download(site.url(path), file, known=LastFetch())
    assert "larger than the whole spool may be: 1 MB (WEBLOOM_SPOOL_BUDGET)" in caught.value.reason
    assert not caught.value.retryable
    assert size_of(file) == -1


async def test_what_only_saves_time_makes_way_for_a_download(site: LargeSite, spool: Path) -> None:
    (spool / KNOWN_FOLDER).mkdir()
    for number in range(4):
        (spool / KNOWN_FOLDER / str(number)).write_bytes(bytes(MB // 2))
    async with downloading(site, room_of(spool, 3 * MB)) as downloader:
        site.go_on.set()
        got = await downloader.download(
            site.url("/undeclared"), spool / "one.part", known=LastFetch()
        )
    assert got.bytes == len(BODY)
    assert len(site.requests) == 1
    assert len(list((spool / KNOWN_FOLDER).iterdir())) == 2


async def test_a_download_that_waits_can_be_cancelled(site: LargeSite, spool: Path) -> None:
    (spool / "other.feed").write_bytes(bytes(MB))
    room = room_of(spool, MB)
    async with downloading(site, room) as downloader:
        waits = start(downloader, site.url("/declared"), spool / "one.part")
        await waits_for(room)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
    assert room.full is None


async def test_a_disk_that_takes_nothing_though_it_has_room_is_a_failure(
    site: LargeSite, spool: Path
) -> None:
    """A quota, perhaps. To wait would be in vain."""
    file = spool / "one.part"
    file.symlink_to("/dev/full")
    async with downloading(site, room_of(spool, 3 * MB)) as downloader:
        with pytest.raises(FetchFailed) as caught:
            await downloader.download(site.url("/declared"), file, known=LastFetch())
    assert f"can't be written to {file}: No space left" in caught.value.reason
    assert caught.value.retryable


async def test_a_disk_that_has_become_full_is_waited_for(spool: Path) -> None:
    room = room_of(spool, 3 * MB)
    async with room.reserve(spool / "one.part", 1) as reservation:
        await reservation.disk_is_full(MB)  # there is room, as far as can be seen
        (spool / "other.feed").write_bytes(bytes(3 * MB))
        with pytest.raises(NoRoom) as caught:
            await reservation.disk_is_full(MB)
    assert caught.value.needed == 2 * MB


async def test_a_folder_that_is_not_there_has_room(tmp_path: Path) -> None:
    room = SpoolRoom(tmp_path / "data" / "spool", SpoolLimits(free_space=0))
    await room.look()
    assert room.full is None
    short = SpoolRoom(tmp_path / "data" / "spool", SpoolLimits(free_space=1 << 50))
    await short.look()
    assert "stay free (WEBLOOM_SPOOL_FREE_SPACE)" in str(short.full)
