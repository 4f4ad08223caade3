"""The FeedReader port as a child process: real files, real processes."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import uvloop

from proc import children_of, environment
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.feed_process.reader import ProcessFeedReader
from webloom.domain.errors import FeedUnreadable
from webloom.parsing.job_posting import JobPosting, dedupe_key
from webloom.ports.feed_reader import FeedReader, ReadBatch, ReadOptions

URL = "https://jobs.example/feed.xml"
OPTIONS = ReadOptions(
    source_url=URL,
    source_name="Jobs",
    format="auto",
    mapping={},
    batch_size=200,
    max_bytes=1 << 30,
)


def item(number: int, *, guid: str | None = None, body: str = "Text") -> bytes:
    return (
        f"<item><title>Title {number}</title><link>https://jobs.example/{number}</link>"
        f"<guid>{guid or number}</guid><description>{body}</description></item>\n"
    ).encode()


def feed(*items: bytes) -> bytes:
    return b"<rss><channel><title>Jobs</title>" + b"".join(items) + b"</channel></rss>"


async def read_all(
    path: Path, options: ReadOptions = OPTIONS, reader: FeedReader | None = None
) -> list[ReadBatch]:
    async with (reader or ProcessFeedReader()).read(path, options) as batches:
        return [batch async for batch in batches]


def titles(batches: list[ReadBatch]) -> list[str]:
    return [job.title for batch in batches for job in jobs_of(batch)]


def jobs_of(batch: ReadBatch) -> list[JobPosting]:
    return msgspec.json.decode(batch.jobs, type=list[JobPosting])


def write(path: Path, body: bytes) -> None:
    path.write_bytes(body)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "spool"


async def test_a_feed_comes_in_batches_with_totals(path: Path) -> None:
    items = [item(number) for number in range(450)]
    items[10] = b"<item><description>no title</description></item>"
    items[300] = item(300, guid="5")
    items[301] = item(301, body="R&D")
    packed = gzip.compress(feed(*items))
    write(path, packed)
    batches = await read_all(path)
    assert [batch.count for batch in batches] == [200, 200, 48]
    assert [batch.count for batch in batches] == [len(jobs_of(batch)) for batch in batches]
    assert [batch.fetched for batch in batches] == [201, 402, 450]
    assert [batch.duplicates for batch in batches] == [0, 1, 1]
    assert [batch.failed for batch in batches] == [1, 1, 1]
    assert [len(batch.failures) for batch in batches] == [1, 0, 0]
    assert batches[0].failures[0].index == 10
    assert sum(batches[2].failure_reasons.values()) == 1
    assert batches[2].repairs == {"bare ampersand": 1}
    assert [batch.is_last for batch in batches] == [False, False, True]
    assert batches[-1].is_whole
    assert batches[-1].format == "rss"
    assert batches[-1].bytes_read == len(packed)
    left_out = {10, 300}
    assert titles(batches) == [f"Title {n}" for n in range(450) if n not in left_out]


async def test_many_items_of_one_guid_are_one_posting_with_progress(path: Path) -> None:
    items = [item(0), *[item(number, guid="same") for number in range(1, 9_000)], item(9_000)]
    write(path, feed(*items))
    batches = await read_all(path)
    assert [batch.count for batch in batches] == [0, 0, 0, 0, 3]
    reported = [(batch.fetched, batch.duplicates) for batch in batches]
    assert reported == [(1998, 1998), (3998, 3998), (5998, 5998), (7998, 7998), (9001, 8998)]
    read = [batch.bytes_read for batch in batches]
    assert read == sorted(set(read))


async def test_the_same_file_gives_the_same_batches(path: Path) -> None:
    write(path, feed(*[item(number) for number in range(30)]))
    assert await read_all(path) == await read_all(path)


async def test_batches_that_are_counted_only_are_the_same_without_their_postings(
    path: Path, tmp_path: Path
) -> None:
    """Whatever is known: the number of batches stands in the first message."""
    items = [item(number, body="x" * (number % 7) * 90_000) for number in range(300)]
    items[10] = b"<item><description>no title</description></item>"
    items[100] = item(100, guid="5")
    items[101] = item(101, body="R&D")
    write(path, feed(*items))
    reader, known = ProcessFeedReader(), tmp_path / "known"
    whole = await read_all(path)
    reader.learnt(path).replace(known)
    assert [batch.count for batch in whole] != [200, 98]  # some end by their size
    bare = [msgspec.structs.replace(batch, jobs=b"") for batch in whole]
    assert await read_all(path, replace(OPTIONS, counts_only=True)) == bare
    assert await read_all(path, replace(OPTIONS, counts_only=True, known=known)) == bare


async def test_the_keys_of_a_feed_can_be_asked_for(path: Path) -> None:
    write(path, feed(*[item(number) for number in range(3000)]))
    await read_all(path)
    seen = ProcessFeedReader().seen_keys(path)
    assert all(dedupe_key(URL, str(number), None) in seen for number in range(3000))
    assert not any(dedupe_key(URL, str(number), None) in seen for number in range(3000, 4000))


def test_keys_that_are_not_there_are_named(path: Path) -> None:
    with pytest.raises(FeedUnreadable, match="not read to its end"):
        ProcessFeedReader().seen_keys(path)


async def test_an_empty_feed_has_one_last_batch(path: Path) -> None:
    write(path, b"<rss><channel/></rss>")
    (batch,) = await read_all(path)
    assert (batch.jobs, batch.count, batch.is_last, batch.is_whole) == (b"[]", 0, True, True)
    assert dedupe_key(URL, "1", None) not in ProcessFeedReader().seen_keys(path)


async def test_large_postings_make_smaller_batches(path: Path) -> None:
    write(path, feed(*[item(number, body="x" * 1_500_000) for number in range(5)]))
    batches = await read_all(path)
    assert titles(batches) == [f"Title {number}" for number in range(5)]
    assert all(len(batch.jobs) <= 4 * 1024 * 1024 for batch in batches)
    assert [batch.fetched for batch in batches][-1] == 5
    running = 0
    for batch in batches:
        running += batch.count
        assert batch.fetched == running


async def test_failures_are_capped_and_all_are_counted(path: Path) -> None:
    write(path, feed(*[b"<item><x>y</x></item>"] * 5000))
    batches = await read_all(path)
    assert [batch.failed for batch in batches] == [2000, 4000, 5000]
    assert sum(len(batch.failures) for batch in batches) == 100
    assert sum(batches[-1].failure_reasons.values()) == 5000


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "empty"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b"nothing", "neither XML nor JSON"),
        (gzip.compress(feed(item(1, body="x" * 20_000_000))), "larger than"),
    ],
)
async def test_a_refused_feed_says_why(path: Path, body: bytes, said: str) -> None:
    write(path, body)
    options = ReadOptions(
        source_url=URL,
        source_name="Jobs",
        format="auto",
        mapping={},
        batch_size=200,
        max_bytes=10_000_000,
    )
    with pytest.raises(FeedUnreadable, match=said):
        await read_all(path, options)


async def test_a_missing_file_is_reported_with_the_readers_last_error(path: Path) -> None:
    with pytest.raises(FeedUnreadable, match=r"ended unexpectedly with code 1: FileNotFoundError"):
        await read_all(path)


async def test_a_killed_reader_is_reported(path: Path) -> None:
    write(path, feed(*[item(number, body="x" * 5000) for number in range(3000)]))
    async with ProcessFeedReader().read(path, OPTIONS) as batches:
        await anext(batches)
        for child in children():
            os.kill(child, signal.SIGKILL)
        with pytest.raises(FeedUnreadable, match="ended unexpectedly by signal 9"):
            async for _ in batches:
                pass


async def test_leaving_early_ends_the_reader(path: Path) -> None:
    write(path, feed(*[item(number, body="x" * 5000) for number in range(3000)]))
    async with ProcessFeedReader().read(path, OPTIONS) as batches:
        await anext(batches)
        assert children()
    assert not children()


async def test_it_works_on_uvloop_too(path: Path) -> None:
    write(path, feed(*[item(number, body="x" * 5000) for number in range(3000)]))

    async def leave_early_then_read_all() -> int:
        async with ProcessFeedReader().read(path, OPTIONS) as batches:
            await anext(batches)
        return len(titles(await read_all(path)))

    def run() -> int:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(leave_early_then_read_all())

    assert await asyncio.to_thread(run) == 3000


async def test_a_reader_without_progress_is_ended(path: Path) -> None:
    os.mkfifo(path)  # it has no writer
    with pytest.raises(FeedUnreadable, match="no progress"):
        await read_all(path, reader=ProcessFeedReader(longest_silence=0.2))
    assert not children()


async def test_the_reader_gets_no_secrets(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBLOOM_API_KEYS", "a secret")
    os.mkfifo(path)
    async with ProcessFeedReader().read(path, OPTIONS):
        (child,) = children()
        reported = environment(child)
        assert b"PYTHONPATH" in reported
        assert b"secret" not in reported


PARENT = """
import asyncio, sys
from pathlib import Path
from e2e.test_feed_reader import OPTIONS, ProcessFeedReader, children

async def main():
    async with ProcessFeedReader().read(Path(sys.argv[1]), OPTIONS) as batches:
        print(*children(), flush=True)
        await anext(batches)

asyncio.run(main())
"""


async def test_the_reader_dies_with_its_parent(path: Path) -> None:
    os.mkfifo(path)
    tests = str(Path(__file__).parent.parent)
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, path, stdout=PIPE, env={"PYTHONPATH": tests}
    )
    assert parent.stdout is not None
    child = os.pidfd_open(int(await parent.stdout.readline()))
    try:
        parent.kill()
        await parent.wait()
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await _readable(child)
    finally:
        os.close(child)


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    await ready.wait()
    loop.remove_reader(descriptor)


def records(count: int) -> Iterator[bytes]:
    yield b"<rss><channel>"
    for number in range(count):
        yield item(number, body="Some words about the job. " * 30)
    yield b"</channel></rss>"


async def test_memory_does_not_grow_with_the_feed(path: Path) -> None:
    async def most_memory(count: int) -> int:
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.writelines(records(count))
        peak = 0
        async with ProcessFeedReader().read(path, OPTIONS) as batches:
            (child,) = children()
            async for batch in batches:
                if not batch.is_last:
                    peak = max(peak, resident(child))
        return peak

    small, large = await most_memory(2_000), await most_memory(30_000)
    assert large - small < 6_000  # the keys are 512 KiB of it


def resident(process: int) -> int:
    """KiB; nothing of one that has ended, as it may have after the last batch but one."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1])
    return 0


def children() -> list[int]:
    """Readers that this process has started and that still run."""
    return children_of(os.getpid(), running=b"feed_process")


async def test_a_wrong_format_is_refused_and_the_likely_one_named(path: Path) -> None:
    """Read in it, the feed would have no record, and every posting of it would be closed."""
    write(path, feed(item(1)))
    with pytest.raises(FeedUnreadable, match="Read as indeed, it has no record; it looks like rss"):
        await read_all(path, replace(OPTIONS, format="indeed"))
    write(path, b"<source><publisher>P</publisher></source>")
    [batch] = await read_all(path, replace(OPTIONS, format="indeed"))
    assert (batch.fetched, batch.is_whole) == (0, True)


async def test_the_name_of_a_feed_is_not_part_of_the_content_hash(path: Path) -> None:
    write(path, feed(item(1)))
    [one], [other] = [
        jobs_of((await read_all(path, replace(OPTIONS, source_name=name)))[0])
        for name in ("Jobs", "Other")
    ]
    assert (one.source_name, other.source_name) == ("Jobs", "Other")
    assert one.content_hash == other.content_hash


async def test_no_more_feeds_are_read_at_a_time_than_there_may_be_processes(tmp_path: Path) -> None:
    path = tmp_path / "feed"
    path.write_bytes(feed(*map(item, range(3))))
    reader = ProcessFeedReader(processes=2)
    reading, most = 0, 0

    async def read() -> list[ReadBatch]:
        nonlocal reading, most
        async with reader.read(path, OPTIONS) as batches:
            reading += 1
            most = max(most, reading)
            read = [batch async for batch in batches]
            reading -= 1
        return read

    for batches in await asyncio.gather(*(read() for _ in range(5))):
        assert titles(batches) == ["Title 0", "Title 1", "Title 2"]
    assert most == 2
