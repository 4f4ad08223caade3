"""The PageReader port as child processes: real files, real processes.

Pages that make a reader misbehave are hard to come by, since what hurts is refused beforehand. So
the children are rigged: Python imports `sitecustomize` when it starts, and ours has them obey words
that a page begins with.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
import uvloop

from proc import children_of, environment, is_there
from webloom.adapters.page_process import reader as reader_module
from webloom.adapters.page_process.reader import ProcessPageReader
from webloom.domain.errors import PageUnreadable
from webloom.domain.page import Selection
from webloom.parsing.pages.page import ParsedPage
from webloom.ports.page_reader import PageOrder, PageRead

URL = "https://shop.example/chair"
PAGE = b"""<!doctype html><html lang="en"><title>Chair</title><body><main><h1>Chair</h1>
<p>A chair of ash wood with a woven seat, made to be sat on for a very long time.</p></main>
<script type="application/ld+json">{"@type": "Product", "name": "Chair", "offers":
{"@type": "Offer", "price": "79.90", "priceCurrency": "EUR",
"availability": "https://schema.org/InStock"}}</script></body></html>"""

RIG = """
import ctypes, os
from webloom.parsing.pages import reading

real, held = reading.read_page, []

def spin():
    while True:
        pass

WORDS = {
    b"SPIN": spin,
    b"HOG": lambda: bytearray(8 << 30),
    b"HOLD": lambda: held.append(bytearray(600 << 20)),  # never touched, so that it is not resident
    b"CRASH": lambda: ctypes.string_at(0),
    b"EXIT": lambda: os._exit(7),
    b"FAULT": lambda: {}["a key"],
    b"PRINT": lambda: print("noise " * 100_000),
}

def read_page(body, **options):
    WORDS.get(body.split(b" ", 1)[0], int)()
    return real(body, **options)

reading.read_page = read_page
"""


@pytest.fixture
def rigged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "rig"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(RIG)
    monkeypatch.syspath_prepend(str(folder))


def order(folder: Path, body: bytes = PAGE, **given: Any) -> PageOrder:
    path = folder / f"page-{len(list(folder.iterdir()))}"
    path.write_bytes(body)
    return PageOrder(path=path, url=URL, **given)


@asynccontextmanager
async def being_read(
    reader: ProcessPageReader, path: Path
) -> AsyncIterator[tuple[asyncio.Task[PageRead], BinaryIO]]:
    """A page that is at the child, which waits for what the test writes."""
    os.mkfifo(path)
    task = asyncio.create_task(reader.read(PageOrder(path=path, url=URL)))
    async with asyncio.timeout(60):
        writing = cast(BinaryIO, await asyncio.to_thread(path.open, "wb", 0))
    try:
        yield task, writing
    finally:
        writing.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_page_is_read_and_compared(tmp_path: Path) -> None:
    async with ProcessPageReader() as reader:
        first = await reader.read(order(tmp_path))
        assert first.diff is None
        assert first.reading.parsed.title == "Chair"
        assert "woven seat" in first.reading.parsed.text
        assert first.reading.price is not None
        assert (first.reading.price.current, first.reading.price.currency) == (
            Decimal("79.90"),
            "EUR",
        )
        assert str(first.reading.price.current) == "79.90"
        changed = order(tmp_path, PAGE.replace(b"woven", b"sewn"), previous=first.reading.parsed)
        second = await reader.read(changed)
        assert second.diff is not None
        assert second.diff.text_changed
        assert second.reading.snapshot_hash != first.reading.snapshot_hash


async def test_the_selection_status_and_type_reach_the_child(tmp_path: Path) -> None:
    body = "<p class=a>caf\xe9</p><p class=b>Other</p>".encode("latin-1")
    async with ProcessPageReader() as reader:
        read = await reader.read(
            order(
                tmp_path,
                body,
                content_type="text/html; charset=iso-8859-1",
                selection=Selection(keep=[".a"]),
            )
        )
        assert read.reading.parsed.text == "café"
        gone = await reader.read(order(tmp_path, b"<h1>Not found</h1>", status_code=404))
        assert gone.reading.classification.type == "error"


async def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    named = tmp_path / os.fsdecode(b"caf\xe9")
    named.write_bytes(PAGE)
    async with ProcessPageReader() as reader:
        read = await reader.read(PageOrder(path=named, url=URL))
    assert read.reading.parsed.title == "Chair"


async def test_more_than_a_pipe_holds_goes_through(tmp_path: Path) -> None:
    lines = "".join(f"<p>Line {number} of many lines in this text.</p>" for number in range(30_000))
    previous = ParsedPage(title="x", text="\n".join(f"Old line {n}" for n in range(100_000)))
    async with ProcessPageReader() as reader:
        read = await reader.read(
            order(tmp_path, f"<main>{lines}</main>".encode(), previous=previous)
        )
    assert len(read.reading.parsed.text) > 900_000
    assert read.diff is not None


async def test_children_start_when_they_are_needed_and_read_many_pages(tmp_path: Path) -> None:
    async with ProcessPageReader() as reader:
        assert not children()
        await reader.read(order(tmp_path))
        [child] = children()
        for _ in range(20):
            await reader.read(order(tmp_path))
        assert children() == [child]
    assert not is_there(child)


async def test_no_more_are_read_at_once_than_there_are_processes(tmp_path: Path) -> None:
    async with (
        ProcessPageReader(processes=2) as reader,
        being_read(reader, tmp_path / "one") as (one, write_one),
        being_read(reader, tmp_path / "two") as (two, _),
    ):
        third = asyncio.create_task(reader.read(order(tmp_path)))
        assert len(children()) == 2
        write_one.write(PAGE)
        write_one.close()
        assert (await one).reading == (await third).reading
        assert len(children()) == 2
        assert not two.done()


@pytest.mark.usefixtures("rigged")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"SPIN ", "^reading the page took more than 1 s$"),
        (b"HOG ", "^reading the page took more memory than the 1,073,741,824 bytes that it may$"),
        (b"CRASH ", "ended unexpectedly by signal 11"),
        (b"EXIT ", "ended unexpectedly with code 7"),
        (b"FAULT ", "because of a fault in Webloom: KeyError: 'a key'"),
    ],
)
async def test_a_page_that_harms_its_reader_harms_no_other(
    tmp_path: Path,
    body: bytes,
    said: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.ERROR)
    monkeypatch.setattr(
        reader_module, "_WALL_PER_CPU_SECOND", 60
    )  # on a busy machine it may be at work less
    async with ProcessPageReader(seconds=1) as reader:
        harmful = asyncio.create_task(reader.read(order(tmp_path, body + PAGE)))
        others = []
        while not harmful.done():
            others.append(await reader.read(order(tmp_path)))
        with pytest.raises(PageUnreadable, match=said):
            await harmful
        fine = await reader.read(order(tmp_path))
        assert others == [fine] * len(others)
        read_by = children()
        assert len(read_by) <= 2
    assert not any(map(is_there, read_by))
    assert [entry.message for entry in caplog.records] == ["a page can't be read"] * (
        body == b"FAULT "
    )


@pytest.mark.usefixtures("rigged")
async def test_what_a_library_prints_does_not_disturb(tmp_path: Path) -> None:
    async with ProcessPageReader() as reader:
        read = await reader.read(order(tmp_path, b"PRINT " + PAGE))
        assert read.reading.parsed.title == "Chair"


@pytest.mark.usefixtures("rigged")
async def test_memory_left_by_earlier_pages_does_not_fail_the_next(
    tmp_path: Path,
) -> None:
    async with ProcessPageReader() as reader:
        page = order(tmp_path, b"HOLD " + PAGE)  # two of them do not fit in one child
        assert await reader.read(page) == await reader.read(page)


async def test_a_reader_that_hangs_is_ended(tmp_path: Path) -> None:
    async with (
        ProcessPageReader(seconds=0.3) as reader,
        being_read(reader, tmp_path / "pipe") as (task, _),
    ):
        [child] = children()
        with pytest.raises(PageUnreadable, match=r"took more than 0\.9 s, 0\.\d s of them at work"):
            await task
        assert not is_there(child)


async def test_a_page_that_is_refused_leaves_its_reader_alive(tmp_path: Path) -> None:
    async with ProcessPageReader() as reader:
        await reader.read(order(tmp_path))
        before = children()
        with pytest.raises(PageUnreadable, match=r"^can't read .*gone: No such file"):
            await reader.read(PageOrder(path=tmp_path / "gone", url=URL))
        with pytest.raises(PageUnreadable, match="nothing"):
            await reader.read(order(tmp_path, selection=Selection(keep=["#gone"])))
        assert children() == before


async def test_a_killed_reader_is_reported(tmp_path: Path) -> None:
    async with (
        ProcessPageReader() as reader,
        being_read(reader, tmp_path / "pipe") as (task, _),
    ):
        [child] = children()
        os.kill(child, signal.SIGKILL)
        with pytest.raises(PageUnreadable, match="ended unexpectedly by signal 9"):
            await task
        assert not is_there(child)


async def test_a_reader_that_is_killed_while_idle_is_replaced(tmp_path: Path) -> None:
    async with ProcessPageReader() as reader:
        await reader.read(order(tmp_path))
        [child] = children()
        os.kill(child, signal.SIGKILL)
        await reader.read(order(tmp_path))
        assert children() != [child]


async def test_cancelling_ends_the_reader_of_that_page(tmp_path: Path) -> None:
    async with ProcessPageReader(processes=1) as reader:
        await reader.read(order(tmp_path))
        async with being_read(reader, tmp_path / "pipe") as (task, _):
            [child] = children()
            gone = os.pidfd_open(child)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await ended(gone)
            os.close(gone)
        await reader.read(order(tmp_path))
        assert children() != [child]


async def test_leaving_ends_readers_that_are_at_work(tmp_path: Path) -> None:
    async with ProcessPageReader() as reader:
        one = being_read(reader, tmp_path / "pipe")
        task, _ = await one.__aenter__()
        [child] = children()
    assert not is_there(child)
    with pytest.raises(PageUnreadable):
        await task
    with pytest.raises(PageUnreadable, match="closed"):
        await reader.read(order(tmp_path))
    await one.__aexit__(None, None, None)


@pytest.mark.parametrize(("bound", "most"), [("_MOST_PAGES", 2), ("_MOST_RESIDENT", 1)])
async def test_a_reader_is_replaced_after_many_pages_or_when_it_has_grown(
    tmp_path: Path, bound: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, bound, most)
    read_by: set[int] = set()
    async with ProcessPageReader() as reader:
        for _ in range(2):
            async with being_read(reader, tmp_path / f"pipe-{len(read_by)}") as (task, writing):
                [child] = [each for each in children() if each not in read_by]
                read_by.add(child)
                writing.write(PAGE)
                writing.close()
                await task
            if bound == "_MOST_PAGES":
                await reader.read(order(tmp_path))
    assert len(read_by) == 2
    assert not any(map(is_there, read_by))


async def test_an_idle_reader_is_ended_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "_IDLE_SECONDS", 0.01)
    async with ProcessPageReader() as reader:
        async with being_read(reader, tmp_path / "pipe") as (task, writing):
            [child] = children()
            gone = os.pidfd_open(child)
            writing.write(PAGE)
            writing.close()
            await task
        await ended(gone)
        os.close(gone)
        await reader.read(order(tmp_path))
        assert children() != [child]


async def test_it_works_on_uvloop_too(tmp_path: Path) -> None:
    async def fail_cancel_and_read() -> PageRead:
        async with (
            ProcessPageReader(seconds=0.2) as reader,
            being_read(reader, tmp_path / "one") as (task, _),
        ):
            with pytest.raises(PageUnreadable, match="took more than"):
                await task
        async with ProcessPageReader() as reader:
            async with being_read(reader, tmp_path / "two") as (task, _):
                task.cancel()
            return await reader.read(order(tmp_path))

    def run() -> PageRead:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(fail_cancel_and_read())

    assert (await asyncio.to_thread(run)).reading.parsed.title == "Chair"
    assert not children()


async def test_the_reader_gets_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBLOOM_API_KEYS", "a secret")
    async with ProcessPageReader() as reader:
        await reader.read(order(tmp_path))
        [child] = children()
        reported = environment(child)
        assert b"PYTHONPATH" in reported
        assert b"secret" not in reported


PARENT = """
import asyncio, sys
from pathlib import Path
from e2e.test_page_reader import ProcessPageReader, being_read, children, order

async def main():
    folder = Path(sys.argv[1])
    async with (
        ProcessPageReader() as reader,
        being_read(reader, folder / "pipe") as (spinning, writing),
    ):
        writing.write(b"SPIN ")
        writing.close()
        await reader.read(order(folder))
        print(*children(), flush=True)
        await spinning

asyncio.run(main())
"""


@pytest.mark.usefixtures("rigged")
async def test_readers_die_with_their_parent_idle_or_at_work(tmp_path: Path) -> None:
    tests = str(Path(__file__).parent.parent)
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, tmp_path),
        stdout=PIPE,
        env={"PYTHONPATH": os.pathsep.join((tests, str(tmp_path / "rig")))},
    )
    assert parent.stdout is not None
    pids = list(map(int, (await parent.stdout.readline()).split()))
    assert len(pids) == 2
    gone = [os.pidfd_open(pid) for pid in pids]
    parent.kill()
    await parent.wait()
    try:
        for each in gone:
            await ended(each)
    finally:
        for each in gone:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(each, signal.SIGKILL)
            os.close(each)


async def ended(pidfd: int) -> None:
    """After the process has ended."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pidfd, ready.set)
    try:
        async with asyncio.timeout(60):
            await ready.wait()
    finally:
        loop.remove_reader(pidfd)


def children() -> list[int]:
    """Readers that this process has started and that still run."""
    return children_of(os.getpid(), running=b"page_process")
